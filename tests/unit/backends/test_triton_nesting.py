"""Parentheses of the Triton source: where they are needed, and where they say nothing."""

import pytest

from lect.backends.triton.nesting import enclosed, tidy


@pytest.mark.parametrize("text", ["x", "x_1", "16", "tl.exp(a + b)", "f(x).to(tl.float32)", "(a + b).to(tl.bfloat16)", "tl.load(x + (p * 4), mask=m)"])
def test_a_name_or_a_call_stays(text):
    assert enclosed(text) == text


@pytest.mark.parametrize("text", ["a + b", "f(x) + 1", "-1 * x", "f(a) * g(b)", "1.5 * x", "(a) + (b)", "x[:, None] + y"])
def test_what_has_an_operator_is_enclosed(text):
    assert enclosed(text) == f"({text})"


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("f((a + b), c)", "f(a + b, c)"),
        ("f(c, (a + b))", "f(c, a + b)"),
        ("f((g((x * y))))", "f(g(x * y))"),
        ("f((a + b) * c)", "f((a + b) * c)"),
        ("tl.reduce((x, i), 0, first)", "tl.reduce((x, i), 0, first)"),
        ("f((a + b).to(c))", "f((a + b).to(c))"),
        ("horner(x, (1.0,))", "horner(x, (1.0,))"),
        ("y = (a + b) * (c)", "y = (a + b) * (c)"),
        ("x[(a + b)]", "x[(a + b)]"),
    ],
)
def test_parentheses_that_alone_enclose_an_argument_go(text, expected):
    assert tidy(text) == expected
