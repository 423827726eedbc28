"""host.func to Python source, one statement for each operation.

    def f_graph(x, w):
        b = empty((8, 16), f32)                      # graph output
        launch(n0, pointers2(x.data_ptr(), b.data_ptr()), 8, 1)
        r = aten_mm_default(b, w)
        del b
        return [r]

A function that consumes parameters takes all of them as one list, and empties it: what else would keep them alive is the tuple of its arguments.
Names come from the IR; what text could smuggle in (symbols, strings) is turned into identifiers or quoted, so a file from elsewhere cannot
make this printer write anything but the program it describes.
"""

from __future__ import annotations

import keyword
import math
import re
from collections.abc import Callable, Iterable, Mapping
from types import MappingProxyType
from typing import Any

from lect.backends.python_sizes import size_source, tuple_source
from lect.backends.python_source import free_name
from lect.dialects.host import ops as host
from lect.dialects.host.attributes import OperandRef
from lect.dialects.host.types import BufferType, TensorType, contiguous_strides
from lect.dialects.loop.library import may_raise, may_share_memory
from lect.ir import SCALARS, LectError, Operation, ScalarType, Value
from lect.ir.symbolic import Expr, Size

_NOT_NAME = re.compile(r"\W", re.ASCII)
DTYPE_NAMES = frozenset(_NOT_NAME.sub("_", spelling).strip("_") for spelling in SCALARS)
RESERVED = DTYPE_NAMES | frozenset(
    "min max launch stream current_stream empty empty_strided empty_cuda seen_as check tensors_of write written torch inf nan complex".split()
)
NAMED_KINDS = frozenset({"memory_format", "layout"})


def identifier(text: str) -> str:
    """`text` as a Python identifier that is no keyword."""
    name = _NOT_NAME.sub("_", text) or "_"
    if name[0].isdigit() or keyword.iskeyword(name) or name in RESERVED:
        name = "v" + name if name[0].isdigit() else name + "_"
    return name


def dtype_name(element: ScalarType) -> str:
    """The name under which the source refers to the dtype of an element type."""
    return _NOT_NAME.sub("_", element.spelling).strip("_")


class Source:
    """The text of one host function and what it refers to: kernels, library functions, dtypes, and how many pointers each launch takes."""

    def __init__(self, func: host.FuncOp) -> None:
        self.func = func
        self.name = identifier(func.sym_name)
        self.lines: list[str] = []
        self.names: dict[Value, str] = {}
        self.taken: set[str] = set()
        self.kernels: dict[str, str] = {}  # identifier -> symbol
        self.callees: dict[str, tuple[str, ...]] = {}  # identifier -> path
        # Those that some call takes several tensors of.
        self.several = {"_".join(_path(op)) for op in func.body if isinstance(op, host.ExternOp) and len(op.results) > 1}
        self.dtypes: dict[str, str] = {}  # identifier -> spelling
        self.named: dict[str, tuple[str, str]] = {}  # identifier -> kind and name of a constant of torch
        self.arities: set[int] = set()
        self.symbols: dict[int, str] = {}  # number -> variable
        self.streams = False
        self.device: str | None = None  # the GPU that is current while the function runs

    @property
    def text(self) -> str:
        """The source."""
        return "\n".join(self.lines) + "\n"

    # ---- names -------------------------------------------------------------------------------------------------------

    def define(self, value: Value) -> str:
        """A fresh variable for a value."""
        name = self.names[value] = free_name(identifier(value.hint or f"t{len(self.names)}"), self.taken)
        return name

    def use(self, value: Value) -> str:
        """The variable of a value."""
        return self.names[value]

    def dtype(self, element: ScalarType) -> str:
        """The name of a dtype."""
        name = dtype_name(element)
        self.dtypes[name] = element.spelling
        return name

    def size(self, value: Size) -> str:
        """A size, which may be known only at run time."""
        return size_source(value, self.symbols)

    def sizes(self, values: Iterable[Size]) -> str:
        """A tuple of sizes."""
        return tuple_source(values, self.symbols)

    def emit(self, line: str, comment: str | None = None) -> None:
        """Add a statement, with the reason of a decision as a comment."""
        text = f"    {line}"
        self.lines.append(f"{text:<72}  # {_one_line(comment)}" if comment else text)

    # ---- values ------------------------------------------------------------------------------------------------------

    def literal(self, value: Any, operands: list[Value]) -> str:
        """A constant argument of a library call."""
        if isinstance(value, Expr):
            return self.size(value)
        if isinstance(value, OperandRef):
            return self.use(operands[value.number])
        if isinstance(value, tuple):
            return "[" + ", ".join([self.literal(item, operands) for item in value]) + "]"
        if isinstance(value, ScalarType):
            return self.dtype(value)
        if isinstance(value, dict) and len(value) == 1:
            return self.constructed(*next(iter(value.items())))
        if value is None or isinstance(value, (bool, int, str)):
            return repr(value)
        if isinstance(value, float):
            return repr(value) if math.isfinite(value) else f"float('{value}')"
        raise LectError(f"a library call cannot take the constant {value}")

    def constructed(self, kind: str, content: Any) -> str:
        """An argument that has no literal: `{device = "cpu"}`, `{complex = [re, im]}`, `{memory_format = "channels_last"}`, `{layout = "strided"}`."""
        if kind == "device" and isinstance(content, str):
            return repr(content)
        if kind == "complex" and isinstance(content, tuple) and len(content) == 2 and all(isinstance(part, float) for part in content):
            return f"complex({self.literal(content[0], [])}, {self.literal(content[1], [])})"
        if kind in NAMED_KINDS and isinstance(content, str) and content.isidentifier():
            name = f"{kind}_{content}"
            self.named[name] = (kind, content)
            return name
        raise LectError(f"a library call cannot take the constant {{{kind} = {content}}}")


def _one_line(text: str) -> str:
    return " ".join(text.split())


def operations_by_line(func: Operation) -> dict[int, Operation]:
    """The operation that each line of the source of a `host.func` is of.  Raises `LectError` for what is no host operation."""
    found: dict[int, Operation] = {}
    print_python(func, found)
    return found


def print_python(func: Operation, lines: dict[int, Operation] | None = None) -> Source:
    """The Python source of a `host.func`; `lines` is told whose each line is.  Raises `LectError` for what is no host operation."""
    if not isinstance(func, host.FuncOp):
        raise LectError(f"only 'host.func' has a Python form, not '{func.name}'", op=func)
    source = Source(func)
    parameters = ", ".join([source.define(value) for value in func.body.args])
    if func.consumed:
        given = free_name("given", source.taken)
        source.lines.append(f"def {source.name}({given}):")
        source.emit(f"[{parameters}] = {given}")
        source.emit(f"{given}.clear()", "nobody else has them")
    else:
        source.lines.append(f"def {source.name}({parameters}):")
    queued = next((op for op in func.body if isinstance(op, host.LaunchOp) and op.target == "cuda" and op.grid != 0), None)
    if queued is not None:
        source.streams = True
        device = queued.buffers[0].type.device
        source.device = device if device.startswith("cuda") else None
        source.emit(f"stream = current_stream({device_index(queued.buffers[0].type.device)})")
    for op in func.body:
        before = len(source.lines)
        print_operation(source, op)
        if lines is not None:
            lines.update(dict.fromkeys(range(before + 1, len(source.lines) + 1), op))
    return source


def print_operation(source: Source, op: Operation) -> None:
    """Add the statements of one operation.  Raises `LectError` for what is no host operation."""
    printer = _PRINTERS.get(type(op))
    if printer is None:
        raise LectError(f"the Python host has no form for '{op.name}'", op=op)
    printer(source, op)


# ---- one printer for each operation ----------------------------------------------------------------------------------


def _alloc(source: Source, op: host.AllocOp) -> None:
    type: BufferType = op.buffer.type
    if source.device is not None and type.device == source.device:
        source.emit(f"{source.define(op.buffer)} = empty_cuda(({source.size(type.numel)},), (1,), {source.dtype(type.element)})", op.reason)
        return
    source.emit(f"{source.define(op.buffer)} = empty({source.size(type.numel)}, dtype={source.dtype(type.element)}{_device(type.device)})", op.reason)


def _empty(source: Source, op: host.EmptyOp) -> None:
    type: TensorType = op.tensor.type
    name, dtype = source.define(op.tensor), source.dtype(type.element)
    if source.device is not None and type.device == source.device:
        strides = source.sizes(type.strides or contiguous_strides(type.sizes))
        source.emit(f"{name} = empty_cuda({source.sizes(type.sizes)}, {strides}, {dtype})", op.reason)
    elif type.strides == contiguous_strides(type.sizes):
        source.emit(f"{name} = empty({source.sizes(type.sizes)}, dtype={dtype}{_device(type.device)})", op.reason)
    else:
        layout = f"{source.sizes(type.sizes)}, {source.sizes(type.strides or ())}"
        source.emit(f"{name} = empty_strided({layout}, dtype={dtype}{_device(type.device)})", op.reason)


def _memory(source: Source, op: host.MemoryOp) -> None:
    source.names[op.buffer] = source.use(op.tensor)  # a tensor stands for its own memory


def _view(source: Source, op: host.ViewOp) -> None:
    type: TensorType = op.tensor.type
    buffer = source.use(op.buffer)
    layout, offset = f"{source.sizes(type.sizes)}, {source.sizes(type.strides or ())}", source.size(op.offset)
    if not isinstance(op.buffer.owner, host.MemoryOp):
        if source.device is not None and _is_private(op):
            source.emit(f"{source.define(op.tensor)} = seen_as({buffer}, {layout}, {offset})")
            return
        source.emit(f"{source.define(op.tensor)} = {buffer}.as_strided({layout}, {offset})")
        return
    whole: TensorType = op.buffer.owner.tensor.type
    order = permutation(whole, type) if op.offset == 0 else None
    if order != tuple(range(len(type.sizes))) and source.device is not None and _is_private(op):
        source.emit(f"{source.define(op.tensor)} = seen_as({buffer}, {layout}, {offset})")
    elif order is not None:
        turned = f"{buffer}.t()" if order == (1, 0) else f"{buffer}.permute({order})"
        source.emit(f"{source.define(op.tensor)} = {buffer if order == tuple(range(len(order))) else turned}")
    else:
        # the memory of a tensor begins at its first element, which may lie inside a larger storage
        source.emit(f"{source.define(op.tensor)} = {buffer}.as_strided({layout}, {buffer}.storage_offset() + {offset})")


def _is_private(op: host.ViewOp) -> bool:
    """Whether only the program itself sees a view: kernels and library calls read it, and none of these gives it on."""
    for user in op.tensor.users:
        if isinstance(user, host.MemoryOp):
            if not all(isinstance(reader, (host.LaunchOp, host.FreeOp)) for reader in user.buffer.users):
                return False
        elif not isinstance(user, host.FreeOp) and (not isinstance(user, host.ExternOp) or may_share_memory(user.callee.leaf)):
            return False
    return True


def permutation(whole: TensorType, part: TensorType) -> tuple[int, ...] | None:
    """The order of dims in which `part` is `whole` seen again, or None.  It is cheaper than a view by strides, and says what it is."""
    assert whole.strides is not None and part.strides is not None
    left = list(zip(whole.sizes, whole.strides))
    order = []
    for dim in zip(part.sizes, part.strides):
        if dim not in left:
            return None
        position = left.index(dim)
        left[position] = (-1, -1)
        order.append(position)
    return tuple(order) if len(order) == len(whole.sizes) else None


def _size(source: Source, op: host.SizeOp) -> None:
    _symbol(source, op, f"{source.use(op.tensor)}.size({op.dim})")


def _number(source: Source, op: host.NumberOp) -> None:
    _symbol(source, op, f"{source.use(op.tensor)}.item()")


def _symbol(source: Source, op: host.SizeOp | host.NumberOp, value: str) -> None:
    name = source.define(op.value)
    source.emit(f"{name} = {value}" + (f" // {op.divisor}" if op.divisor != 1 else ""))
    if op.symbol is not None:
        source.symbols[op.symbol] = name


def kernel_name(source: Source, op: host.LaunchOp) -> str:
    """The name of what a launch calls.  Raises `LectError` for two kernels that would have one name."""
    symbol = op.kernel.leaf
    kernel = "kernel_" + identifier(symbol)
    if source.kernels.setdefault(kernel, symbol) != symbol:
        raise LectError(f"two kernels have names that Python cannot tell apart: '{symbol}' and '{source.kernels[kernel]}'", op=op)
    return kernel


def _launch(source: Source, op: host.LaunchOp) -> None:
    if op.grid == 0:
        return
    kernel = kernel_name(source, op)
    pointers = ", ".join([*[f"{source.use(value)}.data_ptr()" for value in op.buffers], *[source.size(size) for size in op.sizes]])
    if op.target == "cuda":
        source.emit(f"{kernel}(stream, {pointers})")
        return
    count = len(op.buffers) + len(op.sizes)
    source.arities.add(count)
    source.emit(f"launch({kernel}, pointers{count}({pointers}), {source.size(op.grid)}, {op.grain})")


def _path(op: host.ExternOp | host.UpdateOp) -> tuple[str, ...]:
    return op.callee.path if len(op.callee.path) > 1 else tuple(op.callee.leaf.split("."))


def _call(source: Source, op: host.ExternOp | host.UpdateOp) -> tuple[str, list[str]]:
    """The name of the library function that an operation calls, and its arguments as text."""
    path = _path(op)
    if not all(part.isidentifier() for part in path):
        raise LectError(f"'{op.callee}' names no library function", op=op)
    callee = "_".join(path)
    source.callees[callee] = path
    arguments = [source.literal(value, op.operands) for value in op.args]
    for name, value in op.kwargs.items():
        if not name.isidentifier() or keyword.iskeyword(name):
            raise LectError(f"'{name}' is no name of an argument", op=op)
        arguments.append(f"{name}={source.literal(value, op.operands)}")
    return callee, arguments


def _update(source: Source, op: host.UpdateOp) -> None:
    callee, (target, *others) = _call(source, op)
    source.emit(f"{callee}({', '.join([f'{target}.data', *others])})")  # data: behind the back of autograd


def _extern(source: Source, op: host.ExternOp) -> None:
    callee, arguments = _call(source, op)
    call = f"{callee}({', '.join(arguments)})"
    results = [source.define(value) for value in op.results]
    if not results:
        source.emit(call)
        return
    if len(results) == 1:
        several = callee in source.several
        source.emit(f"{results[0]} = tensors_of({call}, 1)[0]" if several else f"{results[0]} = {call}")
    else:
        source.emit(f"{', '.join(results)} = tensors_of({call}, {len(results)})")
    for name, (number, dim, low, high) in op.finds.items():
        source.symbols[int(name[1:])] = variable = free_name(name, source.taken)
        source.emit(f"{variable} = found_size({str(op.callee)!r}, {results[number]}.size({dim}), {low}, {high})")
    for name, value in zip(results, op.results):
        if all(user.name == "host.free" for user in value.users):
            continue  # an operator may give None where nobody looks
        type: TensorType = value.type
        dtype = source.dtype(type.element)
        sizes, strides = source.sizes(type.sizes), source.sizes(type.strides or ())
        found = f"{name}.stride() != {strides}"
        if may_raise(".".join(op.callee.path)):  # nor is it sure what else it gives, and kernels read it as memory
            found += f" or {name}.shape != {sizes} or {name}.dtype is not {dtype}"
        source.emit(f"if {found}: {name} = check({str(op.callee)!r}, {name}, {sizes}, {strides}, {dtype})")


def _write(source: Source, op: host.WriteOp) -> None:
    source.emit(f"write({source.use(op.target)}, {source.use(op.value)}, {op.versions})")


def _written(source: Source, op: host.WrittenOp) -> None:
    """One statement for all that follow each other."""
    if op.versions and not _continues(op):
        targets, at = [op.target], op.next
        while isinstance(at, host.WrittenOp) and at.versions == op.versions:
            targets.append(at.target)
            at = at.next
        source.emit(f"written({', '.join([str(op.versions), *[source.use(target) for target in targets]])})")


def _continues(op: host.WrittenOp) -> bool:
    return isinstance(op.prev, host.WrittenOp) and op.prev.versions == op.versions


def _free(source: Source, op: host.FreeOp) -> None:
    source.emit(f"del {source.use(op.value)}")


def _return(source: Source, op: host.ReturnOp) -> None:
    source.emit(f"return [{', '.join([source.use(value) for value in op.values])}]")


def device_index(device: str) -> int:
    """The number of a device, `cuda:1` is 1; one without a number is the first."""
    return int(device.partition(":")[2] or 0)


def _device(device: str) -> str:
    return "" if device == "cpu" else f", device={device!r}"


_PRINTERS: Mapping[type, Callable[[Source, Any], None]] = MappingProxyType(
    {
        host.AllocOp: _alloc,
        host.EmptyOp: _empty,
        host.MemoryOp: _memory,
        host.ViewOp: _view,
        host.SizeOp: _size,
        host.NumberOp: _number,
        host.LaunchOp: _launch,
        host.ExternOp: _extern,
        host.UpdateOp: _update,
        host.WriteOp: _write,
        host.WrittenOp: _written,
        host.FreeOp: _free,
        host.ReturnOp: _return,
    }
)
