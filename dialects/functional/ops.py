"""functional: a graph as pure operations on tensors, with exact types.

A `functional.func` takes and returns tensors.  Its operations have values and no storage: a view is a value that has the viewed elements, and nothing
is written but inputs, by the last operations in front of the return.  What eager would let a program observe is in the types: sizes, element type,
device, and the strides that eager gives each value, so that a result that leaves the graph is laid out as eager lays it out.  Strides carry no other
meaning; how a value lies in memory inside the graph is for later levels to choose.

Arithmetic is eager's.  Operands of an operation have one element type, and casts between types are operations; what eager converts silently was
made a cast before.  An operation on 16-bit floats computes in f32 and rounds its result once, which is why formulas that eager computes in one
pass (gelu, softmax, layer_norm) are operations of their own.  A Python number in an attribute (`other`, `alpha`) is used in the precision the
operation computes in; where eager rounds it first, it was rounded before.  Beside a first operand with dims, a 0-d second operand of mul and div may have
another element type: it takes part in full precision.  Integers wrap around.  NaN, infinities and signed zeros are IEEE's, but the sign of
the maximum of 0.0 and -0.0 is not defined.  The order in which a reduction or a product adds up is not defined.

The set of operations is closed: 134 primitives, each one shape of loop, and 77 composites.  Every other operator of torch is a
`functional.opaque` that calls it by name.  Operations are pure, unless they read at computed places and may raise for a bad index, or are opaque.
The operands of an opaque call are laid out as their types say.  A random operation takes its seed as an operand.
"""

from typing import Any

from lect.dialects.functional.symbols import verify_symbols
from lect.dialects.functional.types import TensorType
from lect.ir import (
    Attr,
    FuncLike,
    HasParent,
    IsolatedFromAbove,
    Operand,
    Operation,
    ParseError,
    RegionField,
    SingleBlock,
    SymbolRef,
    Terminator,
    Variadic,
    VariadicResult,
    Writes,
    attr,
    op,
    require,
)
from lect.ir.attributes import Attribute
from lect.ir.scanner import Scanner
from lect.ir.symbolic import Expr, Size
from lect.ir.symbolic_values import may_be_ordered


@attr("functional.operand")
class OperandRef(Attribute):
    """Stands in the arguments of an opaque call for the operand of that number."""

    number: int

    def print_body(self) -> str:
        return str(self.number)

    @classmethod
    def parse_body(cls, scanner: Scanner | None) -> Any:
        if scanner is None:
            raise ParseError("an operand reference has a number, as in #functional.operand<0>")
        return cls(scanner.integer())


@op("functional.func")
class FuncOp(Operation):
    """A graph: block arguments are the inputs; `functional.return` names the results.

    `training` is stated by a graph that is part of a training step, as a dictionary of lists.  A joint graph has `inputs`, the number of its leading
    arguments that are inputs of the forward, `results`, the number of its leading results that the forward gives, `tangents`, which says for each
    argument behind the inputs the result whose gradient it is, `gradients`, which says for each result behind the forward's the input whose gradient it
    is, and `held`, the inputs and results (`["input", n]`, `["result", n]`) that autograd holds on to for its own backward.  Where its results are in
    several groups that share nothing behind their tangents, `tangent_groups` and `gradient_groups` give for each tangent and each gradient the number of its
    group; then an input has a gradient from each group that it belongs to.  `again` are the groups for whose backward eager keeps nothing, so that it
    may run again.  A forward has `results`; what it returns behind them is kept for the backward.  A backward has `tangents` and `gradients`, and for each
    argument in front of its tangents `kept` says what it is: `["input", n]` and `["result", n]` of the forward, or `["kept", n]`, the nth of those that
    the forward returns behind its results; `again` is true when it may run again.  `symbols` declares the size symbols that
    occur in it (see `symbols`).
    """

    contents: RegionField
    sym_name: Attr[str]
    training: Attr[(dict, None)] = None
    symbols: Attr[(dict, None)] = None
    traits = (FuncLike, IsolatedFromAbove, SingleBlock)

    def verify(self) -> None:
        if self.training is not None:
            _verify_training(self, self.training)
        for value in self.body.args:
            require(isinstance(value.type, TensorType), self, "inputs of '{}' are tensors, got {}", self.name, value.type)
        verify_symbols(self)
        written = False
        for inner in self.body:
            require(not written or isinstance(inner, WriteOp | ReturnOp), inner, "'{}' stands behind a write to an input", inner.name)
            written = written or isinstance(inner, WriteOp)


_GROUP_KEYS = ("tangent_groups", "gradient_groups")
_TRAINING_KEYS = (("inputs", "results", "tangents", "gradients", "held"), ("results",), ("kept", "tangents", "gradients"))
_MORE_KEYS = ((*_GROUP_KEYS, "again"), (), ("again",))


def _verify_training(op: FuncOp, training: dict[str, Any]) -> None:
    known = any(set(keys) <= set(training) <= {*keys, *more} for keys, more in zip(_TRAINING_KEYS, _MORE_KEYS))
    require(known, op, "'training' is that of a joint graph, a forward or a backward, got the keys {}", list(training))
    require(set(_GROUP_KEYS).isdisjoint(training) or set(_GROUP_KEYS) <= set(training), op, "'training' has groups of tangents and gradients, or of none")
    for name in ("inputs", "results"):
        require(type(training.get(name, 0)) is int, op, "'{}' of 'training' is a number", name)
    for name in ("tangents", "gradients", *_GROUP_KEYS):
        listed = training.get(name, ())
        require(type(listed) is tuple and all(type(number) is int for number in listed), op, "'{}' of 'training' is a list of numbers", name)
    for name, of in zip(_GROUP_KEYS, ("tangents", "gradients")):
        count = len(training.get(of, ()))
        require(len(training.get(name, training.get(of, ()))) == count, op, "'{}' of 'training' must name a group for each of {} {}", name, count, of)
    last = op.body.last
    results = len(last.operands) if last is not None else 0
    arguments = len(op.body.args)
    if "inputs" in training:
        found = training["inputs"] + len(training["tangents"]), training["results"] + len(training["gradients"])
        require(found == (arguments, results), op, "'training' speaks of {} arguments and results, '{}' has {}", found, op.name, (arguments, results))
    elif "kept" in training:
        found = len(training["kept"]) + len(training["tangents"]), len(training["gradients"])
        require(found == (arguments, results), op, "'training' speaks of {} arguments and results, '{}' has {}", found, op.name, (arguments, results))
    else:
        require(training["results"] <= results, op, "'training' speaks of {} results, '{}' has {}", training["results"], op.name, results)


@op("functional.write")
class WriteOp(Operation):
    """The graph leaves `value` in an input: in the tensor of `value`'s sizes and strides that starts `offset` elements behind the input's first.

    All writes happen when everything else was computed, in order; results that lie in the input's memory show them.  `versions` is how often the
    program wrote to the input in place, which autograd counts.
    """

    target: Operand[TensorType]
    value: Operand[TensorType]
    offset: Attr[(int, Expr)] = 0
    versions: Attr[int] = 1
    traits = (Writes("target"), HasParent("functional.func"))

    def verify(self) -> None:
        target, value = self.target.type, self.value.type
        require(self.target.is_argument, self, "only inputs of the graph are written")
        require(value.element is target.element and value.device == target.device, self, "a write keeps element type and device of {}, got {}", target, value)
        inside = may_be_ordered(0, self.offset) and may_be_ordered(self.offset + reach(value), reach(target))
        require(inside, self, "the write reaches beyond the {} elements of the input", reach(target))
        require(self.versions >= 0, self, "'versions' counts writes, got {}", self.versions)


def reach(type: TensorType) -> Size:
    """How many elements lie between the first and the last one, both counted."""
    if type.is_empty:
        return 0
    return 1 + sum((size - 1) * stride for size, stride in zip(type.shape, type.strides))


@op("functional.return")
class ReturnOp(Operation):
    """The results of the graph, laid out as their types say.

    Each result is a tensor of its own memory, also where two are one value or one is an input, unless `aliases` says otherwise.  It has an entry for
    each result: none for memory of its own, `["input", n, offset]` for a tensor that starts `offset` elements behind input n's first element in the
    memory of that input, and `["result", n, offset]` for one in the memory of an earlier result.
    """

    values: Variadic[TensorType]
    aliases: Attr[(tuple, None)] = None
    traits = (Terminator, HasParent("functional.func"))

    def verify(self) -> None:
        if self.aliases is None:
            return
        require(len(self.aliases) == len(self.operands), self, "'aliases' needs an entry for each of {} results, got {}", len(self.operands), len(self.aliases))
        parent = self.parent_op
        inputs = len(parent.body.args) if parent is not None else 0
        for position, entry in enumerate(self.aliases):
            limits = {"input": inputs, "result": position}
            good = entry is None or (type(entry) is tuple and len(entry) == 3 and entry[0] in limits and entry[1] in range(limits[entry[0]]))
            require(good, self, "alias {} must be none, or name an input or an earlier result and an offset", position)


@op("functional.opaque")
class OpaqueOp(Operation):
    """A call of the torch operator `target` (`@aten.linalg_inv_ex.default`), in order with other opaque calls and with nothing known of it.

    `args` and `kwargs` are its arguments, where `#functional.operand<n>` stands for operand n.  The types of the results are eager's.
    """

    inputs: Variadic[TensorType]
    target: Attr[SymbolRef]
    args: Attr[tuple] = ()
    kwargs: Attr[dict] = {}  # noqa: RUF012 - the default of an attribute, never changed
    outputs: VariadicResult[TensorType]

    def verify(self) -> None:
        require(self.target.leaf.count(".") == 2, self, "the target of 'functional.opaque' is @namespace.name.overload, got {}", self.target)
        used = sorted(set(_references(self.args) + _references(self.kwargs)))
        count = len(self.operands)
        require(used == list(range(count)), self, "arguments of '{}' must use each of its {} operands, found the numbers {}", self.name, count, used)


def _references(value: Any) -> list[int]:
    if type(value) is OperandRef:
        return [value.number]
    if type(value) is tuple:
        return [number for item in value for number in _references(item)]
    if type(value) is dict:
        return [number for item in value.values() for number in _references(item)]
    return []
