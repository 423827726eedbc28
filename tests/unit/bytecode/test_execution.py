"""More than 200 small functions behave the same, exceptions and traceback positions included, when their code went through text and back."""

import json
import subprocess
from pathlib import Path

import pytest

from tests.unit.bytecode.test_stdlib import VERSIONS, interpreter

PROGRAM = Path(__file__).with_name("execution.py")
FEWEST = 200


@pytest.mark.parametrize("version", VERSIONS, ids=lambda version: f"{version[0]}.{version[1]}")
def test_programs_behave_as_before(version):
    done = subprocess.run([interpreter(version), str(PROGRAM)], capture_output=True, text=True, timeout=300, check=False)
    assert done.returncode == 0, done.stderr[-3000:]
    report = json.loads(done.stdout.splitlines()[-1])
    assert report["failures"] == []
    assert report["cases"] >= FEWEST
