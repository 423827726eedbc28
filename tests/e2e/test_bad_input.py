"""What eager refuses: the compiled function raises the same exception with the same message, with the effects that come before it and none that come behind."""

from __future__ import annotations

import pytest
import torch

import lect
from tests.e2e.bad_calls import CALLS, INDICES


def outcome(run, compute, arguments, capsys):
    """(exception and message, what was appended, printed and written, whether the handler inside of the program saw it) of one call."""
    log, state, error = [], torch.zeros(2), None
    try:
        run(compute, log, state, *arguments)
    except Exception as raised:
        error = raised
    torch.manual_seed(0)
    seen = [tensor.clone() if tensor.device.type == "cpu" else tensor.shape for tensor in arguments]
    return (type(error), str(error)), log, state.tolist(), capsys.readouterr().out, seen


def with_effects(compute, log, state, *arguments):
    log.append(len(log))
    state.add_(1)
    arguments[0].mul_(1)
    result = compute(*arguments)
    log.append("behind")
    state.add_(1)
    return result


def with_print(compute, log, state, *arguments):
    log.append("before")
    print("in front")
    result = compute(*arguments)
    print("behind")
    return result


def with_handler(compute, log, state, *arguments):
    try:
        log.append("before")
        result = compute(*arguments)
        log.append("behind")
    except (RuntimeError, IndexError, ValueError, NotImplementedError) as error:
        log.append(type(error).__name__)
        log.append(str(error))
        result = None
    state.add_(1)
    return result


PROGRAMS = [with_effects, with_print, with_handler]


def equal(want, got):
    assert want[:-1] == got[:-1]
    for a, b in zip(want[-1], got[-1]):
        assert torch.equal(a, b) if isinstance(a, torch.Tensor) else a == b


@pytest.mark.parametrize("program", PROGRAMS, ids=lambda program: program.__name__)
@pytest.mark.parametrize("name", CALLS)
def test_a_bad_call_raises_what_eager_raises(name, program, capsys, recwarn):
    bad = CALLS[name]
    torch.manual_seed(0)
    arguments = bad.make()
    lect.reset()
    if bad.good is None and program is with_effects and arguments[0].dtype is torch.bool:
        arguments = (arguments[0].clone(), *arguments[1:])
    copies = [tensor.clone() if tensor.device.type == "cpu" else tensor for tensor in arguments]
    want = outcome(program, bad.compute, copies, capsys)
    compiled = lect.compile(program)
    if bad.good is not None:
        torch.manual_seed(0)
        first = outcome(compiled, bad.compute, bad.good(), capsys)
        assert first[0][0] is type(None), first
        assert "behind" in first[1] or program is with_print
    got = outcome(compiled, bad.compute, [tensor.clone() if tensor.device.type == "cpu" else tensor for tensor in arguments], capsys)
    assert want[0][0] is not type(None) or program is with_handler
    equal(want, got)
    assert [event.detail for event in lect.events("fallback", "note") if event.number == "LB0020"] == []


@pytest.mark.parametrize("name", INDICES)
def test_a_good_call_behind_a_bad_one_gives_eagers_value(name):
    bad = INDICES[name]
    compiled = lect.compile(bad.compute)
    torch.manual_seed(0)
    good, wrong = bad.good(), bad.make()
    compiled(*good)
    with pytest.raises(Exception, match=r"."):
        compiled(*wrong)
    torch.manual_seed(1)
    want = bad.compute(*good)
    torch.manual_seed(1)
    torch.testing.assert_close(compiled(*good), want)


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("dtype", [torch.complex32, torch.float8_e4m3fn, torch.float8_e5m2], ids=str)
def test_a_dtype_that_no_level_has(dtype):
    """As an input, and as what a rest of the function begins with."""
    x = torch.randn(3)
    for fn, given in ((lambda x: x.to(torch.complex64 if dtype.is_complex else torch.float32) + 1, x.to(dtype)), (lambda x: (x + 1).to(dtype), x)):
        lect.reset()
        found, wanted = lect.compile(fn)(given), fn(given)
        assert found.dtype is wanted.dtype
        wide = torch.complex64 if dtype.is_complex else torch.float32
        assert torch.equal(found.to(wide), wanted.to(wide))
        assert "LB0020" not in {event.number for event in lect.events("fallback", "note", "graph break")}


def test_arguments_that_do_not_fit_while_an_exception_is_handled():
    def program(x, y):
        return x + y

    compiled = lect.compile(program)
    compiled(torch.ones(2), torch.ones(2))
    for run in (program, compiled):
        try:
            raise KeyError(1)
        except KeyError as handled:
            with pytest.raises(TypeError, match="missing 1 required positional argument: 'y'") as raised:
                run(torch.ones(2))
            assert raised.value.__context__ is handled
