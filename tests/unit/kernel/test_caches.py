"""The sizes of caches as Linux describes them."""

from lect.backends.llvm import cpu_target
from lect.backends.llvm.caches import from_folder


def describe(folder, number, level, kind, size):
    place = folder / f"index{number}"
    place.mkdir()
    for name, text in (("level", level), ("type", kind), ("size", size)):
        (place / name).write_text(text + "\n")


def test_data_and_unified_caches_count(tmp_path):
    describe(tmp_path, 0, "1", "Data", "48K")
    describe(tmp_path, 1, "1", "Instruction", "32K")
    describe(tmp_path, 2, "2", "Unified", "2048K")
    describe(tmp_path, 3, "3", "Unified", "1G")
    assert from_folder(tmp_path) == {"l1_bytes": 48 << 10, "l2_bytes": 2 << 20, "l3_bytes": 1 << 30}


def test_what_cannot_be_read_is_left_out(tmp_path):
    (tmp_path / "index0").mkdir()
    describe(tmp_path, 1, "2", "Unified", "")
    describe(tmp_path, 2, "4", "Unified", "64M")
    assert from_folder(tmp_path) == {}
    assert from_folder(tmp_path / "missing") == {}


def test_this_machine_has_caches():
    target = cpu_target()
    assert 0 < target["l1_bytes"] <= target["l2_bytes"]
    assert target["l3_bytes"] > 0
