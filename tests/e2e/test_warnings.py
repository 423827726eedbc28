"""`warnings.warn` in a compiled function: no cut, and each call warns as eager does, for the same line."""

import subprocess
import sys
import threading
import time
import warnings

import pytest
import torch
import torch.nn.functional as F

import lect
from tests.e2e.support import same, stops, versions


def helper(x):
    warnings.warn("old", DeprecationWarning, stacklevel=2)
    return x + 1


def for_its_line(x):
    y = x * 2
    warnings.warn(f"shape {x.shape[0]}", category=RuntimeWarning)  # noqa: B028
    return y + 1


def for_callers_in_the_frame(x):
    y = helper(x)
    return y + helper(
        y,
    )


def for_the_caller(x):
    warnings.warn("above", stacklevel=2)
    return x + 1


def handled(x):
    try:
        warnings.warn("an error")  # noqa: B028
    except UserWarning:
        return x - 1
    return x + 1


def of_torch(x):
    return F.softmax(x) * 2


def of_torch_in_a_helper(x):
    def inner(x):
        y = x + 1
        return F.softmax(y)

    return [inner(each) for each in (x, x * 2)][0]


def of_torch_beside_its_own(x):
    warnings.warn("first")  # noqa: B028
    y = F.softmax(x)
    warnings.warn("third")  # noqa: B028
    return y


def of_torch_with_gradients(x):
    y = F.softmax(x.requires_grad_())
    return torch.autograd.grad(y[0], x)[0]


def outcomes(program, mode):
    """What three calls give or raise, and the warnings that are shown."""
    globals().pop("__warningregistry__", None)
    given = []
    with warnings.catch_warnings(record=True) as shown:
        warnings.simplefilter(mode)
        for _ in range(3):
            try:
                given.append(program(torch.ones(2)).tolist())
            except Warning as error:
                given.append(repr(error))
    return given, [(str(each.message), each.category, each.filename, each.lineno) for each in shown]


@pytest.mark.parametrize("mode", ["always", "default", "error"])
@pytest.mark.parametrize(
    "program",
    [for_its_line, for_callers_in_the_frame, for_the_caller, handled, of_torch, of_torch_in_a_helper, of_torch_beside_its_own, of_torch_with_gradients],
    ids=lambda program: program.__name__,
)
def test_warnings_are_those_of_eager(program, mode):
    lect.reset()
    assert outcomes(program, mode) == outcomes(lect.compile(program, options={"level": "fx"}), mode)
    assert mode == "error" or (versions() == 1 and not stops())


def test_a_filter_that_makes_errors_comes_later():
    compiled = lect.compile(for_its_line, options={"level": "fx"})
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        compiled(torch.ones(2))
        warnings.simplefilter("error")
        with pytest.raises(RuntimeWarning, match="shape 2"):
            compiled(torch.ones(2))


def test_what_c_code_warns_of_is_told_for_the_line_of_the_program(tmp_path):
    """It is told once in a process, so each way has its own."""
    program = tmp_path / "program.py"
    program.write_text(
        "import sys, torch, lect\n"
        "def program(x):\n"
        "    return x.T + 1\n"
        "run = program if sys.argv[1] == 'eager' else lect.compile(program)\n"
        "for _ in range(2):\n"
        "    run(torch.ones(2, 3, 4))\n"
        "assert sys.argv[1] == 'eager' or (lect.events('compile') and not lect.events('fallback', 'graph break'))\n"
    )
    shown = [subprocess.run([sys.executable, program, way], capture_output=True, text=True).stderr for way in ("eager", "lect")]
    assert f"{program}:3: UserWarning: The use of `x.T`" in shown[0]
    assert shown[1] == shown[0]


def test_a_compile_shows_no_line_of_lect_and_other_threads_warn_as_ever():
    stop, seen = threading.Event(), []

    def other():
        while not stop.is_set():
            warnings.warn("of another thread")  # noqa: B028
            time.sleep(0.001)

    lect.reset()
    with warnings.catch_warnings(record=True) as shown:
        warnings.simplefilter("always")
        before = warnings._showwarnmsg
        thread = threading.Thread(target=other)
        thread.start()
        for number in range(3):
            lect.compile(lambda x, number=number: F.softmax(x) + number)(torch.randn(3, requires_grad=True)).sum().backward()
        stop.set()
        thread.join()
        assert warnings._showwarnmsg is before
    seen = [each for each in shown if "Implicit" in str(each.message)]
    assert len(seen) == 3 and {each.filename for each in shown} == {__file__}
    assert any("another" in str(each.message) for each in shown)


def read_behind_a_warning(x):
    with warnings.catch_warnings(record=True) as given:
        warnings.simplefilter("always")
        warnings.warn("first")  # noqa: B028
        y = x * len(given)
        warnings.warn("second")  # noqa: B028
        warnings.warn("third", DeprecationWarning)  # noqa: B028
        z = y + len(given)
    return z, [(str(each.message), each.category, each.lineno) for each in given]


def silenced(x):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        y = x.abs() * 2
    return y, len(warnings.filters)


def made_an_error(x):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        try:
            warnings.warn("boo")  # noqa: B028
        except UserWarning as error:
            x = x * len(str(error))
    return x, len(warnings.filters)


def warned_while_silenced(x):
    with warnings.catch_warnings():
        warnings.filterwarnings("error", "never", UserWarning)
        warnings.filterwarnings("ignore", category=UserWarning, message="(a|Implicit).*")
        warnings.warn("a word")  # noqa: B028
        y = F.softmax(x) * 2
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            warnings.warn("never", UserWarning)  # noqa: B028
            y = y + F.softmax(x)
    return y, len(warnings.filters), "__warningregistry__" in globals()


def two_filters(x):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        warnings.filterwarnings("error", category=DeprecationWarning)
        warnings.warn("quiet")  # noqa: B028
        try:
            warnings.warn("old", DeprecationWarning)  # noqa: B028
        except DeprecationWarning as error:
            x = x * len(str(error))
    return x * 2


@pytest.mark.parametrize("program", [read_behind_a_warning, silenced, made_an_error, warned_while_silenced, two_filters])
def test_filters_of_a_block_and_what_it_records(program):
    lect.reset()
    compiled = lect.compile(program)
    for _ in range(3):
        x = torch.randn(3)
        same(program(x), compiled(x))
    assert program is read_behind_a_warning or not stops()


SHOWN = []


def shown_by_the_program(x):
    warnings.warn("seen", RuntimeWarning)  # noqa: B028
    return x * len(SHOWN)


def test_function_that_shows_warnings_runs_where_they_are_given(monkeypatch):
    warnings.simplefilter("always")
    compiled = lect.compile(shown_by_the_program)
    SHOWN.clear()
    with warnings.catch_warnings(record=True):
        same(shown_by_the_program(torch.ones(2)), compiled(torch.ones(2)))
    monkeypatch.setattr(warnings, "showwarning", lambda message, *rest, **more: SHOWN.append(message))
    want = shown_by_the_program(torch.ones(2))
    SHOWN.clear()
    same(want, compiled(torch.ones(2)))
    assert want.sum() == 2


def recorded(x):
    with warnings.catch_warnings(record=True) as given:
        warnings.simplefilter("always")
        x = x * 2
        warnings.warn("first")  # noqa: B028
        count = len(given)
        warnings.warn("second")  # noqa: B028
    return x + count, [str(each.message) for each in given]


def test_warnings_that_the_program_records_and_reads():
    """What is read is written down by then: a cut, and no failure of lect."""
    compiled = lect.compile(recorded)
    for _ in range(2):
        same(recorded(torch.ones(2)), compiled(torch.ones(2)))
    assert {event.number for event in lect.events("graph break")} <= {"LB0009", "LB0013"}
    assert "LB0020" not in {event.number for event in lect.events("fallback")}


def compiles_a_text_that_warns(x):
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        code = compile("assert (1, 'm')", "<text>", "exec")
    return x + 1, [str(each.message) for each in told], len(told), code.co_filename


def makes_a_warning_of_the_compiler_an_error(x):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        try:
            eval("1 is 1")
        except SyntaxError as error:
            return x + 1, error.msg
    return x, None


@pytest.mark.parametrize("program", [compiles_a_text_that_warns, makes_a_warning_of_the_compiler_an_error])
def test_texts_that_warn_when_they_are_compiled(program):
    compiled, x = lect.compile(program), torch.ones(2)
    for _ in range(2):
        want, got = program(x), compiled(x)
        assert torch.equal(want[0], got[0]) and want[1:] == got[1:]
