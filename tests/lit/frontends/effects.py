# RUN: lect-opt --capture %s:update -p pyframe-to-fx | filecheck %s
"""Writes to what existed before are replayed behind the graph, in order; everything is read before anything is written."""

import types

import torch

STATE = types.SimpleNamespace(last=None, count=1)
LOG = []
TOTAL = 0


def update(x, table):
    global TOTAL
    y = x + STATE.count
    STATE.last = y
    LOG.append((y, "done"))
    table["y"] = y
    TOTAL = 5
    del STATE.count
    return y


def update_inputs():
    return torch.randn(2), {}


# CHECK-LABEL: guard.set @update.guards()
# CHECK-DAG: guard.equals(%count) {value = 1}
# CHECK-DAG: guard.type_is(%table)
# CHECK-LABEL: pyframe.func @update
# CHECK: %[[GRAPH:.*]] = pyframe.call_graph(%x)
# CHECK: %[[Y:.*]] = pyframe.load_item(%[[GRAPH]]
# CHECK: %[[ENTRY:.*]] = pyframe.build_tuple(%[[Y]]
# CHECK: pyframe.store_attr({{.*}}, %[[Y]]) {attr = "last"}
# CHECK: pyframe.call({{.*}}, {{.*}}, %[[ENTRY]])
# CHECK: pyframe.store_item(%table, {{.*}}, %[[Y]])
# CHECK: pyframe.store_item(
# CHECK: pyframe.delete_attr({{.*}}) {attr = "count"}
# CHECK-NEXT: pyframe.return(%[[Y]])
