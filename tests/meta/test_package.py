"""The package as users install it: editable, wheel and sdist each import `lect.ir` on every Python that is present.

Pure Python packages that building needs (pip and setuptools) are lent from the running environment, so the test
needs no network.
"""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.meta.tree import ROOT, tracked_files

VERSIONS = ("3.11", "3.12", "3.13")
LENT = ("pip", "setuptools", "_distutils_hack")
FOLDERS = ("ir", "dialects", "passes", "frontends", "backends", "runtime", "tools")
REPORT = """
import pathlib, sys
import lect, lect.dialects, lect.ir, lect.passes

module = lect.ir.parse_module("builtin.module @m {\\n}", lect.dialects.make_context())
assert "builtin.module @m" in lect.ir.print_module(module)
assert "torch" not in sys.modules and "llvmlite" not in sys.modules
assert pathlib.Path(lect.__file__).with_name("py.typed").is_file()
report = pathlib.Path(lect.__file__).parent / "runtime/report"
assert {"page.html", "page.css", "page.js", "data.js"} <= {path.name for path in report.iterdir()}
print(lect.__file__)
"""

pytestmark = pytest.mark.slow


def interpreter(version: str) -> str:
    """A working Python of this version; skips the test when there is none."""
    candidates = [shutil.which(f"python{version}"), *Path.home().glob(f".pyenv/versions/{version}.*/bin/python")]
    for candidate in candidates:
        probe = [candidate, "-c", "import sys; print('%d.%d' % sys.version_info[:2])"]
        if candidate and subprocess.run(probe, capture_output=True, text=True, check=False).stdout.strip() == version:
            return str(candidate)
    pytest.skip(f"no Python {version} here")


@pytest.fixture(scope="module")
def lent(tmp_path_factory) -> Path:
    """A folder with links to the pure Python packages of this environment that the installs below need."""
    folder = tmp_path_factory.mktemp("lent")
    for entry in sys.path:
        for name in LENT:
            for found in [*Path(entry).glob(name), *Path(entry).glob(f"{name}-*.dist-info")] if entry else []:
                if not (folder / found.name).exists():
                    (folder / found.name).symlink_to(found)
    return folder


@pytest.fixture(scope="module")
def clone(tmp_path_factory) -> Path:
    """A copy of the tracked files and of the links in src/lect, as a clone would have them."""
    copy = tmp_path_factory.mktemp("clone")
    for name in tracked_files():
        (copy / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(ROOT / name, copy / name)
    for folder in FOLDERS:
        (copy / "src/lect" / folder).symlink_to(f"../../{folder}")
    return copy


def run(command: list[str], lent: Path, cwd: Path) -> str:
    """Run a command with the lent packages importable; its output, or a failure with all it printed."""
    environment = {**os.environ, "PYTHONPATH": str(lent)}
    result = subprocess.run(command, cwd=cwd, env=environment, capture_output=True, text=True, check=False)
    assert result.returncode == 0, result.stdout + result.stderr
    return result.stdout


def new_environment(version: str, folder: Path) -> str:
    """Path of the Python in a fresh virtual environment."""
    subprocess.run([interpreter(version), "-m", "venv", "--without-pip", folder], check=True)
    return str(folder / "bin/python")


def install(python: str, what: list[str], lent: Path, cwd: Path) -> None:
    """Install without dependencies and without a build environment of its own."""
    run([python, "-m", "pip", "install", "-q", "--no-deps", "--no-build-isolation", *what], lent, cwd)


@pytest.mark.parametrize("version", VERSIONS)
def test_wheel_made_from_the_sdist_imports(version, clone, lent, tmp_path):
    python = new_environment(version, tmp_path / "venv")
    build = f"from setuptools import build_meta; build_meta.build_sdist({str(tmp_path)!r})"
    run([python, "-c", build], lent, clone)
    (sdist,) = tmp_path.glob("lect-*.tar.gz")
    run([python, "-m", "pip", "wheel", "-q", "--no-deps", "--no-build-isolation", str(sdist)], lent, tmp_path)
    (wheel,) = tmp_path.glob("lect-*.whl")
    install(python, [str(wheel)], lent, tmp_path)
    assert run([python, "-c", REPORT], lent, tmp_path).startswith(str(tmp_path / "venv"))


@pytest.mark.parametrize("version", VERSIONS)
def test_editable_install_imports(version, clone, lent, tmp_path):
    python = new_environment(version, tmp_path / "venv")
    install(python, ["-e", str(clone)], lent, tmp_path)
    assert run([python, "-c", REPORT], lent, tmp_path).startswith(str(clone / "src/lect"))
    assert (tmp_path / "venv/bin/lect-opt").is_file()
