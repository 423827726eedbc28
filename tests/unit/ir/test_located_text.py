"""Lines and where they come from, and names that stay."""

from __future__ import annotations

from lect.dialects import make_context
from lect.ir import Operation, parse_module, print_op
from lect.ir.located_text import StableNames, located_lines
from lect.ir.template import BlockTemplate, PendingBlock

TEXT = """loop.func @f(%x: !loop.buffer<8xf32>) {
  %0 = loop.nest @n0(%x) {space = #loop.space<d0: 8>} : !loop.buffer<8xf32> {
  ^bb0(%d0: index):
    %1 = loop.load(%x) {map = #loop.map<(d0) -> (d0)>} : f32 loc("m.py":3:0)
    %2 = loop.exp(%1) : f32 loc("m.py":4:0)
    %3 = loop.sin(%2) : f32 loc("m.py":5:0)
    loop.store(%3) {map = #loop.map<(d0) -> (d0)>} loc("m.py":5:0)
  } loc("m.py":2:0)
  loop.return(%0) {views = [#loop.view<8>]} loc("m.py":6:0)
} loc("m.py":1:0)
"""


def test_each_line_has_the_place_of_what_stands_on_it():
    func = parse_module(TEXT, make_context()).body.first
    lines, places = located_lines(func)
    assert "\n".join(lines) == print_op(func)[0]
    assert [place.line for place in places] == [1, 2, 2, 3, 4, 5, 5, 2, 6, 1]


def test_names_stay_when_something_in_front_of_them_goes():
    module = parse_module(TEXT, make_context())
    func = module.body.first
    names = StableNames()
    before, _ = located_lines(func, names)
    assert before == located_lines(func, names)[0]
    exp, sin = [op for op in func.walk() if op.name in ("loop.exp", "loop.sin")]
    sin.set_operand(0, exp.operands[0])
    exp.erase()
    after, _ = located_lines(func, names)
    gone = [line.strip() for line in before if line not in after]
    new = [line.strip() for line in after if line not in before]
    assert gone == ["%2 = loop.exp(%1) : f32", "%3 = loop.sin(%2) : f32"]
    assert new == ["%3 = loop.sin(%1) : f32"]


def unwritten(func: Operation) -> PendingBlock:
    """Let the body of the function's nest be one that is not written down."""
    nest = func.body.first
    (block,) = nest.regions[0].blocks
    places = list(dict.fromkeys(op.loc for op in block))
    template = BlockTemplate(block, nest.operands, {loc: number for number, loc in enumerate(places)})
    found = PendingBlock(template, places, [value.type for value in block.args], [value.hint for value in block.args])
    found.parent = nest.regions[0]
    nest.regions[0].blocks[0] = found
    return found


def test_a_block_that_is_not_written_down_has_lines_and_stays_so():
    plain, func = (parse_module(TEXT, make_context()).body.first for _ in range(2))
    block = unwritten(func)
    assert located_lines(func) == located_lines(plain)
    assert block.pending is not None


def test_values_keep_the_names_that_they_had_before_they_were_written_down():
    func = parse_module(TEXT, make_context()).body.first
    block, names = unwritten(func), StableNames()
    before = located_lines(func, names)
    assert located_lines(func, names) == before
    assert block.pending is not None
    next(op for op in block if op.name == "loop.sin")
    assert block.pending is None
    assert located_lines(func, names) == before


def test_a_value_that_moves_to_a_function_where_its_name_is_taken_gets_another():
    module = parse_module(TEXT + TEXT.replace("@f", "@g"), make_context())
    names = StableNames()
    first, second = module.body
    assert located_lines(first, names)[0][1:] == located_lines(second, names)[0][1:]  # names are those of a function, not of a module
    moved = next(op for op in second.walk() if op.name == "loop.exp")
    here = next(op for op in first.walk() if op.name == "loop.sin")
    here.parent.insert_before(here, moved.detach())
    moved.set_operand(0, here.operands[0])
    here.set_operand(0, moved.results[0])
    lines, _ = located_lines(first, names)
    assert [line.strip() for line in lines[4:7]] == ["%2 = loop.exp(%1) : f32", "%4 = loop.exp(%2) : f32", "%3 = loop.sin(%4) : f32"]
    assert located_lines(first, names)[0] == lines
