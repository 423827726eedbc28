"""Integer expressions: every simplification is checked against plain evaluation over all points."""

import itertools
import random

import pytest

from lect.ir import ParseError, Scanner
from lect.ir.symbolic import UNBOUNDED, ZERO, Expr, Ranges, as_size, constant, dim, loaded, product, ranges_of, symbol
from lect.ir.symbolic_text import parse_expr, parse_shape, shape_text


def evaluate(value: Expr, leaves: dict[tuple[str, int], int]) -> int:
    """The number that an expression stands for."""
    total = value.const
    for atoms, factor in value.terms:
        for atom in atoms:
            args = [evaluate(a, leaves) for a in atom.args]
            if not args:
                factor *= leaves[atom.kind, atom.index]
            elif atom.kind in ("min", "max"):
                factor *= min(args) if atom.kind == "min" else max(args)
            else:
                factor *= args[0] // args[1] if atom.kind == "floordiv" else args[0] % args[1]
        total += factor
    return total


def reread(value: Expr) -> Expr:
    scanner = Scanner(str(value))
    out = parse_expr(scanner)
    scanner.end()
    return out


def random_pair(rng, sizes, ranges, depth):
    """An expression built through `ranges`, and the function of a point that it has to equal."""
    choice = rng.randrange(7) if depth else rng.randrange(2)
    if choice == 0:
        number = rng.randrange(-4, 9)
        return constant(number), lambda point: number
    if choice == 1:
        k = rng.randrange(len(sizes))
        return dim(k), lambda point: point[k]
    a, f = random_pair(rng, sizes, ranges, depth - 1)
    if choice == 2:
        b, g = random_pair(rng, sizes, ranges, depth - 1)
        return a + b, lambda point: f(point) + g(point)
    n = rng.choice((1, 2, 3, 4, 6, 8, 12))
    if choice == 3:
        return a * n, lambda point: f(point) * n
    if choice == 4:
        return ranges.floordiv(a, n), lambda point: f(point) // n
    if choice == 5:
        return ranges.mod(a, n), lambda point: f(point) % n
    b, g = random_pair(rng, sizes, ranges, depth - 1)
    return ranges.minimum(a, b), lambda point: min(f(point), g(point))


@pytest.mark.parametrize("seed", range(400))
def test_simplified_expressions_keep_their_value_and_bounds(seed):
    rng = random.Random(seed)
    sizes = tuple(rng.choice((1, 2, 3, 4, 6, 8, 12)) for _ in range(3))
    ranges = ranges_of(sizes)
    value, meaning = random_pair(rng, sizes, ranges, 5)
    low, high = ranges.bounds(value)
    for point in itertools.product(*map(range, sizes)):
        found = evaluate(value, {("d", k): x for k, x in enumerate(point)})
        assert found == meaning(point), f"{value} at {point}"
        assert low <= found <= high, f"{value} at {point} is outside of {low}..{high}"
    assert reread(value) is value, f"{value} reads back as {reread(value)}"


@pytest.mark.parametrize("seed", range(200))
def test_expressions_over_symbols_keep_their_value(seed):
    """Symbols as factors and divisors; comparisons never claim what some point contradicts."""
    rng = random.Random(seed)
    s0, s1, d0, d1 = symbol(0), symbol(1), dim(0), dim(1)
    leaves = [s0, s1, d0, d1, constant(rng.randrange(1, 5))]
    ranges = Ranges(dims=(s0, s1), symbols={0: (1, 6), 1: (1, 6)})

    def build(depth):
        if not depth:
            leaf = rng.choice(leaves)
            return leaf, lambda point: evaluate(leaf, point)
        (a, f), (b, g) = build(depth - 1), build(depth - 1)
        divisor = rng.choice((s0, s1, s0 * 2, constant(3)))
        return rng.choice(
            (
                (a + b, lambda p: f(p) + g(p)),
                (a - b, lambda p: f(p) - g(p)),
                (a * b, lambda p: f(p) * g(p)),
                (ranges.floordiv(a, divisor), lambda p: f(p) // evaluate(divisor, p)),
                (ranges.mod(a, divisor), lambda p: f(p) % evaluate(divisor, p)),
                (ranges.maximum(a, b), lambda p: max(f(p), g(p))),
            )
        )

    (left, f), (right, g) = build(3), build(2)
    claims = {"less": ranges.less(left, right), "equal": ranges.equal(left, right)}
    for n0, n1 in itertools.product(range(1, 7), repeat=2):
        for x, y in itertools.product(range(n0), range(n1)):
            point = {("s", 0): n0, ("s", 1): n1, ("d", 0): x, ("d", 1): y}
            assert evaluate(left, point) == f(point), f"{left} at {point}"
            assert claims["less"] is None or claims["less"] is (f(point) < g(point)), f"{left} < {right} at {point}"
            assert claims["equal"] is None or claims["equal"] is (f(point) == g(point)), f"{left} == {right} at {point}"
    assert reread(left) is left


def test_rows_of_a_symbolic_array_need_no_division():
    s0, s1 = symbol(0), symbol(1)
    ranges = Ranges(dims=(s0, s1), symbols={0: (1, None), 1: (1, None)})
    offset = dim(0) * s1 + dim(1)
    assert ranges.floordiv(offset, s1) is dim(0)
    assert ranges.mod(offset, s1) is dim(1)
    assert ranges.less(offset, s0 * s1) is True
    assert ranges.less(offset, s0) is None
    assert ranges.less(s0 * s1, offset) is False


def test_comparison_knows_three_answers():
    s0 = symbol(0)
    assert UNBOUNDED.less(s0, s0 + 1) is True
    assert UNBOUNDED.less(s0 + 1, s0) is False
    assert UNBOUNDED.less(s0, 5) is None
    assert Ranges(symbols={0: (2, 4)}).less(s0, 5) is True
    assert UNBOUNDED.equal(s0 * 2, s0 + s0) is True
    assert UNBOUNDED.equal(s0, s0 + 3) is False
    assert UNBOUNDED.less_equal(0, s0) is True
    assert UNBOUNDED.less_equal(0, loaded(0)) is None


def test_constants_stay_plain_ints_as_sizes():
    s0 = symbol(0)
    assert as_size(s0 - s0 + 4) == 4
    assert product((2, 3, 4)) == 24
    assert product((2, s0)) is s0 * 2
    assert s0 - s0 is ZERO


def test_text_does_not_depend_on_the_order_of_creation():
    d7, d9 = dim(7), dim(9)
    assert str(d9 * 4 + d7 * 64) == "d7 * 64 + d9 * 4"
    assert str(d7 + d9) == str(d9 + d7) == "d7 + d9"
    assert str(7 - dim(0) * 2) == "7 - d0 * 2"
    assert str((dim(0) // 4) * 12) == "(d0 floordiv 4) * 12"
    assert str(symbol(0) * dim(1) + dim(0)) == "d1 * s0 + d0"


@pytest.mark.parametrize("text", ["", "d0 +", "d0 * * 2", "(d0", "min()", "d0 floordiv 0", "d0 mod -3", "x", "d00", "(" * 500, "- " * 500])
def test_malformed_text_is_a_parse_error(text):
    with pytest.raises(ParseError):
        scanner = Scanner(text)
        parse_expr(scanner)
        scanner.end()


@pytest.mark.parametrize("text", ["f32", "8xf32", "8x1024x768xbf16", "s0x8xi64", "(s0 * 2 + 1)x4xi1", "0x3xui8", "2xcomplex<f32>"])
def test_shapes_read_back(text):
    assert shape_text(*parse_shape(Scanner(text))) == text


@pytest.mark.parametrize("text", ["", "8x", "8", "8xf33", "d0xf32", "(s0xf32", "-1xf32"])
def test_malformed_shapes_are_parse_errors(text):
    with pytest.raises(ParseError):
        scanner = Scanner(text)
        parse_shape(scanner)
        scanner.end()
