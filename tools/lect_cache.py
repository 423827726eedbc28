"""lect cache: look at what compiles left on disk for later processes, and move it.

    lect cache ls                          every entry: level, name, size, last use, and what it is of
    lect cache show 3f0a                   the key of an entry: all that it depends on
    lect cache why 3f0a 91bc               the lines in which the keys of two entries differ
    lect cache gc --megabytes 500          remove what was not used for the longest time
    lect cache export warm.zip             all entries as one file
    lect cache import warm.zip             take over such a file, which holds machine code: from someone you trust

The folder is that of the variable LECT_CACHE_DIR, else `lect` in the user's caches.
"""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Sequence

from lect.ir import LectError
from lect.runtime.cache_commands import Cache, age, description


def arguments() -> argparse.ArgumentParser:
    """The command line."""
    parser = argparse.ArgumentParser(prog="lect cache", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    commands = parser.add_subparsers(dest="command", required=True)
    commands.add_parser("ls", help="list the entries")
    commands.add_parser("show", help="print the key of an entry").add_argument("entry", help="beginning of its name")
    differing = commands.add_parser("why", help="print the lines in which two keys differ")
    differing.add_argument("a")
    differing.add_argument("b")
    collect = commands.add_parser("gc", help="remove entries")
    collect.add_argument("--megabytes", type=float, default=0.0, help="how much is left (default: nothing)")
    commands.add_parser("export", help="write all entries into one file").add_argument("file")
    commands.add_parser("import", help="take over such a file").add_argument("file")
    return parser


def main(argv: Sequence[str] | None = None) -> int:
    """The command; returns the exit status."""
    options = arguments().parse_args(argv)
    cache = Cache(os.environ)
    try:
        print(answer(cache, options), end="")
    except LectError as error:
        print(error.render(), file=sys.stderr)
        return 1
    except OSError as error:
        print(f"error: {error.filename}: {error.strerror}", file=sys.stderr)
        return 1
    return 0


def answer(cache: Cache, options: argparse.Namespace) -> str:
    """What the command prints.  Raises `LectError` and OSError."""
    match options.command:
        case "ls":
            return listing(cache)
        case "show":
            return cache.show(options.entry).key + "\n"
        case "why":
            found = cache.why(options.a, options.b)
            return found + "\n" if found else "the keys are equal\n"
        case "gc":
            return f"removed {cache.gc(options.megabytes) / 2**20:.1f} MB\n"
        case "export":
            return f"wrote {cache.export(options.file)} entries to {options.file}\n"
        case _:
            return f"took over {cache.load(options.file)} entries\n"


def listing(cache: Cache) -> str:
    """A line for each entry, and a line for all."""
    lines, total = [], 0
    for each in cache.ls():
        try:
            what = description(cache.show(f"{each.level}/{each.digest}"))
        except LectError as error:
            what = error.message
        total += each.size
        lines.append(f"{each.level:7} {each.digest[:12]} {each.size / 1024:9.1f} kB  {age(each.used):>6}  {what}\n")
    return "".join([*lines, f"{len(lines)} entries, {total / 2**20:.1f} MB in {cache.folder}\n"])
