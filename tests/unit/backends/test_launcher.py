"""The native launcher runs every program exactly once, whatever the grid, grain and number of threads."""

import ctypes

import pytest
import torch

from lect.backends.llvm.jit import compile_object, load_object
from lect.backends.llvm.launcher import make_launcher
from lect.runtime.openmp import openmp_libraries

COUNTING_KERNEL = """
define void @count(ptr %args, i64 %lo, i64 %hi) {
entry:
  %out = load ptr, ptr %args
  %any = icmp slt i64 %lo, %hi
  br i1 %any, label %loop, label %done
loop:
  %i = phi i64 [ %lo, %entry ], [ %next, %loop ]
  %at = getelementptr i32, ptr %out, i64 %i
  %old = load i32, ptr %at
  %new = add i32 %old, 1
  store i32 %new, ptr %at
  %next = add i64 %i, 1
  %more = icmp slt i64 %next, %hi
  br i1 %more, label %loop, label %done
done:
  ret void
}
"""


@pytest.fixture(scope="module")
def kernel():
    return load_object(compile_object(COUNTING_KERNEL))


@pytest.mark.parametrize("libraries", [(), openmp_libraries()], ids=["serial", "openmp"])
@pytest.mark.parametrize("threads", [1, 2, 3])
def test_each_program_runs_once(kernel, libraries, threads):
    launch = make_launcher(libraries)
    before = torch.get_num_threads()
    torch.set_num_threads(threads)
    try:
        for grid in (0, 1, 2, 3, 7, 64, 1000):
            for grain in (1, 2, 5, 64, 10_000):
                counts = torch.zeros(grid + 1, dtype=torch.int32)
                launch(kernel.address("count"), (ctypes.c_void_p * 1)(counts.data_ptr()), grid, grain)
                assert counts.tolist() == [1] * grid + [0], (grid, grain)
    finally:
        torch.set_num_threads(before)


def test_torch_has_an_openmp_library():
    assert openmp_libraries(), "torch's own OpenMP library was not found; kernels would run on one thread"
