"""Random functions in compiled code: by lect's own stream, which has eager's distributions, and with `rng = "eager"` by eager's numbers.

Graphs that autograd records run through torch and draw eager's numbers, so the programs here run without gradients.
"""

import math

import pytest
import torch
import torch.nn.functional as F
from torch import nn

import lect
from lect.ir import LectError
from tests.e2e.support import fallbacks, same, stops

NAN, INF = float("nan"), float("inf")
EAGER = {"rng": "eager"}


@pytest.fixture(autouse=True)
def fresh_start():
    lect.reset()
    with torch.no_grad():
        yield


def through_torch():
    return [event.text() for event in lect.events("note")]


def in_place(x):
    noise = torch.empty_like(x)
    return (
        noise.uniform_(-2, 3) + 0,
        noise.normal_(1, 2) + 0,
        noise.exponential_(2.0) + 0,
        noise.bernoulli_(0.3) + 0,
        noise.random_(2, 9) + 0,
        noise.log_normal_(),
    )


def writes_to_its_input(x):
    x.mul_(2)
    x[1:].uniform_(5, 6)
    return x.sum()


def made(x):
    return (
        torch.rand(3, 5),
        torch.rand_like(x),
        torch.randn(7, dtype=torch.float64),
        torch.randn_like(x),
        torch.randint(-3, 9, (4, 4)),
        torch.randint(5, (3,), dtype=torch.uint8),
        torch.randint_like(x, 100),
        torch.randperm(9),
        torch.normal(1.0, 2.0, (5,)),
        torch.normal(x, 2.0),
        torch.rand(5, dtype=torch.bfloat16),
        torch.randn(3, dtype=torch.complex64),
    )


def sampled(x):
    weights = x.abs().nan_to_num(1.0) + 0.1
    return torch.multinomial(weights, 3, replacement=True), torch.bernoulli(weights.clamp(0, 1)), torch.poisson(weights), F.gumbel_softmax(x)


def dropped(x):
    q = x.reshape(2, 1, 6, 4)
    return (
        F.dropout(x, 0.3),
        F.dropout1d(x.reshape(2, 6, 4), 0.3),
        F.alpha_dropout(x, 0.2, True),
        F.feature_alpha_dropout(x.reshape(2, 6, 4), 0.2, True),
        torch.native_dropout(x, 0.4, True),
        F.rrelu(x, 0.1, 0.3, True),
        F.scaled_dot_product_attention(q, q, q, dropout_p=0.25),
    )


def turned(x):
    """Tensors that are not contiguous, which eager fills in another order than by rows."""
    x[:, ::2].normal_(0, 2)
    return F.dropout(x.t(), 0.5), torch.randn_like(x.t()), torch.rrelu(-x.t(), training=True), x[1:, 1:3].exponential_() + 0


def between(x):
    """The first draw waits for what the sums are merged with, the second one for nothing."""
    chances = x.abs().nan_to_num(1.0).clamp(0, 1)
    first, second = torch.bernoulli(chances), torch.bernoulli(x, 0.5)
    return first, second, torch.exp(chances).sum(-1)


PROGRAMS = [in_place, writes_to_its_input, made, sampled, dropped, turned, between]


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16], ids=str)
@pytest.mark.parametrize("program", PROGRAMS, ids=lambda program: program.__name__)
def test_eager_stream(program, dtype):
    """Numbers and generator are eager's, call after call."""
    if program is sampled and dtype is torch.bfloat16:
        dtype = torch.float64
    compiled = lect.compile(program, options=EAGER)
    results = []
    for run in (program, compiled):
        torch.manual_seed(3)
        x = torch.randn(12, 4).to(dtype)
        results.append([run(x.clone()), torch.rand(2), run(x.clone()), torch.get_rng_state()])
    same(results[0], results[1], scaled=True)
    assert fallbacks() == []
    assert bool(through_torch()) == (program is turned)  # no pure operator has its order


@pytest.mark.parametrize("name", "bernoulli_ uniform_ normal_ exponential_ random_ log_normal_ cauchy_".split())
@pytest.mark.parametrize("layout", ["turned", "every second", "a part"])
def test_eager_stream_in_other_layouts(name, layout):
    views = {"turned": lambda x: x.t(), "every second": lambda x: x[:, ::2], "a part": lambda x: x[1:, 3:20]}

    def program(x):
        return getattr(views[layout](x), name)() + 0

    compiled = lect.compile(program, options=EAGER)
    results = []
    for run in (program, compiled):
        torch.manual_seed(3)
        x = torch.ones(24, 30)
        results.append([run(x), x, torch.rand(1)])
    same(results[0], results[1], exact=True)
    assert fallbacks() == []


@pytest.mark.parametrize("rng", ["counter", "eager"])
def test_rrelu_of_what_is_not_contiguous(rng):
    """Eager takes its memory for rows, and so does the compiled function."""

    def program(x):
        return torch.rrelu(x.t(), 0.2, 0.2, training=True)

    x = torch.randn(4, 6)
    same(program(x), lect.compile(program, options={"rng": rng})(x), exact=True)
    assert fallbacks() == through_torch() == []


@pytest.mark.parametrize("program", PROGRAMS, ids=lambda program: program.__name__)
@pytest.mark.parametrize("level", ["native", "loop", "functional"])
def test_a_seed_repeats_the_run(program, level):
    compiled = lect.compile(program, options={"level": level})
    x = torch.randn(12, 4)

    def run():
        return [compiled(x.clone()), torch.rand(2), compiled(x.clone()), torch.get_rng_state()]

    torch.manual_seed(3)
    first = run()
    torch.manual_seed(3)
    same(first, run(), exact=True)
    state = torch.get_rng_state()
    third = run()
    torch.set_rng_state(state)
    same(third, run(), exact=True)
    assert not torch.equal(third[-1], first[-1])
    assert through_torch() == []


@pytest.mark.parametrize("program", PROGRAMS, ids=lambda program: program.__name__)
def test_types_and_layouts_are_eagers(program):
    x = torch.randn(12, 4)
    want, got = program(x.clone()), lect.compile(program)(x.clone())
    for a, b in zip(flat(want), flat(got)):
        assert (a.dtype, a.shape, a.stride()) == (b.dtype, b.shape, b.stride())


def flat(value):
    return [value] if isinstance(value, torch.Tensor) else [item for part in value for item in flat(part)]


def test_two_calls_and_two_dropouts_differ():
    @lect.compile
    def program(x):
        return F.dropout(x, 0.5), F.dropout(x, 0.5)

    x = torch.ones(1000)
    results = [*program(x), *program(x)]
    for number, value in enumerate(results):
        assert not any(torch.equal(value, other) for other in results[:number])


def test_numbers_do_not_depend_on_the_threads():
    """Nor on the way a kernel is cut: the number of an element is its place's."""
    program = lect.compile(lambda x: (F.dropout(x, 0.5), torch.randn(300, 1000).sum(1), torch.rand_like(x[:, :777])))
    x = torch.ones(300, 1000)
    threads = torch.get_num_threads()
    found = []
    for count in (1, 2, 3):
        torch.set_num_threads(count)
        torch.manual_seed(4)
        found.append(program(x))
    torch.set_num_threads(threads)
    same(found[0], found[1], exact=True)
    same(found[0], found[2], exact=True)


def test_nothing_random_draws_nothing():
    @lect.compile
    def program(x):
        return F.dropout(x, 0.5, training=False) + F.dropout(x, 0.0) + 1

    before = torch.get_rng_state()
    same(torch.full((4,), 3.0), program(torch.ones(4)))
    assert torch.equal(before, torch.get_rng_state())
    model = nn.Sequential(nn.Linear(3, 3), nn.Dropout(0.5)).eval()
    x = torch.randn(2, 3)
    same(model(x), lect.compile(model)(x))
    after = torch.get_rng_state()
    torch.set_rng_state(before)
    torch.nn.Linear(3, 3), torch.randn(2, 3)
    assert torch.equal(after, torch.get_rng_state())


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64, torch.bfloat16, torch.float16], ids=str)
@pytest.mark.parametrize("p", [0.0, 0.1, 0.5, 0.9, 1.0])
def test_dropout_keeps_or_drops_as_eager_does(p, dtype):
    """Each result is eager's for a kept or a dropped element, to the bit, whatever the element."""
    values = torch.tensor([NAN, INF, -INF, -0.0, 0.0, 1.0, -2.5, 3.0e38, 1e-40, 0.1]).to(dtype)
    x = values.repeat(100)

    def program(x):
        return F.dropout(x, p), torch.native_dropout(x, p, True)[0]

    plain, native = lect.compile(program)(x)
    rest = 1 - p
    scaled = [values * torch.full_like(values, keep).div_(rest) for keep in (0, 1)] if rest else [values * 0] * 2
    masked = [values.mul(torch.tensor(bool(keep))).mul_(1 / rest if rest else 0.0) for keep in (0, 1)]
    for found, (dropped, kept) in ((plain, scaled if p else [values] * 2), (native, masked)):
        rows = bits(found.reshape(100, 10))
        assert ((rows == bits(dropped)) | (rows == bits(kept))).all()
        if 0 < p < 1:
            share = float((rows == bits(kept))[:, 5].double().mean())
            assert abs(share - rest) < 0.25


def bits(x):
    """The bits of floats, one pattern for all NaN."""
    x = torch.where(x.isnan(), torch.full_like(x, NAN).abs(), x)
    return x.view({2: torch.int16, 4: torch.int32, 8: torch.int64}[x.element_size()])


@pytest.mark.parametrize("p", [0.25, 1e-3, 1e-6, 1 - 1e-6])
def test_chances(p):
    count = 1 << 22
    torch.manual_seed(5)
    hits = float(lect.compile(lambda: torch.empty(count, dtype=torch.bool).bernoulli_(p))().sum())
    assert abs(hits - count * p) < 5 * math.sqrt(count * p * (1 - p)) + 1


def moments(values):
    return float(values.double().mean()), float(values.double().var())


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64, torch.bfloat16, torch.float16], ids=str)
def test_moments_of_what_fills_a_tensor(dtype):
    """Mean and variance, within six deviations of their estimates; halves with the slack of their rounding."""

    def program():
        x = torch.empty(1 << 17, dtype=dtype)
        return x.uniform_(-2, 3) + 0, x.normal_(1, 2) + 0, x.exponential_(2.0) + 0, x.bernoulli_(0.3) + 0, x.random_(2, 9) + 0

    torch.manual_seed(11)
    found = lect.compile(program)()
    want = [(0.5, 25 / 12, 1.8), (1, 4, 3), (0.5, 0.25, 9), (0.3, 0.21, 2), (5, 4, 1.8)]
    slack = {torch.bfloat16: 0.02, torch.float16: 0.002}.get(dtype, 0)
    for values, (mean, variance, kurtosis) in zip(found, want):
        have = moments(values)
        assert abs(have[0] - mean) < 6 * math.sqrt(variance / (1 << 17)) + slack
        assert abs(have[1] - variance) < 6 * variance * math.sqrt(kurtosis / (1 << 17)) + slack * variance * 4
    assert (found[2] > 0).all()
    assert ((found[0] >= -2) & (found[0] <= 3)).all()
    assert found[4].unique().tolist() == list(range(2, 9))


def test_further_samplers():
    """Shares below the points that the distributions' formulas give, and the range of what `random_` draws."""
    count = 1 << 16

    def program(mean):
        x = torch.empty(count)
        return (
            x.log_normal_(1, 2) + 0,
            x.cauchy_(3, 2) + 0,
            x.geometric_(0.25) + 0,
            torch.normal(mean, 0.5) - mean,
            torch.empty(count, dtype=torch.int64).geometric_(0.25),
            x.random_() + 0,
            torch.empty(count, dtype=torch.int8).random_(),
            torch.empty(count, dtype=torch.bool).random_(),
        )

    torch.manual_seed(2)
    found = lect.compile(program)(torch.linspace(-100, 100, count))
    shares = [
        (found[0], math.exp(1), 0.5),
        (found[0], math.exp(1 + 2 * 0.6744897), 0.75),
        (found[1], 3, 0.5),
        (found[1], 5, 0.75),
        (found[1], 1, 0.25),
        (found[2], 1.5, 0.25),
        (found[2], 3.5, 1 - 0.75**3),
        (found[3], 0.5 * 0.6744897, 0.75),
        (found[3], 0, 0.5),
        (found[4], 2.5, 1 - 0.75**2),
        (found[5], 1 << 22, 0.25),
        (found[5], 1 << 23, 0.5),
        (found[6], 31.5, 0.25),
        (found[7].int(), 0.5, 0.5),
    ]
    for number, (values, point, share) in enumerate(shares):
        have = float((values < point).double().mean())
        assert abs(have - share) < 5.5 * math.sqrt(share * (1 - share) / count), number
    assert (found[2] >= 1).all() and (found[2] == found[2].floor()).all()
    assert (found[6].min(), found[6].max()) == (0, 127)
    assert (found[5].min() >= 0) and (found[5] == found[5].floor()).all()


def test_slopes_of_rrelu():
    x = torch.tensor([NAN, INF, -INF, -1.0, -0.0, 2.0]).repeat(1000)
    torch.manual_seed(0)
    rows = lect.compile(lambda x: F.rrelu(x, 0.1, 0.3, True))(x).reshape(1000, 6)
    assert rows[:, 0].isnan().all() and (rows[:, 1] == INF).all() and (rows[:, 2] == -INF).all() and (rows[:, 5] == 2).all()
    assert ((rows[:, 3] <= -0.1) & (rows[:, 3] >= -0.3)).all() and torch.signbit(rows[:, 4]).all()
    assert rows[:, 3].unique().numel() > 900
    assert abs(float(rows[:, 3].mean()) + 0.2) < 0.012


@pytest.mark.parametrize("randomness", ["different", "same"])
def test_vmap(randomness):
    program = lect.compile(lambda x: torch.vmap(lambda row: row + torch.rand_like(row), randomness=randomness)(x))
    rows = program(torch.zeros(4, 8))
    assert (rows[0] == rows[1]).all() == (randomness == "same")
    assert rows.unique().numel() == (8 if randomness == "same" else 32)
    assert stops() == []


@pytest.mark.parametrize(
    "program",
    [
        lambda x: x.bernoulli_(1.5),
        lambda x: x.uniform_(3, 2),
        lambda x: x.normal_(0, -1),
        lambda x: x.exponential_(0.0),
        lambda x: torch.randint(3, 3, (2,)) + x,
        lambda x: torch.bernoulli(x + 2),
        lambda x: torch.multinomial(x - 5, 2),
        lambda x: torch.multinomial(x / 0, 2),
        lambda x: torch.multinomial(x * 0, 2, replacement=True),
        lambda x: torch.multinomial(x - 5, 2, replacement=True),
        lambda x: torch.multinomial(x / 0, 2, replacement=True),
        lambda x: F.dropout(x, 1.5),
    ],
)
@pytest.mark.parametrize("rng", ["counter", "eager"])
def test_errors_are_eagers(program, rng):
    errors = []
    for run in (program, lect.compile(program, options={"rng": rng})):
        with pytest.raises((RuntimeError, ValueError)) as raised:
            run(torch.ones(4))
        errors.append((type(raised.value), str(raised.value).splitlines()[0]))
    assert errors[0] == errors[1]


def test_a_generator_of_its_own():
    """It draws that generator's numbers, and leaves the default one alone."""
    generator = torch.Generator()

    def program(x):
        return x + torch.rand(4, generator=generator), x.clone().bernoulli_(0.5, generator=generator)

    compiled = lect.compile(program)
    results = []
    for run in (program, compiled):
        generator.manual_seed(9)
        before = torch.get_rng_state()
        results.append([run(torch.ones(4)), run(torch.ones(4)), generator.get_state()])
        assert torch.equal(before, torch.get_rng_state())
    same(results[0], results[1], exact=True)


def test_chances_of_run_time_numbers_are_eagers():
    """Numbers that change become arguments of the graph; a probability among them is checked as eager checks it."""
    compiled = lect.compile(lambda x, p: x.clone().bernoulli_(p))
    for p in (0.5, 0.25, 0.75, 0.0, 1.0):
        found = compiled(torch.ones(1000), p)
        assert abs(float(found.mean()) - p) < 0.1
    with pytest.raises(RuntimeError):
        compiled(torch.ones(4), 1.5)


def test_a_training_step_still_matches_eager():
    """What autograd records draws eager's numbers, in the forward and in the backward."""
    with torch.enable_grad():
        model = nn.Sequential(nn.Linear(8, 8), nn.Dropout(0.5), nn.Linear(8, 2))
        gradients = []
        for run in (model, lect.compile(model, options=EAGER)):
            torch.manual_seed(1)
            model.zero_grad()
            run(torch.ones(4, 8)).sum().backward()
            gradients.append([parameter.grad.clone() for parameter in model.parameters()])
    same(gradients[0], gradients[1])


def test_option_is_checked():
    with pytest.raises(LectError, match="option 'rng' is one of counter, eager"):
        lect.compile(lambda x: x, options={"rng": "mine"})


def test_whose_numbers_they_are_is_said():
    """By the event of a compile and by explain, for a graph of native code with lect's stream and for no other."""

    def program(x):
        return F.dropout(x, 0.5) + torch.rand(4)

    x = torch.ones(4)
    lect.compile(program)(x)
    lect.compile(program, options=EAGER)(x)
    assert [event.seeded for event in lect.events("compile")] == [2, 0]
    assert "2 random operators" in lect.events("compile")[0].text()
    assert "'rng': 'eager'" in str(lect.explain(program)(x))
    assert "'rng'" not in str(lect.explain(lambda x: x + 1)(x))


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64, torch.bfloat16], ids=str)
@pytest.mark.parametrize(("count", "again"), [(1, False), (2, False), (3, True), (1, True)])
def test_places_drawn_by_weight(dtype, count, again):
    """Weights of zero are never drawn, nothing is drawn twice without replacement, and places come as often as eager's."""
    weights = torch.tensor([[0.0, 1, 2, 0], [4, 0, 0, 1]], dtype=dtype)
    program = lect.compile(lambda weights: torch.multinomial(weights, count, again))
    torch.manual_seed(5)
    found = program(weights.repeat_interleave(2000, 0)).reshape(2, 2000, count)
    assert found.dtype is torch.int64 and stops() == []
    shares = torch.nn.functional.one_hot(found[:, :, 0], 4).double().mean(1)
    torch.testing.assert_close(shares, (weights / weights.sum(1, keepdim=True)).double(), atol=0.04, rtol=0)
    assert (weights.gather(1, found.reshape(2, -1)) > 0).all()
    if count == 2:
        assert (found[:, :, 0] != found[:, :, 1]).all()


def test_rows_of_weights_that_are_too_long_to_be_sorted_here():
    program = lect.compile(lambda weights: torch.multinomial(weights, 50))
    found = program(torch.cat([torch.zeros(40), torch.ones(60)]))
    assert found.unique().numel() == 50 and int(found.min()) >= 40
