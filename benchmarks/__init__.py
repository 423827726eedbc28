"""Measurements, run by hand: `python -m benchmarks.NAME`.

Nothing that an earlier run left on disk is measured, unless LECT_CACHE=1 asks for it.
"""

import os

os.environ.setdefault("LECT_CACHE", "0")
