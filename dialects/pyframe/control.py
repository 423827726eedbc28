"""Functions of pyframe, how control leaves a block, and exceptions being handled."""

from collections.abc import Sequence
from types import MappingProxyType

from lect.dialects.pyframe.ops import Producer
from lect.dialects.pyframe.types import OBJECT, PLACE, ObjectType, PlaceType
from lect.ir import (
    Attr,
    Block,
    FuncLike,
    HasParent,
    IsolatedFromAbove,
    Operand,
    Operation,
    OptionalOperand,
    OptionalSuccessor,
    RegionField,
    Result,
    Successor,
    Terminator,
    Type,
    op,
    require,
)

FUTURES = ("annotations", "generator_stop", "barry_as_FLUFL", "unicode_literals", "print_function", "with_statement", "absolute_import", "division")
FLAGS = frozenset(("optimized", "newlocals", "nested", "generator", *FUTURES))
NAME_LISTS = ("args", "keyword_only", "locals", "cells", "free")


@op("pyframe.func")
class FuncOp(Operation):
    """The body of one code object.

    Parameters, in the order of the call: `args` (the first `positional_only` of them without names), `keyword_only`, `varargs`, `varkw`.  `locals` are
    the other local variables, `cells` the variables (parameters among them) that nested functions share, `free` those taken from around.  `flags` holds
    'optimized' and 'newlocals' for a function, 'nested' inside another one, 'generator' for a function whose call gives a generator that runs the body,
    and the names of `from __future__` imports.
    """

    body_region: RegionField
    sym_name: Attr[str]
    code_name: Attr[str]
    qualname: Attr[str] = None
    args: Attr[tuple] = ()
    positional_only: Attr[int] = 0
    keyword_only: Attr[tuple] = ()
    varargs: Attr[(str, None)] = None
    varkw: Attr[(str, None)] = None
    locals: Attr[tuple] = ()
    cells: Attr[tuple] = ()
    free: Attr[tuple] = ()
    flags: Attr[tuple] = ("optimized", "newlocals")
    doc: Attr[(str, None)] = None
    file: Attr[str] = ""
    first_line: Attr[int] = 1
    traits = (FuncLike, IsolatedFromAbove)

    @property
    def parameters(self) -> tuple[str, ...]:
        """Names of all parameters, in the order of the frame's slots."""
        return (*self.args, *self.keyword_only, *(name for name in (self.varargs, self.varkw) if name is not None))

    @property
    def qualified_name(self) -> str:
        """`__qualname__` of functions made from this code."""
        return self.qualname if self.qualname is not None else self.code_name

    @property
    def slots(self) -> frozenset[str]:
        """Names of all plain local variables, parameters that are cells excepted."""
        return frozenset((*self.parameters, *self.locals)) - frozenset(self.cells)

    def verify(self) -> None:
        """Names are unique, blocks are closed, variables are declared, and what survives an exception is the bottom of the stack."""
        require(not self.body.args, self, "'pyframe.func' takes its parameters in local variables, not as block arguments")
        for field in NAME_LISTS:
            require(all(isinstance(name, str) for name in getattr(self, field)), self, "'{}' of 'pyframe.func' must be a list of names", field)
        self._verify_names()
        for flag in self.flags:
            require(isinstance(flag, str) and flag in FLAGS, self, "'pyframe.func' has no flag '{}'", flag)
        shared = frozenset((*self.cells, *self.free))
        saved = {operation.attrs.get("id") for operation in self.region.walk() if operation.name == "pyframe.save_local"}
        scopes = {"local variable": self.slots | (shared & saved), "cell or free variable": shared, "variable": self.slots | shared}
        for block in self.region.blocks:
            for operation in block:
                verify_closed(operation, block)
                suspends = operation.name in SUSPENDS
                require(not suspends or "generator" in self.flags, operation, "'{}' needs the flag 'generator' of @{}", operation.name, self.symbol)
                scope = _SCOPE.get(operation.name)
                if scope is not None:
                    name = operation.attrs["id"]
                    require(name in scopes[scope], operation, "'{}' is no {} of @{}", name, scope, self.symbol)

    def _verify_names(self) -> None:
        parameters, local, cells, free = self.parameters, self.locals, self.cells, self.free
        few = 0 <= self.positional_only <= len(self.args)
        require(few, self, "'pyframe.func' has {} positional-only of {} parameters", self.positional_only, len(self.args))
        names = [*parameters, *local, *(name for name in cells if name not in parameters and name not in local), *free]
        seen: set[str] = set()
        for name in names:
            require(name not in seen, self, "the variable '{}' is declared twice", name)
            seen.add(name)
        require(len(set(cells)) == len(cells), self, "a cell is declared twice")


_LOCAL_OPS = ("load_local", "store_local", "delete_local")
_DEREF_OPS = ("load_deref", "store_deref", "delete_deref", "load_cell", "make_cell", "bind_cell", "load_from_dict_or_deref")
_SLOT_OPS = ("save_local", "restore_local")  # of any variable of the frame
_SCOPE = MappingProxyType(
    {f"pyframe.{name}": "local variable" for name in _LOCAL_OPS}
    | {f"pyframe.{name}": "cell or free variable" for name in _DEREF_OPS}
    | {f"pyframe.{name}": "variable" for name in _SLOT_OPS}
)


def verify_closed(operation: Operation, block: Block) -> None:
    """Operands come from the operation's own block."""
    for value in operation.operands:
        owner = value.owner
        require(owner is block or getattr(owner, "parent", None) is block, operation, "a value may leave its block only as an argument of the next")


class PyTerminator(Operation):
    """Base of the terminators.  The successor `unwind`, the last one, gets the exception behind the operands written for it."""

    __slots__ = ()

    @property
    def handler(self) -> Block | None:
        """The block to which exceptions raised in this block go."""
        return self.unwind  # type: ignore[attr-defined]

    def produced(self, number: int) -> Sequence[Type]:
        if self.handler is not None and number == len(self.successors) - 1:
            return exception_types(self.successors[number])
        return ()

    def verify(self) -> None:
        if self.handler is None or self.parent is None:
            return
        known = set(self.parent.args)
        for operation in self.parent:
            if operation.name not in NEVER_RAISES:
                break
            known.update(operation.results)
        for value in self.unwind_operands:  # type: ignore[attr-defined]
            require(value in known, self, "what survives an exception must be there before the first operation of the block that may raise")


def exception_types(block: Block) -> tuple[Type, ...]:
    """What an exception hands to its handler: the exception, behind the place of the raise when the handler takes one."""
    if len(block.args) >= 2 and block.args[-2].type is PLACE:
        return (PLACE, OBJECT)
    return (OBJECT,)


_IN_FUNC = (Terminator, HasParent("pyframe.func"))


@op("pyframe.branch")
class BranchOp(PyTerminator):
    """Go on in another block.  Does not raise."""

    target: Successor
    unwind: OptionalSuccessor
    traits = _IN_FUNC


@op("pyframe.cond_branch")
class CondBranchOp(PyTerminator):
    """Go to the first block when the condition is true (for the test `none`: when it is None), else to the second."""

    condition: Operand[ObjectType]
    test: Attr[frozenset({"true", "none"})] = "true"
    then: Successor
    otherwise: Successor
    unwind: OptionalSuccessor
    traits = _IN_FUNC


@op("pyframe.for_iter")
class ForIterOp(PyTerminator):
    """Ask the iterator: its next value is the last argument of the first block; when it is exhausted, go to the second block."""

    iterator: Operand[ObjectType]
    then: Successor
    otherwise: Successor
    unwind: OptionalSuccessor
    traits = _IN_FUNC

    def produced(self, number: int) -> Sequence[Type]:
        return (OBJECT,) if number == 0 else PyTerminator.produced(self, number)


@op("pyframe.yield")
class YieldOp(PyTerminator):
    """Suspend the frame and hand out a value.  What is sent in is the last argument of the first block; what is thrown in goes to `unwind`."""

    value: Operand[ObjectType]
    then: Successor
    unwind: OptionalSuccessor
    traits = _IN_FUNC

    def produced(self, number: int) -> Sequence[Type]:
        return (OBJECT,) if number == 0 else PyTerminator.produced(self, number)


@op("pyframe.yield_from")
class YieldFromOp(PyTerminator):
    """`yield from iterable`: hand out its values, hand in what is sent and thrown; its return value is the last argument of the first block.

    When `standing`, the operand is an iterator that was delegated to before: the frame hands out None once, and asks it only when it goes on.
    """

    iterable: Operand[ObjectType]
    standing: Attr[bool] = False
    then: Successor
    unwind: OptionalSuccessor
    traits = _IN_FUNC

    def produced(self, number: int) -> Sequence[Type]:
        return (OBJECT,) if number == 0 else PyTerminator.produced(self, number)


SUSPENDS = frozenset({"pyframe.yield", "pyframe.yield_from"})


@op("pyframe.return")
class ReturnOp(PyTerminator):
    """Leave the function with a value.  Does not raise; `unwind` is for the operations before it."""

    value: Operand[ObjectType]
    unwind: OptionalSuccessor
    traits = _IN_FUNC


@op("pyframe.raise")
class RaiseOp(PyTerminator):
    """`raise`, `raise exception` or `raise exception from cause`."""

    exception: OptionalOperand[ObjectType]
    cause: OptionalOperand[ObjectType]
    unwind: OptionalSuccessor
    traits = _IN_FUNC

    def verify(self) -> None:
        PyTerminator.verify(self)  # the decorator makes a new class, which `super()` without arguments would not find
        require(self.cause is None or self.exception is not None, self, "'pyframe.raise' has a cause but no exception")


@op("pyframe.reraise")
class ReraiseOp(PyTerminator):
    """Raise an exception that was caught, with the traceback it has; `place` is the instruction it is said to come from."""

    exception: Operand[ObjectType]
    place: OptionalOperand[PlaceType]
    unwind: OptionalSuccessor
    traits = _IN_FUNC


NEVER_RAISES = frozenset(
    f"pyframe.{name}"
    for name in (
        *("branch", "return", "load_const", "store_local", "load_cell", "bind_cell", "is", "pop_exc", "push_exc", "load_exc", "load_place", "drop"),
        *("save_local", "restore_local"),
    )
)


# ---- exceptions being handled, and `with` ----------------------------------------------------------------------------


@op("pyframe.push_exc")
class PushExcOp(Producer):
    """Make an exception the one being handled; the result is the one before (None when there was none).  Does not raise."""

    exception: Operand[ObjectType]
    previous: Result


@op("pyframe.pop_exc")
class PopExcOp(Operation):
    """Make the previous exception again the one being handled.  Does not raise."""

    previous: Operand[ObjectType]


@op("pyframe.load_exc")
class LoadExcOp(Producer):
    """The exception being handled, as `sys.exception()` gives it."""

    value: Result


@op("pyframe.load_place")
class LoadPlaceOp(Operation):
    """The beginning of the frame, as the place of an exception that was raised before the frame was.  Does not raise."""

    value: Result

    def infer(self) -> tuple[Type, ...]:
        return (PLACE,)


@op("pyframe.match_exc")
class MatchExcOp(Producer):
    """True when an exception is caught by `except pattern`; TypeError when the pattern is no exception class or tuple of such."""

    exception: Operand[ObjectType]
    pattern: Operand[ObjectType]
    value: Result


@op("pyframe.match_exc_group")
class MatchExcGroupOp(Operation):
    """Split an exception for `except* pattern`: the group of what does not match (or None), and the group of what does (or None)."""

    exception: Operand[ObjectType]
    pattern: Operand[ObjectType]
    rest: Result
    match: Result

    def infer(self) -> tuple[Type, ...]:
        return (OBJECT, OBJECT)


@op("pyframe.combine_exc_group")
class CombineExcGroupOp(Producer):
    """The exception to raise behind a `try` with `except*`: of the original and the list of what the handlers raised; None when there is none."""

    original: Operand[ObjectType]
    raised: Operand[ObjectType]
    value: Result


@op("pyframe.with_enter")
class WithEnterOp(Operation):
    """Enter a context manager: its bound `__exit__`, and what `__enter__` gave.  A normal exit is a `call` of the former with three Nones."""

    manager: Operand[ObjectType]
    exit: Result
    entered: Result

    def infer(self) -> tuple[Type, ...]:
        return (OBJECT, OBJECT)


@op("pyframe.with_exit")
class WithExitOp(Producer):
    """Call a bound `__exit__` with the type, the value and the traceback of an exception; a true result swallows it."""

    exit: Operand[ObjectType]
    exception: Operand[ObjectType]
    value: Result


@op("pyframe.get_iter")
class GetIterOp(Producer):
    """`iter(iterable)`."""

    iterable: Operand[ObjectType]
    value: Result
