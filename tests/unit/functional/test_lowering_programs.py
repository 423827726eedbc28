"""Small programs and whole models, lowered to functional operations and run by the reference beside eager, on inputs that are hard to get right."""

from __future__ import annotations

import math
import operator

import pytest
import torch
import torch.nn.functional as F
from torch import nn
from torch.overrides import TorchFunctionMode, resolve_name

from lect.backends.reference.functional import run_functional
from lect.dialects.functional.types import TensorType
from lect.frontends.tensors.elements import DTYPES
from lect.ir import LectError
from tests.unit.functional.programs import GraphBuilder, check_call, check_simplified, compare, opaque_targets

SPECIAL = [0.0, -0.0, 1.0, -1.0, 0.5, -2.5, 3.0, math.inf, -math.inf, math.nan, 1e-40, 65519.0, 3.4e38, 2.0]


def special(dtype: torch.dtype) -> torch.Tensor:
    """Numbers at which formulas differ."""
    if dtype is torch.bool:
        return torch.tensor([True, False, True])
    if dtype.is_floating_point:
        return torch.tensor(SPECIAL, dtype=torch.float64).to(dtype)
    info = torch.iinfo(dtype)
    return torch.tensor([0, 1, 2, 7, info.max, info.min, info.max - 1], dtype=dtype)


def operands(dtype: torch.dtype) -> dict[str, torch.Tensor]:
    """Inputs by kind: special numbers, empty, 0-d, strided, broadcast."""
    values = special(dtype)
    wide = values.repeat(3, 2)
    return {
        "special": values,
        "empty": values[:0],
        "scalar": values[1],
        "strided": wide[:, ::2],
        "transposed": wide.t(),
        "expanded": values[:, None].expand(-1, 3),
        "channels_last": values[:1].expand(2, 3, 4, 5).contiguous(memory_format=torch.channels_last),
    }


KINDS = tuple(operands(torch.float32))
UNARY = """
abs neg sign sgn exp expm1 log log2 log10 log1p sqrt rsqrt reciprocal sin cos tan tanh sigmoid erf erfc floor ceil round trunc isnan isinf signbit
logical_not relu square frac sinc exp2 atan asin sinh cosh positive deg2rad isfinite isposinf isneginf nan_to_num
""".split()
FUNCTIONAL_UNARY = ["gelu", "silu", "mish", "hardswish", "hardsigmoid", "softplus", "elu", "celu", "selu", "leaky_relu", "logsigmoid", "softsign", "tanhshrink"]
BINARY = """
add sub mul true_divide maximum minimum fmax fmin eq ne lt le gt ge logical_and logical_or logical_xor atan2 hypot copysign xlogy pow
""".split()


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16, torch.float16, torch.float64], ids=str)
@pytest.mark.parametrize("name", UNARY)
def test_unary(name, dtype):
    for kind in KINDS:
        check_call(f"torch.{name}", getattr(torch, name), operands(dtype)[kind])


@pytest.mark.parametrize(
    "name", ["abs", "neg", "sign", "exp", "sqrt", "relu", "logical_not", "bitwise_not", "sigmoid", "square", "reciprocal", "isnan", "floor"]
)
@pytest.mark.parametrize("dtype", [torch.int64, torch.int32, torch.uint8, torch.bool], ids=str)
def test_unary_of_integers(name, dtype):
    for kind in KINDS:
        try:
            getattr(torch, name)(operands(dtype)[kind])
        except (RuntimeError, NotImplementedError):
            return
        check_call(f"torch.{name}", getattr(torch, name), operands(dtype)[kind])


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16], ids=str)
@pytest.mark.parametrize("name", FUNCTIONAL_UNARY)
def test_activations(name, dtype):
    for kind in KINDS:
        check_call(f"torch.nn.functional.{name}", getattr(F, name), operands(dtype)[kind])


@pytest.mark.parametrize("name", BINARY)
@pytest.mark.parametrize(
    "dtypes", [("float32", "float32"), ("bfloat16", "float32"), ("float16", "bfloat16"), ("int64", "float32"), ("int32", "int64"), ("uint8", "int8")]
)
def test_binary_promotes_and_broadcasts(name, dtypes):
    function = getattr(torch, name)
    first, second = [operands(getattr(torch, dtype)) for dtype in dtypes]
    pairs = [("special", "scalar"), ("scalar", "special"), ("scalar", "scalar"), ("transposed", "scalar"), ("channels_last", "scalar"), ("empty", "scalar")]
    for left, right in pairs:
        _check_if_eager_can(f"torch.{name}", function, first[left], second[right])
    x, y = first["special"][:3, None], second["special"][None, :4]
    _check_if_eager_can(f"torch.{name}", function, x, y)
    _check_if_eager_can(f"torch.{name}", function, x.expand(3, 4), y)


def _check_if_eager_can(name, function, *args):
    try:
        function(*args)
    except (RuntimeError, NotImplementedError):
        return
    check_call(name, function, *args)


NUMBERS = [2, -3, 0.1, 0, True, 1e-30, 257]


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16, torch.float16, torch.int64, torch.uint8, torch.bool], ids=str)
@pytest.mark.parametrize("name", ["add", "sub", "mul", "truediv", "pow", "eq", "lt", "ge", "floordiv", "mod"])
def test_numbers_on_the_right(name, dtype):
    for number in NUMBERS:
        for kind in ("special", "scalar", "strided", "empty"):
            if dtype.is_floating_point or not (name in ("floordiv", "mod") and not number):
                _check_if_eager_can(f"operator.{name}", getattr(operator, name), operands(dtype)[kind], number)


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16, torch.int64], ids=str)
@pytest.mark.parametrize("name", ["add", "sub", "mul", "truediv", "pow"])
def test_numbers_on_the_left(name, dtype):
    for number in (2, 0.1, -1.5):
        _check_if_eager_can(f"operator.{name}", getattr(operator, name), number, operands(dtype)["special"])


@pytest.mark.parametrize("mode", [None, "floor", "trunc"])
@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16, torch.int64], ids=str)
def test_division_modes(mode, dtype):
    x = special(dtype)
    for y in (x.flip(0).where(x.flip(0) != 0, torch.ones((), dtype=dtype)), torch.tensor(3, dtype=dtype)):
        check_call("torch.div", torch.div, x, y, rounding_mode=mode)
    check_call("torch.div", torch.div, x, 0.3, rounding_mode=mode)


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16, torch.int64], ids=str)
@pytest.mark.parametrize("bounds", [(0, None), (None, 1), (-1, 1), (1, -1), (0.5, 0.75)])
def test_clamp(dtype, bounds):
    check_call("torch.clamp", torch.clamp, special(dtype), *bounds)


@pytest.mark.parametrize("dims", [None, 0, -1, (0, 2)])
@pytest.mark.parametrize("keepdim", [False, True])
@pytest.mark.parametrize("name", ["sum", "mean", "amax", "amin", "logsumexp", "any", "all", "prod", "argmax", "var", "norm"])
def test_reductions(name, dims, keepdim):
    x = torch.randn(3, 4, 5)
    x[0, 0, 0], x[1, 1, 1] = math.nan, math.inf
    for value in (x, x.permute(2, 0, 1), x.bfloat16(), x[:, ::2]):
        args = () if dims is None else (dims,)
        options = {} if dims is None else {"keepdim": keepdim}
        function = getattr(torch.Tensor, name)
        try:
            function(value, *args, **options)
        except (RuntimeError, TypeError):
            continue
        check_call(f"torch.Tensor.{name}", function, value, *args, exact=name not in ("norm", "var", "prod"), **options)


def test_an_empty_list_of_dims():
    x = torch.randn(3, 4)
    for name in ("sum", "mean", "any", "all"):  # all dims for the first two, none for the others
        check_call(f"torch.Tensor.{name}", getattr(torch.Tensor, name), x, ())


@pytest.mark.parametrize("shape", [(0,), (0, 3), (3, 0)])
@pytest.mark.parametrize("name", ["sum", "mean", "prod", "any", "all", "logsumexp"])
def test_reductions_of_nothing(name, shape):
    check_call(f"torch.Tensor.{name}", getattr(torch.Tensor, name), torch.zeros(shape), 0)


INDEXES = [0, -1, slice(None), slice(1, None), slice(None, None, 2), slice(-2, None), (0, 1), (slice(None), 0), (..., 0), (None, 0), (0, ..., None)]


@pytest.mark.parametrize("number", range(len(INDEXES)))
def test_indexing(number):
    for x in (torch.randn(3, 4, 5), torch.randn(5, 4, 3).permute(2, 1, 0)):
        func = check_call("operator.getitem", operator.getitem, x, INDEXES[number])
        assert opaque_targets(func) == []


def test_indexing_by_tensors():
    x, rows, columns = torch.randn(3, 4, 5), torch.tensor([2, -1, 0]), torch.tensor([[1], [3]])
    for index in (rows, (slice(None), rows), (rows, slice(None), rows), (slice(None), rows, columns)):
        assert opaque_targets(check_call("operator.getitem", operator.getitem, x, index)) == []
    check_call("torch.nn.functional.embedding", F.embedding, torch.tensor([[1, 2], [0, 2]]), torch.randn(3, 4))
    check_call("torch.where", torch.where, x > 0, x, torch.tensor(0.5))
    check_call("torch.where", torch.where, x > 0, x, 2)


def test_in_place_ops_on_intermediate_tensors():
    x = torch.randn(3, 4)
    for name, args in (
        ("add_", (1,)),
        ("mul_", (0.5,)),
        ("sub_", (2.0,)),
        ("relu_", ()),
        ("clamp_", (0, 1)),
        ("masked_fill_", (x > 0, 1.0)),
        ("copy_", (torch.ones(4),)),
    ):
        graph = GraphBuilder()
        y = graph.call("torch.exp", torch.exp, x)
        graph.call(f"torch.Tensor.{name}", getattr(torch.Tensor, name), y, *args)
        func = graph.lower([y])
        compare(y, run_functional(func, graph.inputs)[0])


VIEWS_IN_PLACE = {
    "t_": (),
    "transpose_": (0, 1),
    "swapaxes_": (0, 1),
    "swapdims_": (0, -1),
    "squeeze_": (),
    "unsqueeze_": (1,),
    "as_strided_": ((2, 3), (1, 2)),
}


@pytest.mark.parametrize("offset", [0, 1])
@pytest.mark.parametrize("name", VIEWS_IN_PLACE)
def test_a_tensor_becomes_another_view(name, offset):
    graph = GraphBuilder()
    y = graph.call("torch.exp", torch.exp, torch.randn(4, 3))
    y = graph.call("operator.getitem", operator.getitem, y, slice(offset, None))
    graph.call(f"torch.Tensor.{name}", getattr(torch.Tensor, name), y, *VIEWS_IN_PLACE[name])
    after = graph.call("operator.add", operator.add, y, 1)
    func = graph.lower([y, after])
    for expected, got in zip([y, after], run_functional(func, graph.inputs)):
        compare(expected, got)


@pytest.mark.parametrize("where", [((2, 3), (1, 2), 2), ((3, 3), (3, 1))], ids=["an offset from the start of the storage", "more than its storage"])
def test_a_view_that_is_not_within_its_tensor_is_refused(where):
    graph = GraphBuilder()
    y = graph.call("torch.exp", torch.exp, torch.randn(4, 3))
    y = graph.call("operator.getitem", operator.getitem, y, slice(0, 2))
    graph.call("torch.Tensor.as_strided_", torch.Tensor.as_strided_, y, *where)
    with pytest.raises(LectError, match="storage of its operand|addresses memory"):
        graph.lower([y])


def test_an_in_place_op_keeps_the_dtype_of_its_tensor():
    graph = GraphBuilder()
    y = graph.call("torch.exp", torch.exp, torch.randn(3).bfloat16())
    graph.call("torch.Tensor.add_", torch.Tensor.add_, y, torch.randn(3))
    compare(y, run_functional(graph.lower([y]), graph.inputs)[0])


@pytest.mark.parametrize("write", ["relu_", "zero_", "fill_"])
def test_writes_to_inputs_come_last(write):
    graph = GraphBuilder()
    x = graph.input(torch.randn(3, 3))
    y = graph.call(f"torch.Tensor.{write}", getattr(torch.Tensor, write), x, *([1.0] if write == "fill_" else []))
    func = graph.lower([y])
    last = func.body.last.prev
    assert (last.name, last.target, last.versions) == ("functional.write", func.body.args[0], 1)
    assert func.body.last.aliases == (("input", 0, 0),)


def test_results_say_whose_memory_they_are_in():
    graph = GraphBuilder()
    x = graph.input(torch.randn(3, 4))
    row = graph.call("operator.getitem", operator.getitem, x, 1)
    fresh = graph.call("torch.exp", torch.exp, x)
    view = graph.call("torch.Tensor.view", torch.Tensor.view, fresh, 12)
    func = graph.lower([row, fresh, view])
    assert func.body.last.aliases == (("input", 0, 4), None, ("result", 1, 0))


# ---- models ----------------------------------------------------------------------------------------------------------


class Recording(TorchFunctionMode):
    """Puts every torch function that a model calls into a graph."""

    def __init__(self, graph: GraphBuilder) -> None:
        super().__init__()
        self.graph = graph

    def __torch_function__(self, func, types, args=(), kwargs=None):
        if func.__name__ in ("__get__", "dim", "size", "is_floating_point", "stride"):
            return func(*args, **(kwargs or {}))
        return self.graph.call(resolve_name(func), func, *args, **(kwargs or {}))


def check_model(model: nn.Module, *inputs: torch.Tensor, exact: bool = True):
    """The model's calls, recorded, lowered and run."""
    model.eval()
    torch.backends.mha.set_fastpath_enabled(False)
    graph = GraphBuilder()
    try:
        with torch.no_grad(), Recording(graph):
            expected = model(*inputs)
    finally:
        torch.backends.mha.set_fastpath_enabled(True)
    func = graph.lower([expected])
    assert opaque_targets(func) == []
    compare(expected, run_functional(func, graph.inputs)[0], exact)
    check_simplified(func, graph.inputs, [expected], exact)
    return func


class Residual(nn.Module):
    """A norm, two linear layers, a softmax, a residual."""

    def __init__(self) -> None:
        super().__init__()
        self.norm, self.up, self.down = nn.LayerNorm(16), nn.Linear(16, 32), nn.Linear(32, 16)

    def forward(self, x):
        return x + torch.softmax(self.down(F.gelu(self.up(self.norm(x)))), -1)


CONV_NET = [
    nn.Conv2d(3, 8, 3, padding=1),
    nn.BatchNorm2d(8),
    nn.ReLU(inplace=True),
    nn.MaxPool2d(2),
    nn.Conv2d(8, 8, 3, groups=2),
    nn.GroupNorm(2, 8),
    nn.SiLU(),
]


def test_residual_mlp():
    for dtype in (torch.float32, torch.bfloat16):
        check_model(Residual().to(dtype), torch.randn(2, 5, 16, dtype=dtype))


@pytest.mark.parametrize("batch_first", [True, False])
@pytest.mark.parametrize("norm_first", [True, False])
@pytest.mark.parametrize("activation", ["relu", "gelu"])
def test_transformer_encoder_layer(batch_first, norm_first, activation):
    layer = nn.TransformerEncoderLayer(16, 2, 32, activation=activation, batch_first=batch_first, norm_first=norm_first)
    check_model(layer, torch.randn(3, 5, 16))


def test_transformer_decoder_layer():
    check_model(nn.TransformerDecoderLayer(16, 2, 32, batch_first=True), torch.randn(2, 5, 16), torch.randn(2, 7, 16))


def test_small_convolutional_network():
    check_model(nn.Sequential(*CONV_NET, nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(8, 4)), torch.randn(2, 3, 8, 8))
    check_model(nn.Sequential(*CONV_NET), torch.randn(2, 3, 8, 8).contiguous(memory_format=torch.channels_last))


def test_embedding_classifier():
    class Classifier(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.table, self.head = nn.Embedding(11, 8), nn.Linear(8, 3)

        def forward(self, tokens):
            mask = (tokens != 0).unsqueeze(-1)
            pooled = (self.table(tokens) * mask).sum(1) / mask.sum(1).clamp(min=1)
            return F.log_softmax(self.head(pooled), dim=-1)

    check_model(Classifier(), torch.randint(0, 11, (4, 6)))


def test_element_types_are_all_known_to_torch():
    for element, dtype in DTYPES.items():
        assert torch.empty(2, dtype=dtype).element_size() == TensorType((2,), element).element.bytes
