"""A fault in what is known of one function or of one kind of object is an internal error, as one in a rule of the interpreter is: see `test_faults`."""

import copy
import importlib
import pkgutil
import sys
from collections.abc import Mapping
from pathlib import Path
from types import FunctionType, MappingProxyType

import pytest
import torch

import lect
from lect.frontends import capture
from lect.frontends.capture import class_objects, content_guards, guards, interpreter, replay, residual
from lect.frontends.capture.interpreter import CodeTable
from lect.frontends.capture.rules import RULES
from lect.runtime import entry
from lect.runtime.failure_files import FailureFiles
from lect.tools.capture_file import load_file
from lect.tools.replay import main
from tests.unit.capture.table_programs import PROGRAMS, arguments, repeated

FX = {"level": "fx"}
# Where the rest of what capture knows is asked for.
TABLES = (
    (class_objects, "_OF_TYPE"),
    (content_guards, "_GUARDS"),
    (guards, "_MAKERS"),
    (interpreter, "RESUMED"),
    (replay, "CONDITIONS"),
    (residual, "_MAKERS"),
    (CodeTable(), "made_by_torch"),
)
REPLAYED = (sum, len, torch.is_tensor, copy.deepcopy)
# What operations mean, which capture shares with the interpreters of the dialects.
MEANINGS = {"regions.RULES", "residual.FUNCTIONS", "size_symbols.ARITHMETIC", "size_symbols.COMPARISONS"}


def fail(*args, **kwargs):
    raise ArithmeticError("a fault of lect")


@pytest.fixture(autouse=True)
def files(monkeypatch, tmp_path):
    lect.reset()
    monkeypatch.setattr(entry.RUNTIME.log, "files", FailureFiles(str(tmp_path)))
    yield
    lect.reset()


def failures():
    """The events of failures since the last reset, none of them without a file."""
    found = [event for event in lect.events("fallback") if event.number not in ("LB0022", "LB0012")]
    assert {event.number for event in found} == {"LB0020"}
    assert all(event.file for event in found), found
    return found


# ---- functions -------------------------------------------------------------------------------------------------------


def asked(x, function):
    """A call that every callable answers: by what it gives, or by saying that it has no such argument."""
    try:
        found = function(**{"no such argument": 1})
    except Exception as error:
        return x + 1, type(error), str(error)
    return x + 1, type(found)


@pytest.mark.parametrize("step", [12, pytest.param(1, marks=pytest.mark.slow)], ids=["each twelfth", "each"])
def test_a_fault_in_the_rule_of_a_function(step, monkeypatch):
    monkeypatch.setattr(sys, "breakpointhook", fail)  # a debugger would be told of all that follows
    x, table = torch.randn(2), CodeTable()
    rules = table.specials
    assert len(rules) > 250
    for function in list(rules)[::step]:
        lect.reset()
        monkeypatch.setattr(entry.RUNTIME, "_table", table)
        table.specials = {**rules, function: fail}
        assert repr(asked(x, function)) == repr(lect.compile(asked, options=FX)(x, function)), function
        (failed,) = failures()
        if function in REPLAYED:
            script = load_file(Path(failed.file))
            assert main(script.call, *script.call_inputs(), FX) == 1, "the file replays it"


# ---- tables ----------------------------------------------------------------------------------------------------------


def test_no_table_is_left_out():
    """Each table of capture is one of those above, or the table of rules or of functions has what is in it."""
    specials, told = CodeTable().specials, {id(getattr(holder, name)) for holder, name in TABLES[:-1]}
    told |= {id(value) for value in (interpreter.MADE_BY_TORCH, interpreter.RECURSIVE_REPRS)}
    left = set()
    for info in pkgutil.walk_packages(capture.__path__, f"{capture.__name__}."):
        for name, value in vars(importlib.import_module(info.name)).items():
            if not isinstance(value, Mapping) or not any(is_of_lect(part) for each in value.values() for part in (each if type(each) is tuple else (each,))):
                continue
            if id(value) in told or all(key in RULES for key in value) or all(key in specials for key in value):
                continue
            if not name.endswith("MAKERS") or not value.keys() <= residual._MAKERS.keys():
                left.add(f"{info.name.rpartition('.')[2]}.{name}")
    assert left == MEANINGS


def is_of_lect(value):
    return type(value) is FunctionType and value.__module__.startswith("lect.")


def wrapped(entry_of_table, around):
    """The entry with `around` called on each function in it."""
    if type(entry_of_table) is tuple:
        return tuple(around(each) if is_of_lect(each) else each for each in entry_of_table)
    return around(entry_of_table)


def outcome(call, program):
    """What two calls give, the second with another number."""
    with torch.set_grad_enabled(program is not repeated):
        return [call(*arguments(program, number)) for number in (2.5, 3.5)]


def text(values):
    return "".join(part for part in repr(values).split() if "0x" not in part)


@pytest.fixture(scope="module")
def reached():
    """Entry of a table -> the programs that ask it."""
    found, now = {}, []

    def watched(key):
        def watch(function):
            def ask(*args, **kwargs):
                found.setdefault(key, []).append(now[-1])
                return function(*args, **kwargs)

            return ask

        return watch

    with pytest.MonkeyPatch.context() as patch:
        table = CodeTable()
        for number, (holder, name) in enumerate(TABLES):
            known = getattr(holder, name)
            entries = MappingProxyType({key: wrapped(each, watched((number, key))) for key, each in known.items()})
            patch.setattr(table if isinstance(holder, CodeTable) else holder, name, entries)
        for program in PROGRAMS:
            now.append(program)
            lect.reset()
            patch.setattr(entry.RUNTIME, "_table", table)
            outcome(lect.compile(program, options=FX), program)
    lect.reset()
    return found


@pytest.mark.parametrize("number", range(len(TABLES)), ids=[name for _, name in TABLES])
def test_a_fault_in_an_entry_of_a_table(number, reached, monkeypatch):
    holder, name = TABLES[number]
    known = getattr(holder, name)
    for key, each in known.items():
        programs = reached.get((number, key))
        assert programs, (key, "no program asks it")
        lect.reset()
        table = CodeTable()
        entries = MappingProxyType({**known, key: wrapped(each, lambda _: fail)})
        with monkeypatch.context() as patch:
            patch.setattr(table if isinstance(holder, CodeTable) else holder, name, entries)
            patch.setattr(entry.RUNTIME, "_table", table)
            got = outcome(lect.compile(programs[0], options=FX), programs[0])
        assert text(outcome(programs[0], programs[0])) == text(got), key
        assert failures(), key
