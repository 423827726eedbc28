"""A function that asks for plain sizes is run again with the Python forms of operators, and only then."""

import subprocess
import sys

import pytest
import torch

from lect.frontends.tensors import plain_sizes

ASKS = "operator aten::size does not exist"


def asking(calls, text=ASKS, write=False):
    """A function that raises as torch does as long as the Python forms are off."""

    def function(x, *, y):
        calls.append(torch._C._dispatch_tls_is_dispatch_key_included(torch._C.DispatchKey.PythonDispatcher))
        if write:
            x.add_(1)
        if not calls[-1]:
            raise RuntimeError(text)
        return x + y

    return function


def test_it_is_run_again_with_the_python_forms():
    calls = []
    found = plain_sizes.call(asking(calls), (torch.ones(2),), {"y": torch.ones(2)})
    assert found.tolist() == [2, 2] and calls == [False, True]


def test_another_error_is_that_of_the_function():
    calls = []
    with pytest.raises(RuntimeError, match="shapes differ"):
        plain_sizes.call(asking(calls, "shapes differ"), (torch.ones(2),), {"y": torch.ones(2)})
    assert calls == [False]


def test_nothing_is_written_twice():
    calls, x = [], torch.ones(2)
    with pytest.raises(RuntimeError, match="aten::size"):
        plain_sizes.call(asking(calls, write=True), (x,), {"y": torch.ones(2)})
    assert calls == [False] and x.tolist() == [2, 2]


def test_no_symbolic_algebra_is_imported():
    program = """
import sys, torch, lect
for shapes in (lambda b, t: ((b, t, 4), (4,)), lambda b, t: ((b, 3, t, 4), (3, 4, t)), lambda b, t: ((t,), (b, t, 4))):
    compiled = lect.compile(lambda x, y: (x @ y) * 2)
    for b, t in [(2, 5), (3, 7), (6, 9)]:
        compiled(*[torch.randn(shape, requires_grad=True) for shape in shapes(b, t)]).sum().backward()
assert not lect.events("static sizes"), lect.events("static sizes")
print([name for name in ("sympy", "torch.fx.experimental.symbolic_shapes", "torch._dynamo") if name in sys.modules])
"""
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
    assert (done.stdout.strip(), done.returncode) == ("[]", 0), done.stderr


def test_symbolic_algebra_that_others_have_imported_does_not_look_into_sizes():
    program = """
import torch, lect, torch.fx.experimental.symbolic_shapes
compiled = lect.compile(lambda x, y: torch.nn.functional.scaled_dot_product_attention(x, x, x, dropout_p=0.5) @ y)
for b, t in [(2, 5), (3, 7), (6, 9)]:
    compiled(torch.randn(b, 2, t, 4, requires_grad=True), torch.randn(4)).sum().backward()
print(lect.events("static sizes", "fallback"), len(lect.events("compile")))
"""
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
    assert (done.stdout.strip(), done.returncode) == ("[] 2", 0), done.stderr
