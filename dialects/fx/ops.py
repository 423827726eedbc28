"""fx: a program as the calls of torch functions it made, in order.

A graph takes tensors (and numbers known only at run time) and returns tensors.  One `fx.call` is one call of a public callable by its name:
`torch.nn.functional.gelu`, `torch.Tensor.view`, `operator.add`.  Semantics are those of the callable itself, called with `args` and `kwargs` after
`#fx.operand<n>` has been replaced by operand n.  Calls happen in the order of the text: a call may write to its operands (`torch.Tensor.add_`),
a result may be a view of an operand or the operand itself, and calls of random functions advance the generator of the device.  So a call may be
removed or moved only by a pass that knows its target.  Types are exact: the sizes, strides, dtype and device that eager gives, and whether
autograd would record.

Python arguments are attributes: None, bool, int, float and str as they are, a tuple as `[a, b]`, a dtype as a builtin type, and what has no
literal as a dictionary with one entry that names the constructor: `{list = [...]}`, `{dict = [[k, v], ...]}`, `{slice = [a, b, c]}`,
`{complex = [re, im]}`, `{size = [...]}`.  A size that is known only at run time is
`#lect.size<s0 * 2>`, over the symbols that the graph declares.  A call that returns something else than one tensor or a flat tuple of tensors says so
in `structure`, where `#fx.result<n>` stands for result n.
"""

from typing import Any

from lect.dialects.fx.types import NumberType, OperandRef, ResultRef, TensorType
from lect.ir import (
    Attr,
    FuncLike,
    HasParent,
    IsolatedFromAbove,
    Operation,
    RegionField,
    SingleBlock,
    SymbolRef,
    Terminator,
    Variadic,
    VariadicResult,
    op,
    require,
)

CONSTRUCTORS = frozenset({"list", "dict", "slice", "complex", "size"})


def references(value: Any, kind: type[OperandRef] | type[ResultRef]) -> list[int]:
    """The numbers of all placeholders of class `kind` inside an attribute value, from left to right."""
    if isinstance(value, kind):
        return [value.number]
    if type(value) is tuple:
        return [number for item in value for number in references(item, kind)]
    if type(value) is dict:
        return [number for item in value.values() for number in references(item, kind)]
    return []


@op("fx.graph")
class GraphOp(Operation):
    """A graph of calls; its block arguments are the inputs in the order in which the residual code passes them.  `symbols` declares its size symbols."""

    body_region: RegionField
    sym_name: Attr[str]
    symbols: Attr[(dict, None)] = None
    traits = (FuncLike, IsolatedFromAbove, SingleBlock)

    def verify(self) -> None:
        for value in self.body.args:
            require(isinstance(value.type, TensorType | NumberType), self, "inputs of '{}' are tensors or numbers, got {}", self.name, value.type)
        depth = 0
        for inner in self.body:
            depth += isinstance(inner, EnterInferenceOp)
            depth -= isinstance(inner, LeaveInferenceOp)
            require(depth >= 0, inner, "'fx.leave_inference' without an 'fx.enter_inference' in front of it")
        require(depth == 0, self, "a graph leaves each inference block that it enters, {} stay open", depth)


@op("fx.call")
class CallOp(Operation):
    """Call a public function, method or operator by its name."""

    inputs: Variadic[(TensorType, NumberType)]
    target: Attr[SymbolRef]
    args: Attr[tuple] = ()
    kwargs: Attr[dict] = {}  # noqa: RUF012 - the default of an attribute, never changed
    structure: Attr[object] = None
    outputs: VariadicResult[(TensorType, NumberType)]

    def verify(self) -> None:
        used = sorted(set(references(self.args, OperandRef) + references(self.kwargs, OperandRef)))
        count = len(self.operands)
        require(used == list(range(count)), self, "arguments of '{}' must use each of its {} operands, found the numbers {}", self.name, count, used)
        if self.structure is not None:
            named = sorted(references(self.structure, ResultRef))
            require(named == list(range(len(self.results))), self, "structure must name each of {} results once, found {}", len(self.results), named)
        for value in (self.args, self.kwargs):
            _verify_constructors(self, value, top=True)


@op("fx.enter_inference")
class EnterInferenceOp(Operation):
    """From here to the `fx.leave_inference` that belongs to it, calls run in inference mode, or with `enabled = false` out of it."""

    enabled: Attr[bool] = True
    traits = (HasParent("fx.graph"),)


@op("fx.leave_inference")
class LeaveInferenceOp(Operation):
    """Ends what the last open `fx.enter_inference` began."""

    traits = (HasParent("fx.graph"),)


def _verify_constructors(op: Operation, value: Any, top: bool = False) -> None:
    if type(value) is tuple:
        for item in value:
            _verify_constructors(op, item)
    elif type(value) is dict:
        if not top:
            known = len(value) == 1 and next(iter(value)) in CONSTRUCTORS
            require(known, op, "a dictionary inside arguments is one of {}", ", ".join(sorted(CONSTRUCTORS)))
        for item in value.values():
            _verify_constructors(op, item)


@op("fx.return")
class ReturnOp(Operation):
    """Ends a graph and names its results.

    `several` are the numbers of results that are views which a function gave together with others, or views of these, and that require gradients:
    autograd refuses to write to them.
    """

    values: Variadic[(TensorType, NumberType)]
    several: Attr[tuple] = ()
    traits = (Terminator, HasParent("fx.graph"))

    def verify(self) -> None:
        known = all(type(number) is int and 0 <= number < len(self.operands) for number in self.several)
        require(known, self, "several of '{}' must be numbers of its {} results, got {}", self.name, len(self.operands), list(self.several))
