"""kernel.func to one Triton function, an operation a line.

    @triton.jit
    def n0(x, y):
        p0 = tl.program_id(0)
        # model.py:8  return F.relu(x) + 1
        at_x = p0 * 1024 + tl.arange(0, 1024)
        in_x = at_x < 100000
        x_1 = tl.load(x + at_x, mask=in_x, other=0.0)
        ...

Axes with several lanes are the dims of Triton's tiles, in the order of the function; a value that does not vary over one of them has size 1 there, and
one that varies over none is a scalar.  Axes of one lane are no dims.  Nothing is decided here.
"""

from __future__ import annotations

import keyword
import linecache
import os
import re
from collections.abc import Callable, Mapping, Sequence
from math import isfinite
from types import MappingProxyType
from typing import Any

from lect.backends.python_source import free_name
from lect.backends.triton.addresses import MOST, MapPrinter
from lect.backends.triton.arithmetic import HELPED, NAMES, OPERATORS, QUICK, TABLE, converted
from lect.backends.triton.nesting import enclosed, is_nested, tidy
from lect.backends.triton.prelude import FUNCTIONS, WAIT
from lect.backends.triton.special import SPECIAL
from lect.dialects.kernel import ops as kernel
from lect.dialects.kernel.scalar import join
from lect.dialects.kernel.types import axes_of, element_of
from lect.ir import Block, LectError, Location, Operation, ScalarType, Type, Value
from lect.ir.index_map import IndexMap
from lect.ir.symbolic import Size, as_size
from lect.ir.types import f32, f64, i1, i32, i64

LITERALS = frozenset({"f32", "i32", "i64", "index"})  # element types of which Triton makes a tensor from a Python number
PLAIN_SUMS = frozenset({f32, f64, i32, i64})
_NOT_NAME = re.compile(r"\W", re.ASCII)
MOST_LANES = 1 << 20
COMBINE = MappingProxyType({"prod": "multiply", "sum": "add"})
TAKEN = frozenset({"tl", "triton", "libdevice", "gdc", "float", "range", *FUNCTIONS, *SPECIAL})


def python_name(text: str) -> str:
    """`text` as a Python identifier that hides nothing which the source needs."""
    name = _NOT_NAME.sub("_", text) or "_"
    if name[0].isdigit() or keyword.iskeyword(name) or name in TAKEN:
        name = "v" + name if name[0].isdigit() else name + "_"
    return name


class Names(dict[Any, str]):
    """The variable of each value.  A value in `sides` has one for each factor of a product that it belongs to, of which `side` says the one at hand."""

    def __init__(self) -> None:
        super().__init__()
        self.sides: dict[Value, set[str]] = {}
        self.side = ""

    def __getitem__(self, value: Any) -> str:
        return super().__getitem__((self.side, value) if value in self.sides else value)

    def __setitem__(self, value: Any, name: str) -> None:
        super().__setitem__((self.side, value) if value in self.sides else value, name)


class FunctionEmitter:
    """Writes one function.  `names` holds the variable of each value, or the literal of a constant.  `narrow` says that sizes which are parameters, and all
    that is computed of them, are i32; `limits` are numbers that indices of axes which are taken whole stay below, beside their extents;
    a block that is one is filled."""

    def __init__(self, func: kernel.FuncOp, name: str, aligned: bool = True, narrow: bool = True, limits: Mapping[str, int] = MappingProxyType({})) -> None:
        self.func = func
        self.limits = limits
        self.narrow = narrow
        self.sizes: list[str] = []
        self.inside: set[Value] = set()  # conditions that are always true
        self.name = name
        self.aligned = aligned
        self.axes = {axis.name: axis for axis in func.axes.axes}
        self.blocks = dict(func.blocks.sizes)
        self.dims = [axis for axis in func.axes.names if self.blocks[axis] > 1]
        self.approximate = func.approximate is not None
        self.names = Names()
        self.frames = {"": self.dims}
        self._find_factors()
        self.constants: dict[Value, kernel.ConstOp] = {}
        self.following: dict[Value, str] = {}
        self.taken: set[str] = {name}
        self.lines: list[str] = []
        self.depth = 1
        self.place = ""
        self.texts: dict[str, list[str]] = {}  # files of the user's program
        self.calls: set[str] = set()

    def text(self) -> str:
        """The function's text."""
        lanes = 1
        for axis in self.dims:
            lanes *= self.blocks[axis]
        if lanes > MOST_LANES:
            raise LectError(f"a tile of {lanes} lanes is more than the {MOST_LANES} that GPU code is made of", op=self.func)
        pointers = set(self.func.pointers)
        bases = [value.hint or ("out" if value in pointers and is_written(value) else "p") for value in self.func.body.args]
        parameters = ", ".join([self.define(value, base) for value, base in zip(self.func.body.args, bases)])
        self.sizes = [self.names[value] for value in self.func.body.args[len(self.func.pointers) :]]
        if self.func.groups is not None:
            parameters = self.fresh("table")
        if self.func.early is not None:
            self._order()
        self._programs(parameters)
        self._block(self.func.body)
        if not self.lines:
            self.line("return")
        return "\n".join([f"@triton.jit\ndef {self.name}({parameters}):", *self.lines]) + "\n"

    def _find_factors(self) -> None:
        """Of a product of tiles: the axis that is summed is the last dim of the first factor and the first of the second, and none of the rest."""
        for dot in [op for op in self.func.walk() if isinstance(op, kernel.DotOp)]:
            for side, factor in zip(("left", "right"), self._factors(dot)):
                others = [axis for axis in self.dims if axis != dot.axis and axis in axes_of(factor.type)]
                self.frames[side] = [*others, dot.axis] if side == "left" else [dot.axis, *others]
                pending = [factor]
                while pending:
                    value = pending.pop()
                    if dot.axis in axes_of(value.type) and side not in self.names.sides.setdefault(value, set()):
                        self.names.sides[value].add(side)
                        pending += value.op.operands if value.op is not None else []
            self.frames[""] = [axis for axis in self.dims if axis != dot.axis]
        self.dims = self.frames[""]

    def _factors(self, dot: kernel.DotOp) -> tuple[Value, Value]:
        """The factors in the order in which the product has its dims: that of the first one comes first."""
        first = next((axis for axis in self.dims if axis != dot.axis and axis in axes_of(dot.result.type)), None)
        return (dot.rhs, dot.lhs) if first in axes_of(dot.rhs.type) and first not in axes_of(dot.lhs.type) else (dot.lhs, dot.rhs)

    def _turn_to(self, side: str) -> None:
        """What follows is of one factor of a product, or of none."""
        self.names.side, self.dims = side, self.frames[side]

    # ---- writing -----------------------------------------------------------------------------------------------------

    def line(self, text: str) -> None:
        """Add a statement."""
        self.lines.append("    " * self.depth + (text if text.startswith("#") else tidy(text)))

    def fresh(self, base: str) -> str:
        """A variable that nothing has."""
        return free_name(python_name(base), self.taken)

    def define(self, value: Value, base: str) -> str:
        """A variable for a value: that of an accumulator where the value is its next one."""
        name = self.names[value] = self.following.get(value) or self.fresh(base)
        return name

    def assign(self, value: Value, base: str, text: str) -> None:
        """`variable = text`, or the text where the value is read."""
        if value not in self.names.sides and is_nested(value, text):
            self.names[value] = enclosed(text)
        else:
            self.line(f"{self.define(value, base)} = {text}")

    def source(self, loc: Location) -> None:
        """A comment with the line of the user's program, where it is another than before."""
        place = f"{loc.file}:{loc.line}" if loc.known else ""
        if place and place != self.place:
            code = self._code(loc.file, loc.line)
            self.line(f"# {' '.join(place.split())}{'  ' + code if code else ''}")
        self.place = place or self.place

    def _code(self, file: str, line: int) -> str:
        """A line of the user's program with single spaces; none of a name that is no file, which linecache would look for in all folders of modules."""
        lines = self.texts.get(file)
        if lines is None:
            lines = self.texts[file] = linecache.getlines(file) if file in linecache.cache or os.path.exists(file) else []
        return " ".join(lines[line - 1].split()) if 0 < line <= len(lines) else ""

    # ---- values ------------------------------------------------------------------------------------------------------

    def shape(self, axes: frozenset[str]) -> str:
        """The shape of a tile over these axes."""
        return "[" + ", ".join([str(self.blocks[axis]) if axis in axes else "1" for axis in self.dims]) + "]"

    def is_tile(self, type: Type) -> bool:
        """Whether a value of this type is a tile in Triton: it varies over an axis of several lanes."""
        return any(axis in self.dims for axis in axes_of(type))

    def use(self, value: Value) -> str:
        """The value as an operand that must have its own type."""
        constant = self.constants.get(value)
        return self.names[value] if constant is None else self._full(constant, "[]")

    def literal(self, value: Value) -> str:
        """The value as an operand beside another of its type, from which a Python number takes it."""
        constant = self.constants.get(value)
        return self.names[value] if constant is None else number(constant.value)

    def _full(self, op: kernel.ConstOp, shape: str) -> str:
        return f"tl.full({shape}, {number(op.value)}, {NAMES[element_of(op.result.type).spelling]})"

    def operands(self, values: Sequence[Value], operator: bool = False) -> list[str]:
        """Operands of one element type: constants are Python numbers where that says the same."""
        element = element_of(values[0].type)
        several = any(value not in self.constants for value in values)
        plain = several and (element.spelling in LITERALS or (operator and element is f64))
        return [self.literal(value) if plain else self.use(value) for value in values]

    # ---- structure ---------------------------------------------------------------------------------------------------

    def _order(self) -> None:
        """Wait for what was started before, and let what comes behind be started."""
        if self.func.early == "both":
            self.line("# programs may be here before the last kernel has ended")
            self.line(WAIT)
        self.line("gdc.gdc_launch_dependents()")
        self.calls.add("gdc")

    def _group(self, table: str) -> str:
        """The pointers of the program's group, from the table of addresses; the program's number in the group."""
        size = self.func.programs // self.func.groups
        number, group, program = self.fresh("number"), self.fresh("group"), self.fresh("program")
        self.line(f"{number} = tl.program_id(0)")
        self.line(f"{group} = {number} // {size}")
        self.line(f"{program} = {number} % {size}")
        for place, value in enumerate(self.func.body.args):
            element = NAMES[value.type.element.spelling]  # type: ignore[attr-defined]
            address = f"tl.load({table} + {group} * {len(self.func.body.args)} + {place}).to(tl.pointer_type({element}))"
            self.line(f"{self.names[value]} = {f'tl.multiple_of({address}, 16)' if self.aligned else address}")
        return program

    def _programs(self, table: str) -> None:
        """The program's number along each dim of the grid, the last dim fastest."""
        number = "tl.program_id(0)" if self.func.groups is None else self._group(table)
        used = {op.dim: op for op in self.func.walk() if isinstance(op, kernel.ProgramIdOp)}
        grid = self.func.grid
        several = [dim for dim, size in enumerate(grid) if type(size) is not int or size > 1]
        self.programs: dict[int, str] = dict.fromkeys(range(len(grid)), "0")
        if not used or not several:
            return
        if len(several) == 1:
            self.programs[several[0]] = self.fresh("p")
            self.line(f"{self.programs[several[0]]} = {number}")
            return
        rest = number
        if self.func.groups is None:
            rest = self.fresh("program")
            self.line(f"{rest} = {number}")
        step: Size = 1
        for dim in reversed(several):
            self.programs[dim] = self.fresh(f"p{dim}")
            quotient = rest if step == 1 else f"{rest} // {enclosed(self.size(step))}"
            size = enclosed(self.size(grid[dim]))
            self.line(f"{self.programs[dim]} = {quotient if dim == several[0] else f'({quotient}) % {size}' if step != 1 else f'{quotient} % {size}'}")
            step = as_size(step * grid[dim])

    def _block(self, block: Block) -> None:
        for op in block:
            if op.results or not isinstance(op, (kernel.YieldOp, kernel.ReturnOp)):
                self.source(op.loc)
            handler = HANDLERS.get(op.name, FunctionEmitter._scalar)
            for side in sorted(self.names.sides.get(op.results[0], ("",)) if op.results else ("",)):
                self._turn_to(side)
                handler(self, op)
            self._turn_to("")

    def _scalar(self, op: Operation) -> None:
        """One operation of the scalar table."""
        name = op.name.partition(".")[2]
        write = (QUICK if "quick" in op.attrs else TABLE).get(name)
        if write is None:
            raise LectError(f"there is no GPU code for '{op.name}'", op=op)
        element = element_of(op.operands[0].type)
        if element.kind == "complex":
            raise LectError(f"there is no GPU code for {name} of {element}", op=op)
        given = [self.use(value) for value in op.operands] if name in HELPED else self.operands(op.operands, name in OPERATORS)
        if element.is_half:
            given = [f"{text}.to(tl.float32)" for text in map(self.use, op.operands)]
        found = write(f32 if element.is_half else element, self.approximate, given)
        self.calls.update(found.calls)
        text = found.text
        if element.is_half and element_of(op.results[0].type) is element:
            text = f"({text}).to({NAMES[element.spelling]})"
        self.assign(op.results[0], name, text)

    # ---- indices -----------------------------------------------------------------------------------------------------

    def size(self, size: Size) -> str:
        """A size as an expression over the parameters."""
        return str(size) if type(size) is int else self._printed(IndexMap(0, (size,)), ())

    def _printed(self, map: IndexMap, indices: Sequence[Value]) -> str:
        printer = MapPrinter(self.func, map, indices, self._index, self.sizes, self.narrow)
        text = printer.text()
        self.calls |= printer.calls
        return text

    def program_id(self, op: kernel.ProgramIdOp) -> None:
        self.names[op.result] = self.programs[op.dim]

    def lanes(self, op: kernel.LanesOp) -> None:
        axis, block = self.axes[op.axis], self.blocks[op.axis]
        base = self.names[op.base] if op.base is not None else "0"
        long = axis.extent + block > MOST if type(axis.extent) is int else not self.narrow
        if long and not base.isdigit():
            base = f"{base}.to(tl.int64)"
        terms = [] if base == "0" else [f"{base} * {block}" if axis.role == "grid" and block > 1 else base]
        if block > 1:
            place = self.dims.index(op.axis)
            index = "" if len(self.dims) == 1 else "[" + ", ".join([":" if k == place else "None" for k in range(len(self.dims))]) + "]"
            terms.append(f"tl.arange(0, {block}){index}")
        if not terms or (len(terms) == 1 and block == 1):
            self.names[op.result] = terms[0] if terms else "0"
            if terms and " " in terms[0]:
                self.assign(op.result, f"at_{op.axis.lower()}", terms[0])
            return
        self.assign(op.result, f"at_{op.axis.lower()}", " + ".join(terms))

    def bound(self, op: kernel.BoundOp) -> None:
        if self.axes[op.axis].role == "grid" and self.blocks[op.axis] == 1:  # there is no program outside
            self.inside.add(op.result)
            return
        inside = f"{self.use(op.lanes)} < {self.size(self.axes[op.axis].extent)}"
        if self.limits.get(op.axis) == self.blocks[op.axis]:  # its indices fill the block
            self.inside.add(op.result)
        elif op.axis in self.limits:
            inside = f"({inside}) & ({self.use(op.lanes)} < {self.limits[op.axis]})"
        self.assign(op.result, f"in_{op.axis.lower()}", inside)

    def _map(self, op: Any, indices: Sequence[Value]) -> str:
        return self._printed(op.map, indices)

    def _index(self, value: Value) -> str:
        return self.literal(value)

    def index_map(self, op: kernel.IndexOp) -> None:
        text = self._map(op, op.indices)
        if text.lstrip("-").isdigit():
            text = f"tl.full([], {text}, tl.int64)"
        self.assign(op.result, "index", text)

    # ---- numbers -----------------------------------------------------------------------------------------------------

    def const(self, op: kernel.ConstOp) -> None:
        if not self.is_tile(op.result.type) or all(isinstance(user, kernel.ForOp) for user in op.result.users):
            self.constants[op.result] = op  # what loops begin with is written there
        else:
            self.assign(op.result, "full", self._full(op, self.shape(axes_of(op.result.type))))

    def cast(self, op: kernel.CastOp) -> None:
        source, target = element_of(op.value.type), element_of(op.result.type)
        if "complex" in (source.kind, target.kind):
            raise LectError(f"there is no GPU code for {source} to {target}", op=op)
        text = self.use(op.value)
        if text.lstrip("-").isdigit():  # a program number that is always 0
            text = f"tl.full([], {text}, tl.int32)"
        self.assign(op.result, target.spelling.replace("index", "i32"), converted(text, source, target))

    def select(self, op: kernel.SelectOp) -> None:
        if op.condition in self.inside and not axes_of(op.result.type) - axes_of(op.when_true.type):
            self.names[op.result] = self.use(op.when_true)
            return
        chosen = self.operands([op.when_true, op.when_false])
        self.assign(op.result, "select", f"tl.where({self.use(op.condition)}, {', '.join(chosen)})")

    # ---- memory ------------------------------------------------------------------------------------------------------

    def _address(self, op: Any, axes: frozenset[str]) -> str:
        """The addresses of an access that varies over `axes`."""
        offset = self._map(op, op.indices)
        reached = frozenset().union(*[axes_of(value.type) for value in op.indices]) if op.indices else frozenset()
        missing = [axis for axis in self.dims if axis in axes and axis not in reached]
        if missing:
            offset = f"{offset} + tl.zeros({self.shape(frozenset(missing))}, tl.int32)"
        return f"{self.names[op.pointer]} + {enclosed(offset)}" if offset != "0" else self.names[op.pointer]

    def _masks(self, masks: Sequence[Value]) -> str:
        """`, mask=...` for an access, nothing where every lane takes part."""
        text = " & ".join([self.use(mask) for mask in dict.fromkeys(masks) if mask not in self.inside])
        return f", mask={text}" if text else ""

    def load(self, op: kernel.LoadOp) -> None:
        address = self._address(op, axes_of(op.result.type))
        other = "0.0" if op.pointer.type.element.is_float else "0"
        mask = self._masks(op.masks)
        self.assign(op.result, self.names[op.pointer], f"tl.load({address}{mask}{f', other={other}' if mask else ''})")

    def store(self, op: kernel.StoreOp) -> None:
        address = self._address(op, axes_of(op.value.type) | frozenset().union(*[axes_of(mask.type) for mask in op.masks]))
        mask = self._masks(op.masks)
        self.line(f"tl.store({address}, {self.use(op.value)}{mask})")

    def atomic_add(self, op: kernel.AtomicAddOp) -> None:
        address = self._address(op, axes_of(op.value.type) | frozenset().union(*[axes_of(mask.type) for mask in op.masks]))
        mask = self._masks(op.masks)
        self.line(f'tl.atomic_add({address}, {self.use(op.value)}{mask}, sem="relaxed")')

    def refused(self, op: Operation) -> None:
        """What only CPU code has."""
        raise LectError(f"'{op.name}' has no GPU code", op=op)

    # ---- folds -------------------------------------------------------------------------------------------------------

    def _along(self, axis: str, result: Type) -> str:
        """The dim of a fold, and that it stays with size 1 where others do."""
        if not self.is_tile(result):
            return "None" if len(self.dims) > 1 else "0"
        return f"{self.dims.index(axis)}, keep_dims=True"

    def reduce(self, op: kernel.ReduceOp) -> None:
        element, text = element_of(op.tile.type), self.use(op.tile)
        if op.axis not in self.dims:
            self.names[op.result] = text
            return
        along, kind = self._along(op.axis, op.result.type), op.kind
        if element is i1:
            self.assign(op.result, kind, self._fold_bits(text, kind, along))
            return
        narrow = element.bits < 32
        if narrow:
            text = f"{text}.to({'tl.float32' if element.is_float else 'tl.int32' if element.kind == 'signed' else 'tl.uint32'})"
        if kind == "sum" and (narrow or element in PLAIN_SUMS):
            text = f"tl.sum({text}, {along})"
        elif kind == "xor":
            text = f"tl.xor_sum({text}, {along})"
        else:
            text = f"tl.reduce({text}, {self._dim_first(along, self._combine(kind, element))})"
        self.assign(op.result, kind, f"{text}.to({NAMES[element.spelling]})" if narrow else text)

    def _dim_first(self, along: str, function: str) -> str:
        dim, comma, rest = along.partition(", ")
        return f"{dim}, {function}{comma}{rest}"

    def _combine(self, kind: str, element: ScalarType) -> str:
        name = COMBINE.get(kind) or {"max": "nan_max", "min": "nan_min"}[kind]
        if kind in ("max", "min") and not element.is_float:
            name = "larger" if kind == "max" else "smaller"
        self.calls.add(name)
        return name

    def _fold_bits(self, text: str, kind: str, along: str) -> str:
        function = {"any": "max", "sum": "max", "max": "max", "all": "min", "prod": "min", "min": "min", "xor": "xor_sum"}[kind]
        return f"tl.{function}({text}.to(tl.int32), {along}) != 0"

    def reduce_index(self, op: kernel.ReduceIndexOp) -> None:
        if op.axis not in self.dims:
            self.names[op.result] = self.use(op.indices)
            return
        both = axes_of(join(op, [op.tile.type, op.indices.type], element_of(op.tile.type)))
        name, along = f"first_{op.kind}", self._along(op.axis, op.result.type)
        self.calls.add(name)
        texts = []
        for value in (op.tile, op.indices):
            same = axes_of(value.type) == both
            texts.append(self.use(value) if same else f"tl.broadcast_to({self.use(value)}, {self.shape(both)})")
        if along == "None":  # over all dims, of which the others have size 1
            texts = [f"tl.reshape({text}, [{self.blocks[op.axis]}])" for text in texts]
            along = "0"
        best = self.fresh("best")
        self.line(f"{best}, {self.define(op.result, 'found')} = tl.reduce(({', '.join(texts)}), {self._dim_first(along, name)})")

    def dot(self, op: kernel.DotOp) -> None:
        factors = []
        for side, value in zip(("left", "right"), self._factors(op)):
            self._turn_to(side)
            factors.append(self.use(value))
        self._turn_to("")
        exact = ', input_precision="ieee"' if element_of(op.lhs.type) is f32 else ""  # else factors lose digits
        self.assign(op.result, "dot", f"tl.dot({', '.join(factors)}, {self.use(op.accumulator)}{exact})")

    def scan(self, op: kernel.ScanOp) -> None:
        element, text = element_of(op.tile.type), self.use(op.tile)
        if op.axis not in self.dims:
            self.names[op.result] = text
            return
        if element is i1 or element.is_half:
            raise LectError(f"'kernel.scan' does not fold in {element}, cast it first", op=op)
        self.assign(op.result, "scan", f"tl.associative_scan({text}, {self.dims.index(op.axis)}, {self._combine(op.kind, element)})")

    # ---- loops -------------------------------------------------------------------------------------------------------

    def for_loop(self, op: kernel.ForOp) -> None:
        axis, block = self.axes[op.axis], self.blocks[op.axis]
        step = op.step or block
        span = op.span if op.span is not None else axis.extent - op.begin
        carried = [self.fresh("acc") for _ in op.initial]
        for name, value in zip(carried, op.initial):
            self.line(f"{name} = {self._initial(value)}")
        index, *accumulators = op.body.args
        for value, name in zip(accumulators, carried):
            self.names[value] = name
        if type(span) is int and span <= step:
            if span > 0:
                self.names[index] = str(op.begin) if op.start is None else self.use(op.start)
                self._body(op, carried)
        else:
            self._loop(op, index, carried, span, step)
        for value, name in zip(op.results, carried):
            self.names[value] = name

    def _loop(self, op: kernel.ForOp, index: Value, carried: list[str], span: Size, step: int) -> None:
        if op.start is None:
            bounds = f"{self.size(op.begin)}, {self.size(as_size(op.begin + span))}, {step}"
        else:
            start = self.use(op.start)
            bounds = f"{start}, {start} + {enclosed(self.size(span))}, {step}"
        ahead = self.func.stages is not None and not any(isinstance(inner, kernel.DotOp) for inner in op.body)  # for a product Triton does it by itself
        steps = f"tl.range({bounds}, num_stages={self.func.stages})" if ahead else f"range({bounds})"
        self.line(f"for {self.define(index, op.axis.lower())} in {steps}:")
        self.depth += 1
        self._body(op, carried)
        self.depth -= 1

    def _initial(self, value: Value) -> str:
        """What a loop starts from, in the shape that the loop carries."""
        constant = self.constants.get(value)
        if constant is None:
            return self.use(value)
        return self._full(constant, self.shape(axes_of(value.type)) if self.is_tile(value.type) else "[]")

    def _body(self, op: kernel.ForOp, carried: list[str]) -> None:
        place = len(self.lines)
        last = op.body.last
        assert last is not None
        for number, (value, name) in enumerate(zip(last.operands, carried)):
            if follows(value, op.body.args[number + 1], last):
                self.following[value] = name
        self._block(op.body)
        following = [self.use(value) for value in last.operands]
        pairs = [(name, text) for name, text in zip(carried, following) if name != text]
        if any(text in carried for _, text in pairs):  # one takes the old value of another
            self.line(f"{', '.join([name for name, _ in pairs])} = {', '.join([text for _, text in pairs])}")
        else:
            for name, text in pairs:
                self.line(f"{name} = {text}")
        if len(self.lines) == place:
            self.line("pass")

    def nothing(self, op: Operation) -> None:
        """Ends of blocks are written by what owns the block."""


def is_written(pointer: Value) -> bool:
    """Whether a kernel stores to this memory and does not read it."""
    return all(isinstance(user, kernel.StoreOp) for user in pointer.users)


def follows(value: Value, old: Value, end: Operation) -> bool:
    """Whether the next value of an accumulator may take its name at once: nothing else reads it, and the old one is not read behind it."""
    op = value.op
    if op is None or op.parent is not end.parent or len(op.results) != 1 or value.users != {end: 1} or end in old.users:
        return False
    behind: set[Operation] = set()
    at = op.next
    while at is not None:
        behind.update(at.walk())
        at = at.next
    return behind.isdisjoint(old.users)


def number(value: bool | int | float) -> str:
    """A constant as Python text."""
    if isinstance(value, float) and not isfinite(value):
        return f'float("{value}")'
    return repr(value)


Handler = Callable[[FunctionEmitter, Any], None]
HANDLERS: MappingProxyType[str, Handler] = MappingProxyType(
    {
        "kernel.program_id": FunctionEmitter.program_id,
        "kernel.lanes": FunctionEmitter.lanes,
        "kernel.bound": FunctionEmitter.bound,
        "kernel.index": FunctionEmitter.index_map,
        "kernel.const": FunctionEmitter.const,
        "kernel.cast": FunctionEmitter.cast,
        "kernel.select": FunctionEmitter.select,
        "kernel.load": FunctionEmitter.load,
        "kernel.store": FunctionEmitter.store,
        "kernel.atomic_add": FunctionEmitter.atomic_add,
        "kernel.prefetch": FunctionEmitter.refused,
        "kernel.scratch": FunctionEmitter.refused,
        "kernel.scratch_load": FunctionEmitter.refused,
        "kernel.scratch_store": FunctionEmitter.refused,
        "kernel.reduce": FunctionEmitter.reduce,
        "kernel.reduce_index": FunctionEmitter.reduce_index,
        "kernel.scan": FunctionEmitter.scan,
        "kernel.dot": FunctionEmitter.dot,
        "kernel.for": FunctionEmitter.for_loop,
        "kernel.yield": FunctionEmitter.nothing,
        "kernel.return": FunctionEmitter.nothing,
    }
)
