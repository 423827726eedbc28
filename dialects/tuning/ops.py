"""tuning: what passes take instead of their own estimate, as text that can be read, edited and merged.

    tuning.record @softmax {
      kernel = "9f3c...", device = "NVIDIA H200",
      choices = {tiles = #kernel.tiles<"rows", R: d1 by 1024 whole, vector R>, warps = 4},
      measured = [[{warps = 8}, 12.5], ...]
    }

A record belongs to a kernel by the SHA-256 of its canonical text, which is a nest (or a library call with the nest behind it) without the names, the
places and the decisions of the program that it stands in; so equal kernels of all programs share it.  A file is records one behind the other, and two
files are merged by writing one behind the other.  A record decides how fast a kernel is and never what it computes.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from types import MappingProxyType
from typing import Any

from lect.dialects.kernel.attributes import TilesAttr
from lect.ir import Attr, Operation, op, require

KERNEL = re.compile(r"[0-9a-f]{64}")
PRODUCTS = ("library", "own")
MOST_WARPS, MOST_STAGES, MOST_PARTS = 32, 8, 16
# Choice -> what it says, and what it may be.
CHOICES: Mapping[str, str] = MappingProxyType(
    {
        "tiles": "how a nest is cut, a #kernel.tiles<...>",
        "warps": f"warps of a program, a power of two up to {MOST_WARPS}",
        "stages": f"steps that a loop over a product reads ahead, from 1 to {MOST_STAGES}",
        "product": f"who multiplies, {' or '.join(PRODUCTS)}",
        "fused": "whether a nest joins the one that reads it, true or false",
        "parts": f"parts of the sums of an own product that programs of their own add up, a power of two up to {MOST_PARTS}",
    }
)


def allowed(name: str, value: Any) -> bool:
    """Whether a choice may have a value."""
    if name == "tiles":
        return isinstance(value, TilesAttr)
    if name == "fused":
        return type(value) is bool
    if name == "warps":
        return type(value) is int and 1 <= value <= MOST_WARPS and not value & (value - 1)
    if name == "parts":
        return type(value) is int and 1 <= value <= MOST_PARTS and not value & (value - 1)
    if name == "stages":
        return type(value) is int and 1 <= value <= MOST_STAGES
    return name == "product" and value in PRODUCTS


@op("tuning.record")
class RecordOp(Operation):
    """The `choices` for the kernel whose canonical text has this SHA-256, on the device of this name.

    `measured` are the choices that were tried, each with its time in microseconds; a record that a person wrote has none.
    """

    sym_name: Attr[str]
    kernel: Attr[str]
    device: Attr[str]
    choices: Attr[dict]
    measured: Attr[tuple] = ()

    def verify(self) -> None:
        require(KERNEL.fullmatch(self.kernel) is not None, self, "'kernel' is the SHA-256 of a kernel in hexadecimal, got '{}'", self.kernel)
        require(self.device, self, "'device' is the name of a device")
        require(self.choices, self, "'choices' are {}", ", ".join(CHOICES))
        self._verify_choices(self.choices)
        for entry in self.measured:
            pair = isinstance(entry, tuple) and len(entry) == 2 and isinstance(entry[0], dict) and type(entry[1]) is float and entry[1] >= 0
            require(pair, self, "'measured' are pairs of choices and microseconds, got {}", entry)
            self._verify_choices(entry[0])

    def _verify_choices(self, choices: Mapping[str, Any]) -> None:
        for name, value in choices.items():
            require(name in CHOICES, self, "there is no choice '{}'; choices are {}", name, ", ".join(CHOICES))
            require(allowed(name, value), self, "the choice '{}' is {}, got {}", name, CHOICES[name], value)
