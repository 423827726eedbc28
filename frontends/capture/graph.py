"""Recording: torch calls on traced tensors become the operations of an `fx.graph`."""

from __future__ import annotations

from typing import Any

import torch

from lect.dialects.fx import ops as fx
from lect.dialects.fx.regions import YieldOp
from lect.dialects.fx.types import NumberType, OperandRef, ResultRef
from lect.frontends.capture.breaks import GraphBreak
from lect.frontends.capture.numbers import RunTimeNumber
from lect.frontends.capture.scalars import ELEMENT_OF, NUMPY_NUMBERS, SCALAR_TYPES, scalar_attribute, tensor_type
from lect.frontends.tensors.lt import LT, layout_of
from lect.ir import Block, Location, Operation, Region, SymbolRef, Value
from lect.ir.types import f64, i64


class Scope:
    """What is restored when a region ends: the block and the values around it; `outer` are the tensors known there, with their state."""

    __slots__ = ("block", "outer", "values")

    def __init__(self, block: Block, values: dict[int, Value], outer: list[tuple[LT, int, Any]]) -> None:
        self.block = block
        self.values = values
        self.outer = outer


def _state(tensor: LT) -> tuple[int, Any]:
    """What changes when a tensor is written to."""
    return (-1 if tensor.is_inference() else tensor._version), layout_of(tensor)


class GraphRecorder:
    """One graph under construction.  A traced tensor is known by identity; `values` maps it to the SSA value that stands for it now."""

    def __init__(self) -> None:
        self.block = self.top = Block()
        self.values: dict[int, Value] = {}
        self.scopes: list[Scope] = []
        self.alive: list[LT] = []
        self.calls = 0
        self.places: list[RunTimeNumber | None] = []  # by argument: the number that is passed there, None for a tensor
        self.numbers: dict[int, Value] = {}
        self.first_write: Location | None = None  # where the first call stands that writes to a tensor
        self.gradients = False  # a call changes what autograd does with a tensor
        self.leaves: list[LT] = []  # tensors that were made to require gradients in the graph
        self.foreign_numbers = False  # a number of numpy was written as Python's
        self.rebound: list[tuple[LT, Value]] = []  # calls gave a tensor that was there before, for which this value stands then
        self.writers: set[int] = set()  # ids of the operations that wrote to a tensor in place
        self.data_of: dict[int, LT] = {}  # by identity: the tensor whose `data` a traced one is
        self.replaced: dict[int, LT] = {}  # by identity: what was assigned to the `data` of a traced tensor

    @property
    def writes(self) -> bool:
        """True when a call writes to a tensor in place."""
        return self.first_write is not None

    def note_write(self, loc: Location) -> None:
        """A call at `loc` writes to a tensor in place."""
        if self.first_write is None:
            self.first_write = loc

    def add_input(self, tensor: LT, hint: str) -> None:
        """A new block argument for `tensor`."""
        check_element(tensor)
        value = self.top.add_arg(tensor_type(tensor), hint)
        self.places.append(None)
        self.define(tensor, value)
        for scope in self.scopes:
            scope.values[id(tensor)] = value

    def number_value(self, number: RunTimeNumber) -> Value:
        """The argument in which a number of run time is passed; a new one when it has none."""
        found = self.numbers.get(id(number))
        if found is None:
            element = f64 if type(number.value) is float else i64
            found = self.numbers[id(number)] = self.top.add_arg(NumberType(element), number.hint)
            self.places.append(number)
        return found

    def place_of(self, number: RunTimeNumber) -> int:
        """The position of the argument in which a number of run time is passed."""
        self.number_value(number)
        return next(place for place, each in enumerate(self.places) if each is number)

    # ---- regions -----------------------------------------------------------------------------------------------------

    def open_region(self, parameters: list[LT]) -> None:
        """What is recorded from here on belongs to a region with these parameters."""
        self.scopes.append(Scope(self.block, dict(self.values), [(tensor, *_state(tensor)) for tensor in self._outer()]))
        self.block = Block()
        for tensor in parameters:
            check_element(tensor)
            self.define(tensor, self.block.add_arg(tensor_type(tensor)))

    def close_region(self, outputs: list[LT]) -> Region:
        """The region opened last, which yields `outputs`.  What it made is not known any more.  Breaks when it wrote to what it did not make."""
        self.block.append(YieldOp([self.value_of(tensor) for tensor in outputs]))
        region = Region([self.block])
        scope = self.drop_region()
        if any(_state(tensor) != (version, layout) for tensor, version, layout in scope.outer) or self._wrote_data(scope):
            raise GraphBreak("LB0004", "a function that torch calls writes to a tensor it did not make")
        return region

    def _wrote_data(self, scope: Scope) -> bool:
        """True when a region wrote to what it did not make by way of its `data`, which the count of writes does not tell."""
        outer = {id(tensor) for tensor, _, _ in scope.outer}
        made = [tensor for tensor in self.alive if id(tensor) in self.data_of and id(tensor) not in outer]
        return any(tensor._version and id(self.data_of[id(tensor)]) in outer for tensor in made if not tensor.is_inference())

    def drop_region(self) -> Scope:
        """Forget the region opened last."""
        scope = self.scopes.pop()
        self.block, self.values = scope.block, scope.values
        return scope

    def _outer(self) -> list[LT]:
        return [tensor for tensor in self.alive if id(tensor) in self.values]

    def tensors(self) -> dict[Value, LT]:
        """The traced tensor that each value stands for."""
        return {self.values[id(tensor)]: tensor for tensor in self._outer()}

    def operands(self) -> dict[Value, Any]:
        """What runs the operations of a region again: traced tensors, and of numbers of run time the values that they have in the traced call.

        Operations that take such a number were found to give the same for any.
        """
        return {**self.tensors(), **{self.numbers[id(number)]: number.value for number in self.places if number is not None}}

    def add_region_op(self, kind: type[Operation], operands: list[LT], attrs: dict[str, Any], regions: list[Region], results: list[LT], loc: Location) -> None:
        """Append an operation with regions, whose results stand for `results`."""
        values = [self.value_of(tensor) for tensor in operands]
        assert kind.definition is not None
        defaults = {name: field.default for name, field in kind.definition.attrs.items() if field.has_default}
        stated = {name: value for name, value in attrs.items() if name not in defaults or defaults[name] != value}
        op = self.block.append(kind.create(values, [tensor_type(tensor) for tensor in results], stated, regions, loc=loc))
        for tensor, value in zip(results, op.results):
            check_element(tensor)
            self.define(tensor, value)
        self.calls += 1

    # ---- calls -------------------------------------------------------------------------------------------------------

    def define(self, tensor: LT, value: Value) -> None:
        """From here on `value` stands for `tensor`."""
        if id(tensor) in self.values:
            self.rebound.append((tensor, value))
        self.values[id(tensor)] = value
        self.alive.append(tensor)

    def value_of(self, tensor: LT) -> Value:
        """The value that stands for `tensor`; breaks when the tensor was made behind the recorder's back."""
        found = self.values.get(id(tensor))
        if found is None:
            raise GraphBreak("LB0007", "a tensor that no recorded call has made")
        if self.replaced and id(tensor) in self.replaced:
            raise GraphBreak("LB0016", "a tensor whose data was replaced is read")
        return found

    def knows(self, tensor: LT) -> bool:
        """True when `tensor` is an input or the result of a recorded call."""
        return id(tensor) in self.values

    def record(self, name: str, args: Any, kwargs: dict[str, Any], returned: Any, loc: Location) -> None:
        """Append the call of the function called `name`; `returned` is what it gave on traced tensors."""
        operands: list[Value] = []
        numbers: dict[int, int] = {}
        arg_attrs = tuple([self._encode(item, operands, numbers) for item in args])
        kwarg_attrs = {key: self._encode(item, operands, numbers) for key, item in kwargs.items()}
        results: list[LT] = []
        structure = _structure(returned, results)
        flat = tuple([ResultRef(number) for number in range(len(results))])
        attrs: dict[str, Any] = {"target": SymbolRef(name)}
        if arg_attrs:
            attrs["args"] = arg_attrs
        if kwarg_attrs:
            attrs["kwargs"] = kwarg_attrs
        if not (structure == flat and len(results) > 1) and not (len(results) == 1 and type(structure) is ResultRef):
            attrs["structure"] = structure
        for tensor in results:
            check_element(tensor)
        op = self.block.append(fx.CallOp.create(operands, [tensor_type(tensor) for tensor in results], attrs, loc=loc))
        for tensor, value in zip(results, op.results):
            self.define(tensor, value)
        self.calls += 1

    def repeat(self, attrs: dict[str, Any], types: list[Any], operands: list[LT], results: list[LT], loc: Location) -> None:
        """Append a call with the attributes and result types of an earlier one."""
        op = self.block.append(fx.CallOp.create([self.values[id(tensor)] for tensor in operands], types, dict(attrs), loc=loc))
        for tensor, value in zip(results, op.results):
            self.define(tensor, value)
        self.calls += 1

    def again(self, calls: list[Any], values: list[Value]) -> list[Value]:
        """Append calls whose operands are numbers of values: first those of `values`, then the results in order.  All of these values."""
        for call in calls:
            op = fx.CallOp.create([values[number] for number in call.operands], call.types, dict(call.attrs), loc=call.loc)
            values += self.block.append(op).results
        self.calls += len(calls)
        return values

    def record_mode(self, name: str, args: list[Any], loc: Location) -> None:
        """Append a call that switches a mode of torch; it is no torch call of its own."""
        self.block.append(fx.CallOp.create([], [], {"target": SymbolRef(name), "args": tuple([scalar_attribute(item) for item in args])}, loc=loc))

    def _encode(self, value: Any, operands: list[Value], numbers: dict[int, int]) -> Any:
        kind = type(value)
        if kind is RunTimeNumber and value.size is not None:
            return value.size
        if kind is RunTimeNumber and value.is_pinned:
            return value.value
        if kind is LT or kind is RunTimeNumber:
            operand = self.value_of(value) if kind is LT else self.number_value(value)
            number = numbers.get(id(operand))
            if number is None:
                number = numbers[id(operand)] = len(operands)
                operands.append(operand)
            return OperandRef(number)
        if kind in NUMPY_NUMBERS:
            self.foreign_numbers = True
            value, kind = value.item(), type(value.item())
        if kind in SCALAR_TYPES:
            attribute = scalar_attribute(value)
            if attribute is None and value is not None:
                raise GraphBreak("LB0006", f"a {kind.__name__} has no form in a graph")
            return attribute
        if kind is tuple:
            return tuple([self._encode(item, operands, numbers) for item in value])
        if kind is list:
            return {"list": tuple([self._encode(item, operands, numbers) for item in value])}
        if kind is torch.Size:
            return {"size": tuple([self._encode(item, operands, numbers) for item in value])}
        if kind is slice:
            return {"slice": tuple([self._encode(item, operands, numbers) for item in (value.start, value.stop, value.step)])}
        if kind is dict:
            return {"dict": tuple([(self._encode(key, operands, numbers), self._encode(item, operands, numbers)) for key, item in value.items()])}
        raise GraphBreak("LB0006", f"a {kind.__name__} has no form in a graph")

    def finish(self, name: str, outputs: list[LT], loc: Location, symbols: dict[str, Any] | None = None) -> fx.GraphOp:
        """The graph with these outputs and size symbols; the recorder must not be used any more."""
        for tensor in outputs:
            if tensor.requires_grad and not getattr(self.value_of(tensor).type, "requires_grad", True):  # since a write through a view of it
                self.record("torch.Tensor.resolve_neg", [tensor], {}, tensor, loc)  # which gives its operand itself
        several = tuple([number for number, tensor in enumerate(outputs) if tensor.requires_grad and refuses_writes(tensor) == _OF_SEVERAL])
        self.block.append(fx.ReturnOp([self.value_of(tensor) for tensor in outputs], several=several, loc=loc))
        return fx.GraphOp(name, symbols=symbols, regions=[Region([self.block])], loc=loc)


_OF_SEVERAL = torch._C._autograd.CreationMeta.MULTI_OUTPUT_NODE


def refuses_writes(tensor: torch.Tensor) -> Any:
    """Why autograd lets nobody write to a view, as torch's `CreationMeta`; None when it does."""
    if not tensor._is_view():
        return None
    found = torch._C._autograd._get_creation_meta(tensor)
    return None if found == torch._C._autograd.CreationMeta.DEFAULT else found


def check_element(tensor: torch.Tensor) -> None:
    """Break for dtypes that have no builtin type."""
    if tensor.dtype not in ELEMENT_OF:
        raise GraphBreak("LB0005", f"a tensor of dtype {tensor.dtype}")


def _structure(returned: Any, results: list[LT]) -> Any:
    """The shape of what a call returned, its tensors replaced by placeholders and collected in `results`."""
    kind = type(returned)
    if kind is LT:
        results.append(returned)
        return ResultRef(len(results) - 1)
    if isinstance(returned, tuple | list):
        return tuple([_structure(item, results) for item in returned])
    if returned is None:
        return None
    if kind in SCALAR_TYPES:
        return scalar_attribute(returned)
    raise GraphBreak("LB0008", f"a torch function returned a {kind.__name__}")
