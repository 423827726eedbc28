"""Maximum flow and minimum cut by Dinic's algorithm (E. A. Dinic, Soviet Math. Doklady 11, 1970), on arrays.

Written here because importing a graph library takes longer than differentiating, lowering and partitioning a network; tests compare with networkx.
"""

from __future__ import annotations

INFINITE = 1 << 60


class FlowNetwork:
    """Nodes are integers; `edge` adds a directed edge with an integer capacity."""

    def __init__(self) -> None:
        self.out: list[list[int]] = []  # the edges at each node; edge e ^ 1 is edge e turned around
        self.to: list[int] = []
        self.capacity: list[int] = []

    def node(self) -> int:
        """A new node."""
        self.out.append([])
        return len(self.out) - 1

    def edge(self, start: int, end: int, capacity: int) -> None:
        """Let up to `capacity` flow from `start` to `end`."""
        self.out[start].append(len(self.to))
        self.out[end].append(len(self.to) + 1)
        self.to += [end, start]
        self.capacity += [capacity, 0]

    def maximize(self, source: int, sink: int) -> int:
        """Fill the network; the size of the flow.  `capacity` is what is left of each edge then."""
        total = 0
        while (level := self._levels(source, sink))[source] >= 0:
            total += self._blocking_flow(source, sink, level)
        return total

    def _levels(self, source: int, sink: int) -> list[int]:
        """Steps from each node to the sink along edges that have room; -1 where there is no way or it is no shorter than that of the source."""
        level = [-1] * len(self.out)
        level[sink] = 0
        queue = [sink]
        for node in queue:
            if level[source] >= 0 and level[node] >= level[source]:
                break
            for edge in self.out[node]:
                other = self.to[edge]
                if self.capacity[edge ^ 1] and level[other] < 0:
                    level[other] = level[node] + 1
                    queue.append(other)
        return level

    def _blocking_flow(self, source: int, sink: int, level: list[int]) -> int:
        """Send flow along shortest ways until each has a full edge."""
        to, capacity = self.to, self.capacity
        tried = [0] * len(self.out)
        path: list[int] = []
        total = 0
        node = source
        while True:
            if node == sink:
                amount = min([capacity[edge] for edge in path])
                total += amount
                node = self._send(path, amount)
                continue
            edges, position = self.out[node], tried[node]
            while position < len(edges) and not (capacity[edges[position]] and level[to[edges[position]]] == level[node] - 1):
                position += 1
            tried[node] = position
            if position < len(edges):
                path.append(edges[position])
                node = to[edges[position]]
            elif path:
                node = to[path.pop() ^ 1]
                tried[node] += 1
            else:
                return total

    def _send(self, path: list[int], amount: int) -> int:
        """Let `amount` flow along a path, and shorten it to the part in front of the first full edge; the node where that ends."""
        full = len(path)
        for position in range(len(path) - 1, -1, -1):
            edge = path[position]
            self.capacity[edge] -= amount
            self.capacity[edge ^ 1] += amount
            if not self.capacity[edge]:
                full = position
        node = self.to[path[full] ^ 1]
        del path[full:]
        return node

    def sink_side(self, sink: int) -> list[bool]:
        """For each node whether flow could still reach the sink from it: the cut that lies nearest to the sink."""
        found = [False] * len(self.out)
        found[sink] = True
        queue = [sink]
        for node in queue:
            for edge in self.out[node]:
                other = self.to[edge]
                if self.capacity[edge ^ 1] and not found[other]:
                    found[other] = True
                    queue.append(other)
        return found
