"""lect tune: drafts that compiles would take, pins, lists, and what is refused."""

import pytest

from lect.dialects.tuning.ops import RecordOp
from lect.runtime.store import Entry, Store
from lect.runtime.tuning_records import LEVEL, TuningStore, key_of, parse_records, record_text
from lect.tools.lect_tune import main

KERNEL = "ab" * 32
PROGRAM = """
import torch

def f(x, w, b):
    return torch.relu(torch.addmm(b, x, w)) ** 2, torch.softmax(x.float(), -1)

def inputs():
    half = lambda *shape: torch.randn(*shape, dtype=torch.bfloat16)
    return half(4096, 128), half(128, 256), half(256)

def nothing():
    return 5

def nothing_inputs():
    return ()
"""


def record(**choices):
    return RecordOp.create((), (), {"sym_name": "softmax", "kernel": KERNEL, "device": "NVIDIA H200", "choices": choices})


@pytest.fixture
def tune(tmp_path, monkeypatch, capsys):
    """The command in a folder with a program and a cache of its own: status, output, errors."""
    monkeypatch.setenv("LECT_CACHE_DIR", str(tmp_path / "cache"))
    monkeypatch.chdir(tmp_path)
    (tmp_path / "f.py").write_text(PROGRAM)

    def run(*words):
        status = main(words)
        out, err = capsys.readouterr()
        return status, out, err

    return run


def test_a_draft_has_each_choice_of_the_estimates(tune):
    status, out, _ = tune("draft", "f.py:f", "--target", "cuda:sm_90")
    assert status == 0
    records = parse_records(out, "draft")
    assert {name for each in records for name in each.choices} == {"product", "tiles"}
    assert {each.device for each in records} == {"NVIDIA H200"}
    assert "// loop.func @kernel(" in out


def test_a_draft_for_this_machine(tune):
    status, out, _ = tune("draft", "f.py:f")
    assert status == 0
    assert all("threads" in each.device for each in parse_records(out, "draft"))


def test_records_are_pinned_listed_shown_and_removed(tune, tmp_path):
    (tmp_path / "mine.tuning").write_text(record_text(record(warps=4)))
    TuningStore(Store(tmp_path / "cache"), pytest.fail).keep(record(warps=2), "the kernel\nof two lines")
    assert tune("pin", "mine.tuning") == (0, f"wrote 1 records to {tmp_path / 'cache'}\n", "")
    assert "abababababab NVIDIA H200                 by hand  @softmax: warps = 4\n" in tune("ls")[1]
    assert tune("show", "abab")[1] == "// the kernel\n// of two lines\n" + record_text(record(warps=4))
    assert tune("show")[1] == tune("show", "abab")[1]
    assert tune("rm", "abab")[1] == "removed 1 records\n"
    assert tune("ls")[1].startswith("0 records in")


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("pin", "junk.tuning"), "junk.tuning:3:1: error: the choice 'warps' is"),
        (("pin", "none.tuning"), "none.tuning cannot be read"),
        (("show", "ffff"), "no record is of a kernel 'ffff'"),
        (("show",), "there are no records in"),
        (("rm", "ffff"), "no record is of a kernel 'ffff'"),
        (("draft", "f.py:g"), "g"),
        (("draft", "none.mlir"), "cannot read 'none.mlir'"),
        (("draft", "f.py:nothing"), "no function of torch is called on a tensor"),
    ],
)
def test_what_is_refused(tune, tmp_path, words, message):
    (tmp_path / "junk.tuning").write_text("\n\n" + record_text(record(warps=5)))
    status, out, err = tune(*words)
    assert (status, out) == (1, "")
    assert message in err
    assert not (tmp_path / "cache").exists()


def test_a_record_that_cannot_be_read_is_told(tune, tmp_path):
    Store(tmp_path / "cache").put(Entry(LEVEL, key_of("NVIDIA H200", KERNEL), {"record.mlir": b"junk"}))
    status, out, err = tune("ls")
    assert status == 1
    assert out.startswith("0 records in")
    assert "cannot be read" in err
