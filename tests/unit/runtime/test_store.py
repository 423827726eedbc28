"""The store on disk: what was written comes back, or nothing does."""

import os
import random
import resource
import signal
import stat
import subprocess
import sys
import time
import zipfile
from pathlib import Path

import pytest

from lect.ir import LectError
from lect.runtime.cache_commands import Cache
from lect.runtime.store import ABANDONED, Damaged, Entry, Store, why


@pytest.fixture
def told():
    return []


@pytest.fixture
def store(tmp_path, told):
    return Store(tmp_path / "cache", report=told.append)


def entry(key="a key\nof two lines", data=b"\0\1\2" * 100, level="graph"):
    return Entry(level, key, {"code.o": data, "facts.json": b'{"object": null}'})


def path_of(store, kept):
    return store.root / kept.level / kept.digest[:2] / f"{kept.digest}.zip"


def test_what_was_put_is_found_again(store, told):
    assert store.get("graph", entry().digest) is None
    assert store.put(entry())
    assert store.get("graph", entry().digest) == entry()
    assert store.get("kernel", entry().digest) is None
    assert store.get("graph", entry().digest).facts() == {"object": None}
    assert told == []


def test_an_entry_is_a_plain_archive_that_its_owner_alone_reads(store):
    store.put(entry())
    path = path_of(store, entry())
    assert zipfile.ZipFile(path).read("key.txt") == b"a key\nof two lines"
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert stat.S_IMODE(store.root.stat().st_mode) == 0o700


def test_looking_makes_no_folder(store):
    assert store.get("graph", entry().digest) is None
    assert list(store.entries()) == [] and store.collect() == 0
    assert not store.root.exists()


def test_no_flipped_bit_gives_other_contents(store):
    store.put(entry())
    path = path_of(store, entry())
    whole = path.read_bytes()
    generator = random.Random(0)
    absent = 0
    for _ in range(300):
        flipped = bytearray(whole)
        flipped[generator.randrange(len(whole))] ^= 1 << generator.randrange(8)
        path.write_bytes(flipped)
        found = store.get("graph", entry().digest)
        absent += found is None
        assert found is None or found == entry()  # a bit of a time in the archive says nothing
    assert absent > 150


@pytest.mark.parametrize("length", [0, 1, 50, -1])
def test_a_shortened_entry_is_removed_with_a_reason(store, told, length):
    store.put(entry())
    path = path_of(store, entry())
    path.write_bytes(path.read_bytes()[:length])
    assert store.get("graph", entry().digest) is None
    assert not path.exists()
    assert len(told) == 1 and "damaged" in told[0]


def test_an_entry_under_the_name_of_another_is_removed(store, told):
    store.put(entry())
    other = entry("another key")
    path_of(store, other).parent.mkdir(parents=True, exist_ok=True)
    path_of(store, entry()).rename(path_of(store, other))
    assert store.get("graph", other.digest) is None
    assert "under the name of another" in told[0]


def test_an_archive_that_unpacks_to_too_much_is_damaged(monkeypatch):
    packed = entry(data=b"\0" * 100_000).pack()
    assert len(packed) < 5_000
    monkeypatch.setattr("lect.runtime.store.LARGEST", 50_000)
    with pytest.raises(Damaged, match="too large"):
        Entry.unpack(packed)


def test_least_recently_used_entries_go_first(store):
    kept = [entry(f"key {number}", os.urandom(10_000)) for number in range(10)]
    for number, each in enumerate(kept):
        store.put(each)
        os.utime(path_of(store, each), (number, number))
    store.get("graph", kept[0].digest)
    store.get("graph", kept[1].digest, use=False)
    size = path_of(store, kept[0]).stat().st_size
    removed = store.collect(limit=4 * size + 100)
    assert removed >= 5 * size
    assert [number for number, each in enumerate(kept) if store.get("graph", each.digest)] == [0, 7, 8, 9]


def test_a_store_stays_within_its_limit(tmp_path):
    store = Store(tmp_path, limit=100_000)
    for number in range(60):
        assert store.put(entry(f"key {number}", os.urandom(5_000)))
        os.utime(path_of(store, entry(f"key {number}")), (number, number))
    assert sum(each.size for each in store.entries()) <= 100_000 * 17 // 16
    assert store.get("graph", entry("key 59").digest) is not None
    assert not store.put(entry("large", os.urandom(200_000)))


def test_what_nobody_finished_is_cleared_away_when_it_is_old(store):
    store.put(entry())
    folder = path_of(store, entry()).parent
    old, new = folder / ".new-old", folder / ".new-new"
    for path in (old, new):
        path.write_bytes(b"half")
    os.utime(old, (time.time() - ABANDONED - 10,) * 2)
    store.collect()
    assert not old.exists() and new.exists()


# ---- disks and other users -------------------------------------------------------------------------------------------


def test_a_folder_that_cannot_be_made_is_told_once(tmp_path, told):
    (tmp_path / "file").write_text("not a folder")
    store = Store(tmp_path / "file" / "cache", report=told.append)
    assert not store.put(entry()) and not store.put(entry("b"))
    assert store.get("graph", entry().digest) is None
    assert len(told) == 1 and "no cache in" in told[0]


def test_a_folder_that_others_may_write_to_is_not_used(store, told):
    store.put(entry())
    store.root.chmod(0o777)
    again = Store(store.root, report=told.append)
    assert again.get("graph", entry().digest) is None and not again.put(entry("b"))
    assert len(told) == 1 and "others than this user" in told[0]


@pytest.mark.skipif(os.geteuid() != 0, reason="only root gives folders away")
def test_a_folder_of_another_user_is_not_used(store, told):
    store.put(entry())
    os.chown(store.root, 12345, 12345)
    again = Store(store.root, report=told.append)
    assert again.get("graph", entry().digest) is None and not again.put(entry("b"))
    assert len(told) == 1


def test_a_read_only_store_is_read(tmp_path, told, monkeypatch):
    Store(tmp_path).put(entry())

    def refuse(*args, **kwargs):
        raise PermissionError(30, "Read-only file system")

    monkeypatch.setattr("lect.runtime.store.tempfile.mkstemp", refuse)
    monkeypatch.setattr("lect.runtime.store.os.utime", refuse)
    store = Store(tmp_path, report=told.append)
    assert store.get("graph", entry().digest) == entry()
    assert not store.put(entry("b")) and not store.put(entry("c"))
    assert len(told) == 1 and "Read-only" in told[0]


def test_a_full_disk_leaves_nothing_half_written(tmp_path, told):
    store = Store(tmp_path, report=told.append)
    assert store.put(entry())
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    ignored = signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    resource.setrlimit(resource.RLIMIT_FSIZE, (2_000, before[1]))  # a write beyond it fails like one on a full disk
    try:
        assert not store.put(entry("large", os.urandom(20_000)))
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)
        signal.signal(signal.SIGXFSZ, ignored)
    assert len(told) == 1 and "nothing is written" in told[0]
    assert [path.name for path in tmp_path.rglob("*") if path.is_file()] == [f"{entry().digest}.zip"]
    assert store.get("graph", entry().digest) == entry()


@pytest.mark.skipif(os.geteuid() != 0, reason="only root mounts a small disk")
def test_a_small_disk_that_fills_up(tmp_path, told):
    if subprocess.run(["mount", "-t", "tmpfs", "-o", "size=200k", "tmpfs", str(tmp_path)], capture_output=True, check=False).returncode:
        pytest.skip("no file system can be mounted here")
    try:
        store = Store(tmp_path / "cache", report=told.append)
        written = [number for number in range(40) if store.put(entry(f"key {number}", os.urandom(20_000)))]
        assert 0 < len(written) < 10 and len(told) == 1
        assert all(store.get("graph", entry(f"key {number}").digest) for number in written)
        assert sum(1 for _ in store.entries()) == len(written)
    finally:
        subprocess.run(["umount", str(tmp_path)], check=True)


# ---- several processes -----------------------------------------------------------------------------------------------

WRITER = """
import hashlib, sys
from pathlib import Path
from lect.runtime.store import Entry, Store
store, seed = Store(Path(sys.argv[1])), int(sys.argv[2])
print("writing", flush=True)
number = 0
while number < int(sys.argv[3]):
    key = f"key {(number * 7 + seed) % 20}"
    data = hashlib.sha256(key.encode()).digest() * 5000
    store.put(Entry("kernel", key, {"code.o": data}))
    found = store.get("kernel", Entry("kernel", f"key {number % 20}", {}).digest)
    assert found is None or found.parts["code.o"] == hashlib.sha256(found.key.encode()).digest() * 5000
    number += 1
"""


def start_writer(folder, seed, count):
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    return subprocess.Popen([sys.executable, "-c", WRITER, str(folder), str(seed), str(count)], env=environment, stdout=subprocess.PIPE, text=True)


def check_all(folder, told):
    """Every file of the store is whole."""
    store = Store(folder, report=told.append)
    found = [store.get(each.level, each.digest) for each in store.entries()]
    assert all(found) and told == []
    return len(found)


def test_a_writer_that_is_killed_leaves_whole_entries(tmp_path, told):
    for round in range(4):
        writer = start_writer(tmp_path, round, 10**9)
        assert writer.stdout.readline() == "writing\n"
        time.sleep(0.05 + 0.03 * round)
        writer.send_signal(signal.SIGKILL)
        writer.wait()
        writer.stdout.close()
        check_all(tmp_path, told)
    assert check_all(tmp_path, told) > 0


def test_processes_write_the_same_entries_at_once(tmp_path, told):
    writers = [start_writer(tmp_path, seed, 60) for seed in range(2)]
    for writer in writers:
        writer.communicate()
        assert writer.returncode == 0
    assert check_all(tmp_path, told) == 20
    assert not list(tmp_path.rglob(".new-*"))


# ---- moving and comparing --------------------------------------------------------------------------------------------


def test_an_export_is_taken_over_elsewhere(store, tmp_path):
    kept = [entry("a"), entry("b", level="kernel"), entry("c", level="tuning")]
    for each in kept:
        store.put(each)
    assert store.export(tmp_path / "all.zip") == 3
    other = Store(tmp_path / "elsewhere")
    assert other.load(tmp_path / "all.zip") == 3
    assert [other.get(each.level, each.digest) for each in kept] == kept


def test_a_damaged_export_is_refused_as_a_whole(store, tmp_path):
    store.put(entry("a"))
    store.export(tmp_path / "all.zip")
    with zipfile.ZipFile(tmp_path / "all.zip", "a") as archive:
        archive.writestr(f"graph/{entry('b').digest}.zip", entry("c").pack())
    other = Store(tmp_path / "elsewhere")
    with pytest.raises(LectError, match="holds another entry"):
        other.load(tmp_path / "all.zip")
    assert list(other.entries()) == []


@pytest.mark.parametrize("name", ["../../evil.zip", "/etc/evil.zip", "graph/../kernel/x.zip", "other/" + "0" * 64 + ".zip"])
def test_names_that_lead_out_of_the_store_are_refused(tmp_path, name):
    with zipfile.ZipFile(tmp_path / "all.zip", "w") as archive:
        archive.writestr(name, entry().pack())
    with pytest.raises(LectError, match="is no entry"):
        Store(tmp_path / "cache").load(tmp_path / "all.zip")
    assert not (tmp_path / "cache").exists()


def test_a_file_that_is_no_export_is_refused(tmp_path):
    (tmp_path / "all.zip").write_bytes(b"no archive")
    with pytest.raises(LectError, match="is no export of a cache"):
        Store(tmp_path / "cache").load(tmp_path / "all.zip")


def test_why_shows_the_lines_that_differ():
    text = why(entry("torch 2.12\noption a\ngraph"), entry("torch 2.13\noption a\ngraph"))
    assert [line for line in text.splitlines() if line[:1] in "+-" and line[:3] not in ("+++", "---")] == ["-torch 2.12", "+torch 2.13"]
    assert why(entry(), entry()) == ""


def test_the_cache_of_the_environment(tmp_path):
    Store(tmp_path / "named").put(entry("graph a"))
    cache = Cache({"LECT_CACHE_DIR": str(tmp_path / "named")})
    (found,) = cache.ls()
    assert found.digest == entry("graph a").digest
    assert cache.show(found.digest[:8]).key == "graph a"
    with pytest.raises(LectError, match="0 entries"):
        cache.show("0" * 64)
    assert cache.gc() > 0 and cache.ls() == []
    assert Cache({"XDG_CACHE_HOME": "/somewhere"}).folder == Path("/somewhere/lect")
