"""Propagation: inside `propagating()`, torch functions called on LTs give LTs.

One dispatch mode sees every ATen op that torch's C++ code ends up calling.  The result's metadata comes from a cache keyed by the op and the
metadata and values of its arguments; behind a miss stand our own shape functions, then torch's meta kernels, then fake tensors.  Nothing of
torch's compiler and no symbolic algebra is imported on the way.

The mode may be entered again while it is active, and by several threads at once: it has no state but the cache, whose entries are functions of
their keys alone.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import torch
from torch.utils._python_dispatch import TorchDispatchMode

from lect.dialects.functional.shapes import DimError, ShapeError
from lect.frontends.tensors.dtype_check import is_plain, refuse_dtypes
from lect.frontends.tensors.errors import DataDependent, UnsupportedTensor
from lect.frontends.tensors.found_sizes import results_of
from lect.frontends.tensors.lt import LT, layout_of, make_lt
from lect.frontends.tensors.meta_kernels import run_on_meta
from lect.frontends.tensors.metadata import TensorMeta, check_sizes, read_meta
from lect.frontends.tensors.numbers import holds_number, settled, with_examples, with_size_numbers
from lect.frontends.tensors.op_facts import SHAPE_FUNCTIONS, STORAGE_OPS, Kind, OpFacts, facts_of
from lect.frontends.tensors.quiet_symbols import without_symbols
from lect.frontends.tensors.shape_symbolic import symbolic_meta
from lect.frontends.tensors.sizes import LEAST, with_dims
from lect.frontends.tensors.stand_ins import STAND_INS
from lect.frontends.tensors.templates import Template, instantiate

aten = torch.ops.aten


class Known:
    """What is remembered of a call: the `template` of its result, and in `recipes` whatever a subclass of `Propagation` remembers beside it.

    `is_one` says that the result is one new tensor, `is_new` that it is new tensors and nothing else, but for None in the place of some.
    """

    __slots__ = ("is_new", "is_one", "recipes", "template")

    def __init__(self, template: Template) -> None:
        self.template = template
        self.is_one = type(template) is TensorMeta
        self.is_new = self.is_one or (type(template) in (list, tuple) and all(item is None or type(item) is TensorMeta for item in template))
        self.recipes: dict[Any, Any] = {}


class PropagationCache:
    """What is known of calls, by (op, arguments).  `hits` and `misses` count look-ups, for the benchmark.

    Numbers are arguments too, so programs that are made one after the other could fill any memory: of more than `limit` calls the oldest is forgotten.
    """

    __slots__ = ("_known", "hits", "limit", "misses")

    def __init__(self, limit: int = 4096) -> None:
        self._known: OrderedDict[Any, Known] = OrderedDict()
        self.limit = limit
        self.hits = 0
        self.misses = 0

    def look_up(self, facts: OpFacts, args: tuple[Any, ...], kwargs: dict[str, Any], tensors: list[torch.Tensor]) -> Known:
        """What is known of a call, computed on a miss.  Appends the call's tensors.  Raises what the op raises; errors are not remembered."""
        key = (facts, torch.get_default_dtype(), _key(args, tensors), _key_of_named(kwargs, tensors) if kwargs else None)
        known = self._known.get(key)
        if known is None:
            self.misses += 1
            known = self._known[key] = Known(_with_sizes_of_tensors(_compute(facts.func, args, kwargs)))
            if len(self._known) > self.limit:
                self._known.popitem(last=False)
        else:
            self.hits += 1
        return known

    def find(self, func: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Template:
        """The template of a call.  Raises what the op raises."""
        return self.look_up(facts_of(func), args, kwargs, []).template


_SHARED_CACHE = PropagationCache()
# They equal nothing but their like, so that they are their own key; what equals an int (1.0, True) has one with its class in front.
_OWN_KEY = frozenset({int, str, type(None), torch.dtype, torch.device, torch.layout, torch.memory_format})
_SYMBOLIC = frozenset({torch.SymInt, torch.SymFloat, torch.SymBool})


def _key(values: tuple[Any, ...] | list[Any], tensors: list[torch.Tensor]) -> tuple[Any, ...]:
    """What tells arguments apart: metadata for tensors, and for numbers their class and value, by which NaN is itself and -0.0 is not 0.0.

    The tensors themselves are appended to `tensors`, in order.
    """
    found: list[Any] = []
    for value in values:
        kind = type(value)
        if kind is LT:
            found.append(value._lect_meta or layout_of(value))
            tensors.append(value)
        elif kind in _OWN_KEY:
            found.append(value)
        elif kind is tuple or kind is list:
            found.append(_key(value, tensors))
        elif kind is bool:
            found.append((kind, value))
        elif kind is float or kind is complex:
            found.append((kind, repr(value)))
        elif kind in _SYMBOLIC:
            raise _Symbolic
        elif isinstance(value, torch.Tensor):
            found.append(layout_of(value))
            tensors.append(value)
        else:
            found.append(value)
    return tuple(found)


def _key_of_named(kwargs: dict[str, Any], tensors: list[torch.Tensor]) -> tuple[Any, ...]:
    return tuple(kwargs), _key(tuple(kwargs.values()), tensors)


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
    template = symbolic_meta(func, args, kwargs) if wrong_dim is None else None
    if template is None:
        template = run_on_meta(func, args, kwargs)
    if wrong_dim is not None:
        raise IndexError(f"Dimension out of range (expected to be in range of [{-wrong_dim.limit}, {wrong_dim.limit - 1}], but got {wrong_dim.dim})")
    return _without_logsumexp(template) if func is _CUDNN_ATTENTION and not _argument(4, "compute_log_sumexp", args, kwargs) else template


def _with_sizes_of_tensors(template: Template) -> Template:
    """A template whose symbolic sizes are at least 2, as those of all tensors."""
    kind = type(template)
    if kind is TensorMeta:
        return check_sizes(template)
    if kind is tuple or kind is list:
        return kind([_with_sizes_of_tensors(item) for item in template])
    return template


_CUDNN_ATTENTION = aten._scaled_dot_product_cudnn_attention.default


def _argument(place: int, name: str, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """An argument by its place or its name; None when it was not given."""
    return args[place] if len(args) > place else kwargs.get(name)


def _without_logsumexp(template: Any) -> Any:
    """cuDNN's attention gives no logsumexp unless it is asked for one, where its meta kernel says that it does."""
    return type(template)([None if place == 1 else item for place, item in enumerate(template)])


_DIM_UNCHECKED = frozenset({aten._softmax.default, aten._log_softmax.default})  # by their meta kernels
_OF_INTEGERS = frozenset({aten.bitwise_and.Tensor, aten.bitwise_or.Tensor, aten.bitwise_xor.Tensor})
_LIST_RESULTS = frozenset({aten.split.Tensor, aten.split_with_sizes.default, aten.unbind.int})


def _metadata(value: Any) -> Any:
    if isinstance(value, torch.Tensor):
        return layout_of(value)
    if type(value) is tuple or type(value) is list:
        return type(value)([_metadata(item) for item in value])
    return value


def _holds_symbol(values: tuple[Any, ...] | list[Any]) -> bool:
    return any(type(value) in _SYMBOLIC or (isinstance(value, tuple | list) and _holds_symbol(value)) for value in values)


class Propagation(TorchDispatchMode):
    """The dispatch mode.  A subclass overrides `observe` to see each op with its arguments and results.

    `writes` counts ops that write to a tensor in place; `read` may know the number in a traced tensor of one element, and gives None otherwise.
    `expected` is asked where torch's own code asks whether such a tensor is true, by a comparison with one.  `found` gives a symbol for the size that the
    elements of a call's operands decide, and None where there is to be none.
    """

    def __init__(self, templates: PropagationCache = _SHARED_CACHE) -> None:
        super().__init__()
        self.cache = templates
        self.draws = 0  # calls that advance a random generator
        self.writes = 0
        self.read: Callable[[LT], Any] | None = None
        self.expected: Callable[[LT], Any] | None = None
        self.found: Callable[[Any], Any] | None = None

    @classmethod
    def _should_skip_dynamo(cls) -> bool:
        """False, or torch wraps every call in a function that imports its compiler."""
        return False

    def observe(self, func: Any, args: tuple[Any, ...], kwargs: dict[str, Any], result: Any) -> None:
        """Called behind each op."""

    def observe_known(self, facts: OpFacts, known: Known, tensors: list[torch.Tensor], args: tuple[Any, ...], kwargs: dict[str, Any], result: Any) -> None:
        """Called instead where something is remembered of calls with such arguments; `tensors` are those among them."""
        self.observe(facts.func, args, kwargs, result)

    def __torch_dispatch__(self, func: Any, types: Any, args: tuple[Any, ...] = (), kwargs: dict[str, Any] | None = None) -> Any:
        kwargs = kwargs or {}
        facts = facts_of(func)
        if facts.is_special:
            result = self._special(facts, func, args, kwargs)
            if result is not NotImplemented:
                return result
        if facts.is_random:
            self.draws += 1
        tensors: list[torch.Tensor] = []
        try:
            known = self.cache.look_up(facts, args, kwargs, tensors)
        except _Symbolic:
            return self._with_numbers(func, args, kwargs)
        result = make_lt(known.template) if known.is_one else instantiate(known.template, args, kwargs)
        if facts.writes:
            self.writes += 1
        self.observe_known(facts, known, tensors, args, kwargs, result)
        return result

    def _with_numbers(self, func: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """An op with numbers of run time among its arguments: sizes, or numbers on which the metadata of its results do not depend."""
        sized, named = with_size_numbers(func, with_dims(args), {name: with_dims(value) for name, value in kwargs.items()})
        if not holds_number((sized, named)):
            if _holds_symbol((*sized, *named.values())):
                raise UnsupportedTensor("a symbolic number that is not ours reached propagation")
            return self.__torch_dispatch__(func, (), sized, named)
        args, kwargs = sized, named
        plain_args, plain_kwargs = with_examples(func, args, kwargs)
        result = instantiate(self.cache.find(func, plain_args, plain_kwargs), plain_args, plain_kwargs)
        kept_args, kept_kwargs = settled(func, args, kwargs, result)
        if facts_of(func).writes:
            self.writes += 1
        self.observe(func, kept_args, kept_kwargs, result)
        return result

    def _special(self, facts: OpFacts, func: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """Ops that are not looked up by metadata; NotImplemented for those that turn out to be."""
        if facts.kind is Kind.PLAIN:
            return NotImplemented
        if facts.kind is Kind.QUERY:
            return _attribute_query(func, args, kwargs)
        if func is aten.equal.default:
            answer = self.expected(args[0]) if self.expected is not None and type(args[0]) is LT else None
            return NotImplemented if answer is None else answer
        if facts.kind is Kind.ELEMENT:
            return self._element(args[0])
        if facts.kind is Kind.FOUND:
            return self._with_found_size(func, args, kwargs)
        if facts.kind is Kind.METADATA:
            return self._change_metadata(func, args, kwargs)
        with self, without_symbols():
            return STAND_INS[func](*args, **kwargs) if facts.kind is Kind.TRANSLATED else func.decompose(*args, **kwargs)

    def _with_found_size(self, func: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """A call whose results have a size that is known when it runs; NotImplemented where that has no symbol."""
        if self.found is None or results_of(func)(LEAST, *args, **kwargs) is None:
            return NotImplemented
        size = self.found(func)
        if size is None:
            return NotImplemented
        result = instantiate(results_of(func)(size, *args, **kwargs), args, kwargs)
        self.observe(func, args, kwargs, result)
        return result

    def _element(self, tensor: torch.Tensor) -> Any:
        if type(tensor) is LT:
            number = self.read(tensor) if self.read is not None else None
            if number is None:
                raise DataDependent("the program reads an element of a traced tensor")
            return number
        return aten._local_scalar_dense.default(tensor)

    def _change_metadata(self, func: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """`t_`, `squeeze_` and the like change the tensor they are called on; no elements move."""
        if func._schema.name in STORAGE_OPS or type(args[0]) is not LT:
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


def is_random(func: Any) -> bool:
    """True for an operator that draws from a random generator."""
    return facts_of(func).is_random


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
