"""`TextMemory` gives the text that printing gives, whatever passes do between."""

from __future__ import annotations

from collections import Counter
from typing import Any

import pytest
import torch

import lect
from lect.dialects import make_context
from lect.ir import Context, Operation, parse_module, print_op, printer
from lect.ir.text_memory import TextMemory
from lect.passes.instrument import Instrument
from lect.passes.manager import PassManager
from lect.runtime import watch


@pytest.fixture(autouse=True)
def fresh():
    lect.reset()
    yield
    lect.reset()


class Compared(Instrument):
    """Compares the text of each function with what is remembered of it behind each pass."""

    def __init__(self, seen: Counter[str]) -> None:
        self.texts = TextMemory()
        self.seen = seen

    def before(self, manager: PassManager, position: int, op: Operation, ctx: Context) -> None:
        pass

    def after(self, manager: PassManager, position: int, op: Operation, ctx: Context) -> None:
        ops = list(op.body)
        self.texts.keep_only(ops)
        for func in ops:
            assert self.texts.of(func) == print_op(func)[0]
            self.seen[func.name] += 1


def watched(monkeypatch: Any) -> Counter[str]:
    """Compare at each pass of all compiles; how many functions of which kind were compared."""
    seen: Counter[str] = Counter()
    compared = Compared(seen)
    monkeypatch.setattr(watch.Watch, "instruments", lambda self, stage: [compared])
    return seen


def attention(x, w):
    q, k, v = (x @ w).chunk(3, -1)
    y = torch.nn.functional.layer_norm(torch.softmax(q @ k.transpose(-1, -2), -1) @ v, (4,))
    return torch.nn.functional.gelu(y).sum(0), y.var(0), torch.nn.functional.dropout(y, 0.3)


def layers(x, w):
    for _ in range(3):
        x = torch.nn.functional.layer_norm(torch.relu(x @ w)[:, :6], (6,))
    return x.sum(), torch.cumsum(x, 0), x.argmax(-1)


@pytest.mark.parametrize(("program", "shapes"), [(attention, ((5, 4), (4, 12))), (layers, ((5, 6), (6, 12)))])
def test_behind_each_pass(program, shapes, monkeypatch):
    seen = watched(monkeypatch)
    inputs = [torch.randn(shape, requires_grad=True) for shape in shapes]
    lect.compile(program)(*inputs)[0].sum().backward()
    assert not lect.events("note", "fallback", "backward fallback")
    assert {"pyframe.func", "guard.set", "fx.graph", "functional.func", "loop.func", "host.func", "kernel.func"} <= seen.keys()


NESTS = """loop.func @f(%x: !loop.buffer<8xf32>) {
  %0 = loop.nest @n0(%x) {space = #loop.space<d0: 8>} : !loop.buffer<8xf32> {
  ^bb0(%d0: index):
    %1 = loop.load(%x) {map = #loop.map<(d0) -> (d0)>} : f32
    %2 = loop.mul(%1, %1) : f32
    loop.store(%2) {map = #loop.map<(d0) -> (d0)>}
  }
  %3 = loop.nest @n1(%0) {space = #loop.space<d0: 8>} : !loop.buffer<8xf32> {
  ^bb0(%d0: index):
    %4 = loop.load(%0) {map = #loop.map<(d0) -> (d0)>} : f32
    %half = loop.const() {value = 0.5} : f32
    %5 = loop.mul(%4, %half) : f32
    loop.store(%5) {map = #loop.map<(d0) -> (d0)>}
  }
  loop.return(%3) {views = [#loop.view<8>]}
}"""


def remembered() -> tuple[TextMemory, Operation]:
    (func,) = parse_module(NESTS, make_context()).body
    texts = TextMemory()
    assert texts.of(func) == print_op(func)[0] == NESTS
    return texts, func


def erase_mul(func: Operation) -> None:
    (mul, *_) = [op for op in func.walk() if op.name == "loop.mul"]
    mul.replace([mul.operands[0]])


def name_result(func: Operation) -> None:
    next(op for op in func.walk() if op.name == "loop.nest").results[0].hint = "half"


def name_inside(func: Operation) -> None:
    next(op for op in func.walk() if op.name == "loop.mul").results[0].hint = "d0"


def equal_but_another(func: Operation) -> None:
    next(op for op in func.walk() if op.name == "loop.const").attrs["value"] = True


def new_attribute(func: Operation) -> None:
    [op for op in func.walk() if op.name == "loop.nest"][1].attrs["realize"] = ("100% % %s",)


def other_operand(func: Operation) -> None:
    [op for op in func.walk() if op.name == "loop.mul"][1].operands[1].op.detach()


@pytest.mark.parametrize("change", [erase_mul, name_result, name_inside, equal_but_another, new_attribute, other_operand], ids=lambda change: change.__name__)
def test_a_change_is_seen(change):
    texts, func = remembered()
    change(func)
    shown = print_op(func)[0]
    assert shown != NESTS
    assert texts.of(func) == shown
    assert texts.of(func) == shown


def test_what_did_not_change_is_not_printed_again(monkeypatch):
    texts, func = remembered()
    printed: list[str] = []
    plain = printer.Printer.op
    monkeypatch.setattr(printer.Printer, "op", lambda self, op, indent: (printed.append(op.name), plain(self, op, indent))[1])
    assert texts.of(func) == NESTS and not printed
    erase_mul(func)
    texts.of(func)
    assert printed.count("loop.nest") == 1 and printed.count("loop.load") == 1


def test_nothing_is_held_in_the_end():
    texts, func = remembered()
    texts.keep_only([])
    assert not texts._whole and not texts._nested
