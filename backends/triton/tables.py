"""Tables of addresses in the memory of a device, for kernels that stand for many launches.

A table costs a copy, so the last few are kept.  What was started last is written down for a native host program (`start_group` of
`backends/native_host/rows.py`): while the same addresses come on the same stream, it starts the kernel with the same table and asks nobody.
"""

from __future__ import annotations

import ctypes
from functools import reduce
from operator import or_

import torch

from lect.backends.triton.compile import ALIGNMENT
from lect.backends.triton.driver import capturing_address

MOST_TABLES = 16
HEAD = 4  # words in front of the addresses of the last launch
INFO, CAPTURING, STREAM, TABLE = range(HEAD)


class LastLaunch:
    """The last launch, as words: what is known of the kernel, the function that says whether a stream is being recorded, the stream, the address of the table
    (0: there was no launch that may be repeated), and the addresses in it."""

    def __init__(self, count: int, info: int) -> None:
        self.words = (ctypes.c_uint64 * (HEAD + count))()
        self.words[INFO] = info

    @property
    def address(self) -> int:
        """Where the words lie."""
        return ctypes.addressof(self.words)

    def write(self, stream: int, pointers: tuple[int, ...], table: int) -> None:
        """Write down a launch.  Another thread may read in between, so the table is the last word that is written, and there is none before."""
        self.words[TABLE] = 0
        self.words[CAPTURING] = capturing_address()
        self.words[STREAM] = stream
        self.words[HEAD:] = list(pointers)
        self.words[TABLE] = table


class Tables:
    """The last few tables of one kernel, of `count` addresses each; each belongs to the stream on which it was filled.

    `info` is the address of what is known of the kernel for aligned addresses.
    """

    def __init__(self, count: int, info: int) -> None:
        self.last = LastLaunch(count, info)
        self.tables: dict[tuple[int, tuple[int, ...]], torch.Tensor] = {}
        self.captured: list[tuple[torch.Tensor, ...]] = []

    def find(self, stream: int, pointers: tuple[int, ...]) -> tuple[int, bool]:
        """The address of a table of these addresses, filled on the current stream if there is none, and whether all are multiples of 16."""
        aligned = not reduce(or_, pointers, 0) % ALIGNMENT
        key = (stream, pointers)
        recording, table = torch.cuda.is_current_stream_capturing(), self.tables.get(key)
        if table is None:
            filled = torch.tensor(pointers, dtype=torch.int64).pin_memory()
            table = torch.empty(len(pointers), dtype=torch.int64, device="cuda")
            table.copy_(filled, non_blocking=True)
            if recording:  # the graph fills the table whenever it runs, from memory that must stay
                self.captured.append((filled, table))
                return table.data_ptr(), aligned
            while len(self.tables) >= MOST_TABLES:
                self.tables.pop(next(iter(self.tables)))
            self.tables[key] = table
        if recording:
            self.captured.append((table,))  # a graph reads it whenever it runs
        elif aligned:
            self.last.write(stream, pointers, table.data_ptr())
        return table.data_ptr(), aligned
