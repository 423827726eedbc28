"""Attributes of the tile program: its axes, and the block size of each."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Any, NamedTuple

from lect.ir import Attribute, Scanner, attr, quote
from lect.ir.symbolic import Size
from lect.ir.symbolic_text import parse_size

ROLES = ("grid", "loop", "whole")
_DIM = re.compile(r"d(\d+)")
_AXIS_NAME = re.compile(r"[A-Z][0-9]*(?![A-Za-z0-9])")


def axis_name(scanner: Scanner) -> str:
    """Read the name of an axis: one capital letter, digits after it if need be."""
    return scanner.regex(_AXIS_NAME, "the name of an axis, a capital letter as in R")[0]


class Axis(NamedTuple):
    """`extent` indices, cut into blocks by the grid (one block a program) or by a loop, or taken whole by one tile."""

    name: str
    extent: Size
    role: str


@attr("kernel.axes")
class AxesAttr(Attribute):
    """The axes of a function in order, `#kernel.axes<Y: 2048 grid, R: 2048 loop>`."""

    axes: tuple[Axis, ...]

    @classmethod
    def normalize(cls, axes: Iterable[Any]) -> dict[str, Any]:
        axes = tuple(Axis(*axis) for axis in axes)
        names = [axis.name for axis in axes]
        for axis in axes:
            if axis.role not in ROLES:
                raise ValueError(f"the role of an axis is {', '.join(ROLES)}, not '{axis.role}'")
            if type(axis.extent) is int and axis.extent < 0:
                raise ValueError(f"axis {axis.name} has a negative extent")
        if len(set(names)) < len(names):
            raise ValueError("an axis is named twice")
        return {"axes": axes}

    @property
    def names(self) -> tuple[str, ...]:
        """The names in order."""
        return tuple([axis.name for axis in self.axes])

    def find(self, name: str) -> Axis | None:
        """The axis called `name`."""
        return next((axis for axis in self.axes if axis.name == name), None)

    def print_body(self) -> str:
        return ", ".join([f"{axis.name}: {axis.extent} {axis.role}" for axis in self.axes])

    @classmethod
    def parse_body(cls, scanner: Scanner | None) -> AxesAttr:
        axes: list[Axis] = []
        scanner = scanner or Scanner("")
        while not (scanner.at("") and scanner.pos == len(scanner.text)):
            if axes:
                scanner.expect(",")
            name = axis_name(scanner)
            scanner.expect(":")
            axes.append(Axis(name, scanner.integer() if scanner.at("-") else parse_size(scanner), scanner.word()))
        return cls(tuple(axes))


@attr("kernel.blocks")
class BlocksAttr(Attribute):
    """How many lanes each axis has in one tile, `#kernel.blocks<Y = 1, R = 64>`; a decision that may be edited freely."""

    sizes: tuple[tuple[str, int], ...]

    @classmethod
    def normalize(cls, sizes: Any) -> dict[str, Any]:
        pairs = tuple((str(name), int(size)) for name, size in (sizes.items() if isinstance(sizes, dict) else sizes))
        for name, size in pairs:
            if size < 1 or size & (size - 1):
                raise ValueError(f"the block of axis {name} must be a power of two, got {size}")
        return {"sizes": pairs}

    def size(self, name: str) -> int:
        """Lanes of one axis."""
        return dict(self.sizes)[name]

    def print_body(self) -> str:
        return ", ".join([f"{name} = {size}" for name, size in self.sizes])

    @classmethod
    def parse_body(cls, scanner: Scanner | None) -> BlocksAttr:
        sizes: list[tuple[str, int]] = []
        scanner = scanner or Scanner("")
        while not (scanner.at("") and scanner.pos == len(scanner.text)):
            if sizes:
                scanner.expect(",")
            name = axis_name(scanner)
            scanner.expect("=")
            sizes.append((name, scanner.integer()))
        return cls(tuple(sizes))


class TileAxis(NamedTuple):
    """An axis over dim `dim` of a nest, in blocks of `block` lanes, of a role as in `Axis`."""

    name: str
    dim: int
    block: int
    role: str


@attr("kernel.tiles")
class TilesAttr(Attribute):
    """How a nest is to be cut, `#kernel.tiles<"row", R: d1 by 32 loop, vector R>`: the variant's name, the axes, and whose lanes are neighbours.

    Dims without an axis are walked one by one: parallel ones by the grid, reduced ones by loops.  With `wide` a loop accumulates whole tiles, which are
    folded behind it; else only the vector axis is folded there, and the lanes of other axes at each step.
    """

    variant: str
    axes: tuple[TileAxis, ...]
    vector: str | None = None
    wide: bool = False

    @classmethod
    def normalize(cls, variant: str, axes: Iterable[Any], vector: str | None, wide: bool) -> dict[str, Any]:
        axes = tuple(TileAxis(*axis) for axis in axes)
        names = [axis.name for axis in axes]
        if len(set(names)) < len(names) or len({axis.dim for axis in axes}) < len(axes):
            raise ValueError("an axis or a dim is named twice")
        for axis in axes:
            if axis.role not in ROLES:
                raise ValueError(f"the role of an axis is {', '.join(ROLES)}, not '{axis.role}'")
            if axis.block < 1 or axis.block & (axis.block - 1):
                raise ValueError(f"the block of axis {axis.name} must be a power of two, got {axis.block}")
        if vector is not None and vector not in names:
            raise ValueError(f"'vector' names no axis: {vector}")
        return {"variant": variant, "axes": axes, "vector": vector, "wide": bool(wide)}

    def print_body(self) -> str:
        parts = [quote(self.variant), *[f"{axis.name}: d{axis.dim} by {axis.block} {axis.role}" for axis in self.axes]]
        return ", ".join(parts + ([f"vector {self.vector}"] if self.vector else []) + (["wide"] if self.wide else []))

    @classmethod
    def parse_body(cls, scanner: Scanner | None) -> TilesAttr:
        if scanner is None:
            raise ValueError('write <"row", R: d1 by 32 loop, vector R>')
        variant, vector = scanner.string(), None
        axes: list[TileAxis] = []
        while scanner.accept(","):
            if scanner.accept_word("wide"):
                return cls(variant, tuple(axes), vector, True)
            if scanner.accept_word("vector"):
                vector = axis_name(scanner)
                continue
            name = axis_name(scanner)
            scanner.expect(":")
            dim = int(scanner.regex(_DIM, "a dim, as d1")[1])
            scanner.expect("by")
            axes.append(TileAxis(name, dim, scanner.integer(), scanner.word()))
        return cls(variant, tuple(axes), vector)
