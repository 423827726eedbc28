"""A compiled forward and its compiled backward behind autograd: what a program can tell of it is what eager lets it tell."""

import copy
import gc
import weakref

import pytest
import torch
import torch.nn.functional as F
from torch import nn

import lect
from tests.e2e.support import fallbacks, same


@pytest.fixture(autouse=True)
def fresh():
    lect.reset()
    yield
    lect.reset()


def in_native_code():
    """No graph went through torch, and no backward."""
    assert (fallbacks(), lect.events("note"), lect.events("backward fallback")) == ([], [], []), [str(event) for event in lect.events()]


def leaf(*shape, seed=0):
    return torch.randn(shape, generator=torch.Generator().manual_seed(seed)).requires_grad_()


def both(program, use, *make):
    """What `use(run, *arguments)` gives for the program and for the compiled one, each with arguments of its own."""
    compiled = lect.compile(program)
    want = use(program, *[each() for each in make])
    for _ in range(2):
        same(want, use(compiled, *[each() for each in make]), scaled=True)


def twice(x, w):
    return torch.tanh(x @ w), (x * 2).sum(-1), x.detach() * 3


# ---- which gradients there are ------------------------------------------------------------------------------------------


@pytest.mark.parametrize("chosen", [(0,), (1,), (0, 1)])
def test_only_some_results_have_gradients(chosen):
    def use(run, x, w):
        out = run(x, w)
        sum(out[number].square().sum() for number in chosen).backward()
        return x.grad, w.grad

    both(twice, use, lambda: leaf(3, 4), lambda: leaf(4, 5, seed=1))
    in_native_code()


def test_nothing_flows_through_a_result_without_gradient():
    def program(x):
        return torch.sqrt(x), x * 2  # the slope of the root is infinite at 0, and 0 times that is NaN

    def use(run, x):
        run(x)[1].sum().backward()
        return x.grad

    both(program, use, lambda: torch.zeros(3).requires_grad_())
    in_native_code()


def test_input_that_is_not_used_has_no_gradient():
    def use(run, x, w):
        run(x, w).sum().backward()
        return x.grad, w.grad

    both(lambda x, w: x.exp(), use, lambda: leaf(3), lambda: leaf(3, seed=1))
    in_native_code()


def test_norm_behind_a_graph_that_has_no_derivative():
    def use(run, x):
        norm = torch.linalg.vector_norm(run(x), 0)
        return torch.autograd.grad(norm, x, allow_unused=True)

    both(lambda x: x * 2, use, lambda: leaf(3))
    in_native_code()


@pytest.mark.parametrize("name", ["silu", "mish"])
def test_halves_are_rounded_once_in_the_backward(name):
    def use(run, x):
        run(x).backward(torch.linspace(-2, 2, x.numel()).bfloat16().reshape(x.shape))
        return x.grad

    function = getattr(F, name)
    want = use(function, leaf(64, 64).detach().bfloat16().requires_grad_())
    assert torch.equal(want, use(lect.compile(lambda x: function(x)), leaf(64, 64).detach().bfloat16().requires_grad_()))
    in_native_code()


def test_batch_norm_all_of_whose_parameters_are_halves():
    torch.manual_seed(0)
    net = nn.Sequential(nn.Conv2d(3, 8, 3), nn.BatchNorm2d(8), nn.ReLU()).bfloat16()

    def use(run, x):
        each = copy.deepcopy(net)
        out = (each if run is None else lect.compile(each))(x)
        out.float().square().mean().backward()
        return out.detach(), each[1].running_mean, each[1].running_var, [p.grad for p in each.parameters()]

    x = torch.randn(4, 3, 8, 8).bfloat16()
    same(use(None, x), use(lect.compile, x), scaled=True)
    in_native_code()


def test_gradients_of_some_inputs():
    def use(run, x, w):
        out = run(x, w)[0]
        return torch.autograd.grad(out, [w], torch.ones_like(out), retain_graph=True), torch.autograd.grad(out.sum(), x)

    both(twice, use, lambda: leaf(3, 4), lambda: leaf(4, 5, seed=1))
    in_native_code()


def test_gradients_accumulate():
    def use(run, x, w):
        for _ in range(3):
            run(x, w)[0].sum().backward()
        return x.grad, w.grad

    both(twice, use, lambda: leaf(3, 4), lambda: leaf(4, 5, seed=1))


@pytest.mark.parametrize("slope", [lambda: torch.ones(()).expand(3, 5), lambda: torch.randn(5, 3, generator=torch.Generator().manual_seed(3)).t()])
def test_slopes_of_other_layouts(slope):
    def use(run, x, w):
        run(x, w)[0].backward(slope())
        return x.grad, w.grad

    both(twice, use, lambda: leaf(3, 4), lambda: leaf(4, 5, seed=1))
    in_native_code()


def test_special_numbers():
    special = torch.tensor([float("nan"), float("inf"), -float("inf"), -0.0, 0.0, 1e-45, -1.0, 3.0])

    def program(x):
        return F.relu(x), F.gelu(x), torch.sigmoid(x) * x, x.abs() ** 0.5, F.softplus(x), torch.where(x > 0, x, -x), F.logsigmoid(x)

    def use(run, x):
        sum(out.sum() for out in run(x)).backward()
        return x.grad

    both(program, use, lambda: special.clone().requires_grad_())
    in_native_code()


@pytest.mark.parametrize("shape", [(), (0,), (0, 3), (1, 1)], ids=str)
def test_shapes_at_the_edge(shape):
    def program(x):
        return (x * 2).sum() + x.exp().mean(), x.cos()

    def use(run, x):
        out = run(x)
        (out[0] + out[1].sum()).backward()
        return out, x.grad

    both(program, use, lambda: leaf(*shape))


# ---- the graph of autograd ----------------------------------------------------------------------------------------------


def test_graph_that_is_kept_and_one_that_is_freed():
    compiled = lect.compile(twice)
    x, w = leaf(3, 4), leaf(4, 5)
    total = compiled(x, w)[0].sum()
    total.backward(retain_graph=True)
    total.backward()
    with pytest.raises(RuntimeError, match="backward through the graph a second time"):
        total.backward()
    y, v = leaf(3, 4), leaf(4, 5)
    (2 * twice(y, v)[0].sum()).backward()
    same(y.grad, x.grad)


# ---- writes between forward and backward -----------------------------------------------------------------------------


def test_write_to_what_the_backward_needs_is_an_error():
    compiled = lect.compile(twice)
    x, w = leaf(3, 4), leaf(4, 5)
    out = compiled(x, w)[0]
    with torch.no_grad():
        w.add_(1)
    with pytest.raises(RuntimeError, match="modified by an inplace operation"):
        out.sum().backward()


def test_write_to_a_result_that_the_backward_needs_is_an_error():
    out = lect.compile(lambda x: torch.exp(x))(leaf(3))
    out.detach().add_(1)
    with pytest.raises(RuntimeError, match="modified by an inplace operation"):
        out.sum().backward()


def test_write_to_what_the_backward_does_not_need_is_none():
    def program(x, shift):
        h = x + shift
        return torch.sin(h), h

    def use(run, x, shift):
        out, h = run(x, shift)
        shift.add_(100)
        h.detach().mul_(0)
        try:
            out.sum().backward()
        except RuntimeError as error:
            return "inplace" in str(error)
        return x.grad

    both(program, use, lambda: leaf(4), lambda: torch.ones(4))


def test_results_may_be_written_to():
    def use(run, x, w):
        a, b, _ = run(x, w)
        b.mul_(3)
        a = a * 1
        a[0] = 0
        (a.sum() + b.sum()).backward()
        return x.grad, w.grad, b

    both(twice, use, lambda: leaf(3, 4), lambda: leaf(4, 5, seed=1))


def test_results_that_share_memory():
    def program(x):
        h = torch.exp(x)
        return h, h[0], h.t(), x.view(-1), x.detach()

    def use(run, x):
        h, row, turned, flat, plain = run(x)
        h.mul_(2)
        (row.sum() + (turned * torch.arange(3.0)[:, None]).sum() + flat.square().sum()).backward()
        return h, row, turned, x.grad, plain.requires_grad, row._base is h, flat._base is x, plain.data_ptr() == x.data_ptr()

    def without_writes(run, x):
        h, row, turned, flat, _ = run(x)
        (h.sum() + row.sum() + (turned * torch.arange(3.0)[:, None]).sum() + flat.square().sum()).backward()
        return x.grad

    both(program, without_writes, lambda: leaf(2, 3))
    compiled = lect.compile(program)
    with pytest.raises(RuntimeError):  # the exponential is needed for its own slope
        use(program, leaf(2, 3))
    with pytest.raises(RuntimeError):
        use(compiled, leaf(2, 3))
    in_native_code()


# ---- what is kept ---------------------------------------------------------------------------------------------------------


def test_hooks_on_saved_tensors_see_what_is_kept():
    seen = []

    def pack(tensor):
        seen.append(tuple(tensor.shape))
        return tensor.clone()

    compiled = lect.compile(twice)
    x, w, y, v = leaf(3, 4), leaf(4, 5, seed=1), leaf(3, 4), leaf(4, 5, seed=1)
    with torch.autograd.graph.saved_tensors_hooks(pack, lambda tensor: tensor):
        out = compiled(x, w)[0]
    assert sorted(seen) == [(3, 4), (3, 5), (4, 5)]
    out.sum().backward()
    twice(y, v)[0].sum().backward()
    same(y.grad, x.grad)


def test_nothing_is_kept_behind_the_backward():
    compiled = lect.compile(lambda h, w: torch.tanh(torch.exp(h) @ w))
    x, w = leaf(3, 4), leaf(4, 5)
    h = x * 1
    out = compiled(h, w)
    kept = weakref.ref(h)
    del h
    out.sum().backward()
    gc.collect()
    assert kept() is None


def test_checkpoint_with_dropout_draws_one_mask():
    def body(x, w):
        return F.dropout(torch.relu(x @ w), 0.5)

    def program(x, w):
        return torch.utils.checkpoint.checkpoint(body, x, w, use_reentrant=False)

    compiled = lect.compile(program)
    x, w = torch.rand(16, 8).requires_grad_(), torch.rand(8, 8).requires_grad_()
    out = compiled(x, w)
    out.sum().backward()
    mask = (out != 0).float() * 2
    same((mask @ w.detach().t()), x.grad, scaled=True)
    in_native_code()


# ---- training ----------------------------------------------------------------------------------------------------------------


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv = nn.Conv2d(1, 4, 3, bias=False)  # a bias in front of a normalisation has no slope but rounding
        self.norm = nn.BatchNorm2d(4)
        self.first = nn.Linear(4 * 9, 16)
        self.last = nn.Linear(16, 3)

    def forward(self, x):
        h = F.max_pool2d(F.relu(self.norm(self.conv(x))), 2)
        return self.last(F.gelu(self.first(h.flatten(1))))


@pytest.mark.parametrize("level", ["native", "loop", "functional"])
def test_steps_of_an_optimizer(level):
    torch.manual_seed(0)
    net = Net()
    twin = copy.deepcopy(net)
    steps = []
    for run, module in ((twin, twin), (lect.compile(net, options={"level": level}), net)):
        optimizer = torch.optim.AdamW(module.parameters(), lr=1e-2)
        generator = torch.Generator().manual_seed(1)
        losses = []
        for _ in range(2 if level != "native" else 6):
            x, target = torch.randn(8, 1, 8, 8, generator=generator), torch.randint(3, (8,), generator=generator)
            optimizer.zero_grad()
            loss = F.cross_entropy(run(x), target)
            loss.backward()
            nn.utils.clip_grad_norm_(module.parameters(), 1.0)
            optimizer.step()
            losses.append(loss.item())
        steps.append((torch.tensor(losses), dict(module.named_buffers())))
    torch.testing.assert_close(steps[0], steps[1], rtol=1e-3, atol=1e-4)
    in_native_code()


def test_loss_of_a_module_with_other_results():
    class Model(nn.Module):
        def __init__(self):
            super().__init__()
            self.body, self.head = nn.Linear(4, 8), nn.Linear(8, 3)

        def forward(self, x, target):
            hidden = torch.relu(self.body(x))
            logits = self.head(hidden)
            return {"loss": F.cross_entropy(logits, target), "logits": logits, "hidden": (hidden,)}

    torch.manual_seed(0)
    model = Model()
    twin = copy.deepcopy(model)
    compiled = lect.compile(model)
    x, target = torch.randn(5, 4), torch.tensor([0, 1, 2, 0, 1])
    for run in (twin, compiled):
        run(x, target)["loss"].backward()
    same([p.grad for p in twin.parameters()], [p.grad for p in model.parameters()])
    assert [event.results for event in lect.events("backward")] == [(0,)]
    in_native_code()


@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float16], ids=str)
def test_autocast_and_scaler(dtype):
    net = nn.Sequential(nn.Linear(8, 16), nn.GELU(), nn.Linear(16, 4))
    twin = copy.deepcopy(net)
    x = torch.randn(4, 8)
    for run in (twin, lect.compile(net)):
        with torch.autocast("cpu", dtype=dtype):
            out = run(x)
        torch.amp.GradScaler("cpu", init_scale=8.0).scale(out.float().square().mean()).backward()
    for want, got in zip(twin.parameters(), net.parameters()):
        torch.testing.assert_close(got.grad, want.grad, rtol=2e-2, atol=2e-2)
    in_native_code()


def test_numbers_of_run_time():
    compiled = lect.compile(lambda x, rate: (x * rate).sin())
    for rate in (0.5, 1.5, 2.5, 3.5):
        x, y = leaf(4), leaf(4)
        compiled(x, rate).sum().backward()
        (y * rate).sin().sum().backward()
        same(y.grad, x.grad)
    assert len(lect.events("compile")) <= 2
    in_native_code()


def test_two_graphs_around_a_break():
    def program(x, w):
        h = torch.tanh(x @ w)
        if h.sum().item() > 1e9:
            return h
        return (h * x.sum()).exp()

    def use(run, x, w):
        run(x, w).sum().backward()
        return x.grad, w.grad

    both(program, use, lambda: leaf(3, 4), lambda: leaf(4, 5, seed=1))


def test_hooks_on_parameters_and_results():
    def use(run, x, w):
        seen = []
        w.register_hook(lambda slope: slope * 2)
        w.register_post_accumulate_grad_hook(lambda tensor: seen.append(tensor.grad.clone()))
        out = run(x, w)[0]
        out.register_hook(lambda slope: slope + 1)
        out.retain_grad()
        out.sum().backward()
        return seen, x.grad, out.grad

    both(twice, use, lambda: leaf(3, 4), lambda: leaf(4, 5, seed=1))


def test_autograd_that_the_program_switches_on_by_itself():
    def program(x, w):
        before = w * 2
        with torch.enable_grad():
            inside = torch.sin(w * x) + before
        return before, inside, w * 3

    def use(run, x, w):
        with torch.no_grad():
            out = run(x, w)
        out[1].sum().backward()
        return out, w.grad

    both(program, use, lambda: torch.ones(3), lambda: leaf(3))
    in_native_code()


def test_tensor_that_the_graph_makes_and_that_gathers_gradients():
    def program(x):
        weight = torch.full((3,), 2.0, requires_grad=True)
        return (x * weight).sum(), weight

    def use(run, x):
        total, weight = run(x)
        total.backward()
        return x.grad, weight.grad, weight.is_leaf

    both(program, use, lambda: leaf(3))
    both(program, use, lambda: torch.ones(3))
    assert [event.number for event in lect.events("note")] == ["LB0024", "LB0021"]


def test_results_that_are_views_of_hidden_memory_may_be_written_to():
    def program(x):
        h = torch.exp(x)
        return h[:, :2], torch.cat([h, h])[:, 1:].t(), h.sum()

    def program_of_copies(x):
        h = torch.sin(x) * 2
        return torch.cat([h, h])[:, 1:].t(), h.sum()

    def use_copies(run, x):
        b, c = run(x)
        b.add_(2)
        (b.square().sum() + c).backward()
        return b, x.grad

    both(program_of_copies, use_copies, lambda: leaf(3, 4))
    want, got = leaf(3, 4), leaf(3, 4)
    for run, x in ((program, want), (lect.compile(program), got)):
        b = run(x)[1]
        b.add_(2)
        b.square().sum().backward()
    same(want.grad, got.grad, scaled=True)
    in_native_code()


def test_write_to_an_input_of_which_a_copy_is_needed_is_none():
    def program(x):
        return torch.sin(x.clone()), torch.exp(x.t().reshape(-1))

    def use(run, x):
        moved = x * 1
        out, other = run(moved)
        with torch.no_grad():
            moved.add_(100)
        (out.sum() + other.sum()).backward()
        return x.grad

    both(program, use, lambda: leaf(2, 3))
    in_native_code()


@pytest.mark.parametrize("channels_last", [False, True])
@pytest.mark.parametrize("options", [{}, {"affine": False}, {"eps": 1e-2, "momentum": 0.3}])
def test_statistics_of_a_batch_are_folds_and_the_rest_is_computed_again(options, channels_last):
    """The backward gets the statistics, and what is normalised is made once more from them: nothing but the filters' operands is kept."""

    def use(run, x):
        torch.manual_seed(0)
        model = nn.Sequential(nn.Conv2d(3, 8, 3), nn.BatchNorm2d(8, **options), nn.ReLU(), nn.Conv2d(8, 4, 3))
        model = model.to(memory_format=torch.channels_last) if channels_last else model
        run = lect.compile(model) if run is not eager else model
        run(x).square().mean().backward()
        gradients = [parameter.grad for parameter in model.parameters()]
        return [*gradients, *model.buffers(), x.grad, [value.stride() for value in (*gradients, x.grad)]]

    def eager(x):
        return x

    def images():
        x = torch.randn(4, 3, 9, 9, generator=torch.Generator().manual_seed(1))
        return (x.contiguous(memory_format=torch.channels_last) if channels_last else x).requires_grad_()

    same(use(eager, images()), use(None, images()), scaled=True)
    in_native_code()
    assert lect.events("backward")


def test_a_normalised_value_is_not_kept():
    def kept(run, x):
        found = {}

        def pack(tensor):
            found[tensor.data_ptr()] = tensor.numel() * tensor.element_size()
            return tensor

        with torch.autograd.graph.saved_tensors_hooks(pack, lambda tensor: tensor):
            run(x)
        return sum(found.values())

    model = nn.Sequential(nn.Conv2d(3, 8, 3), nn.BatchNorm2d(8), nn.ReLU(), nn.Conv2d(8, 2, 1))
    x = torch.randn(4, 3, 9, 9)
    image = 4 * 4 * 8 * 7 * 7  # bytes of the result of the first convolution
    outside = kept(nn.Conv2d(3, 8, 3), x)
    assert kept(model, x) >= outside + 2 * image
    assert kept(lect.compile(model), x) < outside + 1.5 * image


def test_running_statistics_are_not_copied():
    """Nothing that a second run would give hangs on what they were."""
    model = nn.Sequential(nn.BatchNorm1d(4), nn.ReLU())
    compiled = lect.compile(model)
    compiled(leaf(5, 4)).sum().backward()
    x = leaf(5, 4)
    names = operators(lambda: compiled(x).sum().backward())
    assert "aten::native_batch_norm" not in names
    assert "aten::clone" not in names
    in_native_code()


def operators(work):
    """The names of the operators that `work` calls."""
    with torch.autograd.profiler.profile() as profile:
        work()
    return [event.name for event in profile.function_events]
