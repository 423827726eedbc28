"""A fault in any rule of the interpreter is an internal error: the value, effects and exceptions of eager, and an event with a file that replays it."""

import sys
from pathlib import Path
from types import MappingProxyType

import pytest
import torch

import lect
from lect.frontends.capture import interpreter
from lect.frontends.capture.rules import RULES
from lect.runtime import entry, frame
from lect.runtime.failure_files import FailureFiles
from lect.tools.capture_file import load_file
from lect.tools.replay import main
from tests.unit.capture.fault_programs import PROGRAMS

SINCE_312 = frozenset({"pyframe.save_local", "pyframe.restore_local", "pyframe.load_super_attr", "pyframe.make_cell"})
# No bytecode is decoded to the first, and no rest of a function has it: it is for hand-written code.  The second binds a cell by STORE_FAST, which the
# compilers of 3.11 to 3.13 do for no function of the standard library and its tests.  The third needs syntax of Python 3.12.
ELSEWHERE = frozenset({"pyframe.load_exc", "pyframe.bind_cell", "pyframe.load_from_dict_or_globals"})


def used_rules(program):
    """The rules that are asked for while the program is followed."""
    used = set()

    def watched(name, rule):
        def asked(frame, op):
            used.add(name)
            return rule(frame, op)

        return asked

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(interpreter, "RULES", MappingProxyType({name: watched(name, rule) for name, rule in RULES.items()}))
        lect.reset()
        lect.compile(program, options={"level": "fx"})(torch.ones(2), [1, 2])
    lect.reset()
    return used


@pytest.fixture(scope="module")
def reached():
    return {program: used_rules(program) for program in PROGRAMS}


@pytest.mark.parametrize("name", sorted(RULES.keys() - ELSEWHERE))
def test_a_fault_in_a_rule(name, reached, monkeypatch, capsys, tmp_path):
    if name in SINCE_312 and sys.version_info < (3, 12):
        pytest.skip("an operation of Python 3.12")
    program = next((each for each in PROGRAMS if name in reached[each]), None)
    assert program is not None, "no program reaches the rule"

    def broken(frame, op):
        raise KeyError("a fault of lect")

    monkeypatch.setattr(interpreter, "RULES", MappingProxyType({**RULES, name: broken}))
    lect.reset()
    monkeypatch.setattr(entry.RUNTIME.log, "files", FailureFiles(str(tmp_path)))
    x, items = torch.randn(2), [1, 2]
    want = program(x, items)
    got = lect.compile(program, options={"level": "fx"})(x, items)
    assert repr(want) == repr(got)
    failed = [event for event in lect.events("fallback") if event.number != "LB0022"]
    assert {event.number for event in failed} == {"LB0020"}
    for event in failed:
        script = load_file(Path(event.file))
        assert main(script.call, *script.call_inputs(), {"level": "fx"}) == 1, "the file replays it"
    assert "KeyError: 'a fault of lect'" in capsys.readouterr().out
    lect.reset()


@pytest.mark.parametrize("part", ["compile_call", "tell_of", "_is_spent"])
def test_a_fault_around_a_compile(part, monkeypatch, tmp_path):
    """What fails outside of the stages gives eager's value, too, and is not tried for ever."""
    calls = []

    def broken(*args, **kwargs):
        calls.append(args)
        raise KeyError("a fault of lect")

    monkeypatch.setattr(frame.CompiledFrame if part.startswith("_") else frame, part, broken)
    lect.reset()
    monkeypatch.setattr(entry.RUNTIME.log, "files", FailureFiles(str(tmp_path)))
    x = torch.randn(2)
    compiled = lect.compile(lambda x: x + 1, options={"level": "fx"})
    for _ in range(3 * frame.MOST_FAILURES):
        assert torch.equal(compiled(x), x + 1)
    assert len(calls) == frame.MOST_FAILURES
    failed = lect.events("fallback")
    assert {(event.number, bool(event.file), "a fault of lect" in event.detail) for event in failed} == {("LB0020", True, True)}
    lect.reset()
    monkeypatch.undo()
    assert torch.equal(compiled(x), x + 1)
    assert lect.events("fallback") == []
    lect.reset()


class Hidden:
    """Nothing can be asked of it but what it gives."""

    def __getattr__(self, name):
        raise ValueError(name)

    def __call__(self, x):
        return x + 1


def test_an_object_that_answers_no_question():
    lect.reset()
    x, hidden = torch.randn(2), Hidden()
    assert torch.equal(lect.compile(hidden, options={"level": "fx"})(x), hidden(x))
    assert [(event.number, event.detail) for event in lect.events("fallback")] == [("LB0020", "ValueError: _lect_original")]
    lect.reset()
