"""Words of the counter-based generator Philox 4x32-10; `dialects.scalars` says which.

A word is held in the low half of an i64 and its high half is not looked at, so that a round is two products of 32-bit numbers, which processors have as
one instruction, and six more operations.
"""

from __future__ import annotations

from .builder import Body, Value

ROUNDS = 10
MULTIPLIERS = (0xD2511F53, 0xCD9E8D57)
KEY_STEPS = (0x9E3779B9, 0xBB67AE85)
LOW = (1 << 32) - 1


def _high(value: Value) -> Value:
    return value.body.shift_right(value, 32, signed=False)


def block(key: Value, stream: Value, number: Value) -> list[Value]:
    """The four words of block `number` of a stream; what stands in the high halves of the words has no meaning."""
    low_key, high_key = key, _high(key)
    words = [number, _high(number), stream, _high(stream)]
    for turn in range(ROUNDS):
        first, second = (words[0] & LOW) * MULTIPLIERS[0], (words[2] & LOW) * MULTIPLIERS[1]
        keys = [part + step * turn for part, step in zip((low_key, high_key), KEY_STEPS)]
        words = [_high(second) ^ words[1] ^ keys[0], second, _high(first) ^ words[3] ^ keys[1], first]
    return words


def _odd(number: Value, bit: int) -> Value:
    return number.body.compare("ne", number & bit, 0)


def philox32(body: Body, key: Value, stream: Value, number: Value) -> Value:
    """Word `number` of a stream, in 0..2^32-1."""
    words = block(key, stream, body.shift_right(number, 2, signed=True))
    odd = _odd(number, 1)
    low, high = body.select(odd, words[1], words[0]), body.select(odd, words[3], words[2])
    return body.select(_odd(number, 2), high, low) & LOW


def first_pair(body: Body, key: Value, stream: Value, number: Value) -> Value:
    """Words 0 and 1 of block `number`, the first in the low half."""
    return _pair(*block(key, stream, number)[:2])


def second_pair(body: Body, key: Value, stream: Value, number: Value) -> Value:
    """Words 2 and 3 of block `number`, the first in the low half."""
    return _pair(*block(key, stream, number)[2:])


def _pair(low: Value, high: Value) -> Value:
    return (low & LOW) | high << 32


def philox64(body: Body, key: Value, stream: Value, number: Value) -> Value:
    """Words 2 * number and 2 * number + 1 of a stream, the first in the low half."""
    words = block(key, stream, body.shift_right(number, 1, signed=True))
    odd = _odd(number, 1)
    return _pair(body.select(odd, words[2], words[0]), body.select(odd, words[3], words[1]))
