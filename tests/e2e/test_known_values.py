"""Programs that ask for the elements of tensors which depend on no input: known while tracing, and never wrong."""

import types

import pytest
import torch

import lect
from tests.e2e.support import same, stops, versions

SETTINGS = types.SimpleNamespace(sizes=[2, 3], limit=2)


@pytest.fixture(autouse=True)
def fresh():
    lect.reset()
    vars(SETTINGS).update(sizes=[2, 3], limit=2)
    yield
    lect.reset()


def item(x):
    return x * torch.arange(3)[1].item() + torch.tensor(2.5).item()


def to_list(x):
    a, b = torch.tensor([2, 3]).tolist()
    return x[:a, :b] * sum(torch.arange(6).view(2, 3).tolist()[1])


def largest(x):
    return x[: torch.tensor([1, 4, 2]).max()]


def slices(x):
    n = torch.tensor(2)
    return x[:n, n:] + x[n, 1]


def size_argument(x):
    n = torch.tensor(3) - 1
    return torch.zeros(n, x.shape[1]) + x[:2] + torch.ones((n, 1)).sum()


def branches(x):
    mask = torch.arange(4) > 2
    if mask.any():
        x = x + 1
    if not mask.all() and 2 in torch.arange(4) and torch.equal(mask, mask.clone()):
        x = x * 2
    while torch.tensor(1) > 2:
        x = x - 100
    return x


def numbers(x):
    n = torch.tensor(3)
    return x * int(n) + float(torch.tensor(0.1, dtype=torch.float64)) + [1, 2, 3, 4][n] + len(range(n)) + [5.0, 6.0, 7.0][: torch.tensor(1)][0]


def choice(x):
    return x + min(torch.tensor(5), 3) + max(torch.tensor([1.0, 9.0]).max(), 2.0)


def written(x):
    counts = torch.zeros(3, dtype=torch.long)
    counts[1] = 4
    counts[1:].add_(1)
    view = counts.view(3, 1)
    view.mul_(2)
    return x * counts[1].item() + counts[2].item()


def sizes_in_the_data(x):
    mask = torch.arange(4) % 2 == 0
    rows = mask.nonzero().flatten()
    return x[rows] + torch.arange(4)[mask].unsqueeze(1) + torch.tensor([3, 3, 1]).unique().sum() + len(torch.where(mask)[0])


def nothing_found(x):
    none = (torch.arange(4) > 9).nonzero()
    return x + none.shape[0] + none.shape[1] + none.sum()


def over_rows(x):
    for n in torch.tensor([1, 2]):
        x = x.narrow(0, 0, x.shape[0] - n.item() + 1) * n
    return x


def under_inference_mode(x):
    with torch.no_grad():
        return x * torch.linspace(0, 1, 5).sum().item()


PROGRAMS = [item, to_list, largest, slices, size_argument, branches, numbers, choice, written, sizes_in_the_data, nothing_found, over_rows, under_inference_mode]


@pytest.mark.parametrize("level", ["fx", "native"])
@pytest.mark.parametrize("program", PROGRAMS, ids=lambda program: program.__name__)
def test_elements_that_no_input_decides(program, level):
    compiled = lect.compile(program, options={"level": level})
    with torch.no_grad():
        for _ in range(2):
            x = torch.randn(4, 5)
            same(program(x), compiled(x))
    assert stops() == []
    assert versions() == 1


@pytest.mark.parametrize("inference", [False, True])
def test_elements_under_inference_mode(inference):
    compiled = lect.compile(written, options={"level": "fx"})
    x = torch.randn(4, 5)
    with torch.inference_mode(inference):
        same(written(x), compiled(x))
    assert stops() == []


# ---- what an input decides -------------------------------------------------------------------------------------------


def of_an_input(x):
    return x * x[0, 0].item()


def of_a_parameter(x, weight=torch.nn.Parameter(torch.tensor(2.0))):  # noqa: B008
    return x * weight.item()


def by_chance(x):
    return x * torch.rand(3)[0].item()


def by_chance_in_place(x):
    noise = torch.zeros(3)
    noise.uniform_()
    return x * noise[0].item()


def written_by_an_input(x):
    counts = torch.zeros(3)
    row = counts[1:]
    row[0] = x.sum()
    return x * counts[1].item()


def written_by_an_input_through_a_method(x):
    counts = torch.zeros(5)
    counts.add_(x[0])
    return x * counts[1].item()


def activated_in_place(x):
    held = torch.zeros(4, 5)
    held += x
    torch.nn.functional.relu(held, inplace=True)
    return x * held[0, 0].item()


def a_branch(x):
    return x + 1 if x.sum() > 0 else x - 1


DECIDED = [of_an_input, of_a_parameter, by_chance, by_chance_in_place, written_by_an_input, written_by_an_input_through_a_method, activated_in_place, a_branch]


@pytest.mark.parametrize("mode", [torch.no_grad, torch.inference_mode])
@pytest.mark.parametrize("program", DECIDED, ids=lambda program: program.__name__)
def test_elements_that_an_input_or_chance_decides_are_not_taken_from_the_trace(program, mode):
    compiled = lect.compile(program, options={"level": "fx"})
    for seed in range(3):
        x = torch.randn(4, 5, generator=torch.Generator().manual_seed(seed))
        with mode():
            torch.manual_seed(seed)
            want = program(x)
            torch.manual_seed(seed)
            same(want, compiled(x))


def test_a_number_that_made_the_tensor_changes():
    def program(x):
        return x[: torch.tensor(SETTINGS.sizes).max()] * torch.tensor(SETTINGS.limit).item()

    compiled = lect.compile(program, dynamic=False, options={"level": "fx"})  # a run-time number in a tensor is not known
    x = torch.randn(4, 5)
    same(program(x), compiled(x))
    SETTINGS.limit = 5
    same(program(x), compiled(x))
    SETTINGS.sizes[0] = 4
    same(program(x), compiled(x))
    same(program(x), compiled(x))
    assert stops() == []
    assert versions() == 3


def test_an_argument_that_made_the_tensor_changes():
    def program(x, n):
        return x[: torch.arange(n).max().item()]

    compiled = lect.compile(program, options={"level": "fx"})
    x = torch.randn(4, 5)
    for n in (3, 3, 2, 4):
        same(program(x, n), compiled(x, n))
    assert stops() == []


def test_random_numbers_drawn_at_run_time_stay_in_order():
    def program(x):
        noise = torch.rand(3)
        count = torch.tensor([1, 2]).sum().item()
        return x * count + noise.sum()

    compiled = lect.compile(program, options={"level": "fx"})
    x = torch.randn(4, 5)
    for seed in range(3):
        torch.manual_seed(seed)
        want = program(x)
        torch.manual_seed(seed)
        same(want, compiled(x))
    state = torch.get_rng_state()
    torch.manual_seed(seed)
    program(x)
    same(torch.get_rng_state(), state)


def places(x):
    """Coordinates lie in memory column by column; here they are returned, with their strides."""
    return (torch.arange(6).view(2, 3) % 2 == 0).nonzero(), torch.tensor([[0, 1]]).nonzero(), (torch.arange(4) > 9).nonzero(), x + 1


def test_results_whose_size_is_in_the_data_are_laid_out_as_in_eager():
    compiled = lect.compile(places, options={"level": "fx"})
    x = torch.randn(4)
    same(places(x), compiled(x))
    assert stops() == []
