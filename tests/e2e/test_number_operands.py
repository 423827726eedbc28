"""Numbers that change from call to call as operands of torch functions: dtypes and values are those that eager gives with Python numbers."""

import math

import pytest
import torch

import lect
from lect.frontends.tensors.lower import rules_pointwise
from tests.e2e.support import same, versions
from tests.e2e.test_numbers import CALLS, Object, X, numbers, rates, run


@pytest.fixture(autouse=True)
def fresh():
    lect.reset()
    yield
    lect.reset()


def test_fifty_rates():
    def f(x, rate):
        return x * rate - rate / (x * x + 1)

    assert run(f, numbers(*rates(50))) == 2


def test_operands_of_every_kind():
    def f(x, y, n):
        z = torch.add(x, y, alpha=n) + torch.sub(y, x, alpha=-n)
        z = z.mul_(n).add_(y, alpha=n) + n
        z = torch.addcmul(z, x, y, value=n) + torch.addcdiv(z, x, y * y + 1, value=-n)
        z = torch.lerp(z, x, n) + z.lerp(y, n * 2)
        z = torch.clamp(z, -n, n + 1).clamp_min(-n / 2).clamp_max(n)
        z = torch.where(x > n, z, n) + z.masked_fill(y <= n, n) + torch.where(x == n, 1, z)
        z = z + torch.full_like(z, n) + torch.full((4,), n) + z.new_full((1,), n) + torch.zeros(4).fill_(n)
        return z, 1 - z, n / (z * z + 1), z // n, z % n, z.t() * n, torch.div(z, n, rounding_mode="trunc"), z.mean() * n

    x, y = torch.randn(3, 4), torch.randn(3, 4)
    assert run(f, [lambda n=n: (x, y, n) for n in (0.3, 0.7, 1.1, 0.25)], exact=False) == 2
    lect.reset()
    assert run(f, [lambda n=n: (x, y, n) for n in (3, 2, 5)], exact=False) == 2


def test_values_are_those_of_constants():
    """Where a kernel rounds otherwise than eager's, it does so for both kinds of number."""

    def f(x, y, n):
        scaled = torch.addcmul(x, x, y, value=n), torch.addcdiv(x, x, y * y + 1, value=-n), torch.lerp(x, y, n)
        return *scaled, torch.add(x, y, alpha=n), torch.sub(x, y, alpha=n), x * n, x / n, n / (x * x + 1), torch.clamp(x, -n, n), x**2 * n

    x, y = torch.randn(64), torch.randn(64)
    constant, varying = lect.compile(f, dynamic=False), lect.compile(f, dynamic=True)
    for n in (0.3, 1.7, 0.0123):
        same(constant(x, y, n), varying(x, y, n), exact=True)


@pytest.mark.parametrize("dtype", [torch.float64, torch.float16, torch.bfloat16, torch.int64, torch.int32, torch.uint8, torch.bool])
def test_promotion_is_that_of_a_python_number(dtype):
    def f(x, n):
        return x * n, x + n, n - x, x / n, x < n, torch.full_like(x, n), x.amax() + n

    x = torch.tensor([[3, 1, 0], [5, 2, 7]]).to(dtype)
    if dtype is torch.bool:
        f = lambda x, n: (x * n, x + n, x / n, x < n)  # noqa: E731
    assert run(f, [lambda n=n: (x, n) for n in (2, 5, 3)]) == 2
    lect.reset()
    run(f, [lambda n=n: (x, n) for n in (0.3, 1.7, 2.5)])


def test_special_values_as_operands():
    def f(x, n):
        return x * n, x + n, torch.clamp(x, max=n), x / n, torch.full_like(x, n), x == n

    x = torch.tensor([1.0, -2.0, 0.0, -0.0, math.inf, math.nan])
    assert run(f, [lambda n=n: (x, n) for n in (1.0, 2.0, math.inf, -math.inf, math.nan, 0.0, -0.0, 5e-324, 1e-40, 3e38, 0.1)]) == 2


def test_clamp_where_eager_ignores_a_bound_that_is_nan(monkeypatch):
    """As torch's kernels for some processors do, which the one at hand need not be."""
    monkeypatch.setattr(rules_pointwise, "eager_ignores_nan", lambda: True)
    x = torch.tensor([1.0, -2.0, math.inf, math.nan])
    same(x, lect.compile(lambda x: torch.clamp(x, max=math.nan))(x), exact=True)
    assert lect.compile(lambda x: torch.clamp(x, 0.0, math.nan))(x).isnan().all()
    compiled = lect.compile(lambda x, n: torch.clamp(x, min=n))
    for bound in (1.0, 2.0, math.nan, 0.5):
        same(x if bound != bound else torch.clamp(x, min=bound), compiled(x, bound), exact=True)


def test_number_beyond_the_dtype_is_a_constant():
    """Eager raises for some of these; a constant is looked at by torch itself."""
    assert run(lambda x, n: (x * n, x + n), numbers(1.0, 2.0, 1e300, 3.0)) == 3
    lect.reset()
    x = torch.ones(3, dtype=torch.float16)
    assert run(lambda x, n: x * n, [lambda n=n: (x, n) for n in (1.0, 2.0, 1e5, 3.0)]) == 3
    lect.reset()
    x = torch.ones(3, dtype=torch.int8)
    assert run(lambda x, n: x * n, [lambda n=n: (x, n) for n in (1, 2, 300, 3)]) == 3


def test_mixed_types_as_operands():
    x = torch.arange(6)
    assert run(lambda x, n: x * n + 1, [lambda n=n: (x, n) for n in (1, 2, 0.5, 3, 0.25, True, 7)]) <= 4


def test_power_with_numbers_that_torch_treats_specially():
    def f(x, n):
        return x**n

    x = torch.rand(8) + 0.5
    compiled = lect.compile(f)
    for n in (0.3, 0.7, 2.0, 3.0, 0.5, -0.5, -1.0, 1.0, 0.0, 1.3):
        torch.testing.assert_close(compiled(x, n), f(x, n), rtol=1e-6, atol=0)
        if n in (2.0, 3.0, 1.0):
            same(f(x, n), compiled(x, n), exact=True)


def test_expressions_are_passed_on():
    def f(o, x):
        o.step += 1
        scale = o.rate * min(1.0, o.step / 10) / (1 - 0.9**o.step)
        return x * scale + x / math.sqrt(o.step), scale

    mine, other = Object(step=0, rate=0.1), Object(step=0, rate=0.1)
    compiled = lect.compile(f)
    for _ in range(CALLS):
        same(f(mine, X), compiled(other, X), exact=True)
        other.rate = mine.rate = mine.rate * 0.9
    assert versions() == 3  # the warm-up ends


def test_gradients_through_a_rate():
    def f(x, w, rate):
        loss = (x * w * rate + rate).sum() * rate
        loss.backward()
        return loss.detach()

    def step(x, w, rate):
        return ((x * w * rate + rate) ** 2).mean() * rate

    compiled = lect.compile(step)
    for rate in rates(5):
        w1, w2 = (torch.full((3,), 0.5, requires_grad=True) for _ in range(2))
        want, got = step(X, w1, rate), compiled(X, w2, rate)
        want.backward()
        got.backward()
        same(want.detach(), got.detach())
        same(w1.grad, w2.grad)
    assert versions() == 2


def test_sgd_and_adam_by_hand():
    def adam(p, g, m, v, o):
        o.step += 1
        m.lerp_(g, 1 - o.beta1)
        v.mul_(o.beta2).addcmul_(g, g, value=1 - o.beta2)
        size = o.rate / (1 - o.beta1**o.step)
        denominator = (v.sqrt() / math.sqrt(1 - o.beta2**o.step)).add_(o.eps)
        return p.addcdiv(m, denominator, value=-size)

    def state():
        torch.manual_seed(0)
        return [torch.randn(5) for _ in range(2)] + [torch.zeros(5), torch.zeros(5)], Object(step=0, beta1=0.9, beta2=0.999, rate=0.01, eps=1e-8)

    (a, o), (b, q) = state(), state()
    compiled = lect.compile(adam)
    for _ in range(CALLS):
        a[0], b[0] = adam(*a, o), compiled(*b, q)
        same(a, b)
        same(o, q)
    assert versions() == 2


def test_number_that_a_function_in_python_looks_at():
    def f(x, p):
        return torch.nn.functional.dropout(x, p, training=False), torch.nn.functional.hardtanh(x, -p, p), torch.nn.functional.leaky_relu(x, p)

    assert run(f, numbers(0.1, 0.2, 0.3)) == 3


def test_level_of_reference_interpreters():
    for level in ("fx", "functional", "loop"):
        lect.reset()
        assert run(lambda x, n: torch.add(x, x, alpha=n) * n, numbers(*rates(4)), options={"level": level}) == 2


def test_tensor_of_a_number():
    def f(x, n):
        return x + torch.tensor(n), torch.tensor(n), torch.as_tensor(n, dtype=torch.float64), torch.scalar_tensor(n)

    assert run(f, numbers(0.5, 0.25, 3.5)) == 2
    lect.reset()
    assert run(f, numbers(5, 2, 3)) == 2


@pytest.mark.parametrize("kind", [torch.optim.SGD, torch.optim.Adam])
def test_optimizer_with_a_schedule(kind):
    """The rate of each step is another one; the first step makes the state."""

    def made():
        torch.manual_seed(0)
        parameters = [torch.nn.Parameter(torch.randn(4)) for _ in range(2)]
        options = {"momentum": 0.9} if kind is torch.optim.SGD else {}
        return parameters, kind(parameters, lr=0.1, foreach=False, **options)

    (mine, eager), (other, followed) = made(), made()
    step = lect.compile(lambda optimizer: optimizer.step())
    for number in range(10):
        for a, b in zip(mine, other):
            gradient = torch.randn(4)
            a.grad, b.grad = gradient.clone(), gradient.clone()
        for optimizer in (eager, followed):
            optimizer.param_groups[0]["lr"] = 0.1 / (number + 1)
        eager.step()
        step(followed)
        same([p.detach() for p in mine], [p.detach() for p in other])
    assert versions() <= 3


def test_a_tensor_of_a_number_gives_the_number_back():
    """Rounded to the type of the tensor, in one graph and one version for all numbers."""

    def program(x, n, w):
        halves = torch.tensor(n).item(), float(torch.tensor(n)), int(torch.as_tensor(n)), torch.scalar_tensor(n, dtype=torch.float64).item()
        wide = torch.tensor(n, dtype=torch.float32).item(), torch.tensor(w).item(), float(torch.scalar_tensor(w)), torch.tensor(w, dtype=torch.float64).item()
        return x * torch.tensor(n).item(), x + float(torch.tensor(w)), halves, wide, bool(torch.tensor(w)), int(torch.tensor(w))

    compiled = lect.compile(program)
    for n, w in ((1, 0.1), (3, -2.7), (1 << 40, 1e30), ((1 << 53) - 1, 5e-324), (7, 1 / 3), (-2, 16777217.0)):
        x = torch.randn(3)
        same(program(x, n, w), compiled(x, n, w), exact=True)
    assert lect.events("graph break") == []


def test_a_tensor_of_a_number_that_was_written_to_is_not_the_number():
    def program(x, n):
        made, other = torch.tensor(n), torch.tensor(n * 2.0)
        made += 1
        other.detach().mul_(3)
        return x * 2, made.item(), other.item()

    compiled = lect.compile(program)
    for n in (1.5, 2.5, 3.5, 4.5):
        x = torch.randn(3)
        same(program(x, n), compiled(x, n), exact=True)
