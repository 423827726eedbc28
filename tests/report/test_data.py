"""What stands in a report: all levels, each with the lines of the program that it comes from, and why things are as they are."""

from __future__ import annotations

import base64
import hashlib
import json
import re
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import pytest
import torch
from torch import nn

import lect
from benchmarks.capture_models import gpt
from lect.dialects import make_context
from lect.ir import LectError, PassFailure, parse_module, print_module
from lect.passes.convert.functional_to_loop import FunctionalToLoop
from lect.runtime.report import recording as recording_module
from lect.runtime.report.page import html, page_data, runs
from lect.runtime.report.recording import Recorder
from tests.report.programs import data_in, data_of, everything, helped, level, numbers_of, recording, source_line, spread, text_of, trained

LEVELS = ["pyframe", "guard", "fx", "residual", "functional", "loop", "kernel", "host", "host.py", "llvm"]


@pytest.fixture(scope="module")
def spread_data() -> dict[str, Any]:
    return data_of(spread, torch.randn(64, 32))


@pytest.fixture(scope="module")
def all_data() -> dict[str, Any]:
    return page_data(everything())


def test_every_level_is_there(spread_data):
    (made,) = spread_data["compiles"]
    assert [each["name"] for each in made["levels"]] == LEVELS
    assert all(level(spread_data, 0, name) for name in LEVELS)


def test_a_line_of_the_source_is_followed_through_all_levels(spread_data):
    place = source_line(spread_data, "h = F.gelu(x) * 2")
    found = {name: [spread_data["lines"][n] for n in level(spread_data, 0, name) if spread_data["places"][n] == place] for name in LEVELS}
    assert {name for name, lines in found.items() if lines} == set(LEVELS) - {"residual", "host", "host.py"}
    assert [line.split()[2].partition("(")[0] for line in found["functional"]] == ["functional.gelu", "functional.mul"]
    assert any("loop.erf" in line for line in found["loop"]) and not any("loop.exp(" in line for line in found["loop"])
    assert any("@lect.erf" in line for line in found["llvm"]) and not any("@lect.exp" in line for line in found["llvm"])


def test_texts_behind_passes_are_programs(spread_data):
    """Values keep their names from pass to pass, and each text still reads as the module that it shows."""
    made = spread_data["compiles"][0]
    for stage, levels in (("aot", ["functional"]), ("loop", ["loop"]), ("kernel", ["kernel", "host"])):
        last = [step["text"] for step in made["steps"] if step["stage"] == stage and step["text"]][-1]
        shown = parse_module(text_of(spread_data, numbers_of(last)), make_context())
        wanted = parse_module("\n".join(text_of(spread_data, level(spread_data, 0, name)) for name in levels), make_context())
        assert print_module(shown) == print_module(wanted)


def test_a_pass_differs_from_the_one_before_only_where_it_changed_something():
    data = data_of(nn.Sequential(*[nn.Linear(8, 8), nn.GELU()] * 3).eval(), torch.randn(4, 8))
    steps = data["compiles"][0]["steps"]
    (plan,) = [number for number, step in enumerate(steps) if step["name"] == "loop-plan-buffers"]
    before = numbers_of(next(step["text"] for step in reversed(steps[:plan]) if step["text"]))
    after = numbers_of(steps[plan]["text"])
    gone = [data["lines"][number] for number in before if number not in after]
    assert gone and all(line.lstrip().partition(" = ")[2].startswith(("loop.nest", "loop.extern")) or line.startswith("loop.func") for line in gone)


def test_times_of_passes_lie_in_their_stages(spread_data):
    made = spread_data["compiles"][0]
    spans = {name: (start, end) for name, start, end in made["spans"]}
    assert list(spans) == ["capture", "aot", "loop", "kernel", "emit"]
    assert made["start"] <= spans["capture"][0] and spans["emit"][1] <= made["end"]
    for step in made["steps"]:
        start, end = spans[step["stage"]]
        assert start <= step["start"] <= step["end"] <= end


def test_recording_takes_no_time_of_the_clock(monkeypatch):
    now = [0.0]
    monkeypatch.setattr(recording_module.time, "perf_counter", lambda: now[0])
    recorder = Recorder(lect.runtime.events.EventLog())
    now[0] = 2.0
    with recorder.paused():
        now[0] = 5.0
        with recorder.paused():
            now[0] = 6.0
    now[0] = 7.0
    assert recorder.clock() == 3.0


@pytest.mark.parametrize("shape", [(64, 32), (0, 4), ()])
def test_empty_and_scalar_inputs(shape):
    data = data_of(lambda x: torch.exp(x) + 1, torch.ones(shape))
    assert level(data, 0, "loop")


PLANS = {
    "softmax": (spread, (torch.randn(64, 32),)),
    "layers": (nn.Sequential(*[nn.Linear(8, 8), nn.GELU(), nn.LayerNorm(8)] * 3).eval(), (torch.randn(4, 8),)),
    "training": (trained, (torch.randn(4, 8), torch.randn(8, 8, requires_grad=True))),
    "convolutions": (nn.Sequential(nn.Conv2d(3, 8, 3), nn.ReLU(), nn.Conv2d(8, 8, 3), nn.BatchNorm2d(8)).eval(), (torch.randn(2, 3, 12, 12),)),
    "writes": (lambda x, y: (y.add_(x.sin()), x.cos()), (torch.randn(9), torch.randn(9))),
    "sorted": (lambda x: torch.sort(x.exp().flip(0)), (torch.randn(40),)),
}


@pytest.mark.parametrize("name", PLANS)
def test_what_is_live_at_once_is_the_predicted_peak(name):
    fn, args = PLANS[name]
    explanation = lect.explain(fn)(*args)
    for training in explanation.training:
        training.compile_all_backwards()
    for made in page_data(explanation.recorder)["compiles"]:
        for plan in made["memory"]:
            assert max(plan["live"]) == plan["peak"]
            assert all(0 <= each["first"] <= each["last"] < len(plan["steps"]) for each in plan["buffers"])


def test_plans_of_symbolic_sizes_are_those_of_the_captured_call(all_data):
    plans = [(made["function"], plan) for made in all_data["compiles"] for plan in made["memory"]]
    assert len(plans) > 5
    for name, plan in plans:
        assert max(plan["live"]) == plan["peak"], name


def test_the_fusion_graph_says_what_became_one_and_what_did_not():
    linear = nn.Linear(32, 32)
    data = data_of(lambda x: torch.softmax(torch.tanh(linear(x)) * 2, -1) + x.sum(), torch.randn(16, 32))
    (graph,) = data["compiles"][0]["fusion"]
    nodes = {node["name"]: node for node in graph["nodes"]}
    (call,) = [node for node in graph["nodes"] if node["kind"] == "library"]
    fused = [node for node in graph["nodes"] if node.get("fused")]
    assert call["ops"] == ["aten.mm.default"] and fused
    assert {"tanh", "softmax"} <= {name for node in fused for name in node["ops"]}
    assert all(each["first"].startswith(("n", "e")) and each["saves"] > 0 for node in fused for each in node["fused"])
    for number, node in enumerate(graph["nodes"]):
        assert all(start < number for start, _ in node["from"])
        assert f"@{node['name']}(" in text_of(data, level(data, 0, "loop"))
    assert len(nodes) == len(graph["nodes"])


def test_breaks_and_guards_stand_at_their_lines(all_data):
    first = all_data["compiles"][0]
    (cut,) = [event for event in first["events"] if event["kind"] == "graph break"]
    assert cut["place"][0] * 1_000_000 + cut["place"][1] == source_line(all_data, "print(text")
    here = [text for text, file, line in first["guards"] if file * 1_000_000 + line == source_line(all_data, "y = torch.sin(x) + n")]
    assert here == ['is M["tests.report.programs"].torch.sin', 'equals L["n"]', "tensor_class"]


def test_versions_of_one_frame_are_known_as_such(all_data):
    helped_ones = [made for made in all_data["compiles"] if made["function"] == "helped"]
    assert [made["version"] for made in helped_ones] == [0, 1, 2]
    assert len({made["frame"] for made in helped_ones}) == 1
    rests = {made["frame"] for made in all_data["compiles"] if "rest" in made["function"]}
    assert rests and not rests & {made["frame"] for made in helped_ones}
    missed = [event for event in all_data["events"] if event["kind"] == "guard miss" and event["function"] == "helped"]
    assert missed[0]["source"] == 'L["x"]' and "sizes = [4]" in missed[0]["expected"] and "(5,)" in missed[0]["found"]


def test_a_backward_is_a_compile_of_its_own(all_data):
    forward, backward = [made for made in all_data["compiles"] if made["function"] == "trained"][:2]
    assert not forward["backward"] and backward["backward"]
    assert [each["name"] for each in backward["levels"]] == ["functional", "loop", "kernel", "host", "host.py", "llvm"]
    assert [span[0] for span in backward["spans"]] == ["loop", "kernel", "emit"]
    assert all(start <= end for _, start, end in backward["spans"])
    assert [event["kind"] for event in backward["events"]] == ["backward"]


def test_a_function_that_runs_eagerly_says_why(all_data):
    (made,) = [each for each in all_data["compiles"] if each["function"] == "left_alone"]
    assert [event["number"] for event in made["events"] if event["kind"] == "fallback"] == ["LB0022"]
    assert "pyframe" in [each["name"] for each in made["levels"]]


def refuse(self: Any, op: Any, ctx: Any) -> None:
    """A pass that takes nothing."""
    raise PassFailure("not this time")


def test_a_graph_that_torch_runs_shows_how_far_it_came(monkeypatch):
    monkeypatch.setattr(FunctionalToLoop, "run", refuse)
    made = data_of(spread, torch.randn(2, 3))["compiles"][0]
    assert [each["name"] for each in made["levels"]] == ["pyframe", "guard", "fx", "residual", "functional"]
    assert [event["number"] for event in made["events"] if event["kind"] == "note"] == ["LB0024"]
    assert [step["name"] for step in made["steps"]][-1] == "functional-to-loop" and made["fusion"] == []


def test_what_goes_wrong_with_recording_stops_no_compile(monkeypatch):
    def wrong(*given: Any) -> None:
        raise KeyError("gone")

    monkeypatch.setattr(recording_module.Record, "take_levels", wrong)
    with recording() as recorder:
        x = torch.randn(3, 4)
        torch.testing.assert_close(lect.compile(spread, options={"cache": False, "level": "loop"})(x), spread(x))
    (made,) = page_data(recorder)["compiles"]
    assert made["lost"] == "KeyError: 'gone'" and made["steps"]
    assert [event.kind for event in recorder.log.events(("note", "fallback"))] == []
    monkeypatch.undo()
    explanation = lect.explain(spread)(x)
    monkeypatch.setattr("lect.backends.llvm.kernels.module_text", wrong)
    data = page_data(explanation.recorder)
    assert text_of(data, level(data, 0, "llvm")) == "this text cannot be made: KeyError: 'gone'\n"


def test_explain_reports_the_backward_and_all_parts(tmp_path):
    weight = torch.randn(8, 8, requires_grad=True)
    path = lect.explain(trained)(torch.randn(4, 8), weight).report(tmp_path / "a.html")
    assert [made["backward"] for made in data_in(path)["compiles"]] == [False, True]
    explanation = lect.explain(helped)(torch.randn(3))
    data = data_in(explanation.report(tmp_path / "b.html"))
    assert len(data["compiles"]) == len(explanation.parts) == 2
    assert data == data_in(explanation.report(tmp_path / "c.html"))


def test_a_call_that_raises_is_reported(tmp_path):
    def wrong(x: torch.Tensor) -> torch.Tensor:
        y = torch.sin(x)
        print(end="")
        raise ValueError(f"{y.shape}")

    explanation = lect.explain(wrong)(torch.randn(3))
    assert isinstance(explanation.raised, ValueError)
    assert data_in(explanation.report(tmp_path / "a.html"))["compiles"]


def test_a_compile_that_is_given_up_for_another_is_left_out():
    with recording() as recorder:
        compiled = lect.compile(lambda x, n: torch.ones(n) + x.sum(), options={"cache": False})
        for n in (3, 4, 5):
            compiled(torch.randn(3), n)
    made = page_data(recorder)["compiles"]
    assert [each["version"] for each in made] == list(range(len(made)))


def test_there_is_an_end_to_what_is_recorded(monkeypatch):
    monkeypatch.setattr(recording_module, "MOST_RECORDS", 2)
    with recording() as recorder:
        for size in (1, 2, 3):
            lect.compile(spread, options={"cache": False}, dynamic=False)(torch.randn(size, 4))
    data = page_data(recorder)
    assert (len(data["compiles"]), data["more"]) == (2, 1)


def test_a_reset_takes_nothing_from_a_report():
    with recording() as recorder:
        lect.compile(spread, options={"cache": False})(torch.randn(2, 3))
        lect.reset()
    assert {"trace", "compile", "passes"} <= {event["kind"] for event in page_data(recorder)["events"]}


def test_a_recorder_that_was_stopped_records_nothing():
    with recording() as recorder:
        pass
    lect.compile(spread)(torch.randn(2, 3))
    assert recorder.records == [] and recorder.log.recorder is None


def test_runs_of_lines():
    assert runs([7, 8, 9, 2, 3, 3, 1]) == [7, 3, 2, 2, 3, 1, 1, 1]
    assert numbers_of(runs([7, 8, 9, 2, 3, 3, 1])) == [7, 8, 9, 2, 3, 3, 1]
    assert runs([]) == []


# ---- the file --------------------------------------------------------------------------------------------------------


class Reader(HTMLParser):
    """Notes tags that are not closed, attributes that would load something or run something, and what stands in scripts and styles."""

    EMPTY = frozenset({"meta", "br", "img", "input", "link"})

    def __init__(self) -> None:
        super().__init__()
        self.open: list[str] = []
        self.bad: list[str] = []
        self.parts: list[tuple[str, dict[str, Any], str]] = []
        self.policy = ""

    def handle_starttag(self, tag: str, attrs: Any) -> None:
        told = dict(attrs)
        self.bad += [f"{tag} {name}" for name in told if name in ("src", "href", "style") or name.startswith("on")]
        if told.get("http-equiv") == "Content-Security-Policy":
            self.policy = told["content"]
        if tag not in self.EMPTY:
            self.open.append(tag)
        self.parts.append((tag, told, ""))

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag
        self.parts.append(("", {}, ""))

    def handle_data(self, data: str) -> None:
        tag, told, text = self.parts[-1] if self.parts else ("", {}, "")
        if not tag:
            return
        self.parts[-1] = (tag, told, text + data)


def read(page: str) -> Reader:
    """The page, read to its end."""
    reader = Reader()
    reader.feed(page)
    reader.close()
    return reader


def test_the_file_is_whole_and_loads_nothing(all_data):
    page = html(all_data)
    reader = read(page)
    assert (reader.open, reader.bad) == ([], [])
    assert not re.search(r"\beval\(|new Function|innerHTML|insertAdjacentHTML|document\.write|\bfetch\(|XMLHttpRequest|\bimport\(", "".join(part[2] for part in reader.parts if part[1].get("id") != "data"))
    for tag, directive in (("style", "style-src"), ("script", "script-src")):
        (text,) = [part[2] for part in reader.parts if part[0] == tag and "type" not in part[1]]
        digest = base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()
        assert f"{directive} 'sha256-{digest}'" in reader.policy
    assert reader.policy.startswith("default-src 'none';")


def test_what_a_program_says_is_text_alone(all_data):
    page = html(all_data)
    assert page.count("</script>") == 2 and page.count("<script") == 2
    assert any("<script>window.hurt = 3" in line for line in all_data["lines"])
    assert any("<img src=x onerror" in line for file in all_data["files"] for part in file["parts"] for line in part["lines"])
    assert "window.hurt = 3" in page and "<script>window.hurt" not in page
    strange = {**all_data, "title": "\ud800 ${data} $style \u2028 \\u003c </SCRIPT> ]]>"}
    again = html(strange).encode("utf-8")  # a lone surrogate is no text of UTF-8
    reader = read(again.decode())
    (text,) = [part[2] for part in reader.parts if part[1].get("id") == "data"]
    assert json.loads(text)["title"] == strange["title"]


def test_a_file_that_cannot_be_written_is_an_error(tmp_path):
    (tmp_path / "file").write_text("")
    with pytest.raises(LectError, match="the report cannot be written to"):
        lect.explain(spread)(torch.randn(2, 3)).report(tmp_path / "file" / "report.html")
    assert list(tmp_path.iterdir()) == [tmp_path / "file"]


@pytest.mark.slow
def test_the_report_of_a_gpt_is_small(tmp_path):
    model, inputs = gpt(12)
    path: Path = lect.explain(model)(**inputs).report(tmp_path / "gpt.html")
    data = data_in(path)
    assert [made["backward"] for made in data["compiles"]] == [False, True]
    assert path.stat().st_size < 10e6
