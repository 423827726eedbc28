"""The grammar for editors, and the pages of events and options, say what the code says."""

import json
import re

import pytest

from lect.ir import LectError
from lect.runtime.reporting import GROUPS
from lect.runtime.settings import OPTIONS
from lect.tools import reference_pages

LINE = '  %0, %b = loop.nest @n2(%x) {map = #loop.map<(d0) -> (d0)>, n = -1.5e3, s = "a \\" %c", ok} : (!loop.buffer<4x?xf32, "cpu">) {  // note'


def scopes(text):
    """What an editor makes of a line: at each place the pattern that matches first, the earlier one where several do."""
    patterns = [(re.compile(each["match"]), each["name"]) for each in json.loads(reference_pages.textmate())["patterns"]]
    found, position = [], 0
    while True:
        matches = [(match.start(), number, match) for number, (pattern, _) in enumerate(patterns) if (match := pattern.search(text, position)) and match[0]]
        if not matches:
            return found
        _, number, match = min(matches, key=lambda each: each[:2])
        found.append((match[0], patterns[number][1].removesuffix(".lect")))
        position = match.end()


def test_a_line_is_coloured():
    assert scopes(LINE) == [
        ("%0", "variable.other"),
        ("%b", "variable.other"),
        ("loop.nest", "keyword.operator"),
        ("@n2", "entity.name.function"),
        ("%x", "variable.other"),
        ("map", "variable.parameter"),
        ("#loop.map<(d0) -> (d0)>", "support.constant"),
        ("n", "variable.parameter"),
        ("-1.5e3", "constant.numeric"),
        ("s", "variable.parameter"),
        ('"a \\" %c"', "string.quoted.double"),
        ("ok", "variable.parameter"),
        ('!loop.buffer<4x?xf32, "cpu">', "storage.type"),
        ("// note", "comment.line.double-slash"),
    ]


def test_a_new_terminal_needs_a_scope(monkeypatch):
    monkeypatch.setattr(reference_pages, "SCOPES", {name: scope for name, scope in reference_pages.SCOPES.items() if name != "BLOCK"})
    with pytest.raises(LectError, match="BLOCK"):
        reference_pages.textmate()


def test_all_events_and_options_are_there():
    page = reference_pages.events_page("")
    for kinds in GROUPS.values():
        for kind in kinds:
            assert f"## `{kind}`" in page
    options = reference_pages.options_page("")
    assert all(f"| `{name}` |" in options for name in OPTIONS)
    assert "`LECT_DUMP`" in options and "LECT_LEVEL" not in options
