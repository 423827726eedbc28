"""Interned types and attributes, and the traps of Python's equality: 1, 1.0 and True, 0.0 and -0.0, NaN."""

import copy
import math
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from lect.ir import Attribute, Location, SymbolRef, Type, attr, literal_key, same_attribute, type_
from lect.ir.interning import interned
from lect.ir.types import SCALARS, f32, f64

NAN = math.nan
QUICK = settings(max_examples=60, deadline=None)
DISTINCT = [None, True, False, 1, 0, 1.0, 0.0, -0.0, NAN, math.inf, -math.inf, "", "1", "True", (), (1,), (1.0,), (True,), ((),), {}, {"a": 1}, {"a": True}, {"b": 1}, f32, f64]


@pytest.mark.parametrize("a", range(len(DISTINCT)))
def test_values_that_differ_have_different_keys(a):
    for b, other in enumerate(DISTINCT):
        assert (literal_key(DISTINCT[a]) == literal_key(other)) is (a == b), (DISTINCT[a], other)
        assert same_attribute(DISTINCT[a], other) is (a == b)


def test_nan_of_another_object_is_the_same_attribute():
    assert same_attribute(float("nan"), NAN)
    assert same_attribute((1, float("nan")), (1, NAN))


VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(),
    lambda inner: st.lists(inner, max_size=3).map(tuple) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=8,
)


@QUICK
@given(VALUES)
def test_a_copy_has_the_same_key(value):
    assert literal_key(copy.deepcopy(value)) == literal_key(value)
    hash(literal_key(value))


@attr("test.point")
class Point(Attribute):
    """Two fields, one with a default."""

    x: Any
    y: Any = 0


@type_("test.list")
class ListType(Type):
    """A field that is a list."""

    items: tuple

    @classmethod
    def normalize(cls, items):
        if not items:
            raise ValueError("a list type needs items")
        return {"items": items}


def test_equal_fields_give_one_object():
    assert Point(1, 2) is Point(x=1, y=2)
    assert Point(1) is Point(1, 0)
    assert Point(1) is not Point(1.0)
    assert Point(1) is not Point(True)
    assert Point(0.0) is not Point(-0.0)
    assert Point(float("nan")) is Point(float("nan"))
    assert ListType([1, 2]) is ListType((1, 2))
    assert type(ListType([1, [2]]).items[1]) is tuple


def test_wrong_fields_are_refused():
    with pytest.raises(TypeError, match="takes 2 fields"):
        Point(1, 2, 3)
    with pytest.raises(TypeError, match="no free field 'z'; fields are x, y"):
        Point(1, z=2)
    with pytest.raises(TypeError, match="no free field 'x'"):
        Point(1, x=2)
    with pytest.raises(TypeError, match="needs the field 'x'"):
        Point(y=2)
    with pytest.raises(ValueError, match="needs items"):
        ListType(())


def test_instances_are_frozen_and_survive_copying():
    point = Point(1, 2)
    with pytest.raises(AttributeError, match="frozen"):
        point.x = 3
    assert copy.copy(point) is point
    assert copy.deepcopy({"a": [point]})["a"][0] is point
    cls, arguments = point.__reduce__()
    assert cls(*arguments) is point


def test_scalars_are_found_by_their_spelling():
    for spelling, scalar in SCALARS.items():
        assert str(scalar) == spelling
    assert SCALARS["f32"] is f32


def test_plain_class_can_be_interned():
    @interned
    class Pair:
        """Not an attribute."""

        left: int
        right: int

    assert Pair(1, 2) is Pair(1, 2)


def test_locations_and_symbols_are_interned():
    assert Location("m.py", 3, 4) is Location("m.py", 3, 4)
    assert Location("m.py", 3) is not Location("m.py", 3, 0)
    assert copy.deepcopy(Location("m.py", 3)) is Location("m.py", 3)
    assert str(Location("m.py", 3, 4)) == "m.py:3:5"
    assert SymbolRef("f") is SymbolRef(("f",))
    assert SymbolRef(("a", "b")).leaf == "b"
