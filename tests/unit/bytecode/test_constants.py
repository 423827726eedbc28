"""Python constants survive attribute and text exactly: type, sign of zero, bits of a NaN, int against bool."""

import math
import struct
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from lect.dialects import make_context
from lect.dialects.pyframe.attributes import from_python, is_constant, to_python
from lect.ir import LectError, attribute_text, parse_attribute

atoms = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(),
    st.integers(-5, 5).map(lambda n: n * 2**11_000 + n),
    st.floats(),
    st.integers(0, 2**64 - 1).map(lambda bits: struct.unpack("<d", struct.pack("<Q", bits))[0]),
    st.complex_numbers(),
    st.text(st.characters(codec=None)),
    st.binary(),
    st.just(...),
)
constants = st.recursive(atoms, lambda inner: st.lists(inner, max_size=4).map(tuple), max_leaves=12)


def exact(value: Any) -> Any:
    """A form in which only identical constants are equal."""
    kind = type(value).__name__
    if isinstance(value, float):
        return kind, struct.pack("<d", value)
    if isinstance(value, complex):
        return kind, struct.pack("<dd", value.real, value.imag)
    if isinstance(value, tuple):
        return kind, [exact(item) for item in value]
    if isinstance(value, frozenset):
        return kind, sorted(repr(exact(item)) for item in value)
    return kind, value


@settings(max_examples=300, deadline=None)
@given(st.one_of(constants, st.frozensets(atoms, max_size=4)))
def test_constant_survives_text(value):
    attribute = from_python(value)
    assert is_constant(attribute)
    assert exact(to_python(attribute)) == exact(value)
    text = attribute_text(attribute)
    parsed = parse_attribute(text, make_context())
    assert attribute_text(parsed) == text
    assert exact(to_python(parsed)) == exact(value)


def test_text_of_numbers_is_readable():
    assert attribute_text(from_python(1 + 2j)) == "#pyframe.number<complex 1.0, 2.0>"
    assert attribute_text(from_python(-0.0)) == "-0.0"
    assert attribute_text(from_python(-math.inf)) == "-inf"
    assert attribute_text(from_python(b"ab")) == '#pyframe.bytes<"ab">'


def test_set_of_numbers_keeps_its_order():
    value = frozenset({8, 0, 16})
    assert list(to_python(from_python(value))) == list(value)


def test_set_of_strings_has_one_text():
    assert attribute_text(from_python(frozenset("ba"))) == '#pyframe.frozenset<["a", "b"]>'


def test_live_object_is_refused():
    with pytest.raises(LectError, match="pass it as a resource"):
        from_python(object())


@pytest.mark.parametrize(
    "text", ['#pyframe.bytes<hex "zz">', '#pyframe.number<int bits "0xq">', '#pyframe.number<float bits "00">', "#pyframe.frozenset<[@a]>"]
)
def test_wrong_body_is_a_located_error(text):
    with pytest.raises(LectError):
        parse_attribute(text, make_context())
