"""What holds for every trace: the program's objects stay as they are, and errors of lect never become the program's."""

import subprocess
import sys

import pytest
import torch
from torch import nn

import lect
from lect.dialects import make_context
from lect.dialects.builtin.ops import ModuleOp
from lect.frontends.capture.api import open_frame
from lect.frontends.capture.breaks import REASONS, Refused
from lect.frontends.capture.interpreter import decode_code
from lect.frontends.capture.rules import RULES
from lect.frontends.capture.to_fx import run
from lect.ir import Block, Region, parse_module, print_module, verify
from tests.e2e.programs import PROGRAMS


def capture(fn, *args, **kwargs):
    ctx = make_context()
    ctx.resources["whole"] = True
    module = open_frame(fn, args, kwargs, ctx)
    run(module, ctx)
    return module, ctx


@pytest.mark.parametrize(("program", "args"), PROGRAMS, ids=lambda value: getattr(value, "__name__", ""))
def test_text_of_each_program_verifies_and_reads_back(program, args):
    module, _ = capture(program, *args)
    verify(module)
    text = print_module(module)
    again = parse_module(text, make_context())
    verify(again)
    assert print_module(again) == text
    generic = print_module(module, generic=True)
    assert print_module(parse_module(generic, make_context())) == text


def halved(x, mode):
    """Most of this function is not entered."""
    for _ in range(2):
        if mode == "half":
            x = x * 0.5
        elif mode == "root":
            try:
                x = [x.sqrt() for _ in range(1)][0]
            except ValueError:
                x = x + 1
        else:
            with torch.no_grad():
                x = x - 1
    return x


def test_blocks_that_are_not_entered_are_not_decoded_until_the_function_is_asked_for():
    _, ctx = capture(lambda x: halved(x, "half") + 1, torch.randn(3))
    program = ctx.resources["code_table"].programs[halved.__code__]
    entered = dict(program.steps)
    whole, _ = decode_code(halved.__code__)
    assert 1 < len(entered) < len(whole.region.blocks)
    assert [op.name for op in program.func.walk()] == [op.name for op in whole.walk()]
    assert [len(block.args) for block in program.func.region.blocks] == [len(block.args) for block in whole.region.blocks]
    verify(ModuleOp(regions=[Region([single(program.func)])]))
    assert all(program.steps_of(block) is steps for block, steps in entered.items())


def single(op):
    block = Block()
    block.append(op)
    return block


class Layers(nn.Module):
    """Layers of one shape, in a block without autograd that a block with it may follow."""

    def __init__(self, switches):
        super().__init__()
        self.layers = nn.ModuleList(nn.Linear(4, 4) for _ in range(5))
        self.switches = switches

    def forward(self, x):
        for layer in self.layers:
            x = torch.relu(layer(x)).view(-1, 2, 2).flatten(1)
        if self.switches:
            with torch.enable_grad():
                x = x + 1
        return x


def test_calls_of_later_layers_are_those_of_the_first_one():
    texts = []
    for grad in (False, True):
        with torch.set_grad_enabled(grad):
            module, ctx = capture(Layers(False).requires_grad_(False), torch.randn(3, 4))
        texts.append(print_module(module).replace(f"grad = {str(grad).lower()}", ""))
        assert ctx.statistics["torch calls repeated"] == (0 if grad else 4 * 4)
        assert ctx.statistics["torch calls"] == 5 * 4
    assert texts[0] == texts[1]


def test_trace_that_switches_autograd_on_behind_repeated_views_is_begun_anew():
    with torch.no_grad():
        _, ctx = capture(Layers(True), torch.randn(3, 4))
    assert (ctx.statistics["traces begun anew"], ctx.statistics["torch calls repeated"]) == (1, 0)


def snapshot(value, seen=None):
    """A nested picture of all that is reachable from plain containers, objects and tensors, with identities."""
    seen = {} if seen is None else seen
    if id(value) in seen:
        return ("seen", seen[id(value)])
    seen[id(value)] = len(seen)
    if isinstance(value, torch.Tensor):
        return ("tensor", id(value), value.tolist(), value._version)
    if isinstance(value, list | tuple | set):
        return (type(value), id(value), [snapshot(item, seen) for item in value])
    if isinstance(value, dict):
        return (type(value), id(value), [(key, snapshot(item, seen)) for key, item in value.items()])
    if hasattr(value, "__dict__") and not isinstance(value, type):
        return (type(value), id(value), snapshot(value.__dict__, seen))
    return (type(value), value if isinstance(value, int | float | str | bool | type(None)) else id(value))


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.fc = nn.Linear(3, 3)
        self.calls = 0
        self.log = []

    def forward(self, x, state):
        self.calls += 1
        self.log.append(self.calls)
        state["y"] = self.fc(x)
        state["list"] += [1]
        state.setdefault("n", {})["k"] = 2
        self.extra = state["y"]
        del self.extra
        return state["y"]


def test_a_trace_changes_nothing():
    net, state, x = Net(), {"list": [0]}, torch.randn(2, 3)
    reachable = [net, state, x]
    before = snapshot(reachable)
    with torch.no_grad():
        _, ctx = capture(net, x, state)
    assert snapshot(reachable) == before
    assert ctx.statistics["effects"] >= 6


def test_a_refused_trace_changes_nothing():
    state = []

    def f(x):
        state.append(1)
        return (x + 1).item()

    with pytest.raises(Refused) as caught:
        capture(f, torch.ones(()))
    assert caught.value.number == "LB0002"
    assert state == []


def test_modes_are_restored_after_a_break():
    def f(x):
        with torch.no_grad():
            return (x + 1).item()

    for grad in (True, False):
        with torch.set_grad_enabled(grad):
            with pytest.raises(Refused):
                capture(f, torch.ones(()))
            assert torch.is_grad_enabled() is grad


@pytest.mark.parametrize("name", sorted(RULES))
def test_fault_in_a_rule_is_an_internal_error_and_the_value_is_eager_s(name, monkeypatch):
    """The program catches everything it can; the fault must pass it by."""
    from types import MappingProxyType

    from lect.frontends.capture import interpreter

    def broken(frame, op):
        raise KeyError("a fault of lect")

    monkeypatch.setattr(interpreter, "RULES", MappingProxyType({**RULES, name: broken}))

    def f(x, items):
        try:
            total = 0
            for item in items:
                total += item if item is not None else 1
            extra = {"b": (1, 2)}
            names = {"a": [total, *items], **extra}
            first, *rest = names["a"]
            return x * first + len(rest), f"{total!s}", -x
        except Exception:
            return "wrong"

    lect.reset()
    x = torch.ones(2)
    got = lect.compile(f, options={"level": "fx"})(x, [1, 2])
    want = f(x, [1, 2])
    assert torch.equal(want[0], got[0])
    assert want[1] == got[1]
    assert {event.number for event in lect.events("fallback")} <= {"LB0020"}
    lect.reset()


def test_reasons_have_texts():
    for number, reason in REASONS.items():
        assert number.startswith("LB")
        assert all(len(text) >= 8 for text in reason)


def test_capture_imports_no_other_compiler():
    code = (
        "import sys, torch, lect\n"
        "f = lect.compile(lambda x: torch.softmax(torch.nn.functional.layer_norm(x @ x, (4,)), -1), options={'level': 'fx'})\n"
        "f(torch.randn(4, 4))\n"
        "assert lect.events('compile'), lect.events()\n"
        "print([m for m in ('torch._dynamo', 'torch._inductor', 'torch._functorch.aot_autograd', 'sympy') if m in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.stdout.strip() == "[]", done.stdout + done.stderr
