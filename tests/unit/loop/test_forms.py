"""Forms of nests: what passes remember of them is true behind every pass, and does not change what they make."""

from __future__ import annotations

from typing import Any

import pytest

from lect.dialects import make_context
from lect.ir import Block, BlockTemplate, Operation, PendingBlock, Region, parse_module, print_module, verify
from lect.passes import load_pass
from lect.passes.loop.forms import FORMS, Forms, describe
from lect.passes.loop.nests import nests_of
from lect.passes.manager import PassManager
from lect.passes.pipelines import PIPELINES

LAYER = """
  %a{k} = functional.addmm(%b, %x{k}, %w) : !functional.tensor<64x32xf32>
  %g{k} = functional.gelu(%a{k}) : !functional.tensor<64x32xf32>
  %r{k} = functional.add(%g{k}, %x{k}) : !functional.tensor<64x32xf32>
  %n{k}, %m{k}, %s{k} = functional.layer_norm(%r{k}, %b; %b) {{normalized = [32], eps = 1e-05}} : (!functional.tensor<64x32xf32>, !functional.tensor<64x1xf32>, !functional.tensor<64x1xf32>)
  %t{k} = functional.permute(%n{k}) {{dims = [1, 0]}} : !functional.tensor<32x64xf32, strides [1, 32]>
  %p{k} = functional.softmax(%t{k}) {{dim = 0}} : !functional.tensor<32x64xf32, strides [1, 32]>
  %q{k} = functional.sum(%p{k}) {{dims = [0, 1]}} : !functional.tensor<f32>
  %h{k} = functional.mul(%p{k}, %q{k}) : !functional.tensor<32x64xf32, strides [1, 32]>
  %x{next} = functional.permute(%h{k}) {{dims = [1, 0]}} : !functional.tensor<64x32xf32>
"""
TARGET = {"vector_bytes": 32, "l1_bytes": 1 << 15, "l2_bytes": 1 << 20, "l3_bytes": 1 << 23, "fma": 1, "registers": 16, "threads": 4}
LAYERS = 3
PASSES = (*PIPELINES["loop"], "loop-collapse-dims", "kernel-choose-tiles")


def program() -> str:
    """The same layer several times, over other values."""
    head = "functional.func @f(%x0: !functional.tensor<64x32xf32>, %w: !functional.tensor<32x32xf32>, %b: !functional.tensor<32xf32>) {"
    return "\n".join([head, *[LAYER.format(k=k, next=k + 1) for k in range(LAYERS)], f"  functional.return(%x{LAYERS})", "}"])


def run(forget: bool) -> tuple[str, Any]:
    """The program behind all passes, and the context; with `forget` no pass knows what the one before it found out."""
    ctx = make_context(target=TARGET)
    module = parse_module(program(), ctx)
    for name in PASSES:
        load_pass(name)().run(module, ctx)
        if forget:
            ctx.analyses.clear()
        else:
            require_true(module, ctx.analyses[FORMS], name)
    return print_module(module), ctx


def require_true(module: Operation, forms: Forms, name: str) -> None:
    """Nests have the form that is remembered: what is asked of equal nests holds for each."""
    by_key: dict[Any, Any] = {}
    for nest in nests_of(module):
        key, places = describe(nest)
        form, remembered = forms.shape(nest)
        assert places == remembered, f"{name}: the places of @{nest.sym_name}"
        assert by_key.setdefault(key, form) is form, f"{name}: the form of @{nest.sym_name}"
    assert len(set(map(id, by_key.values()))) == len(by_key), f"{name}: two forms of nests that differ"


def test_what_is_remembered_is_true_behind_every_pass_and_changes_nothing():
    kept, _ = run(forget=False)
    assert kept == run(forget=True)[0]


def test_nests_that_nobody_looks_at_until_the_end_are_the_same():
    ctx = make_context(target=TARGET)
    module = parse_module(program(), ctx)
    for name in PASSES:
        load_pass(name)().run(module, ctx)
    assert any(nest.body.pending is not None for nest in nests_of(module))
    shown, with_places = print_module(module), print_module(module, locations=True)
    assert any(nest.body.pending is not None for nest in nests_of(module))  # printing leaves them as they are
    verify(module)
    assert all(nest.body.pending is None for nest in nests_of(module))
    assert (print_module(module), print_module(module, locations=True)) == (shown, with_places)
    assert shown == run(forget=True)[0]


def test_equal_layers_have_few_forms():
    ctx = make_context(target=TARGET)
    module = parse_module(program(), ctx)
    PassManager.parse(",".join(PASSES)).run(module, ctx)
    nests = nests_of(module)
    assert len({ctx.analyses[FORMS].form(nest) for nest in nests}) < len(nests)


def test_a_pass_that_says_nothing_of_forms_makes_them_forgotten():
    ctx = make_context(target=TARGET)
    module = parse_module(program(), ctx)
    PassManager.parse("functional-to-loop,loop-realize").run(module, ctx)
    assert FORMS in ctx.analyses
    PassManager.parse("cse").run(module, ctx)
    assert FORMS not in ctx.analyses


@pytest.mark.parametrize(
    ("first", "second"),
    [
        ("value = 0.0", "value = -0.0"),
        ("value = 1.0", "value = 2.0"),
        ("map = #loop.map<(d0) -> (d0)>", "map = #loop.map<(d0) -> (7 - d0)>"),
        ("loop.add(%1, %2)", "loop.add(%2, %1)"),
        ("loop.add(%1, %2)", "loop.sub(%1, %2)"),
    ],
)
def test_nests_that_differ_have_different_forms(first: str, second: str):
    text = """
loop.func @f(%x: !loop.buffer<8xf32>) {
  %0 = loop.nest @n0(%x) {space = #loop.space<d0: 8>} : !loop.buffer<8xf32> {
  ^bb0(%d0: index):
    %1 = loop.load(%x) {map = #loop.map<(d0) -> (d0)>} : f32
    %2 = loop.const() {value = 0.0} : f32
    %3 = loop.add(%1, %2) : f32
    loop.store(%3) {map = #loop.map<(d0) -> (d0)>}
  }
  loop.return(%0) {views = [#loop.view<8>]}
}
"""
    if first == "value = 1.0":
        text = text.replace("value = 0.0", first)
    forms = Forms()
    ctx = make_context()
    one, other = [nests_of(parse_module(each, ctx))[0] for each in (text, text.replace(first, second, 1))]
    again = nests_of(parse_module(text.replace("@n0", "@m"), ctx))[0]
    assert forms.form(one) is forms.form(again)
    assert forms.form(one) is not forms.form(other)


def test_a_template_writes_the_same_block_down():
    ctx = make_context(target=TARGET)
    module = parse_module(program(), ctx)
    PassManager.parse("loop").run(module, ctx)
    before = print_module(module)
    for nest in nests_of(module):
        old = nest.body
        places = {op.loc: number for number, op in enumerate(dict.fromkeys(old))}
        template = BlockTemplate(old, nest.operands, {loc: number for number, loc in enumerate(dict.fromkeys(places))})
        locs = list(dict.fromkeys(places))
        block = Block([value.type for value in old.args], [value.hint for value in old.args])
        for op in list(old):
            op.drop_operands()
        template.fill(block, nest.operands, locs)
        block.parent = nest.regions[0]
        nest.regions[0].blocks[0] = block
    assert print_module(module) == before
    for nest in nests_of(module):
        for value in nest.operands:
            assert value.users[nest] == 1
            assert all(user.parent is not None for user in value.users)


PENDING = """
loop.func @f(%x: !loop.buffer<8xf32>, %y: !loop.buffer<8xf32>) {
  %0 = loop.nest @n0(%x) {space = #loop.space<d0: 8>} : !loop.buffer<8xf32> {
  ^bb0(%d0: index):
    %1 = loop.load(%x) {map = #loop.map<(d0) -> (d0)>} : f32
    %2 = loop.add(%1, %1) : f32
    loop.store(%2) {map = #loop.map<(d0) -> (d0)>}
  }
  loop.return(%0) {views = [#loop.view<8>]}
}
"""


def pending() -> tuple[Operation, Operation, Any]:
    """A module, a nest whose block is pending, and the parameters; printed it is `PENDING`."""
    module = parse_module(PENDING, make_context())
    (nest,) = nests_of(module)
    old = nest.body
    places = list(dict.fromkeys([op.loc for op in old]))
    template = BlockTemplate(old, nest.operands, {loc: number for number, loc in enumerate(places)})
    for op in list(old):
        op.drop_operands()
    nest.regions = (Region([PendingBlock(template, places, [value.type for value in old.args], ["d0"])]),)
    nest.regions[0].parent = nest
    return module, nest, nest.parent.args  # type: ignore[union-attr]


@pytest.mark.parametrize("look", ["args", "first", "last"])
def test_a_pending_block_is_written_down_when_somebody_looks(look: str):
    module, nest, (x, _) = pending()
    block = nest.body
    assert list(x.users) == [nest]
    assert getattr(block, look)
    assert type(block) is Block and block.pending is None
    assert [user.name for user in x.users] == ["loop.nest", "loop.load"]
    verify(module)
    assert print_module(module) == print_module(parse_module(PENDING, make_context()))


@pytest.mark.parametrize("locations", [False, True])
def test_a_pending_block_is_printed_as_it_is(locations: bool):
    module, nest, _ = pending()
    shown = print_module(module, locations=locations)
    assert nest.body.pending is not None
    assert print_module(module, generic=True)  # in this form it is written down
    assert nest.body.pending is None
    assert print_module(module, locations=locations) == shown


def test_a_pending_block_reads_what_its_operation_reads_when_it_is_written_down():
    module, nest, (x, y) = pending()
    x.replace_all_uses(y)
    assert nest.body.first.operands == [y]  # type: ignore[union-attr]
    assert not x.users
    verify(module)


def test_a_copy_of_a_pending_block_is_complete():
    _, nest, (x, y) = pending()
    twin = nest.clone({x: y})
    assert [op.name for op in twin.body] == ["loop.load", "loop.add", "loop.store"]
    assert twin.body.first.operands == [y]  # type: ignore[union-attr]


def test_a_pending_block_that_is_erased_was_never_there():
    module, nest, (x, y) = pending()
    nest.replace([y])
    assert not x.users
    assert not list(nest.body)
    verify(module)
