"""Passes over mutated input: what the verifier lets through, a pass transforms to valid IR or refuses with a located error; it never crashes.

The parts of each lit test of a pass are mutated as in `test_malformed`, and those that are valid IR go through the pass.
"""

from __future__ import annotations

import pytest

from lect.dialects import make_context
from lect.ir import LectError, parse_module, print_module, verify
from lect.passes import PASSES
from lect.passes.manager import PassCrash, PassManager
from tests.fuzz.test_malformed import mutants
from tests.meta.tree import tracked_files

FILES = [name for name in tracked_files() if name.parts[:3] == ("tests", "lit", "passes") and name.suffix == ".mlir" and name.stem in PASSES]

SEEN_LATER = "the map reaches"  # a map out of bounds is seen only once it is affine, which a pass may make it


def run(name: str, pass_name: str, count: int) -> int:
    """How many mutants the pass saw."""
    manager = PassManager.parse(pass_name, verify_each=True)
    seen = 0
    for number, text in mutants(name, count):
        ctx = make_context(allow_unregistered=True)
        try:
            module = parse_module(text, ctx, "mutant.mlir")
            verify(module)
        except LectError:
            continue
        seen += 1
        try:
            manager.run(module, ctx)
        except PassCrash as error:
            pytest.fail(f"mutant {number} of {name}: {error}\n--- text ---\n{text}")
        except LectError as error:
            assert "left invalid IR" not in error.message or SEEN_LATER in error.message, f"mutant {number} of {name}: {error}\n--- text ---\n{text}"
            continue
        printed = print_module(module)
        assert print_module(parse_module(printed, ctx)) == printed
    return seen


@pytest.mark.parametrize("name", FILES, ids=lambda name: name.stem)
def test_few_mutants(name):
    run(str(name), name.stem, 20)


@pytest.mark.slow
@pytest.mark.parametrize("name", FILES, ids=lambda name: name.stem)
def test_many_mutants(name):
    assert run(str(name), name.stem, 1000) > 20
