"""CPython's own tests of language features behave the same when their functions are compiled; `docs/cpython-tests.md` lists all modules."""

import pytest

from tests.interop.cpython_tests import compare

SAMPLE = ("test_raise", "test_with", "test_keywordonlyarg", "test_augassign", "test_bool", "test_contains", "test_contextlib", "test_copy", "test_named_expressions")
FEWEST = 0.4  # of the tests of a module that are followed to their end


@pytest.mark.slow
@pytest.mark.parametrize("name", SAMPLE)
def test_language_tests_of_cpython_behave_as_uncompiled(name):
    row = compare(name)
    assert row["tests"] > 0
    assert row["same"] == row["tests"]
    assert row["differ"] == []
    assert row["whole"] + row.get("in parts", 0) >= FEWEST * row["tests"]
