"""The generic form is MLIR's: two parsers that are not ours read it, for every .mlir file in the tree.

Parts of files that are wrong on purpose are left out.  MLIR's parser comes with the jaxlib wheel, the other one is xDSL's.  Both read lect's types
and attributes as opaque text.
"""

from __future__ import annotations

import io

import pytest

from lect.dialects import make_context
from lect.ir import LectError, Operation, parse_module, print_module, verify
from lect.tools.lect_opt import split_input
from tests.meta.tree import ROOT, tracked_files

mlir = pytest.importorskip("jaxlib.mlir.ir")
pytest.importorskip("xdsl")

FILES = [name for name in tracked_files() if name.suffix == ".mlir"]


GRAPH = """
fx.graph @f(%x: !fx.tensor<4x8xf32>, %w: !fx.tensor<8x8xf32, strides [1, 8], requires_grad>) {
  %0 = fx.call(%x, %w) {target = @operator.matmul, args = [#fx.operand<0>, #fx.operand<1>]} : !fx.tensor<4x8xf32, requires_grad> loc("m.py":3:8)
  %1 = fx.call(%0) {target = @torch.full, args = [#fx.operand<0>, nan, -0.0, 9223372036854775808, "q\\"", [none, {slice = [none, 1, none]}]]} : !fx.tensor<4x8xf32, requires_grad>
  fx.return(%1)
}
"""


def modules(name: object) -> list[Operation]:
    """The valid parts of a file."""
    out = []
    for part in split_input((ROOT / str(name)).read_text(encoding="utf-8")):
        try:
            module = parse_module(part, make_context(allow_unregistered=True), str(name))
            verify(module)
        except LectError:
            continue
        out.append(module)
    return out


def generic(module: Operation, locations: bool = False) -> str:
    """The generic form, in which our module is MLIR's own."""
    return print_module(module, generic=True, locations=locations)


def read_by_mlir(text: str) -> str:
    """The text as MLIR prints what it read.  Raises its error when it cannot read it."""
    context = mlir.Context()
    context.allow_unregistered_dialects = True
    with context, mlir.Location.unknown():
        return mlir.Operation.parse(text).get_asm(print_generic_op_form=True, assume_verified=True)


def read_by_xdsl(text: str) -> str:
    """The text as xDSL prints what it read."""
    from xdsl.context import Context
    from xdsl.dialects.builtin import Builtin
    from xdsl.parser import Parser
    from xdsl.printer import Printer

    context = Context(allow_unregistered=True)
    context.load_dialect(Builtin)
    operation = Parser(context, text).parse_op()
    out = io.StringIO()
    Printer(stream=out, print_generic_format=True).print_op(operation)
    return out.getvalue()


@pytest.mark.parametrize("name", FILES, ids=str)
def test_mlir_reads_the_generic_form(name):
    for module in modules(name):
        assert read_by_mlir(generic(module)).strip()


@pytest.mark.parametrize("name", FILES, ids=str)
def test_mlir_reads_locations(name):
    for module in modules(name):
        assert read_by_mlir(generic(module, locations=True)).strip()


@pytest.mark.parametrize("name", FILES, ids=str)
def test_xdsl_reads_the_generic_form(name):
    for module in modules(name):
        assert read_by_xdsl(generic(module)).strip()


def test_what_mlir_prints_is_the_same_ir_to_us():
    """Through MLIR's parser and printer and back, and once more: nothing is lost.  (The first time puts attributes in order.)"""
    module = parse_module(GRAPH, make_context())
    text = read_by_mlir(generic(module))
    again = parse_module(text, make_context())
    verify(again)
    assert read_by_mlir(generic(again)) == text


@pytest.mark.parametrize("text", ['"d.op"( : () -> ()', '"d.op"() : () -> !d.t<1'])
def test_the_check_can_fail(text):
    with pytest.raises(Exception, match="(?i)expected|unable to parse|unexpected"):
        read_by_mlir(text)
    with pytest.raises(Exception, match="(?i)expected|unexpected"):
        read_by_xdsl(text)
