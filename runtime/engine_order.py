"""The order in which autograd's engine comes to the parameters behind one node.

Nodes that gather gradients of leaves are all equally urgent, and the engine's queue is a binary heap (`std::priority_queue` in
`torch/csrc/autograd/engine.cpp`): which of equal entries comes out first follows from how many there are and in which order they went in.  So a node that
stands for a whole graph lists its inputs in the order that makes hooks on leaves run as they do in eager.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from typing import TypeVar

T = TypeVar("T")


def as_edges(wanted: Sequence[T]) -> tuple[T, ...]:
    """The order of a node's inputs in which the engine comes to them as `wanted` says."""
    edges = list(wanted)
    for item, place in zip(wanted, _taken(len(wanted))):
        edges[place] = item
    return tuple(edges)


@lru_cache(maxsize=64)
def _taken(count: int) -> tuple[int, ...]:
    """The numbers of so many equal entries of a heap, put in in order, as they are taken out: `pop_heap` of libstdc++ with nothing less than anything."""
    heap, taken = list(range(count)), []
    while heap:
        taken.append(heap[0])
        last = heap.pop()
        hole = child = 0
        while child < (len(heap) - 1) // 2:
            child = 2 * (child + 1)
            heap[hole] = heap[child]
            hole = child
        if heap and len(heap) % 2 == 0 and child == (len(heap) - 2) // 2:
            child = 2 * (child + 1)
            heap[hole] = heap[child - 1]
            hole = child - 1
        if heap:
            heap[hole] = last
    return tuple(taken)
