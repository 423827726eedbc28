"""Transforms of torch.func in compiled functions: one graph, and the values of torch.func itself."""

from types import SimpleNamespace

import pytest
import torch
import torch.nn.functional as F
from torch import nn
from torch.func import functional_call, grad, grad_and_value, hessian, jacfwd, jacrev, jvp, stack_module_state, vjp, vmap

import lect
from lect.dialects.fx import region_rules
from tests.e2e.support import check, fallbacks, same, stops, versions

W = torch.randn(8, 8)
NET = nn.Sequential(nn.Linear(8, 8), nn.Tanh(), nn.Linear(8, 3))


@pytest.fixture(autouse=True)
def fresh_start():
    lect.reset()


def vmap_of_linear(x):
    return vmap(lambda row: F.linear(row, W).relu().sum())(x)


def vmap_of_containers(x):
    return vmap(lambda row, scale: {"a": row * scale, "b": [row + 1, row.sum()]}, in_dims=(1, None), out_dims=0)(x, 2.0)


def vmap_along_dims_of_a_dictionary(x):
    return vmap(lambda pair: pair["x"] @ pair["w"], in_dims=({"x": 0, "w": None},), out_dims=1)({"x": x, "w": W})


def vmap_in_vmap(x):
    return vmap(lambda a: vmap(lambda b: (a * b).sum())(x))(x)


def vmap_with_keywords(x):
    return torch.vmap(lambda row, shift: row + shift)(x, shift=x)


def gradient(x):
    return grad(lambda y: y.sin().sum())(x)


def gradient_of_two(x):
    return grad(lambda y, z: (y * z).sin().sum(), argnums=(0, 1))(x, x + 1)


def gradient_with_value_and_more(x):
    return grad_and_value(lambda y: ((y * y).sum(), {"half": y / 2}), has_aux=True)(x)


def gradient_of_gradient(x):
    return grad(lambda y: grad(lambda z: z.sin().sum())(y).pow(2).sum())(x)


def gradients_of_each_example(x):
    def loss(weights, row):
        return F.linear(row, weights["w"]).pow(2).sum()

    return vmap(grad(loss), in_dims=(None, 0))({"w": W}, x)


def tangents(x):
    return jvp(lambda y: (y.sin(), y @ W), (x,), (torch.ones_like(x),))


def tangents_with_more(x):
    return jvp(lambda y: (y.sin(), y * 2), (x,), (torch.ones_like(x),), has_aux=True)


def cotangents(x):
    values, pull = vjp(lambda y, z: {"a": y.sin() * z, "b": y @ W}, x, x + 1)
    return values, pull(values), pull({"a": x, "b": x * 2})


def jacobians(x):
    return jacrev(lambda a, b: (a * b, a.sum()), argnums=(0, 1))(x[0], x[1]), jacfwd(lambda a: a.sin() @ W)(x[0])


def jacobians_of_parts(x):
    by_rows = jacrev(lambda a, b: ({"u": a.sin(), "v": b @ W}, a + b), argnums=1, has_aux=True)(x[0], x[1])
    return by_rows, jacfwd(lambda a, b: ((a * b, a.sum()), a + b), argnums=(0, 1), has_aux=True)(x[0], x[1])


def hessians(x):
    return hessian(lambda row: (row.sin() @ W).sum())(x[0])


def calls_with_other_parameters(x):
    parameters = {name: value.detach() * 2 for name, value in NET.named_parameters()}
    return functional_call(NET, parameters, (x,)).detach()


def gradients_of_a_module(x):
    parameters = {name: value.detach() for name, value in NET.named_parameters()}

    def loss(parameters, row):
        return functional_call(NET, parameters, (row,)).square().sum()

    return vmap(grad(loss), in_dims=(None, 0))(parameters, x)


PROGRAMS = [
    vmap_of_linear, vmap_of_containers, vmap_along_dims_of_a_dictionary, vmap_in_vmap, vmap_with_keywords, gradient, gradient_of_two,
    gradient_with_value_and_more, gradient_of_gradient, gradients_of_each_example, tangents, tangents_with_more, cotangents, jacobians,
    jacobians_of_parts, hessians, calls_with_other_parameters, gradients_of_a_module,
]  # fmt: skip


@pytest.mark.parametrize("level", ["fx", "native"])
@pytest.mark.parametrize("program", PROGRAMS, ids=lambda program: program.__name__)
def test_program_is_one_graph(program, level):
    compiled = lect.compile(program, options={"level": level})
    for seed in range(2):
        check(program, torch.randn(4, 8, generator=torch.Generator().manual_seed(seed)), compiled=compiled)
    assert (fallbacks(), versions()) == ([], 1), lect.events("fallback")


@pytest.mark.parametrize("name", ["jacrev", "jacfwd"])
def test_jacobians_for_older_versions_of_torch(name):
    """A rule that only the oldest torch needs gives what torch.func gives, layouts included."""
    op = SimpleNamespace(argnums=(0, 2), aux=1)
    region = lambda a, b, c: [a.outer(c), (a * b).sum(), c.exp() * c[:0].sum(), b + 1]  # noqa: E731
    given = [torch.randn(size) for size in (3, 3, 4)]
    wanted, more = getattr(torch.func, name)(lambda *args: (tuple(region(*args)[:3]), region(*args)[3]), op.argnums, has_aux=True)(*given)
    same([*[part for of_value in wanted for part in of_value], more], region_rules._OF_PARTS[name](op, region, given))


def test_gradients_of_each_example_are_native_code():
    check(gradients_of_each_example, torch.randn(4, 8))
    assert lect.events("note") == []


def test_transform_made_outside():
    outer = vmap(grad(lambda row: (row @ W).sin().sum()))
    check(lambda x: outer(x) + 1, torch.randn(4, 8))
    assert fallbacks() == []


@pytest.mark.parametrize("randomness", ["different", "same"])
def test_random_numbers_under_vmap(randomness):
    def program(x):
        return vmap(lambda row: row + torch.rand_like(row), randomness=randomness)(x)

    compiled = lect.compile(program, options={"rng": "eager"})
    x = torch.randn(4, 8)
    for seed in range(2):
        torch.manual_seed(seed)
        want = program(x)
        torch.manual_seed(seed)
        same(want, compiled(x))
    assert fallbacks() == []


def test_random_numbers_that_vmap_refuses():
    def program(x):
        return vmap(lambda row: row + torch.rand_like(row))(x)

    for _ in range(2):
        with pytest.raises(RuntimeError, match="randomness"):
            lect.compile(program)(torch.randn(4, 8))


def test_value_of_another_kind_is_eagers_error():
    def program(x):
        return grad(lambda y: y * 2)(x)

    with pytest.raises(RuntimeError) as want:
        program(torch.randn(4))
    with pytest.raises(RuntimeError) as got:
        lect.compile(program)(torch.randn(4))
    assert str(want.value) == str(got.value)


def test_effects_of_the_function_happen_once():
    seen = []

    def program(x):
        return vmap(lambda row: (seen.append(1), row * 2)[1])(x)

    check(program, torch.randn(4, 8))
    assert len(seen) == 2
    assert fallbacks() == []


def test_tensor_that_leaves_the_function_on_a_side_way_runs_eagerly():
    def program(x):
        kept = []
        total = grad(lambda y: (kept.append(y.detach()), y.sum())[1])(x)
        return total, len(kept)

    check(program, torch.randn(4))

    def leaks(x):
        kept = []
        grad(lambda y: (kept.append(y.sin()), y.sum())[1])(x)
        return kept[0] * 1

    leaks_compiled = lect.compile(leaks)
    x = torch.randn(4)
    torch.testing.assert_close(leaks_compiled(x).detach(), x.sin())
    assert "LB0007" in stops()


def test_captured_parameter_gets_gradients_through_vmap():
    weight = torch.randn(8, 8, requires_grad=True)

    def program(x):
        return vmap(lambda row: (row @ weight).sin().sum())(x).sum()

    x = torch.randn(4, 8)
    (want,) = torch.autograd.grad(program(x), weight)
    (got,) = torch.autograd.grad(lect.compile(program)(x), weight)
    same(want, got)
    assert fallbacks() == []


def test_models_in_one():
    models = [nn.Linear(8, 3).requires_grad_(False) for _ in range(3)]
    parameters, buffers = stack_module_state(models)
    parameters = {name: value.detach() for name, value in parameters.items()}
    base = models[0]

    def program(x):
        return vmap(lambda p, b: functional_call(base, (p, b), (x,)))(parameters, buffers)

    check(program, torch.randn(4, 8))
    assert fallbacks() == []


@pytest.mark.parametrize("level", ["fx", "native"])
def test_numbers_that_change(level):
    def program(x, scale):
        rows = vmap(lambda row, factor: row * factor + scale, in_dims=(0, None))(x, scale)
        return rows, grad(lambda y, factor: (y * factor).sin().sum())(x, scale)

    compiled = lect.compile(program, options={"level": level})
    for scale in (2.0, 3.0, 4.5, -1.0):
        check(program, torch.randn(3, 4), scale, compiled=compiled)
    assert stops() == []
    assert versions() == 2


DERIVED = {
    "sines": lambda v: v.sin().sum(),
    "exponentials": lambda v: v.exp().sum(),
    "products": lambda v: (v * v.sin()).sum(),
    "quotients": lambda v: (v / (v + 1)).sum() + v.log().sum(),
    "differences": lambda v: v.tanh().mean() - v.abs().sum(),
    "dot products": lambda v: torch.dot(v, v).sqrt() + v.prod(),
}
SECOND = {
    "hessian": hessian,
    "forward twice": lambda f: jacfwd(jacfwd(f)),
    "backward twice": lambda f: jacrev(jacrev(f)),
    "backward over forward": lambda f: jacrev(jacfwd(f)),
}


@pytest.mark.parametrize("of", list(DERIVED))
@pytest.mark.parametrize("twice", list(SECOND))
def test_zeros_that_torch_does_not_compute_with(of, twice):
    """What does not depend on an input has a derivative that is zero beside infinity too, and leaves the signs of other zeros as they are."""

    def program(x):
        return SECOND[twice](DERIVED[of])(x)

    lect.reset()
    compiled = lect.compile(program)
    inf, nan = float("inf"), float("nan")
    for numbers in ([1.0, -1.0, 2.0], [inf, 0.0, -1.0], [nan, -0.0, 1.0], [-inf, 1e30, -1e30]):
        want, got = program(torch.tensor(numbers)), compiled(torch.tensor(numbers))
        same(want, got)
        assert torch.equal(want.signbit() | want.isnan(), got.signbit() | got.isnan())
    assert fallbacks() == []
