"""canonicalize: folds reach a fixpoint, dialect patterns take part, effects stay."""

import sys

from lect.ir import Context, Dialect, Pattern
from lect.passes.common.canonicalize import Canonicalize
from tests.unit.passes import cf
from tests.unit.passes.cf import run


def test_fold_makes_room_for_the_next_fold():
    out = run(Canonicalize(), """
        cf.func @f(%x: f32) {
          %zero = cf.zero() : f32
          %0 = cf.add(%x, %zero) : f32
          %1 = cf.add(%0, %zero) : f32
          cf.return(%1)
        }
    """)
    assert "cf.add" not in out
    assert "cf.zero" not in out
    assert "cf.return(%x)" in out


class SubtractingItselfIsZero(Pattern):
    """sub(x, x) => zero()"""

    root = cf.SubOp

    def rewrite(self, op, rewriter):
        if op.lhs is not op.rhs:
            return False
        rewriter.replace_with(op, cf.ZeroOp())
        return True


def test_patterns_of_the_dialect_take_part():
    dialect = Dialect.collect("cf", sys.modules[cf.__name__], patterns=(SubtractingItselfIsZero(),))
    ctx = Context({"builtin": "lect.dialects.builtin", "cf": dialect})
    out = run(Canonicalize(), "cf.func @f(%x: f32) {\n%0 = cf.sub(%x, %x) : f32\n%1 = cf.add(%x, %0) : f32\ncf.return(%1)\n}", ctx)
    assert "cf.sub" not in out
    assert "cf.return(%x)" in out
    assert ctx.statistics["changes"] >= 2


def test_new_operation_takes_the_location_of_the_old():
    dialect = Dialect.collect("cf", sys.modules[cf.__name__], patterns=(SubtractingItselfIsZero(),))
    ctx = Context({"builtin": "lect.dialects.builtin", "cf": dialect})
    from lect.ir import parse_module, print_module

    module = parse_module('cf.func @f(%x: f32) {\n%0 = cf.sub(%x, %x) : f32 loc("m.py":7:3)\ncf.return(%0)\n}', ctx)
    Canonicalize().run(module, ctx)
    assert 'cf.zero() : f32 loc("m.py":7:3)' in print_module(module, locations=True)
