"""The symbolic interpreter: runs a `pyframe.func` for real, with tensors that have no elements, and records guards, graph and residual code."""
