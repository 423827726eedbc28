"""Index maps: composing views by substitution agrees with numbering the elements, and the questions about maps are answered rightly."""

import itertools
import random

import pytest

from lect.ir import ParseError, Scanner
from lect.ir.index_map import (
    IndexMap,
    coefficient,
    common_refinement,
    contiguous_strides,
    delinearize,
    dims_of,
    is_affine,
    linearize,
    space_dims,
    split_points,
    strides_of,
    substitute,
)
from lect.ir.symbolic import ZERO, constant, dim, loaded, ranges_of, symbol
from tests.unit.ir.test_symbolic import evaluate


def at(value, point):
    return evaluate(value, {("d", k): x for k, x in enumerate(point)})


def factorisations(rng, number):
    out = []
    while number > 1:
        divisor = rng.choice([k for k in range(2, number + 1) if number % k == 0])
        out.append(divisor)
        number //= divisor
    for _ in range(rng.randrange(2)):
        out.insert(rng.randrange(len(out) + 1), 1)
    return tuple(out)


@pytest.mark.parametrize("seed", range(150))
def test_chains_of_reshape_and_permute_number_the_elements_rightly(seed):
    rng = random.Random(seed)
    number = rng.choice((24, 36, 48, 60, 64))
    sizes = factorisations(rng, number)
    offset = linearize(space_dims(sizes), sizes)
    table = {point: k for k, point in enumerate(itertools.product(*map(range, sizes)))}
    for _ in range(rng.randrange(1, 5)):
        if rng.random() < 0.5:
            order = rng.sample(range(len(sizes)), len(sizes))
            new_sizes = tuple(sizes[k] for k in order)
            new_dims = space_dims(new_sizes)
            replacements = {old: new_dims[new] for new, old in enumerate(order)}
            new_table = {}
            for point in table:
                new_table[tuple(point[k] for k in order)] = table[point]
        else:
            new_sizes = factorisations(rng, number)
            ranges = ranges_of(new_sizes)
            replacements = dict(enumerate(delinearize(linearize(space_dims(new_sizes), new_sizes), sizes, ranges)))
            new_table = dict(zip(itertools.product(*map(range, new_sizes)), [table[p] for p in itertools.product(*map(range, sizes))]))
        offset = substitute(offset, replacements, ranges_of(new_sizes))
        sizes, table = new_sizes, new_table
    for point, expected in table.items():
        assert at(offset, point) == expected
    made = IndexMap(len(sizes), (offset,))
    assert IndexMap.parse_body(Scanner(made.print_body())) is made


@pytest.mark.parametrize("seed", range(60))
def test_splitting_at_the_split_points_makes_reshapes_affine(seed):
    """A transposed array read in another shape: after the split no division is left whenever the factors of the two shapes are compatible."""
    rng = random.Random(seed)
    inner = rng.choice((2, 3, 4))
    middle = rng.choice((2, 4, 6))
    outer = rng.choice((2, 3, 8))
    stored = (outer, middle, inner)
    order = (1, 0, 2)
    permuted = tuple(stored[k] for k in order)
    flat = (permuted[0], permuted[1] * permuted[2])
    ranges = ranges_of(flat)
    indices = delinearize(linearize(space_dims(flat), flat), permuted, ranges)
    strides = contiguous_strides(stored)
    offset = sum((index * strides[order[k]] for k, index in enumerate(indices)), start=ZERO)
    points: dict[int, set[int]] = {}
    split_points(offset, flat, points)
    assert points == {1: {inner}}
    split = (flat[0], flat[1] // inner, inner)
    replacements = {0: dim(0), 1: dim(1) * inner + dim(2)}
    affine = substitute(offset, replacements, ranges_of(split))
    assert is_affine(affine), str(affine)
    for point in itertools.product(*map(range, split)):
        assert at(affine, point) == at(offset, (point[0], point[1] * inner + point[2]))


@pytest.mark.parametrize("sizes", [(), (1,), (5,), (2, 3), (4, 1, 6), (2, 3, 4, 5)])
def test_delinearize_inverts_linearize_without_division(sizes):
    dims = space_dims(sizes)
    assert delinearize(linearize(dims, sizes), sizes, ranges_of(sizes)) == dims


def test_rules_that_reshapes_need():
    d0, d1 = dim(0), dim(1)
    assert (d0 // 8) * 8 + d0 % 8 is d0
    assert (d0 // 8) // 4 is d0 // 32
    assert ((d0 // 4) % 3) * 4 + (d0 // 12) * 12 is (d0 // 4) * 4
    assert (d0 * 64 + d1 * 4 + 3) // 8 is d0 * 8 + d1 // 2
    assert (d0 % 24) // 4 is (d0 // 4) % 6
    assert (d0 % 24) % 8 is d0 % 8
    ranges = ranges_of((10, 64))
    assert ranges.floordiv(d0 * 64 + d1, 16) is d0 * 4 + ranges.floordiv(d1, 16)
    assert ranges.mod(d1, 64) is d1


def test_unit_dims_do_not_occur():
    assert space_dims((1, 3, 1)) == (ZERO, dim(1), ZERO)
    assert str(linearize(space_dims((1, 3, 1)), (1, 3, 1))) == "d1"


def test_coefficient_and_strides():
    d0, d1, s0 = dim(0), dim(1), symbol(0)
    assert coefficient(d0 * 8 + d1, 0) == 8
    assert coefficient(d0 * 8 + d1, 2) == 0
    assert coefficient(d0 * s0 * 2 + d1, 0) is s0 * 2
    assert coefficient(d0 + d1 // 4, 1) is None
    assert coefficient(d0 * d1, 0) is None
    assert strides_of(d0 * 8 - d1 + 7, 2) == (7, (8, -1))
    assert strides_of(d0 * 8 + d1 // 2, 2) is None
    assert strides_of(d0 * 8 + loaded(0), 1) is None
    assert dims_of(d0 + (d1 // 4) % 3) == {0, 1}


def test_common_refinement():
    assert common_refinement((8192, 768), (8, 1024, 12, 64)) == (8, 1024, 12, 64)
    assert common_refinement((6,), (2, 3)) == (2, 3)
    assert common_refinement((4, 6), (6, 4)) is None
    assert common_refinement((4, 1), (4,)) == (4,)
    assert common_refinement((4,), (5,)) is None


@pytest.mark.parametrize(
    "text",
    ["() -> (0)", "(d0, d1) -> (d0 * 128 + d1 floordiv 4)", "(d0)[i0, i1] -> (i0 * 64 + d0 + i1)", "(d0, d1) -> (d0, d1 mod 3)", "(d0) -> (7 - d0)"],
)
def test_maps_read_back(text):
    assert IndexMap.parse_body(Scanner(text)).print_body() == text


@pytest.mark.parametrize("text", ["", "(d0)", "(d0) -> d0", "(d1) -> (d1)", "(d0) -> (d1)", "(d0) -> (i0)", "(d0)[s0] -> (d0)", "(d0) -> (d0 floordiv 0)"])
def test_malformed_maps_are_parse_errors(text):
    with pytest.raises(ParseError):
        scanner = Scanner(text)
        IndexMap.parse_body(scanner)
        scanner.end()


def test_maps_are_interned_and_take_plain_numbers():
    assert IndexMap(1, (3,)) is IndexMap(1, (constant(3),))
    assert IndexMap(1, (dim(0),)).offset is dim(0)
