"""Settings shared by all tests."""

import gc
import os

import pytest

# Two threads are enough for every test, and more only disturb tests that run beside them.
os.environ.setdefault("OMP_NUM_THREADS", "2")

# What a test finds must not depend on what earlier runs left on disk: tests of the cache name a folder of their own.  With LECT_TEST_CACHE all tests
# share the folder that it names; run twice, the second run takes its graphs from there.
shared = os.environ.get("LECT_TEST_CACHE")
os.environ.update({"LECT_CACHE": "1", "LECT_CACHE_DIR": shared} if shared else {"LECT_CACHE": "0"})


@pytest.fixture(scope="module", autouse=True)
def collections_look_at_this_module():
    """What exists before the tests of a module is no garbage of theirs.  A worker's process comes to hold millions of objects, and a test that collects
    would go through all of them each time."""
    gc.collect()
    gc.freeze()
