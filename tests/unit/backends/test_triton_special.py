"""The special functions of the Triton source: every operation of the scalar table has one, each is Python, and calls only what stands before it."""

import ast
import builtins

import pytest

from lect.backends.special import ROUTINES
from lect.backends.triton.arithmetic import TABLE
from lect.backends.triton.prelude import prelude
from lect.backends.triton.special import SPECIAL as FUNCTIONS
from lect.backends.triton.special import special_function
from lect.dialects import scalars
from lect.ir.types import f32, i32

KNOWN = {"tl", "triton", "libdevice", *vars(builtins)}


def test_every_operation_of_the_scalar_table_has_a_text():
    assert scalars.TABLE.keys() <= TABLE.keys()
    assert scalars.SPECIAL == {name for name, _ in FUNCTIONS.values()} == ROUTINES.keys()


@pytest.mark.parametrize("name", FUNCTIONS)
def test_a_module_with_one_function_needs_nothing_else(name):
    module = ast.parse(prelude([name]))
    functions = [each for each in module.body if isinstance(each, ast.FunctionDef)]
    assert functions[-1].name == name
    defined = {each.name for each in functions}
    for function in functions:
        own = {each.arg for each in function.args.args}
        own |= {each.id for each in ast.walk(function) if isinstance(each, ast.Name) and isinstance(each.ctx, ast.Store)}
        read = {each.id for each in ast.walk(function) if isinstance(each, ast.Name) and isinstance(each.ctx, ast.Load)}
        assert read <= own | defined | KNOWN
    assert max(map(len, prelude([name]).splitlines())) <= 160


def test_a_function_is_written_once():
    text = prelude(["erfinv_f32", "ndtri_f32", "erfinv_f32"])
    assert text.count("def erfinv_f32") == text.count("def horner") == 1


def test_the_divisor_of_narrow_integers_is_that_of_wide_ones():
    found = TABLE["gcd"](i32, False, ["a", "b"])
    assert found.text == "gcd_i64(a.to(tl.int64), b.to(tl.int64)).to(tl.int32)"
    assert found.calls == ("gcd_i64",)


def test_the_factors_of_a_series_keep_all_their_digits():
    text, calls = special_function("digamma_f64")
    assert "horner" in calls
    assert repr(-0.5) in text or "0.5" in text
    assert TABLE["digamma"](f32, False, ["v"]).text == "digamma_f32(v)"
