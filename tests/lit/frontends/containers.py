# RUN: lect-opt --capture %s:collect -p pyframe-to-fx | filecheck %s --check-prefix=COLLECT
# RUN: lect-opt --capture %s:unpack -p pyframe-to-fx | filecheck %s --check-prefix=UNPACK
# RUN: lect-opt --capture %s:constants -p pyframe-to-fx | filecheck %s --check-prefix=CONSTANTS
"""Lists, tuples, dictionaries and strings exist only while the frame is followed; what is returned is made again."""

import torch


def collect(x):
    parts = [x[i] * i for i in range(3) if i != 1]
    names = {f"part{i}": part for i, part in enumerate(parts)}
    names["sum"] = sum(parts)
    return names


def collect_inputs():
    return (torch.randn(3, 2),)


# COLLECT-LABEL: fx.graph @collect.graph(%x: !fx.tensor<3x2xf32>)
# COLLECT-NEXT: %0 = fx.call(%x) {target = @operator.getitem, args = [#fx.operand<0>, 0]}
# COLLECT-NEXT: %1 = fx.call(%0) {target = @operator.mul, args = [#fx.operand<0>, 0]}
# COLLECT-NEXT: %2 = fx.call(%x) {target = @operator.getitem, args = [#fx.operand<0>, 2]}
# COLLECT-NEXT: %3 = fx.call(%2) {target = @operator.mul, args = [#fx.operand<0>, 2]}
# COLLECT-NEXT: %4 = fx.call(%1) {target = @operator.add, args = [0, #fx.operand<0>]}
# COLLECT-NEXT: %5 = fx.call(%4, %3) {target = @operator.add, args = [#fx.operand<0>, #fx.operand<1>]}
# COLLECT-NEXT: fx.return(%1, %3, %5)
# COLLECT-LABEL: pyframe.func @collect
# COLLECT: pyframe.load_const() {value = "part0"}
# COLLECT: pyframe.load_const() {value = "part1"}
# COLLECT: pyframe.load_const() {value = "sum"}
# COLLECT: pyframe.build_map


def unpack(x):
    (a, _), *rest = x.split(1), x, x + 1
    return a, rest


def unpack_inputs():
    return (torch.randn(2, 2),)


# Several results, of which one is returned; the list is new, and the input in it is the caller's.
# UNPACK-LABEL: fx.graph @unpack.graph
# UNPACK-NEXT: %0, %1 = fx.call(%x) {target = @torch.Tensor.split, args = [#fx.operand<0>, 1]} : (!fx.tensor<1x2xf32>, !fx.tensor<1x2xf32>)
# UNPACK-NEXT: %2 = fx.call(%x) {target = @operator.add, args = [#fx.operand<0>, 1]}
# UNPACK-NEXT: fx.return(%0, %2)
# UNPACK-LABEL: pyframe.func @unpack
# UNPACK: %[[A:.*]] = pyframe.load_item
# UNPACK: %[[PLUS:.*]] = pyframe.load_item
# UNPACK: %[[REST:.*]] = pyframe.build_list(%x, %[[PLUS]])
# UNPACK: pyframe.build_tuple(%[[A]], %[[REST]])


def constants(x):
    return {"f": 0.5, "none": None, "t": (1, "two"), "x": torch.relu(x), "dtype": x.dtype, "slice": slice(1, None)}


def constants_inputs():
    return (torch.randn(2),)


# CONSTANTS-LABEL: pyframe.func @constants
# CONSTANTS-DAG: pyframe.load_const() {value = 0.5}
# CONSTANTS-DAG: pyframe.load_const() {value = none}
# CONSTANTS-DAG: pyframe.load_const() {value = "two"}
# CONSTANTS-DAG: pyframe.load_resource() {id = "object.{{[0-9]+}}"}
# CONSTANTS-DAG: pyframe.build_slice
