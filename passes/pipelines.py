"""Named pipelines, and what must run before what with the reason.

A pipeline's name stands in pipeline text for its passes.  The manager checks every pipeline against `ORDER` before it runs the first pass.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType

# Name -> passes, in the order in which the compiler runs the pipelines.
PIPELINES: Mapping[str, tuple[str, ...]] = MappingProxyType(
    {
        "capture": ("pyframe-to-fx",),
        "aot": (
            "fx-build-joint",
            "fx-to-functional",
            "functional-seed-random",
            "canonicalize",
            "functional-fold-constants",
            "functional-remove-casts",
            "functional-fold-views",
            "functional-match-attention",
            "functional-fold-batch-norm",
            "functional-split-batch-norm",
            "functional-split-log-softmax",
            "functional-recompute-masks",
            "functional-match-addmm",
            "functional-relax-numerics",
            "cse",
            "functional-merge-linears",
            "functional-pad-mm",
            "dce",
            "functional-partition-min-cut",
            "functional-split-joint",
            "functional-reinplace",
        ),
        "loop": (
            "functional-to-loop",
            "loop-realize",
            "loop-inline",
            "loop-fold-one-hot",
            "loop-split-dims",
            "loop-split-reduction",
            "loop-choose-kernel",
            "loop-fuse-vertical",
            "loop-fuse-reductions",
            "loop-fuse-horizontal",
            "loop-fuse-epilogue",
            "loop-join-moments",
            "loop-layout",
            "loop-order-for-memory",
            "loop-reorder",
            "loop-plan-buffers",
        ),
        "kernel": (
            "loop-collapse-dims",
            "kernel-choose-gpu-tiles",
            "kernel-choose-tiles",
            "loop-to-kernel",
            "kernel-keep-rows",
            "kernel-join-sweeps",
            "kernel-prefetch-rows",
            "kernel-note-nans",
            "kernel-cascade-sums",
            "kernel-parallelize",
            "kernel-approximate-halves",
            "kernel-halve-tanh",
            "kernel-quick-erf",
            "kernel-quick-sigmoids",
            "kernel-share-reciprocals",
            "kernel-speed-exponentials",
            "kernel-choose-warps",
            "kernel-group-launches",
            "kernel-overlap-launches",
        ),
        "emit": (),
    }
)


@dataclass(frozen=True)
class Before:
    """In a pipeline that has both passes, `first` comes before `second`, because of `reason`."""

    first: str
    second: str
    reason: str


ORDER: tuple[Before, ...] = (
    Before("pyframe-to-fx", "fx-to-functional", "the graph is recorded before it is lowered"),
    Before("fx-to-functional", "functional-seed-random", "there are no functional operations before"),
    Before("functional-seed-random", "cse", "numbers of two streams must not be merged, and what is pure may be"),
    Before("functional-seed-random", "dce", "the operands whose elements a random operator ignores are not needed any more"),
    Before("fx-to-functional", "functional-fold-constants", "constants are functional operations"),
    Before("functional-fold-constants", "functional-fold-views", "a constant that views show is shown as a constant"),
    Before("functional-remove-casts", "functional-fold-views", "a cast between two views keeps them apart"),
    Before("functional-fold-constants", "functional-match-attention", "a causal mask is recognised by its elements, and padding that hides nothing is gone"),
    Before("functional-fold-views", "functional-match-attention", "views between the steps are few"),
    Before("functional-fold-batch-norm", "functional-relax-numerics", "parameters and what is normalised have one type"),
    Before("functional-split-batch-norm", "cse", "factors that two normalisations share are computed once"),
    Before("functional-split-batch-norm", "functional-partition-min-cut", "what of a normalisation can be computed again is operations of its own"),
    Before("functional-split-batch-norm", "functional-recompute-masks", "the result of a normalisation is computed from what it normalises"),
    Before("functional-recompute-masks", "functional-partition-min-cut", "what the backward reads decides what is kept"),
    Before("functional-split-log-softmax", "functional-partition-min-cut", "what of a log-softmax can be computed again is operations of its own"),
    Before("functional-remove-casts", "functional-split-log-softmax", "a cast in front of a loss is seen with it"),
    Before("functional-match-addmm", "functional-pad-mm", "what is added is padded with the product"),
    Before("functional-match-addmm", "functional-merge-linears", "a product with a sum is no plain product any more"),
    Before("cse", "functional-merge-linears", "products of one matrix are known by one value"),
    Before("functional-merge-linears", "functional-pad-mm", "one product is padded once"),
    Before("functional-match-attention", "functional-match-addmm", "a mask is added to a product too"),
    Before("functional-match-addmm", "functional-relax-numerics", "products and what is added to them have one type"),
    Before("functional-match-attention", "functional-relax-numerics", "the steps of attention are known by their types"),
    Before("functional-relax-numerics", "cse", "one value is widened once"),
    Before("functional-remove-casts", "functional-relax-numerics", "a cast of the program that loses nothing must not count as one that rounds"),
    Before("dce", "functional-reinplace", "who reads an input is asked, and the dead do not"),
    Before("functional-reinplace", "functional-to-loop", "the form of a slice that is written is chosen when it is lowered"),
    Before("fx-build-joint", "fx-to-functional", "a graph to be differentiated must still be one of torch's calls"),
    Before("fx-build-joint", "functional-partition-min-cut", "what a forward keeps is chosen on the joint graph"),
    Before("functional-partition-min-cut", "functional-split-joint", "joint graphs are split at what is kept"),
    Before("functional-split-joint", "functional-to-loop", "loops are made of the forward and of the backward by themselves"),
    Before("cse", "functional-partition-min-cut", "a value that is computed twice would be kept twice"),
    Before("fx-to-functional", "functional-to-loop", "loops are made of functional operations"),
    Before("functional-to-loop", "loop-realize", "what to store is decided on nests"),
    Before("loop-realize", "loop-inline", "what is not stored is computed by its readers"),
    Before("loop-realize", "loop-fuse-vertical", "fusion looks at the values that are stored"),
    Before("loop-inline", "loop-fold-one-hot", "the comparison with an index stands in the nest of the sum when it has been substituted"),
    Before("loop-fuse-reductions", "loop-join-moments", "a mean and the squares around it stand in one nest"),
    Before("loop-fuse-vertical", "loop-join-moments", "a nest that reads a row at two points cannot take in what makes it"),
    Before("loop-join-moments", "loop-reorder", "dims are ordered by what is read"),
    Before("loop-fuse-horizontal", "loop-layout", "it is known what is stored, and who reads it with what"),
    Before("loop-fuse-epilogue", "loop-layout", "calls change what they read"),
    Before("loop-layout", "loop-reorder", "dims are walked as buffers lie"),
    Before("loop-layout", "loop-plan-buffers", "a result takes over memory in which each element lies where it is read"),
    Before("loop-fold-one-hot", "loop-split-reduction", "a sum that is none needs no parts"),
    Before("loop-inline", "loop-split-dims", "substitution makes the maps that have to be split"),
    Before("loop-inline", "loop-fuse-vertical", "a value that is to be computed again must not be stored first"),
    Before("loop-split-dims", "loop-fuse-vertical", "spaces meet when their maps are affine"),
    Before("loop-split-dims", "loop-split-reduction", "parts of a dim are found where maps are affine"),
    Before("loop-split-dims", "loop-choose-kernel", "what stands behind a product is looked at in the dims it is joined in"),
    Before("loop-split-reduction", "loop-choose-kernel", "the sum of a product is taken by one program"),
    Before("loop-choose-kernel", "loop-fuse-vertical", "what stands behind a product that is a nest joins it"),
    Before("loop-split-reduction", "loop-fuse-vertical", "stages join with what stands in front of them and behind"),
    Before("loop-fuse-vertical", "loop-collapse-dims", "nests over different views of one space join before their dims merge"),
    Before("loop-fuse-vertical", "loop-fuse-horizontal", "what passes through memory between two nests costs more than reading it twice"),
    Before("loop-fuse-vertical", "loop-fuse-reductions", "two reductions meet when what stands between them has joined one of them"),
    Before("loop-fuse-reductions", "loop-fuse-horizontal", "sweeps that are shared save more than single readings"),
    Before("loop-fuse-reductions", "loop-plan-buffers", "fusion removes intermediate buffers"),
    Before("loop-fuse-vertical", "loop-plan-buffers", "fusion removes intermediate buffers"),
    Before("loop-fuse-horizontal", "loop-plan-buffers", "fusion changes when buffers live"),
    Before("loop-fuse-horizontal", "loop-collapse-dims", "siblings over different views of one space join before their dims merge"),
    Before("loop-fuse-horizontal", "loop-order-for-memory", "fusion removes buffers and changes when the others live"),
    Before("loop-choose-kernel", "loop-fuse-epilogue", "a product that is a nest is joined with what stands behind it"),
    Before("loop-fuse-horizontal", "loop-fuse-epilogue", "it is known which nests read a product and what they do besides"),
    Before("loop-fuse-epilogue", "loop-order-for-memory", "calls change what they read"),
    Before("loop-fuse-epilogue", "loop-reorder", "nests have all that they read"),
    Before("loop-order-for-memory", "loop-reorder", "the peak that must not grow is the lower one"),
    Before("loop-reorder", "loop-plan-buffers", "slots follow the order"),
    Before("loop-reorder", "loop-collapse-dims", "dims that lie next to each other in memory become neighbours"),
    Before("loop-order-for-memory", "loop-plan-buffers", "slots follow the order"),
    Before("loop-plan-buffers", "loop-to-kernel", "kernels and the host program name planned buffers"),
    Before("loop-collapse-dims", "kernel-choose-tiles", "tiles name the dims that are left"),
    Before("loop-collapse-dims", "kernel-choose-gpu-tiles", "tiles name the dims that are left"),
    Before("kernel-choose-gpu-tiles", "kernel-choose-tiles", "a nest that has tiles keeps them"),
    Before("loop-to-kernel", "kernel-approximate-halves", "there are no kernels before"),
    Before("kernel-approximate-halves", "kernel-share-reciprocals", "only kernels that may be approximate are rewritten"),
    Before("kernel-approximate-halves", "kernel-quick-erf", "only kernels that may be approximate are rewritten"),
    Before("kernel-approximate-halves", "kernel-quick-sigmoids", "only kernels that may be approximate are rewritten"),
    Before("kernel-approximate-halves", "kernel-halve-tanh", "only kernels that may be approximate are rewritten"),
    Before("kernel-join-sweeps", "kernel-speed-exponentials", "sums whose terms are scaled to a new maximum are seen as sums"),
    Before("kernel-approximate-halves", "kernel-speed-exponentials", "a kernel that may be approximate needs no proof"),
    Before("loop-to-kernel", "kernel-group-launches", "there are no launches before"),
    Before("kernel-group-launches", "kernel-overlap-launches", "what is started behind what is known when launches are joined"),
    Before("kernel-choose-warps", "kernel-group-launches", "a grouped kernel is a copy of one for which everything is decided"),
    Before("loop-to-kernel", "kernel-choose-warps", "there are no kernels before"),
    Before("kernel-choose-tiles", "loop-to-kernel", "kernels are cut as their nests say"),
    Before("loop-to-kernel", "kernel-keep-rows", "there are no kernels before"),
    Before("loop-to-kernel", "kernel-parallelize", "there are no launches before"),
    Before("kernel-keep-rows", "kernel-parallelize", "what is kept is not computed twice"),
    Before("kernel-join-sweeps", "kernel-parallelize", "sweeps that are gone are no work"),
    Before("kernel-keep-rows", "kernel-join-sweeps", "a row that is kept is not read again"),
    Before("kernel-join-sweeps", "kernel-cascade-sums", "sweeps are compared while each is one loop"),
    Before("kernel-keep-rows", "kernel-cascade-sums", "sweeps are compared while each is one loop"),
    Before("kernel-join-sweeps", "kernel-note-nans", "the sweep of a maximum is known by it"),
    Before("kernel-keep-rows", "kernel-note-nans", "sweeps are compared while each has what the nest says"),
    Before("kernel-note-nans", "kernel-cascade-sums", "the steps of a loop are counted while it is one"),
    Before("kernel-prefetch-rows", "kernel-cascade-sums", "the last sweep is found while it is one loop"),
)


def violations(names: Sequence[str], order: Iterable[Before] = ORDER) -> list[Before]:
    """The constraints that a sequence of pass names breaks: its first `second` stands before its first `first`."""
    first_at: dict[str, int] = {}
    for position, name in enumerate(names):
        first_at.setdefault(name, position)
    return [c for c in order if c.first in first_at and c.second in first_at and first_at[c.second] < first_at[c.first]]
