"""What no tracked file may hold: paths of somebody's machine, and marks of unfinished work."""

import re

import pytest

from tests.meta.tree import ROOT, tracked_files

MACHINE_PATH = re.compile(r"(?<![\w./~$}])/(?:root|home|work|workspace|Users|mnt|srv|opt|scratch)/\w")
UNFINISHED = re.compile(r"\b(?:TO" + r"DO|FIX" + r"ME|X" + r"XX|HA" + r"CK)\b|\bfor n" + r"ow\b")
BINARY_SUFFIXES = frozenset({".safetensors", ".png", ".so"})


def hits(pattern: re.Pattern) -> list[str]:
    """file:line of each match of a pattern in a tracked text file, the licence and this file aside."""
    found = []
    for name in tracked_files():
        if name.suffix in BINARY_SUFFIXES or name.name in ("LICENSE", "test_words.py"):
            continue
        for number, line in enumerate((ROOT / name).read_text(encoding="utf-8", errors="replace").splitlines(), 1):
            if pattern.search(line):
                found.append(f"{name}:{number} {line.strip()}")
    return found


def test_no_machine_paths():
    found = hits(MACHINE_PATH)
    assert not found, "\n".join(found)


def test_no_unfinished_work():
    found = hits(UNFINISHED)
    assert not found, "\n".join(found)


@pytest.mark.parametrize("text", ["open('/home/me/x')", "see /root/notes", "path=/opt/wheels"])
def test_the_check_finds_machine_paths(text):
    assert MACHINE_PATH.search(text)


@pytest.mark.parametrize("text", ["#!/usr/bin/env bash", "a/work/b", "https://example.org/opt/x", "$HOME/opt/x"])
def test_the_check_accepts_other_paths(text):
    assert not MACHINE_PATH.search(text)
