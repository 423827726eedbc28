# RUN: lect-opt --capture %s:run_block -p pyframe-to-fx | filecheck %s --check-prefix=BLOCK
# RUN: lect-opt --capture %s:encode -p pyframe-to-fx | filecheck %s --check-prefix=ENCODE
"""Modules without hooks are inlined down to functions of torch; their parameters are inputs of the graph."""

import torch
from torch import nn


class Block(nn.Module):
    def __init__(self):
        super().__init__()
        self.layers = nn.Sequential(nn.Linear(4, 4), nn.ReLU())
        self.register_buffer("offset", torch.zeros(4))

    def forward(self, x):
        return self.layers(x) + self.offset


BLOCK = Block().requires_grad_(False)


def run_block(x):
    return BLOCK(x)


def run_block_inputs():
    return (torch.randn(2, 4),)


# BLOCK-LABEL: guard.set @run_block.guards()
# BLOCK-DAG: guard.no_hooks(%BLOCK)
# BLOCK-DAG: guard.no_attr(%BLOCK) {names = ["forward", "layers", "offset"]}
# BLOCK-DAG: guard.is(%forward) {is_object = #fx.object<{{[0-9]+}}, "function modules.Block.forward">}
# BLOCK-DAG: guard.tensor(%weight) {dtype = f32, sizes = [4, 4], strides = [4, 1], type = "torch.nn.Parameter"}
# BLOCK-DAG: guard.tensor(%offset) {dtype = f32, sizes = [4], strides = [1]}
# BLOCK-LABEL: fx.graph @run_block.graph(%x: !fx.tensor<2x4xf32>
# BLOCK-SAME: %BLOCK_layers_0_weight: !fx.tensor<4x4xf32>, %BLOCK_layers_0_bias: !fx.tensor<4xf32>, %BLOCK_offset: !fx.tensor<4xf32>)
# BLOCK-NEXT: %0 = fx.call(%x, %BLOCK_layers_0_weight, %BLOCK_layers_0_bias) {target = @torch.nn.functional.linear
# BLOCK-NEXT: %1 = fx.call(%0) {target = @torch.nn.functional.relu
# BLOCK-NEXT: %2 = fx.call(%1, %BLOCK_offset) {target = @operator.add
# BLOCK-NEXT: fx.return(%2)


ENCODER = nn.TransformerEncoderLayer(8, 2, 16, batch_first=True).eval().requires_grad_(False)


def encode(x):
    return ENCODER(x)


def encode_inputs():
    return (torch.randn(2, 3, 8),)


# The fused kernel of eager is not used: its pieces are what can be compiled.
# ENCODE-LABEL: fx.graph @encode.graph
# ENCODE-NOT: _transformer_encoder_layer_fwd
# ENCODE: target = @torch.nn.functional.multi_head_attention_forward
# ENCODE: target = @torch.nn.functional.layer_norm
# ENCODE: target = @torch.nn.functional.linear
# ENCODE: target = @torch.nn.functional.relu
# ENCODE: target = @torch.nn.functional.linear
# ENCODE: target = @torch.nn.functional.layer_norm
# ENCODE: fx.return
