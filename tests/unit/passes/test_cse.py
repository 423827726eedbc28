"""cse: which operations are equal, effects in between, dominance."""

import pytest

from lect.passes.common.cse import Cse
from tests.unit.passes.cf import run


def count(text: str, body: str) -> int:
    return run(Cse(), f"cf.func @f(%x: f32, %y: f32) {{\n{body}\ncf.return()\n}}").count(text)


def test_commutative_operands_in_either_order_are_equal():
    assert count("cf.add", "%0 = cf.add(%x, %y) : f32\n%1 = cf.add(%y, %x) : f32") == 1


def test_other_operands_in_another_order_differ():
    assert count("cf.sub", "%0 = cf.sub(%x, %y) : f32\n%1 = cf.sub(%y, %x) : f32") == 2


@pytest.mark.parametrize(("a", "b"), [("2", "2.0"), ("true", "2"), ("0.0", "-0.0"), ("true", "1.0"), ("2", "3")])
def test_attributes_that_python_calls_equal_differ(a, b):
    assert count("cf.add", f"%0 = cf.add(%x, %y) {{scale = {a}}} : f32\n%1 = cf.add(%x, %y) {{scale = {b}}} : f32") == 2


def test_nan_attribute_equals_itself():
    assert count("cf.add", "%0 = cf.add(%x, %y) {scale = nan} : f32\n%1 = cf.add(%x, %y) {scale = nan} : f32") == 1


def test_reads_merge_while_nothing_writes():
    assert count("cf.load", "%0 = cf.load(%x) : f32\n%1 = cf.load(%x) : f32") == 1


def test_no_merge_of_reads_around_a_write():
    assert count("cf.load", "%0 = cf.load(%x) : f32\ncf.store(%y, %0)\n%1 = cf.load(%x) : f32") == 2


def test_no_merge_of_reads_around_a_nested_write():
    assert count("cf.load", "%0 = cf.load(%x) : f32\ncf.loop() {\ncf.store(%y, %0)\ncf.return()\n}\n%1 = cf.load(%x) : f32") == 2


def test_no_merge_of_a_read_into_a_loop():
    assert count("cf.load", "%0 = cf.load(%x) : f32\ncf.loop() {\n%1 = cf.load(%x) : f32\ncf.store(%y, %1)\ncf.return()\n}") == 2


def test_no_merge_of_allocations():
    assert count("cf.alloc", "%0 = cf.alloc() : f32\n%1 = cf.alloc() : f32") == 2


def test_no_merge_across_isolated_functions():
    text = "cf.func @f(%x: f32) {\n%0 = cf.zero() : f32\ncf.return(%0)\n}\n"
    assert run(Cse(), text + text.replace("@f", "@g")).count("cf.zero") == 2


def test_loop_header_reaches_the_body_but_not_the_other_way():
    out = run(Cse(), """
        cf.func @f(%x: f32) {
          cf.branch()[^head]
        ^head:
          %0 = cf.add(%x, %x) : f32
          cf.choose(%0)[^body, ^end]
        ^body:
          %1 = cf.add(%x, %x) : f32
          %2 = cf.sub(%1, %x) : f32
          cf.branch()[^head]
        ^end:
          %3 = cf.sub(%0, %x) : f32
          cf.return(%3)
        }
    """)
    assert out.count("cf.add") == 1
    assert out.count("cf.sub") == 2
