"""`lect.compile` of functions of torch that have no Python code: they are compiled as a function that calls them."""

import operator

import pytest
import torch

import lect
from tests.e2e.support import fallbacks, same

X = torch.rand(3, 4)


@pytest.fixture(autouse=True)
def fresh():
    lect.reset()
    yield
    lect.reset()


@pytest.mark.parametrize(
    ("function", "args", "kwargs"),
    [
        (torch.rsqrt, (X,), {}),
        (torch.add, (X, X.double()), {"alpha": 2}),
        (torch.Tensor.exp, (X,), {}),
        (torch.ops.aten.sin.default, (X,), {}),
        (torch.softmax, (X,), {"dim": 0}),
        (operator.matmul, (X, X.T), {}),
    ],
    ids=lambda value: getattr(value, "__name__", None),
)
def test_one_version_gives_eagers_values(function, args, kwargs):
    compiled = lect.compile(function)
    for _ in range(3):
        same(function(*args, **kwargs), compiled(*args, **kwargs))
    assert fallbacks() == [] and len(lect.events("compile")) == 1 and lect.events("graph break") == []
    assert lect.explain(function)(*args, **kwargs).parts


def test_the_backward_is_compiled_too():
    x = X.clone().requires_grad_()
    lect.compile(torch.rsqrt)(x).sum().backward()
    torch.testing.assert_close(x.grad, -0.5 * X.pow(-1.5))
    assert lect.events("backward")


def test_errors_are_the_functions_own():
    with pytest.raises(TypeError) as eager:
        torch.rsqrt("x")
    with pytest.raises(TypeError) as raised:
        lect.compile(torch.rsqrt)("x")
    assert str(raised.value) == str(eager.value)


def test_others_run_as_they_are():
    assert lect.compile(len)([1, 2]) == 2
    assert fallbacks() == ["LB0026"]


def test_names_of_types_follow_from_the_metadata():
    def program(*tensors):
        return [(x.type(), torch.typename(x), x.type(torch.float64)) for x in tensors]

    given = [X, torch.nn.Parameter(X), X.half(), X > 0.5, X.to(torch.complex64), torch.tensor(1)]
    compiled = lect.compile(program)
    same(program(*given), compiled(*given))
    assert fallbacks() == [] and lect.events("graph break") == []
