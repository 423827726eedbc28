"""The results of a recording: their storages, who sees them, and the tensors that are given out."""

from __future__ import annotations

from collections.abc import Sequence
from sys import getrefcount
from typing import Any, NamedTuple

import torch

from lect.backends.python_host.load import SEEN_AS

SINGLE = 2  # storages up to which it is faster to copy each by itself
USES = torch._C._storage_Use_Count


class Unsuitable(Exception):
    """The results of a program cannot be told apart from its arguments; the text says why."""


class OwnResult(NamedTuple):
    """A result in memory of the recording: the number of its storage and the tensor that is held for it."""

    storage: int
    held: Any


class GivenResult(NamedTuple):
    """A result in the memory of argument `number`: the argument itself, or a view of it `offset` elements behind its first."""

    number: int
    itself: bool
    sizes: tuple[int, ...]
    strides: tuple[int, ...]
    offset: int

    def show(self, argument: torch.Tensor) -> torch.Tensor:
        """The result for the argument of this call."""
        return argument if self.itself else argument.as_strided(self.sizes, self.strides, argument.storage_offset() + self.offset)


class Results:
    """What a recording gives.  Its own storages are numbered; the numbers are the same in all recordings of one graph for the same sizes."""

    def __init__(self, results: Sequence[Any], arguments: Sequence[Any]) -> None:
        """Take the results that a recording gave for these arguments.  Raises `Unsuitable`."""
        self.places: list[OwnResult | GivenResult] = []
        given = [each.untyped_storage()._cdata for each in arguments]
        numbers: dict[int, int] = {}
        for result in results:
            storage = result.untyped_storage()._cdata
            if storage in given:
                self.places.append(_given(result, arguments, [number for number, each in enumerate(given) if each == storage]))
                continue
            if result.is_conj() or result.is_neg() or result.layout is not torch.strided:
                raise Unsuitable("a result is a lazy conjugate or no strided tensor")
            self.places.append(OwnResult(numbers.setdefault(storage, len(numbers)), result))
        held = {id(place.held): place for place in self.places if isinstance(place, OwnResult)}  # one tensor may be several results
        self.bytes = [0] * len(numbers)
        counts = [1] * len(numbers)  # each of the recording's tensors is a use of its storage, and so is the Python object that stands for it
        storages: list[Any] = [None] * len(numbers)
        for place in held.values():
            storages[place.storage] = place.held.untyped_storage()
            self.bytes[place.storage] = storages[place.storage].nbytes()
            counts[place.storage] += 1
        self.storages = storages
        self.ids = [storage._cdata for storage in storages]
        self.uses = counts
        self.wholes: dict[int, torch.Tensor] = {}
        self.names: list[int] = []
        self.simple: list[tuple[Any, Any, Any]] | None = None  # tensors, sizes and strides, where all results are the recording's own
        if all(isinstance(place, OwnResult) for place in self.places):
            self.simple = [(place.held, tuple(place.held.shape), place.held.stride()) for place in self.places if isinstance(place, OwnResult)]

    def storages_of(self, first: int) -> frozenset[int]:
        """The numbers of the storages in which the first so many results lie."""
        return frozenset(place.storage for place in self.places[:first] if isinstance(place, OwnResult))

    def copy_always(self, numbers: frozenset[int]) -> None:
        """Get ready for copies of these storages in each replay."""
        for place in self.places:
            if isinstance(place, OwnResult) and place.storage in numbers and place.storage not in self.wholes:
                self.wholes[place.storage] = _whole(place.held)
                self.uses[place.storage] += 1

    def settle(self) -> None:
        """Take down how often the storages have names in Python while nobody else sees them.  Raises `Unsuitable` when somebody does."""
        self.names = list(map(getrefcount, self.storages))
        if list(map(USES, self.ids)) != self.uses:
            raise Unsuitable("results are seen by more than their recording")

    def alive(self) -> list[int]:
        """The numbers of the storages that somebody else sees."""
        uses, names = list(map(USES, self.ids)), list(map(getrefcount, self.storages))
        if uses == self.uses and names == self.names:
            return []
        now = zip(uses, self.uses, names, self.names)
        return [number for number, (use, own, name, known) in enumerate(now) if use != own or name != known]

    def hand_out(self, arguments: Sequence[Any], copied: frozenset[int]) -> list[Any]:
        """New tensors for the results of this call; those on storages in `copied` are copies in memory of their own."""
        if self.simple is not None and not copied:
            return [SEEN_AS(held, sizes, strides, 0) for held, sizes, strides in self.simple]
        found: list[Any] = []
        copies = self._copies(copied) if copied else {}
        for place in self.places:
            if isinstance(place, GivenResult):
                found.append(place.show(arguments[place.number]))
                continue
            held = place.held
            if place.storage not in copied:
                found.append(SEEN_AS(held, held.shape, held.stride(), 0))
                continue
            memory = copies[place.storage]
            view = memory if held.dtype is memory.dtype else memory.view(held.dtype)
            found.append(SEEN_AS(view, held.shape, held.stride(), held.storage_offset()))
        return found

    def _copies(self, numbers: frozenset[int]) -> dict[int, torch.Tensor]:
        """Copies of these storages, which are made at once."""
        wholes = {number: whole for number, whole in self.wholes.items() if number in numbers}
        for place in self.places:
            if isinstance(place, OwnResult) and place.storage in numbers and place.storage not in wholes:
                wholes[place.storage] = _whole(place.held)
        if len(wholes) <= SINGLE:
            return {number: whole.clone() for number, whole in wholes.items()}
        copies = {number: torch.empty_like(whole) for number, whole in wholes.items()}
        for dtype in {copy.dtype for copy in copies.values()}:
            those = [number for number, copy in copies.items() if copy.dtype is dtype]
            torch._foreach_copy_([copies[number] for number in those], [wholes[number] for number in those])
        return copies


def without_bases(results: Sequence[Any]) -> list[Any]:
    """The results, with another tensor on the same memory for each that autograd takes for a view: that keeps the tensor alive of which it is one."""
    made = {id(each): SEEN_AS(each, each.shape, each.stride(), 0) if each._is_view() else each for each in results}
    return [made[id(each)] for each in results]


def _whole(tensor: torch.Tensor) -> torch.Tensor:
    """All bytes of the storage of a tensor, eight at a time where they are so many."""
    storage = tensor.untyped_storage()
    return torch.empty(0, dtype=torch.uint8 if storage.nbytes() % 8 else torch.int64, device=tensor.device).set_(storage)


def _given(result: Any, arguments: Sequence[Any], numbers: list[int]) -> GivenResult:
    """A result in the memory of one of these arguments.  Raises `Unsuitable` where it is not sure of which."""
    for number in numbers:
        if result is arguments[number]:
            return GivenResult(number, True, (), (), 0)
    if len(numbers) > 1:
        raise Unsuitable(f"arguments {', '.join(map(str, numbers))} share the memory of a result")
    argument = arguments[numbers[0]]
    if result.dtype is not argument.dtype:
        raise Unsuitable(f"a result is argument {numbers[0]} seen as {result.dtype}")
    return GivenResult(numbers[0], False, tuple(result.shape), result.stride(), result.storage_offset() - argument.storage_offset())


def span(tensor: torch.Tensor) -> int:
    """The number of elements from the first of a tensor in memory to its last, which may be fewer than it has indices, or more."""
    return 1 + sum((size - 1) * stride for size, stride in zip(tensor.shape, tensor.stride())) if tensor.numel() else 0


def flat(tensor: torch.Tensor) -> torch.Tensor:
    """The memory of a tensor from its first element to its last as one dimension."""
    return tensor.as_strided((span(tensor),), (1,))


def buffer_like(tensor: torch.Tensor, device: str) -> torch.Tensor:
    """Memory of its own on a device for a tensor, with its sizes and strides."""
    memory = torch.empty(span(tensor), dtype=tensor.dtype, device=device)
    return memory.as_strided(tensor.shape, tensor.stride())
