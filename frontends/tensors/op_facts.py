"""What is known of an ATen overload by itself, worked out once and found by one look-up.

An overload is hashed by a Python method, which for the thousands of calls of one graph costs more than the look-up.  So the table is keyed by identity,
and holds on to the overloads that it knows.
"""

from __future__ import annotations

from enum import Enum, auto
from types import MappingProxyType
from typing import Any, Final

import torch

from lect.frontends.tensors import found_sizes, shape_blocks, shape_gradients, shape_pointwise, shape_views, shape_windows
from lect.frontends.tensors.stand_ins import STAND_INS

aten = torch.ops.aten

SHAPE_FUNCTIONS: Final = MappingProxyType({**shape_pointwise.TABLE, **shape_views.TABLE, **shape_blocks.TABLE, **shape_windows.TABLE, **shape_gradients.TABLE})
STORAGE_OPS: Final = frozenset({"aten::resize_", "aten::resize_as_", "aten::set_", "aten::set_data", "aten::swap_"})
BATCH_NORMS: Final = frozenset({aten.native_batch_norm.default, aten._native_batch_norm_legit.default})  # write to statistics, whatever their schemas say
# They count from the start of a storage.
ABSOLUTE: Final = frozenset({aten.as_strided.default, aten.as_strided_copy.default, aten.as_strided_scatter.default})
# Their results lie in the memory of the first argument, whatever their schemas say.
_UNDECLARED_VIEWS: Final = frozenset({aten._unsafe_view.default, aten.unsafe_split.Tensor, aten.unsafe_split_with_sizes.default})


class Kind(Enum):
    """How an op is treated: PLAIN ops have results that follow from metadata, COMPOSITE ones are written in terms of others (and arrive whole only in
    inference mode), TRANSLATED ones of a library are recorded as others, METADATA ones change the tensor itself, ELEMENT reads an element,
    FOUND ones have results whose sizes elements decide, a QUERY is no op."""

    PLAIN = auto()
    COMPOSITE = auto()
    TRANSLATED = auto()
    METADATA = auto()
    ELEMENT = auto()
    FOUND = auto()
    QUERY = auto()


class OpFacts:
    """`func` itself; its `kind`; whether it is a call on lists of tensors that is to be taken apart, draws random numbers, and writes to an argument; the
    position of the argument whose memory its results `share`, None when they have their own.  `is_special` says that it is not looked up by metadata,
    `is_repeatable` that what is recorded for it follows from its arguments alone."""

    __slots__ = ("func", "is_list", "is_random", "is_repeatable", "is_special", "kind", "shares", "writes")

    def __init__(self, func: Any) -> None:
        schema = func._schema
        self.func = func
        self.kind = _kind(func)
        self.is_list = schema.name.startswith("aten::_foreach_") and func.has_kernel_for_dispatch_key(torch._C.DispatchKey.CompositeExplicitAutograd)
        # The backward of an attention makes the forward's numbers again, from a seed that it is given.
        self.is_random = torch.Tag.nondeterministic_seeded in func.tags and not schema.name.endswith("_attention_backward")
        self.is_special = self.is_list or self.kind is not Kind.PLAIN
        self.writes = bool(schema.is_mutable)
        self.is_repeatable = not (self.writes or func in BATCH_NORMS or func in ABSOLUTE)
        self.shares: int | None = 0 if func in _UNDECLARED_VIEWS else None
        if any(result.alias_info is not None for result in schema.returns):
            self.shares = next(position for position, argument in enumerate(schema.arguments) if argument.alias_info is not None)


def _kind(func: Any) -> Kind:
    if func in STAND_INS:
        return Kind.TRANSLATED
    if func.namespace == "prim":
        return Kind.QUERY
    if func is aten._local_scalar_dense.default or func is aten.equal.default:
        return Kind.ELEMENT
    if found_sizes.finds_size(func):
        return Kind.FOUND
    if func._can_decompose() and not _has_own_kernel(func):
        return Kind.COMPOSITE
    if torch.Tag.inplace_view in func.tags or func._schema.name in STORAGE_OPS:
        return Kind.METADATA
    return Kind.PLAIN


def _has_own_kernel(func: Any) -> bool:
    """True for a composite such as silu_backward that processors compute at once all the same, with one rounding at its end."""
    return torch._C._dispatch_has_kernel_for_dispatch_key(func.name(), "CPU") and (
        func in SHAPE_FUNCTIONS or torch._C._dispatch_has_kernel_for_dispatch_key(func.name(), "Meta")
    )


class _Table:
    """Facts by the identity of the overload, which they keep alive."""

    __slots__ = ("known",)

    def __init__(self) -> None:
        self.known: dict[int, OpFacts] = {}

    def of(self, func: Any) -> OpFacts:
        """The facts of one overload."""
        found = self.known.get(id(func))
        if found is None:
            found = self.known[id(func)] = OpFacts(func)
        return found


facts_of: Final = _Table().of
