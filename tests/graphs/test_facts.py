"""What a recording reads off a host program: which arguments are written to, whose addresses may be patched, and which operation cannot be recorded."""

from __future__ import annotations

import pytest

from lect.dialects import make_context
from lect.ir import parse_module
from lect.runtime.graphs.facts import ProgramFacts, facts_of

X = '!host.tensor<4xf32, "cuda:0">'


def facts(lines: str, parameters: str = f"%x: {X}, %y: {X}", alone: tuple[str, ...] = ("k",)) -> ProgramFacts:
    module = parse_module(f"host.func @f.graph({parameters}) {{\n{lines}\n}}\n", make_context())
    return facts_of(module.body.first, alone, "f", "cuda:0")


LAUNCH = """
  %a = host.memory(%x) : !host.buffer<4xf32, "cuda:0">
  %b = host.memory(%y) : !host.buffer<4xf32, "cuda:0">
  host.launch(%a, %b) {kernel = @k, grid = 1, target = "cuda"}
"""


def test_what_kernels_alone_read_may_be_patched() -> None:
    found = facts(LAUNCH + "  host.return(%x)")
    assert found.launched == {0, 1}
    assert found.obstacle == ""
    assert found.launches == 1


def test_what_a_table_names_or_the_library_reads_is_not_patched() -> None:
    assert facts(LAUNCH + "  host.return()", alone=()).launched == set()
    read = f"  %e = host.extern(%y) {{callee = @aten.clone.default, args = [#host.operand<0>]}} : {X}\n  host.return(%e)"
    assert facts(LAUNCH + read).launched == {0}


def test_writes_and_their_versions_are_counted_by_argument() -> None:
    found = facts(LAUNCH + "  host.write(%x, %y) {versions = 2}\n  host.written(%y) {versions = 0}\n  host.written(%x)\n  host.return()")
    assert found.written == {0, 1}
    assert found.versions == ((0, 3),)


@pytest.mark.parametrize(
    ("lines", "parameters", "obstacle"),
    [
        (
            "  %e = host.extern() {callee = @aten.ones.default, args = [[4]]} : !host.tensor<4xf32>\n  host.return(%e)",
            f"%x: {X}",
            "aten.ones.default: it works on cpu",
        ),
        ("  %n = host.number(%x) {symbol = 0} : index\n  host.return()", "%x: !host.tensor<i64>", "host.number: a number on the CPU decides a size"),
        (
            f"  %e = host.extern(%x) {{callee = @aten.nonzero.default, args = [#host.operand<0>], finds = {{s0 = [0, 0, 0, 4]}}}} : {X}\n  host.return(%e)",
            f"%x: {X}",
            "aten.nonzero.default: its elements decide a size",
        ),
    ],
)
def test_what_cannot_be_recorded_is_named(lines: str, parameters: str, obstacle: str) -> None:
    assert facts(lines, parameters).obstacle == obstacle
