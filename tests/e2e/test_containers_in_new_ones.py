"""What a container of the caller holds is looked at again in each call, also where C code reads it out of a container that the frame has made around it."""

import json

import pytest
import torch

import lect
from tests.e2e.support import same, stops

FIRST, SECOND, THIRD = ([1, 2], [3, 0]), ([2, 0], [3, 0]), ([0, 1], [0, 1])
READERS = {
    "tensor": lambda pair: torch.tensor([pair[0]]),
    "as_tensor": lambda pair: torch.as_tensor((pair[0], pair[1])),
    "new_tensor": lambda pair: torch.ones(2).new_tensor([[pair[0]], [pair[1]]]),
    "index": lambda pair: torch.arange(4)[[pair[0]],],
    "index behind a slice": lambda pair: torch.arange(12).reshape(3, 4)[:, pair[0]],
    "index of tuples": lambda pair: torch.arange(4)[(tuple(pair[0]),)],
    "of a dictionary": lambda pair: torch.tensor([{"a": pair}["a"][0]]),
    "comparison": lambda pair: [pair[0]] == [[1, 2]],
    "order": lambda pair: (pair[0], 1) < (pair[1], 0),
    "text": lambda pair: str([pair[0]]),
    "formatted": lambda pair: f"{(pair[0],)} {pair[1]!r}",
    "sorted": lambda pair: sorted([pair[0], pair[1]]),
    "largest": lambda pair: max([pair[0], pair[1]]),
    "count": lambda pair: [pair[0], pair[1]].count([0, 1]),
    "membership": lambda pair: [0, 1] in [[pair[0]], pair[1]],
    "joined": lambda pair: sum([pair[0], pair[1]], []),
    "values": lambda pair: list({"a": pair[0]}.values()) == [[2, 0]],
    "json": lambda pair: json.dumps({"a": [pair[0]]}),
}


@pytest.mark.parametrize("reader", READERS)
def test_read_again_in_each_call(reader):
    lect.reset()
    read = READERS[reader]

    def program(x, pair):
        return x * 2, read(pair)

    compiled = lect.compile(program)
    for pair in (FIRST, SECOND, THIRD, FIRST):
        x = torch.randn(3)
        same(program(x, pair), compiled(x, pair))
    assert set(stops()) <= {"LB0019"}  # where numbers that change stand in a container in a container


def test_rows_found_behind_a_break():
    """A search whose beams are lists that a resumed frame puts into a tensor."""
    lect.reset()
    table = torch.randn(6, 6)

    def search(start):
        beams = [(0.0, start.tolist())]
        for _ in range(2):
            scores = table[torch.tensor([beam[1] for beam in beams])[:, -1]].log_softmax(-1)
            found = [(total + value, [*row, number]) for (total, row), line in zip(beams, scores) for number, value in enumerate(line.tolist())]
            beams = sorted(found, key=lambda each: -each[0])[:2]
        return [beam[1] for beam in beams]

    compiled = lect.compile(search)
    for number in range(6):
        start = torch.tensor([0, number])
        assert compiled(start) == search(start)


def linked_in_a_ring(x, number):
    """Each list holds the two beside it, as in the cache of `functools.lru_cache` that is written in Python."""
    root, table = [], {}
    root[:] = [root, root, None]
    for value in range(12):
        last = root[0]
        last[1] = root[0] = table[value] = [last, root, value]
    found = table.get
    return x * number, found(3)[2] + found(4)[1][2], str([link is root for link in root[:2]]), list(map(len, table.values())), found(99)


def test_lists_in_a_ring_are_entered_once():
    compiled, x = lect.compile(linked_in_a_ring, options={"level": "fx"}), torch.ones(2)
    for number in (1, 2, 3):
        want, got = linked_in_a_ring(x, number), compiled(x, number)
        assert torch.equal(want[0], got[0]) and want[1:] == got[1:]
