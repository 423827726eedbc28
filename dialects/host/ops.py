"""host: the program around the kernels.

A `host.func` is straight-line code that runs once for each call of a compiled graph.  Its parameters are the graph's inputs.  Memory is
explicit: `alloc` makes a flat buffer, `empty` a tensor of its own, `memory` is the flat memory of a tensor from its first element on, `view`
looks at a buffer as a tensor, and `free` ends the life of a value that this function made (never of a parameter).  `launch` runs a kernel over
a grid of programs; kernels read and write the buffers they are given, nothing else, and the order of operations is the order of effects.
`extern` calls a library function of torch on tensors, `write` copies into a parameter, `written` says that kernels have stored there.  A value that is
returned must not have been freed; a returned view keeps its buffer alive.

Two backends read this dialect: one prints Python that a person can step through and that is the reference, one makes native code.  Streams,
recorded graphs are additions to it.  Sizes may be expressions over symbols: `size` and `number` say what a symbol is when the program runs, in front of all
that it occurs in.
"""

from functools import lru_cache

from lect.dialects.host.attributes import OperandRef
from lect.dialects.host.types import BufferType, TensorType
from lect.ir import (
    Allocates,
    Attr,
    Frees,
    FuncLike,
    HasParent,
    IsolatedFromAbove,
    Operand,
    Operation,
    Pure,
    Reads,
    RegionField,
    Result,
    SingleBlock,
    SymbolRef,
    Terminator,
    Type,
    Variadic,
    VariadicResult,
    Writes,
    op,
    require,
)
from lect.ir.symbolic import UNBOUNDED, Expr, Size
from lect.ir.types import index


@op("host.func")
class FuncOp(Operation):
    """The wrapper program of one compiled graph; parameters are tensors.

    Those whose numbers are in `consumed` are handed over: nobody has them behind the call, and the program frees them behind their last use.
    """

    sym_name: Attr[str]
    consumed: Attr[tuple] = ()
    contents: RegionField
    traits = (FuncLike, IsolatedFromAbove, SingleBlock)

    def verify(self) -> None:
        for value in self.body.args:
            require(isinstance(value.type, TensorType), self, "parameters of 'host.func' are !host.tensor, got {}", value.type)
        known = set(self.consumed) <= set(range(len(self.body.args))) and len(set(self.consumed)) == len(self.consumed)
        require(known, self, "'consumed' are numbers of parameters, each once, got {}", self.consumed)
        lent = {value for number, value in enumerate(self.body.args) if number not in self.consumed}
        freed: set[object] = set()
        for inner in self.body:
            for value in inner.operands:
                require(value not in freed, inner, "'{}' uses a value after 'host.free'", inner.name)
            if isinstance(inner, FreeOp):
                require(inner.value not in lent, inner, "a parameter that is not 'consumed' belongs to the caller and is not freed here")
                freed.add(inner.value)


@op("host.alloc")
class AllocOp(Operation):
    """Uninitialised memory.  `reason` says why it exists; `slot` is the number that the buffer plan gave it."""

    buffer: Result[BufferType]
    slot: Attr[int] = None
    reason: Attr[str] = None
    traits = (Allocates("buffer"),)


@op("host.empty")
class EmptyOp(Operation):
    """An uninitialised tensor of its own: memory and view in one, for a buffer that is seen in one way only."""

    tensor: Result[TensorType]
    slot: Attr[int] = None
    reason: Attr[str] = None
    traits = (Allocates("tensor"),)

    def verify(self) -> None:
        type = self.tensor.type
        require(type.is_dense, self, "an own tensor has no gaps and no overlaps, but {} has", type)


@lru_cache(maxsize=4096)
def _memory_type(type: TensorType) -> BufferType:
    return BufferType(type.span, type.element, type.device)


@op("host.memory")
class MemoryOp(Operation):
    """The flat memory of a tensor, from its first element to its last."""

    tensor: Operand[TensorType]
    buffer: Result[BufferType]
    traits = (Pure,)

    def infer(self) -> tuple[Type, ...]:
        return (_memory_type(self.tensor.type),)


@op("host.view")
class ViewOp(Operation):
    """A buffer seen as a tensor whose first element is `offset` elements into it; sizes and strides are those of the result type."""

    buffer: Operand[BufferType]
    offset: Attr[(int, Expr)] = 0
    tensor: Result[TensorType]
    traits = (Pure,)

    def verify(self) -> None:
        buffer, tensor = self.buffer.type, self.tensor.type
        require(buffer.element is tensor.element, self, "a view keeps the element type {}, got {}", buffer.element, tensor.element)
        require(buffer.device == tensor.device, self, "a view stays on the device {}, got {}", buffer.device, tensor.device)
        inside = _in_order(0, self.offset) and _in_order(self.offset + tensor.span, buffer.numel)
        require(inside, self, "the view reaches beyond the {} elements of its buffer", buffer.numel)


@op("host.size")
class SizeOp(Operation):
    """The size of dim `dim` of a tensor, read at run time and divided by `divisor`, which leaves no rest; with `symbol` it is what `s<symbol>` stands for."""

    tensor: Operand[TensorType]
    dim: Attr[int]
    symbol: Attr[int] = None
    divisor: Attr[int] = 1
    value: Result[index]
    traits = (Pure,)

    def infer(self) -> tuple[Type, ...]:
        return (index,)

    def verify(self) -> None:
        require(0 <= self.dim < len(self.tensor.type.sizes), self, "dim {} is out of range for {}", self.dim, self.tensor.type)
        require(self.divisor >= 1, self, "the divisor is positive, got {}", self.divisor)


@op("host.number")
class NumberOp(Operation):
    """The element of a 0-d tensor of integers on the CPU, divided by `divisor`, which leaves no rest; with `symbol` it is what `s<symbol>` stands for."""

    tensor: Operand[TensorType]
    symbol: Attr[int] = None
    divisor: Attr[int] = 1
    value: Result[index]
    traits = (Reads("tensor"),)

    def infer(self) -> tuple[Type, ...]:
        return (index,)

    def verify(self) -> None:
        type = self.tensor.type
        good = not type.sizes and type.element.kind in ("signed", "unsigned") and type.device == "cpu"
        require(good, self, "a number is the element of a 0-d tensor of integers on the CPU, got {}", type)
        require(self.divisor >= 1, self, "the divisor is positive, got {}", self.divisor)


@op("host.launch")
class LaunchOp(Operation):
    """Run `grid` programs of the kernel `kernel` on the given memory.  Programs may run in any order and at once.  `sizes` are the values of its symbols.

    With the target "cpu" a thread gets at least `grain` of them; with "cuda" they are queued behind what the current stream of the device has to do.
    """

    buffers: Variadic[BufferType]
    kernel: Attr[SymbolRef]
    grid: Attr[(int, Expr)]
    grain: Attr[int] = 1
    target: Attr[frozenset({"cpu", "cuda"})] = "cpu"
    sizes: Attr[tuple] = ()
    traits = (Reads("buffers"), Writes("buffers"))

    def verify(self) -> None:
        require(_in_order(0, self.grid), self, "the grid must not be negative, got {}", self.grid)
        require(all(type(size) in (int, Expr) for size in self.sizes), self, "'sizes' are sizes, got {}", list(self.sizes))
        require(self.grain >= 1, self, "a thread runs at least one program, got a grain of {}", self.grain)


@op("host.extern")
class ExternOp(Operation):
    """Call a library function: `callee` names an ATen overload (`@aten.addmm.default`), `args` and `kwargs` are written out, with `#host.operand<n>`
    where operand n goes.  Results are new tensors with the strides of their types (the callee's own layout; a difference at run time is an error).

    `finds` are symbols that are sizes of results: for each the number of the result, the dim, the least and the greatest value that the program is for (none:
    any).  The program raises for others.  The `host.size` behind the call says what the symbol stands for from there on.
    """

    tensors: Variadic[TensorType]
    callee: Attr[SymbolRef]
    args: Attr[tuple] = ()
    kwargs: Attr[dict] = {}  # noqa: RUF012
    finds: Attr[dict] = {}  # noqa: RUF012
    results_: VariadicResult[TensorType]
    traits = (Reads("tensors"), Allocates("results_"))

    def verify(self) -> None:
        for number in _operand_numbers((self.args, self.kwargs)):
            require(0 <= number < len(self.operands), self, "there is no operand {}, the call has {}", number, len(self.operands))
        for name, place in self.finds.items():
            good = name[:1] == "s" and name[1:].isdigit() and len(place) == 4 and place[0] in range(len(self.results))
            good = good and place[1] in range(len(self.results[place[0]].type.sizes))
            require(good, self, "'finds' gives a result, a dim and bounds for a symbol, got {} = {}", name, place)


@op("host.update")
class UpdateOp(Operation):
    """Call a library function that writes to its first argument, a tensor that the caller keeps.  Autograd sees nothing of it; `host.written` counts."""

    tensors: Variadic[TensorType]
    callee: Attr[SymbolRef]
    args: Attr[tuple] = ()
    kwargs: Attr[dict] = {}  # noqa: RUF012
    traits = (Reads("tensors"), Writes("tensors"))

    def verify(self) -> None:
        for number in _operand_numbers((self.args, self.kwargs)):
            require(0 <= number < len(self.operands), self, "there is no operand {}, the call has {}", number, len(self.operands))
        require(bool(self.args) and isinstance(self.args[0], OperandRef), self, "the first argument of 'host.update' is the operand that it writes")


@op("host.write")
class WriteOp(Operation):
    """Copy `value` into a tensor that the caller keeps: a parameter or a view of its memory.  Autograd counts `versions` writes in place."""

    target: Operand[TensorType]
    value: Operand[TensorType]
    versions: Attr[int] = 1
    traits = (Reads("value"), Writes("target"))

    def verify(self) -> None:
        target, value = self.target.type, self.value.type
        require(target.sizes == value.sizes and target.element is value.element, self, "a write keeps sizes and element type, got {} into {}", value, target)
        require(self.versions >= 0, self, "'versions' counts writes, got {}", self.versions)


@op("host.written")
class WrittenOp(Operation):
    """Kernels have written to this tensor, which the caller keeps: autograd counts `versions` writes in place."""

    target: Operand[TensorType]
    versions: Attr[int] = 1
    traits = (Writes("target"),)

    def verify(self) -> None:
        require(self.versions >= 0, self, "'versions' counts writes, got {}", self.versions)


@op("host.free")
class FreeOp(Operation):
    """Nothing uses this value from here on; its memory may be reused."""

    value: Operand[(BufferType, TensorType)]
    traits = (Frees("value"),)


@op("host.return")
class ReturnOp(Operation):
    """End the call with these tensors."""

    values: Variadic[TensorType]
    traits = (Terminator, HasParent("host.func"))


def _in_order(left: Size, right: Size) -> bool:
    """False when `left` is surely greater than `right`."""
    return UNBOUNDED.less_equal(left, right) is not False


def _operand_numbers(value: object) -> list[int]:
    if isinstance(value, OperandRef):
        return [value.number]
    if isinstance(value, (tuple, list)):
        return [number for item in value for number in _operand_numbers(item)]
    if isinstance(value, dict):
        return [number for item in value.values() for number in _operand_numbers(item)]
    return []
