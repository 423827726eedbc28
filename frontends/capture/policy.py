"""What C code may run for real during a trace, by descriptor: tables only.

`PURE` functions read their arguments and change nothing; `MUTATORS` change their first argument; `FOLDED` functions have one answer inside a
compiled frame; `LEAF_MODULES` hold Python functions that are recorded as one call.  A C function in no table breaks the graph.
"""

from __future__ import annotations

import binascii
import builtins
import cmath
import collections
import functools
import itertools
import math
import operator
import os
import re
import struct
import sys
import time
import types
from collections.abc import Mapping
from types import MappingProxyType
from typing import Any

import torch

from lect.frontends.capture.numpy_values import METHODS
from lect.frontends.capture.scalars import NUMPY_NUMBERS

_READS = MappingProxyType(
    {
        list: "__getitem__ __len__ __contains__ __iter__ __reversed__ index count copy __add__ __mul__ __rmul__ __eq__ __ne__ __lt__ __le__ __gt__ __ge__",
        dict: "get keys values items copy __getitem__ __len__ __contains__ __iter__ __reversed__ __eq__ __ne__ __or__ __ror__",
        set: "__len__ __contains__ __iter__ copy difference intersection union symmetric_difference issubset issuperset isdisjoint "
        "__and__ __or__ __sub__ __xor__ __eq__ __ne__ __le__ __lt__ __ge__ __gt__",
        collections.deque: "__len__ __contains__ __iter__ __getitem__ copy count index __eq__ __reversed__",
        collections.OrderedDict: "keys values items copy __iter__ __reversed__ __eq__ __or__",
        re.Pattern: "search match fullmatch findall finditer split sub subn __eq__ __ne__ __hash__",
        re.Match: "group groups groupdict start end span expand __getitem__",
    }
)
_WRITES = MappingProxyType(
    {
        list: "append extend insert pop remove clear sort reverse __setitem__ __delitem__ __iadd__ __imul__",
        dict: "__setitem__ __delitem__ update pop popitem setdefault clear __ior__",
        set: "add discard remove pop clear update difference_update intersection_update symmetric_difference_update __ior__ __iand__ __isub__ __ixor__",
        collections.deque: "append appendleft pop popleft extend extendleft clear rotate remove insert reverse __setitem__ __delitem__ __iadd__ __imul__",
        collections.OrderedDict: "__setitem__ __delitem__ update pop popitem setdefault clear move_to_end __ior__",
    }
)
_VALUE_TYPES = (str, int, float, complex, bytes, tuple, frozenset, range, slice, bool, torch.Size, types.MappingProxyType)
_PURE_BUILTINS = "abs ascii bin chr divmod hex max min oct ord pow round sorted zip enumerate reversed map filter".split()

PURE_TYPES = frozenset(
    {int, float, complex, bytes, tuple, list, dict, set, frozenset, range, slice, enumerate, zip, map, filter, reversed, collections.OrderedDict}
    | {collections.deque, torch.Size, torch.device, torch.finfo, torch.iinfo, types.MappingProxyType, types.SimpleNamespace}
    | {value for value in vars(itertools).values() if isinstance(value, type)}
    | NUMPY_NUMBERS
)
# They ask for an item when they are asked for one.
LAZY = frozenset({map, filter, zip, enumerate} | {value for value in vars(itertools).values() if isinstance(value, type)})
# They use up an iterable at once.  Those of the first kind guess at its length first, those of the second look the items up, those of the third the
# first of each pair.
LISTING = frozenset({list, tuple, sorted, str.join, collections.deque, math.fsum, math.prod})
IN_ORDER = (LISTING | LAZY) - {sorted}  # they read the items of a set in its order
HASHING = frozenset({set, frozenset, dict.fromkeys, collections.OrderedDict.fromkeys}) | frozenset(
    getattr(cls, name) for cls in (set, frozenset) for name in ("union", "difference", "intersection", "symmetric_difference")
)
# They look for their second argument in a dictionary or set.
READ_ONE = frozenset({dict.get, dict.__getitem__, dict.__contains__, set.__contains__, frozenset.__contains__})
# They compare the items of one set with those of another.
COMPARES_ITEMS = (
    (HASHING - {set, frozenset, dict.fromkeys, collections.OrderedDict.fromkeys})
    | frozenset(getattr(cls, f"__{name}__") for cls in (set, frozenset) for name in "and rand or ror sub rsub xor rxor eq ne le lt ge gt".split())
    | frozenset(getattr(cls, name) for cls in (set, frozenset) for name in ("isdisjoint", "issubset", "issuperset"))
)
PAIRING = frozenset({dict, collections.OrderedDict})
# Called with a Python function, they call it: the interpreter follows.
CALLBACKS = frozenset(
    {map, filter, sorted, max, min, functools.reduce, list.sort, itertools.takewhile, itertools.dropwhile, itertools.starmap, itertools.accumulate}
    | {re.Pattern.sub, re.Pattern.subn}
)


def _named(table: Mapping[Any, str]) -> frozenset[Any]:
    return frozenset(cls.__dict__[name] for cls, names in table.items() for name in names.split() if name in cls.__dict__)


def _pure() -> frozenset[Any]:
    found: set[Any] = set(_named(_READS))
    for cls in _VALUE_TYPES:
        for name, value in cls.__dict__.items():
            if callable(value) and type(value) not in (staticmethod, classmethod) and name not in ("__new__", "__init_subclass__", "__class_getitem__"):
                found.add(value)
    found |= {getattr(builtins, name) for name in _PURE_BUILTINS}
    found |= {value for value in vars(math).values() if callable(value)}
    found |= {value for value in vars(operator).values() if type(value) is types.BuiltinFunctionType}
    found |= {functools.reduce, sys.intern, object.__eq__, object.__ne__, object.__hash__, itertools.chain.from_iterable, dict.fromkeys}
    found |= METHODS
    found |= {value for value in vars(cmath).values() if callable(value)}
    found |= {struct.pack, struct.unpack, struct.calcsize, os.fspath, binascii.hexlify, binascii.unhexlify, binascii.crc32}
    found |= {str.maketrans, bytes.fromhex, float.fromhex, int.from_bytes}
    return frozenset(found)


PURE = _pure()
# Of these, those that take numbers for what they are worth.
OF_NUMBERS = frozenset(value for module in (math, cmath) for value in vars(module).values() if callable(value))


def _movers() -> frozenset[Any]:
    found = set(_named(dict.fromkeys((list, tuple, dict, set, frozenset, collections.deque, collections.OrderedDict), _MOVES)))
    found |= {list, tuple, dict, zip, enumerate, map, filter, reversed, range, slice, collections.deque, collections.OrderedDict, types.MappingProxyType}
    found |= {value for value in vars(itertools).values() if isinstance(value, type)} | {itertools.chain.from_iterable, types.SimpleNamespace, functools.reduce}
    return frozenset(found | {operator.getitem, operator.add, operator.concat, operator.mul})


_MOVES = "__getitem__ __len__ __iter__ __reversed__ copy __add__ __mul__ __rmul__ get keys values items"
# Of the pure functions, those that only move the items of containers about: which objects these are decides nothing.
MOVERS = _movers()
MUTATORS = _named(_WRITES)

# Whether this is compiled: yes, but for a frame that would then raise.
COMPILING = frozenset({torch.compiler.is_compiling, torch.compiler.is_dynamo_compiling})
# What a frame that is being compiled is told.
FOLDED: Mapping[Any, Any] = MappingProxyType(
    {
        torch.compiler.is_exporting: False,
        torch.jit.is_tracing: False,
        torch.jit.is_scripting: False,
        torch._C._get_tracing_state: None,
        torch._jit_internal.is_scripting: False,
        torch.overrides.has_torch_function: False,
        torch.overrides.has_torch_function_unary: False,
        torch.overrides.has_torch_function_variadic: False,
        torch._C._log_api_usage_once: None,
        torch._C._len_torch_dispatch_stack: 0,  # guarded with the state of torch, as the next
        torch._C._len_torch_function_stack: 0,
        torch._C._is_torch_function_mode_enabled: False,
        torch._assert: None,
    }
)
# Questions about torch's state; the answer is real and the state is guarded once for the frame.
STATE_QUERIES = frozenset({torch.is_grad_enabled, torch.is_inference_mode_enabled, torch.get_default_dtype, torch.are_deterministic_algorithms_enabled})
# Questions about the machine, which has one answer as long as the process lives.
MACHINE = frozenset(
    {
        torch._C._accelerator_getAccelerator,
        torch.cuda.is_available,
        torch.cuda.device_count,
        torch.cuda.is_bf16_supported,
        torch.backends.cuda.is_built,
        torch.backends.mps.is_available,
    }  # fmt: skip
)
# Pure questions about a tensor's metadata that torch answers with a plain value.
LEAF_MODULES = (
    "torch.nn.functional",
    "torch.functional",
    "torch._tensor",
    "torch.special",
    "torch.linalg",
    "torch.fft",
    "torch._jit_internal",
    "torch.nn.init",
    "torch._VF",
)
NEEDS_ELEMENTS = frozenset(
    {
        "data_ptr",
        "numpy",
        "tolist",
        "item",
        "__reduce_ex__",
        "storage",
        "untyped_storage",
        "__array__",
        "__deepcopy__",
        "__dlpack__",
        "__bool__",
        "__int__",
        "__float__",
    }
    | {"__index__", "__complex__", "__contains__", "__format__", "__repr__", "__str__", "equal", "allclose", "is_nonzero", "nonzero", "unique", "__iter__"}
)
# Of these, what may be answered while tracing where the elements are known.
READS = frozenset(
    {"tolist", "item", "__bool__", "__int__", "__float__", "__index__", "__complex__", "__contains__", "equal", "allclose", "is_nonzero", "nonzero", "unique"}
)
# Of these, what has a result whose size the elements decide.
FINDS_SIZES = frozenset({"nonzero", "unique"})
REFUSED_METHODS = frozenset(
    {"backward", "register_hook", "set_", "resize_", "share_memory_", "pin_memory", "data", "grad"}
    | {"storage_offset", "is_inference", "is_shared", "is_pinned", "set_data", "swap_tensors", "_version", "type"}
)
REFUSED_ATTRIBUTES = REFUSED_METHODS - {"data"}  # which only calls of ours ask for, where what it gives does not leave the graph
# Methods that change what autograd does with a tensor: the graph that calls one runs through torch.
GRADIENT_SWITCHES = frozenset({"requires_grad_", "retain_grad", "detach_"})
# What these answer follows from the metadata of a tensor, if it is no tensor itself.
OF_METADATA = frozenset(
    "dim ndimension size stride numel nelement type element_size is_contiguous is_floating_point is_complex is_signed __len__ get_device".split()
)
# Functions whose sixth argument says whether they update running statistics.
STATISTICS = frozenset({"batch_norm", "instance_norm", "native_batch_norm"})
# Functions of torch that may be called on no tensor at all: they make one, or answer from their arguments alone.
WITHOUT_TENSOR = frozenset(
    "arange as_tensor bartlett_window blackman_window broadcast_shapes can_cast empty empty_permuted empty_strided eye finfo full hamming_window "
    "hann_window iinfo kaiser_window linspace logspace normal ones promote_types rand randint randn randperm range result_type scalar_tensor tensor "
    "fftfreq rfftfreq tril_indices triu_indices zeros generator_state _none_or_dtype _canonical_mask _set_grad_enabled Size device".split()
)
# Python functions of torch that look at their numbers no further than the function in C that they call.
TAKES_NUMBERS = frozenset(f"torch.Tensor.__{name}__" for name in "rsub rdiv rtruediv rfloordiv rpow rmod pow ipow floordiv".split())
# Functions of tensors and numbers, of which a size may be one: what it is does not hang on the sizes of tensors.
COMPUTES_WITH_NUMBERS = frozenset(
    f"{prefix}{name}" for name in "add sub mul div truediv floordiv mod pow true_divide floor_divide remainder fmod".split() for prefix in ("", "r", "i")
) | frozenset("eq ne lt le gt ge clamp clamp_min clamp_max masked_fill fill subtract multiply divide".split())
# Python functions of torch that call functions of the program, or compute with Python's numbers alone.
FOLLOWED = frozenset({torch.nn.functional.triplet_margin_with_distance_loss, torch.nn.init.calculate_gain})
# What stands in front of a clock must have run when it is read.
CLOCKS = frozenset(getattr(time, name + end) for name in ("time", "perf_counter", "monotonic", "process_time", "thread_time") for end in ("", "_ns"))
OUTSIDE_WORLD = CLOCKS | frozenset({time.sleep, print, input, open, exec, eval, compile, breakpoint, __import__})
# Special methods that a C function may call on an argument.
CALLED_BY_C = tuple(
    f"__{name}__"
    for name in (
        "iter next len index int float complex bytes abs round trunc floor ceil reversed bool hash pow rpow divmod rdivmod contains getitem fspath".split()
    )
)
