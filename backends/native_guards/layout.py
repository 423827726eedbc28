"""Where CPython and torch keep what guards read: offsets in bytes, found by searching objects for values that are known, never assumed.

An offset that is not found, or found twice, is a `LayoutError`: then guards run as Python.  The checker that reads by these offsets is tested on
tensors and dictionaries of many kinds before it is used (see `selftest`).
"""

from __future__ import annotations

import ctypes
import struct
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import cache
from types import CellType, FunctionType
from typing import Any

import numpy
import torch

from lect.ir import LectError

POINTER = 8
LOWEST = 1 << 16  # address of anything; the heap of a program that is loaded at a fixed place begins low
MANAGED_DICT = -3 * POINTER  # of objects that Python itself gives a dictionary
VERSION_MASKS = (~0, ~0xFF, ~0xFFF)  # the low bits are for watchers since 3.12, and some more since 3.13


class LayoutError(LectError):
    """What guards read is not where it was looked for."""


@dataclass(frozen=True)
class Layout:
    """Offsets in bytes.  Tensor: `handle` in the object, the others in `TensorImpl` but `requires_grad`, which is in its autograd metadata."""

    handle: int
    keys: int
    sizes: int
    strides: int
    rank: int
    dtype: int
    autograd: int
    requires_grad: int
    grad: int  # in the autograd metadata too: the gradient, or what stands for none
    no_grad: int  # that, an address in this process: no part of the code, which other processes take out of the cache
    numel: int
    storage: int
    data: int  # in the storage: the address of its memory
    object: int  # the tensor object of a `TensorImpl`, with flags in its low bits
    dict_tag: int
    dict_tag_mask: int  # 0 where the tag does not change with every change of the dictionary
    type_tag: int
    members: dict[str, int]  # of functions and cells
    grad_mode: tuple[int, int]  # byte and bit in the autograd state of a thread
    inference_mode: tuple[int, int]
    autocast_keys: int


def words(address: int, count: int) -> list[int]:
    """The 64-bit words of memory from an address on."""
    return list((ctypes.c_uint64 * count).from_address(address))


def word(address: int) -> int:
    """The 64-bit word at an address."""
    return ctypes.c_uint64.from_address(address).value


def bytes_at(address: int, count: int) -> bytes:
    """The bytes of memory from an address on."""
    return ctypes.string_at(address, count)


def only(found: Iterable[int], what: str) -> int:
    """The only element.  Raises `LayoutError` when it is not one."""
    places = sorted(found)
    if len(places) != 1:
        raise LayoutError(f"{what} is found in {len(places)} places: {places[:8]}")
    return places[0]


def common(samples: Iterable[tuple[bytes, bytes]], what: str, step: int) -> int:
    """The only offset, a multiple of `step`, at which each memory holds its value."""
    found: set[int] | None = None
    for memory, value in samples:
        here = {place for place in range(0, len(memory) - len(value) + 1, step) if memory[place : place + len(value)] == value}
        found = here if found is None else found & here
    return only(found or (), what)


def _u64(value: int) -> bytes:
    return struct.pack("<Q", value % 2**64)


IMPL_BYTES = 26 * POINTER  # of TensorImpl that are searched; it is no smaller


def _impl(tensor: torch.Tensor) -> bytes:
    return bytes_at(tensor._cdata, IMPL_BYTES)


def _tensor_offsets() -> dict[str, int]:
    """Where a tensor object has its handle, and that its metadata."""
    samples = [torch.empty_strided((3, 5), (7, 1)), torch.empty(2, 3, 4), torch.nn.Parameter(torch.empty(4, 4)), torch.empty(3, device="meta")]
    tall = [torch.empty_strided((size, 13), (1000 + size, 1), dtype=torch.float64) for size in (11, 17, 19)]
    kinds = (torch.float32, torch.float64, torch.int64, torch.bfloat16, torch.bool, torch.uint8)
    codes = {dtype: dtype_code(dtype) for dtype in kinds}
    sizes = common([(_impl(each), _u64(each.shape[0]) + _u64(13)) for each in tall], "the sizes of a tensor", POINTER)
    ranks = [torch.empty((1,) * rank) for rank in range(1, 6)]
    return {
        "handle": tensor_handle(),
        "keys": common([(_impl(each), _u64(torch._C._dispatch_keys(each).raw_repr())) for each in samples], "the dispatch keys of a tensor", POINTER),
        "sizes": sizes,
        "strides": common([(_impl(each), _u64(each.stride(0)) + _u64(1)) for each in tall], "the strides of a tensor", POINTER),
        "rank": common([(_impl(each)[:sizes], _u64(each.dim())) for each in ranks], "the rank of a tensor", POINTER),
        "dtype": common([(_impl(torch.empty(37, 41, dtype=dtype)), struct.pack("<H", code)) for dtype, code in codes.items()], "the dtype of a tensor", 2),
    }


@cache
def tensor_handle() -> int:
    """Where a tensor object has its handle.  Raises `LayoutError`."""
    samples = [torch.empty(2, 3), torch.nn.Parameter(torch.empty(4)), torch.empty(3, device="meta")]
    return common([(bytes_at(id(each), each.__sizeof__()), _u64(each._cdata)) for each in samples], "the handle of a tensor", POINTER)


def dtype_code(dtype: torch.dtype) -> int:
    """The number that torch gives an element type, from the C interface for other compilers."""
    symbol: Callable[[], int] = getattr(_torch_library(), f"aoti_torch_dtype_{str(dtype).partition('.')[2]}")
    return symbol()


@cache
def _torch_library() -> ctypes.CDLL:
    return ctypes.CDLL(torch_libraries()[-2])


@cache
def torch_libraries() -> tuple[str, ...]:
    """Paths of the libraries of torch that native code calls: the core, the CPU's operators, the Python binding."""
    import os

    folder = os.path.join(os.path.dirname(torch.__file__), "lib")
    suffix = ".so"
    return tuple(os.path.join(folder, f"lib{name}{suffix}") for name in ("c10", "torch_cpu", "torch_python"))


def _autograd_offsets() -> tuple[int, int]:
    """Where `TensorImpl` points to its autograd metadata, and the byte there that says that a leaf requires gradients."""
    places = None
    for shape in ((7,), (2, 3)):
        tensor = torch.empty(shape)
        states = [words(tensor._cdata, 26), words(tensor.requires_grad_()._cdata, 26)]
        here = {8 * n for n, (a, b) in enumerate(zip(*states)) if a == 0 and b >= LOWEST and b % POINTER == 0}
        places = here if places is None else places & here
    pointer = only(places or (), "the autograd metadata of a tensor")
    flags: set[int] | None = None
    for shape in ((3,), (2, 5)):
        leaf = torch.zeros(shape).requires_grad_()
        place = word(leaf._cdata + pointer)
        count = 160
        on = bytes_at(place, count)
        leaf.requires_grad_(False)
        off = bytes_at(place, count)
        leaf.requires_grad_(True)
        again = bytes_at(place, count)
        here = {n for n in range(count) if (on[n], off[n], again[n]) == (1, 0, 1)}
        flags = here if flags is None else flags & here
    return pointer, only(flags or (), "the byte that says that a tensor requires gradients")


def _dict_tag() -> tuple[int, int]:
    """Where a dictionary has its version, and which bits of it; no bits where some change does not show."""
    sample = {"a": 1, "b": 2}
    before = words(id(sample), 6)
    sample["a"] = 3  # keeps number and table of the keys
    after = words(id(sample), 6)
    place = only([8 * n for n in range(2, 6) if before[n] != after[n]], "the version of a dictionary")
    for mask in VERSION_MASKS[::-1]:
        if _sees_changes(place, mask):
            return place, mask
    return place, 0


def _gradient_offsets(autograd: int) -> dict[str, int]:
    """Where the autograd metadata has the gradient, what is there when there is none, and where a gradient has its object."""
    places: set[int] | None = None
    for shape in ((3,), (2, 5)):
        leaf, gradient = torch.zeros(shape).requires_grad_(), torch.ones(shape)
        meta = word(leaf._cdata + autograd)
        before = words(meta, 12)
        leaf.grad = gradient
        here = {8 * n for n, (old, new) in enumerate(zip(before, words(meta, 12))) if new == gradient._cdata and old != new}
        places = here if places is None else places & here
        nothing = before
    place = only(places or (), "the gradient of a tensor")
    samples = [torch.empty(2), torch.empty(3)]
    found = [{8 * n for n, each in enumerate(words(sample._cdata, 26)) if each & ~3 == id(sample)} for sample in samples]
    return {"grad": place, "no_grad": nothing[place // 8], "object": only(found[0] & found[1], "the object of a tensor")}


def _memory_offsets() -> dict[str, int]:
    """Where a tensor has its number of elements and its storage, and that its memory."""
    tensors = [torch.empty(17, 3), torch.empty(5, 7)[1:, 2:], torch.empty(41, 43).t()]
    memories = [torch.empty(5).untyped_storage(), torch.from_numpy(numpy.zeros(7)).untyped_storage()]
    return {
        "numel": common([(_impl(each), _u64(each.numel())) for each in tensors], "the number of elements of a tensor", POINTER),
        "storage": common([(_impl(each), _u64(each.untyped_storage()._cdata)) for each in tensors], "the storage of a tensor", POINTER),
        "data": common([(bytes_at(each._cdata, 10 * POINTER), _u64(each.data_ptr())) for each in memories], "the memory of a storage", POINTER),
    }


class _Plain:
    """An object whose attributes change."""


def _sees_changes(place: int, mask: int) -> bool:
    """True when each way to change a dictionary gives another version, and reading gives none."""
    plain = _Plain()
    plain.first = 1  # type: ignore[attr-defined]
    members = plain.__dict__
    other = {"a": 1, "b": 2, "c": 3}

    def store(value: int) -> None:
        for _ in range(40):  # so often that Python specialises the instruction
            plain.first = value + _  # type: ignore[attr-defined]

    changes: list[tuple[dict[str, Any], Callable[[], Any]]] = [
        (members, lambda: store(2)),
        (members, lambda: setattr(plain, "second", 1)),
        (members, lambda: setattr(plain, "first", 99)),
        (members, lambda: object.__setattr__(plain, "first", 98)),
        (members, lambda: delattr(plain, "second")),
        (members, lambda: members.update(first=5)),
        (other, lambda: other.__setitem__("a", 7)),
        (other, lambda: other.update(b=8)),
        (other, lambda: other.setdefault("d", 9)),
        (other, lambda: other.pop("d")),
        (other, lambda: other.popitem()),
        (other, lambda: other.__ior__({"a": 11})),
        (other, lambda: other.__delitem__("b")),
        (other, lambda: other.clear()),
        (other, lambda: other.update(z=1)),
    ]
    for target, change in changes:
        before = word(id(target) + place) & mask
        _ = list(target.items()), target.get("a")
        if word(id(target) + place) & mask != before:
            return False
        change()
        if word(id(target) + place) & mask == before:
            return False
    return True


def _type_tag() -> int:
    """Where a class has its version: a number that is 0 after a change and another one after the next look-up."""
    found: set[int] | None = None
    for _ in range(2):
        made = type("Sample", (), {"a": 1})
        count: int = type.__basicsize__  # type: ignore[assignment]
        _ = made.a  # type: ignore[attr-defined]
        first = bytes_at(id(made), count)
        made.a = 2  # type: ignore[attr-defined]
        changed = bytes_at(id(made), count)
        _ = made.a  # type: ignore[attr-defined]
        second = bytes_at(id(made), count)
        states = [struct.unpack_from(f"<{count // 4}I", memory) for memory in (first, changed, second)]
        here = {4 * n for n, (a, b, c) in enumerate(zip(*states)) if a and not b and c and a != c}
        found = here if found is None else found & here
    return only(found or (), "the version of a class")


def _member_offsets() -> dict[str, int]:
    """Where functions and cells have what they refer to."""
    value = object()

    def sample(a: int = 1, *, b: int = 2) -> Any:
        return value

    cell = (sample.__closure__ or ())[0]
    found = {}
    for name in ("__code__", "__closure__", "__defaults__", "__kwdefaults__", "__globals__"):
        memory = bytes_at(id(sample), FunctionType.__basicsize__)
        found[name] = common([(memory, _u64(id(getattr(sample, name))))], f"'{name}' of a function", POINTER)
    found["cell_contents"] = common([(bytes_at(id(cell), CellType.__basicsize__), _u64(id(value)))], "the content of a cell", POINTER)
    return found


STATE_BYTES = 32  # of a thread's autograd state; it is no smaller


def _modes() -> dict[str, tuple[int, int]]:
    """The byte and bit of the autograd state in which a thread has its modes."""
    state = ctypes.CDLL(torch_libraries()[0])._ZN3c1013AutogradState13get_tls_stateEv
    state.restype = ctypes.c_void_p

    def read() -> int:
        return int.from_bytes(bytes_at(state(), STATE_BYTES), "little")

    with torch.inference_mode(False):
        with torch.enable_grad():
            on = read()
        with torch.no_grad():
            grad = on ^ read()
            plain = read()
            with torch.inference_mode(), torch.no_grad():
                inference = plain ^ read()
            for asked, switch in (  # which inference mode turns off as well
                (torch._C._is_fwd_grad_enabled, torch._C._set_fwd_grad_enabled),
                (torch._C._is_multithreading_enabled, torch._C._set_multithreading_enabled),
            ):
                state_now = asked()
                switch(not state_now)
                inference &= ~(plain ^ read())
                switch(state_now)
    found = {}
    for name, difference in (("grad_mode", grad), ("inference_mode", inference)):
        place = only([n for n in range(8 * STATE_BYTES) if difference >> n & 1], f"the {name} of a thread")
        found[name] = (place // 8, place % 8)
    return found


def _autocast_keys() -> int:
    """The dispatch keys of autocast on all devices, as bits: those between that of the CPU and that of devices of extensions."""
    first, last = (torch._C.DispatchKeySet(getattr(torch._C.DispatchKey, name)).raw_repr() for name in ("AutocastCPU", "AutocastPrivateUse1"))
    if not 0 < first < last or first & first - 1 or last & last - 1:
        raise LayoutError("the dispatch keys of autocast are not in a row")
    return int(2 * last - first)


@cache
def layout() -> Layout:
    """What was found, searched for once in a process.  Raises `LayoutError`."""
    try:
        tag, mask = _dict_tag()
        autograd, requires_grad = _autograd_offsets()
        found: dict[str, Any] = {**_tensor_offsets(), **_modes(), **_gradient_offsets(autograd), **_memory_offsets()}
        found |= {"autograd": autograd, "requires_grad": requires_grad}
        return Layout(**found, dict_tag=tag, dict_tag_mask=mask, type_tag=_type_tag(), members=_member_offsets(), autocast_keys=_autocast_keys())
    except (AttributeError, OSError, ValueError) as error:
        raise LayoutError(f"{type(error).__name__}: {error}") from error


def dict_offset(value: Any, members: dict[str, Any]) -> int | None:
    """How far from the address of an object the pointer to its instance dictionary lies; None when it is not where Python puts it."""
    stated = type(value).__dictoffset__
    for offset in (MANAGED_DICT, stated) if stated <= 0 else (stated,):
        if offset and word(id(value) + offset) == id(members):
            return offset
    return None


def dict_tag(members: dict[Any, Any], where: Layout) -> int:
    """The version of a dictionary."""
    return word(id(members) + where.dict_tag) & where.dict_tag_mask


def type_tag(cls: type, where: Layout) -> int:
    """The version of a class; 0 when it has none."""
    try:
        type.__getattribute__(cls, "__lect_any__")  # a look-up gives the class a version
    except AttributeError:
        pass
    return int(ctypes.c_uint32.from_address(id(cls) + where.type_tag).value)
