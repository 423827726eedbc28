"""Which elements of a buffer a nest writes, and whether every element that somebody reads is among them.

A store's map, where it is affine, writes a lattice: an offset and for each dim a step and a count.  Steps that grow by no more than what the smaller ones
cover leave no gap.  A buffer may have gaps (a tensor whose strides have some); then its readers may read the lattice alone.
"""

from __future__ import annotations

from typing import Any, NamedTuple

from lect.dialects.loop.attributes import ViewAttr
from lect.ir import Operation, Value, require
from lect.ir.index_map import dims_of, indices_of, is_affine, strides_of
from lect.ir.symbolic import Expr, Size

LISTED = 1 << 16  # elements of a buffer that are compared one by one where steps alone do not tell


class Lattice(NamedTuple):
    """The elements `start + x0 * step0 + x1 * step1 + ...` with 0 <= xk < count; `steps` are (step, count), the smallest step first, no count below 2."""

    start: int
    steps: tuple[tuple[int, int], ...]

    @property
    def covered(self) -> int | None:
        """How many elements from `start` on are written without a gap; None when there are gaps."""
        reach = 1
        for step, count in self.steps:
            if step > reach:
                return None
            reach += (count - 1) * step
        return reach

    def elements(self) -> set[int]:
        """All of them."""
        found = {self.start}
        for step, count in self.steps:
            found = {element + k * step for element in found for k in range(count)}
        return found


def lattice(offset: Expr, sizes: tuple[Size, ...]) -> Lattice | None:
    """The elements that an affine map reaches; None when it is not affine or not in numbers."""
    if not is_affine(offset) or indices_of(offset):
        return None
    found = strides_of(offset, len(sizes))
    if found is None or not all(type(value) is int for value in (found[0], *found[1], *[sizes[k] for k in dims_of(offset)])):
        return None
    start, pairs = found[0], []
    for step, count in zip(found[1], sizes):
        if step != 0 and count != 1:
            start += min(0, step) * (count - 1)  # type: ignore[operator, assignment, type-var]
            pairs.append((abs(step), count))  # type: ignore[arg-type]
    return Lattice(start, _merged(sorted(pairs)))  # type: ignore[arg-type]


def _merged(pairs: list[tuple[int, int]]) -> tuple[tuple[int, int], ...]:
    """Neighbouring steps that walk as one become one."""
    out: list[tuple[int, int]] = []
    for step, count in pairs:
        if out and step == out[-1][0] * out[-1][1]:
            out[-1] = (out[-1][0], out[-1][1] * count)
        else:
            out.append((step, count))
    return tuple(out)


def contains(written: Lattice, read: Lattice) -> bool:
    """Whether all elements of one lattice are of the other, as far as its steps tell: each step read belongs to one step written."""
    rest = read.start - written.start
    if rest < 0:
        return False
    room: list[int] = []
    digits = []
    for step, count in reversed(written.steps):
        digits.append(min(rest // step, count - 1))
        rest -= digits[-1] * step
    if rest:
        return False
    digits.reverse()
    room = [(count - 1 - digit) * step for (step, count), digit in zip(written.steps, digits)]
    for step, count in read.steps:
        place = max((k for k, (own, _) in enumerate(written.steps) if own <= step and step % own == 0), default=None)
        if place is None:
            return False
        room[place] -= (count - 1) * step
        if room[place] < 0:
            return False
    return True


def verify_written(nest: Any) -> None:
    """Raise a `VerifyError` when somebody may read an element of a result that no point of the nest writes."""
    for store in nest.stores:
        if store.name != "loop.store":
            continue  # an update begins with elements of another buffer
        if not 0 <= store.to < len(nest.results):
            continue
        result = nest.results[store.to]
        numel, sizes = result.type.numel, nest.space.sizes
        if type(numel) is not int or not numel or any(type(sizes[k]) is not int or sizes[k] == 0 for k in dims_of(store.map.offset) if k < len(sizes)):
            continue
        found = lattice(store.map.offset, sizes)
        if found is None:
            points = 1
            for k in dims_of(store.map.offset):
                points *= sizes[k]
            require(points >= numel, store, "{} points write a buffer of {} elements", points, numel)
        elif found.start or found.covered != numel:
            _verify_readers(store, result, found, numel)


def _verify_readers(store: Operation, result: Value, written: Lattice, numel: int) -> None:
    every: set[int] | None = None
    for user in _readers(result):
        for read in _reads(user, result):
            if read is not None and contains(written, read):
                continue
            if numel <= LISTED and read is not None:
                every = written.elements() if every is None else every
                if read.elements() <= every:
                    continue
            require(False, store, "the map leaves elements of the {} unwritten that '{}' reads", numel, user.name)


def _readers(buffer: Value) -> list[Any]:
    """What reads a buffer: operations, and of nests the loads and updates in them."""
    found: list[Any] = []
    for user in list(buffer.users):  # a nest may be written down when it is looked into
        if user.name == "loop.nest":
            found += [inner for inner in user.body if buffer in inner.operands]
        elif user.name not in ("loop.load", "loop.update"):
            found.append(user)
    return found


def _reads(user: Any, buffer: Value) -> list[Lattice | None]:
    """What an operation reads of a buffer; None for what cannot be told."""
    if user.name == "loop.load":
        nest = user.parent_op
        if not hasattr(nest, "space") or any(size == 0 for size in nest.space.sizes):
            return []
        return [lattice(user.map.offset, nest.space.sizes)]
    if user.name == "loop.update":
        numel = buffer.type.numel  # type: ignore[attr-defined]
        return [Lattice(0, ((1, numel),) if numel != 1 else ())] if type(numel) is int else [None]
    views = (user.view,) if user.name == "loop.write" else getattr(user, "views", ())
    values = (user.value,) if user.name == "loop.write" else user.operands
    seen = [view for value, view in zip(values, views) if value is buffer and isinstance(view, ViewAttr)]
    return [lattice(view.map, view.sizes) for view in seen if all(size != 0 for size in view.sizes)]
