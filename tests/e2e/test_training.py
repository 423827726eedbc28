"""Frames that autograd records, run by each of the two who can: torch, call by call, and a compiled forward with a compiled backward.

Gradients, buffers and random numbers are eager's: bit by bit where torch runs the calls, up to rounding where they are compiled.
"""

import copy
import gc
import weakref

import pytest
import torch
import torch.nn.functional as F
from torch import nn

import lect
from tests.e2e.support import fallbacks, same

MODE = []


@pytest.fixture(autouse=True, params=["torch", "compiled"])
def fresh(request):
    MODE[:] = [request.param]
    lect.reset()
    yield
    lect.reset()


def compiled_by_mode(fn, **kwargs):
    """`lect.compile` with the option `autograd` of this test."""
    return lect.compile(fn, options={"autograd": MODE[0], "rng": "eager"}, **kwargs)


def exact():
    """True when torch runs the calls."""
    return MODE == ["torch"]


def expected(refused=""):
    """The numbers of the reasons for which graphs ran through torch: none when they are compiled, unless that was refused."""
    return ["LB0021"] if exact() else [refused] if refused else []


def notes() -> list[str]:
    """Numbers of the reasons for which graphs ran through torch since the last reset."""
    return [event.number for event in lect.events("note")]


def floats(value):
    """The tensors of a result that may have gradients."""
    if isinstance(value, torch.Tensor):
        return [value] if value.requires_grad else []
    values = value.values() if isinstance(value, dict) else value if isinstance(value, list | tuple) else []
    return [tensor for item in values for tensor in floats(item)]


def backward(value):
    """Gradients of the sum of all outputs, weighted so that no two elements count the same."""
    torch.manual_seed(7)
    total = sum((tensor * torch.randn(tensor.shape)).sum() for tensor in floats(value))
    total.backward()


def trains(program, *make, refused=""):
    """Twice, and as one graph: outputs, gradients and what was written to the arguments are eager's; `make` gives fresh arguments for a seed."""
    compiled = compiled_by_mode(program)
    for seed in (1, 2):
        results = []
        for run in (program, compiled):
            torch.manual_seed(seed)
            args = [each() for each in make]
            torch.manual_seed(seed + 10)
            returned = run(*args)
            state = torch.get_rng_state()
            if floats(returned):
                backward(returned)
            results.append((returned, args, [arg.grad for arg in args if arg.is_leaf], [arg._version for arg in args], state))
        same(results[0], results[1], exact=exact())
    assert fallbacks() == []
    assert notes() == expected(refused), [str(event) for event in lect.events()]
    assert len(lect.events("compile")) == 1, [str(event) for event in lect.events("guard miss")]


def leaf(*shape):
    return lambda: torch.randn(*shape, requires_grad=True)


def plain(*shape):
    return lambda: torch.randn(*shape)


def recorded(*shape):
    return lambda: torch.randn(*shape, requires_grad=True) * 1


# ---- gradients of functions ------------------------------------------------------------------------------------------


def test_operators_slices_and_structures():
    def program(x, w):
        h = x[0, ..., 1:, None] * 2**w - (-3)
        u, v = torch.split(h, 2, dim=0)
        return -u, {"v": v.mT, "m": torch.max(v, 0).values}, [x[:, ::2].sum(-1)]

    trains(program, leaf(2, 4, 5), leaf(()))


def test_no_grad_block_in_the_middle():
    def program(x, w):
        h = torch.tanh(x @ w)
        with torch.no_grad():
            scale = h.abs().mean() + x.sum()
        with torch.no_grad(), torch.enable_grad():
            k = h * w.sum()
        return h * scale + k, scale

    trains(program, leaf(3, 4), leaf(4, 4))


def test_gradients_are_as_before_when_a_call_raises_inside_of_no_grad():
    def program(x, index):
        with torch.no_grad():
            picked = x[index]
        return x * picked.sum()

    compiled = compiled_by_mode(program)
    x = torch.randn(4, requires_grad=True)
    same(program(x, torch.tensor([1])), compiled(x, torch.tensor([1])))
    with pytest.raises(IndexError):
        compiled(x, torch.tensor([9]))
    assert torch.is_grad_enabled()


def test_decorated_with_no_grad_inside():
    @torch.no_grad()
    def mask(x):
        return (x > 0).float()

    trains(lambda x: x * mask(x) + x.detach(), leaf(3, 4))


def test_random_numbers():
    def program(x):
        h = F.dropout(x, 0.4)
        h = h + torch.randn_like(h) + torch.rand(3, 1)
        return F.dropout1d(h.unsqueeze(0), 0.5) * torch.bernoulli(torch.full((4,), 0.5))

    trains(program, leaf(3, 4))


def test_in_place_on_values_of_the_graph():
    def program(x):
        h = x * 2
        h.add_(1).mul_(x)
        h[0] = 0
        h[:, 1].zero_()
        k = torch.zeros(3, 4)
        k[1:] = x[1:]
        k += x
        return h, F.relu(k.clone(), inplace=True)

    trains(program, leaf(3, 4))


def test_write_to_a_plain_input():
    def program(x, state):
        state.mul_(0.9).add_(x.detach() * 0.1)
        state[0] = 3
        return x * state.clone()

    trains(program, leaf(3, 4), plain(3, 4))


def test_write_that_makes_an_input_require_gradients():
    def program(x, memory):
        memory[1] = x.sum()
        return memory.requires_grad, x

    trains(program, leaf(3), plain(4), refused="LB0021")


def test_write_of_gradients_without_an_output():
    def program(x, memory):
        memory.copy_(x * 2)

    compiled = compiled_by_mode(program)
    x, memory = torch.randn(3, requires_grad=True), torch.zeros(3)
    compiled(x, memory)
    memory.sum().backward()
    same(torch.full((3,), 2.0), x.grad)
    assert notes() == expected("LB0021")


def test_write_to_a_recorded_input():
    def program(x, y):
        x.add_(1)
        y[0].mul_(2)
        return x, y.sum()

    trains(program, recorded(3, 4), recorded(3, 4), refused="LB0021")


def test_write_to_a_leaf_raises_as_in_eager():
    compiled = compiled_by_mode(lambda x: x.add_(1) * 2)
    x = torch.randn(3, requires_grad=True)
    for _ in range(2):
        with pytest.raises(RuntimeError, match="a leaf Variable that requires grad is being used in an in-place operation"):
            compiled(x)
    (gradient,) = torch.autograd.grad(compiled(x * 1).sum(), x)
    same(torch.full((3,), 2.0), gradient)


def test_write_spoils_what_autograd_saved():
    compiled = compiled_by_mode(lambda x, y: (torch.exp(y), x.add_(1))[0])
    x, y = torch.randn(3), torch.randn(3, requires_grad=True)
    used = x * y  # saves x
    compiled(x, y)
    with pytest.raises(RuntimeError, match="modified by an inplace operation"):
        used.sum().backward()


def test_outputs_that_are_inputs_or_views_of_them():
    def program(x, y):
        return x, x.view(-1), y.mul_(2), y[0], x.detach()

    x, y = torch.randn(3, 4, requires_grad=True), torch.randn(3, 4)
    out = compiled_by_mode(program)(x, y)
    assert out[0] is x
    assert out[1]._base is x
    assert out[2] is y
    assert out[3]._base is y
    assert out[4].data_ptr() == x.data_ptr()
    assert not out[4].requires_grad


def test_higher_derivatives_and_kept_graphs():
    compiled = compiled_by_mode(lambda x: (x**3).sum())
    x = torch.randn(4, requires_grad=True)
    total = compiled(x)
    (first,) = torch.autograd.grad(total, x, create_graph=True)
    (second,) = torch.autograd.grad(first.sum(), x, retain_graph=True)
    same(6 * x.detach(), second)
    total.backward()
    same(3 * x.detach() ** 2, x.grad)


def test_hooks_of_tensors_run():
    seen = []
    x = torch.randn(4, requires_grad=True)
    x.register_hook(lambda grad: seen.append(grad.clone()))
    out = compiled_by_mode(lambda x: x * 2)(x)
    out.register_hook(lambda grad: seen.append(grad * 3))
    out.sum().backward()
    same([torch.full((4,), 3.0), torch.full((4,), 2.0)], [seen[0], seen[1]])


def test_inputs_that_share_memory_are_written_call_by_call():
    def program(x, y):
        x.add_(1)
        return y * 2

    base = torch.randn(6)
    twin = base.clone()
    compiled = compiled_by_mode(program)
    same(program(twin[:4], twin[2:]), compiled(base[:4], base[2:]))
    same(twin, base)
    assert notes() == ["LB0023"]
    assert fallbacks() == []


def test_memory_is_not_kept():
    compiled = compiled_by_mode(lambda x: torch.exp(x * 2).sum() + 1)
    x = torch.randn(4, requires_grad=True)
    total = compiled(x)
    total.backward()
    out, arg = weakref.ref(total), weakref.ref(x)
    del total, x
    gc.collect()
    assert out() is None
    assert arg() is None


def test_tensors_that_begin_to_require_gradients():
    def program(x, y):
        h = x.detach() * 2
        h.requires_grad_()
        k = x * 3
        k.requires_grad = True
        y.requires_grad_()
        return h * h, k.sum() * 2, y * 2, h, k

    results = []
    compiled = compiled_by_mode(program)
    for run in (program, compiled):
        torch.manual_seed(0)
        x, y = torch.randn(3), torch.randn(3)
        out = run(x, y)
        backward(out[:3])
        results.append((out, out[3].grad, out[4].grad, y.grad, y.requires_grad, x.requires_grad))
    same(*results)
    assert (fallbacks(), notes()) == ([], expected("LB0021"))


def test_kept_and_detached_gradients():
    def program(x):
        h = x * 2
        h.retain_grad()
        k = x * 3
        k.detach_()
        return (h * k).sum(), h, k

    results = []
    for run in (program, compiled_by_mode(program)):
        torch.manual_seed(0)
        x = torch.randn(3, requires_grad=True)
        total, h, k = run(x)
        total.backward()
        results.append((total, h.grad, k.requires_grad, k.is_leaf, x.grad))
    same(*results)
    assert (fallbacks(), notes()) == ([], expected("LB0021"))


# ---- functions with a backward of their own ----------------------------------------------------------------------------


class Cube(torch.autograd.Function):
    """n * x ** 3 with a gradient that no formula of torch would give, and results of all kinds."""

    @staticmethod
    def forward(ctx, x, n, y):
        h = x * x
        ctx.save_for_backward(x, h)
        ctx.n = n
        signs = (x > 0).long()
        ctx.mark_non_differentiable(signs)
        return h * x * n, signs, None, y.view(-1) * 1

    @staticmethod
    def backward(ctx, slope, _signs, _none, of_y):
        x, h = ctx.saved_tensors
        return 3 * h * slope * ctx.n * 7 + x, None, of_y.view(2, 3)


class Split(torch.autograd.Function):
    """forward and context apart."""

    @staticmethod
    def forward(x, factor):
        return x * factor

    @staticmethod
    def setup_context(ctx, inputs, output):
        ctx.factor = inputs[1]
        ctx.save_for_backward(output)

    @staticmethod
    def backward(ctx, slope):
        (output,) = ctx.saved_tensors
        return slope * ctx.factor + output, None


class Noisy(torch.autograd.Function):
    """Draws in forward."""

    @staticmethod
    def forward(ctx, x):
        mask = torch.rand_like(x) > 0.5
        ctx.save_for_backward(mask)
        return x * mask

    @staticmethod
    def backward(ctx, slope):
        return slope * ctx.saved_tensors[0] * 2


def test_function_with_several_results():
    def program(x, y):
        cubes, signs, nothing, flat = Cube.apply(torch.sin(x), 3, y)
        return cubes * 2 + signs, nothing, flat.sum(), cubes.add_(1)

    trains(program, leaf(4), leaf(2, 3))


def test_function_with_a_context_apart():
    trains(lambda x: Split.apply(x * 2, 0.5) + Split.apply(x, 3), leaf(3, 4))


def test_function_that_draws():
    trains(lambda x: Noisy.apply(F.dropout(x, 0.2)) + torch.rand(4), leaf(3, 4))


def test_function_without_inputs_that_need_gradients():
    trains(lambda x, y: x * Split.apply(y, 2.0), leaf(3, 4), plain(3, 4))


def test_function_where_nothing_needs_gradients_is_compiled():
    def program(x):
        return Split.apply(x, 2.0) + 1

    compiled = compiled_by_mode(program)
    x = torch.randn(3, 4)
    same(program(x), compiled(x))
    assert (fallbacks(), notes()) == ([], [])


class Counting(torch.autograd.Function):
    """forward has an effect, which must happen once."""

    calls: list[int] = []

    @staticmethod
    def forward(ctx, x):
        Counting.calls.append(1)
        return x * 2

    @staticmethod
    def backward(ctx, slope):
        return slope * 2


def test_function_whose_forward_has_an_effect():
    compiled = compiled_by_mode(lambda x: Counting.apply(x) + 1)
    x = torch.randn(3, requires_grad=True)
    Counting.calls.clear()
    compiled(x).sum().backward()
    same(torch.full((3,), 2.0), x.grad)
    assert Counting.calls == [1]


class Same(torch.autograd.Function):
    """Gives its argument, of which torch makes a view."""

    @staticmethod
    def forward(ctx, x):
        return x

    @staticmethod
    def backward(ctx, slope):
        return slope * 5


def test_function_that_returns_its_argument():
    program = lambda x: (Same.apply(x), Same.apply(x * 1) + 1)  # noqa: E731
    x, twin = torch.ones(3, requires_grad=True), torch.ones(3, requires_grad=True)
    got, want = compiled_by_mode(program)(x), program(twin)
    backward(got)
    backward(want)
    same(want, got)
    same(twin.grad, x.grad)


# ---- modules ---------------------------------------------------------------------------------------------------------


def module_trains(module, *inputs, refused=""):
    """Two steps of training: outputs, gradients and buffers are eager's, and the buffers are the same objects as before."""
    twin = copy.deepcopy(module)
    compiled = compiled_by_mode(module)
    buffers = dict(module.named_buffers())
    for seed in (1, 2):
        for run in (twin, compiled):
            torch.manual_seed(seed)
            args = [torch.randn(*shape, requires_grad=True) for shape in inputs]
            out = run(*args)
            backward(out)
            if run is twin:
                want = out, [arg.grad for arg in args]
        same(want, (out, [arg.grad for arg in args]), exact(), scaled=True)
        same([p.grad for p in twin.parameters()], [p.grad for p in module.parameters()], exact(), scaled=True)
        same(dict(twin.named_buffers()), dict(module.named_buffers()), exact())
    assert all(tensor is buffers[name] for name, tensor in module.named_buffers())
    assert fallbacks() == []
    assert notes() == expected(refused)


MODULES = {
    "batch norm": (lambda: nn.Sequential(nn.Conv2d(3, 4, 3), nn.BatchNorm2d(4), nn.ReLU(inplace=True), nn.Dropout2d(0.3)), (2, 3, 8, 8)),
    "encoder": (lambda: nn.TransformerEncoderLayer(16, 2, 32, dropout=0.2, batch_first=True), (2, 5, 16)),
    "lstm": (lambda: nn.LSTM(4, 6, num_layers=2, dropout=0.3, bidirectional=True), (5, 2, 4)),
    "gru": (lambda: nn.GRU(4, 6), (5, 2, 4)),
    "embedding": (lambda: nn.Sequential(nn.Linear(4, 4), nn.GroupNorm(1, 4), nn.Softmax(-1), nn.AlphaDropout(0.2)), (3, 4)),
}


@pytest.mark.parametrize("name", MODULES)
def test_module(name):
    make, *inputs = MODULES[name]
    torch.manual_seed(0)
    module_trains(make(), *inputs, refused="LB0024" if name == "lstm" else "")


def test_train_and_eval_are_two_versions():
    module = nn.Sequential(nn.Linear(4, 4), nn.BatchNorm1d(4), nn.Dropout(0.5))
    compiled = compiled_by_mode(module)
    x = torch.randn(6, 4)
    compiled(x).sum().backward()
    module.eval()
    with torch.no_grad():
        same(module(x), compiled(x))
    assert notes() == expected()
    assert [event.through_torch for event in lect.events("compile")] == [*(expected() or [""]), ""]


# ---- what is said of it ----------------------------------------------------------------------------------------------


def test_events_and_explanation_name_the_reason():
    module = nn.LSTM(4, 4)
    x = torch.randn(2, 3, 4)
    number, text = ("LB0021", "training: an output requires gradients") if exact() else ("LB0024", "refused by a later stage: aten.mkldnn_rnn_layer.default")
    compiled_by_mode(module)(x)
    (note,) = lect.events("note")
    assert f"{number} {text}" in str(note)
    assert "the graph runs through torch" in str(note)
    (event,) = lect.events("compile")
    assert str(event).endswith(f"graph through torch: {number}")
    explanation = lect.explain(module)(x)
    assert explanation.compiled
    assert explanation.break_reason is None
    assert explanation.note.number == "LB0024"
    assert "the graph runs through torch" in str(explanation)


def test_compiled_backward_is_an_event():
    module = nn.Linear(4, 4)
    compiled_by_mode(module)(torch.randn(2, 4)).sum().backward()
    assert lect.events("backward fallback") == []
    backward = [event.results for event in lect.events("backward")]
    assert backward == ([] if exact() else [(0,)])


def test_fullgraph_does_not_raise_for_training():
    module = nn.Linear(4, 4)
    x = torch.randn(2, 4)
    same(module(x), compiled_by_mode(module, fullgraph=True)(x))
    assert notes() == expected()


def test_what_a_later_stage_refuses_runs_through_torch():
    def program(x, seen):
        seen.append(x.shape[0])
        h = x * 2
        return h[4:].as_strided((2,), (1,), 0)  # in front of the tensor that it is a view of

    compiled = compiled_by_mode(program, fullgraph=True)
    seen = []
    x = torch.randn(8)
    same(program(x, []), compiled(x, seen))
    assert seen == [8]
    (note,) = lect.events("note")
    assert (note.number, note.stage) == ("LB0024", "aot")
    assert "the graph runs through torch" in str(note)
