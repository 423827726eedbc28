"""What is known of library functions by name."""

from __future__ import annotations

# With operands of the right types and sizes, which guards have checked, these do not raise: nothing depends on the elements.
_NEVER_RAISE = frozenset(
    """
    mm bmm addmm baddbmm addmv addbmm mv dot matmul linear convolution convolution_backward
    _scaled_dot_product_flash_attention_for_cpu _scaled_dot_product_flash_attention_for_cpu_backward _scaled_dot_product_attention_math
    sort topk cumsum cumprod cummax cummin logcumsumexp softmax log_softmax _softmax _log_softmax native_layer_norm native_batch_norm native_group_norm
    max_pool2d_with_indices avg_pool2d avg_pool3d avg_pool1d _adaptive_avg_pool2d _adaptive_avg_pool3d upsample_nearest2d upsample_bilinear2d upsample_bicubic2d
    arange sum mean amax amin argmax argmin prod any all var_mean copy_ clone _to_copy
    """.split()
)

# Their results lie in memory of their own, which nothing else sees.
_FRESH = frozenset(
    """
    mm bmm addmm baddbmm addmv addbmm mv dot convolution convolution_backward _scaled_dot_product_flash_attention_for_cpu
    _scaled_dot_product_flash_attention_for_cpu_backward native_layer_norm native_batch_norm native_group_norm native_layer_norm_backward
    native_batch_norm_backward native_group_norm_backward max_pool2d_with_indices avg_pool2d _adaptive_avg_pool2d embedding index_select gather
    cumsum cumprod
    """.split()
)

# Their results lie in the memory of an operand.
_VIEWS = frozenset(
    """
    view view_as view_as_real view_as_complex real imag conj _conj _neg_view resolve_conj resolve_neg unfold as_strided alias detach reshape _reshape_alias
    expand squeeze unsqueeze permute transpose t diagonal select slice narrow split split_with_sizes chunk unbind movedim swapaxes lift_fresh
    """.split()
)


def may_share_memory(name: str) -> bool:
    """True for a library function whose results may lie in the memory of an operand; of a namespace other than aten nothing is known."""
    parts = name.split(".")
    return not (len(parts) == 3 and parts[0] == "aten") or parts[1] in _VIEWS


def gives_own_memory(name: str) -> bool:
    """True for a library function whose results lie in memory that nothing else sees, so that whoever reads them last may write there."""
    parts = name.split(".")
    return len(parts) == 3 and parts[0] == "aten" and parts[1] in _FRESH


def may_raise(name: str) -> bool:
    """True unless a library function is known never to raise; `name` is `aten.index_select.default`."""
    parts = name.split(".")
    return not (len(parts) == 3 and parts[0] == "aten" and parts[1] in _NEVER_RAISE)


def keeps_its_turn(name: str) -> bool:
    """True for a library function that is called in the order of the program among those like it: it may raise, draw random numbers, or leave its results
    in memory that others see.  What never raises draws nothing, either."""
    return may_raise(name) or may_share_memory(name)
