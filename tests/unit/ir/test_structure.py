"""Operations, values, blocks: use lists stay right under every change, copies are complete, lists are linked both ways."""

import pytest

from lect.ir import Block, Builder, Region, SymbolTable, Value, VerifyError, parse_module, print_module, verify
from lect.ir.types import f32, f64
from tests.unit.passes import cf


def values(count: int) -> list[Value]:
    return list(Block([f32] * count).args)


def users_agree(*all_values: Value) -> bool:
    """Each value's users are exactly the operations with it among their operands, counted."""
    for value in all_values:
        if any(count != user.operands.count(value) for user, count in value.users.items()):
            return False
    return True


# ---- uses ------------------------------------------------------------------------------------------------------------


def test_uses_are_counted_per_user():
    a, b = values(2)
    op = cf.AddOp(a, a)
    assert a.users == {op: 2}
    op.set_operand(0, b)
    assert (a.users, b.users) == ({op: 1}, {op: 1})
    op.set_operand(0, b)
    assert b.users == {op: 1}, "setting the same value changes nothing"
    op.set_operands([a, a])
    assert (a.users, b.users) == ({op: 2}, {})


def test_users_are_in_order_of_first_use():
    (a,) = values(1)
    ops = [cf.AddOp(a, a) for _ in range(5)]
    assert list(a.users) == ops


def test_replacing_all_uses_moves_counts_and_the_name():
    a, b = values(2)
    a.hint = "kept"
    both, first = cf.AddOp(a, b), cf.AddOp(a, a)
    a.replace_all_uses(b)
    assert not a.users
    assert b.users == {both: 2, first: 2}
    assert b.hint == "kept"
    b.replace_all_uses(b)
    assert users_agree(a, b)


def test_replacing_some_uses():
    a, b = values(2)
    one, other = cf.AddOp(a, a), cf.AddOp(a, b)
    a.replace_uses_if(b, lambda user: user is one)
    assert a.users == {other: 1}
    assert b.users == {one: 2, other: 1}


def test_one_use_means_one_operand():
    a, b = values(2)
    assert not a.has_one_use()
    cf.AddOp(a, b)
    assert a.has_one_use()
    cf.SubOp(b, b)
    assert not b.has_one_use()


def test_erasing_what_is_used_is_refused():
    a, b = values(2)
    first = cf.AddOp(a, b)
    second = cf.AddOp(first.result, b)
    with pytest.raises(ValueError, match=r"cannot erase cf.add: its result is used by cf.add"):
        first.erase()
    second.erase()
    first.erase()
    assert not a.users
    assert not b.users


def test_erasing_drops_uses_inside_of_regions():
    (a,) = values(1)
    inner = cf.AddOp(a, a)
    loop = cf.LoopOp(regions=[Region([Block()])])
    loop.body.append(inner)
    loop.erase()
    assert not a.users


def test_replace_needs_as_many_values_as_results():
    a, b = values(2)
    op = cf.AddOp(a, b)
    with pytest.raises(ValueError, match="has 1 results, got 2"):
        op.replace([a, b])
    user = cf.SubOp(op.result, b)
    op.replace([a])
    assert user.operands == [a, b]


# ---- blocks ----------------------------------------------------------------------------------------------------------


def names(block: Block) -> list[str]:
    """Forward, checked to be the reverse of backward."""
    forward = list(block)
    backward, cursor = [], block.last
    while cursor is not None:
        backward.append(cursor)
        cursor = cursor.prev
    assert forward == backward[::-1]
    assert all(op.parent is block for op in forward)
    return [op.name for op in forward]


def test_insertion_and_removal_keep_the_list_linked():
    block = Block([f32])
    (a,) = block.args
    last = block.append(cf.ReturnOp())
    first = block.insert_before(last, cf.AddOp(a, a))
    block.insert_before(first, cf.ZeroOp())
    assert names(block) == ["cf.zero", "cf.add", "cf.return"]
    first.detach()
    assert (first.parent, first.prev, first.next) == (None, None, None)
    assert names(block) == ["cf.zero", "cf.return"]
    block.insert_before(None, first)
    assert names(block) == ["cf.zero", "cf.return", "cf.add"]
    block.first.erase()
    block.last.erase()
    block.last.erase()
    assert names(block) == []
    assert (block.first, block.last) == (None, None)


def test_iterating_while_erasing():
    block = Block()
    for _ in range(5):
        block.append(cf.ZeroOp())
    for op in block:
        op.erase()
    assert len(block) == 0


def test_splitting_moves_the_tail_to_a_new_block():
    region = Region([Block(), Block()])
    head, after = region.blocks
    ops = [head.append(cf.ZeroOp()) for _ in range(4)]
    tail = head.split_before(ops[2])
    assert region.blocks == [head, tail, after]
    assert (list(head), list(tail)) == (ops[:2], ops[2:])
    assert names(tail) == ["cf.zero", "cf.zero"]


def test_moving_operations_between_blocks():
    source, target = Block(), Block()
    moved = [source.append(cf.ZeroOp()) for _ in range(3)]
    anchor = target.append(cf.ReturnOp())
    target.move_all(moved[:2], anchor)
    assert list(source) == moved[2:]
    assert list(target) == [*moved[:2], anchor]


def test_arguments_are_renumbered_when_one_goes():
    block = Block([f32, f64, f32])
    a, b, c = block.args
    user = cf.AddOp(c, a)
    with pytest.raises(ValueError, match="has users"):
        block.erase_arg(0)
    block.erase_arg(1)
    assert block.args == [a, c]
    assert (a.index, c.index) == (0, 1)
    assert user.operands == [c, a]


def test_is_before():
    block = Block()
    first, second = block.append(cf.ZeroOp()), block.append(cf.ZeroOp())
    assert first.is_before(second)
    assert not second.is_before(first)
    assert not first.is_before(first)


def test_builder_gives_its_location():
    block = Block()
    from lect.ir import Location

    place = Location("m.py", 3)
    op = Builder(block, loc=place).insert(cf.ZeroOp())
    kept = Builder(block, anchor=op).insert(cf.ZeroOp(loc=Location("n.py", 1)))
    assert (op.loc, kept.loc.file) == (place, "n.py")
    assert list(block) == [kept, op]
    assert Builder.after(kept).insert(cf.ZeroOp()).loc is kept.loc


# ---- copies ----------------------------------------------------------------------------------------------------------

LOOP = """
cf.func @f(%x: f32) {
  cf.branch()[^second]
^first(%a: f32):
  %0 = cf.add(%a, %later) : f32
  cf.choose(%0)[^second, ^end]
^second:
  %later = cf.add(%x, %x) : f32
  cf.branch()[^first(%later)]
^end:
  cf.return(%later)
}
"""


def test_clone_has_back_edges_and_forward_references():
    module = parse_module(LOOP, cf.make_context())
    copy = module.clone()
    verify(copy)
    assert print_module(copy) == print_module(module)
    originals = {value for op in module.walk() for value in op.results}
    originals |= {value for op in module.walk() for region in op.regions for block in region.blocks for value in block.args}
    blocks = {block for op in module.walk() for region in op.regions for block in region.blocks}
    for op in copy.walk():
        assert not originals.intersection(op.operands)
        assert not blocks.intersection(op.successors)
    for op in list(copy.walk())[1:]:
        op.drop_operands()
    verify(module)


def test_clone_maps_outer_values():
    a, b = values(2)
    op = cf.AddOp(a, a)
    mapping = {a: b}
    copy = op.clone(mapping)
    assert copy.operands == [b, b]
    assert mapping[op.result] is copy.result
    assert copy.parent is None


def test_clone_does_not_share_attributes():
    a, _ = values(2)
    op = cf.AddOp(a, a, scale=3)
    copy = op.clone()
    copy.scale = 4
    assert (op.scale, copy.scale) == (3, 4)


def test_default_attributes_are_not_stored():
    a, _ = values(2)
    op = cf.AddOp(a, a, scale=1)
    assert op.attrs == {}
    op.scale = 2
    assert op.attrs == {"scale": 2}
    op.scale = 1
    assert op.attrs == {}
    op.scale = True
    assert op.attrs == {"scale": True}, "true is not 1"
    assert cf.AddOp(a, a, scale=1.0).attrs == {"scale": 1.0}


# ---- symbols ---------------------------------------------------------------------------------------------------------


def test_symbol_table():
    text = "cf.func @f() {\n cf.return()\n}\ncf.func @f_1() {\n cf.return()\n}\nbuiltin.module @m {\ncf.func @f() {\n cf.return()\n}\n}\n"
    module = parse_module(text, cf.make_context())
    table = SymbolTable(module)
    f = table.lookup("f")
    assert f is module.body.first
    assert table.lookup("m").body.first is not f
    from lect.ir import SymbolRef

    assert table.lookup(SymbolRef(("m", "f"))) is table.lookup("m").body.first
    assert table.lookup(SymbolRef(("f", "m"))) is None
    assert table.lookup("nothing") is None
    assert table.unique("f") == "f_2"
    assert table.unique("g") == "g"
    assert table.insert(f.clone()) == "f_2"
    verify(module)
    table.remove(f)
    assert table.lookup("f") is None
    assert [op.symbol for op in module.body] == ["f_1", "m", "f_2"]


# ---- what only code can break ----------------------------------------------------------------------------------------


def test_verifier_counts_uses():
    module = parse_module(LOOP, cf.make_context())
    add = next(op for op in module.walk() if op.name == "cf.add")
    add.operands[0] = add.operands[1]
    with pytest.raises(VerifyError, match="use list of an operand of 'cf.add' does not agree"):
        verify(module)


def test_verifier_finds_an_operand_of_an_erased_operation():
    module = parse_module(LOOP, cf.make_context())
    last = list(module.walk())[-1]
    stray = cf.ZeroOp()
    last.set_operands([stray.result])
    with pytest.raises(VerifyError, match="defined outside of the operation that isolates it, or not at all"):
        verify(module)


def test_verifier_finds_values_of_another_function():
    text = "cf.func @f(%x: f32) {\n cf.return(%x)\n}\n"
    module = parse_module(text + text.replace("@f", "@g"), cf.make_context())
    f, g = module.body
    f.body.last.set_operands([g.body.args[0]])
    with pytest.raises(VerifyError, match="operand of 'cf.return' is defined outside"):
        verify(module)


def test_verifier_finds_a_successor_of_another_region():
    module = parse_module(LOOP + LOOP.replace("@f", "@g"), cf.make_context())
    f, g = module.body
    f.region.blocks[0].last.successors = (g.region.blocks[2],)
    with pytest.raises(VerifyError, match="successor 0 of 'cf.branch' is not in the same region"):
        verify(module)


def test_verifier_finds_a_region_without_block():
    loop = cf.LoopOp(regions=[Region()])
    with pytest.raises(VerifyError, match="region 0 of 'cf.loop' has no block"):
        verify(loop)


def test_verifier_finds_wrong_arguments_of_a_successor():
    module = parse_module(LOOP, cf.make_context())
    branch = next(op for op in module.walk() if op.name == "cf.choose")
    branch.successors = (module.body.first.region.blocks[1], branch.successors[0])
    with pytest.raises(VerifyError, match="successor 0 of 'cf.choose' takes 1 arguments, got 0"):
        verify(module)


def test_error_shows_the_neighbourhood():
    module = parse_module(LOOP, cf.make_context(), "loop.mlir")
    add = next(op for op in module.walk() if op.name == "cf.add")
    add.results[0].type = f64
    with pytest.raises(VerifyError) as failure:
        verify(module)
    text = failure.value.render()
    assert text.startswith("loop.mlir:5:8: error: result of 'cf.add' must be f32, got f64\n")
    assert any(line.startswith("  -->") and "cf.add" in line for line in text.split("\n"))
    assert 5 <= text.count("\n") <= 14


def test_error_of_a_type_rule_is_about_the_operation(monkeypatch):
    def infer(self):
        raise VerifyError("a rule that knows only types")

    module = parse_module(LOOP, cf.make_context(), "loop.mlir")
    monkeypatch.setattr(cf.AddOp, "infer", infer)
    with pytest.raises(VerifyError, match=r"loop.mlir:\d+:\d+: error: a rule that knows only types"):
        verify(module)
