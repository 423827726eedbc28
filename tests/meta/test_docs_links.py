"""The written documents speak of files that exist."""

import re
from pathlib import Path

import pytest

from tests.meta.tree import PRODUCT, ROOT, python_files, tracked_files

LINK = re.compile(r"\]\(([^)#\s]+)[^)]*\)")
CODE = re.compile(r"`([\w./<>-]+)`")
TOP = ("ir", "dialects", "passes", "frontends", "backends", "runtime", "tools", "tests", "benchmarks", "examples", "docs", "src")


def documents() -> list[Path]:
    """Every Markdown file that a person wrote."""
    return [name for name in tracked_files() if name.suffix == ".md" and name.parts[:2] != ("docs", "reference")]


@pytest.mark.parametrize("document", documents(), ids=str)
def test_links_lead_somewhere(document):
    text = (ROOT / document).read_text(encoding="utf-8")
    targets = [target for target in LINK.findall(text) if "://" not in target]
    missing = [target for target in targets if not (ROOT / document.parent / target).exists()]
    assert not missing, f"{document}: {missing}"


@pytest.mark.parametrize("document", documents(), ids=str)
def test_named_files_exist(document):
    """`folder/file` in code style names a file of the tree, unless it holds a placeholder such as `<dialect>`."""
    text = (ROOT / document).read_text(encoding="utf-8")
    names = [name for name in CODE.findall(text) if "/" in name and name.split("/")[0] in TOP and "<" not in name]
    missing = [name for name in names if not (ROOT / name).exists() and not (ROOT / f"{name}.py").exists()]
    assert not missing, f"{document}: {missing}"


@pytest.mark.parametrize("document", [name for name in documents() if "recipes" in name.parts], ids=str)
def test_named_tables_and_classes_exist(document):
    """`TABLE` and `ClassName` in code style are words of the product's code."""
    words = set()
    for name in python_files(*PRODUCT):
        words.update(re.findall(r"\w+", (ROOT / name).read_text(encoding="utf-8")))
    names = re.findall(r"`(_?[A-Z][A-Z_]{2,}|[A-Z][a-z]+[A-Z]\w+|[a-z]+_[a-z_]+)`", (ROOT / document).read_text(encoding="utf-8"))
    missing = sorted(name for name in set(names) if name not in words)
    assert not missing, f"{document}: {missing}"
