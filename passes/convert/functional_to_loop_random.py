"""Random tensors: each element is a function of the seed, the stream and the element's number in row-major order, whatever the layout.

`rand` takes as many leading bits of a word as the element type has digits, so its numbers are exactly k / 2^digits, and below 1.  `randn` takes two
words for each element (four in f64) and keeps the cosine of the pair that Box and Muller's transform gives.  `randint` scales a word of 64 bits to the
range by a product of 128 bits, of which it keeps the upper half: no result is off its share by more than 1 in 2^64 over the size of the range.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from types import MappingProxyType
from typing import Any, Final

from lect.dialects.functional import creation
from lect.ir import Operation, ScalarType
from lect.ir.index_map import linearize
from lect.ir.types import f32, f64, i32, i64
from lect.passes.convert.functional_to_loop_base import Body, Num
from lect.passes.convert.functional_to_loop_pointwise import Formula, convert

DIGITS: Final[Mapping[str, int]] = MappingProxyType({"f64": 53, "f32": 24, "f16": 11, "bf16": 8})
WORD: Final = (1 << 32) - 1


def words(body: Body, op: Any, name: str, step: int = 1, first: int = 0) -> Num:
    """Word number `step * element + first` of the operation's stream; `name` is "philox32" or "philox64"."""
    shape = op.output.type.shape
    number = body.index(linearize(body.indices, shape) * step + first)
    key = body.read(op.seed, ())
    return key.op(name, key.const(op.offset), number)


def high_bits(word: Num, bits: int) -> Num:
    """The upper bits of a word of 64 bits as a number that is not negative."""
    return word.op("shr", 64 - bits) & word.const((1 << bits) - 1)


def _rand(body: Body, op: Any) -> Num | None:
    element: ScalarType = op.element
    digits = DIGITS.get(element.spelling)
    if digits is None:
        return None
    if element is f64:
        return high_bits(words(body, op, "philox64"), digits).cast(f64) * 2.0**-digits
    return words(body, op, "philox32").op("shr", 32 - digits).cast(i32).cast(f32) * 2.0**-digits


def _randn(body: Body, op: Any) -> Num | None:
    if op.element.spelling not in DIGITS:
        return None
    if op.element is f64:
        radius, angle = [high_bits(words(body, op, "philox64", 2, part), 53).cast(f64) * 2.0**-53 for part in (0, 1)]
        radius = radius + 2.0**-54
    else:
        pair = words(body, op, "philox64")
        radius = _single(pair & pair.const(WORD)).op("fma", 2.0**-32, 2.0**-33)
        angle = high_bits(pair, 24).cast(i32).cast(f32) * 2.0**-24
    return (radius.op("log") * -2.0).op("sqrt") * (angle * (2 * math.pi)).op("cos")


def _single(word: Num) -> Num:
    """A word of 32 bits as f32: the sum of its halves, each of which is exact."""
    high = word.op("shr", 16).cast(i32).cast(f32)
    return high.op("fma", 65536.0, (word & word.const(0xFFFF)).cast(i32).cast(f32))


def _randint(body: Body, op: Any) -> Num:
    size = op.high - op.low
    word = words(body, op, "philox64")
    scaled = _upper_product(word, size)
    low = Num(body.builder, body.builder.const(_signed(op.low), i64))
    return convert(low + scaled, op.element)


def _upper_product(word: Num, size: int) -> Num:
    """The upper 64 bits of the product of two numbers of 64 bits without sign, from products of their halves."""
    high, low = high_bits(word, 32), word & word.const(WORD)
    size_high, size_low = size >> 32, size & WORD
    carried = high_bits(low * size_low, 32)
    if not size_high:
        return high_bits(high * size_low + carried, 32)
    middle, other = high * size_low, low * size_high
    carry = high_bits(carried + (middle & middle.const(WORD)) + (other & other.const(WORD)), 32)
    return high * size_high + high_bits(middle, 32) + high_bits(other, 32) + carry


def _signed(value: int) -> int:
    return (value + (1 << 63)) % (1 << 64) - (1 << 63)


FORMULAS: Final[Mapping[type[Operation], Formula]] = MappingProxyType({creation.RandOp: _rand, creation.RandnOp: _randn, creation.RandintOp: _randint})
