"""The test that a checker passes before it is used: its answers on objects of many kinds are those of Python.

It takes a few milliseconds and is about this process: offsets that were found by search may be those of something else, and a function of torch may do
more than it did.
"""

from __future__ import annotations

import contextlib
import ctypes
import struct
from collections.abc import Iterator, Sequence
from typing import Any

import torch

from lect.backends.native_guards.checker import Checker
from lect.backends.native_guards.layout import Layout, LayoutError, dict_offset, dict_tag, dtype_code, type_tag, word
from lect.backends.native_guards.modes import shared
from lect.backends.native_guards.table import Memory, Named, Row, Table, slot


def test(checker: Checker) -> None:
    """Raise `LayoutError` where an answer of the checker is wrong."""
    _Test(checker).run()


class _Sample:
    """An object with an instance dictionary."""


class _Test:
    def __init__(self, checker: Checker) -> None:
        self.checker = checker
        self.where: Layout = checker.layout

    def run(self) -> None:
        self.tensors()
        self.sizes()
        self.gradients()
        self.memories()
        self.scalars()
        self.containers()
        self.dictionaries()
        self.classes()
        for _ in _states():
            self.modes()
        self.modes()  # as in the beginning, behind all the others

    def holds(self, rows: list[Row], *objects: Any) -> bool:
        flat = (ctypes.c_uint64 * (len(objects) + 16))(*[id(each) for each in objects])
        return self.checker.holds(Table(rows, (), (), None, None).rows.words, flat)

    def expect(self, wanted: bool, what: str, row: Row, *objects: Any) -> None:
        if self.holds([row], *objects) != wanted:
            raise LayoutError(f"native guards fail their test: '{row[0]}' of {what} is {not wanted}")

    def tensors(self) -> None:
        samples = _tensors()
        for one in samples:
            row = tensor_row(slot(0), one, self.where)
            for other in samples:
                self.expect(_facts(one) == _facts(other), "two tensors", row, other)
            self.expect(False, "no tensor", row, 1)

    def sizes(self) -> None:
        samples = _tensors()
        for one in samples:
            layout = [*one.shape, *one.stride()]
            for free in ([], [0], range(one.dim()), range(len(layout))):
                row = sized_row(slot(1), one, [-1 if n in free else size for n, size in enumerate(layout)], slot(2), self.where)
                for other in samples:
                    found = [*other.shape, *other.stride()]
                    right = _but_layout(one) == _but_layout(other) and all(n in free or found[n] == size for n, size in enumerate(layout))
                    kept: list[Row] = [row for n, size in enumerate(found) for row in (("number", [size, slot(12)]), ("equal", [slot(2 + n), slot(12)]))]
                    if self.holds([row, *(kept if right else ())], 0, other) != right:
                        raise LayoutError("native guards fail their test: sizes that are free")
        for left, right_, kind, value in _sums():
            rows: list[Row] = [("number", [left, slot(0)]), ("number", [right_, slot(1)]), (kind, [slot(0), slot(1), slot(2)])]
            if self.holds(rows) != (value is not None):
                raise LayoutError(f"native guards fail their test: {left} {kind} {right_}")
            for other_ in (value, 7) if value is not None else ():
                last: list[Row] = [("number", [other_, slot(3)]), ("equal", [slot(2), slot(3)])]
                if self.holds([*rows, *last]) != (value == other_):
                    raise LayoutError(f"native guards fail their test: {left} {kind} {right_}")
        for number in (-3, 0, 2, 9):
            given: Row = ("number", [number, slot(0)])
            if self.holds([given, ("nonzero", [slot(0)])]) != (number != 0) or self.holds([given, ("range", [slot(0), 0, 8])]) != (0 <= number <= 8):
                raise LayoutError("native guards fail their test: ranges")

    def gradients(self) -> None:
        gradient = torch.ones(3)
        for cls in (torch.Tensor, torch.nn.Parameter):
            for given in (None, gradient):
                value = torch.zeros(3).requires_grad_() if cls is torch.Tensor else torch.nn.Parameter(torch.zeros(3))
                value.grad = given
                for wanted in (None, gradient):
                    rows: list[Row] = [("grad", [slot(0), id(cls), slot(1), self.where.no_grad]), ("is", [slot(1), id(wanted)])]
                    if self.holds(rows, value) != (given is wanted):
                        raise LayoutError("native guards fail their test: gradients")
        plain: list[Row] = [("grad", [slot(0), id(torch.Tensor), slot(1), self.where.no_grad]), ("is", [slot(1), id(None)])]
        if not self.holds(plain, torch.zeros(2)) or self.holds(plain, 1):
            raise LayoutError("native guards fail their test: tensors without gradients")

    def memories(self) -> None:
        base = torch.zeros(6)
        empty = torch.zeros(0)
        for tensors in (
            [base, base[2:]],
            [base, base.clone()],
            [empty, empty],
            [base[:2], empty, torch.nn.Parameter(torch.zeros(2)), base[4:]],
            [torch.zeros(1) for _ in range(9)],
            [*[torch.zeros(1) for _ in range(9)], base, base],
        ):
            used = [each.untyped_storage().data_ptr() for each in tensors if each.numel()]
            self.expect(len(set(used)) == len(used), "several tensors", apart_row([slot(n) for n in range(len(tensors))]), *tensors)
        self.expect(False, "no tensors", apart_row([slot(0), slot(1)]), base, 1)

    def scalars(self) -> None:
        numbers: list[Any] = [0, 1, -1, 7, 2**31, -(2**40), 2**62, -(2**63), 2**63, 2**80, True, 1.0, "1"]
        for low, high in ((0, 0), (-1, 1), (7, 2**40), (-(2**63), 2**63 - 1)):
            for number in numbers:
                wanted = type(number) is int and low <= number <= high
                self.expect(wanted, f"{number!r}", ("int", [slot(0), low, high]), number)
                self.expect(wanted, f"{number!r}", ("whole", [slot(0), low, high, slot(1)]), number)
                kept: list[Row] = [("whole", [slot(0), low, high, slot(1)]), ("number", [number if wanted else 0, slot(2)]), ("equal", [slot(1), slot(2)])]
                if self.holds(kept, number) != wanted:
                    raise LayoutError("native guards fail their test: the value of an int")
        for value in (1.5, -2.0, 1e300):
            bits = struct.unpack("<q", struct.pack("<d", value))[0]
            others: tuple[Any, ...] = (1.5, -2.0, 1e300, float("nan"), 0.0, 1, "a")
            for found in others:
                self.expect(type(found) is float and found == value, f"{found!r}", ("float", [slot(0), bits]), found)
        for text in ("word", b"word", torch.device("cpu")):
            texts: tuple[Any, ...] = ("".join(["wo", "rd"]), b"".join([b"wo", b"rd"]), torch.device("cpu"), torch.device("meta"), "other", 1)
            for each in texts:
                self.expect(type(each) is type(text) and each == text, f"{each!r}", ("text", [slot(0), id(text)]), each)

    def containers(self) -> None:
        one, two, three = object(), object(), object()
        wanted = Memory([id(one), id(two)])
        for cls in (list, tuple):
            for found in ([one, two], [one], [two, one], [one, two, three], []):
                for kind in (list, tuple):
                    right = kind is cls and found == [one, two]
                    self.expect(right, f"a {kind.__name__}", (cls.__name__, [slot(0), 2, wanted]), kind(found))
                right = len(found) == 2
                self.expect(right, "a length", ("length", [slot(0), id(cls), 2]), cls(found))
                last: list[Row] = [(f"{cls.__name__}_item", [slot(0), 1, slot(1)]), ("is", [slot(1), id(two)])]
                if self.holds(last, cls(found)) != (found[1:2] == [two]):
                    raise LayoutError("native guards fail their test: elements")

    def dictionaries(self) -> None:
        value, other = object(), object()
        for change in (lambda d: d.update(name=other), lambda d: d.pop("name"), lambda d: d.update(more=1), lambda d: d.clear()):
            for entries in (True, False):
                members = {"name": value, "b": other}
                table = Memory([id("name"), hash("name"), id(value)])
                row = ("dict", [id(members), dict_tag(members, self.where), 1 if entries else -1, table])
                self.expect(bool(self.where.dict_tag_mask) or entries, "an unchanged dictionary", row)
                change(members)
                self.expect(entries and members.get("name") is value, "a changed dictionary", row)
        read: list[Row] = [("dict_item", [slot(0), id("name"), hash("name"), slot(1)]), ("is", [slot(1), id(value)])]
        for found in ({"name": value}, {"name": other}, {}, [value]):
            if self.holds(read, found) != (found == {"name": value}):
                raise LayoutError("native guards fail their test: values of dictionaries")
        self.expect(False, "a dictionary with elements", ("empty", [1, id({"a": 1})]))
        members = {"a": 1}
        self.expect(False, "a dictionary with elements", ("empty", [1, id(members)]))
        members.clear()
        self.expect(True, "an empty dictionary", ("empty", [1, id(members)]))

    def classes(self) -> None:
        sample, other = _Sample(), _Sample()
        members = sample.__dict__
        members["x"] = value = object()
        offset = dict_offset(sample, members)
        if offset is not None:
            entries = Memory([id("x"), hash("x"), id(value)])
            row = ("instance", [slot(0), id(_Sample), offset, id(members), dict_tag(members, self.where), 1, entries])
            self.expect(True, "an unchanged object", row, sample)
            for found in (other, 1, _Sample):
                self.expect(False, "another object", row, found)
            sample.x = 3  # type: ignore[attr-defined]
            self.expect(False, "a changed object", row, sample)
        made = type("Made", (_Sample,), {})
        row = ("version", [id(made), type_tag(made, self.where)])
        self.expect(True, "an unchanged class", row)
        made.x = 1  # type: ignore[attr-defined]
        self.expect(False, "a changed class", row)

        def sample_function(a: int = 1) -> None:
            return None

        place = self.where.members["__defaults__"]
        row = ("member", [slot(0), place, id(sample_function.__defaults__)])
        self.expect(True, "the defaults of a function", row, sample_function)
        sample_function.__defaults__ = (2,)
        self.expect(False, "other defaults of a function", row, sample_function)

    def modes(self) -> None:
        c = torch._C
        plain = not (
            c._is_any_autocast_enabled()
            or c._len_torch_dispatch_stack()
            or c._len_torch_function_stack()
            or c._functorch.peek_interpreter_stack() is not None
            or c._get_tracing_state() is not None
        )
        grad, inference = torch.is_grad_enabled(), torch.is_inference_mode_enabled()
        dtype, deterministic = torch.get_default_dtype(), torch.are_deterministic_algorithms_enabled()
        self.expect(plain, "the state of torch", modes_row(grad, inference, dtype, deterministic, self.where))
        other = torch.float64 if dtype is not torch.float64 else torch.float32
        wrong: list[tuple[bool, bool, torch.dtype, bool]] = [
            (not grad, inference, dtype, deterministic),
            (grad, not inference, dtype, deterministic),
            (grad, inference, other, deterministic),
            (grad, inference, dtype, not deterministic),
        ]
        for first, second, third, fourth in wrong:
            self.expect(False, "another state of torch", modes_row(first, second, third, fourth, self.where))


def tensor_row(operand: int, value: torch.Tensor, where: Layout) -> Row:
    """The row for a tensor like this one."""
    impl = value._cdata
    flags = word(impl + where.dtype) & 0xFFFF | int(value.requires_grad) << 16
    layout = Memory([*value.shape, *value.stride()])
    return "tensor", [operand, id(type(value)), word(impl + where.keys), flags, value.dim(), layout]


def sized_row(operand: int, value: torch.Tensor, layout: Sequence[int], first: int, where: Layout) -> Row:
    """The row for a tensor like this one but for sizes and strides that are -1 in `layout`; all of them go to slots from `first` on."""
    _, (_, cls, keys, flags, rank, _) = tensor_row(operand, value, where)
    return "sized", [operand, cls, keys, flags, rank, Memory(layout), first]


def apart_row(operands: Sequence[int]) -> Row:
    """The row for tensors of which no two have one memory."""
    mask = (1 << (2 * len(operands)).bit_length()) - 1
    return "apart", [id(torch.Tensor), id(torch.nn.Parameter), len(operands), mask, Memory([0] * (mask + 1)), *operands]


def modes_row(grad: bool, inference: bool, dtype: torch.dtype, deterministic: bool, where: Layout) -> Row:
    """The row for these modes, and no others that are on.  Raises `LayoutError` when the modes are not in one byte."""
    (byte, grad_bit), (other, inference_bit) = where.grad_mode, where.inference_mode
    if byte != other:
        raise LayoutError("the modes of a thread are in two bytes")
    wanted = int(grad) << grad_bit | int(inference) << inference_bit
    common = Named(made.address, "threads") if (made := shared()) is not None else 0
    return "modes", [byte, 1 << grad_bit | 1 << inference_bit, wanted, dtype_code(dtype), int(deterministic), where.autocast_keys, common]


def _facts(tensor: torch.Tensor) -> tuple[Any, ...]:
    keys = torch._C._dispatch_keys(tensor).raw_repr()
    return type(tensor), tensor.dtype, tensor.shape, tensor.stride(), tensor.requires_grad, keys


def _but_layout(tensor: torch.Tensor) -> tuple[Any, ...]:
    kind, dtype, shape, _, *others = _facts(tensor)
    return kind, dtype, len(shape), *others


def _sums() -> Iterator[tuple[int, int, str, int | None]]:
    """Two integers, what is done with them, and what comes of it, None where a row does not hold."""
    for left, right in ((6, 4), (0, 5), (7, -2), (-7, 2), (5, 0), (2**31 - 1, 2**31 - 1), (2**31, 2), (2**61, 1), (-(2**61), -1), (2**40, 2**9)):
        small = all(-(2**31) <= number < 2**31 for number in (left, right))
        yield left, right, "times", left * right if small else None
        yield left, right, "plus", left + right if all(-(2**61) <= number < 2**61 for number in (left, right)) else None
        whole = left >= 0 and right > 0
        yield left, right, "floordiv", left // right if whole else None
        yield left, right, "mod", left % right if whole else None


def _tensors() -> list[torch.Tensor]:
    base = torch.empty(3, 5)
    leaf = torch.empty(3, 5, requires_grad=True)
    with torch.enable_grad(), torch.inference_mode(False):
        recorded = leaf.view(3, 5)
    return [
        base,
        torch.empty(5, 3).t(),
        base[:2],
        base[:, ::2],
        torch.empty(3, 5),
        torch.empty(3, 5, dtype=torch.float64),
        torch.empty(3, 5, dtype=torch.complex64),
        torch.empty(3, 5, dtype=torch.complex64).conj(),
        torch.empty(3, 5, dtype=torch.int64),
        torch.empty(3, 5, device="meta"),
        torch.empty(()),
        torch.empty(15),
        torch.empty(1, 2, 1, 2, 1, 2),
        torch.empty(1, 2, 1, 2, 1, 2, 1),
        torch.empty(1, 2, 1, 2, 1, 2, 1).transpose(1, 2),
        leaf,
        recorded,
        leaf.detach(),
        torch.nn.Parameter(base),
        torch.nn.Parameter(base, requires_grad=False),
    ]


def _states() -> Iterator[None]:
    """The modes of the calling thread, one after another."""
    c = torch._C
    for context in (contextlib.nullcontext(), torch.no_grad(), torch.enable_grad(), torch.inference_mode(), torch._C.DisableTorchFunctionSubclass()):
        with context:  # type: ignore[attr-defined]
            yield
    for device in ("cpu", "cuda", "xpu", "hpu", "mps", "xla", "mtia"):
        try:
            before = torch.is_autocast_enabled(device)
            torch.set_autocast_enabled(device, True)
        except RuntimeError:
            continue
        try:
            if c._is_any_autocast_enabled():  # torch itself forgets some devices there
                yield
        finally:
            torch.set_autocast_enabled(device, before)
    for mode in (torch.overrides.TorchFunctionMode(), torch.utils._python_dispatch.TorchDispatchMode()):
        with mode:
            yield
    c._functorch._vmap_increment_nesting(2, "error")
    try:
        yield
    finally:
        c._functorch._vmap_decrement_nesting()
