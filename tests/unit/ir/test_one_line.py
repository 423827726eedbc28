"""Operations that are read as lines are what the grammar makes of them, and errors stand where it finds them."""

from __future__ import annotations

from unittest import mock

import pytest

from lect.dialects import make_context
from lect.ir import ParseError, one_line, parse_module, print_module

HEAD = "host.func @f(%x: !host.tensor<4xf32>, %y: !host.tensor<4xf32>) {\n"
MEMORY = "  %{0} = host.memory(%{1}) : !host.buffer<4xf32>\n"
PLAIN = HEAD + MEMORY.format("a", "x") + MEMORY.format("b", "y") + '  host.launch(%a, %b) {kernel = @k, grid = 1, grain = 8}\n' * 2 + "  host.return(%x)\n}\n"
TEXTS = {
    "plain": PLAIN,
    "an end on the next line": PLAIN.replace(" {kernel", "\n    {kernel"),
    "a type on the next line": PLAIN.replace(" : !host.buffer", "\n : !host.buffer"),
    "comments": PLAIN.replace("\n", "  // here\n", 3).replace("host.return", "// there\n  host.return"),
    "places": PLAIN.replace("grain = 8}", 'grain = 8} loc("a.py":3:4)').replace("host.return(%x)", 'host.return(%x) loc(unknown)'),
    "other spaces": PLAIN.replace("%a, %b", "%a,%b").replace(" = host", "  =  host"),
    "generic": PLAIN.replace("host.launch(%a, %b) {", '"host.launch"(%a, %b) {').replace("grain = 8}", "grain = 8} : (!host.buffer<4xf32>, !host.buffer<4xf32>) -> ()"),
    "aliases": "!b = !host.buffer<4xf32>\n" + PLAIN.replace(": !host.buffer<4xf32>", ": !b"),
    "attributes of the same end": PLAIN.replace("grid = 1", "grid = 2", 1),
}  # fmt: skip
WRONG = {
    "a type that is none": PLAIN.replace("%y) : !host.buffer<4xf32>", "%y) : !host.bufer<4xf32>"),
    "an attribute twice": PLAIN.replace("grid = 1", "grid = 1, grid = 1"),
    "a name that is none": PLAIN.replace("(%a, %b)", "(%a, %c)"),
    "a name twice": PLAIN.replace("%b = ", "%a = "),
    "no results": PLAIN.replace("  host.launch", "  %l = host.launch", 1),
    "an unknown operation": PLAIN.replace("host.return", "host.retun"),
    "no end": PLAIN[:-3],
}


@pytest.mark.parametrize("name", TEXTS)
def test_lines_are_what_the_grammar_makes_of_them(name: str) -> None:
    found = print_module(parse_module(TEXTS[name], make_context()), locations=True)
    with mock.patch.object(one_line.Lines, "at", lambda self, text, offset: None):
        assert found == print_module(parse_module(TEXTS[name], make_context()), locations=True)


@pytest.mark.parametrize("name", WRONG)
def test_what_is_wrong_is_told_as_the_grammar_does(name: str) -> None:
    errors = []
    for at in (one_line.Lines.at, lambda self, text, offset: None):
        with mock.patch.object(one_line.Lines, "at", at), pytest.raises(ParseError) as caught:
            parse_module(WRONG[name], make_context())
        errors.append(str(caught.value))
    assert errors[0] == errors[1]


def test_equal_ends_are_read_once() -> None:
    read = []
    lines = one_line.Lines(lambda end: read.append(end) or end)
    for number in range(3):
        assert lines.at(f"%{number} = a.b(%x) {{c = 1}}\n}}", 0) == ([(f"%{number}", 0)], ("a.b", 5), [[(("%x", 8), None)]], " {c = 1}", 21)
    assert read == [" {c = 1}"]
    assert lines.at("%0 = a.b(%x) {c = 1}\n{", 0) is None  # which goes on
    assert lines.at("a.b() {c = 1} {\na.c()\n}", 0) is None  # which has a region
