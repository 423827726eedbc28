"""fx.graph to Python source, one statement for each call.

    def f_graph(x, w):
        t1 = F_linear(x, w)                          # m.py:12
        t2, t3 = Tensor_split(t1, 4, dim=-1)
        del t1
        t4 = t2 * 2.0
        return [t4, t3]

The regions of an operation are functions in front of its call.  Functions are named once, in the module's namespace, and not looked up by each call.
A value is deleted behind its last use, so that torch frees what autograd does not keep.  A graph that switches gradients or autocast leaves them as
it found them, also when a call raises.
"""

from __future__ import annotations

import keyword
import math
import re
from collections.abc import Mapping, Sequence, Set
from pathlib import PurePath
from types import MappingProxyType
from typing import Any

from lect.backends.python_sizes import size_source
from lect.backends.python_source import free_name
from lect.dialects.functional.symbols import places_of
from lect.dialects.fx import ops as fx
from lect.dialects.fx.modes import AUTOCAST_CALLS
from lect.dialects.fx.region_rules import RULES
from lect.dialects.fx.regions import YieldOp
from lect.dialects.fx.types import ConstantAttr, DeviceAttr, EllipsisAttr, OperandRef, ResultRef
from lect.ir import Block, LectError, Location, Operation, ScalarType, Value
from lect.ir.symbolic import Expr

_NOT_NAME = re.compile(r"\W", re.ASCII)
SWITCHES = frozenset({"torch.set_grad_enabled", "torch._C._set_grad_enabled"})
# Their regions are called again when gradients are asked for.
CALLED_LATER = frozenset({"fx.checkpoint", "fx.autograd_function"})
# Names that the source uses beside those of functions; no variable takes one.
RESERVED = frozenset("torch device Size slice float complex switch_gradients gradients_enabled before kept_modes inference_mode".split())
# Prefixes of public names as the source writes them.
SHORT: Mapping[str, str] = MappingProxyType(
    {"torch.nn.functional.": "F_", "torch._C._nn.": "nn_", "torch.Tensor.": "Tensor_", "torch.functional.": "torch_", "operator.": "", "builtins.": ""}
)
INFIX: Mapping[str, str] = MappingProxyType(
    {
        "add": "+", "sub": "-", "mul": "*", "truediv": "/", "floordiv": "//", "mod": "%", "pow": "**", "matmul": "@",
        "and_": "&", "or_": "|", "xor": "^", "lshift": "<<", "rshift": ">>",
        "eq": "==", "ne": "!=", "lt": "<", "le": "<=", "gt": ">", "ge": ">=",
    }
)  # fmt: skip
PREFIX: Mapping[str, str] = MappingProxyType({"neg": "-", "pos": "+", "invert": "~", "inv": "~"})


class Source:
    """The text of one graph and what it names: functions by their public names, and constants of torch by the attributes that stand for them."""

    def __init__(self, graph: fx.GraphOp) -> None:
        self.graph = graph
        self.name = identifier(graph.sym_name)
        self.lines: list[str] = []
        self.places: dict[int, Location] = {}  # by the number of the line
        self.names: dict[Value, str] = {}
        self.found = {int(name[1:]) for name in graph.symbols or ()} - places_of(graph).keys()
        self.sizes: dict[int, str] = {}  # number of a symbol -> variable
        self.taken: set[str] = {self.name}
        self.functions: dict[str, str] = {}  # identifier -> public name
        self.rules: dict[str, Operation] = {}  # identifier -> the operation with regions that it runs
        self.constants: dict[str, ConstantAttr | ScalarType] = {}  # identifier -> what it stands for
        self.indent = "    "
        self._identifiers: dict[str, str] = {}
        self._line = ""

    @property
    def text(self) -> str:
        """The source."""
        return "\n".join(self.lines) + "\n"

    # ---- names -------------------------------------------------------------------------------------------------------

    def define(self, value: Value) -> str:
        """A fresh variable for a value."""
        name = self._fresh(identifier(value.hint or f"t{len(self.names)}"))
        self.names[value] = name
        return name

    def _fresh(self, base: str) -> str:
        return free_name(base, self.taken)

    def function(self, target: str) -> str:
        """The identifier of a function."""
        found = self._identifiers.get(target)
        if found is None:
            prefix = next((prefix for prefix in SHORT if target.startswith(prefix)), "")
            found = self._fresh(identifier((SHORT[prefix] if prefix else "") + target[len(prefix) :]))
            self._identifiers[target] = found
            self.functions[found] = target
        return found

    def name_of(self, base: str) -> str:
        """A fresh identifier."""
        return self._fresh(identifier(base))

    def rule(self, op: Operation) -> str:
        """The identifier of the rule of an operation with regions."""
        found = self._fresh(op.attrs.get("transform") or op.name.partition(".")[2])
        self.rules[found] = op
        return found

    def constant(self, name: str, value: ConstantAttr | ScalarType) -> str:
        """The identifier of a constant of torch."""
        found = self._identifiers.get("constant " + name)
        if found is None:
            found = self._identifiers["constant " + name] = self._fresh(identifier(name).rstrip("_"))
            self.constants[found] = value
        return found

    def read_sizes(self) -> None:
        """A variable for each size symbol, with the size of an argument that tells it."""
        for number, (argument, dim, divisor) in sorted(places_of(self.graph).items()):
            name = self.sizes[number] = self._fresh(f"s{number}")
            value = self.names[self.graph.body.args[argument]]
            whole = value if dim is None else f"{value}.size({dim})"
            self.emit(f"{name} = {whole}" if divisor == 1 else f"{name} = {whole} // {divisor}")

    def read_found_sizes(self, op: Operation) -> None:
        """A variable for each size symbol that an operation of the graph finds."""
        for value in op.results if self.found else ():
            for dim, size in enumerate(getattr(value.type, "shape", ())):
                if type(size) is Expr and size.atom is not None and size.atom.index in self.found and value in self.names:
                    number = size.atom.index
                    self.found.discard(number)
                    name = self.sizes[number] = self._fresh(f"s{number}")
                    self.emit(f"{name} = {self.names[value]}.size({dim})")

    # ---- statements --------------------------------------------------------------------------------------------------

    def emit(self, line: str, loc: Location | None = None) -> None:
        """Add a statement; the line of the program that it comes from stands behind the first of its statements."""
        text = self.indent + line
        if loc is not None and loc.known:
            self.places[len(self.lines) + 1] = loc
            place = f"{' '.join(PurePath(loc.file).name.split())}:{loc.line}"
            if place != self._line:
                text = f"{text:<72}  # {place}"
                self._line = place
        self.lines.append(text)

    # ---- arguments ---------------------------------------------------------------------------------------------------

    def literal(self, value: Any, operands: Sequence[Value]) -> str:
        """An argument."""
        kind = type(value)
        if kind is OperandRef:
            return self.names[operands[value.number]]
        if value is None or kind in (bool, int, str):
            return repr(value)
        if kind is float:
            return repr(value) if math.isfinite(value) else f"float('{value}')"
        if kind is tuple:
            return f"({', '.join([self.literal(item, operands) for item in value])}{',' if len(value) == 1 else ''})"
        if kind is dict:
            ((name, items),) = value.items()
            return self._constructed(name, items, operands)
        if kind is EllipsisAttr:
            return "..."
        if kind is Expr:
            return size_source(value, self.sizes)
        if kind is DeviceAttr:
            return f"device({value.text!r})"
        if kind is ConstantAttr:
            return self.constant(value.text.removeprefix("torch."), value)
        if kind is ScalarType:
            return self.constant(value.spelling, value)
        raise LectError(f"an argument of a call cannot be {value}")

    def _constructed(self, kind: str, items: Any, operands: Sequence[Value]) -> str:
        if kind == "dict":
            return "{" + ", ".join([f"{self.literal(key, operands)}: {self.literal(item, operands)}" for key, item in items]) + "}"
        inner = ", ".join([self.literal(item, operands) for item in items])
        if kind == "list":
            return f"[{inner}]"
        return f"Size([{inner}])" if kind == "size" else f"{kind}({inner})"

    def subscript(self, value: Any, operands: Sequence[Value]) -> str:
        """An index as it stands between brackets."""
        if type(value) is dict and "slice" in value:
            start, stop, step = [("" if item is None else self.literal(item, operands)) for item in value["slice"]]
            return f"{start}:{stop}:{step}" if step else f"{start}:{stop}"
        if type(value) is tuple and value:
            return ", ".join([self.subscript(item, operands) for item in value]) + ("," if len(value) == 1 else "")
        return self.literal(value, operands)


def identifier(text: str) -> str:
    """`text` as a Python identifier that is no keyword."""
    name = _NOT_NAME.sub("_", text)
    name = name if name.strip("_") else f"{name}value"
    if name[0].isdigit():
        name = "t" + name
    return name + "_" if keyword.iskeyword(name) or name in RESERVED else name


def print_python(graph: Operation) -> Source:
    """The Python source of an `fx.graph`.  Raises `LectError` for what has no Python form."""
    if not isinstance(graph, fx.GraphOp):
        raise LectError(f"only 'fx.graph' has this form, not '{graph.name}'", op=graph)
    source = Source(graph)
    source.lines.append(f"def {source.name}({', '.join([source.define(value) for value in graph.body.args])}):")
    source.read_sizes()
    called = {op.target.leaf for op in graph.walk() if isinstance(op, fx.CallOp)}
    switches = not called.isdisjoint(SWITCHES)
    if not called.isdisjoint(AUTOCAST_CALLS):
        source.emit("with kept_modes():")
        source.indent *= 2
        switches = False
    if switches:
        source.emit("before = gradients_enabled()")
        source.emit("try:")
        source.indent *= 2
    _statements(source, graph.body)
    if switches:
        source.indent = "    "
        source.emit("finally:")
        source.emit("    switch_gradients(before)")
    return source


def _statements(source: Source, block: Block) -> None:
    """The operations of a block; its values are deleted behind their last use."""
    own = {*block.args, *[value for op in block for value in op.results]}
    last_use = {value: op for op in block for value in (*op.operands, *_free_values(op)) if value in own}
    kept = {value for op in block if op.name in CALLED_LATER for value in _free_values(op)}
    for op in block:
        _statement(source, op, last_use, kept)


def _free_values(op: Operation) -> list[Value]:
    """Values from around an operation that its regions use."""
    inner = [each for region in op.regions for each in region.walk()]
    made = {value for each in inner for value in each.results}
    made.update(value for each in (op, *inner) for region in each.regions for block in region.blocks for value in block.args)
    return [value for each in inner for value in each.operands if value not in made]


def _statement(source: Source, op: Operation, last_use: Mapping[Value, Operation], kept: Set[Value]) -> None:
    if isinstance(op, fx.ReturnOp | YieldOp):
        source.emit(f"return [{', '.join([source.names[value] for value in op.operands])}]")
        return
    if isinstance(op, fx.EnterInferenceOp):
        source.emit(f"with inference_mode({op.enabled}):", op.loc)
        source.indent += "    "
        if isinstance(op.next, fx.LeaveInferenceOp):
            source.emit("pass")
        return
    if isinstance(op, fx.LeaveInferenceOp):
        source.indent = source.indent[:-4]
        return
    try:
        if isinstance(op, fx.CallOp):
            call = _call(source, op)
        elif op.regions and op.name in RULES:
            call = _region_call(source, op)
        else:
            raise LectError(f"'{op.name}' has no meaning inside of a graph")
    except LectError as error:
        raise LectError(error.message, op=error.op or op) from None
    if any(value in last_use for value in op.results):
        call = f"{_targets(source, op, last_use)} = {call}"
    source.emit(call, op.loc)
    source.read_found_sizes(op)
    used = dict.fromkeys((*op.operands, *_free_values(op)))
    ended = [source.names[value] for value in used if last_use.get(value) is op and value not in kept]
    ended += [source.names[value] for value in op.results if value not in last_use and value in source.names]
    if ended:
        source.emit(f"del {', '.join(ended)}")


def _region_call(source: Source, op: Operation) -> str:
    """The call of an operation's rule; its regions are functions, which stand in front of it."""
    names = [source.name_of(field.name) for field in op.definition.regions]  # type: ignore[union-attr]
    for name, region in zip(names, op.regions):
        block = region.blocks[0]
        source.emit(f"def {name}({', '.join([source.define(value) for value in block.args])}):", op.loc)
        source.indent += "    "
        _statements(source, block)
        source.indent = source.indent[:-4]
    rule = source.rule(op)
    operands = ", ".join([source.names[value] for value in op.operands])
    return f"{rule}([{', '.join(names)}], [{operands}])"


def _targets(source: Source, op: Operation, last_use: Mapping[Value, Operation]) -> str:
    """What stands on the left of `=`: a variable for each result, in the shape of what the call returns."""
    names = [source.define(value) for value in op.results]
    if not isinstance(op, fx.CallOp):
        return f"[{', '.join(names)}]"
    if op.structure is None:
        return ", ".join(names)
    return _pattern(op.structure, names)


def _pattern(structure: Any, names: Sequence[str]) -> str:
    if type(structure) is ResultRef:
        return names[structure.number]
    if type(structure) is tuple:
        return f"({', '.join([_pattern(item, names) for item in structure])}{',' if len(structure) == 1 else ''})" if structure else "[]"
    return "_"


def _call(source: Source, op: fx.CallOp) -> str:
    target, args, kwargs, operands = op.target.leaf, op.args, op.kwargs, op.operands
    if target in SWITCHES and len(args) == 1 and not kwargs:
        return f"switch_gradients({source.literal(args[0], operands)})"
    if not kwargs:
        written = _as_operator(source, target, args, operands)
        if written is not None:
            return written
    for name in kwargs:
        if not name.isidentifier() or keyword.iskeyword(name):
            raise LectError(f"'{name}' is no name of an argument")
    arguments = [source.literal(value, operands) for value in args]
    arguments += [f"{name}={source.literal(value, operands)}" for name, value in kwargs.items()]
    return f"{source.function(target)}({', '.join(arguments)})"


def _as_operator(source: Source, target: str, args: tuple[Any, ...], operands: Sequence[Value]) -> str | None:
    """The call of a function of `operator` as the operator itself, that of `getattr` as an attribute; None for other calls."""
    owner, _, name = target.rpartition(".")
    if target == "builtins.getattr" and len(args) == 2 and type(args[0]) is OperandRef and type(args[1]) is str and args[1].isidentifier():
        return f"{source.literal(args[0], operands)}.{args[1]}"
    if owner != "operator":
        return None
    if name == "getitem" and len(args) == 2 and type(args[0]) is OperandRef:
        return f"{source.literal(args[0], operands)}[{source.subscript(args[1], operands)}]"
    parts = [_grouped(source.literal(value, operands), value) for value in args]
    if name == "setitem" and len(args) == 3 and type(args[0]) is OperandRef:
        item = f"{source.literal(args[0], operands)}[{source.subscript(args[1], operands)}]"
        return f"{item} = {source.literal(args[2], operands)}"
    if name in INFIX and len(parts) == 2:
        return f"{parts[0]} {INFIX[name]} {parts[1]}"
    if name in PREFIX and len(parts) == 1:
        return f"{PREFIX[name]}{parts[0]}"
    return None


def _grouped(text: str, value: Any) -> str:
    """An operand of an operator: in parentheses where the text has an operator of its own."""
    return f"({text})" if type(value) is Expr or (type(value) in (int, float) and text.startswith("-")) else text
