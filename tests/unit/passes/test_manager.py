"""The pass manager: pipeline text, options, instruments, and what happens when a pass fails."""

from __future__ import annotations

import gc
import io
import re
from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar

import pytest

from lect.ir import Context, Operation, PassFailure, VerifyError, parse_module, print_module
from lect.passes import PASSES, load_pass
from lect.passes.base import Pass, make_pass, option, parse_value
from lect.passes.instrument import Instrument, PrintIR, PrintTree, Reproducer, read_configuration, statistics_table, timing_table
from lect.passes.manager import PassCrash, PassManager, read_pipeline
from lect.passes.pipelines import ORDER, PIPELINES, Before, violations
from lect.tools import lect_opt
from tests.unit.passes import cf

TEXT = "cf.func @f(%x: f32) {\n  %0 = cf.zero() : f32\n  cf.return(%x)\n}\n"


@dataclass(frozen=True)
class Options(Pass):
    """A pass with an option of each type."""

    name: ClassVar[str] = "options"
    flag: bool = option(False, "a flag")
    size: int = option(3, "a number")
    ratio: float = option(0.5, "a ratio")
    what: str = option("plain", "text")
    tiles: tuple[int, ...] = option((16, 32), "several numbers")
    words: tuple[str, ...] = option((), "several words")

    def run(self, op: Operation, ctx: Context) -> None:
        """Counts twice."""
        ctx.count("seen", self.size)
        ctx.count("seen")


@dataclass(frozen=True)
class Crash(Pass):
    """Raises what no pass should."""

    name: ClassVar[str] = "crash"
    live: ClassVar[bool] = False
    depth: int = option(1, "meaningless")

    def run(self, op: Operation, ctx: Context) -> None:
        """Changes the IR first."""
        op.body.first.attrs["changed"] = True
        raise KeyError("lost")


@dataclass(frozen=True)
class LiveCrash(Crash):
    """Raises, and reads live objects."""

    name: ClassVar[str] = "live-crash"
    live: ClassVar[bool] = True


@dataclass(frozen=True)
class Refuse(Pass):
    """Says that it cannot."""

    name: ClassVar[str] = "refuse"

    def run(self, op: Operation, ctx: Context) -> None:
        """Always fails."""
        raise PassFailure("there is nothing to do", op=op.body.first, hint="give it something")


@dataclass(frozen=True)
class Break(Pass):
    """Leaves invalid IR."""

    name: ClassVar[str] = "break"

    def run(self, op: Operation, ctx: Context) -> None:
        """Removes the terminator."""
        op.body.first.body.last.erase()


def module(ctx: Context | None = None) -> Operation:
    return parse_module(TEXT, ctx or cf.make_context())


# ---- options and pipeline text ---------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("values", "text"),
    [
        ({}, "options"),
        ({"flag": True}, "options{flag=true}"),
        ({"size": -4, "ratio": 1e-3}, "options{size=-4 ratio=0.001}"),
        ({"what": "two words"}, 'options{what="two words"}'),
        ({"what": ""}, 'options{what=""}'),
        ({"what": 'a"b,{}=\n'}, 'options{what="a\\"b,{}=\\n"}'),
        ({"tiles": ()}, "options{tiles=}"),
        ({"tiles": (1,)}, "options{tiles=1}"),
        ({"words": ("a,b", "c")}, 'options{words="a,b",c}'),
    ],
)
def test_options_print_and_parse_back(values, text):
    made = Options(**values)
    assert str(made) == text
    name, options = read_pipeline(text)[0]
    assert name == "options"
    assert make_pass(Options, options) == made


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"sise": "1"}, "pass 'options' has no option 'sise'; it has flag, size, ratio, what, tiles, words"),
        ({"size": "big"}, "option 'size' of pass 'options' takes an integer, got 'big'"),
        ({"flag": "yes"}, "option 'flag' of pass 'options' takes true or false, got 'yes'"),
        ({"ratio": "half"}, "option 'ratio' of pass 'options' takes a number, got 'half'"),
        ({"tiles": "1,x"}, "option 'tiles' of pass 'options' takes an integer, or several with commas between them, got '1,x'"),
    ],
)
def test_wrong_options_are_one_sentence(options, message):
    with pytest.raises(PassFailure) as failure:
        make_pass(Options, options)
    assert failure.value.message == message


def test_an_option_of_another_type_is_a_mistake_of_the_pass():
    with pytest.raises(TypeError, match="cannot have the type"):
        parse_value("1", complex)


@pytest.mark.parametrize("text", ["", "  ", "dce", " dce , cse ", "dce,cse,dce", "canonicalize{ }", "aot" if "fx-to-functional" in PASSES else "dce"])
def test_pipelines_print_and_parse_back(text):
    manager = PassManager.parse(text)
    assert PassManager.parse(str(manager)) == manager


def test_options_of_a_compile_stand_in_the_text():
    manager = PassManager.parse("functional-match-attention{numerics=eager},functional-match-addmm,functional-pad-mm")
    text = "functional-match-attention{numerics=eager},functional-match-addmm{numerics=fused},functional-pad-mm"
    assert str(manager.configured({"numerics": "fused", "level": "native"})) == text
    assert manager.configured({}).passes == manager.passes


def test_named_pipelines_expand():
    names = [name for name, _ in read_pipeline("dce,aot,dce")]
    assert names == ["dce", *PIPELINES["aot"], "dce"]


# ---- tables ----------------------------------------------------------------------------------------------------------


def test_every_pass_of_a_pipeline_exists():
    missing = [name for passes in PIPELINES.values() for name in passes if name not in PASSES]
    assert not missing


def test_every_constraint_names_passes_and_gives_a_reason():
    for constraint in ORDER:
        assert constraint.first in PASSES, constraint
        assert constraint.second in PASSES, constraint
        assert len(constraint.reason.split()) >= 4, constraint


def test_the_pipelines_in_their_order_break_no_constraint():
    assert violations([name for passes in PIPELINES.values() for name in passes]) == []


def test_no_pipeline_has_the_name_of_a_pass():
    assert not PIPELINES.keys() & PASSES.keys()


def test_constraints_are_transitive_enough_to_have_no_circle():
    after = {}
    for constraint in ORDER:
        after.setdefault(constraint.first, set()).add(constraint.second)

    def reach(name, path):
        assert name not in path, f"circle: {path}"
        for following in after.get(name, ()):
            reach(following, (*path, name))

    for name in list(after):
        reach(name, ())


def test_violations_look_at_first_occurrences():
    order = (Before("a", "b", "reason"),)
    assert violations(["b", "a"], order) == [order[0]]
    assert violations(["a", "b", "a"], order) == []
    assert violations(["b"], order) == []


def test_broken_order_is_an_error_with_the_reason():
    constraint = next(c for c in ORDER if c.first in PASSES and c.second in PASSES)
    with pytest.raises(PassFailure) as failure:
        PassManager.parse(f"{constraint.second},{constraint.first}")
    assert failure.value.message == f"pass '{constraint.first}' must come before '{constraint.second}': {constraint.reason}"


@pytest.mark.parametrize("name", PASSES)
def test_every_pass_has_helpful_options(name):
    cls = load_pass(name)
    assert make_pass(cls, {}) == cls()
    assert PassManager.parse(str(cls())).passes == (cls(),)


# ---- running ---------------------------------------------------------------------------------------------------------


def test_steps_hold_times_and_counts():
    ctx = cf.make_context()
    steps = PassManager((Options(), Options(size=1)), verify_each=True).run(module(ctx), ctx)
    assert [step.name for step in steps] == ["options", "options"]
    assert [step.statistics for step in steps] == [{"seen": 4}, {"seen": 2}]
    assert ctx.statistics == {"seen": 6}
    assert all(step.seconds >= 0 and step.verify_seconds > 0 for step in steps)
    assert "4  options: seen" in statistics_table(steps)
    assert re.search(r"\d\.\d\d +\d+\.\d%  options", timing_table(steps))


@pytest.mark.parametrize("enabled", [True, False])
@pytest.mark.parametrize("passes", [(Options(),), (Crash(),)])
def test_collector_is_restored(enabled, passes):
    seen = []

    class Look(Instrument):
        def before(self, manager, position, op, ctx):
            seen.append(gc.isenabled())

    was = gc.isenabled()
    (gc.enable if enabled else gc.disable)()
    try:
        PassManager(passes).run(module(), cf.make_context(), [Look()])
    except PassCrash:
        pass
    finally:
        assert gc.isenabled() is enabled
        (gc.enable if was else gc.disable)()
    assert seen == [False]


def test_invalid_ir_behind_a_pass_is_found_only_when_asked():
    PassManager((Break(),)).run(module(), cf.make_context())
    with pytest.raises(VerifyError, match="pass 'break' left invalid IR: the block must end in a terminator"):
        PassManager((Break(),), verify_each=True).run(module(), cf.make_context())


def test_exception_of_a_pass_becomes_a_crash_with_its_cause():
    with pytest.raises(PassCrash, match=r"pass 'crash' stopped with KeyError: 'lost' at .*test_manager.py:\d+; this is a bug of lect") as crash:
        PassManager((Crash(),)).run(module(), cf.make_context())
    assert isinstance(crash.value.__cause__, KeyError)


def test_failure_of_a_pass_keeps_its_message():
    with pytest.raises(PassFailure) as failure:
        PassManager((Refuse(),)).run(module(), cf.make_context())
    assert failure.value.message == "there is nothing to do"


def test_interrupts_pass_through():
    @dataclass(frozen=True)
    class Interrupted(Pass):
        name: ClassVar[str] = "interrupted"

        def run(self, op, ctx):
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        PassManager((Interrupted(),)).run(module(), cf.make_context())


# ---- instruments -----------------------------------------------------------------------------------------------------


def test_print_on_change_compares_with_the_ir_before():
    out = io.StringIO()
    manager = PassManager((Options(), load_pass("dce")(), load_pass("dce")()))
    manager.run(module(), cf.make_context(), [PrintIR(out.write, names_before=frozenset(), names_after=None, on_change=True)])
    assert re.findall("== IR (.*) ==", out.getvalue()) == ["after dce (2 of 3)"]


def test_tree_of_files_is_padded(tmp_path):
    manager = PassManager((Options(),) * 11)
    manager.run(module(), cf.make_context(), [PrintTree(tmp_path / "deep" / "tree")])
    names = sorted(path.name for path in (tmp_path / "deep" / "tree").iterdir())
    assert names[:3] == ["00_input.mlir", "01_options.mlir", "02_options.mlir"]
    assert names[-1] == "11_options.mlir"


def reproduce(tmp_path: Path, passes: tuple[Pass, ...], **keywords) -> tuple[str, str]:
    """The reproducer's text and the hint that names the command."""
    path = tmp_path / "failing.mlir"
    with pytest.raises((PassCrash, PassFailure, VerifyError)) as failure:
        PassManager(passes, verify_each=True).run(module(), cf.make_context(), [Reproducer(lambda name: path, **keywords)])
    return path.read_text(), failure.value.hint


def test_reproducer_holds_the_ir_before_and_the_rest_of_the_pipeline(tmp_path):
    text, hint = reproduce(tmp_path, (load_pass("dce")(), Crash(depth=2), Options(what="a b")), flags=["--allow-unregistered-dialect"])
    assert text.startswith("// configuration: -p 'crash{depth=2},options{what=\"a b\"}' --allow-unregistered-dialect\n")
    assert "// PassCrash: pass 'crash' stopped with KeyError" in text
    assert "// KeyError: 'lost'" in text
    assert "cf.zero" not in text, "dce ran before"
    assert "changed" not in text, "the IR is that before the failing pass"
    assert hint == f"replay with: lect-opt --run-reproducer {tmp_path / 'failing.mlir'}"
    assert read_configuration(text) == ["-p", 'crash{depth=2},options{what="a b"}', "--allow-unregistered-dialect"]
    assert print_module(parse_module(text, cf.make_context())) == "cf.func @f(%x: f32) {\n  cf.return(%x)\n}\n"


def test_reproducer_after_invalid_ir_and_refusals(tmp_path):
    text, _ = reproduce(tmp_path, (Break(),))
    assert "pass 'break' left invalid IR" in text
    text, hint = reproduce(tmp_path, (Refuse(),))
    assert hint.startswith("give it something; replay with: lect-opt --run-reproducer ")


def test_reproducer_of_a_live_pass_starts_from_the_source(tmp_path):
    text, _ = reproduce(tmp_path, (Options(), LiveCrash(), Options()), source=["--capture", "m.py:f"])
    assert read_configuration(text) == ["--capture", "m.py:f", "-p", "options,live-crash,options"]


# ---- lect-opt around a failing pass ----------------------------------------------------------------------------------


def test_lect_opt_writes_a_reproducer_and_names_the_command(tmp_path, monkeypatch):
    """The whole way: a pass crashes, the message names one command, and that command fails the same way."""
    table = {"crash": Crash, "dce": load_pass("dce")}
    monkeypatch.setattr("lect.passes.manager.load_pass", table.__getitem__)
    path = tmp_path / "r.mlir"
    err = io.StringIO()
    source = "fx.graph @f(%x: !fx.tensor<2xf32>) {\n  fx.return(%x)\n}\n"
    assert lect_opt.run(["-p", "dce,crash", "--reproducer", str(path)], source, io.StringIO(), err) == 1
    assert f"replay with: lect-opt --run-reproducer {path}" in err.getvalue()
    assert "Traceback" not in err.getvalue()
    again = io.StringIO()
    assert lect_opt.run(["--run-reproducer", str(path), "--reproducer", str(tmp_path / "second.mlir")], None, io.StringIO(), again) == 1
    assert "pass 'crash' stopped with KeyError" in again.getvalue()


def test_remarks_are_shown_and_expected(monkeypatch):
    @dataclass(frozen=True)
    class Remark(Pass):
        name: ClassVar[str] = "remark"

        def run(self, op, ctx):
            ctx.remark("seen here", op.body.first)

    monkeypatch.setattr("lect.passes.manager.load_pass", {"remark": Remark}.__getitem__)
    source = "// expected-remark @+1 {{seen here}}\nbuiltin.module @m {}\nbuiltin.module @n {}\n"
    err = io.StringIO()
    assert lect_opt.run(["-p", "remark", "--remarks"], source, io.StringIO(), err) == 0
    assert err.getvalue() == "-:2:1: remark: seen here\n"
    assert lect_opt.run(["-p", "remark", "--verify-diagnostics"], source, io.StringIO(), err) == 0
    assert lect_opt.run(["--verify-diagnostics"], source, io.StringIO(), err) == 1


def test_bugs_outside_of_passes_are_no_tracebacks_either(monkeypatch):
    def verify(op):
        raise ZeroDivisionError("a bug of a type rule")

    monkeypatch.setattr("lect.tools.lect_opt.verify", verify)
    err = io.StringIO()
    assert lect_opt.run(["-"], "builtin.module @m {}", io.StringIO(), err) == 1
    assert err.getvalue().startswith("-:1:1: error: reading or printing the IR stopped with ZeroDivisionError: a bug of a type rule at ")
    assert "Traceback" not in err.getvalue()
