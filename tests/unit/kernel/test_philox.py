"""The generator of random words, against its published vectors and an implementation of its own here, in plain integers."""

import pytest
import torch

from lect.backends.reference import philox
from tests.unit.kernel.nests import nest_text, run_many, run_native, run_reference

ALL = 0xFFFFFFFF
# Counter, key and output of Philox 4x32-10, as published with the paper's library.
PUBLISHED = [
    ((0, 0, 0, 0), (0, 0), (0x6627E8D5, 0xE169C58D, 0xBC57AC4C, 0x9B00DBD8)),
    ((ALL, ALL, ALL, ALL), (ALL, ALL), (0x408F276D, 0x41C83B0E, 0xA20BC7C6, 0x6D5451FD)),
    (
        (0x243F6A88, 0x85A308D3, 0x13198A2E, 0x03707344),
        (0xA4093822, 0x299F31D0),
        (0xD16CFE09, 0x94FDCCEB, 0x5001E420, 0x24126EA1),
    ),
]
KEYS = [0, 0x243F6A8885A308D3, -1, -0x7FFFFFFFFFFFFFFF, 1 << 40]


def plain(counter, key):
    """Ten rounds on Python's integers."""
    a, b, c, d = counter
    for turn in range(10):
        left, right = (key[0] + turn * 0x9E3779B9) & ALL, (key[1] + turn * 0xBB67AE85) & ALL
        first, second = a * 0xD2511F53, c * 0xCD9E8D57
        a, b, c, d = (second >> 32) ^ b ^ left, second & ALL, (first >> 32) ^ d ^ right, first & ALL
    return a, b, c, d


def word(key, stream, number):
    """Word `number` of a stream."""
    key, stream, block = key % (1 << 64), stream % (1 << 64), (number // 4) % (1 << 64)
    return plain((block & ALL, block >> 32, stream & ALL, stream >> 32), (key & ALL, key >> 32))[number % 4]


def pair(key, stream, number):
    """Words 2 * number and 2 * number + 1 as one number with sign."""
    bits = word(key, stream, 2 * number) | word(key, stream, 2 * number + 1) << 32
    return bits - (1 << 64) if bits >> 63 else bits


EXPECTED = {"philox32": word, "philox64": pair}


@pytest.mark.parametrize(("counter", "key", "output"), PUBLISHED)
def test_published_vectors(counter, key, output):
    assert plain(counter, key) == output
    low, high, bits = [torch.tensor(signed(parts)) for parts in (counter[:2], counter[2:], key)]
    assert [int(value) for value in philox.block(bits, high, low)] == list(output)


def signed(parts):
    bits = parts[0] | parts[1] << 32
    return bits - (1 << 64) if bits >> 63 else bits


def text(name, size, number):
    body = f"""
    %k = loop.load(%key) MAP(0) : i64
    %s = loop.load(%stream) MAP(0) : i64
    %n = loop.index() MAP({number}) : i64
    %0 = loop.{name}(%k, %s, %n) : i64
    loop.store(%0) MAP(d0)"""
    return nest_text([size], [("key", "i64"), ("stream", "i64")], [("z", f"{size}xi64")], body)


# Words that begin a block and words that do not, steps, tails of a vector, numbers beyond 32 bits.
PLACES = ["d0", "d0 + 4", "d0 + 2", "d0 + 3", "d0 * 2", "d0 * 4 + 1", f"d0 + {1 << 33}", f"d0 + {(1 << 34) - 6}"]


@pytest.mark.parametrize("name", EXPECTED)
def test_native_and_reference_give_the_words(name):
    cases = [(size, place) for size in (64, 77, 5) for place in PLACES]
    keys = [KEYS[number % len(KEYS)] for number in range(len(cases))]
    texts = [text(name, size, place) for size, place in cases]
    inputs = [[torch.tensor(key), torch.tensor(key // 3 + 5)] for key in keys]
    for (size, place), key, program, given, have in zip(cases, keys, texts, inputs, run_many(texts, inputs)):
        numbers = [eval(place, {"d0": k}) for k in range(size)]
        want = torch.tensor([EXPECTED[name](key, key // 3 + 5, number) for number in numbers])
        assert torch.equal(have[0], want), (name, size, place, key)
        assert torch.equal(run_reference(program, given)[0], want), (name, size, place, key)


@pytest.mark.parametrize("name", EXPECTED)
def test_keys_and_numbers_that_vary(name):
    """Every element has a key, a stream and a number of its own."""
    body = f"""
    %k = loop.load(%key) MAP(d0) : i64
    %s = loop.load(%stream) MAP(d0) : i64
    %n = loop.load(%number) MAP(d0) : i64
    %0 = loop.{name}(%k, %s, %n) : i64
    loop.store(%0) MAP(d0)"""
    generator = torch.Generator().manual_seed(3)
    inputs = [torch.randint(-(1 << 63), (1 << 63) - 1, (37,), generator=generator) for _ in range(3)]
    inputs[2] >>= 2
    program = nest_text([37], [(letter, "37xi64") for letter in ("key", "stream", "number")], [("z", "37xi64")], body)
    want = torch.tensor([EXPECTED[name](*values) for values in zip(*[value.tolist() for value in inputs])])
    assert torch.equal(run_native(program, inputs)[0], want)
    assert torch.equal(run_reference(program, inputs)[0], want)


@pytest.mark.parametrize("columns", [64, 62, 7])
def test_rows_of_words(columns):
    """The number of a row's first word begins a block or not."""
    body = f"""
    %k = loop.load(%key) MAP(0) : i64
    %n = loop.index() MAP(d0 * {columns} + d1) : i64
    %0 = loop.philox32(%k, %k, %n) : i64
    %1 = loop.reduce(%0) {{kind = "xor", over = [1]}} : i64
    loop.store(%1) {{to = 0, map = #loop.map<(d0, d1) -> (d0)>}}
    loop.store(%0) {{to = 1, map = #loop.map<(d0, d1) -> (d0 * {columns} + d1)>}}"""
    program = nest_text([5, columns], [("key", "i64")], [("y", "5xi64"), ("z", f"5x{columns}xi64")], body)
    folded, words = run_native(program, [torch.tensor(11)])
    want = torch.tensor([word(11, 11, number) for number in range(5 * columns)]).reshape(5, columns)
    assert torch.equal(words, want)
    total = want[:, 0].clone()
    for column in range(1, columns):
        total ^= want[:, column]
    assert torch.equal(folded, total)


@pytest.mark.parametrize("features", ["+avx2,+fma", ""])
def test_text_for_other_processors_gives_the_same(features):
    program, inputs = text("philox32", 100, "d0"), [torch.tensor(7), torch.tensor(8)]
    assert torch.equal(run_native(program, inputs)[0], run_native(program, inputs, cpu_features=features, vector_bytes=16)[0])
