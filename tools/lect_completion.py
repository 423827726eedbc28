"""lect completion: the lines that make a shell complete the command lines of lect's tools, names of passes and pipelines too.

    lect completion bash                                        print them
    eval "$(lect completion bash)"                              use them in this shell; put that into ~/.bashrc or ~/.zshrc
    lect completion fish > ~/.config/fish/completions/lect.fish

The package argcomplete does the work: pip install 'lect[completion]'.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence

from lect.ir import LectError

COMMANDS = ("lect", "lect-opt", "lect-reduce", "lect-run")
SHELLS = ("bash", "zsh", "fish")


def arguments() -> argparse.ArgumentParser:
    """The command line."""
    parser = argparse.ArgumentParser(prog="lect completion", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("shell", choices=SHELLS, help="the shell that reads the lines")
    return parser


def main(argv: Sequence[str] | None = None) -> int:
    """The command; returns the exit status."""
    options = arguments().parse_args(argv)
    try:
        print(script(options.shell), end="")
    except LectError as error:
        print(error.render(), file=sys.stderr)
        return 1
    return 0


def script(shell: str) -> str:
    """The lines for a shell.  Raises `LectError` where argcomplete is missing."""
    try:
        from argcomplete import shellcode
    except ImportError:
        raise LectError("the package argcomplete is not installed", hint="pip install 'lect[completion]'") from None
    return shellcode(COMMANDS, shell=shell) + "\n"
