"""Decisions that a person writes on a nest: any that fits gives the same values, any other is an error that says why."""

import pytest

from lect.dialects import make_context
from lect.ir import LectError
from lect.passes.manager import PassManager
from tests.unit.kernel.nests import check, parsed, sample
from tests.unit.kernel.test_reductions import softmax
from tests.unit.kernel.test_shapes import pointwise


def with_tiles(text, tiles):
    return text.replace("{space = ", f"{{tiles = #kernel.tiles<{tiles}>, space = ")


@pytest.mark.parametrize(
    "tiles",
    [
        '"none"',
        '"scalar lanes", X: d1 by 1 grid, vector X',
        '"wide", X: d1 by 64 loop, vector X',
        '"other dim", X: d0 by 8 grid, vector X',
        '"rows", Y: d0 by 4 grid, X: d1 by 16 grid, vector X',
        '"rows alone", Y: d0 by 4 grid',
        '"rows in a loop", Y: d0 by 2 loop, X: d1 by 4 grid, vector X',
        '"loops", Y: d0 by 2 loop, X: d1 by 4 loop, vector X',
    ],
)
def test_pointwise(tiles):
    text = with_tiles(pointwise([9, 21]), tiles)
    check(text, [sample([9, 21], "f32", 1, special=True), sample([9, 21], "f32", 2)], pipeline="loop-to-kernel")


@pytest.mark.parametrize(
    "tiles",
    [
        '"none"',
        '"row", R: d1 by 8 loop, vector R',
        '"rows of chunks", R: d1 by 8 loop',
        '"one lane", R: d1 by 1 loop, vector R',
        '"several rows", Y: d0 by 4 grid, R: d1 by 16 loop, vector R',
        '"columns", Y: d0 by 4 grid, R: d1 by 4 loop, vector Y',
        '"columns", Y: d0 by 4 grid, R: d1 by 4 loop, vector Y, wide',
        '"whole", R: d1 by 128 whole, vector R',
        '"whole rows", Y: d0 by 4 grid, R: d1 by 128 whole, vector R',
    ],
)
def test_softmax(tiles):
    check(with_tiles(softmax(9, 77), tiles), [sample([9, 77], "f32", 1)], pipeline="loop-to-kernel", rtol=1e-5, atol=1e-7)


@pytest.mark.parametrize(
    ("tiles", "message"),
    [
        ('"beyond", R: d2 by 8 loop, vector R', "the tiles of @n0 name the dim d2, which it lacks"),
        ('"grid", R: d1 by 8 grid, vector R', "@n0 folds the dim d1, which its tiles give to the grid"),
        ('"loop", Y: d0 by 8 loop, vector Y', "@n0 folds other dims than d0, which its tiles give to a loop"),
        ('"whole", R: d1 by 64 whole, vector R', "axis R of @n0 is taken whole, but its block does not cover 77"),
    ],
)
def test_tiles_that_do_not_fit(tiles, message):
    ctx = make_context()
    module = parsed(with_tiles(softmax(9, 77), tiles), ctx)
    with pytest.raises(LectError, match=message):
        PassManager.parse("loop-to-kernel").run(module, ctx)
