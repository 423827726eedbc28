"""From a `host.func` to the rows of its native program.

Operations that have no rows become functions of Python, several in a row one function: the statements are those of the Python host, which is the reference.
"""

from __future__ import annotations

import ctypes
import struct
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from types import CodeType, MappingProxyType
from typing import Any

import torch

from lect.backends.code_store import CodeStore
from lect.backends.native_guards.layout import dtype_code
from lect.backends.native_guards.table import Memory, Named, Row, rows_text
from lect.backends.native_host.functions import RAISER, functions_of, same_names
from lect.backends.native_host.rows import HEADER_BYTES, NUMBERS, SCRATCH_PARAMETERS, SLOT_BYTES
from lect.backends.native_host.runner import PROGRAM_WORDS, Runner, runner, symbol_address
from lect.backends.native_host.sizes import Number, Numbers
from lect.backends.python_host.emit import Source, device_index, kernel_name, print_operation
from lect.backends.python_host.load import DTYPES, namespace_of
from lect.dialects.host import ops as host
from lect.dialects.host.attributes import OperandRef
from lect.dialects.host.types import BufferType, TensorType, contiguous_strides
from lect.ir import Context, LectError, Operation, Value
from lect.ir.facts import symbols_of
from lect.ir.symbolic import Expr, Size
from lect.ir.types import i64

QUICK = 1 << 16  # elements that kernels read and write in less time than it takes another thread to go on
# Library functions with a C form that writes to a given tensor, and whose result lies row by row: symbol, and whether a third tensor is added.
PRODUCTS: Mapping[str, tuple[str, bool]] = MappingProxyType({
    "aten.mm.default": ("aoti_torch_cpu_mm_out", False),
    "aten.bmm.default": ("aoti_torch_cpu_bmm_out", False),
    "aten.addmm.default": ("aoti_torch_cpu_addmm_out", True),
    "aten.baddbmm.default": ("aoti_torch_cpu_baddbmm_out", True),
})  # fmt: skip
CUDA = 1  # the kind of a device, in torch's C interface
STREAM = "aoti_torch_get_current_cuda_stream"
MESSAGE = b"a compiled graph takes as many tensors as it was compiled for"


@dataclass
class NativeProgram:
    """A host program in memory.  `run(*tensors)` gives the list of results, `quiet` does so with gradients off.

    `rows` are for people; an exception of the program comes out of a frame of one of `codes`, of which one raises what native code found.
    """

    rows: Sequence[Row]
    run: Callable[..., list[Any]]
    quiet: Callable[..., list[Any]]
    codes: frozenset[CodeType]

    @property
    def text(self) -> str:
        """The rows, one a line."""
        return rows_text(self.rows)


def print_native(func: Operation, ctx: Context) -> str:
    """The rows of a `host.func`, and the functions of Python that they call.  Raises `LectError` as `load` does."""
    if not isinstance(func, host.FuncOp):
        raise LectError(f"only 'host.func' has a native form, not '{func.name}'", op=func)
    kernels = {op.kernel.leaf: 0 for op in func.body if isinstance(op, host.LaunchOp)}
    writer = _Writer(func, kernels, None, None)
    writer.write()
    return "\n".join([rows_text(writer.rows), "", *writer.source.lines])


def load(func: Operation, kernels: Mapping[str, Any], launcher: Any, owner: Any = None, store: CodeStore | None = None) -> NativeProgram:
    """The native program of a `host.func`.

    `kernels` gives the address of each kernel by symbol, which is valid as long as `owner` lives; for a GPU the function that starts it, whose `info` is the
    address of what is known of it (`backends/triton/trampoline.py`).  `launcher` is what runs a kernel on the CPU (a function of ctypes), `store` may have
    the code of the runner.  Raises `LectError` when there can be none.
    """
    if not isinstance(func, host.FuncOp):
        raise LectError(f"only 'host.func' has a native form, not '{func.name}'", op=func)
    writer = _Writer(func, kernels, launcher, owner)
    writer.write()
    return writer.program(runner(store))


class _Writer:
    def __init__(self, func: host.FuncOp, kernels: Mapping[str, Any], launcher: Any, owner: Any) -> None:
        self.func = func
        self.owner = (owner, launcher, kernels)
        self.stream: int | None = None  # the slot of the stream
        self.kernels = kernels
        self.launcher = Named(ctypes.cast(launcher, ctypes.c_void_p).value or 0 if launcher is not None else 0, "launcher")
        self.rows: list[Row] = []
        self.texts: dict[str, Any] = {}  # names of events, in memory
        self.slots: dict[Value, int] = {}
        self.count = 0
        self.scratch = 1
        self.source = Source(func)
        self.numbers = Numbers(self.rows, func)
        self.symbols: dict[int, host.SizeOp | host.NumberOp] = {}
        self.shared: dict[tuple[Any, ...], str] = {}
        self.segments: list[tuple[str, list[Value], list[Value]]] = []
        self.rare: set[str] = set()  # functions that only what goes wrong calls
        self.ops = list(func.body)
        self.place = {op: number for number, op in enumerate(self.ops)}
        for value in func.body.args:
            self.source.define(value)
            self._new(value)

    # ---- slots ---------------------------------------------------------------------------------------------------------

    def _new(self, value: Value) -> int:
        """A slot for a value, as the number of bytes it lies behind the first word."""
        self.slots[value] = HEADER_BYTES + SLOT_BYTES * self.count
        self.count += 1
        return self.slots[value]

    # ---- operations ----------------------------------------------------------------------------------------------------

    def write(self) -> None:
        """The rows of all operations."""
        number = 0
        while number < len(self.ops):
            op = self.ops[number]
            if self._native(op):
                number += 1
                continue
            last = number
            while last + 1 < len(self.ops) and isinstance(self.ops[last + 1], _IN_PYTHON) and not self._has_rows(self.ops[last + 1]):
                last += 1
            self._segment(self.ops[number : last + 1])
            number = last + 1

    def _has_rows(self, op: Operation) -> bool:
        if isinstance(op, host.ExternOp):
            return self._product(op) is not None
        return isinstance(op, host.ViewOp) and self._inside(op)

    def _native(self, op: Any) -> bool:
        """Write the rows of an operation; False when it has none."""
        if isinstance(op, host.MemoryOp):
            self.slots[op.buffer] = self.slots[op.tensor]
            self.source.names[op.buffer] = self.source.use(op.tensor)
        elif isinstance(op, host.AllocOp):
            type: BufferType = op.buffer.type
            self._empty(op.buffer, (type.numel,), (1,), type)
        elif isinstance(op, host.EmptyOp):
            self._empty(op.tensor, op.tensor.type.sizes, op.tensor.type.strides, op.tensor.type)
        elif isinstance(op, host.FreeOp):
            self.rows.append(("free", [self.slots[op.value]]))
        elif isinstance(op, host.SizeOp | host.NumberOp):
            self._symbol(op)
        elif isinstance(op, host.LaunchOp):
            self._launch(op)
        elif isinstance(op, host.ReturnOp):
            self.rows.append(("return", [len(op.values), *[self.slots[value] for value in op.values]]))
        elif isinstance(op, host.ViewOp) and self._inside(op):
            tensor: Any = op.tensor.type
            whole = self.slots[op.buffer]
            self.source.define(op.tensor)
            if all(isinstance(size, int) for size in (*tensor.sizes, *tensor.strides, op.offset)):
                layout = [len(tensor.sizes), Memory(tensor.sizes), Memory(tensor.strides)]
                self.rows.append(("view", [self._new(op.tensor), whole, *layout, op.offset]))
            else:
                numbers = [self.numbers.array(tensor.sizes), self.numbers.array(tensor.strides), self.numbers.of(op.offset)]
                self.rows.append(("view_of", [self._new(op.tensor), whole, len(tensor.sizes), *numbers]))
        elif isinstance(op, host.ExternOp) and self._product(op) is not None:
            self._call(op)
        else:
            return False
        return True

    def _symbol(self, op: host.SizeOp | host.NumberOp) -> None:
        """What a size symbol is."""
        self.source.define(op.value)
        if op.symbol is None:
            raise LectError("a size that is no symbol has no native form", op=op)
        self.symbols[op.symbol] = op
        if isinstance(op, host.SizeOp):
            self.rows.append(("size", [self.numbers.define(op.symbol), self.slots[op.tensor], op.dim, op.divisor]))
            return
        if op.tensor.type.element is not i64:
            raise LectError("a number that is no i64 has no native form", op=op)
        self.rows.append(("element", [self.numbers.define(op.symbol), self.slots[op.tensor], op.divisor]))

    def _empty(self, value: Value, sizes: Sequence[Size], strides: Any, type: Any, name: str = "") -> None:
        """Memory for a value, which has the name already, or gets one."""
        on_gpu, fixed = type.device.startswith("cuda"), all(isinstance(size, int) for size in (*sizes, *strides))
        if type.device != "cpu" and not (on_gpu and fixed):
            raise LectError(f"a native host program has no memory on {type.device}{'' if fixed else ' of sizes that are known at run time'}", op=self.func)
        if not name:
            self.source.define(value)
        dtype = dtype_code(DTYPES[type.element.spelling])
        if on_gpu:
            layout = [len(sizes), Memory([int(size) for size in sizes]), Memory(strides), dtype, CUDA, device_index(type.device)]
            made = f"empty_strided({tuple(sizes)}, {tuple(strides)}, dtype={self.source.dtype(type.element)}, device={type.device!r})"
            self.rows.append(("empty_on", [self._new(value), *layout, self._rare(self._shared_function(0, [], f"{made},"))]))
            return
        if not fixed:
            numbers = [self.numbers.array(sizes), self.numbers.array(strides)]
            self.rows.append(("empty_of", [self._new(value), len(sizes), *numbers, dtype]))
            return
        self.rows.append(("empty", [self._new(value), len(sizes), Memory([int(size) for size in sizes]), Memory(strides), dtype]))

    def _launch(self, op: host.LaunchOp) -> None:
        if op.grid == 0:
            return
        symbol = op.kernel.leaf
        if symbol not in self.kernels:
            raise LectError(f"the host function launches the kernel @{symbol}, which is not compiled", op=op)
        if op.target != "cpu":
            self._start(op)
            return
        buffers = [self.slots[value] for value in op.buffers]
        self.scratch = max(self.scratch, len(buffers) + len(op.sizes))
        kernel, event = Named(self.kernels[symbol], f"@{symbol}"), self._text(f"lect::{symbol}")
        if op.sizes or not isinstance(op.grid, int):
            grid, sizes = self.numbers.of(op.grid), [self.numbers.of(size) for size in op.sizes]
            self.rows.append(("launch_of", [self.launcher, kernel, grid, op.grain, event, len(buffers), len(sizes), *buffers, *sizes]))
            return
        long = op.grid >= 2 * op.grain or sum(value.type.numel for value in op.buffers) > QUICK
        self.rows.append(("launch", [self.launcher, kernel, op.grid, op.grain, int(long), event, len(buffers), *buffers]))

    def _start(self, op: host.LaunchOp) -> None:
        """Start a kernel of a GPU; the function of Python for what the row does not start is the statement of the Python host."""
        if op.sizes or not isinstance(op.grid, int):
            raise LectError("a native host program has no kernels of a GPU for sizes that are known at run time", op=op)
        device = op.buffers[0].type.device
        given = list(dict.fromkeys(self._whole(value) for value in op.buffers))
        self.source.streams = True
        self.source.device = device if device.startswith("cuda") else None
        pointers = ", ".join([f"t{given.index(self._whole(value))}.data_ptr()" for value in op.buffers])
        lines = [f"stream = current_stream({device_index(device)})", f"{kernel_name(self.source, op)}(stream, {pointers})"]
        name = self._shared_function(len(given), lines, "")
        arguments = [self.slots[value] for value in given]
        started = self.kernels[op.kernel.leaf]
        info, last = getattr(started, "info", None), getattr(started, "last", None)
        if info is None and last is None and started:  # what stands for a launch
            self.scratch = max(self.scratch, len(given))
            self.rows.append(("python", [name, len(given), 0, *arguments]))
            return
        buffers = [self.slots[value] for value in op.buffers]
        if last is not None:  # several launches as one
            self.scratch = max(self.scratch, len(buffers) + 2 * (1 + SCRATCH_PARAMETERS) + 1, len(given))
            operands = [Named(last, "last launch"), name, self._current_stream(device), len(buffers), len(given)]
            self.rows.append(("start_group", [*operands, *buffers, *arguments]))
            return
        self.scratch = max(self.scratch, 2 * (len(buffers) + SCRATCH_PARAMETERS) + 1, len(given))
        operands = [Named(info or 0, f"@{op.kernel.leaf}"), self._rare(name), self._current_stream(device), len(buffers), len(given)]
        self.rows.append(("start", [*operands, *buffers, *arguments]))

    def _current_stream(self, device: str) -> int:
        """The slot of the stream that is current; asked for in front of everything else."""
        if self.stream is None:
            self.stream = HEADER_BYTES + SLOT_BYTES * self.count
            self.count += 1
            if device.startswith("cuda"):
                address = symbol_address(STREAM)
                if address is None:
                    raise LectError(f"this torch does not say in its C interface which stream is current: {STREAM}", op=self.func)
                self.rows.insert(0, ("stream", [self.stream, Named(address, STREAM), device_index(device)]))
        return self.stream

    def _shared_function(self, count: int, lines: Sequence[str], returned: str) -> str:
        """A function of so many tensors, t0, t1 and so on, with these statements and this tuple as its result; its name.  Equal ones are one."""
        key = (count, *lines, returned)
        found = self.shared.get(key)
        if found is None:
            found = self.shared[key] = f"step_{len(self.segments)}"
            head = f"def {found}({', '.join([f't{number}' for number in range(count)])}):"
            self.source.lines += [head, *[f"    {line}" for line in lines], f"    return ({returned})", ""]
            self.segments.append((found, [], []))
        return found

    def _function(self, start: int, given: Sequence[Value], kept: Sequence[Value]) -> str:
        """Make a function of the lines from `start` on, of some values and with some results; its name.  Equal ones are one, as those of equal layers are."""
        parameters = [self.source.use(value) for value in given]
        returned = "".join([f"{self.source.use(value)}, " for value in kept])
        body = [*self.source.lines[start:], f"    return ({returned})", ""]
        key = (same_names(body, parameters, self.source.taken), len(given))
        found = self.shared.get(key)
        if found is not None:
            del self.source.lines[start:]
            return found
        name = self.shared[key] = f"step_{len(self.segments)}"
        self.source.lines[start:] = [f"def {name}({', '.join(parameters)}):", *body]
        self.segments.append((name, list(given), list(kept)))
        return name

    def _rare(self, name: str) -> str:
        """The name of a function, which only what goes wrong calls."""
        self.rare.add(name)
        return name

    def _text(self, text: str) -> Named:
        """The address of a text that lives as long as the program."""
        memory = self.texts.setdefault(text, ctypes.create_string_buffer(text.encode()))
        return Named(ctypes.addressof(memory), text)

    def _inside(self, op: host.ViewOp) -> bool:
        """True for a view that only native code looks at: its relation to the whole is nobody's business."""
        users = [user for user in op.tensor.users if not isinstance(user, host.FreeOp)]
        return all(isinstance(user, host.ExternOp) and self._product(user) is not None for user in users)

    # ---- library calls -------------------------------------------------------------------------------------------------

    def _product(self, op: host.ExternOp) -> tuple[int, list[Value], list[float]] | None:
        """The address, tensors and factors of a call that has a C form; None for other calls."""
        known = PRODUCTS.get(".".join(op.callee.path))
        if known is None or len(op.results) != 1:
            return None
        kind, adds = op.results[0].type.device.partition(":")[0], known[1]
        symbol = known[0].replace("_cpu_", f"_{kind}_")
        count = 3 if adds else 2
        result: TensorType = op.results[0].type
        numbers = [value.number if isinstance(value, OperandRef) else None for value in op.args]
        tensors = [op.operands[number] for number in numbers if number is not None]
        factors = [op.kwargs.get(name, 1) for name in ("beta", "alpha")] if adds else []
        fits = len(op.args) == len(tensors) == count and set(op.kwargs) <= ({"beta", "alpha"} if adds else set())
        plain = result.strides == contiguous_strides(result.sizes) and kind in ("cpu", "cuda") and result.element.is_float
        same = all(value.type.element is result.element and value.type.device == result.device for value in tensors)
        same = same and all(type(factor) in (int, float) for factor in factors)
        address = symbol_address(symbol)
        if not (fits and plain and same) or address is None:
            return None
        return Named(address, symbol), tensors, [float(factor) for factor in factors]

    def _call(self, op: host.ExternOp) -> None:
        found = self._product(op)
        assert found is not None
        address, tensors, factors = found
        (result,) = op.results
        type: Any = result.type
        given, start = list(dict.fromkeys(op.operands)), len(self.source.lines)
        self._tell_sizes(symbols_of_operation(op), given, op)
        print_operation(self.source, op)
        retry = [self._rare(self._function(start, given, [result])), len(given), *[self.slots[value] for value in given]]
        self.scratch = max(self.scratch, len(given))
        self._empty(result, type.sizes, type.strides, type, self.source.use(result))
        operands = [address, self.slots[result], *[self.slots[tensor] for tensor in tensors]]
        event = self._text(f"aten::{op.callee.path[-1].split('.')[1]}")
        self.rows.append(("sum" if factors else "product", [*operands, *[_bits(factor) for factor in factors], event, *retry]))

    def _tell_sizes(self, symbols: Iterable[int], given: list[Value], op: Operation) -> None:
        """Let a function of Python read these sizes off tensors, which it is given beside the others.  Raises `LectError` where nothing tells a size."""
        for symbol in sorted(symbols):
            known = self.symbols.get(symbol)
            if known is None:
                raise LectError(f"the host program does not say what the size s{symbol} is", op=op)
            print_operation(self.source, known)
            given += [known.tensor] if known.tensor not in given else []
            self._keep(known.tensor)

    # ---- what Python does ----------------------------------------------------------------------------------------------

    def _segment(self, ops: Sequence[Operation]) -> None:
        """A function of Python for operations that follow each other."""
        made = {value for op in ops for value in op.results}
        last = self.place[ops[-1]]
        given = list(dict.fromkeys(self._whole(value) for op in ops for value in op.operands if value not in made and self._whole(value) not in made))
        start = len(self.source.lines)
        own = {int(name[1:]) for op in ops if isinstance(op, host.ExternOp) for name in op.finds}
        self._tell_sizes({number for op in ops for number in symbols_of_operation(op)} - own, given, ops[0])
        for op in ops:
            if isinstance(op, host.MemoryOp):
                self.source.names[op.buffer] = self.source.use(op.tensor)
            else:
                print_operation(self.source, op)
        results = [value for op in ops for value in op.results if any(self.place[user] > last for user in value.users)]
        wholes = [self._whole(value) for value in results]
        results += [value for value in dict.fromkeys(wholes) if value in made and value not in results]  # whose memory is used later
        kept = [value for value in results if not isinstance(value.op, host.MemoryOp)]
        name = self._function(start, given, kept)
        slots = [self.slots[value] for value in given]
        self.scratch = max(self.scratch, len(given))
        self.rows.append(("python", [name, len(given), len(kept), *slots, *[self._new(value) for value in kept]]))
        for value in results:
            if isinstance(value.op, host.MemoryOp):
                self.slots[value] = self.slots[self._whole(value)]

    def _keep(self, value: Value) -> None:
        """Let a tensor live to the end, which was to be freed by now, and of which a size is asked."""
        row = ("free", [self.slots[value]])
        if row in self.rows:
            self.rows.remove(row)

    def _whole(self, value: Value) -> Value:
        """The tensor that a value is the memory of, or the value itself."""
        owner: Any = value.op
        return owner.tensor if isinstance(owner, host.MemoryOp) else value

    # ---- the whole -----------------------------------------------------------------------------------------------------

    def program(self, runner: Runner) -> NativeProgram:
        """The program in memory."""
        namespace = namespace_of(self.source, self.kernels, None, self.func)
        namespace["__builtins__"].update(RuntimeError=RuntimeError, OutOfMemoryError=torch.OutOfMemoryError)
        functions = functions_of(self.source.lines, self.rare, namespace)
        raiser = functions[RAISER]
        slots = SLOT_BYTES * self.count
        behind = HEADER_BYTES + slots + 8 * self.scratch
        words: list[int] = []
        for kind, operands in self.rows:
            words += [NUMBERS[kind], *[_word(operand, functions, behind) for operand in operands]]
        rows, message, event = Memory([*words, 0]), ctypes.create_string_buffer(MESSAGE), self._text(f"lect::{self.func.sym_name}")
        common = [rows.address, len(self.func.body.args), slots, behind + 8 * self.numbers.count, id(raiser), id(torch.Tensor)]
        programs = [Memory([*common, quiet, ctypes.addressof(message), event]) for quiet in (0, 1)]
        assert len(programs[0].words) == PROGRAM_WORDS
        keep = (rows, message, programs, raiser, functions, self.rows, self.owner, self.texts)
        plain, quiet = [runner.function(each.address, keep) for each in programs]
        codes = frozenset([function.__code__ for function in functions.values()])
        return NativeProgram(self.rows, plain, quiet, codes)


_IN_PYTHON = (host.ExternOp, host.UpdateOp, host.WriteOp, host.WrittenOp, host.ViewOp, host.MemoryOp)


def symbols_of_operation(op: Any) -> set[int]:
    """The size symbols in what an operation of a host program says: the types of its results and its attributes."""
    found: set[int] = set()

    def look(value: Any) -> None:
        if isinstance(value, Expr):
            found.update(symbols_of(value))
        elif isinstance(value, TensorType):
            look((value.sizes, value.strides))
        elif isinstance(value, tuple):
            for item in value:
                look(item)
        elif isinstance(value, dict):
            look(tuple(value.values()))

    look(op.attrs)
    for value in op.results:
        look(value.type)
    return found


def _word(operand: Any, functions: Mapping[str, Any], behind: int) -> int:
    if isinstance(operand, Number):
        return behind + 8 * operand.place
    if isinstance(operand, Memory):
        return operand.address
    return id(functions[operand]) if isinstance(operand, str) else int(operand)


def _bits(value: float) -> int:
    return int(struct.unpack("<q", struct.pack("<d", value))[0])
