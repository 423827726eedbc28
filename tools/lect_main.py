"""lect: the tools of lect under one name.

    lect cache ls          what compiles left on disk
    lect opt FILE ...      lect-opt: run passes over a module
    lect reduce FILE ...   lect-reduce: make a failing module small
    lect run FILE ...      lect-run: execute a module at any level
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from importlib import import_module
from types import MappingProxyType

TOOLS = MappingProxyType({"cache": "lect.tools.lect_cache", "opt": "lect.tools.lect_opt", "reduce": "lect.tools.lect_reduce", "run": "lect.tools.lect_run"})


def main(argv: Sequence[str] | None = None) -> int:
    """The command; returns the exit status of the tool, and 2 when none is named."""
    given = list(sys.argv[1:] if argv is None else argv)
    if not given or given[0] not in TOOLS:
        asked = bool(given) and given[0] in ("-h", "--help")
        print((__doc__ or "").strip(), file=sys.stdout if asked else sys.stderr)
        return 0 if asked else 2
    status: int = import_module(TOOLS[given[0]]).main(given[1:])
    return status
