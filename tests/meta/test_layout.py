"""One pass is one file is one lit test, and every dialect shows its ops and its errors."""

import ast
from pathlib import Path

import pytest

from tests.meta.tree import PRODUCT, ROOT, dialect_names, load_pass, pass_table, python_files, syntax

LIT_PASSES = ROOT / "tests/lit/passes"


def pass_file(target: str) -> Path:
    """The file of a "lect.passes.area.name:Class" entry, relative to ROOT."""
    module = target.partition(":")[0]
    return Path(*module.removeprefix("lect.").split(".")).with_suffix(".py")


def lit_test_stems() -> list[str]:
    """area/pass-name for each lit test of a pass."""
    return [str(path.relative_to(LIT_PASSES).with_suffix("")) for path in test_files(LIT_PASSES)]


def test_files(folder: Path) -> list[Path]:
    """The .mlir and .py tests under a folder of lit tests."""
    return sorted(path for path in folder.rglob("*") if path.suffix in (".mlir", ".py") and path.name != "conftest.py")


test_files.__test__ = False


@pytest.mark.parametrize(("name", "target"), pass_table().items())
def test_pass_has_its_own_file(name, target):
    path = pass_file(target)
    assert path.stem == name.replace("-", "_"), f"{name} lives in {path}"
    assert len(path.parts) == 3, f"{path} is not passes/<area>/<name>.py"
    assert load_pass(target).name == name


@pytest.mark.parametrize(("name", "target"), pass_table().items())
def test_pass_has_a_lit_test(name, target):
    area = pass_file(target).parts[1]
    assert f"{area}/{name}" in lit_test_stems(), f"tests/lit/passes/{area}/{name}.mlir (or .py) is missing"


def test_every_lit_test_of_a_pass_names_one():
    expected = {f"{pass_file(target).parts[1]}/{name}" for name, target in pass_table().items()}
    assert sorted(set(lit_test_stems()) - expected) == []


def test_every_lit_test_runs_its_pass():
    silent = []
    for path in test_files(LIT_PASSES):
        runs = [line for line in path.read_text(encoding="utf-8").splitlines() if "RUN:" in line]
        if not any(path.stem in line for line in runs):
            silent.append(str(path.relative_to(ROOT)))
    assert not silent, f"no RUN line names the pass in {silent}"


def test_every_pass_class_is_in_the_table():
    """A class in passes/<area>/ whose body gives it the name of a pass is reachable by that name."""
    targets = set(pass_table().values())
    for path in python_files("passes"):
        if len(path.parts) < 3:
            continue
        for node in syntax(path).body:
            if isinstance(node, ast.ClassDef) and any(ast.unparse(base).endswith("Pass") for base in node.bases):
                module = ".".join(("lect", *path.with_suffix("").parts))
                assert f"{module}:{node.name}" in targets, f"{path}: {node.name} is not in passes/__init__.py"


@pytest.mark.parametrize("dialect", dialect_names())
@pytest.mark.parametrize("file", ["ops.mlir", "invalid.mlir"])
def test_dialect_has_its_lit_files(dialect, file):
    assert (ROOT / "tests/lit/dialects" / dialect / file).is_file()


def test_every_folder_of_modules_is_a_package():
    """The import linter does not look into folders without `__init__.py`."""
    folders = {path.parent for path in python_files(*PRODUCT) if path.parts[0] != "src"}
    assert sorted(str(folder) for folder in folders if not (ROOT / folder / "__init__.py").is_file()) == []
