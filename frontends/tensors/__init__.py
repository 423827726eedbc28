"""Tensors without elements, and how torch functions run on them.

`make_lt(meta)` makes one, `meta_of(t)` reads its metadata, and inside `propagating()` torch functions called on them give others.
`Propagation` is the dispatch mode behind it; override its `observe` to record ATen ops.
"""

from lect.frontends.tensors.errors import DataDependent, UnsupportedTensor
from lect.frontends.tensors.lt import LT, layout_of, make_lt, make_recorded, meta_of
from lect.frontends.tensors.metadata import TensorMeta
from lect.frontends.tensors.propagate import Propagation, PropagationCache, propagating

__all__ = [
    "LT",
    "DataDependent",
    "Propagation",
    "PropagationCache",
    "TensorMeta",
    "UnsupportedTensor",
    "layout_of",
    "make_lt",
    "make_recorded",
    "meta_of",
    "propagating",
]
