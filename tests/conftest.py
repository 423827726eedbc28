"""Settings shared by all tests."""

import os

# Two threads are enough for every test, and more only disturb tests that run beside them.
os.environ.setdefault("OMP_NUM_THREADS", "2")

# What a test finds must not depend on what earlier runs left on disk: tests of the cache name a folder of their own.
os.environ["LECT_CACHE"] = "0"
