"""Each .mlir file below this folder, and each .py file with a RUN line, is a test; pytest runs it in-process (see runner.py)."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.lit.runner import LitFailure, has_feature, read_script, run_test

NO_TESTS = ("conftest.py", "runner.py", "lit.cfg.py")


def pytest_collect_file(file_path: Path, parent: pytest.Collector) -> pytest.Collector | None:
    """Take .mlir files, and Python files with RUN lines that pytest does not take itself."""
    if file_path.name in NO_TESTS or file_path.suffix not in (".mlir", ".py") or file_path.name.startswith("test_"):
        return None
    if "Inputs" in file_path.parts or (file_path.suffix == ".py" and "RUN:" not in file_path.read_text(encoding="utf-8")):
        return None
    return LitFile.from_parent(parent, path=file_path)


class LitFile(pytest.File):
    """One file, one test."""

    def collect(self) -> list[pytest.Item]:
        return [LitItem.from_parent(self, name="lit")]


class LitItem(pytest.Item):
    """The RUN lines of one file."""

    def __init__(self, **keywords: object) -> None:
        super().__init__(**keywords)
        script = read_script(self.path.read_text(encoding="utf-8"))
        self.requires, self.unsupported = script.requires, script.unsupported
        if "cuda" in self.requires:
            self.add_marker(pytest.mark.cuda)

    def runtest(self) -> None:
        missing = [name for name in self.requires if not has_feature(name)]
        if missing:
            pytest.skip(f"needs {', '.join(missing)}")
        if any(has_feature(name) for name in self.unsupported):
            pytest.skip(f"does not hold with {', '.join(self.unsupported)}")
        run_test(self.path)

    def repr_failure(self, excinfo: pytest.ExceptionInfo[BaseException], style: str | None = None) -> str:  # type: ignore[override]
        if isinstance(excinfo.value, LitFailure):
            return str(excinfo.value)
        return str(super().repr_failure(excinfo))

    def reportinfo(self) -> tuple[Path, int, str]:
        return self.path, 0, str(self.path.name)
