"""A reproducer that is a Python program."""

# configuration: --capture :call -p capture
# RUN: lect-opt --run-reproducer %s | filecheck %s

# A function of the file itself is called with what the file makes for it.

# CHECK: fx.graph @call.graph(%x: !fx.tensor<2x3xf32, strides [1, 2]>)
# CHECK: target = @torch.relu
import torch


def call(x, *, by):
    return torch.relu(x) * by


def call_inputs():
    return (torch.zeros(3, 2).t(),), {"by": 2}
