"""Resume functions: `pyframe` functions that go on in the middle of another one.

A function that cannot be followed at one of its operations is cut there.  What is behind the cut becomes two kinds of functions:

    step     (`steps.py`) runs that one operation as Python does, or calls what goes on in an inlined function, and hands what is alive to a
             resume function, one for each way on; that for an exception goes on in the handler of the operation's block;
    resume   has the live variables and the values of the operand stack as parameters, and is the rest of the function.

Both are made from the original function, so that a cut in the rest of a function leads to the same resume points as a cut in the function itself.
The variables keep their names.  Values of the stack are parameters `stack.0`, `stack.1`, ...; an iterator of a loop comes in a list of its own, out of
which it is taken, so that nobody else holds it when the loop is left and it is released.  `handled.0`, ... are the exceptions that `except` blocks
around the place handle, outermost first; `raised.0` is an exception on its way to a handler.  Cells come in through the closure.

Since Python 3.12 a comprehension runs in the frame around it, whose variables of the same names lie on the stack meanwhile.  What such a variable held is
a parameter too, put into the variable and saved again at the beginning; one that held nothing has no parameter, and resume functions differ by that.
The place of an exception's first raise is made anew: it only says where the frame stands, and the traceback has its line already.

`super()` looks at the first variable of the frame.  When nested functions share the function's first parameter, the parts of the function have a first
variable `first.0` that becomes the same cell.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from lect.dialects.pyframe import building, control
from lect.dialects.pyframe import ops as py
from lect.dialects.pyframe.control import FuncOp
from lect.dialects.pyframe.types import OBJECT, PLACE, SAVED
from lect.ir import Block, Operation, Region, Value

INNER = "call.0"
RAISED = "raised.0"
FIRST = "first.0"
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

    `stack` is what is on the stack of the original function at the place.
    """

    base: Cuttable
    place: Place
    variables: tuple[str, ...]
    stack: Stack

    @property
    def key(self) -> tuple[Any, ...]:
        """Equal for equal places of one function with the same parameters."""
        return (self.place, self.variables, self.stack.numbers_of_empty)

    @property
    def parameters(self) -> tuple[str, ...]:
        """Names of the parameters of the resume function, without the cells."""
        return (*self.base.first, *self.variables, *self.stack.parameters, *((RAISED,) if self.place.raises else ()))


class Stack:
    """The values on the stack of a function at a place, bottom first, and how the parts of the function pass them on.

    Of `values`, `passed` are parameters `stack.N`, and `handled` counts the exceptions put aside, for which there are parameters `handled.N`.  Those in
    `empty` hold what a variable held, which was nothing.
    """

    def __init__(self, base: Cuttable, values: Sequence[Value], empty: Collection[Value]) -> None:
        self.base = base
        self.values = tuple(values)
        self.empty = frozenset(value for value in values if value in empty)
        self.passed = tuple([value for value in values if value.type is not PLACE and value not in base.previous and value not in empty])
        self.handled = sum(value in base.previous for value in values)

    @property
    def numbers_of_empty(self) -> tuple[int, ...]:
        """Which of the values are empty."""
        return tuple([number for number, value in enumerate(self.values) if value in self.empty])

    @property
    def handled_names(self) -> tuple[str, ...]:
        """Names of the parameters for handled exceptions."""
        return tuple([f"handled.{number}" for number in range(self.handled)])

    @property
    def parameters(self) -> tuple[str, ...]:
        """Names of all parameters."""
        return (*[f"stack.{number}" for number in range(len(self.passed))], *self.handled_names)

    def enter(self, entry: Block, bound: Collection[str], keep_handled: bool) -> list[Value]:
        """Take the values out of the parameters at the beginning of a function in which the variables `bound` have a value.

        Exceptions put aside are then being handled again; the variables that hold them are kept on with `keep_handled`.
        """
        for name in self.base.first:
            entry.append(py.BindCellOp(_append(entry, py.LoadCellOp(self.base.func.parameters[0])), name))
        kept: list[Value] = []
        names = iter(self.parameters[: len(self.passed)])
        handled = iter(self.handled_names)
        for value in self.values:
            if value in self.base.previous:
                kept.append(entry.append(control.PushExcOp(_take_local(entry, next(handled), keep_handled))).results[0])
            elif value.type is PLACE:
                kept.append(_append(entry, control.LoadPlaceOp()))
            elif value.type is SAVED:
                held = None if value in self.empty else _take_local(entry, next(names))
                kept.append(self._save(entry, self.base.saved[value], held, bound))
            else:
                loaded = _take_local(entry, next(names))
                kept.append(take(entry, loaded) if value in self.base.iterators else loaded)
        return kept

    def _save(self, entry: Block, name: str, held: Value | None, bound: Collection[str]) -> Value:
        """What the variable `name` held, saved again; what it holds now stays."""
        shared = name in self.base.shared
        load, store = (py.LoadCellOp, py.BindCellOp) if shared else (py.LoadLocalOp, py.StoreLocalOp)
        now = _append(entry, load(name)) if shared or name in bound else None
        if held is not None:
            entry.append(store(held, name))
        elif now is not None and not shared:
            entry.append(py.DeleteLocalOp(name))
        saved = _append(entry, py.SaveLocalOp(name))
        if now is not None:
            entry.append(store(now, name))
        return saved

    def leave(self, block: Block, taken: dict[Value, Value]) -> list[Value]:
        """The arguments for the parameters, without the exceptions, at the end of a function that has the values `taken`; variables are lost.

        What a variable held can only be put back: an empty place of the stack cannot be popped.
        """
        given: list[Value] = []
        for value, there in taken.items():
            if value.type is SAVED and value not in self.passed:
                block.append(py.RestoreLocalOp(there, self.base.saved[value]))
        for value in self.passed:
            if value.type is SAVED:
                name = self.base.saved[value]
                block.append(py.RestoreLocalOp(taken[value], name))
                given.append(_append(block, (py.LoadCellOp if name in self.base.shared else py.LoadLocalOp)(name)))
            else:
                given.append(_append(block, building.BuildListOp([taken[value]])) if value in self.base.iterators else taken[value])
        return given


def _append(block: Block, op: Operation) -> Value:
    return block.append(op).results[0]


def _take_local(block: Block, name: str, keep: bool = False) -> Value:
    """The value of a parameter, which is released unless it is to be kept."""
    loaded = _append(block, py.LoadLocalOp(name))
    if not keep:
        block.append(py.DeleteLocalOp(name))
    return loaded


class Cuttable:
    """What must be known of a function to cut it: numbers of blocks and operations, which values are exceptions put aside, and which variables are live."""

    def __init__(self, func: FuncOp) -> None:
        self.func = func
        self.blocks = func.region.blocks
        self.numbers = {block: number for number, block in enumerate(self.blocks)}
        self.shared = (*func.cells, *func.free)
        self.looks_around = any(_names_one(op) for op in func.walk())
        self.takes_first = any(op.name == "pyframe.load_global" and op.attrs["id"] == "super" for op in func.walk())
        self.first = (FIRST,) if self.takes_first and func.args and func.args[0] in func.cells else ()
        self.previous = frozenset(_reached(func, {op.results[0]: True for op in func.walk() if op.name == "pyframe.push_exc"}))
        self.saved: dict[Value, str] = _reached(func, {op.results[0]: op.attrs["id"] for op in func.walk() if op.name == "pyframe.save_local"})
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
        there = [*self.arguments(place), *(value for op in ops[: place.op] for value in op.results)]
        return [value for value in there if value in used]

    def arguments(self, place: Place) -> list[Value]:
        """The arguments of the block at a place; those that the exception on its way to a handler will be are left out."""
        block = self.blocks[place.block]
        return block.args[: len(block.args) - len(control.exception_types(block))] if place.raises else list(block.args)

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


def _reached(func: FuncOp, found: dict[Value, Any]) -> dict[Value, Any]:
    """What is known of values, known too of the block arguments that they reach: exceptions put aside by a `push_exc`, variables by a `save_local`."""
    waiting = list(found)
    while waiting:
        value = waiting.pop()
        for user in value.users:
            for target, operands in edges(user):
                for arg, operand in zip(target.args, operands):
                    if operand is value and arg not in found:
                        found[arg] = found[value]
                        waiting.append(arg)
    return found


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
    elif name in ("pyframe.store_local", "pyframe.restore_local"):
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


def resume_at(base: Cuttable, place: Place, bound: Sequence[str], empty: Collection[Value] = ()) -> Resume:
    """The resume function for a place when the variables `bound` have values and the saved ones in `empty` had none."""
    return Resume(base, place, tuple(bound), Stack(base, base.stack_at(place), empty))


def resume_function(resume: Resume, name: str) -> Clone:
    """The rest of the function behind a place, called `name`."""
    base, place = resume.base, resume.place
    entry, rest = Block(), Block()
    twins = {block: Block(hint=block.hint) for block in _reachable(base, place)}
    origin: dict[Operation, Operation] = {}
    values: dict[Value, Value] = {}
    kept = resume.stack.enter(entry, resume.variables, False)
    source = base.blocks[place.block]
    if place.raises:
        raised = entry.append(py.LoadLocalOp(RAISED)).results[0]
        entry.append(py.DeleteLocalOp(RAISED))
        entry.append(control.BranchOp(target=rest, target_operands=[*kept, raised]))
        args = [rest.add_arg(value.type, value.hint) for value in resume.stack.values]
        error = rest.add_arg(OBJECT, RAISED)
        given = dict(zip(resume.stack.values, args))
        operands = [given.get(value) or _nothing(rest, value) for value in base.arguments(place)]
        rest.append(control.ReraiseOp(error, unwind=twins[source], unwind_operands=operands, loc=source.first.loc if source.first else base.func.loc))
    else:
        entry.append(control.BranchOp(target=rest, target_operands=kept))
        mapping: dict[Any, Any] = dict(twins)
        for value in resume.stack.values:
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


def _nothing(block: Block, value: Value) -> Value:
    """A value for a handler's argument that nothing uses."""
    return _append(block, control.LoadPlaceOp() if value.type is PLACE else py.LoadConstOp(None))


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
    if base.first:
        attrs["cells"] = base.first
    flags = [flag for flag in func.flags if flag not in ("nested", "generator")]
    attrs.update(args=tuple(parameters), locals=tuple(variables), free=shared, flags=(*flags, "nested") if shared else tuple(flags))
    return FuncOp(regions=[Region(blocks)], loc=func.loc, **attrs)
