"""Each operation of each program breaks the graph in turn: cut there, the program gives what it gives as a whole."""

import contextlib
import io
import random

import pytest
import torch

import lect
from lect.frontends.capture import interpreter
from lect.frontends.capture.breaks import GraphBreak
from lect.frontends.capture.interpreter import Program
from lect.frontends.capture.resume import NotResumable
from tests.e2e import break_places, break_programs, callback_programs, class_programs, generator_programs, group_programs
from tests.e2e.conftest import use_trigger
from tests.e2e.support import same

PROGRAMS = [*break_programs.PROGRAMS, *break_places.PROGRAMS, *generator_programs.PROGRAMS, *callback_programs.PROGRAMS, *class_programs.PROGRAMS, *group_programs.PROGRAMS]
# Bookkeeping of exceptions and of variables is no place for a cut: the frame runs eagerly.
NO_PLACE = frozenset(f"pyframe.{name}" for name in "push_exc pop_exc save_local restore_local return reraise drop".split())


@pytest.fixture(autouse=True, params=["function", pytest.param("hook", marks=pytest.mark.slow)])
def trigger(request, monkeypatch):
    """Both triggers; the second one where minutes are to spare."""
    use_trigger(request.param, monkeypatch)


@pytest.fixture(autouse=True)
def fresh():
    lect.reset()
    yield
    lect.reset()


def break_at(monkeypatch, wanted):
    """Make the operations for which `wanted(program, op)` holds break the graph."""
    plain = Program.steps_of

    def steps_of(self, block):
        new = block not in self.steps
        steps = plain(self, block)
        if new:
            steps[:] = [(refuse if wanted(self, op) else rule, op) for rule, op in steps]
        return steps

    monkeypatch.setattr(Program, "steps_of", steps_of)


def refuse(frame, op):
    raise GraphBreak("LB0001", f"for the test: {op.name}", op.loc)


def place_of(program, op):
    try:
        return program.place_of(op)
    except NotResumable:
        return None


def run(fn, x):
    out = io.StringIO()
    with contextlib.redirect_stdout(out):
        try:
            returned = fn(x)
        except Exception as error:
            returned = (type(error), str(error))
    return returned, out.getvalue()


def places(fn):
    """The places of a function's operations that may break."""
    func, codes = interpreter.decode_code(fn.__code__)
    base = Program(func, codes, fn.__code__).cuttable()
    return [(base.place_of(op), op.name) for block in base.blocks for op in block if op.name not in NO_PLACE]


def check_cuts(program, found, monkeypatch):
    inputs = [torch.randn(4, 3, generator=torch.Generator().manual_seed(1))]
    inputs += [-inputs[0], inputs[0].abs() * 3]
    wanted = [run(program, x) for x in inputs]
    for place, name in found:
        lect.reset()
        with monkeypatch.context() as patch:
            break_at(patch, lambda each, op, place=place: each.code is program.__code__ and place_of(each, op) == place)
            compiled = lect.compile(program, options={"level": "fx"})
            for number, (x, want) in enumerate(zip(inputs, wanted)):
                got = run(compiled, x)
                try:
                    same(want, got, exact=True)
                except AssertionError as error:
                    told = "\n".join(map(str, lect.events()))
                    raise AssertionError(f"cut at {name}, {place}, call {number}: {error}\n{told}") from None


@pytest.mark.parametrize("program", PROGRAMS, ids=lambda program: program.__name__)
def test_cut_at_some_operations(program, monkeypatch):
    found = places(program)
    check_cuts(program, random.Random(program.__name__).sample(found, min(2, len(found))), monkeypatch)


@pytest.mark.slow
@pytest.mark.parametrize("program", PROGRAMS, ids=lambda program: program.__name__)
def test_cut_at_every_operation(program, monkeypatch):
    check_cuts(program, places(program), monkeypatch)


def test_cuts_are_made(monkeypatch):
    """Nearly everywhere: the test above would not see it if all frames ran eagerly."""
    program = break_programs.nested_loops
    made = 0
    for place, _ in places(program):
        lect.reset()
        with monkeypatch.context() as patch:
            break_at(patch, lambda each, op, place=place: each.code is program.__code__ and place_of(each, op) == place)
            run(lect.compile(program, options={"level": "fx"}), torch.ones(4, 3))
        made += any(event.number == "LB0001" for event in lect.events("graph break"))
    assert made >= 0.9 * len(places(program))
