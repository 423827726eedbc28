"""Settings shared by all tests."""

import os

# Two threads are enough for every test, and more only disturb tests that run beside them.
os.environ.setdefault("OMP_NUM_THREADS", "2")

# What a test finds must not depend on what earlier runs left on disk: tests of the cache name a folder of their own.  With LECT_TEST_CACHE all tests
# share the folder that it names; run twice, the second run takes its graphs from there.
shared = os.environ.get("LECT_TEST_CACHE")
os.environ.update({"LECT_CACHE": "1", "LECT_CACHE_DIR": shared} if shared else {"LECT_CACHE": "0"})
