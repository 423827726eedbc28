"""Random tensors at the functional and the loop level: the numbers, where they lie, and how they are distributed.

Seeds are fixed, so nothing here depends on chance; limits are those of the stated tests at a probability below 1e-6.
"""

import math

import pytest
import torch

from lect.backends.reference.functional import run_functional
from lect.dialects import make_context
from lect.dialects.functional import creation, pointwise, view
from lect.frontends.tensors.lower.emitter import restride
from lect.ir import SCALARS, LectError, VerifyError, verify
from lect.ir.types import bf16, f16, f32, f64, i1, i8, i64, ui8
from lect.passes.common.cse import Cse
from lect.passes.manager import PassManager
from lect.runtime.executable import build
from tests.unit.loop.programs import assert_same, execute, functional_module, lowered

SEED = torch.tensor(0x1234_5678_9ABC)
DIGITS = {f64: 53, f32: 24, f16: 11, bf16: 8}
MANY = 1 << 18


def reference(make, seed=SEED):
    return run_functional(functional_module(make, [seed]).body.first, [seed])


def native(make, *seeds):
    """The results for each seed, by one compilation."""
    ctx = make_context()
    module = functional_module(make, [SEED])
    PassManager.parse("loop,kernel").run(module, ctx)
    run = build(module, ctx)
    found = [run(seed) for seed in seeds or (SEED,)]
    return found if seeds else found[0]


def at_every_level(make, exact=True):
    """What the functional reference gives, after the others were seen to agree."""
    want = reference(make)
    for found in (execute(lowered(make, [SEED]), [SEED]), native(make)):
        for have, expected in zip(found, want):
            assert_same(have, expected, exact=exact)
    return want


SHAPES = [(), (0, 3), (5,), (3, 64), (2, 3, 33)]


def of_all_shapes(op, element):
    return lambda emit, seed: [emit(op(seed, shape, element, offset=number)).output for number, shape in enumerate(SHAPES)]


@pytest.mark.parametrize("element", DIGITS, ids=str)
def test_uniform_numbers_are_the_same_at_every_level(element):
    for values in at_every_level(of_all_shapes(creation.RandOp, element)):
        scaled = values.double() * 2.0 ** DIGITS[element]
        assert torch.equal(scaled, scaled.floor())
        assert ((values >= 0) & (values < 1)).all()


@pytest.mark.parametrize("element", DIGITS, ids=str)
def test_normal_numbers_agree_up_to_rounding(element):
    at_every_level(of_all_shapes(creation.RandnOp, element), exact=False)


RANGES = [(0, 10), (-3, 4), (0, 1), (0, 1 << 31), (-(1 << 31), 1 << 31), (5, 5 + (1 << 40) + 12345), (-(1 << 63), 1 << 63), (-(1 << 63), (1 << 63) - 1)]


def test_integers_are_the_same_at_every_level():
    made = at_every_level(lambda emit, seed: [emit(creation.RandintOp(seed, (3, 37), i64, high, low)).output for low, high in RANGES])
    for (low, high), values in zip(RANGES, made):
        assert all(low <= number < high for number in values.flatten().tolist())


def test_integers_in_other_types():
    highs = {i1: 2, i8: 128, ui8: 256, f16: 2048, f32: 1 << 24, f64: 1 << 53}
    at_every_level(lambda emit, seed: [emit(creation.RandintOp(seed, (50,), element, high)).output for element, high in highs.items()])


def test_numbers_belong_to_elements_and_not_to_places_in_memory():
    def laid_out(emit, seed):
        turned = emit(creation.RandOp(seed, (4, 6), f32)).output
        restride(turned.op, 0, (1, 4))
        return emit(creation.RandOp(seed, (4, 6), f32)).output, turned

    for plain, turned in (reference(laid_out), execute(lowered(laid_out, [SEED]), [SEED]), native(laid_out)):
        assert turned.stride() == (1, 4)
        assert torch.equal(plain, turned)


def test_numbers_through_a_view():
    """A slice of a random tensor has the numbers of the elements it shows, however it is computed."""

    def sliced(emit, seed):
        noise = emit(creation.RandOp(seed, (9, 50), f32)).output
        part = emit(view.SliceOp(noise, 1, 7, 40)).output
        return emit(pointwise.MulOp(part, other=2.0))

    (values,) = at_every_level(sliced)
    assert torch.equal(values, reference(lambda emit, seed: emit(creation.RandOp(seed, (9, 50), f32)))[0][:, 7:40] * 2)


def test_streams_seeds_and_elements_differ():
    def several(emit, seed):
        return [emit(creation.RandintOp(seed, (1000,), i64, 1 << 63, -(1 << 63), offset=offset)).output for offset in (0, 1, 2, 1 << 40)]

    values = torch.cat([value for found in native(several, SEED, SEED + 1, -SEED) for value in found])
    assert values.unique().numel() == values.numel()


def test_equal_operations_merge_and_streams_do_not():
    def noise(emit, seed):
        return [emit(creation.RandOp(seed, (8,), f32, offset=offset)).output for offset in (0, 1, 0)]

    module = functional_module(noise, [SEED])
    Cse().run(module, make_context())
    assert [op.attrs.get("offset", 0) for op in module.body.first.body if op.name == "functional.rand"] == [0, 1]
    first, second, third = run_functional(module.body.first, [SEED])
    assert torch.equal(first, third)
    assert not torch.equal(first, second)


def test_numbers_computed_twice_are_the_same():
    """One mask, used by two results that share nothing else, is computed in both of their kernels."""

    def program(emit, seed):
        mask = emit(pointwise.LtOp(emit(creation.RandOp(seed, (40, 64), f32)).output, other=0.5)).output
        number = emit(creation.CastOp(mask, f32)).output
        return mask, emit(view.PermuteOp(emit(pointwise.NegOp(number)).output, (1, 0))).output

    mask, turned = native(program)
    assert torch.equal(turned, -mask.float().t())


def test_a_mask_computed_again_in_another_graph():
    """What a backward has to do when the forward keeps the seed and not the mask."""

    def forward(emit, x, seed):
        mask = emit(pointwise.LtOp(emit(creation.RandOp(seed, (33, 20), f32, offset=2)).output, other=0.5)).output
        return emit(pointwise.MulOp(x, emit(creation.CastOp(mask, f32)).output))

    def backward(emit, gradient, seed):
        numbers = emit(creation.RandOp(seed, (33, 20), f32, offset=2)).output
        mask = emit(pointwise.LtOp(numbers, other=0.5)).output
        turned = emit(view.PermuteOp(emit(creation.CastOp(mask, f32)).output, (1, 0))).output
        return emit(pointwise.MulOp(gradient, turned))

    found = []
    for make, x in ((forward, torch.ones(33, 20)), (backward, torch.ones(20, 33))):
        ctx = make_context()
        module = functional_module(make, [x, SEED])
        PassManager.parse("canonicalize,cse,dce,loop,kernel").run(module, ctx)
        found.append(build(module, ctx)(x, SEED)[0])
    assert torch.equal(found[0], found[1].t())
    assert 0.4 < found[0].mean() < 0.6


@pytest.mark.parametrize("op", [creation.RandOp, creation.RandnOp])
def test_floats_only(op):
    with pytest.raises(VerifyError, match="makes floats, got i64"):
        verify(functional_module(lambda emit, seed: emit(op(seed, (3,), i64)), [SEED]))


def test_complex_numbers_have_no_loop_form():
    with pytest.raises((LectError, VerifyError)):
        lowered(lambda emit, seed: emit(creation.RandnOp(seed, (3,), SCALARS["complex<f32>"])), [SEED])


# ---- distributions ---------------------------------------------------------------------------------------------------


def chi_square(counts, expected):
    """Pearson's statistic, as a number of standard deviations from its mean."""
    statistic = float(((counts - expected) ** 2 / expected).sum())
    freedom = counts.numel() - 1
    return (statistic - freedom) / math.sqrt(2 * freedom)


def three_draws(op, element):
    """Many numbers of three seeds, as f64."""
    found = native(lambda emit, seed: emit(op(seed, (MANY,), element)), *map(torch.tensor, (0, 1, -77)))
    return [values.double() for (values,) in found]


@pytest.mark.parametrize("element", DIGITS, ids=str)
def test_uniform_distribution(element):
    half_step = 2.0 ** -DIGITS[element] / 2
    for values in three_draws(creation.RandOp, element):
        assert abs(chi_square(torch.bincount((values * 256).long(), minlength=256).double(), MANY / 256)) < 6
        centred = values + half_step - 0.5
        assert abs(centred.mean()) * math.sqrt(12 * MANY) < 5
        for distance in (1, 2, 4, 64):
            assert abs((centred[:-distance] * centred[distance:]).mean()) * 12 * math.sqrt(MANY) < 5


@pytest.mark.parametrize("element", [f64, f32, bf16], ids=str)
def test_normal_distribution(element):
    edges = torch.erfinv(torch.linspace(-1, 1, 65, dtype=torch.float64)[1:-1]) * math.sqrt(2)
    for values in three_draws(creation.RandnOp, element):
        for power, (moment, deviation) in {1: (0, 1), 2: (1, math.sqrt(2)), 3: (0, math.sqrt(15)), 4: (3, math.sqrt(96))}.items():
            slack = 0.01 * power if element is bf16 else 0
            assert abs((values**power).mean() - moment) < 5 * deviation / math.sqrt(MANY) + slack, power
        if element is not bf16:
            assert abs(chi_square(torch.bincount(torch.bucketize(values, edges), minlength=64).double(), MANY / 64)) < 6
        assert values.isfinite().all()


def test_integer_distribution():
    highs = (2, 7, 10, 1000)
    made = native(lambda emit, seed: [emit(creation.RandintOp(seed, (MANY,), i64, high, offset=high)).output for high in highs])
    for high, values in zip(highs, made):
        counts = torch.bincount(values, minlength=high).double()
        assert counts.numel() == high
        assert abs(chi_square(counts, MANY / high)) < 6


def test_great_ranges_are_filled_evenly():
    """Where a remainder would favour the lower third."""
    size = 3 << 61
    (values,) = native(lambda emit, seed: emit(creation.RandintOp(seed, (MANY,), i64, size - (1 << 62), -(1 << 62))))
    thirds = torch.bincount((values >> 61) + 2, minlength=3).double()
    assert abs(chi_square(thirds, MANY / 3)) < 6
