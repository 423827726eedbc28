"""Compiled functions and modules give eager's values, on the first call and on later ones."""

import copy
import inspect
import io

import pytest
import torch
import torch.nn.functional as F
from torch import nn

import lect
from tests.e2e import language
from tests.e2e.programs import PROGRAMS
from tests.e2e.support import fallbacks, same, versions

REFUSED_IN_PLACE = {"in_place_on_new"}


@pytest.fixture(autouse=True)
def fresh():
    lect.reset()
    yield
    lect.reset()


@pytest.mark.parametrize(("program", "args"), PROGRAMS, ids=lambda value: getattr(value, "__name__", ""))
def test_program_captured_as_a_whole(program, args):
    compiled = lect.compile(program, options={"level": "fx"})
    same(program(*args), compiled(*args), exact=True)
    again = tuple(torch.randn_like(arg) for arg in args)
    same(program(*again), compiled(*again), exact=True)
    assert fallbacks() == []
    assert versions() == 1


@pytest.mark.parametrize(("program", "args"), PROGRAMS, ids=lambda value: getattr(value, "__name__", ""))
def test_program_in_native_code(program, args):
    compiled = lect.compile(program)
    same(program(*args), compiled(*args))
    again = tuple(torch.randn_like(arg) for arg in args)
    same(program(*again), compiled(*again))
    assert set(fallbacks()) <= {"LB0024"}
    if program.__name__ not in REFUSED_IN_PLACE:
        assert versions() == 1, [str(event) for event in lect.events("fallback")]


@pytest.mark.parametrize("program", language.PROGRAMS, ids=lambda program: program.__name__)
def test_language(program):
    x = torch.randn(4, 4)
    graph, native = lect.compile(program, options={"level": "fx"}), lect.compile(program)
    same(program(x), graph(x), exact=True)
    assert fallbacks() == []
    same(program(x), native(x))
    assert set(fallbacks()) <= {"LB0024"}


class MLP(nn.Module):
    """The first of the two models that must compile."""

    def __init__(self):
        super().__init__()
        self.norm = nn.LayerNorm(16)
        self.up = nn.Linear(16, 32)
        self.down = nn.Linear(32, 16)

    def forward(self, x):
        h = self.down(F.gelu(self.up(self.norm(x)), approximate="tanh"))
        return torch.softmax(x + h, dim=-1)


def encoder_layer(**options):
    return nn.TransformerEncoderLayer(32, 4, 64, batch_first=True, **options).eval()


MODELS = {
    "mlp": (MLP, (8, 16)),
    "sequential": (lambda: nn.Sequential(nn.Linear(16, 16), nn.ReLU(), nn.LayerNorm(16)), (8, 16)),
    "encoder": (encoder_layer, (2, 5, 32)),
    "encoder norm first": (lambda: encoder_layer(norm_first=True, activation="gelu"), (2, 5, 32)),
}


@pytest.mark.parametrize("name", MODELS)
def test_module_under_no_grad(name):
    make, shape = MODELS[name]
    torch.manual_seed(0)
    module = make()
    compiled = lect.compile(module)
    with torch.no_grad():
        for _ in range(2):
            x = torch.randn(shape)
            same(module(x), compiled(x))
    assert fallbacks() == []
    assert versions() == 1


@pytest.mark.parametrize("make", [lambda x: x.transpose(0, 1), lambda x: x])
def test_encoder_layer_keeps_the_strides_of_the_fused_kernel(make):
    layer = encoder_layer()
    attention = nn.MultiheadAttention(32, 4, batch_first=True).eval()
    x = make(torch.randn(5, 2, 32))
    with torch.no_grad():
        same(layer(x), lect.compile(layer)(x))
        same(attention(x, x, x), lect.compile(attention)(x, x, x))


def test_encoder_layer_with_mask():
    layer = encoder_layer()
    mask = torch.tensor([[False] * 5, [False, False, True, True, True]])
    x = torch.randn(2, 5, 32)
    with torch.no_grad():
        same(layer(x, src_key_padding_mask=mask), lect.compile(layer)(x, src_key_padding_mask=mask))


def test_module_that_trains():
    torch.manual_seed(0)
    module = MLP()
    twin = copy.deepcopy(module)
    compiled = lect.compile(module)
    x = torch.randn(4, 16)
    compiled(x).sum().backward()
    twin(x).sum().backward()
    same([p.grad for p in twin.parameters()], [p.grad for p in module.parameters()])
    compiled(x)
    assert fallbacks() == []
    assert versions() == 1


def test_compiled_module_is_the_module_to_everybody_else():
    module = MLP()
    compiled = lect.compile(module)
    assert isinstance(compiled, MLP)
    assert list(compiled.state_dict()) == list(module.state_dict())
    assert [name for name, _ in compiled.named_modules()] == [name for name, _ in module.named_modules()]
    assert all(a is b for a, b in zip(compiled.parameters(), module.parameters()))
    compiled.eval()
    assert not module.training
    module.train()
    assert compiled.training
    compiled.note = "x"
    assert module.note == "x"
    compiled.load_state_dict(MLP().state_dict())
    x = torch.randn(2, 16)
    with torch.no_grad():
        same(module(x), compiled(x))
        same(compiled.up(x), module.up(x))


def test_copies_of_a_compiled_module_are_independent():
    compiled = lect.compile(MLP())
    x = torch.randn(2, 16)
    with torch.no_grad():
        other = copy.deepcopy(compiled)
        other.up.weight.zero_()
        same(MLP.forward(other, x), other(x))
        same(MLP.forward(compiled, x), compiled(x))
        assert not torch.equal(other(x), compiled(x))


def test_compiled_module_can_be_saved():
    compiled = lect.compile(nn.Linear(3, 3))
    buffer = io.BytesIO()
    torch.save(compiled, buffer)
    buffer.seek(0)
    loaded = torch.load(buffer, weights_only=False)
    assert type(loaded) is nn.Linear
    same(loaded.weight.data, compiled.weight.data, exact=True)


def test_compiled_method_and_callable_object():
    class Model:
        def __init__(self):
            self.scale = 2.0

        def run(self, x):
            return x * self.scale

        def __call__(self, x):
            return self.run(x) + 1

    model = Model()
    x = torch.randn(3)
    same(model.run(x), lect.compile(model.run)(x))
    same(model(x), lect.compile(model)(x))
    assert fallbacks() == []


def test_compiled_function_calls_compiled_function():
    @lect.compile
    def inner(x):
        return x * 2

    module = nn.Linear(4, 4)
    compiled = lect.compile(module)

    @lect.compile
    def outer(x):
        return inner(x) + compiled(x)

    x = torch.randn(2, 4)
    with torch.no_grad():
        same(x * 2 + module(x), outer(x))
    assert fallbacks() == []
    assert versions() == 1


def test_decorator_keeps_name_signature_and_text():
    @lect.compile(fullgraph=True)
    def documented(x, y: int = 3, *, z=1):
        """Says what it does."""
        return x + y + z

    assert documented.__name__ == "documented"
    assert documented.__doc__ == "Says what it does."
    assert list(inspect.signature(documented).parameters) == ["x", "y", "z"]
    same(torch.ones(2) + 4, documented(torch.ones(2)))


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64, torch.bfloat16, torch.float16, torch.int64, torch.bool])
@pytest.mark.parametrize("shape", [(), (0,), (1,), (7, 3), (2, 0, 3), (33, 65)])
def test_dtypes_and_shapes(dtype, shape):
    def f(x, y):
        return (x + y) * y, x == y

    numbers = torch.randn(shape) * 4
    x, y = numbers.to(dtype), numbers.flip(0).to(dtype) if shape else numbers.to(dtype)
    same(f(x, y), lect.compile(f)(x, y))


def test_special_values():
    def f(x):
        return x.exp(), x * 0, torch.maximum(x, torch.zeros(())), x.sum(), -x

    x = torch.tensor([float("nan"), float("inf"), float("-inf"), -0.0, 0.0, 1e-45, 3e38])
    compiled = lect.compile(f)
    want, got = f(x), compiled(x)
    same(want, got)
    assert torch.equal(torch.signbit(want[4]), torch.signbit(got[4]))


@pytest.mark.parametrize("make", [lambda x: x.t(), lambda x: x[::2, 1:], lambda x: x.expand(3, *x.shape)[1], lambda x: x[:, :1].expand(-1, 5)])
def test_strided_inputs(make):
    def f(x):
        return (x * 2).sum(-1), x + 1, x.softmax(-1)

    x = make(torch.randn(6, 8))
    same(f(x), lect.compile(f)(x))
    assert fallbacks() == []


def test_outputs_alias_inputs_as_in_eager():
    def f(x):
        h = x + 1
        return x.t(), x.detach(), x, x.view(-1), h, h.view(-1)

    x = torch.arange(6.0).reshape(2, 3)
    got = lect.compile(f)(x)
    assert got[2] is x
    assert len({id(tensor) for tensor in got}) == 6
    x.mul_(10)
    same(f(x)[:4], got[:4], exact=True)
    got[4].zero_()
    assert got[5].sum() == 0


CLAMPS = {
    "clamp to 0 and 6": lambda x: x.clamp(0, 6),
    "clamp to -0.0 and 1": lambda x: x.clamp(-0.0, 1),
    "clamp to at least 0": lambda x: x.clamp(min=0.0),
    "clamp to at most 0": lambda x: x.clamp(max=0.0),
    "clamp to at most -0.0": lambda x: x.clamp(max=-0.0),
    "bounds that cross": lambda x: x.clamp(0.0, -0.0),
    "hardtanh": lambda x: F.hardtanh(x, 0.0, 1.0),
    "relu6": F.relu6,
    "relu": F.relu,
    "threshold": lambda x: F.threshold(x, 0.0, -0.0),
}


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64, torch.bfloat16, torch.float16], ids=str)
@pytest.mark.parametrize("name", CLAMPS)
def test_zeros_at_a_bound_keep_the_sign_that_eager_gives_them(name, dtype):
    x = torch.tensor([0.0, -0.0, 1.0, -1.0, float("nan"), float("inf"), float("-inf")], dtype=dtype).repeat(9)
    got, want = lect.compile(CLAMPS[name])(x), CLAMPS[name](x)
    same(want, got, exact=True)
    zeros = want == 0
    assert torch.equal(torch.signbit(want[zeros]), torch.signbit(got[zeros]))
    assert fallbacks() == []


def test_the_bound_method_of_a_compiled_method_is_compiled_as_that():
    class Scaled:
        def __init__(self, factor):
            self.factor = factor

        @lect.compile
        def call(self, x):
            return x * self.factor

    x = torch.randn(3)
    one, other = Scaled(2.0), Scaled(3.0)
    compiled = lect.compile(one.call)
    assert torch.equal(compiled(x), x * 2.0) and torch.equal(other.call(x), x * 3.0) and torch.equal(one.call(x), x * 2.0)


def test_graphs_of_many_tensors_are_called_often():
    """Python 3.11 makes a call quicker after some calls, and must not do so with more arguments than its own compiler writes."""

    def total(tensors):
        return torch.cat(tensors).sum()

    tensors = [torch.full((2,), float(number)) for number in range(300)]
    run = lect.compile(total, fullgraph=True)
    assert {run(tensors).item() for _ in range(40)} == {total(tensors).item()}
