"""All rules, by ATen overload."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Any, Final

from lect.frontends.tensors.lower import (
    rules_block_gradients,
    rules_blocks,
    rules_compositions,
    rules_distances,
    rules_edges,
    rules_formulas,
    rules_fractional,
    rules_gather,
    rules_grids,
    rules_histograms,
    rules_loss_gradients,
    rules_margins,
    rules_places,
    rules_plain,
    rules_pointwise,
    rules_reductions,
    rules_segments,
    rules_view_gradients,
    rules_views,
)
from lect.frontends.tensors.lower.emitter import Rule

RULES: Final[Mapping[Any, Rule]] = MappingProxyType(
    {
        **rules_pointwise.PRIMITIVES,
        **rules_pointwise.COMPOSITES,
        **rules_views.TABLE,
        **rules_reductions.TABLE,
        **rules_blocks.TABLE,
        **rules_gather.TABLE,
        **rules_plain.TABLE,
        **rules_block_gradients.TABLE,
        **rules_view_gradients.TABLE,
        **rules_edges.TABLE,
        **rules_formulas.TABLE,
        **rules_loss_gradients.TABLE,
        **rules_compositions.TABLE,
        **rules_distances.TABLE,
        **rules_fractional.TABLE,
        **rules_segments.TABLE,
        **rules_margins.TABLE,
        **rules_grids.TABLE,
        **rules_histograms.TABLE,
        **rules_places.TABLE,
    }
)
