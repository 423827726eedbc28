"""Text of attribute values, strings and names: whatever goes out comes back the same, in both forms."""

import math

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from lect.ir import (
    ParseError,
    SymbolRef,
    attribute_text,
    literal_key,
    parse_attribute,
    parse_module,
    parse_ops,
    print_module,
    quote,
)
from lect.ir.scanner import Scanner, unescape
from lect.ir.syntax import load_syntax
from lect.ir.types import SCALARS
from tests.unit.passes import cf

CONTEXT = cf.make_context()
QUICK = settings(max_examples=60, deadline=None)
STRINGS = st.text(alphabet=st.characters(codec=None, exclude_categories=()), max_size=30)
LEAVES = st.none() | st.booleans() | st.integers() | st.floats() | STRINGS | st.sampled_from(sorted(SCALARS.values(), key=str))
VALUES = st.recursive(
    LEAVES | st.lists(STRINGS, min_size=1, max_size=3).map(lambda path: SymbolRef(tuple(path))),
    lambda inner: st.lists(inner, max_size=3).map(tuple) | st.dictionaries(STRINGS, inner, max_size=3),
    max_leaves=10,
)


@QUICK
@given(VALUES, st.booleans())
@example(float("nan"), True)
@example((0.0, -0.0, 1e308, 5e-324, -math.inf), False)
@example("\x00\x1f\x7f\x80\x9f\udc80\ud800\U0001f600\\\"\n\t", True)
@example(2**63, True)
@example(-(2**63), True)
@example(10**400, False)
@example((((),), {"": {"a b": None}}), True)
def test_attribute_values_come_back(value, generic):
    text = attribute_text(value, generic)
    assert literal_key(parse_attribute(text, CONTEXT)) == literal_key(value)
    assert "\n" not in text


@QUICK
@given(STRINGS)
def test_strings_come_back(text):
    quoted = quote(text)
    assert unescape(quoted[1:-1]) == text
    assert Scanner(quoted).string() == text
    quoted.encode("utf-8")
    assert all(" " <= char for char in quoted)


@QUICK
@given(st.text(alphabet='\\"0Fn xyzé', max_size=10))
def test_unescaping_anything_gives_text_or_a_parse_error(body):
    try:
        assert isinstance(unescape(body), str)
    except ParseError as error:
        assert "UTF-8" in error.message


def test_escapes():
    assert unescape(r"a\n\t\"\\\41") == 'a\n\t"\\A'
    assert unescape(r"\C3\A9") == "é"
    with pytest.raises(ParseError, match="string is not UTF-8"):
        unescape(r"\FF")


@pytest.mark.parametrize("value", [object(), {1: 2}, 1j, b"bytes", {1}])
def test_what_is_no_attribute_is_refused(value):
    with pytest.raises((TypeError, AttributeError)):
        attribute_text(value)


@QUICK
@given(STRINGS.filter(bool), STRINGS.filter(bool))
def test_odd_names_of_values_and_symbols_come_back(hint, symbol):
    module = parse_module("cf.func @f(%x: f32) {\n  %0 = cf.add(%x, %x) : f32\n  cf.return(%0)\n}", CONTEXT)
    func = module.body.first
    func.attrs["sym_name"] = symbol
    func.body.first.results[0].hint = hint
    func.body.args[0].hint = hint
    text = print_module(module)
    again = parse_module(text, CONTEXT)
    assert again.body.first.symbol == symbol
    assert print_module(again) == text
    generic = print_module(module, generic=True)
    assert print_module(parse_module(generic, CONTEXT), generic=True) == generic


# ---- forms of the language -------------------------------------------------------------------------------------------


def roundtrip(text: str) -> str:
    module = parse_module(text, CONTEXT)
    out = print_module(module)
    assert print_module(parse_module(out, CONTEXT)) == out
    generic = print_module(module, generic=True)
    assert print_module(parse_module(generic, CONTEXT)) == out
    return out


def test_loose_operations_and_an_explicit_module_are_one():
    body = "cf.func @f() {\n  cf.return()\n}\n"
    assert roundtrip(body) == body
    assert roundtrip(f"builtin.module {{\n{body}}}") == body
    assert roundtrip("") == ""
    named = f"builtin.module @m {{\n{body}}}"
    assert roundtrip(named).startswith("builtin.module @m {")


def test_white_space_and_comments_are_free():
    text = "// before\r\ncf.func // name\n@f(\n%x\n:\nf32)\t{\fcf.return(%x\n,%x) } // behind"
    assert roundtrip(text) == "cf.func @f(%x: f32) {\n  cf.return(%x, %x)\n}\n"


def test_operand_lists_over_several_lines():
    assert "cf.add(%x, %x)" in roundtrip("cf.func @f(%x: f32) {\n%0 = cf.add( %x ,%x ) : f32\n%1 = cf.add(\n%x,\n%x\n) : f32\ncf.return()}")


@pytest.mark.parametrize(
    ("operands", "groups"),
    [
        ("", []),
        ("()", []),
        ("(;)", [0, 0]),
        ("(%x)", [1]),
        ("(%x;)", [1, 0]),
        ("(;%x)", [0, 1]),
        ("(%x, %x; ; %x)", [2, 0, 1]),
        ("(;;;)", [0, 0, 0, 0]),
        ("(%x: f32; %x)", [1, 1]),
    ],
)
def test_operand_groups_may_be_empty(operands, groups):
    (node,) = load_syntax().parse(f"d.op{operands}", CONTEXT)
    assert [len(group) for group in node.operands] == groups or (groups == [] and not any(node.operands))


@pytest.mark.parametrize("place", [0, 1, 2])
def test_error_in_an_operand_list_is_at_the_name(place):
    operands = ["%x", "%x", "%x"]
    operands[place] = "%nowhere"
    text = f"cf.func @f(%x: f32) {{\n  cf.return({', '.join(operands)})\n}}"
    with pytest.raises(ParseError) as failure:
        parse_module(text, CONTEXT, "t.mlir")
    column = text.split("\n")[1].index("%nowhere")
    assert (failure.value.loc.line, failure.value.loc.column) == (2, column)


def test_error_shows_the_line_with_a_caret():
    with pytest.raises(ParseError) as failure:
        parse_module("cf.func @f() {\n  cf.retur()\n}", CONTEXT, "t.mlir")
    lines = failure.value.render().split("\n")
    assert lines[0] == "t.mlir:2:3: error: unknown operation 'cf.retur'; did you mean 'cf.return'?"
    at = lines.index("    2 |   cf.retur()")
    assert lines[at + 1] == "      |   ^"


def test_error_at_the_end_of_the_text():
    with pytest.raises(ParseError, match="found the end of the text") as failure:
        parse_module("cf.func @f() {\n  cf.return()\n", CONTEXT, "t.mlir")
    assert failure.value.loc.line == 3


def test_unknown_dialect_is_named_with_those_there_are():
    with pytest.raises(ParseError, match="unknown dialect 'nowhere'; known are builtin, cf"):
        parse_module("nowhere.op()", CONTEXT)


@pytest.mark.parametrize("text", ["%0 = ", '"', "'", "@", "%", "^", "!", "#", "-", "0x", "\x00", "\ud800", "}", "({", "// only a comment\x00\n("])
def test_fragments_are_parse_errors(text):
    with pytest.raises(ParseError) as failure:
        parse_module(text, CONTEXT, "t.mlir")
    assert failure.value.loc.file == "t.mlir"


# ---- depth -----------------------------------------------------------------------------------------------------------


def nested_regions(depth: int) -> str:
    return "cf.func @f() {\n" + "cf.loop() {\n" * (depth - 1) + "cf.return()\n" + "}\ncf.return()\n" * (depth - 1) + "}\n"


def test_regions_nest_up_to_the_limit_and_print():
    roundtrip(nested_regions(100))
    with pytest.raises(ParseError, match="regions are nested more than 100 deep") as failure:
        parse_module(nested_regions(101), CONTEXT, "t.mlir")
    assert failure.value.loc.line == 101
    with pytest.raises(ParseError, match="nested more than 100 deep"):
        parse_module(nested_regions(20000), CONTEXT)


def test_lists_nest_up_to_the_limit_and_print():
    for opening, closing in (("[", "]"), ("{a = ", "}")):
        value = parse_attribute(opening * 100 + "1" + closing * 100, CONTEXT)
        assert attribute_text(value) == opening * 100 + "1" + closing * 100
        with pytest.raises(ParseError, match="lists are nested more than 100 deep"):
            parse_attribute(opening * 101 + "1" + closing * 101, CONTEXT)
        with pytest.raises(ParseError, match="lists are nested more than 100 deep"):
            parse_attribute(opening * 50000 + "1" + closing * 50000, CONTEXT)


def test_parsing_twice_gives_separate_operations():
    text = "cf.func @f() {\n  cf.return()\n}"
    (first,), (second,) = parse_ops(text, CONTEXT), parse_ops(text, CONTEXT)
    assert first is not second


def test_names_are_stable():
    text = "cf.func @f(%x: f32) {\n  %0 = cf.zero() : f32\n  %sum = cf.add(%x, %0) : f32\n  %1 = cf.zero() : f32\n  cf.return(%sum, %1)\n}\n"
    module = parse_module(text, CONTEXT)
    assert print_module(module) == text == print_module(module)
    func = module.body.first
    func.body.insert_before(func.body.first, cf.ZeroOp())
    assert "%sum = cf.add(%x, %1)" in print_module(module)
