"""lect: the tools of lect under one name.

    lect cache ls          what compiles left on disk
    lect completion bash   lines that make a shell complete these commands
    lect opt FILE ...      lect-opt: run passes over a module
    lect reduce FILE ...   lect-reduce: make a failing module small
    lect report FILE ...   one HTML file with every level of a program
    lect run FILE ...      lect-run: execute a module at any level
    lect tune ls           records of which form of a kernel is the fastest
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from importlib import import_module
from types import MappingProxyType

from lect.tools.completion import is_asked, offer

TOOLS = MappingProxyType({name: f"lect.tools.lect_{name}" for name in ("cache", "completion", "opt", "reduce", "report", "run", "tune")})


def arguments() -> argparse.ArgumentParser:
    """The command lines of all tools, for who completes them."""
    parser = argparse.ArgumentParser(prog="lect")
    commands = parser.add_subparsers()
    for name, module in TOOLS.items():
        commands.add_parser(name, parents=[import_module(module).arguments()], add_help=False, conflict_handler="resolve")
    return parser


def main(argv: Sequence[str] | None = None) -> int:
    """The command; returns the exit status of the tool, and 2 when none is named."""
    given = list(sys.argv[1:] if argv is None else argv)
    if is_asked():
        offer(arguments())
    if not given or given[0] not in TOOLS:
        asked = bool(given) and given[0] in ("-h", "--help")
        print((__doc__ or "").strip(), file=sys.stdout if asked else sys.stderr)
        return 0 if asked else 2
    status: int = import_module(TOOLS[given[0]]).main(given[1:])
    return status
