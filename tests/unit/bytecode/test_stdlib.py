"""The standard library of each Python present goes through decode -> print -> parse -> assemble and behaves as before.

By default a small sample of its files is taken; `-m slow` takes them all.  3.12 and 3.13 run in a process of their own when a
`python3.12` or `python3.13` is found that can import `lect.ir`; they need nothing installed.
"""

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

PROGRAM = Path(__file__).with_name("stdlib.py")
VERSIONS = ((3, 11), (3, 12), (3, 13))
SAMPLE, FIRST = 192, 3  # every so many files, from this one on: about eight; of 3.12 `_collections_abc.py`, which has a lambda that is a generator


def interpreter(version: tuple[int, int]) -> str:
    """A command for that Python; skips the test, saying why, when there is none that works."""
    if sys.version_info[:2] == version:
        return sys.executable
    name = f"python{version[0]}.{version[1]}"
    candidates = [os.environ.get(f"LECT_TEST_PYTHON{version[0]}{version[1]}"), shutil.which(name), *_pyenv(version)]
    for candidate in candidates:
        if candidate is not None and _works(candidate, version):
            return candidate
    pytest.skip(f"there is no {name} that imports lect.ir")


def _pyenv(version: tuple[int, int]) -> list[str]:
    root = Path(os.environ.get("PYENV_ROOT", Path.home() / ".pyenv"))
    return [str(path / "bin" / "python") for path in sorted(root.glob(f"versions/{version[0]}.{version[1]}.*"))]


def _works(command: str, version: tuple[int, int]) -> bool:
    program = f"import sys; sys.path.insert(0, {str(PROGRAM.parents[3] / 'src')!r}); import lect.ir; assert sys.version_info[:2] == {version!r}"
    try:
        return subprocess.run([command, "-c", program], capture_output=True, timeout=60, check=False).returncode == 0
    except OSError:
        return False


def run(version: tuple[int, int], step: int, offset: int, timeout: int) -> dict:
    """What `stdlib.py` reports for a sample."""
    command = [interpreter(version), str(PROGRAM), str(step), str(offset)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=timeout, check=False)
    assert done.returncode == 0, done.stderr[-3000:]
    return json.loads(done.stdout.splitlines()[-1])


@pytest.mark.parametrize("version", VERSIONS, ids=lambda version: f"{version[0]}.{version[1]}")
def test_sample_behaves_as_before(version):
    report = run(version, SAMPLE, FIRST, 600)
    assert report["failures"] == []
    assert report["codes"] > 20
    assert report["generators"] > 0
    assert report["events"] > 10 * report["codes"]


@pytest.mark.slow
@pytest.mark.parametrize("version", VERSIONS, ids=lambda version: f"{version[0]}.{version[1]}")
def test_whole_library_behaves_as_before(version):
    report = run(version, 1, 0, 7200)
    assert report["failures"] == []
    assert report["codes"] > 20_000
