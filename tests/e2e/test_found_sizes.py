"""Sizes that elements decide: one version for all of them, eager's values and gradients, and a cut where the size itself is asked for."""

import pytest
import torch
import torch.nn.functional as F

import lect
from tests.e2e.support import same

ROWS = (7, 4, 30)


@pytest.fixture(autouse=True)
def _clean():
    lect.reset()
    yield
    lect.reset()


def with_gradient(fn, given):
    """The results of a call, and the gradients of its arguments."""
    given = tuple([x.detach().clone().requires_grad_(x.requires_grad) if isinstance(x, torch.Tensor) else x for x in given])
    results = fn(*given)
    tensors = [y for y in (results if isinstance(results, tuple) else (results,)) if isinstance(y, torch.Tensor) and y.requires_grad]
    if tensors:
        torch.autograd.backward(tensors, [torch.linspace(-1, 2, y.numel()).reshape(y.shape) for y in tensors])
    return results, [x.grad for x in given if isinstance(x, torch.Tensor)]


def check(fn, inputs, **options):
    """Run a function on each tuple of inputs, compiled and not; how many versions there are then."""
    compiled = lect.compile(fn, **options)
    for given in inputs:
        same(with_gradient(fn, given), with_gradient(compiled, given))
    return len(lect.events("compile"))


def rows(grad=False):
    found = []
    for size in ROWS:
        x = torch.randn(size, 5)
        x[0] = x[1] = torch.tensor([1.0, -1.0, float("nan"), float("inf"), 2.0])  # so that two rows and two elements are taken, at least
        found.append((x.requires_grad_(grad),))
    return found


def restored(x):
    m = x > 0
    y = x * 1
    y[m] = y[m] * 2
    return y


def places_and_elements(x):
    m = x[:, 0] > 0
    return torch.zeros_like(x).index_add(0, m.nonzero()[:, 0], x[m] * 2)


def mean_of_some(x):
    y = x[x > 0]
    return y.sum() / y.shape[0] if y.numel() else x.sum()


FUNCTIONS = {
    "a mask": lambda x: (x[x > 0] * 2).relu(),
    "a mask of rows": lambda x: x[x[:, 0] > 0] - 1,
    "a mask of columns": lambda x: x[:, x[0] > 0] - 1,
    "a mask beside slices": lambda x: x[None, x[:, 0] > 0, 1:3],
    "masked_select": lambda x: torch.masked_select(x, x > 0).sin(),
    "masked_select of a broadcast mask": lambda x: torch.masked_select(x, x[:, :1] > 0).sin(),
    "a sum": lambda x: x[x > 0].sum(),
    "a mean": lambda x: x[x > 0].mean(),
    "std": lambda x: x[x == 1].std(),
    "a division by the size": mean_of_some,
    "one mask for two tensors": lambda x: x[x > 0] * x.exp()[x > 0],
    "a mask of what a mask took": lambda x: (lambda y: y[y < 1.5])(x[x > 0]),
    "two masks": lambda x: (x[x > 0].sin(), x[x < 0].cos()),
    "cat": lambda x: torch.cat([x[x > 0], x[x < 0]]) * 2,
    "softmax": lambda x: x[x[:, 0] > 0].softmax(0),
    "a product": lambda x: x[x[:, 0] > 0] @ x.t(),
    "layer_norm": lambda x: F.layer_norm(x[x[:, 0] > 0], (5,)),
    "cumsum": lambda x: x[x > 0].cumsum(0),
    "sort": lambda x: x[x > 0].sort()[0],
    "where": lambda x: x[torch.where(x > 0)] + 1,
    "nonzero as a tuple": lambda x: x[(x > 0).nonzero(as_tuple=True)],
    "written where a mask is true": restored,
    "places and elements": places_and_elements,
    "repeat_interleave": lambda x: x.repeat_interleave(torch.arange(x.shape[0]) + 1, dim=0) * 2,
}
WITHOUT_GRADIENT = {
    "nonzero": lambda x: (x > 0).nonzero() * 2,
    "argwhere": lambda x: torch.argwhere(x > 0),
    "sizes of results": lambda x: (x[x > 0], x[x > 0].shape[0] * 2 + 1, len(x.nonzero()), x[x > 0].numel() // 2),
    "new tensors": lambda x: torch.zeros(x[x > 0].shape[0], 2) + torch.arange(x[x > 0].shape[0])[:, None],
    "unique": lambda x: torch.unique((x * 3).nan_to_num(0, 0, 0).long()),
    "unique with counts": lambda x: torch.unique((x * 3).nan_to_num(0, 0, 0).long(), return_inverse=True, return_counts=True),
    "unique_consecutive": lambda x: torch.unique_consecutive((x * 3).nan_to_num(0, 0, 0).long()),
    "nonzero twice, one written": lambda x: (lambda m: (m.nonzero().add_(1), m.nonzero()))(x > 0),
    "integers": lambda x: (lambda y: (y * 2, y // 3, y.sum()))((x * 9).nan_to_num(0, 0, 0).int()[x > 0]),
    "halves": lambda x: x.half()[x > 0] * 2,
}


@pytest.mark.parametrize("name", FUNCTIONS)
def test_training_with_a_size_that_elements_decide(name):
    assert check(FUNCTIONS[name], rows(grad=True), dynamic=True) == 1, [event.text() for event in lect.events("graph break", "fallback", "static sizes")]


@pytest.mark.parametrize("name", ["a mask", "a mask of columns", "written where a mask is true", *WITHOUT_GRADIENT])
def test_sizes_that_elements_decide(name):
    assert check({**FUNCTIONS, **WITHOUT_GRADIENT}[name], rows()) == 2, [event.text() for event in lect.events("graph break", "fallback", "static sizes")]


@pytest.mark.parametrize("dim", [0, 1, 2, -1])
def test_unique_along_a_dim_lies_as_torch_moves_it(dim):
    """The result is stored with the dim outermost; what reads it reads the right elements, and it is seen as eager's."""
    fn = lambda x: (lambda y: (y, y * 2, y.sum(0)))(torch.unique(x, dim=dim))  # noqa: E731
    torch.manual_seed(dim)
    for x in (torch.randint(0, 2, (5, 3, 4)), torch.randint(0, 3, (4, 3, 5)).transpose(0, 2), torch.randint(0, 2, (4, 1, 6)).expand(4, 3, 6)):
        for got, want in zip(lect.compile(fn)(x), fn(x), strict=True):
            assert torch.equal(got, want)
            assert got.stride() == want.stride()


@pytest.mark.parametrize("host", ["native", "python"])
def test_few_and_no_elements(host):
    """Sizes 0 and 1 are run as written, whatever they are."""
    fn = lambda x: (x[x > 0] * 2, x[x > 0].sum(), (x > 0).nonzero())  # noqa: E731
    inputs = [(torch.tensor(x),) for x in ([1.0, 2.0, -1.0, 3.0], [1.0, -2.0, -1.0, -3.0], [-1.0, -2.0, -1.0, -3.0], [1.0, 1.0, 1.0, -0.0])]
    assert check(fn, inputs, options={"host": host}) == 1
    assert [event.number for event in lect.events("fallback")] == ["LB0002"] * 2
    assert "finds a size of 1" in lect.events("fallback")[0].detail


def test_wrong_assumptions_end():
    """A function that often finds 0 elements is cut from some call on, and what is behind the cut has a version for that."""
    fn = lambda x: (x[x > 0] * 2).cumsum(0)  # noqa: E731
    inputs = [(torch.full((6,), -1.0),), (torch.arange(6.0),)] * 10
    check(fn, inputs)
    assert len(lect.events("fallback")) == 8
    assert [event.number for event in lect.events("graph break")] == ["LB0002"]


def test_effects_in_front_of_a_size_that_is_too_small_happen_once():
    seen = []

    def fn(x, log):
        log.append(len(log))
        return x[x > 0] * 2

    compiled = lect.compile(fn)
    for x in (torch.arange(4.0), torch.zeros(4), -torch.ones(4)):
        same(fn(x, []), compiled(x, seen))
    assert seen == [0, 1, 2]


def test_an_input_that_is_written_is_written_once():
    def fn(x):
        x += 1
        return x[x > 0] * 2

    compiled = lect.compile(fn)
    for x in (torch.arange(4.0), -torch.ones(4), torch.tensor([0.0, -3.0])):
        first, second = x.clone(), x.clone()
        same(fn(first), compiled(second))
        same(first, second)


def test_whole_graph():
    compiled = lect.compile(lambda x: x[x > 0].exp(), fullgraph=True)
    for size in (5, 9, 3):
        x = torch.rand(size) + 0.1
        same(x.exp(), compiled(x))


@pytest.mark.parametrize(
    ("fn", "reason"),
    [
        (lambda x: [v * 2 for v in x[x > 0]], "its value is needed"),
        (lambda x: x[x > 0] * len(f"{x[x > 0].shape[0]}"), "its value is needed"),
        (lambda x: x[x > 0] * 2 if x[x > 0].shape[0] > 50 else x * 3, "its value decides something"),
        (lambda x: x[x > 0][: x.shape[0]] + x[x.sin() > 0][0], "its value decides something"),
        (lambda x: x[x > 0] + x[x.neg() < 0], "s0 == s1 is asked"),
    ],
)
def test_a_size_that_is_asked_for_cuts_the_frame(fn, reason):
    compiled = lect.compile(fn, dynamic=False if reason == "" else None)
    for size in (9, 4):
        x = torch.rand(size) + 0.1
        same(fn(x), compiled(x))
    breaks = [event for event in lect.events("graph break") if event.number == "LB0002"]
    assert any(reason in event.detail for event in breaks), [event.text() for event in breaks]
    assert all("test_found_sizes.py" in event.location for event in breaks)


def test_never_dynamic():
    assert check(lambda x: x[x > 0] * 2, [(torch.arange(5.0),)], dynamic=False) == 2
    assert [event.number for event in lect.events("graph break")] == ["LB0002"]


def test_random_numbers_in_front_of_a_size_that_is_too_small():
    def fn(x):
        return F.dropout(x, 0.5) * 0 + torch.rand(4), x[x > 0]

    compiled = lect.compile(fn, options={"rng": "eager"})
    for x in (torch.arange(4.0), torch.zeros(4)):
        torch.manual_seed(3)
        expected = fn(x)
        torch.manual_seed(3)
        same(expected, compiled(x))


def test_an_integer_read_off_a_tensor_as_a_size():
    def fn(x):
        n = x.abs().sum().long().item()
        return torch.arange(n) * 2, x.new_zeros(n, 2), n + 1

    inputs = [(torch.full((2,), float(size)),) for size in (3, 5, 40, 0, 1)]
    assert check(fn, inputs) == 1
    assert [event.number for event in lect.events("fallback")] == ["LB0002"]


def test_conditions_of_the_program():
    """A size that the graph finds is checked when it runs, that of an input by a guard; what does not hold raises what the program says."""

    def fn(x):
        y = x[x > 0]
        torch._check(y.shape[0] <= 100, lambda: f"{y.shape[0]} are too many")
        torch._check(y.shape[0] > 2)
        torch._check_value(x.shape[0] != 9, lambda: "nine")
        return y * 2

    compiled = lect.compile(fn, dynamic=True)
    for size in (5, 40, 100, 101, 2, 9, 7):
        x = torch.rand(size) + 0.1
        try:
            expected = fn(x)
        except Exception as error:
            with pytest.raises(type(error)) as info:
                compiled(x)
            assert str(info.value) == str(error)
        else:
            same(expected, compiled(x))
    assert len(lect.events("compile")) == 1


@pytest.mark.filterwarnings("ignore:_check_is_size")
def test_a_number_that_the_program_says_is_a_size():
    def fn(x, n):
        m = n.item()
        torch._check_is_size(m, max=50)
        torch._check_is_size(x.shape[0])
        return x.sum() + torch.ones(m)

    compiled = lect.compile(fn, fullgraph=True)
    for size in (4, 9, 50):
        given = torch.rand(3), torch.tensor(size)
        same(fn(*given), compiled(*given))
    for size in (-1, 51):
        with pytest.raises(RuntimeError) as info:
            fn(torch.rand(3), torch.tensor(size))
        with pytest.raises(RuntimeError, match=str(info.value)[:20]):
            compiled(torch.rand(3), torch.tensor(size))


def test_random_masks():
    """Random programs of masks, pointwise operations and reductions over random sizes, zero and one among them."""
    steps = [lambda y: y * 2, lambda y: y.exp(), lambda y: y - y.sum(), lambda y: y[y > 0.3], lambda y: y.cumsum(0), lambda y: torch.cat([y, y[y < 0]])]
    generator = torch.Generator().manual_seed(5)
    draw = lambda most: int(torch.randint(0, most, (), generator=generator))  # noqa: E731
    for _ in range(3):
        chosen = [steps[draw(len(steps))] for _ in range(3)]

        def fn(x):
            y = x[x > 0]
            for step in chosen:  # noqa: B023  # called at once
                y = step(y)
            return y

        lect.reset()
        check(fn, [(torch.randn(draw(12), draw(3) + 1, generator=generator),) for _ in range(4)])


def test_a_number_that_is_no_size_takes_no_memory():
    def program(x, n):
        return x * 2, (n * 3).item()

    lect.reset()
    compiled = lect.compile(program)
    for number in (5, 2**60, 10**12, 7):
        same(program(torch.ones(3), torch.tensor(number)), compiled(torch.ones(3), torch.tensor(number)))
    assert lect.events("fallback", "graph break") == [] and len(lect.events("compile")) == 1
