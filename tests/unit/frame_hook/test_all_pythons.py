"""The tests of this folder on all CPythons: the extension is built in a temporary folder and pytest is lent.

They run with the debugging allocators, by which memory that is used after it was freed is seldom what it was.  A Python that is not on this machine is skipped, and so is everything without a C compiler.
"""

import importlib.metadata
import os
import shutil
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[3]
HERE = Path(__file__).parent
VERSIONS = ("3.11", "3.12", "3.13")
LENT = ("pytest", "pluggy", "iniconfig", "packaging", "pygments", "coverage")
PLUGIN = """
import lect.runtime

lect.runtime.__path__.insert(0, {folder!r})
"""
NOT_THERE = ("test_all_pythons.py", "test_build.py")


def interpreter(version: str) -> str:
    """A working Python of this version; skips the test when there is none."""
    candidates = [shutil.which(f"python{version}"), *Path.home().glob(f".pyenv/versions/{version}.*/bin/python")]
    for candidate in candidates:
        probe = [candidate, "-c", "import sys; print('%d.%d' % sys.version_info[:2])"]
        if candidate and subprocess.run(probe, capture_output=True, text=True, check=False).stdout.strip() == version:
            return str(candidate)
    pytest.skip(f"no Python {version} here")


def lend(folder: Path) -> None:
    """Put links to the pure Python packages that pytest is made of into a folder."""
    for name in LENT:
        try:
            files = importlib.metadata.distribution(name).files or []
        except importlib.metadata.PackageNotFoundError:
            continue
        for top in {Path(str(file)).parts[0] for file in files} - {"..", "__pycache__"}:
            source = Path(str(importlib.metadata.distribution(name).locate_file(top)))
            if source.exists() and not (folder / top).exists():
                (folder / top).symlink_to(source)


def build(python: str, folder: Path) -> None:
    """Compile the extension for a Python."""
    query = "import sysconfig; print(sysconfig.get_paths()['include']); print(sysconfig.get_config_var('EXT_SUFFIX'))"
    include, suffix = subprocess.run([python, "-c", query], capture_output=True, text=True, check=True).stdout.split()
    if not Path(include, "Python.h").is_file():
        pytest.skip("this Python came without its headers")
    compiler = shutil.which("cc")
    if compiler is None:
        pytest.skip("no C compiler here")
    flags = ["-std=c11", "-O2", "-Wall", "-Werror", "-Wno-cast-function-type", "-shared", "-fPIC", f"-isystem{include}"]
    command = [compiler, *flags, str(ROOT / "runtime/_frame_hook.c"), "-o", str(folder / f"_frame_hook{suffix}")]
    result = subprocess.run(command, capture_output=True, text=True, check=False)
    assert result.returncode == 0, result.stderr


@pytest.mark.slow
@pytest.mark.parametrize("version", VERSIONS)
def test_frame_hook_on(version, tmp_path):
    python = interpreter(version)
    lend(tmp_path)
    build(python, tmp_path)
    (tmp_path / "extension_of_this_python.py").write_text(PLUGIN.format(folder=str(tmp_path)))
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join([str(tmp_path), str(ROOT / "src")]), "PYTHONDONTWRITEBYTECODE": "1", "PYTHONMALLOC": "debug"}
    tests = [str(path) for path in sorted(HERE.glob("test_*.py")) if path.name not in NOT_THERE]
    options = ["-q", "-rs", "-p", "extension_of_this_python", "-p", "no:cacheprovider", "-o", "addopts=--import-mode=importlib"]
    command = [python, "-X", "faulthandler", "-m", "pytest", *options, *tests]
    result = subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True, check=False)
    assert result.returncode == 0, result.stdout[-6000:] + result.stderr[-2000:]
    assert " passed" in result.stdout
    assert "extension" not in "".join(line for line in result.stdout.splitlines() if "SKIPPED" in line), result.stdout
