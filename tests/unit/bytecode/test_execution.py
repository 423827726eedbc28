"""Programs behave the same when their code went through text and back, and functions that no compiler would write do what their text says."""

import json
import subprocess
from pathlib import Path

import pytest

from tests.unit.bytecode.test_stdlib import VERSIONS, interpreter

HERE = Path(__file__).parent
FEWEST_CASES = 200
FEWEST_CHECKS = 20
FEWEST_COMPARISONS = 3000
FEWEST_STEPS = 4000
FEWEST_RESTS = 400


def report(version: tuple[int, int], program: str, timeout: int = 300, *arguments: str) -> dict:
    """What a program of this folder prints under a Python."""
    done = subprocess.run([interpreter(version), str(HERE / program), *arguments], capture_output=True, text=True, timeout=timeout, check=False)
    assert done.returncode == 0, done.stderr[-3000:]
    return json.loads(done.stdout.splitlines()[-1])


@pytest.mark.parametrize("version", VERSIONS, ids=lambda version: f"{version[0]}.{version[1]}")
def test_programs_behave_as_before(version):
    """Result, output and exception (positions of the traceback included) of each `case_*` function in `programs/`."""
    found = report(version, "execution.py")
    assert found["failures"] == []
    assert found["cases"] >= FEWEST_CASES


@pytest.mark.parametrize("version", VERSIONS, ids=lambda version: f"{version[0]}.{version[1]}")
def test_any_layout_is_assembled(version):
    """Values used often, out of order or not at all; live objects; random blocks and block graphs."""
    found = report(version, "handwritten.py")
    assert found["failures"] == []
    assert found["checks"] >= FEWEST_CHECKS


@pytest.mark.parametrize("version", VERSIONS, ids=lambda version: f"{version[0]}.{version[1]}")
def test_suspended_generators_go_on_as_before(version):
    """A generator made again from its variables and its stack does what the original would have done."""
    found = report(version, "suspended.py")
    assert found["failures"] == []
    assert found["compared"] > FEWEST_COMPARISONS


@pytest.mark.parametrize("version", VERSIONS, ids=lambda version: f"{version[0]}.{version[1]}")
@pytest.mark.parametrize("every", [7, pytest.param(1, marks=pytest.mark.slow)])
def test_functions_cut_at_each_operation_behave_as_before(version, every):
    """Step by step, and from some steps on by resume functions; also inside of comprehensions that Python inlines."""
    found = report(version, "cuts.py", 600, str(every))
    assert found["failures"] == []
    assert found["steps"] > FEWEST_STEPS / every
    assert found["rests"] > FEWEST_RESTS / every
    assert found["inlined"] > (40 / every if version >= (3, 12) else -1)


@pytest.mark.slow
@pytest.mark.parametrize("version", VERSIONS, ids=lambda version: f"{version[0]}.{version[1]}")
def test_language_tests_of_cpython_pass(version):
    """Fifty modules of CPython's test suite, executed from round-tripped code."""
    found = report(version, "cpython.py", 1800)
    assert found["failures"] == []
    assert found["passed"] > 1000
