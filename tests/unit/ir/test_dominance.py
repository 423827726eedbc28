"""Dominance against its definition, on random graphs: a dominates b when b cannot be reached once a is taken away."""

import random

import pytest

from lect.ir import Block, Dominance, Region, parse_module, reverse_postorder
from lect.ir.dominance import immediate_dominators
from tests.unit.passes import cf


def random_region(seed: int) -> Region:
    """A region of unregistered branches between up to twelve blocks, some of them unreachable."""
    rng = random.Random(seed)
    count = rng.randint(1, 12)
    region = Region([Block() for _ in range(count)])
    for block in region.blocks:
        targets = rng.choices(region.blocks[1:], k=rng.randint(0, 3)) if count > 1 else []
        block.append(cf.ReturnOp.create(successors=targets))
    return region


def reachable(region: Region, without: Block | None = None) -> set[Block]:
    seen: set[Block] = set()
    work = [region.entry] if region.entry is not without else []
    while work:
        block = work.pop()
        if block not in seen:
            seen.add(block)
            work += [s for s in block.last.successors if s is not without]
    return seen


@pytest.mark.parametrize("seed", range(60))
def test_dominance_is_what_it_is_defined_to_be(seed):
    region = random_region(seed)
    dominance = Dominance()
    reached = reachable(region)
    for a in region.blocks:
        without = reachable(region, without=a)
        for b in region.blocks:
            expected = a is b or b not in reached or b not in without
            assert dominance.block_dominates(a, b) is expected


@pytest.mark.parametrize("seed", range(30))
def test_reverse_postorder_has_the_reachable_blocks_once_and_dominators_first(seed):
    region = random_region(seed)
    order = reverse_postorder(region)
    assert order[0] is region.entry
    assert len(order) == len(set(order))
    assert set(order) == reachable(region)
    place = {block: number for number, block in enumerate(order)}
    for block, dominator in immediate_dominators(region).items():
        assert dominator is None or place[dominator] < place[block]


def test_values_dominate_into_nested_regions_but_not_out():
    module = parse_module("""
        cf.func @f(%x: f32) {
          %0 = cf.zero() : f32
          cf.loop() {
            %1 = cf.add(%0, %x) : f32
            cf.return(%1)
          }
          cf.return(%0)
        }
    """, cf.make_context())
    ops = {op.name: op for op in module.walk() if op.name != "cf.return"}
    end = module.body.first.body.last
    dominance = Dominance()
    assert dominance.value_dominates(ops["cf.zero"].result, ops["cf.add"])
    assert dominance.value_dominates(ops["cf.zero"].result, end)
    assert not dominance.value_dominates(ops["cf.add"].result, end)
    assert not dominance.value_dominates(ops["cf.add"].result, ops["cf.add"])
    assert not dominance.value_dominates(ops["cf.add"].result, ops["cf.zero"])


def test_very_long_graphs_need_no_deep_stack():
    region = Region([Block() for _ in range(5000)])
    for block, following in zip(region.blocks, region.blocks[1:]):
        block.append(cf.ReturnOp.create(successors=[following]))
    assert len(reverse_postorder(region)) == 5000
    assert Dominance().block_dominates(region.blocks[0], region.blocks[-1])
