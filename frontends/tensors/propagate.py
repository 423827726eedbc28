"""Propagation: inside `propagating()`, torch functions called on LTs give LTs.

One dispatch mode sees every ATen op that torch's C++ code ends up calling.  The result's metadata comes from a cache keyed by the op and the
metadata and values of its arguments; behind a miss stand our own shape functions, then torch's meta kernels, then fake tensors.  Nothing of
torch's compiler and no symbolic algebra is imported on the way.

The mode may be entered again while it is active, and by several threads at once: it has no state but the cache, whose entries are functions of
their keys alone.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from enum import Enum, auto
from functools import cache
from types import MappingProxyType
from typing import Any, Final

import torch
from torch.utils._python_dispatch import TorchDispatchMode

from lect.dialects.functional.shapes import DimError, ShapeError
from lect.frontends.tensors import shape_blocks, shape_pointwise, shape_views, shape_windows
from lect.frontends.tensors.dtype_check import is_plain, refuse_dtypes
from lect.frontends.tensors.errors import DataDependent, UnsupportedTensor
from lect.frontends.tensors.lt import LT, layout_of
from lect.frontends.tensors.meta_kernels import run_on_meta
from lect.frontends.tensors.metadata import TensorMeta, read_meta
from lect.frontends.tensors.numbers import holds_number, settled, with_examples
from lect.frontends.tensors.quiet_symbols import without_symbols
from lect.frontends.tensors.templates import Template, instantiate

aten = torch.ops.aten

SHAPE_FUNCTIONS: Final = MappingProxyType({**shape_pointwise.TABLE, **shape_views.TABLE, **shape_blocks.TABLE, **shape_windows.TABLE})
_STORAGE_OPS = frozenset({"aten::resize_", "aten::resize_as_", "aten::set_", "aten::set_data", "aten::swap_"})


class PropagationCache:
    """Templates by (op, arguments).  `hits` and `misses` count look-ups, for the benchmark."""

    __slots__ = ("_templates", "hits", "misses")

    def __init__(self) -> None:
        self._templates: dict[Any, Template] = {}
        self.hits = 0
        self.misses = 0

    def find(self, func: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Template:
        """The template of a call, computed on a miss.  Raises what the op raises; errors are not remembered."""
        key = (func, torch.get_default_dtype(), _key(args), _key(tuple(kwargs.items())) if kwargs else None)
        template = self._templates.get(key, self)
        if template is self:
            self.misses += 1
            template = self._templates[key] = _compute(func, args, kwargs)
        else:
            self.hits += 1
        return template


_SHARED_CACHE = PropagationCache()


def _key(value: Any) -> Any:
    kind = type(value)
    if kind is LT:
        return layout_of(value)
    if kind is tuple or kind is list:
        return tuple([_key(item) for item in value])
    if kind is int or kind is bool:
        return (kind, value)
    if kind is float or kind is complex:
        return (kind, repr(value))
    if kind is torch.SymInt or kind is torch.SymFloat or kind is torch.SymBool:
        raise _Symbolic
    if isinstance(value, torch.Tensor):
        return layout_of(value)
    return value


class _Symbolic(Exception):
    """A call has a symbolic number among its arguments, so it has no key."""


def _compute(func: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Template:
    function = SHAPE_FUNCTIONS.get(func)
    if function is None or func in _OF_INTEGERS or not is_plain(args):
        refuse_dtypes(func, args, kwargs)
    wrong_dim = None
    if function is not None:
        try:
            found = function(*_metadata(args), **{name: _metadata(value) for name, value in kwargs.items()})
        except ShapeError as error:
            found = None  # torch's own kernel words the error, if it minds
            wrong_dim = error if isinstance(error, DimError) and func in _DIM_UNCHECKED else None
        if found is not None:
            return list(found) if type(found) is tuple and func in _LIST_RESULTS else found
    template = run_on_meta(func, args, kwargs)
    if wrong_dim is not None:
        raise IndexError(f"Dimension out of range (expected to be in range of [{-wrong_dim.limit}, {wrong_dim.limit - 1}], but got {wrong_dim.dim})")
    return template


_DIM_UNCHECKED = frozenset({aten._softmax.default, aten._log_softmax.default})  # by their meta kernels
_OF_INTEGERS = frozenset({aten.bitwise_and.Tensor, aten.bitwise_or.Tensor, aten.bitwise_xor.Tensor})
_LIST_RESULTS = frozenset({aten.split.Tensor, aten.split_with_sizes.default, aten.unbind.int})


def _metadata(value: Any) -> Any:
    if isinstance(value, torch.Tensor):
        return layout_of(value)
    if type(value) is tuple or type(value) is list:
        return type(value)([_metadata(item) for item in value])
    return value


class Propagation(TorchDispatchMode):
    """The dispatch mode.  A subclass overrides `observe` to see each op with its arguments and results.

    `writes` counts ops that write to a tensor in place; `read` may know the number in a traced tensor of one element, and gives None otherwise.
    """

    def __init__(self, templates: PropagationCache = _SHARED_CACHE) -> None:
        super().__init__()
        self.cache = templates
        self.draws = 0  # calls that advance a random generator
        self.writes = 0
        self.read: Callable[[LT], Any] | None = None

    @classmethod
    def _should_skip_dynamo(cls) -> bool:
        """False, or torch wraps every call in a function that imports its compiler."""
        return False

    def observe(self, func: Any, args: tuple[Any, ...], kwargs: dict[str, Any], result: Any) -> None:
        """Called behind each op."""

    def __torch_dispatch__(self, func: Any, types: Any, args: tuple[Any, ...] = (), kwargs: dict[str, Any] | None = None) -> Any:
        kwargs = kwargs or {}
        kind = _kind(func)
        if kind is not Kind.PLAIN:
            result = self._special(kind, func, args, kwargs)
            if result is not NotImplemented:
                return result
        if is_random(func):
            self.draws += 1
        try:
            template = self.cache.find(func, args, kwargs)
        except _Symbolic:
            return self._with_numbers(func, args, kwargs)
        result = instantiate(template, args, kwargs)
        if _writes(func):
            self.writes += 1
        self.observe(func, args, kwargs, result)
        return result

    def _with_numbers(self, func: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """An op with numbers of run time among its arguments.  Its results have metadata that do not depend on them."""
        if not holds_number((args, kwargs)):
            raise UnsupportedTensor("a symbolic number of torch reached propagation; sizes are plain integers here")
        plain_args, plain_kwargs = with_examples(func, args, kwargs)
        result = instantiate(self.cache.find(func, plain_args, plain_kwargs), plain_args, plain_kwargs)
        kept_args, kept_kwargs = settled(func, args, kwargs, result)
        if _writes(func):
            self.writes += 1
        self.observe(func, kept_args, kept_kwargs, result)
        return result

    def _special(self, kind: Kind, func: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """Ops that are not looked up by metadata; NotImplemented for a composite that turns out not to be one."""
        if kind is Kind.QUERY:
            return _attribute_query(func, args, kwargs)
        if kind is Kind.ELEMENT:
            return self._element(args[0])
        if kind is Kind.METADATA:
            return self._change_metadata(func, args, kwargs)
        with self, without_symbols():
            return func.decompose(*args, **kwargs)

    def _element(self, tensor: torch.Tensor) -> Any:
        if type(tensor) is LT:
            number = self.read(tensor) if self.read is not None else None
            if number is None:
                raise DataDependent("the program reads an element of a traced tensor")
            return number
        return aten._local_scalar_dense.default(tensor)

    def _change_metadata(self, func: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """`t_`, `squeeze_` and the like change the tensor they are called on; no elements move."""
        if func._schema.name in _STORAGE_OPS or type(args[0]) is not LT:
            raise UnsupportedTensor(f"{func} changes the storage of a tensor, which tracing does not follow")
        if func is aten.as_strided_.default and _reaches_out(*args, **kwargs):
            raise UnsupportedTensor(f"{func} addresses memory in front of the tensor or behind it")
        with torch._C._DisableTorchDispatch():
            func(*args, **kwargs)
        tensor = args[0]
        tensor._lect_meta = read_meta(tensor)
        self.writes += 1
        self.observe(func, args, kwargs, tensor)
        return tensor


def _reaches_out(x: torch.Tensor, size: Any, stride: Any, storage_offset: int | None = None) -> bool:
    """True when a view needs more memory than the tensor is known to have."""
    own = layout_of(x)
    offset = own.storage_offset if storage_offset is None else storage_offset
    return own._replace(shape=tuple(size), strides=tuple(stride), storage_offset=offset).reach > own.reach


class Kind(Enum):
    """How an op is treated: PLAIN ops have results that follow from metadata, COMPOSITE ones are written in terms of others (and arrive whole only in
    inference mode), METADATA ones change the tensor itself, ELEMENT reads an element, a QUERY is no op."""

    PLAIN = auto()
    COMPOSITE = auto()
    METADATA = auto()
    ELEMENT = auto()
    QUERY = auto()


@cache
def is_random(func: Any) -> bool:
    """True for an operator that draws from a random generator."""
    return torch.Tag.nondeterministic_seeded in func.tags


@cache
def _kind(func: Any) -> Kind:
    if func.namespace == "prim":
        return Kind.QUERY
    if func is aten._local_scalar_dense.default:
        return Kind.ELEMENT
    if func._can_decompose() and not _has_own_kernel(func):
        return Kind.COMPOSITE
    if torch.Tag.inplace_view in func.tags or func._schema.name in _STORAGE_OPS:
        return Kind.METADATA
    return Kind.PLAIN


def _has_own_kernel(func: Any) -> bool:
    """True for a composite such as silu_backward that processors compute at once all the same, with one rounding at its end."""
    return torch._C._dispatch_has_kernel_for_dispatch_key(func.name(), "CPU") and (
        func in SHAPE_FUNCTIONS or torch._C._dispatch_has_kernel_for_dispatch_key(func.name(), "Meta")
    )


@cache
def _writes(func: Any) -> bool:
    return bool(func._schema.is_mutable)


def _attribute_query(func: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """`prim::device` and its kin.  C++ calls them where an exception would end the process, so none may leave here."""
    tensor = args[0] if args else None
    if func is torch.ops.prim.device.default and isinstance(tensor, LT):
        return layout_of(tensor).device
    if func is torch.ops.prim.layout.default and isinstance(tensor, LT):
        return torch.strided
    try:
        return func(*args, **kwargs)
    except Exception:
        return NotImplemented


@contextmanager
def propagating() -> Iterator[Propagation]:
    """Inside, torch functions called on LTs give LTs, and creation functions give LTs too."""
    with Propagation() as mode:
        yield mode


__all__ = ["SHAPE_FUNCTIONS", "Propagation", "PropagationCache", "TensorMeta", "propagating"]
