"""Numbers that are known only when the compiled code runs.

A Python int or float read along a source is guarded by value, unless the policy of the frame says that this source is a run-time number.  Then the
program handles a `RunTimeNumber` in its place: it stands in boxes, tuples and containers for real, as a traced tensor does, and knows its `value` in the
traced call and its `origin`, which is the source or a `Computed` node: a function of arithmetic applied to other run-time numbers and constants.

    L["step"]  ->  RunTimeNumber(value 3, origin L["step"])
    step / 100 ->  RunTimeNumber(value 0.03, origin Computed(truediv, step, 100))

Arithmetic makes nodes; the residual code computes them again with Python's own operators.  A comparison, or the truth of a number, is decided by the
value in the traced call, and its outcome alone is guarded (`guard.truth` of a `guard.apply`).  Whatever else looks at the value asks `needed`, which
guards each source by its value and remembers it in `Tracer.pinned`: the frame is then followed once more with those sources as constants, so that the
code is not slowed down by numbers that have one value anyway.  The rest of a loop would be compiled again for each number of a turn that way, so after
a few versions the frame is cut where such a number is looked at: the step does that as Python does, and what is behind is one rest.  Texts and the
lengths of containers are treated likewise.

What may raise for other values than those of the traced call (a division by a number, `**`, functions of `math`) is guarded to give a number of the
same type.  Integers of sources are in 64 bits; `bits` bounds those computed from them, which Python holds exactly at any size.
"""

from __future__ import annotations

import math
import operator
from collections.abc import Callable, Mapping, Sequence
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, NamedTuple

import torch

from lect.dialects.guard.arithmetic import NAMES
from lect.dialects.guard.types import PathAttr
from lect.frontends.capture.scalars import DTYPE_OF, ELEMENT_OF, map_leaves
from lect.frontends.capture.size_policy import LearnedSizes, SizePolicy
from lect.frontends.capture.sources import Source
from lect.frontends.tensors.numbers import NumberNode, symbolic

if TYPE_CHECKING:
    from lect.frontends.capture.tracer import Box, Tracer
    from lect.ir.symbolic import Expr

MAX_DEPTH = 64  # of nested arithmetic: what is deeper is needed by value
MAX_BITS = 1000  # of an exact integer: below it, conversion to float never overflows
LONGEST = 63
_COMPARISONS = frozenset({"lt", "le", "eq", "ne", "gt", "ge"})
_NUMBERS = (int, float)
_CONSTANTS = (int, float, bool)
_ALSO: Mapping[Callable[..., Any], str] = MappingProxyType(
    {abs: "abs", pow: "pow"} | {getattr(operator, f"i{name}"): name for name in "add sub mul truediv floordiv mod pow and or xor lshift rshift".split()}
)


class Learned(NamedTuple):
    """What a `NumberPolicy` has learned of calls."""

    run_time: frozenset[PathAttr]
    by_value: frozenset[PathAttr]
    sizes: LearnedSizes
    compiling: bool
    inference: bool
    repeats: bool


class NumberPolicy:
    """Which numbers of one compiled frame are run-time numbers, kept from one compile to the next.

    `run_time` are sources whose value has changed between calls, `by_value` those whose value turned out to be needed, `in_steps` what has been another
    number, text or container in too many versions, so that steps are to look at it (unless `uses_steps` is off); with `arguments` every number among the
    arguments is a run-time number from the start.  `compiling` is no number: what the program is told when it asks whether it is compiled.  Neither are
    `inference`, whether blocks of inference mode are followed, `repeats`, whether a torch call may be taken for one made before, and `calls`, whether a
    call of a function of the program may be.  `remade` are classes and functions, by module and name, that the program makes anew for each call,
    `instances` classes of which it makes instances anew, and `assumes` says whether branches of which one side raises are followed.
    """

    def __init__(self, arguments: bool = False) -> None:
        self.arguments = arguments
        self.run_time: set[PathAttr] = set()
        self.by_value: set[PathAttr] = set()
        self.in_steps: set[PathAttr] = set()
        self.uses_steps = True
        self.sizes = SizePolicy(arguments)
        self.assumes = True
        self.remade: set[tuple[str, str]] = set()
        self.instances: set[tuple[str, str]] = set()
        self.compiling = True
        self.inference = True
        self.repeats = True
        self.calls = True

    def learned(self) -> Learned:
        """What calls have taught so far, to go back to."""
        return Learned(frozenset(self.run_time), frozenset(self.by_value), self.sizes.learned(), self.compiling, self.inference, self.repeats)

    def go_back_to(self, learned: Learned) -> None:
        """Forget what was learned since."""
        self.run_time, self.by_value = set(learned.run_time), set(learned.by_value)
        self.sizes.go_back_to(learned.sizes)
        self.compiling, self.inference, self.repeats = learned.compiling, learned.inference, learned.repeats

    def leave_to_steps(self, path: PathAttr, is_number: bool) -> None:
        """From now on the frame is cut where what is at this path is looked at."""
        if self.uses_steps and path not in self.in_steps:
            self.in_steps.add(path)
            self.by_value.discard(path)
            if is_number:
                self.run_time.add(path)

    def use_no_steps(self) -> None:
        """The frame cannot be cut there."""
        self.uses_steps = False
        self.in_steps.clear()

    def allows(self, path: PathAttr) -> bool:
        """True when the number there may be one of run time."""
        return path not in self.by_value


class Computed:
    """`function` (a name of `guard.apply`) applied to `args`: run-time numbers and constants.

    `leaves` are the numbers read along sources that it is computed from, each once: as a tree, what uses its parts several times would grow exponentially.
    """

    __slots__ = ("args", "depth", "function", "leaves")

    def __init__(self, function: str, args: tuple[Any, ...]) -> None:
        self.function = function
        self.args = args
        numbers = [arg for arg in args if type(arg) is RunTimeNumber]
        self.depth = 1 + max(arg.depth for arg in numbers)
        self.leaves = tuple({id(leaf): leaf for arg in numbers for leaf in arg.leaves()}.values())


class RunTimeNumber(torch.SymInt):
    """An int or float of run time; see the module.  Its methods are for C code that meets it in a container: they ask for the value."""

    __slots__ = ("bits", "origin", "size", "t", "value")

    def __init__(self, t: Tracer, value: int | float, origin: Source | Computed, bits: int) -> None:
        self.t = t
        self.value = value
        self.origin = origin
        self.bits = bits
        self.size: Expr | None = None  # what it is in terms of sizes of inputs

    @property
    def node(self) -> Any:
        """What stands behind it for torch: it may be in a `torch.Size`."""
        return OperandNode(self) if self.size is None else self.t.symbols.sizes.node(self.size)

    @property
    def depth(self) -> int:
        """How many functions were applied to get here."""
        return self.origin.depth if type(self.origin) is Computed else 0

    @property
    def hint(self) -> str | None:
        """A name for people."""
        return self.origin.key if isinstance(self.origin, Source) and issubclass(type(self.origin.key), str) else None

    def leaves(self) -> tuple[RunTimeNumber, ...]:
        """The numbers read along sources that this one is computed from."""
        return self.origin.leaves if type(self.origin) is Computed else (self,)

    def paths(self) -> frozenset[PathAttr]:
        """The paths of the sources that this number is computed from."""
        return frozenset(leaf.origin.path() for leaf in self.leaves() if isinstance(leaf.origin, Source))

    def needed(self, as_size: bool = False) -> int | float:
        """The value in the traced call, guarded.  With `as_size` it is one of torch's sizes, bounds or positions, which may have symbols."""
        t = self.t
        if self.size is not None:
            return t.symbols.sizes.value(self.size)
        if as_size and t.symbols.may_be_size(self):
            return self.value
        for leaf in self.leaves():
            t.guards.equals(leaf.origin, leaf.value)  # type: ignore[arg-type]
            t.pinned.add(leaf.origin)  # type: ignore[arg-type]
        return self.value

    @property
    def is_pinned(self) -> bool:
        """True when the value is guarded anyway."""
        return all(leaf.origin in self.t.pinned for leaf in self.leaves())


def _asking(name: str) -> Callable[..., Any]:
    def method(self: RunTimeNumber, *others: Any) -> Any:
        return getattr(self.needed(), name)(*[plain_value(other) for other in others])

    return method


for _name in (
    "eq ne lt le gt ge hash bool int float index str repr format round trunc floor ceil abs neg pos invert divmod rdivmod "
    "add radd sub rsub mul rmul truediv rtruediv floordiv rfloordiv mod rmod pow rpow and rand or ror xor rxor lshift rlshift rshift rrshift"
).split():
    setattr(RunTimeNumber, f"__{_name}__", _asking(f"__{_name}__"))


def plain_value(value: Any) -> Any:
    """The value itself; that of a run-time number, guarded."""
    return value.needed() if type(value) is RunTimeNumber else value


def plain(box: Box) -> Box:
    """The box with a constant in the place of a run-time number."""
    value = box[0]
    return (value.needed(), None) if type(value) is RunTimeNumber else box


def without_numbers(rule: Callable[..., Any]) -> Callable[..., Any]:
    """A rule `rule(t, args, kwargs)` that gets constants for run-time numbers."""

    def with_constants(t: Tracer, args: list[Box], kwargs: dict[str, Box]) -> Any:
        if t.numbers:
            args, kwargs = [plain(box) for box in args], {name: plain(box) for name, box in kwargs.items()}
        return rule(t, args, kwargs)

    return with_constants


def without_number_operands(rule: Callable[[Any, Any], Any]) -> Callable[[Any, Any], Any]:
    """A rule of an operation, `rule(frame, op)`, whose operands are constants where they were run-time numbers."""

    def with_constants(frame: Any, op: Any) -> Any:
        if frame.t.numbers:
            for value in op.operands:
                if type(frame.env[value][0]) is RunTimeNumber:
                    frame.env[value] = plain(frame.env[value])
        return rule(frame, op)

    return with_constants


# ---- making them -----------------------------------------------------------------------------------------------------


def read_number(t: Tracer, value: int | float, source: Source) -> Box:
    """The box of a number read along a source of run-time numbers."""
    found = t.numbers.get(source)
    if found is None:
        if type(value) is int and value.bit_length() > LONGEST:
            return (value, source)
        if type(value) is int and source.path() in t.policy.sizes.numbers:
            size = t.symbols.of_number(value, source)
            return (value, source) if size is None else (size, None)
        t.guards.number(source, value)
        found = t.numbers[source] = RunTimeNumber(t, value, source, LONGEST)
    return (found, None)


def decide(t: Tracer, number: RunTimeNumber) -> bool:
    """`bool(number)`; the outcome is guarded."""
    if number.size is not None:
        return not t.symbols.sizes.same(number.size, 0)
    outcome = bool(number.value)
    t.guards.truth(number.origin, outcome)
    return outcome


def apply(t: Tracer, function: Callable[..., Any], boxes: list[Box]) -> Box | None:
    """Apply a function of arithmetic to numbers of which one at least is of run time; None when it is no such function or they are no numbers."""
    name = NAMES.get(function) or _ALSO.get(function)
    if name is None or not all(type(box[0]) is RunTimeNumber or type(box[0]) in _CONSTANTS for box in boxes):
        return None
    args = tuple([box[0] if type(box[0]) is RunTimeNumber else t.leak(box) for box in boxes])
    if not any(type(arg) is RunTimeNumber for arg in args):
        return None
    if t.symbols:
        from lect.frontends.capture.size_symbols import apply_to_sizes

        found = apply_to_sizes(t, name, args)
        if found is not None:
            return found
        if any(t.symbols.is_found(arg) for arg in args):
            return (run_real_values(function, args), None)
    return apply_to_values(t, function, name, args)


def run_real_values(function: Callable[..., Any], args: tuple[Any, ...]) -> Any:
    """A function applied to the values of numbers, which are needed."""
    from lect.frontends.capture.effects import run_real

    return run_real(function, *map(plain_value, args))


def computed(t: Tracer, function: Callable[..., Any], args: tuple[Any, ...]) -> RunTimeNumber:
    """A number that the residual code computes, of which no guard can ask anything."""
    values = [arg.value if type(arg) is RunTimeNumber else arg for arg in args]
    return RunTimeNumber(t, function(*values), _computed(t, NAMES[function], args), LONGEST)


def apply_to_values(t: Tracer, function: Callable[..., Any], name: str, args: tuple[Any, ...]) -> Box:
    """`apply` by the values in the traced call: what may be otherwise in others is guarded."""
    from lect.frontends.capture.effects import run_real

    values = [arg.value if type(arg) is RunTimeNumber else arg for arg in args]
    bits, checked = _bound(name, args)
    if name not in _COMPARISONS and (bits > MAX_BITS or max(arg.depth for arg in args if type(arg) is RunTimeNumber) >= MAX_DEPTH):
        return (run_real(function, *map(plain_value, args)), None)
    try:
        value = function(*values)
    except Exception:
        return (run_real(function, *map(plain_value, args)), None)
    origin = _computed(t, name, args)
    if name in _COMPARISONS:
        t.guards.truth(origin, value)
        return (value, None)
    if type(value) not in _NUMBERS or (checked and type(value) is int and value.bit_length() > LONGEST):
        return (run_real(function, *map(plain_value, args)), None)
    found = t.numbers.get(origin)
    if found is None:
        if checked:
            t.guards.number(origin, value)
        found = t.numbers[origin] = RunTimeNumber(t, value, origin, LONGEST if checked else bits)
    return (found, None)


def _computed(t: Tracer, name: str, args: tuple[Any, ...]) -> Computed:
    """The node; the same one for the same arguments."""
    key = (name, *[arg.origin if type(arg) is RunTimeNumber else (type(arg), repr(arg)) for arg in args])
    found = t.computed.get(key)
    if found is None:
        found = t.computed[key] = Computed(name, args)
    return found


def _is_int(arg: Any) -> bool:
    return type(arg.value if type(arg) is RunTimeNumber else arg) is not float


def _bits(arg: Any) -> int:
    if type(arg) is RunTimeNumber:
        return arg.bits
    return int(arg).bit_length() if type(arg) is not float else 0


def _bound(name: str, args: tuple[Any, ...]) -> tuple[int, bool]:
    """A bound of the bits of an integer result (more than `MAX_BITS` when the function is not to be applied), and whether it may raise or change type."""
    sizes = [_bits(arg) for arg in args]
    if name == "sum":  # the result is a float; an exact integer in front of it may be too large for one
        return (0, False) if sum(sizes) <= MAX_BITS else (MAX_BITS + 1, True)
    if max(sizes) > MAX_BITS or len(args) > 2:
        return MAX_BITS + 1, True
    last = args[-1]
    constant = last if type(last) is not RunTimeNumber else None
    ints = all(_is_int(arg) for arg in args)
    if name in ("add", "sub", "neg", "pos", "abs", "invert", "and", "or", "xor"):
        return max(sizes) + 1, False
    if name == "mul":
        return sum(sizes), False
    if name in ("truediv", "floordiv", "mod"):
        return max(sizes) + 1, not constant  # a constant zero divisor raises at once
    if name == "pow" and ints:
        small = type(constant) is int and abs(constant) <= 16
        return (max(1, sizes[0] * abs(constant)), constant < 0) if small else (MAX_BITS + 1, True)  # type: ignore[arg-type, operator]
    if name in ("lshift", "rshift"):
        usable = type(constant) is int and 0 <= constant <= 64
        return (sizes[0] + constant if name == "lshift" else sizes[0], False) if usable else (MAX_BITS + 1, True)  # type: ignore[operator]
    if name == "float" or (name == "int" and ints):
        return sizes[0], False
    return LONGEST, True


def needed_for_value(t: Tracer) -> set[PathAttr]:
    """The paths of run-time numbers whose value decided something."""
    return {source.path() for source in t.pinned}


# ---- as operands of torch's functions --------------------------------------------------------------------------------


class OperandNode(NumberNode):
    """The node of a number that is given to a function of torch: what the function decides by it is guarded."""

    def __init__(self, number: RunTimeNumber) -> None:
        super().__init__(number.value)
        self.number = number

    def need(self) -> int | float:
        return self.number.needed(as_size=type(self.example) is int)

    def need_constant(self) -> int | float:
        return self.number.needed()

    def accept(self, dtypes: Sequence[torch.dtype], special: Sequence[float] = ()) -> bool:
        """The number is guarded to fit each dtype, as torch raises for some that do not, and to be none of the special ones."""
        number, value = self.number, self.example
        t = number.t
        if any(value == each for each in special):
            return False
        elements = {ELEMENT_OF[dtype] for dtype in dtypes if dtype is not torch.bool and (dtype.is_floating_point or type(value) is int)}
        if not all(_fits(value, DTYPE_OF[element]) for element in elements):
            return False
        if type(value) is int and not elements:
            t.guards.number(number.origin, value)
        for element in elements:
            t.guards.fits(number.origin, value, element)
        for each in special:
            apply(t, operator.eq, [(number, None), (each, None)])
        return value.bit_length() <= LONGEST if type(value) is int else True


def _fits(value: int | float, dtype: torch.dtype) -> bool:
    if not math.isfinite(value):
        return True
    info: Any = torch.finfo(dtype) if dtype.is_floating_point else torch.iinfo(dtype)
    return bool(info.min <= value <= info.max)


def with_symbols(value: Any) -> Any:
    """The arguments of a function of torch with a symbolic number for each of run time."""
    kind = type(value)
    if kind is RunTimeNumber:
        return symbolic(OperandNode(value)) if value.size is None else value.t.symbols.sizes.dim(value.size)
    if kind is slice:
        return slice(with_symbols(value.start), with_symbols(value.stop), with_symbols(value.step))
    if kind is torch.Size:
        return torch.Size(with_symbols(tuple(value)))
    if kind is tuple or kind is list:
        return kind([with_symbols(item) for item in value])
    if kind is dict:
        return {key: with_symbols(item) for key, item in value.items()}
    return value


def with_constants(value: Any) -> Any:
    """The arguments of a function of torch with the value for each number of run time; integers may be sizes in the next trace."""
    return map_leaves(value, lambda leaf: leaf.needed(as_size=type(leaf.value) is int) if type(leaf) is RunTimeNumber else leaf)


def with_values(value: Any) -> Any:
    """The arguments of a function whose results do not depend on its numbers, with the value that each has in the traced call."""
    kind = type(value)
    if kind is RunTimeNumber:
        return value.value
    if kind is tuple or kind is list:
        return kind([with_values(item) for item in value])
    return {key: with_values(item) for key, item in value.items()} if kind is dict else value


def numbers_in(value: Any) -> bool:
    """True when a number of run time stands anywhere in the arguments of a function."""
    kind = type(value)
    if kind is tuple or kind is list:
        return any(numbers_in(item) for item in value)
    if kind is dict:
        return any(numbers_in(item) for item in value.values())
    if kind is torch.Size:
        return any(type(item) is RunTimeNumber for item in value)
    return kind is RunTimeNumber or (kind is slice and any(type(part) is RunTimeNumber for part in (value.start, value.stop, value.step)))
