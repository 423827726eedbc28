"""`python -m tests.meta.readme`: run the commands that README.md and other pages show and write what they print below them.

A block is ```` ```console ````, and in it each line that starts with `$ ` is a command; what stands below, up to the next command, is
its output. Commands run in a folder of their own in which `examples` is the repository's.
"""

from __future__ import annotations

import os
import re
import tempfile
from pathlib import Path
from unittest import mock

from tests.lit.runner import run_line
from tests.meta.tree import ROOT

NAMES = "README.md docs/cache.md docs/cpu-kernels.md docs/gpu-kernels.md docs/random-numbers.md docs/reducing.md docs/report.md docs/tools.md docs/training.md docs/tuning.md docs/tutorial.md"
PAGES = tuple(ROOT / name for name in NAMES.split())
BLOCK = re.compile(r"(?<=```console\n)(.*?)(?=```\n)", re.DOTALL)
COMMAND = re.compile(r"^\$ (.*)\n", re.MULTILINE)
NOT_RUN = ("git ", "make ", "pip ")


def refreshed(text: str) -> str:
    """The text with each command's output replaced by what it prints now."""
    before = Path.cwd()
    with tempfile.TemporaryDirectory() as folder:
        (Path(folder) / "examples").symlink_to(ROOT / "examples")
        os.chdir(folder)
        own = {"LECT_CACHE": "1", "LECT_CACHE_DIR": f"{folder}/.cache"}
        try:
            with mock.patch.dict(os.environ, own):
                return BLOCK.sub(lambda block: run_block(block[1]), text)
        finally:
            os.chdir(before)


def run_block(block: str) -> str:
    """One block with fresh output.  Raises RuntimeError when a command fails."""
    out = []
    for command in COMMAND.findall(block):
        out.append(f"$ {command}\n")
        if not command.startswith(NOT_RUN):
            status, text, errors = run_line(command)
            if status:
                raise RuntimeError(f"{command}: exit status {status}\n{errors}")
            out.append(text)
    return "".join(out)


def main() -> None:
    """Rewrite the pages."""
    for page in PAGES:
        page.write_text(refreshed(page.read_text(encoding="utf-8")), encoding="utf-8")


if __name__ == "__main__":
    main()
