"""Results that share the memory of an operand, and what the host program does with memory."""

import torch

from tests.unit.kernel.nests import check, run_native, sample

IN_PLACE = """
loop.func @f(%x: !loop.buffer<5x70xf32>) {
  %t = loop.nest @first(%x) {space = #loop.space<d0: 350>} : !loop.buffer<5x70xf32> {
  ^bb0(%d0: index):
    %0 = loop.load(%x) {map = #loop.map<(d0) -> (d0)>} : f32
    %1 = loop.exp(%0) : f32
    loop.store(%1) {map = #loop.map<(d0) -> (d0)>}
  }
  %y, %z = loop.nest @second(%t) {space = #loop.space<d0: 5, d1: 70>, in_place = [[0, 0]]} : (!loop.buffer<5x70xf32>, !loop.buffer<5x70xf32>) {
  ^bb0(%d0: index, %d1: index):
    %0 = loop.load(%t) {map = #loop.map<(d0, d1) -> (d0 * 70 + d1)>} : f32
    %1 = loop.neg(%0) : f32
    loop.store(%1) {map = #loop.map<(d0, d1) -> (d0 * 70 + d1)>}
    %2 = loop.reduce(%0) {kind = "max", over = [1]} : f32
    %3 = loop.load(%t) {map = #loop.map<(d0, d1) -> (d0 * 70 + d1)>} : f32
    %4 = loop.div(%3, %2) : f32
    loop.store(%4) {to = 1, map = #loop.map<(d0, d1) -> (d0 * 70 + d1)>}
  }
  loop.return(%y, %z) {views = [#loop.view<5x70>, #loop.view<5x70>]}
}
"""


def test_a_result_in_the_memory_of_an_operand_that_later_sweeps_read():
    check(IN_PLACE, [sample([5, 70], "f32", 1)], rtol=1e-6)


def test_parameters_are_not_written():
    x = sample([5, 70], "f32", 1)
    kept = x.clone()
    run_native(IN_PLACE, [x])
    assert torch.equal(x, kept)


TWO_VIEWS = """
loop.func @f(%x: !loop.buffer<6x4xf32>) {
  %y = loop.nest @n0(%x) {space = #loop.space<d0: 24>} : !loop.buffer<6x4xf32> {
  ^bb0(%d0: index):
    %0 = loop.load(%x) {map = #loop.map<(d0) -> (d0)>} : f32
    %1 = loop.neg(%0) : f32
    loop.store(%1) {map = #loop.map<(d0) -> (d0)>}
  }
  loop.return(%y, %y, %x) {views = [#loop.view<6x4>, #loop.view<4x2, strides [1, 4], offset 4>, #loop.view<24>]}
}
"""


def test_results_that_share_memory_still_do():
    x = sample([6, 4], "f32", 1)
    check(TWO_VIEWS, [x])
    y, part, same = run_native(TWO_VIEWS, [x])
    y[1, 2] = 7.0
    assert part[2, 0] == 7.0
    assert same.data_ptr() == x.data_ptr()
