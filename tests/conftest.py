"""Settings shared by all tests."""

import os

# Two threads are enough for every test, and more only disturb tests that run beside them.
os.environ.setdefault("OMP_NUM_THREADS", "2")
