"""Python's cyclic collector while IR is made.

A compile makes some tens of thousands of objects that refer to each other, most of which stay alive.  The collector would walk them again and again
meanwhile, and once more behind; so it rests, and what was made goes to its oldest generation without being walked: `gc.freeze` and `gc.unfreeze` hang
lists into one another, whatever their length.

As cycles are found late then, none may hold what is the program's: `let_go` breaks those that exceptions make.
"""

from __future__ import annotations

import gc
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from time import perf_counter

FEW = 5_000  # young objects that the collector walks in about a millisecond
ALLOWANCE = 200_000  # objects that may pass the collector before it has walked all there are: if all are garbage, 20 MB
PAUSE = 200  # times what it took to count frozen objects pass before they are counted again
IMMORTAL = 1_000  # Python 3.12 puts the objects that never die where `gc.freeze` puts its own, 375 in a bare interpreter


class _Passed:
    """How many objects passed the collector since it walked all objects for the last time, which was the time of number `walk`."""

    def __init__(self) -> None:
        self.objects = 0
        self.walk = -1

    def allows(self, objects: int) -> bool:
        """True when so many more may pass; they are counted."""
        walk = gc.get_stats()[-1]["collections"]
        if walk != self.walk:
            self.objects, self.walk = 0, walk
        self.objects += objects
        return self.objects <= ALLOWANCE


_PASSED = _Passed()


class _Frozen:
    """Whether the program has frozen objects.  To count them Python walks them, so a program that has is asked again only once that costs little."""

    def __init__(self) -> None:
        self.ask_again = 0.0

    def any(self) -> bool:
        """True when there are frozen objects, or were a moment ago."""
        start = perf_counter()
        if start < self.ask_again:
            return True
        if gc.get_freeze_count() <= IMMORTAL:
            return False
        now = perf_counter()
        self.ask_again = now + PAUSE * (now - start)
        return True


_FROZEN = _Frozen()


@contextmanager
def collector_off() -> Iterator[None]:
    """No garbage collection inside, where there is any outside; also a decorator.  The outermost of several lets the objects made inside pass."""
    enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if enabled:
            let_pass()
            gc.enable()


def let_pass() -> None:
    """Put the young objects into the oldest generation, if there are many and nothing speaks against it.

    What a program froze stays frozen: then nothing is done.  Cycles among the objects are found when all objects are walked, which Python does by and by and
    `gc.collect` at once.  So that garbage cannot pile up where it does so seldom, only `ALLOWANCE` objects may pass between two such walks.
    """
    young = gc.get_count()[0]
    if young > FEW and not _FROZEN.any() and _PASSED.allows(young):
        gc.freeze()
        gc.unfreeze()


def let_go(error: BaseException) -> None:
    """Empty the frames of lect that an exception has passed through, and those of the exceptions that it was raised behind or from.

    A frame that holds the exception that left it is a cycle, which would hold the objects of the call until all objects are walked.  Frames that still run
    stay as they are, and so do frames of others, which a program may look at.
    """
    waiting: list[BaseException | None] = [error]
    seen: set[int] = set()
    while waiting:
        found = waiting.pop()
        if found is None or id(found) in seen:
            continue
        seen.add(id(found))
        waiting += [found.__cause__, found.__context__]
        passed = found.__traceback__
        while passed is not None:
            frame, passed = passed.tb_frame, passed.tb_next
            if str(frame.f_globals.get("__name__", "")).startswith("lect."):
                with suppress(RuntimeError):  # it runs
                    frame.clear()
