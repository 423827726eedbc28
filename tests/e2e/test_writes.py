"""Graphs that write to their inputs: values, aliases, version counters and errors are eager's."""

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


def through_torch() -> list[str]:
    """Numbers of the reasons for which graphs ran through torch since the last reset."""
    return [event.number for event in lect.events("note")]


def copies(args):
    """The arguments once more, with their layouts, in memory of their own."""
    return [torch.empty(0, dtype=arg.dtype).set_(arg.untyped_storage().clone(), arg.storage_offset(), arg.shape, arg.stride()) for arg in args]


def memories(args):
    """The whole memory of each argument as a flat tensor."""
    return [torch.empty(0, dtype=arg.dtype).set_(arg.untyped_storage()) for arg in args]


def observed(run, args):
    """The result, the arguments' memory, how often autograd saw them written, and for each tensor of the result which argument it is or lies in."""
    with torch.no_grad():
        result = run(*args)
    tensors = [value for value in (result if isinstance(result, tuple) else (result,)) if isinstance(value, torch.Tensor)]
    starts = [arg.untyped_storage().data_ptr() for arg in args]
    places = []
    for value in tensors:
        start = value.untyped_storage().data_ptr()
        places.append((starts.index(start), value.storage_offset()) if start in starts else None)
    same_objects = [next((number for number, arg in enumerate(args) if arg is value), None) for value in tensors]
    return result, memories(args), [arg._version for arg in args], places, same_objects


def writes(program, *args, notes=(), options=None):
    """Three calls: results, arguments, version counters and whether a result lies in an argument are eager's, also in memory around the arguments."""
    compiled = lect.compile(program, options=options or {})
    for call in range(3):
        given = copies(args)
        for memory in memories(given) if call else ():
            if memory.is_floating_point():
                memory.normal_()
        same(*[observed(run, copies(given)) for run in (program, compiled)])
    assert fallbacks() == []
    assert through_torch() == list(notes), [str(event) for event in lect.events("note")]
    assert len(lect.events("compile")) == 1


X = torch.randn(3, 4)
ROW = torch.randn(4)


def add(x):
    x.add_(1)


def add_and_return(x):
    return x.add_(1)


def twice(x, y):
    x.mul_(0.9).add_(y)
    before = x.sum()
    x.copy_(y)
    return before


def read_before_and_after(x):
    before, held = x * 2, x.clone()
    x.exp_()
    return before, held, x.sum(), x


def part(x, row):
    x[1] = row
    return x.sum(0)


def parts(x, row):
    x[:, 1:3] = row[:2]
    x[0].mul_(2)
    x.t()[3] += 1
    x.diagonal().fill_(7)
    return x @ row


def many_parts(x, row):
    for i in range(3):
        for j in range(4):
            x[i, j] = row[j] * i


def stepped(x):
    x[:, ::2].neg_()
    x[::2, 1] = 0
    return x.view(2, 6)[1]


def view_then_write(x):
    v = x[0]
    w = x.reshape(-1)
    v.zero_()
    w[5:].add_(1)
    return v + 1, x * 1


def write_then_view(x):
    x.relu_()
    return x[1:], x.t(), x.view(-1)[2:]


def overlapping_writes(x):
    a, b = x[:2], x[1:]
    a.mul_(2)
    b.add_(10)
    a.sub_(1)
    return a, b, a.sum()


def broadcast_copy(x, row):
    x.copy_(row)
    x[2].copy_(row[0])


def cast_copy(x, n):
    x.copy_(n)
    n.copy_(x * 2.5)


def masked(x, row):
    x[x > 0] = 0
    x.masked_fill_(row > 0, 3)
    x.clamp_(-1, 1)


def index_put(x, row):
    x[torch.tensor([0, 2])] = row
    x.index_add_(0, torch.tensor([1]), row[None])
    x.scatter_(1, torch.tensor([[0], [1], [2]]), 5.0)


def swapped(x, y):
    held = x.clone()
    x.copy_(y)
    y.copy_(held)


def swapped_without_copy(x, y):
    a, b = x + 0, y + 0
    x.copy_(b)
    y.copy_(a)
    return a


def written_with_another(x, y):
    x.copy_(y)
    return x * 2, y * 2


def written_with_its_own_part(x):
    x[0] = x[1]
    x[2] = x[0] + x[1]


def unread_write(x, row):
    (row * 2).exp()
    x.zero_()


def in_place_operators(x, y):
    x += y
    x *= 2
    x[0] -= y[0]
    x /= 3
    x **= 2
    return x


def detached(x):
    d = x.detach()
    d.add_(1)
    return d, x * 1


def graph_values_and_views(x):
    h = x * 2
    v, w = h[0], h.t()
    v.add_(1)
    w.mul_(3)
    u = h.view(-1)
    u[3:5] = 0
    return h, v, w, u.sum()


def written_by_random(x):
    x.uniform_()
    return x + 1


PROGRAMS = [
    (add, X), (add_and_return, X), (twice, X, torch.randn(3, 4)), (read_before_and_after, X), (part, X, ROW), (parts, X, ROW), (many_parts, X, ROW),
    (stepped, X), (view_then_write, X), (write_then_view, X), (overlapping_writes, X), (broadcast_copy, X, ROW), (masked, X, ROW),
    (cast_copy, X, torch.arange(12).view(3, 4)), (index_put, X, ROW), (swapped, X, torch.randn(3, 4)), (swapped_without_copy, X, torch.randn(3, 4)),
    (written_with_another, X, torch.randn(3, 4)), (written_with_its_own_part, X), (unread_write, X, ROW), (in_place_operators, X, torch.randn(3, 4)),
    (detached, X), (graph_values_and_views, X),
]  # fmt: skip
LEVELS = ["fx", "functional", "loop", "native"]


@pytest.mark.parametrize("level", LEVELS)
@pytest.mark.parametrize("case", PROGRAMS, ids=lambda case: case[0].__name__)
def test_program(case, level):
    program, *args = case
    writes(program, *args, options={"level": level})


def steps_and_views(x):
    x[:, ::2].neg_()
    x[::2, 1] = 0
    return x.sum(0), x.t(), x[1:, 2]


LAYOUTS = {
    "transposed": lambda: torch.randn(4, 3).t(),
    "rows of more": lambda: torch.randn(5, 6)[1:4, 1:5],
    "every second": lambda: torch.randn(3, 9)[:, 1::2],
    "channels behind": lambda: torch.randn(4, 5, 3).permute(2, 0, 1)[:, :, 2],
}


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("program", [add_and_return, read_before_and_after, part, parts, view_then_write, overlapping_writes, steps_and_views])
def test_strided_inputs(program, layout):
    writes(program, LAYOUTS[layout](), *([ROW] if program in (part, parts) else []))


@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float16, torch.float64, torch.int32, torch.bool, torch.complex64])
def test_dtypes(dtype):
    def program(x, y):
        x.copy_(y)
        x[0] = 1
        return x

    writes(program, torch.zeros(3, 4, dtype=dtype), torch.randn(3, 4), notes=["LB0024"] if dtype is torch.complex64 else [])


def test_expanded_input_raises_as_in_eager():
    compiled = lect.compile(lambda x: x.add_(1))
    for _ in range(2):
        with pytest.raises(RuntimeError, match="more than one element of the written-to tensor refers to a single memory location"):
            compiled(torch.randn(1, 4).expand(3, 4))


def test_empty_and_scalar_inputs():
    writes(lambda x, y: (x.add_(1), y.mul_(2), y[1:2].zero_())[0], torch.zeros(()), torch.empty(0))


def test_sizes_of_an_input_change():
    compiled = lect.compile(lambda x: x.t_().add_(1))
    x = torch.randn(2, 3)
    twin = x.clone()
    twin.t_().add_(1)
    assert compiled(x) is x
    same(twin, x)
    assert through_torch() == ["LB0024"]


def test_random_writes_draw_as_in_eager():
    def program(x):
        x.uniform_()
        x[0].normal_()
        return x.bernoulli_(0.3)

    x, twin = torch.zeros(4, 5), torch.zeros(4, 5)
    compiled = lect.compile(program, options={"rng": "eager"})
    for seed in (1, 2):
        torch.manual_seed(seed)
        program(twin)
        torch.manual_seed(seed)
        compiled(x)
        same(twin, x, exact=True)


def test_overlapping_inputs_are_another_version():
    def program(x, y):
        x.add_(1)
        return y * 2

    compiled = lect.compile(program)
    base = torch.randn(6)
    same(program(base[:3].clone(), base[3:].clone()), compiled(base[:3].clone(), base[3:].clone()))
    twin = base.clone()
    same(program(twin[:4], twin[2:]), compiled(base[:4], base[2:]))
    same(twin, base)
    assert through_torch() == ["LB0023"]
    first_line = program.__code__.co_firstlineno
    assert [event.location.rsplit(":", 2)[1] for event in lect.events("note")] == [str(first_line + 1)]


def test_autograd_notices_a_compiled_write():
    x = torch.randn(3)
    weight = torch.randn(3, requires_grad=True)
    used = (x * weight).sum()  # keeps x
    with torch.no_grad():
        lect.compile(lambda x: x.add_(1))(x)
    with pytest.raises(RuntimeError, match="modified by an inplace operation"):
        used.backward()


def test_parameters_are_updated_without_gradients():
    layer = nn.Linear(3, 3)
    twin = [p.detach().clone() for p in layer.parameters()]

    def step(module, rate):
        with torch.no_grad():
            for parameter in module.parameters():
                parameter.sub_(parameter.sign() * rate)

    lect.compile(step)(layer, 0.1)
    same([p - p.sign() * 0.1 for p in twin], [p.detach() for p in layer.parameters()])
    assert all(p.requires_grad and p.is_leaf for p in layer.parameters())
    assert fallbacks() == through_torch() == []


def test_inference_mode():
    def program(x, y):
        x.add_(y)
        return x[0] * 2

    compiled = lect.compile(program)
    with torch.inference_mode():
        x, twin = torch.ones(3, 4), torch.ones(3, 4)
        same(program(twin, X), compiled(x, X))
        same(twin, x)


# ---- modules ---------------------------------------------------------------------------------------------------------


class Averages(nn.Module):
    """Buffers of all kinds that forward updates."""

    def __init__(self):
        super().__init__()
        self.register_buffer("mean", torch.zeros(4))
        self.register_buffer("cache", torch.zeros(2, 5, 4))
        self.register_buffer("steps", torch.zeros((), dtype=torch.long))

    def forward(self, x, i):
        self.mean.mul_(0.9).add_(x.mean(0), alpha=0.1)
        self.cache[:, i] = x[:2]
        self.steps += 1
        return x - self.mean, self.cache[:, : i + 1].sum()


def module_writes(module, *calls):
    """Each call without gradients: outputs, buffers and their counters are eager's, in native code."""
    import copy

    twin = copy.deepcopy(module)
    compiled = lect.compile(module, options={"rng": "eager"})
    held = dict(module.named_buffers())
    before = [tensor._version for tensor in held.values()], [tensor._version for tensor in twin.buffers()]
    with torch.no_grad():
        for args in calls:
            torch.manual_seed(3)
            want = twin(*args)
            torch.manual_seed(3)
            same(want, compiled(*args))
            same(dict(twin.named_buffers()), dict(module.named_buffers()))
    for tensor, other, was, of_other in zip(module.buffers(), twin.buffers(), *before):
        assert tensor._version - was == other._version - of_other
    assert all(tensor is held[name] for name, tensor in module.named_buffers())
    assert fallbacks() == through_torch() == [], [str(event) for event in lect.events("note")]


def test_buffers():
    module_writes(Averages(), (torch.randn(3, 4), 0), (torch.randn(3, 4), 0))


def test_growing_cache():
    module_writes(Averages(), *[(torch.randn(3, 4), i) for i in range(3)])


NORMS = {
    "batch norm": (lambda: nn.BatchNorm1d(4), (6, 4)),
    "over images": (lambda: nn.BatchNorm2d(4), (2, 4, 3, 3)),
    "without affine": (lambda: nn.BatchNorm1d(4, affine=False), (6, 4)),
    "without statistics": (lambda: nn.BatchNorm1d(4, track_running_stats=False), (6, 4)),
    "instance norm": (lambda: nn.InstanceNorm1d(4, track_running_stats=True), (2, 4, 5)),
    "twice": (lambda: (lambda norm: nn.Sequential(norm, nn.ReLU(), norm))(nn.BatchNorm1d(4)), (6, 4)),
    "in a block": (lambda: nn.Sequential(nn.Conv2d(3, 4, 3), nn.BatchNorm2d(4), nn.ReLU(inplace=True), nn.Dropout(0.5)), (2, 3, 5, 5)),
}


@pytest.mark.parametrize("name", NORMS)
def test_normalisation_in_training(name):
    make, shape = NORMS[name]
    torch.manual_seed(0)
    module_writes(make(), (torch.randn(shape),), (torch.randn(shape),))


def test_statistics_given_to_the_function():
    def program(x, mean, var):
        y = F.batch_norm(x, mean, var, training=True, momentum=0.3)
        return y, mean * 2, F.batch_norm(x, mean, var)

    writes(program, torch.randn(6, 4), torch.zeros(4), torch.ones(4))


@pytest.fixture
def one_thread():
    """Torch with one thread: with more, two channels that share an element of a statistic are updated in whatever order the threads come."""
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(threads)


def test_statistics_that_overlap(one_thread):
    def program(x, mean, var):
        return F.batch_norm(x, mean, var, training=True)

    compiled = lect.compile(program)
    x, both, twin = torch.randn(6, 4), torch.ones(6), torch.ones(6)
    same(program(x, twin[:4], twin[2:]), compiled(x, both[:4], both[2:]))
    same(twin, both)
    assert through_torch() == ["LB0023"]


# ---- operators that write to several tensors, or to one that they are given as `out` ----------------------------------


def test_spectral_norm():
    module_writes(nn.utils.parametrizations.spectral_norm(nn.Linear(4, 5)), (torch.randn(3, 4),), (torch.randn(3, 4),))


def test_out_arguments():
    def program(x, y):
        torch.add(x, 1, out=y)
        torch.mul(y, 2, out=x[0:2].new_empty(3, 4))
        torch.exp(x, out=x)

    writes(program, X, torch.randn(3, 4))


def test_noise_of_rrelu():
    module_writes(nn.Sequential(nn.RReLU(), nn.RReLU()), (torch.randn(3, 4),))


def test_lists_of_tensors():
    def program(x, y):
        torch._foreach_add_([x, y], 1)
        torch._foreach_mul_([x, y], [2.0, 3.0])
        torch._foreach_addcdiv_([x], [y], [y], value=0.5)
        return x.sum()

    writes(program, X, torch.randn(3, 4))


def test_embedding_that_renorms():
    module = nn.Embedding(10, 4, max_norm=0.5)
    module_writes(module, (torch.randint(0, 10, (3, 2)),))


@pytest.mark.parametrize("name", ["bernoulli_", "uniform_", "exponential_", "random_", "log_normal_", "cauchy_", "geometric_", "dropout", "normal_"])
@pytest.mark.parametrize("shape", [(3, 2, 4), (5, 8, 16)])
def test_random_numbers_come_in_the_order_of_memory(name, shape):
    arguments = {"geometric_": (0.3,), "bernoulli_": (0.6,)}.get(name, ())

    def fill(x):
        return F.dropout(x, 0.3) if name == "dropout" else getattr(x, name)(*arguments)

    def program(x):
        return fill(x.transpose(0, 1) * 1), fill((x * 2)[:, ::2]), fill(x * 3)

    compiled = lect.compile(program, options={"rng": "eager"})
    x = torch.rand(shape)
    for seed in (1, 2):
        torch.manual_seed(seed)
        want = program(x)
        torch.manual_seed(seed)
        same(want, compiled(x))
    assert through_torch() == (["LB0024"] if name == "normal_" else [])
