"""What runs below a call is replaced between two calls: callees of torch's own Python functions, and `_call_impl` of one module or of its class."""

import contextlib
import gc
import types
import weakref

import pytest
import torch
import torch.nn.functional as F

import lect
from tests.e2e.support import same, stops, versions


@contextlib.contextmanager
def replaced(owner, name, value):
    """A block in which `owner.name` is something else."""
    own, before = name in vars(owner), getattr(owner, name)
    setattr(owner, name, value)
    try:
        yield
    finally:
        setattr(owner, name, before) if own else delattr(owner, name)


def seven_times(first, *rest, **named):
    return (first[0] if isinstance(first, tuple | list) else first) * 7


VF = types.SimpleNamespace(_VariableFunctions=types.SimpleNamespace(rsub=seven_times))
# A program, where a callee stands, and its name.
CALLEES = {
    "native_function": (F.hardswish, torch._C._nn, "hardswish", None),
    "function_of_torch": (lambda x: F.layer_norm(x, (3,)), torch, "layer_norm", None),
    "function_without_a_module": (lambda x: F.dropout(x, 0.0), torch._VF, "dropout", None),
    "helper_in_python": (lambda x: F.batch_norm(torch.stack([x, x * 2, x**2]), None, None, training=True), F, "_verify_batch_size", lambda size: None),
    "method_of_a_tensor": (F.tanh, torch.Tensor, "tanh", None),
    "below_a_method": (lambda x: x.norm(), torch, "norm", None),
    "two_levels_below": (lambda x: x.norm(), torch.linalg, "vector_norm", None),
    "below_an_operator": (lambda x: 1 - x, torch._tensor, "_C", VF),
    "module_of_a_function": (F.relu, F, "torch", types.SimpleNamespace(relu=seven_times)),
}


@pytest.mark.parametrize("case", CALLEES.values(), ids=CALLEES.keys())
def test_callees_of_functions_of_torch(case):
    program, owner, name, value = case

    def calls(run):
        torch.manual_seed(0)
        found = [run(x)]
        with replaced(owner, name, value or seven_times):
            found.append(run(x))
        return [*found, run(x)]

    lect.reset()
    x = torch.randn(3)
    same(calls(program), calls(lect.compile(program)))


def test_what_torch_calls_makes_no_new_version_while_it_stays():
    def program(x):
        return F.layer_norm(F.dropout(F.softmax(x, -1), 0.0), (3,)).norm() + (1 - x)

    lect.reset()
    compiled = lect.compile(program, options={"guards": "both"})
    torch.nn.functional.unrelated = 1
    for _ in range(3):
        x = torch.randn(3)
        same(program(x), compiled(x))
        torch.nn.functional.unrelated += 1
    del torch.nn.functional.unrelated
    assert versions() == 1 and not stops()


def of_one_module():
    made = torch.nn.Sequential(torch.nn.Tanh(), torch.nn.ReLU())
    yield made
    made[1]._call_impl = lambda x: x * 7
    yield made
    made[1].__dict__["_call_impl"] = lambda x: x * 8
    yield made
    del made[1]._call_impl
    yield made


def of_the_compiled_module():
    made = torch.nn.ReLU()
    yield made
    made._call_impl = lambda x: x * 7
    yield made
    del made._call_impl
    yield made


def of_the_class():
    class Twice(torch.nn.Module):
        def forward(self, x):
            return x * 2

    made = torch.nn.Sequential(Twice())
    yield made
    Twice._call_impl = lambda self, x: x * 7
    yield made
    del Twice._call_impl
    yield made
    Twice._compiled_call_impl = staticmethod(lambda x: x * 8)
    yield made
    del Twice._compiled_call_impl
    yield made


@pytest.mark.parametrize("make", [of_one_module, of_the_compiled_module, of_the_class])
def test_what_a_call_of_a_module_runs(make):
    lect.reset()
    x, compiled = torch.randn(3), None
    want = [module(x) for module in make()]
    got = []
    for module in make():
        compiled = compiled or lect.compile(module)
        got.append(compiled(x))
    same(want, got)


def method_that_a_weak_reference_finds():
    class Scale:
        by = 2

        def number(self):
            return self.by

    made = Scale()
    found = weakref.WeakMethod(made.number)

    def program(x):
        return x * (found()() if found() is not None else 9)

    yield program
    Scale.by = 3
    yield program
    del made
    gc.collect()
    yield program


def switch_of_fused_attention():
    def program(x):
        return x * (2 if torch.backends.mha.get_fastpath_enabled() else 3)

    yield program
    torch.backends.mha.set_fastpath_enabled(False)
    try:
        yield program
    finally:
        torch.backends.mha.set_fastpath_enabled(True)
    yield program


def attribute_of_a_class_that_is_given():
    def program(x, cls):
        return x * cls.factor

    for factor in (2, 3, 2):
        yield program, type("Scale", (), {"factor": factor})


@pytest.mark.parametrize("make", [method_that_a_weak_reference_finds, switch_of_fused_attention, attribute_of_a_class_that_is_given])
def test_what_a_function_reads(make):
    lect.reset()
    x, compiled, got, want = torch.randn(3), None, [], []
    for found in (want, got):
        for step in make():
            program, *args = step if isinstance(step, tuple) else (step,)
            if found is got:
                program = compiled = compiled or lect.compile(program)
            found.append(program(x, *args))
    same(want, got)
