"""Records of tuning: text that is read back, files that are refused by name and line, a store, and what a compile takes from them."""

import pytest
import torch

import lect
from lect.backends.llvm import cpu_target
from lect.dialects.kernel.attributes import TilesAttr
from lect.dialects.tuning.ops import RecordOp
from lect.ir import LectError
from lect.passes.targets import device_of
from lect.runtime.entry import RUNTIME
from lect.runtime.store import Entry, Store
from lect.runtime.tuning_records import LEVEL, TuningStore, key_of, parse_records, read_records, record_text

KERNEL = "ab" * 32
ROWS = TilesAttr("row", [("R", 1, 8, "loop")], "R")


def record(kernel=KERNEL, device="NVIDIA H200", measured=(), **choices):
    return RecordOp.create((), (), {"sym_name": "softmax", "kernel": kernel, "device": device, "choices": choices, "measured": tuple(measured)})


@pytest.fixture
def kept(tmp_path, monkeypatch):
    """A store of its own for the records of all compiles; what it reports."""
    problems = []
    monkeypatch.setattr(RUNTIME.log, "tuning", TuningStore(Store(tmp_path / "store"), problems.append))
    lect.reset()
    return RUNTIME.log.tuning, problems


def test_a_record_is_text_that_is_read_back():
    made = record(tiles=ROWS, warps=4, measured=[({"warps": 8}, 12.5), ({"tiles": ROWS}, 3.25)])
    text = record_text(made)
    (found,) = parse_records(text, "a.tuning")
    assert found.attrs == made.attrs
    assert record_text(found) == text
    assert "    [{warps = 8}, 12.5],\n" in text


def test_files_are_merged_by_writing_one_behind_the_other():
    text = record_text(record(warps=4)) + record_text(record(device="NVIDIA A100", warps=8))
    assert [each.device for each in parse_records(text, "both")] == ["NVIDIA H200", "NVIDIA A100"]


@pytest.mark.parametrize(
    ("text", "line", "message"),
    [
        ("tuning.record @a {", 1, "expected"),
        ("\n\nloop.func @f() {\n  loop.return()\n}", 3, "'loop.func' is no record of tuning"),
        ("// junk\ntuning.record @a {kernel = 5}", 2, "'kernel'"),
        (f'\ntuning.record @a {{kernel = "{KERNEL}", device = "x", choices = {{warps = 5}}}}', 2, "the choice 'warps' is"),
        (record_text(record(warps=4)) + record_text(record(warps=8)), 6, "another record of the same kernel and device stands at"),
        ("what is this", 1, "expected"),
    ],
)
def test_junk_is_refused_by_file_and_line(tmp_path, text, line, message):
    path = tmp_path / "junk.tuning"
    path.write_text(text)
    with pytest.raises(LectError, match=message) as caught:
        read_records(path)
    assert str(caught.value.loc).startswith(f"{path}:{line}:"), caught.value
    with pytest.raises(LectError, match="junk.tuning"):
        lect.compile(torch.sin, options={"tuning": str(path)})


def test_a_file_that_is_not_there_is_named(tmp_path):
    with pytest.raises(LectError, match="none.tuning cannot be read"):
        lect.compile(torch.sin, options={"tuning": tmp_path / "none.tuning"})
    with pytest.raises(LectError, match="option 'tuning' is the path of a file, got 5"):
        lect.compile(torch.sin, options={"tuning": 5})


def test_a_store_keeps_the_last_record_of_a_kernel(tmp_path):
    store = TuningStore(Store(tmp_path), pytest.fail)
    assert store.is_empty()
    assert store.keep(record(warps=4), "the kernel")
    assert store.keep(record(warps=8))
    assert not store.is_empty()
    assert store.find("NVIDIA H200", KERNEL).choices == {"warps": 8}
    assert store.find("NVIDIA A100", KERNEL) is None
    assert TuningStore(Store(tmp_path), pytest.fail).find("NVIDIA H200", KERNEL).choices == {"warps": 8}


def test_without_a_store_records_are_those_of_the_process():
    store = TuningStore(None, pytest.fail)
    assert not store.keep(record(warps=4))
    assert store.find("NVIDIA H200", KERNEL).choices == {"warps": 4}


@pytest.mark.parametrize("text", ["junk", "", record_text(record(kernel="cd" * 32, warps=4)), record_text(record(warps=4)) * 2])
def test_an_entry_that_holds_no_such_record_is_removed_and_told(tmp_path, text):
    problems, disk = [], Store(tmp_path)
    disk.put(Entry(LEVEL, key_of("NVIDIA H200", KERNEL), {"record.mlir": text.encode()}))
    assert TuningStore(disk, problems.append).find("NVIDIA H200", KERNEL) is None
    assert len(problems) == 1
    assert "removed the record tuning/" in problems[0]
    assert not list(disk.entries())


def test_records_move_with_an_export(tmp_path):
    here, there = Store(tmp_path / "a"), Store(tmp_path / "b")
    TuningStore(here, pytest.fail).keep(record(warps=4))
    here.export(tmp_path / "all.zip")
    assert there.load(tmp_path / "all.zip") == 1
    assert TuningStore(there, pytest.fail).find("NVIDIA H200", KERNEL).choices == {"warps": 4}


# ---- what compiles take ----------------------------------------------------------------------------------------------


def softmax(x):
    return torch.softmax(x * 2, -1)


def compiled_text(monkeypatch, fn, x, **options):
    """The kernel level of a compile, and the names of the kernels that records were looked up for."""
    texts, asked = [], []

    def observe(stage, module):
        if stage == "kernel":
            texts.append("\n".join(map(str, module.body)))

    entry = TuningStore.entry
    monkeypatch.setattr(RUNTIME, "observe", observe)
    monkeypatch.setattr(TuningStore, "entry", lambda self, device, kernel: (asked.append(kernel), entry(self, device, kernel))[1])
    result = lect.compile(fn, options={"cache": False, **options})(x)
    torch.testing.assert_close(result, fn(x))
    assert len(texts) == 1, lect.events("note", "fallback")
    return texts[0], asked


def here():
    """The name of this machine."""
    return device_of({**cpu_target(), "threads": torch.get_num_threads()})


def test_a_record_decides_instead_of_the_estimate(kept, monkeypatch, tmp_path):
    store, problems = kept
    x = torch.randn(16, 1000)
    store.keep(record(device=here(), warps=4))  # of another kernel: what is there is looked up
    plain, asked = compiled_text(monkeypatch, softmax, x)
    assert len(set(asked)) == 1
    assert "#kernel.blocks<R = 8>" not in plain
    store.keep(record(kernel=asked[0], device=here(), tiles=ROWS))
    lect.reset()
    assert "R = 8>" in compiled_text(monkeypatch, softmax, x)[0]
    assert not problems


def test_a_file_goes_before_the_store(kept, monkeypatch, tmp_path):
    store, _ = kept
    x = torch.randn(16, 1000)
    store.keep(record(device=here(), warps=4))
    kernel = compiled_text(monkeypatch, softmax, x)[1][0]
    store.keep(record(kernel=kernel, device=here(), tiles=ROWS))
    path = tmp_path / "mine.tuning"
    path.write_text(record_text(record(kernel=kernel, device=here(), tiles=TilesAttr("row", [("R", 1, 4, "loop")], "R"))))
    lect.reset()
    assert "R = 4>" in compiled_text(monkeypatch, softmax, x, tuning=str(path))[0]


def test_a_record_of_the_store_that_does_not_fit_is_told_and_not_used(kept, monkeypatch):
    store, problems = kept
    x = torch.randn(16, 1000)
    store.keep(record(device=here(), warps=4))
    plain, asked = compiled_text(monkeypatch, softmax, x)
    store.keep(record(kernel=asked[0], device=here(), tiles=TilesAttr("row", [("R", 5, 8, "loop")], "R")))
    lect.reset()
    assert compiled_text(monkeypatch, softmax, x)[0] == plain
    assert len(problems) == 1
    assert "is not used: the tiles of @" in problems[0]


def test_a_record_of_a_file_that_does_not_fit_is_an_error_of_the_call(kept, monkeypatch, tmp_path):
    x = torch.randn(16, 1000)
    kept[0].keep(record(device=here(), warps=4))
    kernel = compiled_text(monkeypatch, softmax, x)[1][0]
    path = tmp_path / "mine.tuning"
    path.write_text("\n" + record_text(record(kernel=kernel, device=here(), tiles=TilesAttr("row", [("R", 5, 8, "loop")], "R"))))
    with pytest.raises(LectError, match="the record @softmax does not fit its kernel") as caught:
        lect.compile(softmax, options={"cache": False, "tuning": str(path)})(x)
    assert str(caught.value.loc).startswith(f"{path}:2:")


def test_a_graph_of_the_cache_is_taken_while_records_say_the_same(kept, monkeypatch, tmp_path):
    from lect.runtime.graph_cache import GraphCache

    store, _ = kept
    monkeypatch.setattr(RUNTIME, "graphs", GraphCache(store.store, RUNTIME.log))
    x = torch.randn(16, 1000)

    def hits():
        lect.reset()
        torch.testing.assert_close(lect.compile(softmax)(x), softmax(x))
        return [event.found for event in lect.events("cache")]

    assert hits() == [False]
    assert hits() == [True]
    store.keep(record(device=here(), warps=4))  # records of other kernels: nothing is known of what was asked for
    assert hits() == [False]
    assert hits() == [True]
    store.keep(record(kernel="cd" * 32, device=here(), warps=4))
    assert hits() == [True]
    kernel = compiled_text(monkeypatch, softmax, x)[1][0]
    store.keep(record(kernel=kernel, device=here(), tiles=ROWS))
    assert hits() == [False]
    assert hits() == [True]


def test_without_records_nothing_is_looked_up(kept, monkeypatch):
    assert compiled_text(monkeypatch, softmax, torch.randn(16, 1000))[1] == []


def test_sizes_that_are_known_at_run_time_have_no_record(kept, monkeypatch):
    kept[0].keep(record(device=here(), warps=4))
    x = torch.randn(16, 1000)
    compiled = lect.compile(softmax, dynamic=True, options={"cache": False})
    asked = []
    entry = TuningStore.entry
    monkeypatch.setattr(TuningStore, "entry", lambda self, device, kernel: (asked.append(kernel), entry(self, device, kernel))[1])
    torch.testing.assert_close(compiled(x), softmax(x))
    assert asked == []
