"""Resume functions: `pyframe` functions that go on in the middle of another one.

A function that cannot be followed at one of its operations is cut there.  What is behind the cut becomes two kinds of functions:

    step     (`steps.py`) runs that one operation as Python does, or calls what goes on in an inlined function, and hands what is alive to a
             resume function, one for each way on; that for an exception goes on in the handler of the operation's block;
    resume   has the live variables and the values of the operand stack as parameters, and is the rest of the function.

Both are made from the original function, so that a cut in the rest of a function leads to the same resume points as a cut in the function itself.
The variables keep their names.  Values of the stack are parameters `stack.0`, `stack.1`, ...; an iterator of a loop comes in a list of its own, out of
which it is taken, so that nobody else holds it when the loop is left and it is released.  `handled.0`, ... are the exceptions that `except` blocks
around the place handle, outermost first; `raised.0` is an exception on its way to a handler.  Cells come in through the closure.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from lect.dialects.pyframe import control
from lect.dialects.pyframe import ops as py
from lect.dialects.pyframe.control import FuncOp
from lect.dialects.pyframe.types import OBJECT, PLACE
from lect.ir import Block, Operation, Region, Value

INNER = "call.0"
RAISED = "raised.0"
# A function that names one of these may look at variables that it does not load.
_LOOKS_AROUND = frozenset({"locals", "vars", "dir", "eval", "exec", "_getframe", "currentframe", "super"})


class Place(NamedTuple):
    """A place in a function: in front of operation number `op` of block number `block`; with `raises`, an exception is on its way to that handler."""

    block: int
    op: int = 0
    raises: bool = False


class NotResumable(Exception):
    """The function cannot be cut at this place; the text says why."""


@dataclass(frozen=True)
class Resume:
    """A place of a function to go on from, with the variables that are bound there: what a resume function is made from.

    `stack` are the live values of the original function at the place, `handled` how many exceptions are being handled by the function itself.
    """

    base: Cuttable
    place: Place
    variables: tuple[str, ...]
    stack: tuple[Value, ...]
    handled: int

    @property
    def key(self) -> tuple[Any, ...]:
        """Equal for equal places of one function with the same parameters."""
        return (self.place, self.variables)

    @property
    def parameters(self) -> tuple[str, ...]:
        """Names of the parameters of the resume function, without the cells."""
        return (*self.variables, *stack_names(self.stack), *handled_names(self.handled), *((RAISED,) if self.place.raises else ()))


def stack_names(stack: Sequence[Value]) -> tuple[str, ...]:
    """Names of the parameters for values of the stack."""
    return tuple([f"stack.{number}" for number in range(len(stack))])


def handled_names(count: int) -> tuple[str, ...]:
    """Names of the parameters for handled exceptions."""
    return tuple([f"handled.{number}" for number in range(count)])


class Cuttable:
    """What must be known of a function to cut it: numbers of blocks and operations, which values are exceptions put aside, and which variables are live."""

    def __init__(self, func: FuncOp) -> None:
        self.func = func
        self.blocks = func.region.blocks
        self.numbers = {block: number for number, block in enumerate(self.blocks)}
        self.shared = (*func.cells, *func.free)
        self.compares_tracebacks = any(op.name == "pyframe.match_exc_group" for op in func.walk())
        self.looks_around = any(_names_one(op) for op in func.walk())
        self.takes_first = any(op.name == "pyframe.load_global" and op.attrs["id"] == "super" for op in func.walk())
        self.previous = _previous_values(func)
        self.iterators = _iterators(func)
        self._live_in: dict[Block, frozenset[str]] | None = None

    def ordered(self, variables: Collection[str]) -> tuple[str, ...]:
        """Those of the plain variables that are among `variables`, parameters first."""
        return tuple([name for name in (*self.func.parameters, *self.func.locals) if name in variables and name not in self.shared])

    def operation(self, place: Place) -> Operation:
        """The operation at a place."""
        return list(self.blocks[place.block])[place.op]

    def place_of(self, op: Operation) -> Place:
        """The place of an operation."""
        block = op.parent
        assert block is not None
        return Place(self.numbers[block], next(number for number, each in enumerate(block) if each is op))

    def stack_at(self, place: Place) -> list[Value]:
        """Values that exist in front of a place and that something at or behind it uses, bottom of the stack first."""
        block = self.blocks[place.block]
        ops = list(block)
        used = {value for op in ops[place.op :] for value in op.operands}
        there = [*self._arguments(place), *(value for op in ops[: place.op] for value in op.results)]
        return [value for value in there if value in used]

    def _arguments(self, place: Place) -> list[Value]:
        args = list(self.blocks[place.block].args)
        if not place.raises:
            return args
        return [value for value in args[:-1] if value.type is not PLACE] if args else []

    def live_variables(self, place: Place) -> frozenset[str]:
        """Local variables that may be read at or behind a place before they are bound again."""
        if self._live_in is None:
            self._live_in = _live_in(self.func)
        block = self.blocks[place.block]
        live = _live_out(block, self._live_in)
        for op in reversed(list(block)[place.op :]):
            live = _before(op, live, block, self._live_in)
        return live


def _names_one(op: Operation) -> bool:
    return op.name in ("pyframe.load_global", "pyframe.load_attr", "pyframe.import_from") and op.attrs.get("id", op.attrs.get("attr")) in _LOOKS_AROUND


def _previous_values(func: FuncOp) -> frozenset[Value]:
    """The values that hold the exception handled before a `push_exc`: its results, and the block arguments that they reach."""
    found = {op.results[0] for op in func.walk() if op.name == "pyframe.push_exc"}
    waiting = list(found)
    while waiting:
        value = waiting.pop()
        for user in value.users:
            for target, operands in edges(user):
                for arg, operand in zip(target.args, operands):
                    if operand is value and arg not in found:
                        found.add(arg)
                        waiting.append(arg)
    return frozenset(found)


def _iterators(func: FuncOp) -> frozenset[Value]:
    """The values that hold iterators of loops, also behind the loop, and what these are made from (a generator is its own iterator)."""
    found = {op.operands[0] for op in func.walk() if op.name in ("pyframe.for_iter", "pyframe.get_iter")}
    pairs = [pair for op in func.walk() for target, operands in edges(op) for pair in zip(target.args, operands)]
    before = -1
    while before != len(found):
        before = len(found)
        for arg, operand in pairs:
            if arg in found or operand in found:
                found.update((arg, operand))
    return frozenset(found)


def take(block: Block, holder: Value) -> Value:
    """The iterator out of its list."""
    return block.append(py.CallOp(block.append(py.LoadAttrOp(holder, "pop")).results[0], [])).results[0]


def edges(op: Any) -> list[tuple[Block, list[Value]]]:
    """The successors of a terminator with the operands passed to them; those that it makes itself come behind them."""
    out = []
    for name in ("target", "then", "otherwise", "unwind"):
        block = getattr(op, name, None) if op.successors else None
        if isinstance(block, Block):
            out.append((block, list(getattr(op, f"{name}_operands"))))
    return out


# ---- live variables --------------------------------------------------------------------------------------------------


def _live_in(func: FuncOp) -> dict[Block, frozenset[str]]:
    blocks = func.region.blocks
    found: dict[Block, frozenset[str]] = dict.fromkeys(blocks, frozenset())
    changed = True
    while changed:
        changed = False
        for block in reversed(blocks):
            live = _live_out(block, found)
            for op in reversed(list(block)):
                live = _before(op, live, block, found)
            if live != found[block]:
                found[block] = live
                changed = True
    return found


def _live_out(block: Block, live_in: dict[Block, frozenset[str]]) -> frozenset[str]:
    terminator = block.last
    assert terminator is not None
    return frozenset().union(*(live_in[successor] for successor in terminator.successors))


def _before(op: Operation, live: frozenset[str], block: Block, live_in: dict[Block, frozenset[str]]) -> frozenset[str]:
    name = op.name
    if name in ("pyframe.load_local", "pyframe.delete_local", "pyframe.save_local"):
        live = live | {op.attrs["id"]}
    elif name == "pyframe.store_local":
        live = live - {op.attrs["id"]}
    handler = block.last.handler if isinstance(block.last, control.PyTerminator) else None
    return live if handler is None else live | live_in[handler]


# ---- the functions ---------------------------------------------------------------------------------------------------


class Clone(NamedTuple):
    """A resume function: the operation and the value of the original for each of its own."""

    func: FuncOp
    origin: dict[Operation, Operation]
    values: dict[Value, Value]


def twins(func: FuncOp, copied: FuncOp) -> tuple[dict[Operation, Operation], dict[Value, Value]]:
    """The operation and the value of a copied function for each of the function's own."""
    origin = dict(zip(func.region.walk(), copied.region.walk()))
    values: dict[Value, Value] = {}
    for block, twin in zip(func.region.blocks, copied.region.blocks):
        values.update(zip(block.args, twin.args))
    for op, other in origin.items():
        values.update(zip(op.results, other.results))
    return origin, values


def resume_at(base: Cuttable, place: Place, bound: Sequence[str]) -> Resume:
    """The resume function for a place when the variables `bound` have values.  Raises `NotResumable`."""
    stack = base.stack_at(place)
    for value in stack:
        if value.type is not OBJECT:
            raise NotResumable("a value of the machine is on the stack")
    first = base.func.parameters[:1]
    if base.takes_first and first and first[0] in base.func.cells:
        raise NotResumable("super() looks at the first parameter, which nested functions share")
    handled = sum(value in base.previous for value in stack)
    return Resume(base, place, tuple(bound), tuple([value for value in stack if value not in base.previous]), handled)


def resume_function(resume: Resume, name: str) -> Clone:
    """The rest of the function behind a place, called `name`."""
    base, place = resume.base, resume.place
    entry, rest = Block(), Block()
    twins = {block: Block(hint=block.hint) for block in _reachable(base, place)}
    origin: dict[Operation, Operation] = {}
    values: dict[Value, Value] = {}
    kept = _enter(base, resume, entry)
    source = base.blocks[place.block]
    if place.raises:
        raised = entry.append(py.LoadLocalOp(RAISED)).results[0]
        entry.append(py.DeleteLocalOp(RAISED))
        entry.append(control.BranchOp(target=rest, target_operands=[*kept, raised]))
        args = [rest.add_arg(OBJECT, value.hint) for value in base.stack_at(place)]
        error = rest.add_arg(OBJECT, RAISED)
        given = dict(zip(base.stack_at(place), args))
        operands = [given.get(value) or _nothing(rest) for value in base._arguments(place)]
        rest.append(control.ReraiseOp(error, unwind=twins[source], unwind_operands=operands, loc=source.first.loc if source.first else base.func.loc))
    else:
        entry.append(control.BranchOp(target=rest, target_operands=kept))
        mapping: dict[Any, Any] = dict(twins)
        for value in base.stack_at(place):
            mapping[value] = rest.add_arg(value.type, value.hint)
            values[mapping[value]] = value
        _copy(list(source)[place.op :], rest, mapping, origin, values)
    for block, twin in twins.items():
        inner: dict[Any, Any] = dict(twins)
        for value in block.args:
            inner[value] = twin.add_arg(value.type, value.hint)
            values[inner[value]] = value
        _copy(list(block), twin, inner, origin, values)
    return Clone(make_function(base, name, resume.parameters, [entry, rest, *twins.values()]), origin, values)


def _nothing(block: Block) -> Value:
    """A value for a handler's argument that nothing uses."""
    return block.append(py.LoadConstOp(None)).results[0]


def _enter(base: Cuttable, resume: Resume, entry: Block) -> list[Value]:
    """Take the stack out of the parameters: the values of `stack_at` in order."""
    kept: list[Value] = []
    stack, handled = iter(stack_names(resume.stack)), iter(handled_names(resume.handled))
    for value in base.stack_at(resume.place):
        set_aside = value in base.previous
        name = next(handled) if set_aside else next(stack)
        loaded = entry.append(py.LoadLocalOp(name)).results[0]
        entry.append(py.DeleteLocalOp(name))
        if value in base.iterators:
            loaded = take(entry, loaded)
        kept.append(entry.append(control.PushExcOp(loaded)).results[0] if set_aside else loaded)
    return kept


def _reachable(base: Cuttable, place: Place) -> list[Block]:
    source = base.blocks[place.block]
    found: set[Block] = set()
    waiting = [source] if place.raises else list(source.last.successors if source.last is not None else ())
    while waiting:
        block = waiting.pop()
        if block not in found:
            found.add(block)
            waiting.extend(block.last.successors if block.last is not None else ())
    return [block for block in base.blocks if block in found]


def _copy(ops: list[Operation], target: Block, mapping: dict[Any, Any], origin: dict[Operation, Operation], values: dict[Value, Value]) -> None:
    for op in ops:
        twin = target.append(op.clone(mapping))
        origin[twin] = op
        for old, new in zip(op.results, twin.results):
            values[new] = old


def make_function(base: Cuttable, name: str, parameters: Sequence[str], blocks: list[Block]) -> FuncOp:
    """A function with these parameters and blocks that has the variables, name and file of the original."""
    func = base.func
    shared = base.shared
    attrs: dict[str, Any] = {"sym_name": name, "code_name": func.code_name, "file": func.file, "first_line": func.first_line}
    if func.qualname is not None:
        attrs["qualname"] = func.qualname
    variables = [each for each in (*func.parameters, *func.locals) if each not in shared and each not in parameters]
    flags = [flag for flag in func.flags if flag not in ("nested", "generator")]
    attrs.update(args=tuple(parameters), locals=tuple(variables), free=shared, flags=(*flags, "nested") if shared else tuple(flags))
    return FuncOp(regions=[Region(blocks)], loc=func.loc, **attrs)
