"""The greedy rewriter: fixpoint, order by benefit, dead code, and patterns that never end."""

import pytest

from lect.ir import LectError, Location, Pattern, PatternSet, apply_greedily, parse_module, print_module, verify
from tests.unit.passes import cf


def module(body: str):
    return parse_module(f"cf.func @f(%x: f32, %y: f32) {{\n{body}\n}}", cf.make_context())


class SwapOperands(Pattern):
    """sub(x, y) => sub(y, x)"""

    root = cf.SubOp

    def rewrite(self, op, rewriter):
        rewriter.replace_with(op, cf.SubOp(op.rhs, op.lhs))
        return True


class Count(Pattern):
    """Matches nothing; remembers what it was asked."""

    def __init__(self, root=None, benefit=1):
        self.root, self.benefit, self.seen = root, benefit, []

    def rewrite(self, op, rewriter):
        self.seen.append(op.name)
        return False


class AddToSub(Pattern):
    """add(x, y) => sub(x, y)"""

    root = cf.AddOp

    def rewrite(self, op, rewriter):
        rewriter.replace_with(op, cf.SubOp(op.lhs, op.rhs))
        return True


class Rename(Pattern):
    """Changes an attribute in place, again and again."""

    root = cf.AddOp

    def rewrite(self, op, rewriter):
        rewriter.set_attribute(op, "scale", op.scale + 1)
        return True


def test_changes_in_place_that_never_end_are_an_error_at_the_operation():
    ir = module("%0 = cf.add(%x, %y) : f32\ncf.return(%0)")
    with pytest.raises(LectError, match="Rename rewrites the same operation again and again") as failure:
        apply_greedily(ir, [Rename()])
    assert failure.value.op.name == "cf.add"


def test_replacements_that_never_end_are_an_error():
    with pytest.raises(LectError, match="SwapOperands"):
        apply_greedily(module("%0 = cf.sub(%x, %y) : f32\ncf.return(%0)"), [SwapOperands()])


def test_patterns_that_undo_each_other_are_an_error():
    class SubToAdd(Pattern):
        root = cf.SubOp

        def rewrite(self, op, rewriter):
            rewriter.replace_with(op, cf.AddOp(op.lhs, op.rhs))
            return True

    with pytest.raises(LectError, match="AddToSub|SubToAdd"):
        apply_greedily(module("%0 = cf.add(%x, %y) : f32\ncf.return(%0)"), [AddToSub(), SubToAdd()])


def test_patterns_are_asked_only_at_their_root():
    add, anything = Count(cf.AddOp), Count()
    apply_greedily(module("%0 = cf.add(%x, %y) : f32\n%1 = cf.sub(%0, %y) : f32\ncf.return(%1)"), [add, anything])
    assert add.seen == ["cf.add"]
    assert sorted(anything.seen) == ["cf.add", "cf.func", "cf.return", "cf.sub"]


def test_greater_benefit_comes_first():
    low, high = Count(cf.AddOp, 1), Count(cf.AddOp, 9)
    patterns = PatternSet([low, AddToSub(), high])
    assert [type(p).__name__ for p in patterns.matching(cf.AddOp)] == ["Count", "Count", "AddToSub"] or patterns.matching(cf.AddOp)[0] is high
    assert patterns.matching(cf.ZeroOp) == []


def test_number_of_changes_and_locations():
    ir = module('%0 = cf.add(%x, %y) : f32 loc("m.py":7:2)\ncf.return(%0)')
    assert apply_greedily(ir, [AddToSub()]) == 1
    verify(ir)
    sub = next(op for op in ir.walk() if op.name == "cf.sub")
    assert sub.loc is Location("m.py", 7, 2)
    assert apply_greedily(ir, [AddToSub()]) == 0


def test_operands_that_become_dead_go():
    ir = module("%0 = cf.zero() : f32\n%1 = cf.add(%0, %0) : f32\n%2 = cf.sub(%1, %1) : f32\ncf.return(%x)")
    apply_greedily(ir, [])
    assert print_module(ir).count(" = ") == 0


def test_dead_operations_stay_when_asked():
    ir = module("%0 = cf.zero() : f32\ncf.return(%x)")
    assert apply_greedily(ir, [], remove_dead=False) == 0
    assert "cf.zero" in print_module(ir)


def test_users_are_looked_at_again():
    class FoldZero(Pattern):
        root = cf.AddOp

        def rewrite(self, op, rewriter):
            if not isinstance(op.rhs.owner, cf.ZeroOp):
                return False
            rewriter.replace(op, op.lhs)
            return True

    class SubIsZero(Pattern):
        root = cf.SubOp

        def rewrite(self, op, rewriter):
            rewriter.replace_with(op, cf.ZeroOp())
            return True

    # the add is visited first and does not match until the subtraction has become zero
    ir = module("%0 = cf.sub(%x, %x) : f32\n%1 = cf.add(%y, %0) : f32\ncf.return(%1)")
    apply_greedily(ir, [FoldZero(), SubIsZero()])
    assert "cf.return(%y)" in print_module(ir)
