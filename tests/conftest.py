"""Settings shared by all tests."""

import gc
import hashlib
import importlib.util
import os
import threading

import pytest

# Two threads are enough for every test, and more only disturb tests that run beside them.
os.environ.setdefault("OMP_NUM_THREADS", "2")

# What a test finds must not depend on what earlier runs left on disk: tests of the cache name a folder of their own.  With LECT_TEST_CACHE all tests
# share the folder that it names; run twice, the second run takes its graphs from there.
shared = os.environ.get("LECT_TEST_CACHE")
os.environ.update({"LECT_CACHE": "1", "LECT_CACHE_DIR": shared} if shared else {"LECT_CACHE": "0"})


@pytest.fixture(scope="module", autouse=True)
def collections_look_at_this_module():
    """What exists before the tests of a module is no garbage of theirs.  A worker's process comes to hold millions of objects, and a test that collects
    would go through all of them each time."""
    gc.collect()
    gc.freeze()


@pytest.fixture(scope="session", autouse=True)
def machine_code_is_made_once(tmp_path_factory):
    """Tests compile the same kernels again and again, with either trigger, and LLVM would take half of their time.  What it made of a text is kept for
    this run of the tests, where its other workers find it, too."""
    if importlib.util.find_spec("llvmlite") is None:  # the frame hook is tested by Pythons that have nothing else
        yield
        return
    from lect.backends.llvm import loaded

    make, own = loaded.compile_object, tmp_path_factory.getbasetemp()
    folder = (own.parent if "PYTEST_XDIST_WORKER" in os.environ else own) / "machine-code"
    folder.mkdir(exist_ok=True)

    def compile_object(text: str, *arguments: object, **options: object) -> bytes:
        made_for = (loaded.host_fingerprint(), arguments, options)
        path = folder / hashlib.sha256(f"{made_for}\n{text}".encode()).hexdigest()
        try:
            return path.read_bytes()
        except FileNotFoundError:
            code = make(text, *arguments, **options)
        written = path.with_suffix(f".{os.getpid()}.{threading.get_ident()}")
        written.write_bytes(code)
        written.rename(path)
        return code

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(loaded, "compile_object", compile_object)
        yield


@pytest.fixture(scope="session", autouse=True)
def seeds_are_for_devices_that_are_there():
    """`torch.manual_seed` writes down where it was called, for each kind of device that may come to be used: a millisecond, as the stack of a test is deep."""
    if importlib.util.find_spec("torch") is None:
        yield
        return
    import torch

    kinds = {torch.cuda: torch.cuda.random, torch.xpu: torch.xpu.random, torch.mtia: torch.mtia}
    with pytest.MonkeyPatch.context() as patch:
        for kind, place in kinds.items():
            if not kind.is_available():
                patch.setattr(place, "_lazy_call", lambda seed, **_: None)
        yield
