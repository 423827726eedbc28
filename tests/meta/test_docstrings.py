"""Everything that the generated reference shows has a text, and the reference is up to date."""

import ast
import sys

import pytest

from lect.dialects import TABLE, make_context
from lect.tools import docs
from tests.meta.tree import PRODUCT, ROOT, load_pass, pass_table, python_files, syntax


def test_every_module_has_a_docstring():
    silent = [str(name) for name in python_files(*PRODUCT, "tests", "benchmarks", "examples") if not ast.get_docstring(syntax(name))]
    silent = [name for name in silent if (ROOT / name).read_text(encoding="utf-8").strip()]
    assert not silent, f"no module docstring in {silent}"


@pytest.mark.parametrize("name", TABLE)
def test_dialect_says_what_it_means(name):
    dialect = make_context().dialect(name)
    assert len(dialect.doc.split()) >= 20, f"the semantics of {name} belong at the top of its ops module"
    classes = [*dialect.ops.values(), *dialect.types.values(), *dialect.attrs.values()]
    silent = [cls.name for cls in classes if not (cls.__doc__ or "").strip()]
    assert not silent, f"no docstring: {silent}"


@pytest.mark.parametrize(("name", "target"), pass_table().items())
def test_pass_says_what_it_does(name, target):
    cls = load_pass(target)
    text = (cls.__doc__ or "") + (sys.modules[cls.__module__].__doc__ or "")
    assert len(text.split()) >= 15, f"{name} needs a docstring with its rewrite"
    assert not (cls.__doc__ or "").startswith(f"{cls.__name__}("), f"{name} has only the docstring that dataclass made"


def test_reference_is_up_to_date(monkeypatch):
    monkeypatch.chdir(ROOT)
    assert list(docs.differences(docs.reference(), ROOT / "docs/reference")) == []


def test_check_names_missing_stale_and_different_pages(tmp_path):
    pages = {"passes.md": "new\n", "dialects/loop.md": "loop\n"}
    (tmp_path / "passes.md").write_text("old\n")
    (tmp_path / "gone.md").write_text("gone\n")
    found = " ".join(docs.differences(pages, tmp_path))
    assert "passes.md differs" in found
    assert "loop.md is missing" in found
    assert "gone.md describes nothing" in found
