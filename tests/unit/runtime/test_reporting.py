"""Events as lines, as JSON, and as a line that moves."""

import io
import json
import subprocess
import sys
from dataclasses import fields
from pathlib import Path

import pytest

from lect.ir import LectError
from lect.runtime.events import CacheLookup, Compile, Event, EventLog, GuardMiss, Passes, StageBegins
from lect.runtime.frame_hook import HookRefused
from lect.runtime.reporting import GROUPS, Progress, as_json, kinds_of, write_json, write_text


def all_kinds():
    """Every class of event that has a kind of its own, by that kind."""
    found = [Event]
    assert HookRefused in Event.__subclasses__()  # of another module
    for cls in found:
        found += cls.__subclasses__()
    return {cls.kind: cls for cls in found if cls.kind != "event"}


def test_every_kind_belongs_to_a_group_and_to_the_page():
    named = {kind for group in GROUPS.values() for kind in group}
    assert named == all_kinds().keys() - {"stage"}
    page = (Path(__file__).parents[3] / "docs/events.md").read_text()
    for kind, cls in all_kinds().items():
        assert f"`{kind}`" in page and cls.__name__ in page, kind
    for group in GROUPS:
        assert f"`{group}`" in page, group


@pytest.mark.parametrize(
    ("text", "kinds"),
    [
        ("", set()),
        ("0", set()),
        ("guards", {"guard miss", "recompile", "static sizes"}),
        ("guard-miss, cache", {"guard miss", "cache", "cache problem"}),
        ("1", {kind for group in GROUPS.values() for kind in group}),
        ("events,guards", {kind for group in GROUPS.values() for kind in group}),
    ],
)
def test_names_in_the_environment(text, kinds):
    assert kinds_of(text) == kinds


def test_other_names_are_refused_with_those_that_exist():
    with pytest.raises(LectError, match="got 'guardz'") as found:
        kinds_of("cache,guardz")
    assert "guard-miss" in found.value.hint and "breaks" in found.value.hint


def test_lines_of_the_kinds_that_were_asked_for():
    log, stream = EventLog(), io.StringIO()
    write_text(log, kinds_of("cache"), stream)
    log.add(CacheLookup("f", "graph", "0123456789abcdef", True, 0.002))
    log.add(Compile("f", 0, (("aot", 0.001),)))
    assert stream.getvalue() == "lect: cache f: hit of graph/0123456789ab in 2.0 ms\n"


def test_json_has_all_fields(tmp_path):
    log = EventLog()
    write_json(log, kinds_of("1"), tmp_path / "events.jsonl")
    told = [GuardMiss("f", 1, "tensor", 'L["x"]', "f32", "f64", "a.py:3"), Passes("f", "loop", (("loop-realize", 0.5),))]
    for event in told:
        log.add(event)
    log.tell(StageBegins("f", "aot"))
    lines = [json.loads(line) for line in (tmp_path / "events.jsonl").read_text().splitlines()]
    assert [line["kind"] for line in lines] == ["guard miss", "passes"]
    for line, event in zip(lines, told):
        assert set(line) == {"kind", "text", *(field.name for field in fields(event))}
        assert line["function"] == "f" and line["time"] == event.time and line["text"] == event.text()
    assert lines[1]["steps"] == [["loop-realize", 0.5]]


def test_json_holds_what_json_cannot():
    assert json.loads(as_json(Compile("f", 0, (("aot", float("1")),), through_torch='"quoted"\n')))["through_torch"] == '"quoted"\n'


def test_a_file_that_cannot_be_written_is_an_error_with_its_name(tmp_path):
    with pytest.raises(LectError, match="cannot be written"):
        write_json(EventLog(), kinds_of("1"), tmp_path / "nowhere" / "events.jsonl")


def test_stages_are_told_and_not_kept():
    log, heard = EventLog(), []
    log.listen(heard.append)
    log.tell(StageBegins("f", "aot"))
    assert log.events() == [] and [event.stage for event in heard] == ["aot"]


class Line:
    """A console with one status line, which takes down what happens to it."""

    def __init__(self):
        self.seen = []

    def status(self, text):
        self.seen.append(text)
        return self

    def start(self):
        self.seen.append("start")

    def update(self, text):
        self.seen.append(text)

    def stop(self):
        self.seen.append("stop")


def test_the_moving_line_comes_behind_the_capture_and_goes_at_the_end():
    line = Line()
    progress = Progress(lambda: line)
    for stage in ("capture", ""):
        progress(StageBegins("f", stage))
    assert line.seen == []
    for stage in ("capture", "aot", "emit", ""):
        progress(StageBegins("g", stage))
    progress(Compile("g", 0, ()))
    assert line.seen == ["lect: g: aot", "start", "lect: g: emit", "stop"]


@pytest.mark.slow
def test_a_process_writes_what_its_environment_asks_for(tmp_path):
    program = "import lect, torch\nf = lect.compile(lambda x: x + 1)\nf(torch.ones(3))\nf(torch.ones(4))\n"
    path = tmp_path / "events.jsonl"
    environment = {"PYTHONPATH": ":".join(sys.path), "LECT_LOG": "guards", "LECT_LOG_JSON": str(path), "LECT_PROGRESS": "1", "LECT_CACHE": "0"}
    done = subprocess.run([sys.executable, "-c", program], env=environment, capture_output=True, text=True, check=True)
    assert "lect: guard miss" in done.stderr and "lect: recompile" in done.stderr and "lect: compile" not in done.stderr
    assert {json.loads(line)["kind"] for line in path.read_text().splitlines()} == {"guard miss", "recompile"}


