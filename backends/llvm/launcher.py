"""The native launcher: runs the programs of a kernel's grid, over the threads of torch's own OpenMP when there is enough to do.

A kernel's entry point is `void kernel(ptr args, i64 lo, i64 hi)` and runs the programs lo to hi - 1.  The launcher splits the grid into as
many equal ranges as there are threads, but gives no thread fewer than `grain` programs.  It is one small module, the same for all kernels.
"""

from __future__ import annotations

import ctypes
from collections.abc import Callable, Sequence
from typing import Any

from lect.backends.code_store import CodeStore
from lect.backends.llvm.loaded import stored_object

SYMBOL = "lect_launch"

SERIAL = f"""
define void @{SYMBOL}(ptr %entry, ptr %args, i64 %grid, i64 %grain) {{
  call void %entry(ptr %args, i64 0, i64 %grid)
  ret void
}}
"""

PARALLEL = f"""
declare void @GOMP_parallel(ptr, ptr, i32, i32)
declare i32 @omp_get_thread_num()
declare i32 @omp_get_num_threads()
declare i32 @omp_get_max_threads()
declare i32 @omp_in_parallel()

%job = type {{ ptr, ptr, i64 }}

define internal void @share(ptr %job) {{
  %entry = load ptr, ptr %job
  %args.at = getelementptr %job, ptr %job, i32 0, i32 1
  %args = load ptr, ptr %args.at
  %grid.at = getelementptr %job, ptr %job, i32 0, i32 2
  %grid = load i64, ptr %grid.at
  %me32 = call i32 @omp_get_thread_num()
  %all32 = call i32 @omp_get_num_threads()
  %me = zext i32 %me32 to i64
  %all = zext i32 %all32 to i64
  %start = mul i64 %me, %grid
  %lo = udiv i64 %start, %all
  %stop = add i64 %start, %grid
  %hi = udiv i64 %stop, %all
  %some = icmp ult i64 %lo, %hi
  br i1 %some, label %run, label %done
run:
  call void %entry(ptr %args, i64 %lo, i64 %hi)
  br label %done
done:
  ret void
}}

define void @{SYMBOL}(ptr %entry, ptr %args, i64 %grid, i64 %grain) {{
  %shares = udiv i64 %grid, %grain
  %small = icmp ult i64 %shares, 2
  br i1 %small, label %alone, label %ask
ask:
  %inside = call i32 @omp_in_parallel()
  %nested = icmp ne i32 %inside, 0
  br i1 %nested, label %alone, label %count
count:
  %most32 = call i32 @omp_get_max_threads()
  %most = sext i32 %most32 to i64
  %threads = call i64 @llvm.smin.i64(i64 %most, i64 %shares)
  %single = icmp slt i64 %threads, 2
  br i1 %single, label %alone, label %split
split:
  %job = alloca %job
  store ptr %entry, ptr %job
  %args.at = getelementptr %job, ptr %job, i32 0, i32 1
  store ptr %args, ptr %args.at
  %grid.at = getelementptr %job, ptr %job, i32 0, i32 2
  store i64 %grid, ptr %grid.at
  %threads32 = trunc i64 %threads to i32
  call void @GOMP_parallel(ptr @share, ptr %job, i32 %threads32, i32 0)
  ret void
alone:
  call void %entry(ptr %args, i64 0, i64 %grid)
  ret void
}}
declare i64 @llvm.smin.i64(i64, i64)
"""


def make_launcher(openmp_libraries: Sequence[str] = (), store: CodeStore | None = None) -> Callable[[int, Any, int, int], None]:
    """`launch(address, pointers, grid, grain)` as native code; without an OpenMP library it runs all programs on the calling thread.

    `store` may have its code.  The GIL is released while a kernel runs.
    """
    text = PARALLEL if openmp_libraries else SERIAL
    code = stored_object(text, 1, store, openmp_libraries)
    prototype = ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_void_p, ctypes.c_int64, ctypes.c_int64)
    launch = prototype(code.address(SYMBOL))
    launch.code = code  # type: ignore[attr-defined]  # the address is valid as long as the code is alive
    return launch
