"""Makes an `fx.graph` of calls with real tensors, lowers it, and runs the result beside eager."""

from __future__ import annotations

from typing import Any

import torch

from lect.backends.reference.functional import run_functional
from lect.dialects import make_context
from lect.dialects.builtin.ops import ModuleOp
from lect.dialects.functional.ops import FuncOp
from lect.dialects.fx.ops import CallOp, GraphOp, ReturnOp
from lect.dialects.fx.types import ConstantAttr, DeviceAttr, EllipsisAttr, OperandRef, ResultRef, TensorType
from lect.frontends.tensors import layout_of
from lect.frontends.tensors.elements import ELEMENTS
from lect.frontends.tensors.lower.graph import lower_graph
from lect.ir import Block, Region, SymbolRef, verify
from lect.passes.manager import PassManager


def fx_type(tensor: torch.Tensor) -> TensorType:
    """The fx type of a real tensor."""
    meta = layout_of(tensor)
    return TensorType(meta.shape, ELEMENTS[meta.dtype], meta.strides, str(meta.device), tensor.requires_grad)


class GraphBuilder:
    """Records calls by name; `call` runs them for real too, so that types are eager's."""

    def __init__(self) -> None:
        self.block = Block()
        self.inputs: list[torch.Tensor] = []
        self.known: dict[int, Any] = {}
        self.keep: list[torch.Tensor] = []

    def input(self, tensor: torch.Tensor) -> torch.Tensor:
        """Make a real tensor an input of the graph; the same tensor is one input."""
        if id(tensor) not in self.known:
            self.inputs.append(tensor)
            self._bind(tensor, self.block.add_arg(fx_type(tensor)))
        return tensor

    def _bind(self, tensor: torch.Tensor, value: Any) -> None:
        self.known[id(tensor)] = value
        self.keep.append(tensor)

    def call(self, name: str, function: Any, *args: Any, **kwargs: Any) -> Any:
        """Call `function`, known to graphs as `name`."""
        operands: list[Any] = []
        encoded = tuple([self._encode(value, operands) for value in args])
        named = {key: self._encode(value, operands) for key, value in kwargs.items()}
        result = function(*args, **kwargs)
        tensors = [result] if isinstance(result, torch.Tensor) else [item for item in result if item is not None]
        structure = None
        if not isinstance(result, torch.Tensor):
            numbers = iter(range(len(tensors)))
            structure = tuple([None if item is None else ResultRef(next(numbers)) for item in result])
        types = [fx_type(tensor) for tensor in tensors]
        op = CallOp(operands, SymbolRef(name), args=encoded, kwargs=named, structure=structure, result_types=types)
        self.block.append(op)
        for tensor, value in zip(tensors, op.results):
            self._bind(tensor, value)
        return result

    def _encode(self, value: Any, operands: list[Any]) -> Any:
        if isinstance(value, torch.Tensor):
            self.input(value)
            found = self.known[id(value)]
            if found not in operands:
                operands.append(found)
            return OperandRef(operands.index(found))
        if isinstance(value, torch.Size):
            return {"size": tuple(value)}
        if isinstance(value, list):
            return {"list": tuple([self._encode(item, operands) for item in value])}
        if isinstance(value, tuple):
            return tuple([self._encode(item, operands) for item in value])
        if isinstance(value, slice):
            return {"slice": (value.start, value.stop, value.step)}
        if isinstance(value, torch.dtype):
            return ELEMENTS[value]
        if isinstance(value, torch.device):
            return DeviceAttr(str(value))
        if isinstance(value, torch.memory_format | torch.layout):
            return ConstantAttr(str(value))
        if value is ...:
            return EllipsisAttr()
        assert value is None or type(value) in (bool, int, float, str), f"{value!r} is no argument of a graph"
        return value

    def lower(self, results: list[torch.Tensor]) -> FuncOp:
        """The functional form of the graph that returns `results`."""
        self.block.append(ReturnOp([self.known[id(tensor)] for tensor in results]))
        graph = GraphOp("f", regions=[Region([self.block])])
        verify(graph)
        func = lower_graph(graph)
        verify(func)
        return func


def compare(expected: torch.Tensor, got: torch.Tensor, exact: bool = True, strides: bool = True) -> None:
    """Assert equal shape, dtype, strides and elements (NaN equals NaN, 0.0 differs from -0.0 when `exact`)."""
    assert got.shape == expected.shape
    assert got.dtype is expected.dtype
    if strides:
        assert got.stride() == expected.stride(), (got.shape, got.stride(), expected.stride())
    torch.testing.assert_close(got, expected, rtol=0 if exact else None, atol=0 if exact else None, equal_nan=True, check_stride=False)
    if exact and expected.dtype.is_floating_point:
        zeros = expected == 0
        assert torch.equal(torch.signbit(got[zeros]), torch.signbit(expected[zeros]))


def check_call(name: str, function: Any, *args: Any, exact: bool = True, **kwargs: Any) -> FuncOp:
    """Lower one call, run it through the reference, and compare it with what eager gave."""
    graph = GraphBuilder()
    result = graph.call(name, function, *args, **kwargs)
    tensors = [result] if isinstance(result, torch.Tensor) else list(result)
    func = graph.lower(tensors)
    for expected, got in zip(tensors, run_functional(func, graph.inputs)):
        compare(expected, got, exact)
    check_simplified(func, graph.inputs, tensors, exact)
    return func


PIPELINE = PassManager.parse("canonicalize,cse,dce", verify_each=True)


def check_simplified(func: FuncOp, inputs: list[torch.Tensor], expected: list[torch.Tensor], exact: bool = True) -> None:
    """Canonicalize a copy of the graph, and compare it with what eager gave."""
    module = ModuleOp(regions=[Region([Block()])])
    module.body.append(func.clone())
    PIPELINE.run(module, make_context())
    (simplified,) = module.body
    for tensor, got in zip(expected, run_functional(simplified, inputs)):
        compare(tensor, got, exact)


def opaque_targets(func: FuncOp) -> list[str]:
    """The operators that were left opaque."""
    return [op.target.leaf for op in func.body if op.name == "functional.opaque"]
