"""Numbers of run time as torch's functions see them: `torch.SymFloat` and `torch.SymInt` whose node is one of ours.

torch hands such a number on to the dispatcher as it is, or asks its node for the value (`guard_float`, `guard_int`): then the value decides something,
and the node's owner must make it a constant.  Propagation asks the node too, unless the op is one of `TAKEN`, whose results have metadata that do not
depend on the number, and which has a lowering that takes a 0-d tensor of f64 or i64 in its place.  Whatever else torch asks a node raises
`NumberNeeded`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cache
from types import MappingProxyType
from typing import Any, Final

import torch

from lect.frontends.tensors.errors import NumberNeeded
from lect.frontends.tensors.sizes import LEAST, Dim, SizeNode
from lect.ir.symbolic import Expr

aten = torch.ops.aten
SYMBOLIC = (torch.SymFloat, torch.SymInt)


class NumberNode:
    """What stands behind a symbolic number of torch.  `example` is a value of its type; subclasses say what happens when it is needed."""

    def __init__(self, example: int | float) -> None:
        self.example = example

    def need(self) -> int | float:
        """The value.  Raises `NumberNeeded` when there is none."""
        raise NumberNeeded("the value of a number of run time is needed")

    def need_constant(self) -> int | float:
        """The value, as an op computes with a constant where it does not accept the number."""
        return self.need()

    def accept(self, dtypes: Sequence[torch.dtype], special: Sequence[float] = ()) -> bool:
        """May an op on tensors of these dtypes take the number, when it treats the numbers `special` in ways of their own?"""
        return True

    # The rest is what torch calls.
    def is_float(self) -> bool:
        return type(self.example) is float

    def is_int(self) -> bool:
        return type(self.example) is int

    def is_bool(self) -> bool:
        return False

    def is_nested_int(self) -> bool:
        return False

    def is_symbolic(self) -> bool:
        return True

    def maybe_as_int(self) -> None:
        return None

    def maybe_as_float(self) -> None:
        return None

    def guard_float(self, file: str, line: int) -> int | float:
        return self.need()

    def guard_int(self, file: str, line: int) -> int | float:
        return self.need()

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        raise NumberNeeded(f"the value of a number of run time is needed ({name})")


class SizeNumber(NumberNode):
    """A size with symbols in the place of a number: `size` is the expression, and `node` the size as torch has it."""

    def __init__(self, node: SizeNode) -> None:
        super().__init__(LEAST)
        self.node = node

    @property
    def size(self) -> Expr:
        return self.node.expr

    def need(self) -> int:
        return self.node.int_()

    def accept(self, dtypes: Sequence[torch.dtype], special: Sequence[float] = ()) -> bool:
        """Where the elements are floats or hold any size, and no number is special."""
        return not special and all(dtype.is_floating_point or dtype is torch.int64 for dtype in dtypes)


def symbolic(node: NumberNode) -> Any:
    """The number as torch's functions take it."""
    return torch.SymFloat(node) if node.is_float() else torch.SymInt(node)


def node_of(value: Any) -> NumberNode | None:
    """Our node behind a symbolic number of torch; None for anything else."""
    node = getattr(value, "node", None) if type(value) in SYMBOLIC else None
    return node if isinstance(node, NumberNode) else None


class Taking:
    """How an op takes numbers: the `names` of its arguments that may be, the kinds of dtype it computes in, and the values it treats specially."""

    __slots__ = ("floats_only", "keeps_type", "names", "precise", "special", "wide_only")

    def __init__(
        self,
        names: str,
        floats_only: bool = False,
        wide_only: bool = False,
        keeps_type: bool = False,
        precise: bool = False,
        special: tuple[float, ...] = (),
    ) -> None:
        self.names = frozenset(names.split())
        self.precise = precise  # halves are computed with the number as it is, which the lowering can do beside tensors with dims alone
        self.floats_only = floats_only  # an integer result is computed by torch, which may raise
        self.wide_only = wide_only  # halves are computed in a way that rounds the number otherwise
        self.keeps_type = keeps_type  # the number is converted to the dtype of the result, which a float may not fit
        self.special = special

    def accepts(self, example: int | float, results: Sequence[torch.Tensor]) -> bool:
        """True when these results can be computed from a number of that type."""
        if self.precise and any(not result.dim() and result.is_floating_point() and result.itemsize < 4 for result in results):
            return False
        return self._accepts_dtypes(example, [result.dtype for result in results])

    def _accepts_dtypes(self, example: int | float, results: Sequence[torch.dtype]) -> bool:
        if any(dtype.is_complex for dtype in results) or (self.floats_only and not all(dtype.is_floating_point for dtype in results)):
            return False
        if self.wide_only and any(dtype.is_floating_point and dtype.itemsize < 4 for dtype in results):
            return False
        return not (self.keeps_type and type(example) is float and not all(dtype.is_floating_point for dtype in results))


_POWERS = (2.0, 3.0, -2.0, 0.5, -0.5, -1.0, 0.0, 1.0)  # the exponents that eager does not leave to pow
_SUM = Taking("other alpha")
_OTHER = Taking("other")
_FACTOR = Taking("other", precise=True)
_DIVISOR = Taking("other", floats_only=True, precise=True)
_FILL = Taking("value fill_value s", keeps_type=True)
_NAMED: Mapping[str, Taking] = MappingProxyType(
    {
        **dict.fromkeys("add.Tensor add.Scalar sub.Tensor sub.Scalar rsub.Scalar rsub.Tensor".split(), _SUM),
        **dict.fromkeys("mul.Tensor mul.Scalar".split(), _FACTOR),
        **dict.fromkeys("eq.Scalar ne.Scalar lt.Scalar le.Scalar gt.Scalar ge.Scalar".split(), _OTHER),
        **dict.fromkeys("div.Tensor div.Scalar div.Tensor_mode div.Scalar_mode floor_divide.default floor_divide.Scalar".split(), _DIVISOR),
        **dict.fromkeys("remainder.Scalar remainder.Tensor fmod.Scalar fmod.Tensor".split(), _DIVISOR),
        **dict.fromkeys("full.default full_like.default new_full.default fill.Scalar scalar_tensor.default masked_fill.Scalar".split(), _FILL),
        "clamp.default": Taking("min max"),
        "clamp_min.default": Taking("min"),
        "clamp_max.default": Taking("max"),
        "addcmul.default": Taking("value", wide_only=True, keeps_type=True),
        "addcdiv.default": Taking("value", wide_only=True, keeps_type=True, floats_only=True),
        "lerp.Scalar": Taking("weight", wide_only=True, floats_only=True),
        "pow.Tensor_Scalar": Taking("exponent", wide_only=True, floats_only=True, special=_POWERS),
        "pow.Scalar": Taking("self", wide_only=True, floats_only=True, special=(1.0, 2.0)),
    }
)


def _taken() -> dict[Any, Taking]:
    """By overload, in-place ones included."""
    found = {}
    for name, taking in _NAMED.items():
        packet, _, overload = name.partition(".")
        for spelling in (packet, f"{packet}_"):
            found[getattr(getattr(aten, spelling, None), overload, None)] = taking
    found.pop(None, None)
    return found


TAKEN: Final[Mapping[Any, Taking]] = MappingProxyType(_taken())


@cache
def _argument_names(func: Any) -> tuple[str, ...]:
    return tuple([argument.name for argument in func._schema.arguments])


def with_size_numbers(func: Any, args: Sequence[Any], kwargs: Mapping[str, Any]) -> tuple[tuple[Any, ...], dict[str, Any]]:
    """The arguments with a number of run time for each size that stands where the op takes one."""
    taking = TAKEN.get(func)
    if taking is None:
        return tuple(args), dict(kwargs)

    def number(name: str, value: Any) -> Any:
        return torch.SymInt(SizeNumber(value.node)) if type(value) is Dim and name in taking.names else value

    return tuple([number(name, value) for name, value in zip(_argument_names(func), args)]), {name: number(name, value) for name, value in kwargs.items()}


def with_examples(func: Any, args: Sequence[Any], kwargs: Mapping[str, Any]) -> tuple[tuple[Any, ...], dict[str, Any]]:
    """The arguments with a plain number for each of run time: an example where the op takes it, else the value, which is needed."""
    taking = TAKEN.get(func)
    names = _argument_names(func)

    def plain(name: str, value: Any) -> Any:
        if isinstance(value, tuple | list):
            return type(value)([plain("", item) for item in value])
        node = node_of(value)
        if node is None:
            return value
        return node.example if taking is not None and name in taking.names else node.need()

    return tuple([plain(name, value) for name, value in zip(names, args)]), {name: plain(name, value) for name, value in kwargs.items()}


def settled(func: Any, args: Sequence[Any], kwargs: Mapping[str, Any], results: Any) -> tuple[tuple[Any, ...], dict[str, Any]]:
    """The arguments as the op is recorded with: numbers of run time stay, unless their owner or the op does not accept them beside these tensors."""
    taking = TAKEN.get(func)
    names = _argument_names(func)
    made = _tensors([results])
    dtypes = [tensor.dtype for tensor in (*_tensors([*args, *kwargs.values()]), *made)]

    def kept(name: str, value: Any) -> Any:
        if isinstance(value, tuple | list):
            return type(value)([kept("", item) for item in value])
        node = node_of(value)
        if node is None:
            return value
        if taking is None or name not in taking.names:
            return node.need()
        return value if taking.accepts(node.example, made) and node.accept(dtypes, taking.special) else node.need_constant()

    return tuple([kept(name, value) for name, value in zip(names, args)]), {name: kept(name, value) for name, value in kwargs.items()}


def _tensors(values: Sequence[Any]) -> list[torch.Tensor]:
    """The tensors among values, lists flattened."""
    found = []
    for value in values:
        if isinstance(value, torch.Tensor):
            found.append(value)
        elif isinstance(value, tuple | list):
            found += _tensors(value)
    return found


def holds_number(value: Any) -> bool:
    """True when a symbolic number of ours stands anywhere in the arguments of an op."""
    if isinstance(value, tuple | list):
        return any(holds_number(item) for item in value)
    if type(value) is dict:
        return any(holds_number(item) for item in value.values())
    return node_of(value) is not None
