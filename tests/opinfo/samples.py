"""What is run: torch's own entries of its operators, their samples, and copies of them that share no memory with the originals.

An entry has up to five kinds of runs: `forward`; `backward`, where the samples require gradients and the gradients are compared; `inplace`, its in-place
form; `out`, into a given tensor; and `error`, calls that eager refuses.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cache
from typing import Any

import torch

KINDS = ("forward", "backward", "inplace", "out", "error")
DTYPES = (torch.float32, torch.float64, torch.bfloat16, torch.int64, torch.bool)
SAMPLES = 6  # of each entry, dtype and kind, spread over the entry's own list

# Their results are memory that nobody has written.
UNDEFINED = frozenset("empty empty_like empty_permuted empty_strided new_empty new_empty_strided".split())
# They draw random numbers: metadata alone is compared where a compiled draw is another than eager's.
RANDOM = frozenset(
    "bernoulli cauchy exponential geometric log_normal multinomial normal rand_like randint randint_like randn randn_like uniform"
    " nn.functional.alpha_dropout nn.functional.dropout nn.functional.dropout2d nn.functional.dropout3d nn.functional.feature_alpha_dropout"
    " nn.functional.fractional_max_pool2d nn.functional.fractional_max_pool3d nn.functional.multi_head_attention_forward nn.functional.rrelu"
    " nn.functional.scaled_dot_product_attention pca_lowrank svd_lowrank bfloat16".split()
)
# They need another kind of machine.
LEFT_OUT = frozenset("jiterator_2inputs_2outputs jiterator_4inputs_with_extra_args jiterator_binary jiterator_binary_return_by_ref jiterator_unary".split())


@dataclass(frozen=True)
class Case:
    """One call: `function(*args, **kwargs)`; `what` says which, for people."""

    function: Callable[..., Any]
    args: tuple[Any, ...]
    kwargs: dict[str, Any]
    what: str


@cache
def entries() -> dict[str, Any]:
    """All entries by name, those of lists of tensors included."""
    from torch.testing._internal import common_methods_invocations as invocations

    invocations.wrapper_set_seed = call_plainly  # each run of a sample begins with the same seed anyway
    return {full_name(op): op for op in invocations.op_db if op.name not in LEFT_OUT}


def call_plainly(function: Callable[..., Any], *args: Any, **kwargs: Any) -> Any:
    """A call of a random function; torch's own wrapper sets the seed in front and the state back behind."""
    return function(*args, **kwargs)


def full_name(op: Any) -> str:
    """Name and variant of an entry."""
    return f"{op.name}.{op.variant_test_name}" if op.variant_test_name else op.name


def dtype_name(dtype: torch.dtype) -> str:
    """`float32`."""
    return str(dtype).removeprefix("torch.")


def spread(items: Sequence[Any], limit: int) -> list[tuple[int, Any]]:
    """At most `limit` of the items with their numbers, evenly spaced, the first among them."""
    if len(items) <= limit:
        return list(enumerate(items))
    places = [round(number * (len(items) - 1) / (limit - 1)) for number in range(limit)] if limit > 1 else [0]
    return [(place, items[place]) for place in places]


def kinds_of(op: Any, dtype: torch.dtype) -> list[str]:
    """The kinds of runs that an entry has for a dtype on the CPU."""
    if dtype not in op.supported_dtypes("cpu"):
        return []
    found = ["forward"]
    if op.supports_autograd and dtype in op.supported_backward_dtypes("cpu"):
        found.append("backward")
    if op.inplace_variant is not None:
        found.append("inplace")
    if op.supports_out:
        found.append("out")
    if op.error_inputs_func is not None and dtype is torch.float32:
        found.append("error")
    return found


def cases(op: Any, dtype: torch.dtype, kind: str, limit: int) -> Iterator[tuple[int, Case]]:
    """The calls of an entry, with their numbers in the list of its samples."""
    torch.manual_seed(0)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        if kind == "error":
            listed = [(each.sample_input, each.sample_input.kwargs) for each in op.error_inputs("cpu")]
        else:
            listed = [(sample, sample.kwargs) for sample in op.sample_inputs("cpu", dtype, requires_grad=kind == "backward")]
        if kind == "inplace":
            listed = [pair for pair in listed if not pair[0].broadcasts_input]
    listed = [pair for pair in listed if not _names_another_device((pair[0].args, pair[1]))]
    for number, (sample, kwargs) in spread(listed, limit):
        args = (sample.input, *sample.args)
        function = op.inplace_variant if kind == "inplace" else op.op
        if kind == "out":
            kwargs = {**kwargs, "out": OUT}
        yield number, Case(function, args, kwargs, describe((args, kwargs)))


def exactly(case: Case) -> Case:
    """The same call in float64."""

    def widened(value: Any) -> Any:
        if isinstance(value, torch.Tensor):
            return value.detach().double().requires_grad_(value.requires_grad) if value.dtype in HALVES else value
        if type(value) in (tuple, list):
            return type(value)([widened(item) for item in value])
        return torch.float64 if isinstance(value, torch.dtype) and value in HALVES else value

    return replace(case, args=widened(case.args), kwargs={name: widened(value) for name, value in case.kwargs.items()})


def _names_another_device(value: Any) -> bool:
    """True when an argument is a device that is no processor, or a tensor there: entries have such samples where there is one."""
    if isinstance(value, torch.Tensor):
        return value.device.type != "cpu"
    if isinstance(value, tuple | list):
        return any(_names_another_device(item) for item in value)
    if isinstance(value, dict):
        return _names_another_device(list(value.values()))
    return isinstance(value, torch.device | str) and str(value).startswith("cuda")


HALVES = (torch.bfloat16, torch.float16)
OUT = object()  # stands for tensors to write the result to


def describe(value: Any) -> str:
    """Arguments in short: `f32[3,4]`."""
    if isinstance(value, torch.Tensor):
        strides = "" if value.layout is not torch.strided or value.is_contiguous() else f"/{list(value.stride())}"
        return f"{dtype_name(value.dtype)}{list(value.shape)}{strides}".replace(" ", "")
    if type(value) in (tuple, list):
        return "(" + ", ".join([describe(item) for item in value]) + ")"
    if type(value) is dict:
        return "{" + ", ".join([f"{name}={describe(item)}" for name, item in value.items()]) + "}"
    return "out" if value is OUT else repr(value)[:60]


# ---- copies ----------------------------------------------------------------------------------------------------------


class Copies:
    """Copies of arguments: the same values, layout, sharing of memory and wish for gradients.  `tensors` are the copied tensors in order."""

    def __init__(self) -> None:
        self.storages: dict[int, torch.UntypedStorage] = {}
        self.known: dict[int, torch.Tensor] = {}
        self.tensors: list[torch.Tensor] = []

    def copy(self, value: Any) -> Any:
        """A copy of tensors in plain containers; anything else is shared."""
        if isinstance(value, torch.Tensor):
            if id(value) not in self.known:
                self.known[id(value)] = self._tensor(value)
                self.tensors.append(self.known[id(value)])
            return self.known[id(value)]
        if type(value) in (tuple, list):
            return type(value)([self.copy(item) for item in value])
        if isinstance(value, tuple) and hasattr(value, "_fields"):
            return type(value)(*[self.copy(item) for item in value])
        if type(value) is dict:
            return {name: self.copy(item) for name, item in value.items()}
        return value

    def _tensor(self, tensor: torch.Tensor) -> torch.Tensor:
        if tensor.layout is not torch.strided or type(tensor) is not torch.Tensor:
            return tensor.detach().clone().requires_grad_(tensor.requires_grad)
        with torch.no_grad():
            memory = tensor.untyped_storage()
            if memory._cdata not in self.storages:
                self.storages[memory._cdata] = memory.clone()
            made = torch.empty(0, dtype=tensor.dtype).set_(self.storages[memory._cdata], tensor.storage_offset(), tensor.size(), tensor.stride())
        if tensor.is_conj():
            made = made.conj()
        if tensor.is_neg():
            made = torch._neg_view(made)
        return made.requires_grad_(tensor.requires_grad)


def tensors_in(value: Any) -> list[torch.Tensor]:
    """The tensors of a result, in order."""
    if isinstance(value, torch.Tensor):
        return [value]
    if isinstance(value, tuple | list):
        return [tensor for item in value for tensor in tensors_in(item)]
    if isinstance(value, dict):
        return [tensor for item in value.values() for tensor in tensors_in(item)]
    return []


def garbage_like(result: Any) -> Any:
    """Tensors of the layout of a result, full of something else, to write a result to."""
    if isinstance(result, torch.Tensor):
        if result.layout is not torch.strided:
            return torch.zeros_like(result)
        made = torch.empty_strided(result.size(), result.stride(), dtype=result.dtype)
        return made.fill_(True if result.dtype is torch.bool else 99)
    return type(result)([garbage_like(item) for item in result]) if type(result) in (tuple, list) else tuple([garbage_like(item) for item in result])
