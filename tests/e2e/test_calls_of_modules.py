"""What a call of a compiled module runs is the `__call__` of its class, also an inherited one and one that is set or taken away later."""

import copy

import pytest
import torch

import lect
from tests.e2e.support import same

FX = {"level": "fx"}
TRIGGERS = [FX, {**FX, "trigger": "hook"}]


@pytest.fixture(autouse=True)
def fresh():
    lect.reset()
    yield
    lect.reset()


class Plain(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.weight = torch.nn.Parameter(torch.randn(3))

    def forward(self, x):
        return x * self.weight


class Above(Plain):
    def __call__(self, *args, **kwargs):
        return super().__call__(*args, **kwargs) * 100


class Inherited(Above):
    pass


class Twice(Above):
    def __call__(self, x, more=1):
        return super().__call__(x) + more


class Around(Plain):
    def __call__(self, x):
        return self.forward(x) * 100


class Alone(torch.nn.Module):
    def __call__(self, x):
        return x * 100


class OfTorch(torch.nn.Sequential):
    def __init__(self):
        super().__init__(torch.nn.Linear(3, 3))

    def __call__(self, x):
        return super().__call__(x) * 100


class Breaking(Plain):
    def __init__(self):
        super().__init__()
        self.seen = []

    def __call__(self, x):
        y = super().__call__(x)
        self.seen.append(float(y.detach().sum()))
        return y * 100


class Static(Plain):
    __call__ = staticmethod(lambda x: x * 7)


@pytest.mark.parametrize("options", TRIGGERS, ids=["entry", "hook"])
@pytest.mark.parametrize("kind", [Above, Inherited, Twice, Around, Alone, OfTorch, Breaking, Static])
def test_the_class_has_a_call_of_its_own(kind, options):
    module = kind()
    other = copy.deepcopy(module)
    compiled = lect.compile(other, options=options)
    for x in (torch.randn(3), torch.tensor([float("nan"), float("inf"), -0.0]), torch.randn(2, 3), torch.randn(3, requires_grad=True)):
        want, got = module(x), compiled(x)
        same(want, got)
        if want.requires_grad:
            want.sum().backward()
            got.sum().backward()
    same([p.grad for p in module.parameters()], [p.grad for p in other.parameters()])
    if kind is Breaking:
        torch.testing.assert_close(other.seen, module.seen, equal_nan=True)
    assert isinstance(compiled, kind)
    x = torch.randn(3)
    same(module(x), copy.deepcopy(compiled)(x))


def test_its_graph_holds_what_the_call_does():
    module, x = Above(), torch.randn(3)
    explained = lect.explain(module)(x)
    assert explained.graphs == 1 and explained.torch_calls == 2 and not explained.breaks
    same(module(x), lect.compile(module, fullgraph=True, options=FX)(x))


def test_arguments_that_do_not_fit_have_the_error_of_the_call():
    module = Twice()
    for compiled in (module, lect.compile(module, options=FX)):
        with pytest.raises(TypeError, match=r"Twice.__call__\(\) got an unexpected keyword argument 'less'"):
            compiled(torch.randn(3), less=2)
    same(module(torch.ones(3), more=3), lect.compile(module, options=FX)(torch.ones(3), more=3))


def test_hooks_run_inside_of_it():
    module = Above()
    module.register_forward_hook(lambda module, args, result: result + 1)
    x = torch.randn(3)
    same(module(x), lect.compile(module, options=FX)(x))


@pytest.mark.parametrize("options", TRIGGERS, ids=["entry", "hook"])
@pytest.mark.parametrize("before", [False, True])
@pytest.mark.parametrize("breaks", [False, True])
@pytest.mark.parametrize("inherited", [False, True])
def test_a_call_that_is_replaced_and_taken_away(inherited, breaks, before, options):
    class Base(torch.nn.Module):
        def forward(self, x):
            if breaks:
                print(end="")
            return x + 1

    class Derived(Base):
        pass

    def again(factor):
        return lambda self, x: torch.nn.Module.__call__(self, x) * factor

    module, x = (Derived if inherited else Base)(), torch.randn(3)
    if before:
        Base.__call__ = again(9)
    compiled = lect.compile(module, options=options)
    for factor in (9 if before else 1, 9, 8):
        if factor != 1:
            Base.__call__ = again(factor)
        for _ in range(2):
            same((x + 1) * factor, compiled(x))
    del Base.__call__
    same(x + 1, compiled(x))
    Derived.__call__ = again(3)
    same((x + 1) * (3 if inherited else 1), compiled(x))


def test_a_call_that_is_replaced_where_nothing_is_compiled():
    class Written(torch.nn.Module):
        @lect.disable
        def forward(self, x):
            return x + 1

    module, x = Written(), torch.randn(3)
    compiled = lect.compile(module, options=FX)
    same(x + 1, compiled(x))
    Written.__call__ = lambda self, x: x * 5
    same(x * 5, compiled(x))


@pytest.mark.filterwarnings("ignore::DeprecationWarning")
def test_a_module_of_torchscript():
    scripted, x = torch.jit.script(torch.nn.Linear(3, 3)), torch.randn(2, 3)
    same(scripted(x), lect.compile(scripted, options=FX)(x))
