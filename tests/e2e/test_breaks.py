"""Graph breaks: the function is left at one operation and entered again behind it, with eager's values, output and effects."""

import contextlib
import io
from dataclasses import replace

import pytest
import torch

import lect
from lect.runtime import entry
from tests.e2e import break_places, break_programs
from tests.e2e.support import fallbacks, same

GENERATOR = torch.Generator().manual_seed(3)


@pytest.fixture(autouse=True)
def fresh():
    lect.reset()
    yield
    lect.reset()


def run(fn, *args):
    """(what a call returns, what it prints)."""
    out = io.StringIO()
    with contextlib.redirect_stdout(out):
        returned = fn(*args)
    return returned, out.getvalue()


def breaks():
    return [event.number for event in lect.events("graph break")]


@pytest.mark.parametrize("level", ["fx", "native"])
@pytest.mark.parametrize("program", [*break_programs.PROGRAMS, *break_places.PROGRAMS], ids=lambda program: program.__name__)
def test_program(program, level):
    compiled = lect.compile(program, options={"level": level})
    for seed in range(3):
        x = torch.randn(4, 3, generator=torch.Generator().manual_seed(seed))
        want, said = run(program, x)
        got, says = run(compiled, x)
        assert says == said
        same(want, got, exact=level == "fx")
    assert breaks(), [str(event) for event in lect.events()]
    assert not [str(event) for kind in ("graph break", "fallback") for event in lect.events(kind) if not event.location]
    assert set(fallbacks()) <= {"LB0022", "LB0012"}, [str(event) for event in lect.events("fallback")]


@pytest.mark.parametrize("module", break_programs.MODULES)
def test_module(module):
    torch.manual_seed(0)
    module = module()
    compiled = lect.compile(module)
    with torch.no_grad():
        for _ in range(2):
            x = torch.randn(4, 3, generator=GENERATOR)
            want, said = run(module, x)
            got, says = run(compiled, x)
            assert says == said
            same(want, got)
    assert breaks()
    assert set(fallbacks()) <= {"LB0022"}, [str(event) for event in lect.events("fallback")]


def test_explain_lists_graphs_and_breaks(capsys):
    def program(x):
        y = x * 2
        print("now")
        return y.relu() if y.sum() > 0 else y.sin()

    report = lect.explain(program)(torch.ones(3))
    assert capsys.readouterr().out == "now\n"
    assert [event.number for event in report.breaks] == ["LB0013", "LB0002"]
    assert (report.graphs, report.torch_calls) == (3, 4)
    assert report.break_reason.number == "LB0013"
    text = str(report)
    assert text.startswith("test_explain_lists_graphs_and_breaks.<locals>.program: 3 graphs, 2 graph breaks\n")
    assert "test_breaks.py" in text
    assert text.count("fx.graph @") == 3


def test_explain_of_one_graph_does_not_run_it():
    seen = []

    def program(x):
        seen.append(1)
        return x + 1

    assert lect.explain(program)(torch.ones(2)).graphs == 1
    assert seen == []


def test_frame_that_is_too_long_to_follow_runs_eagerly_for_good(monkeypatch):
    from lect.frontends.capture import interpreter

    monkeypatch.setattr(interpreter, "MAX_BLOCKS", 500)

    def program(x, n):
        total = 0
        for i in range(n):
            total += i
        return x + total

    compiled = lect.compile(program)
    x = torch.ones(3)
    same(program(x, 10), compiled(x, 10))
    assert fallbacks() == []
    for n in (1000, 1001, 1002):
        same(program(x, n), compiled(x, n))
    assert fallbacks() == ["LB0031"]
    assert len(lect.events("trace")) == 1


@pytest.mark.parametrize("every", [20, 1000])
def test_frame_that_goes_on_for_long_without_calling_torch_runs_eagerly(monkeypatch, every):
    from lect.frontends.capture import interpreter

    monkeypatch.setattr(interpreter, "MAX_BLOCKS_WITHOUT_CALLS", 200)

    def program(x, n):
        total = 0
        for i in range(n):
            total += i
            if i % every == 0:
                x = x + total
        return x

    compiled, x = lect.compile(program), torch.randn(3)
    for _ in range(2):
        same(program(x, 900), compiled(x, 900))
    assert fallbacks() == (["LB0031"] if every == 1000 else [])


def test_a_number_whose_value_is_needed_does_not_make_a_long_frame_be_followed_again(monkeypatch):
    from lect.frontends.capture import interpreter, to_fx

    monkeypatch.setattr(interpreter, "MAX_BLOCKS", 300)
    attempts = []
    attempt = to_fx.Search.attempt
    monkeypatch.setattr(to_fx.Search, "attempt", lambda search: attempts.append(search) or attempt(search))

    def program(x, n):
        items = [0.0] * n
        for _ in range(1000):
            n += 1
        return x + n + len(items)

    compiled, x = lect.compile(program, dynamic=True), torch.randn(3)
    same(program(x, 5), compiled(x, 5))
    assert fallbacks() == ["LB0031"]
    assert len(attempts) == 1


def test_break_below_hooks_of_all_modules(capsys):
    """The value of a module's call is that of its hooks then, not that of its forward."""

    class Said(torch.nn.Module):
        def forward(self, x):
            print("forward")
            return x + 1

    module = Said()
    compiled = lect.compile(lambda x: module(x) * 2)
    handle = torch.nn.modules.module.register_module_forward_hook(lambda module, args, output: output * 10)
    try:
        same((torch.ones(3) + 1) * 20, compiled(torch.ones(3)))
    finally:
        handle.remove()
    same((torch.ones(3) + 1) * 2, compiled(torch.ones(3)))
    assert capsys.readouterr().out == "forward\nforward\n"


def test_dump_shows_steps_and_resume_functions(tmp_path, monkeypatch):
    monkeypatch.setattr(entry.RUNTIME, "environment", replace(entry.RUNTIME.environment, dump=str(tmp_path)))

    def program(x):
        y = x * 2
        print(end="")
        return y + 1

    lect.compile(program)(torch.ones(3))
    text = next(path for path in tmp_path.glob("*/000-capture.mlir") if "rest" not in path.parent.name).read_text()
    assert text.count("pyframe.func @") == 3
    assert ".step_" in text
    assert ".resume_" in text
