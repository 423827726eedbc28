"""Calls that eager refuses: by shape, dtype, index, device or value.  Each program has an effect before the bad operation and one behind it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import torch
import torch.nn.functional as F


class Bad(NamedTuple):
    """`compute(*make())` raises.  With `good`, it does not for `good()`, whose tensors have the same types, so what is bad is found when kernels run."""

    compute: Callable[..., Any]
    make: Callable[[], tuple[Any, ...]]
    good: Callable[[], tuple[Any, ...]] | None = None


def _tensors(*shapes: tuple[int, ...]) -> Callable[[], tuple[Any, ...]]:
    return lambda: tuple(torch.randn(shape) for shape in shapes)


def _index(*numbers: int, shape: tuple[int, ...] = (4, 3)) -> Callable[[], tuple[Any, ...]]:
    return lambda: (torch.randn(shape), torch.tensor(numbers))


IN_RANGE = _index(0, 1, 3)
SQUARE = _tensors((3, 3))

SHAPES = {
    "add": Bad(lambda x, y: x + y, _tensors((3,), (4,))),
    "add of more dims": Bad(lambda x, y: x + y, _tensors((2, 3, 4), (2, 4))),
    "add_ that would grow": Bad(lambda x, y: x.add_(y), _tensors((3,), (2, 3))),
    "mm": Bad(lambda x, y: x @ y, _tensors((2, 3), (2, 3))),
    "mm of a vector": Bad(lambda x, y: torch.mm(x, y), _tensors((2, 3), (3,))),
    "bmm": Bad(lambda x, y: torch.bmm(x, y), _tensors((2, 3, 4), (3, 4, 3))),
    "linear": Bad(lambda x, y: F.linear(x, y), _tensors((2, 3), (4, 5))),
    "addmm": Bad(lambda x, y, z: torch.addmm(x, y, z), _tensors((5,), (2, 3), (3, 4))),
    "conv channels": Bad(lambda x, y: F.conv2d(x, y), _tensors((1, 3, 8, 8), (4, 2, 3, 3))),
    "conv kernel": Bad(lambda x, y: F.conv2d(x, y), _tensors((1, 3, 2, 2), (4, 3, 3, 3))),
    "cat": Bad(lambda x, y: torch.cat([x, y]), _tensors((2, 3), (2, 4))),
    "stack": Bad(lambda x, y: torch.stack([x, y]), _tensors((2, 3), (2, 4))),
    "view": Bad(lambda x: x.view(4, 4), _tensors((3, 4))),
    "view of a transpose": Bad(lambda x: x.t().view(12), _tensors((3, 4))),
    "reshape": Bad(lambda x: x.reshape(-1, 5), _tensors((3, 4))),
    "expand": Bad(lambda x: x.expand(2, 5), _tensors((2, 3))),
    "permute": Bad(lambda x: x.permute(0, 0), _tensors((2, 3))),
    "squeeze dim": Bad(lambda x: x.squeeze(3), _tensors((2, 3))),
    "sum dim": Bad(lambda x: x.sum(2), _tensors((2, 3))),
    "softmax dim": Bad(lambda x: x.softmax(-3), _tensors((2, 3))),
    "max of nothing": Bad(lambda x: x.max(), _tensors((0,))),
    "amax of nothing": Bad(lambda x: x.amax(0), _tensors((0, 3))),
    "argmax of nothing": Bad(lambda x: x.argmax(), _tensors((0,))),
    "layer norm": Bad(lambda x: F.layer_norm(x, (4,)), _tensors((2, 3))),
    "batch norm of one value": Bad(lambda x: F.batch_norm(x, None, None, training=True), _tensors((1, 3))),
    "group norm": Bad(lambda x: F.group_norm(x, 2), _tensors((1, 3, 4))),
    "max pool": Bad(lambda x: F.max_pool2d(x, 5), _tensors((1, 1, 3, 3))),
    "pad reflect": Bad(lambda x: F.pad(x, (4, 4), mode="reflect"), _tensors((1, 2, 3))),
    "select": Bad(lambda x: x[5], _tensors((2, 3))),
    "too many indices": Bad(lambda x: x[0, 0, 0], _tensors((2, 3))),
    "narrow": Bad(lambda x: x.narrow(0, 1, 3), _tensors((2, 3))),
    "split": Bad(lambda x: x.split([1, 2]), _tensors((2, 3))),
    "unbind to too few": Bad(lambda x: [a + b for a, b in [x.unbind(0)]], _tensors((3, 3))),
    "cross entropy": Bad(lambda x, y: F.cross_entropy(x, y), lambda: (torch.randn(3, 4), torch.tensor([0, 1]))),
    "mse broadcast in loss": Bad(lambda x, y: F.binary_cross_entropy(x, y), _tensors((3,), (4,))),
    "attention": Bad(lambda x, y: F.scaled_dot_product_attention(x, y, y), _tensors((1, 2, 3, 4), (1, 2, 3, 5))),
    "out of another shape that overlaps": Bad(lambda x: torch.gather(x, 0, torch.zeros(2, 3, dtype=torch.int64), out=x), _tensors((2, 3))),
}

DTYPES = {
    "matmul of two dtypes": Bad(lambda x, y: x @ y, lambda: (torch.randn(2, 2), torch.randn(2, 2, dtype=torch.float64))),
    "linear of two dtypes": Bad(lambda x, y: F.linear(x, y), lambda: (torch.randn(2, 2), torch.randn(2, 2, dtype=torch.bfloat16))),
    "float into integers": Bad(lambda x: x.add_(0.5), lambda: (torch.arange(3),)),
    "true division in place": Bad(lambda x: x.div_(2), lambda: (torch.arange(3),)),
    "minus of bool": Bad(lambda x: -x, lambda: (torch.tensor([True]),)),
    "difference of bools": Bad(lambda x: x - x, lambda: (torch.tensor([True]),)),
    "shift of floats": Bad(lambda x: x << 1, _tensors((3,))),
    "and of floats": Bad(lambda x: x & x, _tensors((3,))),
    "mean of integers": Bad(lambda x: x.mean(), lambda: (torch.arange(3),)),
    "pool divided by 0": Bad(lambda x: F.avg_pool3d(x, 2, divisor_override=0), _tensors((1, 2, 4, 4, 4))),
    "softmax of integers": Bad(lambda x: x.softmax(0), lambda: (torch.arange(3),)),
    "index by floats": Bad(lambda x, y: x[y], _tensors((3,), (2,))),
    "embedding by floats": Bad(lambda x, y: F.embedding(y, x), _tensors((3, 2), (2,))),
    "where with a number mask": Bad(lambda x: torch.where(x, x, x), _tensors((3,))),
    "masked fill by a float mask": Bad(lambda x: x.masked_fill(x, 0), _tensors((3,))),
    "negative power": Bad(lambda x: x**-1, lambda: (torch.arange(3),)),
    "gelu of integers": Bad(lambda x: F.gelu(x), lambda: (torch.arange(3),)),
    "gelu approximation": Bad(lambda x: F.gelu(x, approximate="close"), _tensors((3,))),
    "scatter of another dtype": Bad(lambda x, i: x.scatter(0, i, torch.ones(2, dtype=torch.float64)), lambda: (torch.randn(3), torch.tensor([0, 1]))),
}

INDICES = {
    "embedding": Bad(lambda x, i: F.embedding(i, x), _index(0, 1, 4), IN_RANGE),
    "embedding of a negative": Bad(lambda x, i: F.embedding(i, x), _index(0, -1, 3), IN_RANGE),
    "embedding with arithmetic": Bad(lambda x, i: F.embedding(i + 1, x * 2).relu(), _index(0, 1, 3), _index(0, 1, 2)),
    "index": Bad(lambda x, i: x[i], _index(0, 1, 4), IN_RANGE),
    "index below": Bad(lambda x, i: x[i] * 2, _index(0, 1, -5), _index(0, 1, -4)),
    "index of a column": Bad(lambda x, i: x[:, i] + 1, _index(0, 1, 3), _index(0, 1, -1)),
    "index of pairs": Bad(lambda x, i: x[i, i].exp(), _index(0, 1, 3), _index(0, 1, 2)),
    "index_select": Bad(lambda x, i: x.index_select(1, i), _index(0, 1, 3), _index(0, 1, 2)),
    "take": Bad(lambda x, i: x.take(i), _index(0, 1, 12), _index(0, 1, -12)),
    "gather": Bad(lambda x, i: x.gather(0, i[None]), _index(0, 1, 4), IN_RANGE),
    "gather of a negative": Bad(lambda x, i: x.gather(0, i[None]), _index(0, 1, -1), IN_RANGE),
    "scatter": Bad(lambda x, i: x.scatter(0, i[None], 1.0) + 1, _index(0, 1, 4), IN_RANGE),
    "scatter_add": Bad(lambda x, i: x.scatter_add(0, i[None], x), _index(0, 1, 4), IN_RANGE),
    "index_put": Bad(lambda x, i: x.index_put((i,), torch.ones(3)), _index(0, 1, 4), IN_RANGE),
    "index_add": Bad(lambda x, i: x.index_add(0, i, x[:3]), _index(0, 1, 4), IN_RANGE),
    "index_copy": Bad(lambda x, i: x.index_copy(0, i, x[:3]), _index(0, 1, 4), IN_RANGE),
    "nll_loss": Bad(lambda x, i: F.nll_loss(x[:3], i), _index(0, 1, 3), _index(0, 1, 2)),
    "cross_entropy": Bad(lambda x, i: F.cross_entropy(x[:3], i) * 2, _index(0, 1, -1), _index(0, 1, 2)),
    "embedding_bag": Bad(lambda x, i: F.embedding_bag(i, x, torch.tensor([0, 2])), _index(0, 1, 4), IN_RANGE),
    "one_hot": Bad(lambda x, i: F.one_hot(i, 3), _index(0, 1, 3), _index(0, 1, 2)),
    "integer division": Bad(lambda x: torch.div(x, x, rounding_mode="floor"), lambda: (torch.tensor([1, 0]),), lambda: (torch.tensor([1, 2]),)),
    "integer remainder": Bad(lambda x: 7 % x, lambda: (torch.tensor([1, 0]),), lambda: (torch.tensor([1, 2]),)),
    "integer fmod": Bad(lambda x: torch.fmod(x, x), lambda: (torch.tensor([1, 0]),), lambda: (torch.tensor([1, 2]),)),
    "inverse of a singular matrix": Bad(lambda x: torch.linalg.inv(x) + 1, lambda: (torch.zeros(3, 3),), lambda: (torch.eye(3),)),
    "solve of a singular matrix": Bad(lambda x: torch.linalg.solve(x, x), lambda: (torch.zeros(3, 3),), lambda: (torch.eye(3),)),
    "cholesky": Bad(lambda x: torch.linalg.cholesky(x), lambda: (-torch.eye(3),), lambda: (torch.eye(3),)),
    "bincount": Bad(lambda x: torch.bincount(x), lambda: (torch.tensor([1, -1]),), lambda: (torch.tensor([1, 1]),)),
    "item of run time": Bad(lambda x: [1, 2][int(x.item())], lambda: (torch.tensor(2),), lambda: (torch.tensor(1),)),
    "binary cross entropy": Bad(lambda x: F.binary_cross_entropy(x, x.round()), lambda: (torch.tensor([0.5, 1.5]),), lambda: (torch.tensor([0.5, 0.25]),)),
    "repeat_interleave": Bad(lambda x, i: x.repeat_interleave(i, 0), _index(1, 1, -1, 1), _index(1, 1, 2, 1)),
    "unused gather": Bad(lambda x, i: (x.gather(0, i[None]), x + 1)[1], _index(0, 1, 4), IN_RANGE),
}

DEVICES = {
    "meta": Bad(lambda x, y: x + y, lambda: (torch.randn(2), torch.randn(2, device="meta"))),
    "an absent device": Bad(lambda x: x.to("xpu"), _tensors((2,))),
    "a new tensor on an absent device": Bad(lambda x: x + torch.zeros(2, device="xpu"), _tensors((2,))),
}

CALLS = {f"{kind}: {name}": bad for kind, table in (("shape", SHAPES), ("dtype", DTYPES), ("index", INDICES), ("device", DEVICES)) for name, bad in table.items()}
