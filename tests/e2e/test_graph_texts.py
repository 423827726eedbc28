"""The texts of a compile: written with `dump`, used again with `override` when somebody has edited them."""

import io
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
import torch

import lect
from lect.backends.llvm import kernels
from lect.dialects import make_context
from lect.ir import LectError, parse_module, print_module, print_op, printer, verify
from lect.passes import load_pass
from lect.passes.instrument import Instrument, RoundTripError, check_round_trip
from lect.runtime import dumping, entry, watch
from lect.runtime.graph_texts import FRAME, Known, file_names
from lect.runtime.overrides import unused_texts
from lect.runtime.settings import Environment
from lect.tools import lect_opt, lect_run


@pytest.fixture(autouse=True)
def trigger():
    """Who calls the compiler decides nothing of its texts."""


@pytest.fixture(autouse=True)
def fresh():
    lect.reset()
    yield
    lect.reset()


class Net(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.linear = torch.nn.Linear(4, 4)

    def forward(self, x):
        return torch.relu(self.linear(x)).softmax(-1).sum(0)


def shifted(x, y):
    return (x + y) * 2.0


def in_two_parts(x):
    y = x + 1
    print(end="")
    return y * 2


def dumped(folder, fn, *args, **options):
    """What the compiled call gives, with its texts in a new folder."""
    lect.reset()
    return lect.compile(fn, options={"dump": folder, **options})(*args)


def overridden(folder, fn, *args, **options):
    lect.reset()
    return lect.compile(fn, options={"override": str(folder), **options})(*args)


def edit(path, pattern, replacement):
    text, count = re.subn(pattern, replacement, path.read_text())
    assert count, f"{path.name} has nothing like {pattern}"
    path.write_text(text)


class Printed(Instrument):
    """The text of the module behind each pass."""

    def __init__(self):
        self.texts = []

    def after(self, manager, position, op, ctx):
        self.texts.append((manager.passes[position], "\n\n".join(print_op(each)[0] for each in op.body if each.name not in FRAME) + "\n"))


# ---- writing ---------------------------------------------------------------------------------------------------------


def test_every_level_is_written_and_reads_back(tmp_path):
    net, x = Net(), torch.randn(3, 4)
    dumped(tmp_path, net, x).sum().backward()
    graph = tmp_path / "Net.0"
    levels = {"000-capture.mlir", "199-functional.mlir", "299-loop.mlir", "399-kernel.mlir"}
    assert levels <= {path.name for path in graph.iterdir()}
    assert levels - {"000-capture.mlir"} <= {path.name for path in (graph / "backward.0").iterdir()}
    files = sorted(tmp_path.rglob("*.mlir"))
    assert {path.name for path in files} <= set(file_names())
    for path in files:
        module = parse_module(path.read_text(), make_context(), str(path))
        verify(module)
        body = path.read_text().partition("\n\n")[2]
        assert print_module(module) == body, path
    assert "guard.set" in (graph / "000-capture.mlir").read_text() and "pyframe.func" in (graph / "000-capture.mlir").read_text()
    assert "def " in (graph / "host.py").read_text() and "define" in (graph / "kernels.ll").read_text()


def test_only_passes_that_changed_something_have_a_file(tmp_path):
    dumped(tmp_path, shifted, torch.randn(3), torch.randn(3))
    texts = [path.read_text().partition("\n\n")[2] for path in sorted((tmp_path / "shifted.0").glob("*.mlir"))]
    levels = [path.name for path in sorted((tmp_path / "shifted.0").glob("*.mlir")) if path.name[4:] in ("functional.mlir", "loop.mlir", "kernel.mlir")]
    same = sum(a == b for a, b in zip(texts, texts[1:]))
    assert len(levels) == 3 and same <= len(levels)
    assert not (tmp_path / "shifted.0" / "105-functional-fold-constants.mlir").exists()


def test_each_pass_that_changed_something_has_a_file(tmp_path, monkeypatch):
    def program(x, w):
        return torch.nn.functional.gelu(torch.softmax(torch.nn.functional.layer_norm(x @ w, (8,)).half(), -1)).sum(0)

    printed, plain = Printed(), watch.Watch.instruments
    monkeypatch.setattr(watch.Watch, "instruments", lambda self, stage: [*plain(self, stage), printed])
    dumped(tmp_path, program, torch.randn(5, 6, requires_grad=True), torch.randn(6, 8))
    (passes, texts) = zip(*printed.texts[1:])  # behind the capture
    changed = [(each.name, text) for each, text, before in zip(passes, texts, [printed.texts[0][1], *texts]) if text != before]
    files = [path for path in sorted(tmp_path.glob("*program.0/*.mlir")) if path.name[1:3] not in ("00", "99")]
    assert [(path.stem[4:], path.read_text().partition("\n\n")[2]) for path in files] == changed
    assert sum(each.gpu_only for each in passes) == 10 and not any(load_pass(name).gpu_only for name, _ in changed)


def test_two_processes_that_write_to_one_folder_see_whole_files_of_each_other(tmp_path, monkeypatch):
    dumped(tmp_path, shifted, torch.randn(3), torch.randn(3))
    whole, plain, earlier = [], os.replace, dumping.texts_in

    def replace(old, new):
        assert not new.endswith(".mlir") or not Known.of(Path(old).read_text()).edited
        whole.append(Path(new).name)
        plain(old, new)

    monkeypatch.setattr(dumping.os, "replace", replace)
    monkeypatch.setattr(dumping, "texts_in", lambda folder: [folder / "104-removed-by-another.mlir", *earlier(folder)])
    dumped(tmp_path, shifted, torch.randn(3), torch.randn(3))
    assert sorted(whole) == sorted(path.name for path in (tmp_path / "shifted.0").iterdir())


def test_a_folder_for_each_process(tmp_path):
    dumped(f"{tmp_path}/texts-%p", shifted, torch.randn(3), torch.randn(3))
    assert (tmp_path / f"texts-{os.getpid()}" / "shifted.0" / "299-loop.mlir").exists()
    assert Environment.read({"LECT_DUMP": "a-%p"}).dump == f"a-{os.getpid()}"


def function_called(name):
    names = {}
    exec(f"def {name}(x): return x * 2.0", names)
    return names[name]


def test_functions_with_names_of_all_kinds_have_folders_of_their_own(tmp_path):
    long = "n" * 300
    for name in ("größe_函数", "größe_汉字", long, long + "m"):
        dumped(tmp_path, function_called(name), torch.randn(3))
    texts = {path.name: path.joinpath("000-capture.mlir").read_text() for path in tmp_path.iterdir()}
    assert len(texts) == 4 and {"größe_函数.0", "größe_汉字.0"} <= texts.keys()
    edit(tmp_path / "größe_函数.0" / "199-functional.mlir", r"other = 2\.0", "other = 4")
    assert overridden(tmp_path, function_called("größe_函数"), torch.ones(3)).tolist() == [4, 4, 4]


def test_names_that_differ_in_signs_alone_do_not_share_a_folder(tmp_path):
    lect.reset()
    for name in ("a.<locals>.f", "a._locals_.f"):
        fn = function_called("f")
        fn.__qualname__ = name
        lect.compile(fn, options={"dump": tmp_path})(torch.randn(3))
    assert sorted(path.name for path in tmp_path.iterdir()) == ["a._locals_.f.0", "a._locals_.f.1"]


@pytest.mark.parametrize("target", ["operator.nothing", "os.getpid", "torch.nn.functional.nothing"])
def test_a_call_that_no_graph_may_make(tmp_path, target):
    args = torch.randn(3), torch.randn(3)
    dumped(tmp_path, shifted, *args)
    path = tmp_path / "shifted.0" / "000-capture.mlir"
    edit(path, r"operator\.mul", target)
    with pytest.raises(LectError, match=rf"{path}:.*no function of torch"):
        overridden(tmp_path, shifted, *args)


def test_a_call_that_does_not_take_its_arguments(tmp_path):
    args = torch.randn(3), torch.randn(3)
    dumped(tmp_path, shifted, *args)
    path = tmp_path / "shifted.0" / "000-capture.mlir"
    edit(path, r"operator\.mul", "torch.tensor")
    with pytest.raises(LectError, match=rf"{path}:.*torch.tensor raises TypeError"):
        overridden(tmp_path, shifted, *args)


def test_what_is_no_text_is_not_replaced(tmp_path):
    (tmp_path / "shifted.0").mkdir()
    path = tmp_path / "shifted.0" / "299-loop.mlir"
    path.write_bytes(b"\xff\xfe\x00")
    with pytest.raises(LectError, match=rf"'{path}' was edited, and writing"):
        dumped(tmp_path, shifted, torch.randn(3), torch.randn(3))


def test_the_text_of_kernels_is_that_which_is_compiled(tmp_path, monkeypatch):
    compiled, plain = [], kernels.stored_object
    monkeypatch.setattr(kernels, "stored_object", lambda text, *given: (compiled.append(text), plain(text, *given))[1])
    dumped(tmp_path, Net(), torch.randn(3, 4))
    assert [(tmp_path / "Net.0" / "kernels.ll").read_text()] == compiled


def test_the_command_in_a_file_goes_on_to_the_end(tmp_path):
    dumped(tmp_path, shifted, torch.randn(3), torch.randn(3))
    graph = tmp_path / "shifted.0"
    command = next(line for line in (graph / "199-functional.mlir").read_text().splitlines() if "lect-opt FILE" in line)
    target, pipeline = re.search(r"--target (\S+) -p '(.*)'", command).groups()
    out, err = io.StringIO(), io.StringIO()
    arguments = [str(graph / "199-functional.mlir"), "--target", target, "-p", pipeline]
    assert lect_opt.run(arguments, None, out, err) == 0, err.getvalue()
    assert out.getvalue() == (graph / "399-kernel.mlir").read_text().partition("\n\n")[2]
    assert lect_run.main([str(graph / "399-kernel.mlir"), "--random-inputs", "--compare", str(graph / "199-functional.mlir")]) == 0


def test_each_compile_has_a_folder(tmp_path):
    f = lect.compile(shifted, dynamic=False, options={"dump": tmp_path})
    f(torch.randn(3), torch.randn(3))
    f(torch.randn(4), torch.randn(4))
    assert sorted(path.name for path in tmp_path.iterdir()) == ["shifted.0", "shifted.1"]
    assert [(event.function, event.folder) for event in lect.events("dump")] == [("shifted", str(tmp_path / f"shifted.{k}")) for k in (0, 1)]


def test_an_edited_file_is_not_replaced(tmp_path):
    args = torch.randn(3), torch.randn(3)
    dumped(tmp_path, shifted, *args)
    dumped(tmp_path, shifted, *args)
    path = tmp_path / "shifted.0" / "299-loop.mlir"
    edit(path, r"value = 2\.0", "value = 3.0")
    with pytest.raises(LectError, match="299-loop.mlir' was edited"):
        dumped(tmp_path, shifted, *args)
    assert "value = 3.0" in path.read_text()


def test_a_folder_that_cannot_be_written(tmp_path):
    (tmp_path / "file").write_text("")
    with pytest.raises(LectError, match="cannot be written"):
        dumped(tmp_path / "file", shifted, torch.randn(3), torch.randn(3))


# ---- using edited texts ------------------------------------------------------------------------------------------------

EDITS = [
    ("000-capture.mlir", r"args = \[#fx.operand<0>, 2\.0\]", "args = [#fx.operand<0>, 3.0]"),
    ("199-functional.mlir", r"other = 2\.0", "other = 3.0"),
    ("201-functional-to-loop.mlir", r"value = 2\.0", "value = 3.0"),
    ("299-loop.mlir", r"value = 2\.0", "value = 3.0"),
    ("399-kernel.mlir", r"value = 2\.0", "value = 3.0"),
]


@pytest.mark.parametrize(("name", "pattern", "replacement"), EDITS, ids=[name[4:-5] for name, *_ in EDITS])
def test_an_edited_text_is_used_from_its_level_on(tmp_path, name, pattern, replacement):
    x, y = torch.randn(3), torch.randn(3)
    assert torch.equal(dumped(tmp_path, shifted, x, y), shifted(x, y))
    assert torch.equal(overridden(tmp_path, shifted, x, y), shifted(x, y))
    assert not lect.events("override")
    path = tmp_path / "shifted.0" / name
    edit(path, pattern, replacement)
    assert torch.equal(overridden(tmp_path, shifted, x, y), (x + y) * 3.0)
    (event,) = lect.events("override")
    assert event.file == str(path) and event.function == "shifted" and event.level == path.stem
    assert not lect.events("fallback", "note")


def test_the_later_levels_of_an_edited_text_are_written(tmp_path):
    x, y = torch.randn(3), torch.randn(3)
    dumped(tmp_path / "a", shifted, x, y)
    edit(tmp_path / "a" / "shifted.0" / "199-functional.mlir", r"other = 2\.0", "other = 3.0")
    overridden(tmp_path / "a", shifted, x, y, dump=tmp_path / "b")
    new = tmp_path / "b" / "shifted.0"
    assert "value = 2.0" not in (new / "299-loop.mlir").read_text() and "value = 3.0" in (new / "299-loop.mlir").read_text()
    assert "args = [#fx.operand<0>, 2.0]" in (new / "000-capture.mlir").read_text()


def test_residual_code_and_guards_can_be_edited(tmp_path):
    x, y = torch.randn(3), torch.randn(3)
    dumped(tmp_path, shifted, x, y)
    edit(tmp_path / "shifted.0" / "000-capture.mlir", r"pyframe\.return\(%2\)", "%a = pyframe.load_const() {value = 7} : !pyframe.object\n  pyframe.return(%a)")
    edit(tmp_path / "shifted.0" / "000-capture.mlir", r"  guard\.global_state.*\n", "")
    f = lect.compile(shifted, options={"override": tmp_path})
    lect.reset()
    assert f(x, y) == 7
    with torch.no_grad():
        assert f(x, y) == 7
    assert not lect.events("recompile")


def test_lines_that_nobody_changed_keep_their_place_in_the_program(tmp_path, monkeypatch):
    x, y = torch.randn(3), torch.randn(3)
    dumped(tmp_path, shifted, x, y)
    edit(tmp_path / "shifted.0" / "199-functional.mlir", r"other = 2\.0", "other = 3.0")
    seen = {}
    from lect.runtime import entry

    monkeypatch.setattr(entry.RUNTIME, "observe", lambda stage, module: seen.setdefault(stage, {op.name: op.loc for op in module.walk()}))
    overridden(tmp_path, shifted, x, y)
    assert seen["aot"]["functional.add"].file == __file__ and seen["aot"]["functional.add"].line == shifted.__code__.co_firstlineno + 1
    assert seen["aot"]["functional.mul"].file.endswith("199-functional.mlir")


def test_an_edited_backward(tmp_path):
    def cubed(x):
        return (x * x * x).sum()

    x = torch.randn(4, requires_grad=True)
    dumped(tmp_path, cubed, x).backward()
    (graph,) = tmp_path.iterdir()
    edit(graph / "backward.0" / "199-functional.mlir", r"functional\.add\(", "functional.sub(")
    x.grad = None
    overridden(tmp_path, cubed, x).backward()
    (event,) = lect.events("override")
    assert "backward.0" in event.file
    assert not torch.allclose(x.grad, 3 * x.detach() ** 2)


def test_a_text_without_header_is_used(tmp_path):
    x, y = torch.randn(3), torch.randn(3)
    dumped(tmp_path / "a", shifted, x, y)
    own = tmp_path / "b" / "shifted.0"
    own.mkdir(parents=True)
    (own / "199-functional.mlir").write_text((tmp_path / "a/shifted.0/199-functional.mlir").read_text().partition("\n\n")[2].replace("2.0", "5.0"))
    assert torch.equal(overridden(tmp_path / "b", shifted, x, y), (x + y) * 5.0)


def test_behind_a_graph_break_each_part_has_its_texts(tmp_path):
    x = torch.randn(3)
    dumped(tmp_path, in_two_parts, x)
    first, second = sorted(tmp_path.iterdir())
    assert first.name == "in_two_parts.0" and re.fullmatch(r"in_two_parts_rest_from_line_\d+\.0", second.name)
    edit(second / "299-loop.mlir", r"value = 2\.0", "value = 4.0")
    assert torch.equal(overridden(tmp_path, in_two_parts, x), (x + 1) * 4)


def in_a_loop(x):
    for i in range(3):
        x = torch.sin(x) * 2.5 + i
        print(end="")
        if x.sum() > 1e9:
            return x
    return x.cos()


def test_graph_breaks_in_a_loop(tmp_path):
    """A rest may lead to a rest that begins in its own line: both have names of their own."""
    x = torch.randn(5, 7)
    want = in_a_loop(x)
    torch.testing.assert_close(dumped(str(tmp_path), in_a_loop, x, round_trip="passes"), want)
    texts = [path / "000-capture.mlir" for path in tmp_path.iterdir()]
    assert len(texts) > 3
    for text in texts:
        verify(parse_module(text.read_text(), make_context()))
    edited = next(text for text in texts if "2.5" in text.read_text().partition("pyframe.func")[0])
    edit(edited, r"target = @torch.sin", "target = @torch.tan")
    overridden(tmp_path, in_a_loop, x)
    assert [event.file for event in lect.events("override")] == [str(edited)]


# ---- edited texts that do not fit ------------------------------------------------------------------------------------


def test_a_text_for_other_inputs(tmp_path):
    dumped(tmp_path, shifted, torch.randn(3), torch.randn(3))
    path = tmp_path / "shifted.0" / "299-loop.mlir"
    edit(path, r"// .*\n", "")
    with pytest.raises(LectError) as raised:
        overridden(tmp_path, shifted, torch.randn(4), torch.randn(4))
    assert re.search(rf"{path}:\d+:1: error: @shifted.graph takes !loop.buffer<3xf32> as number 0 in this text, and !loop.buffer<4xf32>", str(raised.value))


def test_a_text_of_another_program(tmp_path):
    def program(x):
        return x * 2.0

    dumped(tmp_path, program, torch.randn(3))
    path = next(tmp_path.iterdir()) / "299-loop.mlir"
    edit(path, r"value = 2\.0", "value = 3.0")

    def program(x):
        return x * 4.0

    with pytest.raises(LectError, match="made of another graph"):
        overridden(tmp_path, program, torch.randn(3))


@pytest.mark.parametrize(
    ("pattern", "replacement", "message"),
    [
        (r"loop\.func @", "loop.funk @", "loop.funk"),
        (r"loop\.func @shifted.graph", "loop.func @other", "lacks loop.func @shifted.graph"),
        (r"loop\.return\(%(\w+)\)", r"loop.return(%gone)", "gone"),
        (r"kind = \"?|space = #loop.space<d0: 3>", "space = #loop.space<d0: 4>", ".mlir:"),
    ],
)
def test_wrong_texts(tmp_path, pattern, replacement, message):
    args = torch.randn(3), torch.randn(3)
    dumped(tmp_path, shifted, *args)
    path = tmp_path / "shifted.0" / "299-loop.mlir"
    edit(path, pattern, replacement)
    with pytest.raises(LectError) as raised:
        overridden(tmp_path, shifted, *args)
    assert message in str(raised.value) and str(path) in str(raised.value)


def test_edited_texts_that_no_compile_uses(tmp_path):
    x, y = torch.randn(3), torch.randn(3)
    dumped(tmp_path, shifted, x, y)
    edit(tmp_path / "shifted.0" / "299-loop.mlir", r"value = 2\.0", "value = 3.0")
    elsewhere = tmp_path / "shifted.7" / "backward.0" / "299-loop.mlir"
    elsewhere.parent.mkdir(parents=True)
    elsewhere.write_text("loop.func @edited() {}\n")
    (elsewhere.parent / "199-functional.mlir").write_text((tmp_path / "shifted.0" / "199-functional.mlir").read_text())
    tell = unused_texts(tmp_path, entry.RUNTIME.log)
    overridden(tmp_path, shifted, x, y)
    assert [event.file for event in tell()] == [str(elsewhere)]
    (event,) = lect.events("unused text")
    assert "no compile has used" in event.text()


def test_unused_texts_are_named_when_the_process_ends(tmp_path):
    (tmp_path / "nobody.0").mkdir()
    (tmp_path / "nobody.0" / "299-loop.mlir").write_text("edited\n")
    done = subprocess.run([sys.executable, "-c", "import lect; lect.compile"], env={**os.environ, "LECT_OVERRIDE": str(tmp_path)}, capture_output=True, text=True, check=True)
    said = f"lect: no compile has used the edited text {tmp_path / 'nobody.0' / '299-loop.mlir'}"
    assert said in done.stderr
    program = f"import lect, torch\nfor _ in range(2): lect.compile(torch.sin, options={{'override': {str(tmp_path)!r}}})"
    program += f"\nlect.compile(lambda x: x + 1, options={{'override': {str(tmp_path)!r}}})(torch.ones(2))"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert done.stderr.count(said) == 1


def only_results_differ(x):
    return torch.sin(x) * 2.0


@pytest.mark.parametrize(("grad", "name"), [(False, "000-capture"), (False, "101-fx-build-joint"), (True, "000-capture")])
@pytest.mark.parametrize(("old", "new"), [("4x6", "4x7"), ("f32", "f64")])
def test_a_call_that_does_not_give_what_the_text_says(tmp_path, grad, name, old, new):
    x = torch.randn(4, 6, requires_grad=grad)
    dumped(tmp_path, only_results_differ, x)
    path = tmp_path / "only_results_differ.0" / f"{name}.mlir"
    edit(path, rf"(torch\.sin, .*){old}", rf"\g<1>{new}")
    line = 1 + next(number for number, text in enumerate(path.read_text().splitlines()) if "torch.sin," in text)
    with pytest.raises(LectError, match=rf"{path}:{line}:\d+: error: .* torch.sin gives .*, but the graph says"):
        overridden(tmp_path, only_results_differ, x)


def test_a_graph_that_no_stage_lowers(tmp_path, monkeypatch):
    """An edited capture runs by torch; behind that nothing of an edit would be left."""

    def refuse(self, op, ctx):
        raise LectError("not today")

    x = torch.randn(4, 6)
    dumped(tmp_path, only_results_differ, x)
    capture, joint = (tmp_path / "only_results_differ.0" / name for name in ("000-capture.mlir", "101-fx-build-joint.mlir"))
    monkeypatch.setattr(load_pass("fx-to-functional"), "run", refuse)
    before = joint.read_text()
    edit(joint, r", 2\.0\]", ", 3.0]")
    with pytest.raises(LectError, match=rf"{joint}:\d+:\d+: error: the edited text is refused by a later stage: not today"):
        overridden(tmp_path, only_results_differ, x)
    joint.write_text(before)
    edit(capture, r", 2\.0\]", ", 3.0]")
    torch.testing.assert_close(overridden(tmp_path, only_results_differ, x), torch.sin(x) * 3)


def test_a_file_that_no_pass_writes(tmp_path):
    args = torch.randn(3), torch.randn(3)
    (tmp_path / "shifted.0").mkdir()
    (tmp_path / "shifted.0" / "20-loop.mlir").write_text("")
    with pytest.raises(LectError, match=r"no level and no pass .*\n.*299-loop.mlir"):
        overridden(tmp_path, shifted, *args)


def test_a_level_that_is_not_reached(tmp_path):
    args = torch.randn(3), torch.randn(3)
    dumped(tmp_path, shifted, *args)
    edit(tmp_path / "shifted.0" / "299-loop.mlir", r"value = 2\.0", "value = 3.0")
    with pytest.raises(LectError, match="did not come to this level"):
        overridden(tmp_path, shifted, *args, level="functional")


@pytest.mark.parametrize("options", [{"dump": 3}, {"dump": "a\0b"}, {"override": "/nowhere/at/all"}, {"round_trip": "always"}])
def test_options_that_are_none(options):
    with pytest.raises(LectError):
        lect.compile(shifted, options=options)


def test_one_folder_for_both(tmp_path):
    with pytest.raises(LectError, match="one folder"):
        lect.compile(shifted, options={"dump": tmp_path, "override": str(tmp_path)})


def test_the_environment(tmp_path):
    found = Environment.read({"LECT_DUMP": "a", "LECT_OVERRIDE": "b", "LECT_ROUND_TRIP": "levels"})
    assert found.options == {"dump": "a", "override": "b", "round_trip": "levels"}
    assert Path("a") not in tmp_path.iterdir()


# ---- reading back what is printed ------------------------------------------------------------------------------------


@pytest.mark.parametrize("where", ["levels", "passes"])
def test_all_that_is_printed_reads_back(where, monkeypatch):
    from lect.passes import instrument

    read = []
    check = instrument.check_round_trip
    monkeypatch.setattr(instrument, "check_round_trip", lambda text, name, ctx: (read.append(name), check(text, name, ctx)))
    lect.compile(Net(), options={"round_trip": where})(torch.randn(3, 4)).sum().backward()
    assert {"pyframe-to-fx", "functional-split-joint" if where == "passes" else "functional-reinplace"} <= set(read)
    assert ("loop-fuse-vertical" in read or "loop-inline" in read) == (where == "passes")
    assert not lect.events("fallback", "note", "backward fallback")


def test_text_that_cannot_be_read(monkeypatch):
    text = printer.attribute_text
    monkeypatch.setattr(printer, "attribute_text", lambda value, generic=False: "2.0.0" if value == 2.0 else text(value, generic))
    with pytest.raises(RoundTripError, match="behind 'pyframe-to-fx' cannot be read back"):
        lect.compile(shifted, options={"round_trip": "levels"})(torch.randn(3), torch.randn(3))


def test_text_that_reads_as_something_else():
    text = "functional.func @f(%x: !functional.tensor<3xf32>) {\n  %0 = functional.exp(%x) : !functional.tensor<3xf32>\n  functional.return(%0)\n}\n"
    text = print_module(parse_module(text, make_context(), "a.mlir"), locations=True)
    check_round_trip(text, "cse", make_context())
    with pytest.raises(RoundTripError, match="behind 'cse' reads as something else: '%7 = functional.exp.*' becomes '%0 = functional.exp"):
        check_round_trip(text.replace("%0", "%7"), "cse", make_context())
