"""Recording on a GPU: torch captures, which also keeps its random numbers right, and the driver patches addresses of kernels.

Each recording has a private pool of torch's allocator, which nothing else allocates from while the recording lives.  The workspaces of cuBLAS are let go before
and after a capture, so that each recording has one in its own pool and two recordings never share one.
"""

from __future__ import annotations

import gc
import threading
import time
from collections.abc import Callable, Hashable, Sequence
from contextlib import suppress
from functools import cache
from typing import Any

import torch

from lect.backends.triton.driver import DriverError
from lect.backends.triton.graph_nodes import Place, kernel_places, node_count, set_address
from lect.runtime.graphs.device import CaptureError
from lect.runtime.graphs.library_state import library_state
from lect.runtime.graphs.memory import span, without_bases

START = torch._C._CUDAGraph.replay if hasattr(torch._C, "_CUDAGraph") else torch.cuda.CUDAGraph.replay  # without a step in Python


UNUSED = 64 << 20  # bytes that torch's allocator may keep unused when memory for a recording is asked for


class CudaDevice:
    """A GPU; captures run one after the other on a stream of its own."""

    def __init__(self, number: int) -> None:
        self.number = number
        self.lock = threading.Lock()
        self.side: Any = None

    def stream(self) -> int:
        """The current stream."""
        return torch._C._cuda_getCurrentRawStream(self.number)  # type: ignore[attr-defined,no-any-return]

    def busy(self) -> bool:
        """Whether the program itself captures on the current stream."""
        return torch._C._cuda_isCurrentStreamCapturing()  # type: ignore[no-any-return]

    def library_state(self) -> Hashable:
        """Precisions, libraries, and whether they are deterministic."""
        return library_state()

    def now(self) -> float:
        """The clock of the host, in microseconds."""
        return time.perf_counter() * 1e6

    def mark(self) -> Any:
        """An event that takes the time."""
        mark = torch.cuda.Event(enable_timing=True)
        mark.record(torch.cuda.current_stream(self.number))
        return mark

    def reached(self, mark: Any) -> bool:
        """Whether the event has happened."""
        return mark.query()  # type: ignore[no-any-return]

    def between(self, first: Any, second: Any) -> float:
        """Microseconds between two events that have happened."""
        return first.elapsed_time(second) * 1e3  # type: ignore[no-any-return]

    def let_go(self) -> None:
        """Give the memory of dropped recordings back, once their replays are done, and not while one is made."""
        with self.lock:
            torch.cuda.empty_cache()

    def room(self) -> int:
        """What is free on the device, and what torch's allocator has beyond the most that tensors took."""
        free, _ = torch.cuda.mem_get_info(self.number)
        return free + torch.cuda.memory_reserved(self.number) - self.peak()

    def peak(self) -> int:
        """The most bytes that tensors have taken."""
        return torch.cuda.max_memory_allocated(self.number)

    def capture(self, run: Callable[..., list[Any]], arguments: Sequence[Any], written: frozenset[int], launched: frozenset[int]) -> CudaRecording:
        """Capture `run(*arguments)`.  Raises `CaptureError`; then nothing has run."""
        with self.lock:
            if self.side is None:
                self.side = torch.cuda.Stream(self.number)
            if torch.cuda.memory_reserved(self.number) - torch.cuda.memory_allocated(self.number) > UNUSED:
                torch.cuda.empty_cache()  # what earlier calls took without a recording, and nobody will take again
            before = torch.cuda.memory_reserved(self.number)
            collects = gc.isenabled()
            gc.disable()  # what it frees could be another graph, which must not be freed while one is captured
            try:
                graph, results = self._captured(run, arguments)
            except Exception as error:
                raise CaptureError(f"{type(error).__name__}: {' '.join(str(error).split())[:300]}") from error
            finally:
                torch._C._cuda_clearCublasWorkspaces()
                if collects:
                    gc.enable()
            try:
                graph.instantiate()
                handles = graph.raw_cuda_graph(), graph.raw_cuda_graph_exec()
                spans = {number: span_of(arguments[number]) for number in launched}
                places = kernel_places(handles[0], spans)
            except (RuntimeError, AttributeError, DriverError) as error:
                raise CaptureError(f"{type(error).__name__}: {error}") from error
            return CudaRecording(graph, handles, results, places, max(0, torch.cuda.memory_reserved(self.number) - before))

    def _captured(self, run: Callable[..., list[Any]], arguments: Sequence[Any]) -> tuple[Any, list[Any]]:
        torch._C._cuda_clearCublasWorkspaces()
        graph = torch.cuda.CUDAGraph(keep_graph=True)
        with torch.cuda.stream(self.side):
            graph.capture_begin(capture_error_mode="thread_local")
            try:
                results = without_bases(run(*arguments))
            except BaseException:
                with suppress(RuntimeError):
                    graph.capture_end()
                raise
            graph.capture_end()
        return graph, results


class CudaRecording:
    """A captured graph, what it gave, and where in its kernels the addresses of arguments stand."""

    def __init__(self, graph: Any, handles: tuple[int, int], results: list[Any], places: dict[int, list[Place]], bytes: int) -> None:
        self.graph = graph
        self.handles = handles
        self.results = results
        self.places = places
        self.bytes = bytes
        self.nodes = node_count(handles[0])

    def replay(self) -> None:
        """Start the graph on the current stream."""
        START(self.graph)

    def patchable(self, number: int) -> int | None:
        """The number of kernels that read an argument; None where that is not known."""
        found = self.places.get(number)
        return len(found) if found is not None else None

    def patch(self, number: int, address: int) -> None:
        """Give these kernels another address.  Replays that run already keep the old one."""
        for place in self.places[number]:
            set_address(self.handles[1], place, address)


def span_of(tensor: torch.Tensor) -> tuple[int, int]:
    """The addresses of the first byte of a tensor and behind its last."""
    return tensor.data_ptr(), tensor.data_ptr() + span(tensor) * tensor.element_size()


@cache
def cuda_device(number: int) -> CudaDevice:
    """The device with this number."""
    return CudaDevice(number)
