"""The transformations: every pass is one file, and this package knows them by a table of names.

A pass receives an operation and a context and changes the operation in place. It keeps no state between runs,
never prints, reads no environment variable, and knows no backend and no runtime.
"""

from __future__ import annotations

import importlib
from collections.abc import Mapping
from types import MappingProxyType
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from lect.passes.base import Pass

# Pass name -> "module:Class", in pipeline order; imported on first use.
PASSES: Mapping[str, str] = MappingProxyType(
    {
        "pyframe-to-fx": "lect.passes.convert.pyframe_to_fx:PyframeToFx",
        "fx-build-joint": "lect.passes.convert.fx_build_joint:FxBuildJoint",
        "fx-to-functional": "lect.passes.convert.fx_to_functional:FxToFunctional",
        "functional-seed-random": "lect.passes.functional.functional_seed_random:FunctionalSeedRandom",
        "canonicalize": "lect.passes.common.canonicalize:Canonicalize",
        "cse": "lect.passes.common.cse:Cse",
        "dce": "lect.passes.common.dce:Dce",
        "functional-fold-constants": "lect.passes.functional.functional_fold_constants:FunctionalFoldConstants",
        "functional-fold-views": "lect.passes.functional.functional_fold_views:FunctionalFoldViews",
        "functional-remove-casts": "lect.passes.functional.functional_remove_casts:FunctionalRemoveCasts",
        "functional-match-attention": "lect.passes.functional.functional_match_attention:FunctionalMatchAttention",
        "functional-fold-batch-norm": "lect.passes.functional.functional_fold_batch_norm:FunctionalFoldBatchNorm",
        "functional-split-log-softmax": "lect.passes.functional.functional_split_log_softmax:FunctionalSplitLogSoftmax",
        "functional-split-batch-norm": "lect.passes.functional.functional_split_batch_norm:FunctionalSplitBatchNorm",
        "functional-recompute-masks": "lect.passes.functional.functional_recompute_masks:FunctionalRecomputeMasks",
        "functional-match-addmm": "lect.passes.functional.functional_match_addmm:FunctionalMatchAddmm",
        "functional-merge-linears": "lect.passes.functional.functional_merge_linears:FunctionalMergeLinears",
        "functional-pad-mm": "lect.passes.functional.functional_pad_mm:FunctionalPadMm",
        "functional-relax-numerics": "lect.passes.functional.functional_relax_numerics:FunctionalRelaxNumerics",
        "functional-partition-min-cut": "lect.passes.functional.functional_partition_min_cut:FunctionalPartitionMinCut",
        "functional-split-joint": "lect.passes.functional.functional_split_joint:FunctionalSplitJoint",
        "functional-reinplace": "lect.passes.functional.functional_reinplace:FunctionalReinplace",
        "functional-to-loop": "lect.passes.convert.functional_to_loop:FunctionalToLoop",
        "loop-realize": "lect.passes.loop.loop_realize:LoopRealize",
        "loop-fold-one-hot": "lect.passes.loop.loop_fold_one_hot:LoopFoldOneHot",
        "loop-join-moments": "lect.passes.loop.loop_join_moments:LoopJoinMoments",
        "loop-layout": "lect.passes.loop.loop_layout:LoopLayout",
        "loop-inline": "lect.passes.loop.loop_inline:LoopInline",
        "loop-split-dims": "lect.passes.loop.loop_split_dims:LoopSplitDims",
        "loop-split-reduction": "lect.passes.loop.loop_split_reduction:LoopSplitReduction",
        "loop-choose-kernel": "lect.passes.loop.loop_choose_kernel:LoopChooseKernel",
        "loop-fuse-vertical": "lect.passes.loop.loop_fuse_vertical:LoopFuseVertical",
        "loop-fuse-reductions": "lect.passes.loop.loop_fuse_reductions:LoopFuseReductions",
        "loop-fuse-horizontal": "lect.passes.loop.loop_fuse_horizontal:LoopFuseHorizontal",
        "loop-fuse-epilogue": "lect.passes.loop.loop_fuse_epilogue:LoopFuseEpilogue",
        "loop-note-dependences": "lect.passes.loop.loop_note_dependences:LoopNoteDependences",
        "loop-order-for-memory": "lect.passes.loop.loop_order_for_memory:LoopOrderForMemory",
        "loop-reorder": "lect.passes.loop.loop_reorder:LoopReorder",
        "loop-plan-buffers": "lect.passes.loop.loop_plan_buffers:LoopPlanBuffers",
        "loop-collapse-dims": "lect.passes.loop.loop_collapse_dims:LoopCollapseDims",
        "kernel-choose-gpu-tiles": "lect.passes.kernel.kernel_choose_gpu_tiles:KernelChooseGpuTiles",
        "kernel-choose-tiles": "lect.passes.kernel.kernel_choose_tiles:KernelChooseTiles",
        "loop-to-kernel": "lect.passes.convert.loop_to_kernel:LoopToKernel",
        "kernel-keep-rows": "lect.passes.kernel.kernel_keep_rows:KernelKeepRows",
        "kernel-join-sweeps": "lect.passes.kernel.kernel_join_sweeps:KernelJoinSweeps",
        "kernel-prefetch-rows": "lect.passes.kernel.kernel_prefetch_rows:KernelPrefetchRows",
        "kernel-note-nans": "lect.passes.kernel.kernel_note_nans:KernelNoteNans",
        "kernel-cascade-sums": "lect.passes.kernel.kernel_cascade_sums:KernelCascadeSums",
        "kernel-parallelize": "lect.passes.kernel.kernel_parallelize:KernelParallelize",
        "kernel-approximate-halves": "lect.passes.kernel.kernel_approximate_halves:KernelApproximateHalves",
        "kernel-halve-tanh": "lect.passes.kernel.kernel_halve_tanh:KernelHalveTanh",
        "kernel-quick-erf": "lect.passes.kernel.kernel_quick_erf:KernelQuickErf",
        "kernel-quick-sigmoids": "lect.passes.kernel.kernel_quick_sigmoids:KernelQuickSigmoids",
        "kernel-speed-exponentials": "lect.passes.kernel.kernel_speed_exponentials:KernelSpeedExponentials",
        "kernel-share-reciprocals": "lect.passes.kernel.kernel_share_reciprocals:KernelShareReciprocals",
        "kernel-choose-warps": "lect.passes.kernel.kernel_choose_warps:KernelChooseWarps",
        "kernel-group-launches": "lect.passes.kernel.kernel_group_launches:KernelGroupLaunches",
        "kernel-overlap-launches": "lect.passes.kernel.kernel_overlap_launches:KernelOverlapLaunches",
        "strip-loc": "lect.passes.common.strip_loc:StripLoc",
    }
)


def load_pass(name: str) -> type[Pass]:
    """The class of the pass `name`.  Raises `PassFailure` naming the closest passes when there is none."""
    target = PASSES.get(name)
    if target is None:
        from difflib import get_close_matches

        from lect.ir import PassFailure

        close = get_close_matches(name, PASSES, 3, 0.5)
        wanted = f"did you mean {' or '.join(close)}?" if close else "lect-opt --list-passes names them all"
        raise PassFailure(f"there is no pass '{name}'; {wanted}")
    module, _, class_name = target.partition(":")
    return getattr(importlib.import_module(module), class_name)
