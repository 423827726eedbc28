"""Philox 4x32-10 on tensors of i64, as literal as it can be: the counter-based generator of Salmon, Moraes, Dror, Shaw, Parallel random numbers: as
easy as 1, 2, 3 (SC 2011).

Ten rounds mix a counter of four 32-bit words under a key of two.  Words are i64 here, their high halves zero.  See `dialects.scalars` for what a stream
is and how its words are numbered.
"""

from __future__ import annotations

import torch

ROUNDS = 10
MULTIPLIERS = (0xD2511F53, 0xCD9E8D57)
KEY_STEPS = (0x9E3779B9, 0xBB67AE85)
LOW = (1 << 32) - 1


def high_half(value: torch.Tensor) -> torch.Tensor:
    """The upper 32 bits as a number that is not negative."""
    return (value >> 32) & LOW


def block(key: torch.Tensor, stream: torch.Tensor, number: torch.Tensor) -> list[torch.Tensor]:
    """The four words of block `number` of a stream."""
    keys = [key & LOW, high_half(key)]
    words = [number & LOW, high_half(number), stream & LOW, high_half(stream)]
    for _ in range(ROUNDS):
        first, second = words[0] * MULTIPLIERS[0], words[2] * MULTIPLIERS[1]  # the 64 bits of each product, which wrap into the sign
        words = [high_half(second) ^ words[1] ^ keys[0], second & LOW, high_half(first) ^ words[3] ^ keys[1], first & LOW]
        keys = [(value + step) & LOW for value, step in zip(keys, KEY_STEPS)]
    return words


def philox32(key: torch.Tensor, stream: torch.Tensor, number: torch.Tensor) -> torch.Tensor:
    """Word `number` of a stream, in 0..2^32-1."""
    words = block(key, stream, number >> 2)
    place = number & 3
    return torch.where(place < 2, torch.where(place == 0, words[0], words[1]), torch.where(place == 2, words[2], words[3]))


def philox64(key: torch.Tensor, stream: torch.Tensor, number: torch.Tensor) -> torch.Tensor:
    """Words 2 * number and 2 * number + 1 of a stream, the first in the low half."""
    words = block(key, stream, number >> 1)
    pairs = [words[0] | words[1] << 32, words[2] | words[3] << 32]
    return torch.where(number & 1 == 0, pairs[0], pairs[1])
