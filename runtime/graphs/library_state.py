"""What a program may set that decides how torch's library computes on a GPU: precisions, which libraries are used, and whether they must be deterministic.

A recording has the kernels that the library chose when it was made, so it stands for the settings of then, and others get a recording of their own.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable
from functools import cache, partial
from typing import Any

import torch

# Settings that have names in all versions of torch that lect knows, or in some.
SETTINGS = (
    "_get_cublas_allow_fp16_reduced_precision_reduction", "_get_cublas_allow_bf16_reduced_precision_reduction", "_get_cublas_allow_fp16_accumulation",
    "_get_cudnn_benchmark", "_get_cudnn_deterministic", "_get_cudnn_enabled", "_get_deterministic_algorithms", "_get_blas_preferred_backend",
    "_get_linalg_preferred_backend", "_get_flash_sdp_enabled", "_get_mem_efficient_sdp_enabled", "_get_math_sdp_enabled", "_get_cudnn_sdp_enabled",
    "_get_math_sdp_allow_fp16_bf16_reduction", "_get_fa3_sdp_enabled",
)  # fmt: skip
PRECISIONS = (("generic", "all"), ("cuda", "all"), ("cuda", "matmul"), ("cuda", "conv"), ("cuda", "rnn"))
OLD_PRECISIONS = ("_get_cublas_allow_tf32", "_get_cudnn_allow_tf32")  # which raise where a program has set the newer ones


@cache
def getters() -> tuple[Callable[[], Any], ...]:
    """The functions of this torch that say what is set."""
    found: list[Callable[[], Any]] = [getattr(torch._C, name) for name in SETTINGS if hasattr(torch._C, name)]
    newer = getattr(torch._C, "_get_fp32_precision_getter", None)
    if newer is not None:
        return (*found, *[partial(newer, *names) for names in PRECISIONS])
    return (*found, *[getattr(torch._C, name) for name in OLD_PRECISIONS])


def library_state() -> Hashable:
    """What is set now; equal to what was found earlier when nothing has changed."""
    return tuple([get() for get in getters()])
