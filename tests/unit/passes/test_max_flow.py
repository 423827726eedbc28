"""Maximum flow against networkx on random graphs."""

import random

import networkx
import pytest

from lect.passes.functional.max_flow import INFINITE, FlowNetwork


def random_edges(seed):
    """A graph with layers, shortcuts, edges backwards and some without limit."""
    rng = random.Random(seed)
    nodes = rng.randrange(4, 40)
    edges = []
    for _ in range(rng.randrange(nodes, 5 * nodes)):
        start, end = rng.sample(range(nodes), 2)
        edges.append((start, end, INFINITE if rng.random() < 0.1 and (start, end) != (0, 1) else rng.randrange(1, 50)))
    return nodes, edges


@pytest.mark.parametrize("seed", range(60))
def test_the_flow_is_that_of_networkx_and_the_cut_is_as_wide(seed):
    nodes, edges = random_edges(seed)
    graph = networkx.DiGraph()
    graph.add_nodes_from(range(nodes))
    network = FlowNetwork()
    for _ in range(nodes):
        network.node()
    for start, end, capacity in edges:
        network.edge(start, end, capacity)
        wide = graph.get_edge_data(start, end, {"capacity": 0})["capacity"]
        graph.add_edge(start, end, capacity=wide + capacity)
    want = networkx.maximum_flow_value(graph, 0, 1)
    got = network.maximize(0, 1)
    assert got == want
    near = network.sink_side(1)
    if want < INFINITE:
        assert not near[0]
        assert sum(capacity for start, end, capacity in edges if near[end] and not near[start]) == want


def test_the_cut_lies_at_the_sink():
    network = FlowNetwork()
    nodes = [network.node() for _ in range(4)]
    for start, end in zip(nodes, nodes[1:]):
        network.edge(start, end, 5)
    assert network.maximize(nodes[0], nodes[3]) == 5
    assert network.sink_side(nodes[3]) == [False, False, False, True]
