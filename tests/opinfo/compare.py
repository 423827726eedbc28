"""Whether what a compiled call did is what eager did: values, dtypes, strides, memory shared with the arguments, and what the arguments hold."""

from __future__ import annotations

from typing import Any, NamedTuple

import torch

from tests.opinfo.samples import tensors_in

# Relative and absolute tolerance where a result is not eager's bit by bit: torch.testing's own, but for halves, which may be one rounding apart.
TOLERANCES = {
    torch.float32: (1.3e-6, 1e-5),
    torch.float64: (1e-7, 1e-7),
    torch.bfloat16: (2**-7, 2**-12),
    torch.float16: (2**-10, 2**-15),
    torch.complex64: (1.3e-6, 1e-5),
    torch.complex128: (1e-7, 1e-7),
}


class Snapshot(NamedTuple):
    """What a call left: the result, whose memory its tensors lie in, and the arguments behind the call; or the exception."""

    result: Any
    sharing: tuple[Any, ...]
    arguments: tuple[torch.Tensor, ...]
    versions: tuple[int, ...]
    gradients: tuple[Any, ...]
    error: BaseException | None
    state: torch.Tensor  # of the generator


def sharing_of(result: Any, arguments: list[torch.Tensor]) -> tuple[Any, ...]:
    """For each tensor of a result: is it an argument, or does it lie in the memory of one or of an earlier result, and at which offset."""
    found = []
    earlier: list[torch.Tensor] = []
    for tensor in tensors_in(result):
        place: Any = None
        for number, other in enumerate([*arguments, *earlier]):
            if tensor is other:
                place = ("same", number)
                break
            if _memory(tensor) is not None and _memory(tensor) == _memory(other):
                place = ("in", number, tensor.storage_offset())
                break
        found.append(place)
        earlier.append(tensor)
    return tuple(found)


def _memory(tensor: torch.Tensor) -> int | None:
    if tensor.layout is not torch.strided or not tensor.numel():
        return None
    return tensor.untyped_storage().data_ptr() or None


def difference(want: Snapshot, got: Snapshot, values: bool = True, out: bool = False, slack: float = 0.0) -> tuple[str, str]:
    """(how, what): `equal`, `close`, or a kind of fault with a sentence.

    Without `values`, metadata alone is compared; with `out`, how often an argument was written is not; `slack` is added to the absolute tolerance.
    """
    if want.error is not None or got.error is not None:
        return _errors(want.error, got.error)
    how = "equal"
    for kind, expected, found in (
        ("value", want.result, got.result),
        ("argument", list(want.arguments), list(got.arguments)),
        ("gradient", list(want.gradients), list(got.gradients)),
    ):
        each, what = _values(expected, found, values, slack)
        if each not in ("equal", "close"):
            return (kind if each == "value" else f"{each} of {kind}" if kind != "value" else each), what
        how = "close" if "close" in (how, each) else "equal"
    if want.sharing != got.sharing:
        return "memory", f"results lie in {got.sharing}, eager's in {want.sharing}"
    # Where torch's own code writes twice to a storage-less tensor and once to a real one, that is of no account: it is written.
    if [bool(count) for count in want.versions] != [bool(count) for count in got.versions] or (not out and want.versions != got.versions):
        return "version", f"arguments count {got.versions} writes, eager's {want.versions}"
    return how, ""


def no_less_exact(want: Any, got: Any, exact: Any) -> bool:
    """True when `got` is at most one rounding further from the exact values than eager's `want`, each measured where it is furthest off.

    A derivative may be the power of a result that is one rounding off, or the difference of results that nearly cancel.  Where eager has NaN and the exact
    value is a number, as for fmod by the least of numbers, `got` is that number.
    """
    for a, b, true in zip(tensors_in(want), tensors_in(got), tensors_in(exact)):
        if a.dtype not in TOLERANCES:
            if not torch.equal(a, b):
                return False
            continue
        scale = true.double().abs() + TOLERANCES[a.dtype][1]
        errors = [((each.double() - true.double()) / scale).nan_to_num(nan=0.0).abs().max().item() for each in (a, b) if each.numel()]
        lost = a.isnan() & ~true.isnan()
        if errors and (errors[1] > errors[0] + TOLERANCES[a.dtype][0] or bool((a.isnan() != b.isnan())[~lost].any()) or bool(b[lost].isnan().any())):
            return False
    return True


def _errors(want: BaseException | None, got: BaseException | None) -> tuple[str, str]:
    if want is None or got is None or type(want) is not type(got):
        return "exception", f"{_error(got)} instead of {_error(want)}"
    if str(want) != str(got):
        return "message", f"{_error(got)} instead of {_error(want)}"
    return "equal", ""


def _error(error: BaseException | None) -> str:
    return "no exception" if error is None else f"{type(error).__name__}: {str(error)[:300]}"


def _values(want: Any, got: Any, values: bool, slack: float) -> tuple[str, str]:
    if isinstance(want, torch.Tensor):
        return _tensors(want, got, values, slack)
    if type(want) is not type(got):
        return "type", f"{type(got).__name__} instead of {type(want).__name__}"
    if isinstance(want, tuple | list):
        if len(want) != len(got):
            return "length", f"{len(got)} instead of {len(want)}"
        how = "equal"
        for a, b in zip(want, got):
            each, what = _values(a, b, values, slack)
            if each not in ("equal", "close"):
                return each, what
            how = "close" if "close" in (how, each) else "equal"
        return how, ""
    if isinstance(want, dict):
        return _values(list(want.items()), list(got.items()), values, slack)
    same = want == got or (want != want and got != got) or not values
    return ("equal", "") if same else ("value", f"{got!r} instead of {want!r}")


def _tensors(want: torch.Tensor, got: Any, values: bool, slack: float) -> tuple[str, str]:
    if not isinstance(got, torch.Tensor):
        return "type", f"{type(got).__name__} instead of a tensor"
    for name, a, b in (("dtype", want.dtype, got.dtype), ("shape", want.shape, got.shape), ("layout", want.layout, got.layout)):
        if a != b:
            return name, f"{b} instead of {a}"
    if want.requires_grad != got.requires_grad:
        return "requires_grad", f"{got.requires_grad} instead of {want.requires_grad}"
    if want.layout is not torch.strided:
        return _tensors(want.detach().to_dense(), got.detach().to_dense(), values, slack)
    if want.stride() != got.stride():
        return "strides", f"{got.stride()} instead of {want.stride()} of {tuple(want.shape)}"
    if (want.is_conj(), want.is_neg()) != (got.is_conj(), got.is_neg()):
        return "conjugation", "differs"
    return _elements(want.detach(), got.detach(), slack) if values else ("equal", "")


def _elements(want: torch.Tensor, got: torch.Tensor, slack: float) -> tuple[str, str]:
    want, got = want.resolve_conj().resolve_neg(), got.resolve_conj().resolve_neg()
    if want.is_complex():
        want, got = torch.view_as_real(want), torch.view_as_real(got)
    if not want.is_floating_point():
        unequal = want != got
        return ("value", _worst(want, got, unequal)) if unequal.any() else ("equal", "")
    both = (want == got) | (want.isnan() & got.isnan())
    zeros = (want == 0) & (got == 0) & (want.signbit() != got.signbit())
    if bool(both.all()) and not bool(zeros.any()):
        return "equal", ""
    if bool(zeros.any()):
        return "zero", _worst(want, got, zeros)
    relative, absolute = TOLERANCES[want.dtype]
    apart = ~both & ~((want.double() - got.double()).abs() <= absolute + slack + relative * want.double().abs())
    return ("value", _worst(want, got, apart)) if apart.any() else ("close", "")


def _worst(want: torch.Tensor, got: torch.Tensor, where: torch.Tensor) -> str:
    place = tuple(int(index) for index in where.nonzero()[0])
    return f"{got[place].item()!r} instead of {want[place].item()!r} at {place}, {int(where.sum())} of {want.numel()} differ"
