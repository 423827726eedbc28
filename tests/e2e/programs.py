"""Small functions over tensors, one Python feature each, with inputs.  Every one must give eager's value when compiled."""

from __future__ import annotations

import collections
import dataclasses
import enum
import functools
import math
from collections.abc import Callable
from typing import Any, NamedTuple

import torch
import torch.nn.functional as F
from torch import nn

SCALE = 3.0
TABLE = {"a": 1.5, "b": [1, 2, 3]}


class Color(enum.Enum):
    RED = 1
    BLUE = 2


class Pair(NamedTuple):
    first: torch.Tensor
    second: int


@dataclasses.dataclass
class Config:
    width: int = 4
    name: str = "gelu"


class Holder:
    factor = 2.0

    def __init__(self, offset):
        self.offset = offset

    @property
    def doubled(self):
        return self.offset * 2

    @classmethod
    def twice(cls, x):
        return x * cls.factor

    @staticmethod
    def half(x):
        return x / 2

    def __call__(self, x):
        return x + self.offset

    def __add__(self, other):
        return other + self.offset


HOLDER = Holder(1.25)


def tensors(*shapes):
    generator = torch.Generator().manual_seed(0)
    return tuple(torch.randn(shape, generator=generator) for shape in shapes)


def arithmetic(x, y):
    return (x + y) * 2 - x / (y.abs() + 1) ** 2


def branch_on_shape(x):
    if x.shape[0] > 2 and x.ndim == 2:
        return x.sum(0)
    return x.sum()


def loop_over_range(x):
    for i in range(3):
        x = x * i + 1
    return x


def loop_over_list(x):
    total = torch.zeros_like(x)
    for factor, shift in zip([1, 2.5], (3, 4)):
        total = total + x * factor - shift
    return total


def enumerate_reversed(x):
    for number, value in enumerate(reversed([0.5, 1.5])):
        x = x * value + number
    return x


def while_loop(x):
    n = 0
    while n < x.shape[0]:
        x = x + n
        n += 2
    return x


def break_continue_else(x):
    for i in range(10):
        if i % 2:
            continue
        if i > 5:
            break
        x = x + i
    else:
        x = x * 100
    return x


def comprehension(x):
    parts = [x[i] * i for i in range(x.shape[0]) if i != 1]
    return torch.stack(parts), {k: v for k, v in zip("ab", parts)}


def keywords_and_defaults(x, *args, scale=2.0, **kwargs):
    out = x * scale
    for value in args:
        out = out + value
    for name in sorted(kwargs):
        out = out - kwargs[name]
    return out


def call_with_keywords(x):
    return keywords_and_defaults(x, 1, 2, scale=0.5, b=3.0, a=1)


def call_with_stars(x):
    return keywords_and_defaults(x, *[1, 2], **{"scale": 0.25, "z": 2})


def closure(x):
    factor = x.shape[-1]

    def inner(value, shift=1):
        return value * factor + shift

    return inner(x) + inner(x, shift=2)


def lambda_and_partial(x):
    add = functools.partial(lambda a, b, c=1: a + b * c, c=3)
    return add(x, 2)


def nonlocal_counter(x):
    count = 0

    def step(value):
        nonlocal count
        count += 1
        return value * count

    return step(step(step(x))), count


def recursion(x):
    def power(value, n):
        return value if n == 0 else power(value * 2, n - 1)

    return power(x, 4)


def string_formatting(x):
    key = f"{x.shape[0]}x{x.dtype}:{1.5:.2f}"
    return {key: x + 1}


def global_constant(x):
    return x * SCALE + TABLE["a"] + len(TABLE["b"])


def dictionary_methods(x):
    d = {"x": x, "n": 2}
    d["y"] = d.get("x") * d.pop("n")
    d.setdefault("z", d["x"] + 1)
    d.update(w=d["z"] - 1)
    return [value for key, value in sorted(d.items())]


def list_methods(x):
    items = [x]
    items.append(x + 1)
    items.extend((x + 2, x + 3))
    items.insert(0, x * 5)
    last = items.pop()
    items.reverse()
    return items, last, items.index(items[1]) if False else len(items)


def unpacking(x):
    a, (b, *c) = x[0], [x[1], x[2], x[3]]
    return a + b, c


def unpack_tensor(x):
    a, b, c, d = x
    return a * b + c - d


def named_tuple(x):
    pair = Pair(x * 2, 3)
    return pair._replace(second=4), pair.first + pair.second


def user_object(x):
    return HOLDER(x) + HOLDER.doubled + HOLDER.twice(x) + Holder.half(x) + (HOLDER + x)


def object_made_inside(x):
    holder = Holder(x.sum())
    holder.extra = 2
    return holder(x) * holder.extra, holder.doubled


def object_escapes(x):
    holder = Holder(x + 1)
    holder.items = [x * 2, holder.offset]
    return holder.offset, vars(holder)


def dataclass_and_enum(x):
    config = Config(width=x.shape[-1])
    color = Color.RED if config.width > 3 else Color.BLUE
    return x * color.value if color is Color.RED else -x, dataclasses.replace(config, name="relu").name


def isinstance_and_types(x):
    out = x
    if isinstance(x, torch.Tensor) and not isinstance(x, nn.Parameter):
        out = out + 1
    if type(x) is torch.Tensor and callable(torch.relu) and issubclass(bool, int):
        out = out * 2
    if hasattr(x, "shape") and not hasattr(x, "no_such_attribute"):
        out = out - 3
    return out * getattr(x, "missing", 5)


def shape_arithmetic(x):
    rows, columns = x.shape
    flat = x.reshape(rows * columns // 2, -1)
    return flat.view(-1, rows, columns // 2).transpose(1, 2), math.prod(x.size()), x.numel() + x.size(0)


def indexing(x):
    return x[1:, None, ::2], x[..., -1], x[[0, 2]], x[x.shape[0] - 1, 0]


def try_without_exception(x):
    try:
        y = x + 1
    except ValueError:
        y = x - 1
    else:
        y = y * 2
    finally:
        z = y + 3
    return z


def exception_caught_inside(x):
    try:
        {}["missing"]
    except KeyError as error:
        x = x + len(error.args)
    try:
        raise ValueError("text")
    except (TypeError, ValueError):
        x = x * 2
    return x


def no_grad_context(x):
    with torch.no_grad():
        y = x * 2
    return y + 1


def torch_functions(x):
    values, indices = torch.max(x, dim=1)
    parts = torch.split(x, 2, dim=0)
    q = torch.einsum("ij,kj->ik", x, x)
    return values, indices, torch.cat(parts, dim=1), q, torch.where(x > 0, x, torch.zeros(()))


def tensor_methods(x):
    return x.t().contiguous().clamp(min=-0.5).masked_fill(x.t() > 1, float("-inf")).softmax(-1), x.mean(), x.argmax().add(1)


def functional_zoo(x):
    h = F.layer_norm(x, (x.shape[-1],))
    h = F.gelu(h) + F.silu(h) + F.relu(h, inplace=False)
    return F.log_softmax(h, dim=-1), F.dropout(h, 0.5, training=False), F.pad(h, (1, 1)), F.one_hot(h.argmax(-1), 8)


def pooling_dispatch(x):
    image = x.reshape(1, 1, x.shape[0], x.shape[1])
    return F.max_pool2d(image, 2), F.adaptive_avg_pool2d(image, 1), F.interpolate(image, scale_factor=2.0)


def creation(x):
    mask = torch.tril(torch.ones(x.shape[0], x.shape[0], dtype=torch.bool))
    return mask, torch.arange(x.shape[1], device=x.device), torch.full_like(x, 2.0), torch.tensor([1.0, 2.0]) + 1


def dtypes(x):
    return x.to(torch.float64) + 1, x.half() * 3, x.bool(), (x > 0).long().sum(), x.type_as(torch.zeros(1, dtype=torch.int32))


def same_object_twice(x):
    y = x + 1
    return y, [y, x], {"y": y}


def constants_only_in_output(x):
    return x + 1, None, 3, "text", (1, 2.5), {"k": ()}, slice(1, None)


def deque_and_ordered(x):
    queue = collections.deque([x])
    queue.appendleft(x * 2)
    ordered = collections.OrderedDict(a=queue.popleft(), b=x)
    ordered.move_to_end("a")
    return ordered


def sum_min_max(x):
    return sum([x, x + 1]), max(3, x.shape[0]), min([5, 2.5, 7]), any([False, x.dim() == 2]), all(n > 0 for n in [1]) if False else 0


def chained_comparison(x):
    n = x.shape[0]
    return x * (2 if 0 < n <= 4 != 7 else 3), n in (1, 4), n not in {4: 1}, not n


def assertion(x):
    assert x.dim() == 2, "two dims"
    return x + 1


def special_values(x):
    return x / 0.0, torch.log(x * 0), -(x * 0), torch.nan_to_num(x / 0)


def strided(x):
    return x.t() + 1, x[::2] * 2, x.expand(2, *x.shape) + 1


def in_place_on_new(x):
    y = x.clone()
    y += 1
    y.mul_(2)
    y[0] = 5.0
    return y


PROGRAMS: tuple[tuple[Callable[..., Any], tuple[Any, ...]], ...] = (
    (arithmetic, tensors((3, 4), (3, 4))),
    *[
        (program, tensors((4, 4)))
        for program in (
            branch_on_shape, loop_over_range, loop_over_list, enumerate_reversed, while_loop, break_continue_else, comprehension,
            keywords_and_defaults, call_with_keywords, call_with_stars, closure, lambda_and_partial, nonlocal_counter, recursion,
            string_formatting, global_constant, dictionary_methods, list_methods, unpacking, unpack_tensor, named_tuple, user_object,
            object_made_inside, object_escapes, dataclass_and_enum, isinstance_and_types, shape_arithmetic, indexing, try_without_exception,
            exception_caught_inside, no_grad_context, torch_functions, tensor_methods, functional_zoo, pooling_dispatch, creation, dtypes,
            same_object_twice, constants_only_in_output, deque_and_ordered, sum_min_max, chained_comparison, assertion, special_values, strided,
            in_place_on_new,
        )
    ],
)  # fmt: skip
