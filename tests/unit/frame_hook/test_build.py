"""Wheels are built with a compiler and without one."""

import os
import subprocess
import sys
import zipfile

import pytest

from tests.meta.test_package import clone, lent  # noqa: F401 fixtures

pytestmark = pytest.mark.slow


def names_in_wheel(clone, lent, folder, compiler):  # noqa: F811
    """The names of the files in a wheel that is built with this compiler."""
    build = f"from setuptools import build_meta; build_meta.build_wheel({str(folder)!r})"
    environment = {**os.environ, "PYTHONPATH": str(lent), **({"CC": compiler} if compiler else {})}
    result = subprocess.run([sys.executable, "-c", build], cwd=clone, env=environment, capture_output=True, text=True, check=False)
    assert result.returncode == 0, result.stdout + result.stderr
    (wheel,) = folder.glob("*.whl")
    return zipfile.ZipFile(wheel).namelist()


def test_wheel_without_a_compiler_has_everything_but_the_extension(clone, lent, tmp_path):  # noqa: F811
    names = names_in_wheel(clone, lent, tmp_path, "/nowhere/no-compiler")
    assert "lect/runtime/frame_hook.py" in names
    assert not [name for name in names if "_frame_hook." in name]


def test_wheel_with_a_compiler_has_the_extension(clone, lent, tmp_path):  # noqa: F811
    names = names_in_wheel(clone, lent, tmp_path, "")
    assert [name for name in names if name.startswith("lect/runtime/_frame_hook.")]
