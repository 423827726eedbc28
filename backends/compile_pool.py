"""The threads of this process that compile kernels, shared by all compiles.

    for kernel, seconds in compile_pool().each(compile_one, kernels):   # as they are done
        ...

Threads pay where a code generator works without the interpreter's lock: Triton, whose MLIR, LLVM and ptxas are most of a compile.  Kernels for the CPU are
one module for a graph, as llvmlite lets one thread of a process into LLVM at a time.  Other processes could share that work; but one that has only loaded
llvmlite has taken 120 ms, of 150 to 750 that LLVM takes for the kernels of a whole model, and a program whose main module has no guard of its own cannot start
any.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor, as_completed
from contextlib import suppress
from functools import cache
from typing import TypeVar

T = TypeVar("T")
R = TypeVar("R")

MOST_THREADS = 16
NAME = "lect-compile"


class CompilePool:
    """Threads that are started when several things are to be compiled at once, and end with the last compile that uses them.

    So none is left when a program forks or ends.  A process that is forked in the middle of a compile has none of the threads, and starts its own.
    """

    def __init__(self, most: int | None = None) -> None:
        """`most` threads at a time, as many as there are processors but no more than `MOST_THREADS` if None."""
        self.most = most or min(os.cpu_count() or 1, MOST_THREADS)
        self._lock = threading.Lock()
        self._threads: ThreadPoolExecutor | None = None
        self._compiles = 0  # that use them
        self._inside = threading.local()  # true in the threads of the pool
        if hasattr(os, "register_at_fork"):
            os.register_at_fork(after_in_child=self._forked)

    def each(self, work: Callable[[T], R], items: Iterable[T]) -> Iterator[R]:
        """What `work` gives for each item, in the order in which they are done.

        The first exception is raised, and what has not begun by then never begins.  Work that itself comes here is done by the thread that it is in, as
        threads that wait for threads of the same pool would wait for ever; and so is what no thread takes any more, as when the interpreter ends.
        """
        given: Sequence[T] = list(items)
        if len(given) < 2 or self.most < 2 or getattr(self._inside, "yes", False):
            for item in given:
                yield work(item)
            return
        threads = self._join()
        waiting: list[Future[R]] = []
        try:
            with suppress(RuntimeError):  # no thread starts any more
                for item in given:
                    waiting.append(threads.submit(work, item))
            for done in as_completed(waiting):
                yield done.result()
            for item in given[len(waiting) :]:
                yield work(item)
        finally:
            for future in waiting:
                future.cancel()
            self._leave(threads)

    def _join(self) -> ThreadPoolExecutor:
        """The threads, for one more compile."""
        with self._lock:
            if self._threads is None:
                self._threads = ThreadPoolExecutor(self.most, NAME, initializer=self._enter)
            self._compiles += 1
            return self._threads

    def _leave(self, threads: ThreadPoolExecutor) -> None:
        """One compile less; the last one lets the threads go."""
        with self._lock:
            if threads is not self._threads:  # those of a process that this one was forked from
                return
            self._compiles -= 1
            if self._compiles == 0:
                self._threads = None
                threads.shutdown(wait=False)

    def _enter(self) -> None:
        self._inside.yes = True

    def _forked(self) -> None:
        """Begin anew in a forked process: a thread that is no more may have held the lock."""
        self._lock = threading.Lock()
        self._threads = None
        self._compiles = 0
        self._inside = threading.local()


@cache
def compile_pool() -> CompilePool:
    """The pool of this process."""
    return CompilePool()
