# RUN: lect-opt --capture %s:attend -p pyframe-to-fx | filecheck %s
# RUN: lect-opt --capture %s:attend -p pyframe-to-fx | lect-opt | filecheck %s
"""One function split into what must hold, what torch does, and what stays Python."""

import torch
import torch.nn.functional as F


def attend(x, w, scale=2.0):
    h = F.gelu(x @ w, approximate="tanh")
    if h.shape[0] > 2:
        h = h * scale
    return {"out": torch.softmax(h, -1), "rows": h.shape[0], "input": x}


def attend_inputs():
    return torch.randn(4, 8), torch.randn(8, 8)


# The conditions on the arguments, on what the names mean, and on torch.
# CHECK-LABEL: guard.set @attend.guards()
# CHECK-DAG: guard.tensor(%x) {dtype = f32, sizes = [4, 8], strides = [8, 1]}
# CHECK-DAG: guard.tensor(%w) {dtype = f32, sizes = [8, 8], strides = [8, 1]}
# CHECK-DAG: guard.source() {path = #guard.path<{{.*}}F{{.*}}.gelu>}
# CHECK-DAG: guard.is(%gelu)
# CHECK-DAG: guard.equals(%scale) {value = 2.0}
# CHECK: guard.global_state() {grad = true, default_dtype = f32}

# The branch on the shape is decided, and the graph holds torch calls alone.
# CHECK-LABEL: fx.graph @attend.graph(%x: !fx.tensor<4x8xf32>, %w: !fx.tensor<8x8xf32>)
# CHECK-NEXT: %[[XW:.*]] = fx.call(%x, %w) {target = @operator.matmul, args = [#fx.operand<0>, #fx.operand<1>]} : !fx.tensor<4x8xf32>
# CHECK-NEXT: %[[GELU:.*]] = fx.call(%[[XW]]) {target = @torch.nn.functional.gelu, args = [#fx.operand<0>], kwargs = {approximate = "tanh"}}
# CHECK-NEXT: %[[MUL:.*]] = fx.call(%[[GELU]]) {target = @operator.mul, args = [#fx.operand<0>, 2.0]}
# CHECK-NEXT: %[[OUT:.*]] = fx.call(%[[MUL]]) {target = @torch.softmax, args = [#fx.operand<0>, -1]}
# CHECK-NEXT: fx.return(%[[OUT]])

# The dictionary is made anew at each call, and the input in it is the caller's tensor.
# CHECK-LABEL: pyframe.func @attend() {code_name = "attend", args = ["x", "w", "scale"]
# CHECK-NEXT: %x = pyframe.load_local() {id = "x"}
# CHECK-NEXT: %w = pyframe.load_local() {id = "w"}
# CHECK-NEXT: %[[RESULTS:.*]] = pyframe.call_graph(%x, %w) {graph = @attend.graph}
# CHECK: %[[FIRST:.*]] = pyframe.load_item(%[[RESULTS]]
# CHECK: %[[MAP:.*]] = pyframe.build_map({{.*}}, %[[FIRST]], {{.*}}, {{.*}}, {{.*}}, %x)
# CHECK-NEXT: pyframe.return(%[[MAP]])
