"""The slow way to a result's metadata: run the op on torch's meta tensors, and where there is no meta kernel on fake tensors.

torch's meta kernels raise eager's own errors for wrong shapes and dtypes.
"""

from __future__ import annotations

from typing import Any

import torch

from lect.frontends.tensors.errors import DataDependent, UnsupportedTensor
from lect.frontends.tensors.gradient_layouts import laid_out
from lect.frontends.tensors.lt import layout_of
from lect.frontends.tensors.metadata import TensorMeta, read_meta
from lect.frontends.tensors.quiet_refs import keep_refs_quiet
from lect.frontends.tensors.quiet_symbols import without_symbols
from lect.frontends.tensors.templates import Alias, Template

aten = torch.ops.aten
META = torch.device("meta")
_INDEXING = frozenset({aten.index.Tensor, aten.index_put.default, aten.index_put_.default, aten._index_put_impl_.default})

# Their meta kernels give other strides or elements than their kernels on the cpu do, so that what a graph says of the result would be wrong.
_MISLEADING = frozenset(
    {
        aten.max_unpool2d.default,
        aten.nonzero_static.default,
        aten._batch_norm_with_update.default,  # of halves: the elements of the statistics
        aten._batch_norm_with_update_functional.default,
    }
)
# How they lay out their results hangs on the library that torch was built with, and on the strides they are given: it is found by running them.
_BY_LIBRARY = frozenset({aten._fft_r2c.default, aten._fft_c2r.default, aten._fft_c2c.default, aten._linalg_svd.default, aten.linalg_eig.default})
# Their meta kernels are right only where the first argument is contiguous; the kernels make it so.
_OF_CONTIGUOUS = frozenset({aten._transformer_encoder_layer_fwd.default, aten._native_multi_head_attention.default})


def run_on_meta(func: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Template:
    """The template of `func(*args, **kwargs)`.  Raises what torch raises, `DataDependent` when the result's size is in the data."""
    by_data = torch.Tag.data_dependent_output in func.tags or torch.Tag.dynamic_output_shape in func.tags or func is aten._unique.default
    if by_data and not (func in _INDEXING and not _has_mask(args[1])):
        raise DataDependent(f"{func} needs the elements of a traced tensor")
    if func in _MISLEADING or (func in _OF_CONTIGUOUS and not args[0].is_contiguous()):
        raise UnsupportedTensor(f"how {func} lays out its result is not known before it runs")
    if func in _BY_LIBRARY:
        return _run_on_zeros(func, args, kwargs)
    keep_refs_quiet()
    stand_ins = _MetaArguments(func)
    meta_args = stand_ins.convert(args)
    meta_kwargs = {name: stand_ins.convert(value) for name, value in kwargs.items()}
    device = stand_ins.place(meta_kwargs)
    try:
        with torch.no_grad(), without_symbols():
            result = func(*meta_args, **meta_kwargs)
    except NotImplementedError:
        return _run_on_fake(func, args, kwargs)
    _refuse_resized(func, args, kwargs, meta_args, meta_kwargs)
    template = _template(result, meta_args, meta_kwargs, device)
    if device.type == "cpu":
        template = laid_out(func, args, template)
    return _with_statistics_of_halves(template, args) if func in _NORMALISING_BATCHES and device.type == "cpu" else template


def _run_on_zeros(func: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Template:
    """The template of a call of the kernel itself, on tensors of zeros with the metadata of the arguments.  Raises `UnsupportedTensor` where the device is
    not there."""

    def real(value: Any) -> Any:
        if not isinstance(value, torch.Tensor):
            return value
        meta = layout_of(value)
        try:
            return torch.empty_strided(meta.shape, meta.strides, dtype=meta.dtype, device=meta.device).zero_()
        except (RuntimeError, AssertionError) as error:
            raise UnsupportedTensor(f"how {func} lays out its result is not known before it runs: {str(error).partition(chr(10))[0]}") from None

    with torch.no_grad(), without_symbols():
        given = [real(value) for value in args]
        named = {name: real(value) for name, value in kwargs.items()}
        device = next((value.device for value in given if isinstance(value, torch.Tensor)), torch.device("cpu"))
        return _template(func(*given, **named), given, named, device)


# All results but the first are statistics.
_NORMALISING_BATCHES = frozenset(
    {
        aten.native_batch_norm.default,
        aten._native_batch_norm_legit.default,
        aten._native_batch_norm_legit.no_stats,
        aten._native_batch_norm_legit_functional.default,
    }
)


def _with_statistics_of_halves(template: Any, args: tuple[Any, ...]) -> Template:
    """The kernel for the cpu has statistics of halves where no parameter is wider; torch's meta kernel, which is for all devices, has them in float32."""
    tensors = [argument for argument in args if isinstance(argument, torch.Tensor)]
    if any(tensor.dtype not in (torch.float16, torch.bfloat16) for tensor in tensors):
        return template
    output, *statistics = template
    return (output, *[each._replace(dtype=tensors[0].dtype) for each in statistics])


def _refuse_resized(func: Any, args: Any, kwargs: dict[str, Any], meta_args: Any, meta_kwargs: dict[str, Any]) -> None:
    """Raises `UnsupportedTensor` when a tensor to write results to was given another shape or layout, which traced tensors do not take on."""
    for position, argument in enumerate(func._schema.arguments):
        if argument.is_out:
            given, after = (args[position], meta_args[position]) if position < len(args) else (kwargs.get(argument.name), meta_kwargs.get(argument.name))
            if isinstance(given, torch.Tensor) and isinstance(after, torch.Tensor) and layout_of(given).layout != (tuple(after.shape), after.stride()):
                raise UnsupportedTensor(f"{func} resizes a tensor that it is given to write to")


def _has_mask(indices: Any) -> bool:
    """True when an index is a mask, so that the number of its true elements decides a size."""
    return any(isinstance(index, torch.Tensor) and index.dtype in (torch.bool, torch.uint8) for index in indices)


class _MetaArguments:
    """Turns arguments into meta tensors and finds the device on which the real op would run."""

    def __init__(self, func: Any) -> None:
        self.func = func
        self.device: torch.device | None = None
        self.scalar_device: torch.device | None = None

    def convert(self, value: Any) -> Any:
        if isinstance(value, torch.Tensor):
            return self._tensor(layout_of(value))
        if isinstance(value, list | tuple):
            return type(value)([self.convert(item) for item in value])
        return value

    def _tensor(self, meta: TensorMeta) -> torch.Tensor:
        if not meta.shape and meta.device.type == "cpu":
            self.scalar_device = meta.device
        elif self.device is None:
            self.device = meta.device
        elif self.device != meta.device and self.func not in _INDEXING:
            raise RuntimeError(f"Expected all tensors to be on the same device, but found at least two devices, {self.device} and {meta.device}!")
        if not meta.storage_offset:
            return torch.empty_strided(meta.shape, meta.strides, dtype=meta.dtype, device=META)
        storage = torch.empty(max(meta.reach + 1, meta.storage_offset), dtype=meta.dtype, device=META)
        return storage.as_strided(meta.shape, meta.strides, meta.storage_offset)

    def place(self, kwargs: dict[str, Any]) -> torch.device:
        """The device of the results; `kwargs` is changed so that new tensors are meta."""
        given = kwargs.get("device")
        if given is not None:
            kwargs["device"] = META
            return torch.device(given)
        if self.device is None and self.scalar_device is None and any(argument.name == "device" for argument in self.func._schema.arguments):
            kwargs["device"] = META
        return self.device or self.scalar_device or torch.device("cpu")


def _template(result: Any, args: Any, kwargs: dict[str, Any], device: torch.device) -> Template:
    if isinstance(result, torch.Tensor):
        for position, argument in enumerate(args):
            if argument is result:
                return Alias(position)
        for name, argument in kwargs.items():
            if argument is result:
                return Alias(name)
        return read_meta(result)._replace(device=device)
    if isinstance(result, list | tuple):
        return type(result)([_template(item, args, kwargs, device) for item in result])
    return result


def _run_on_fake(func: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Template:
    """For ops without a meta kernel (custom ops may have a fake one).  Importing the machinery of fake tensors takes a second, once."""
    from torch._subclasses.fake_tensor import DynamicOutputShapeException, FakeTensorMode, UnsupportedFakeTensorException

    mode = FakeTensorMode(allow_non_fake_inputs=True)

    def fake(value: Any) -> Any:
        if isinstance(value, torch.Tensor):
            meta = layout_of(value)
            return torch.empty_strided(meta.shape, meta.strides, dtype=meta.dtype, device=meta.device)
        if isinstance(value, list | tuple):
            return type(value)([fake(item) for item in value])
        return value

    try:
        with mode, torch.no_grad():
            fake_args = fake(args)
            fake_kwargs = {name: fake(value) for name, value in kwargs.items()}
            result = func(*fake_args, **fake_kwargs)
    except DynamicOutputShapeException:
        raise DataDependent(f"{func} needs the elements of a traced tensor") from None
    except (NotImplementedError, UnsupportedFakeTensorException) as error:
        raise UnsupportedTensor(f"{func} can only run on real tensors: {error}") from None
    template = _template(result, fake_args, fake_kwargs, torch.device("cpu"))
    return _with_devices(template, result)


def _with_devices(template: Template, result: Any) -> Template:
    if isinstance(template, TensorMeta):
        return template._replace(device=result.device)
    if isinstance(template, list | tuple) and not isinstance(template, Alias):
        return type(template)([_with_devices(item, value) for item, value in zip(template, result)])
    return template
