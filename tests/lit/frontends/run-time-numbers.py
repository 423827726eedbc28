# RUN: lect-opt --capture %s:scale -p pyframe-to-fx{run_time_numbers=true} | filecheck %s
# RUN: lect-opt --capture %s:scale -p pyframe-to-fx{run_time_numbers=true} | lect-opt | filecheck %s
# RUN: lect-opt --capture %s:scale -p pyframe-to-fx{run_time_numbers=true},fx-to-functional | filecheck %s --check-prefix=FUNCTIONAL
"""Numbers of run time: arithmetic in the residual code, outcomes as guards, values as arguments of the graph."""

import torch


def scale(x, rate, step, count):
    factor = rate * min(1.0, step / 100)
    y = torch.add(x * factor, x, alpha=rate)
    return y.view(count, -1), step + 1


def scale_inputs():
    return torch.randn(4, 8), 0.5, 10, 2


# A number that is a size is a symbol as sizes are, the others are numbers; the comparison in min() is guarded by its outcome.
# CHECK-LABEL: guard.set @scale.guards()
# CHECK: guard.number(%rate) {element = f64, fits = f32}
# CHECK: guard.number(%step) {element = i64}
# CHECK: guard.number(%count) {element = i64, size = #lect.size<s0>}
# CHECK: %[[PART:.*]] = guard.apply(%step) {function = "truediv", args = [#fx.operand<0>, 100]}
# CHECK-NEXT: %[[BELOW:.*]] = guard.apply(%[[PART]]) {function = "lt", args = [#fx.operand<0>, 1.0]}
# CHECK-NEXT: guard.truth(%[[BELOW]]) {value = true}

# CHECK-LABEL: fx.graph @scale.graph(%x: !fx.tensor<(s0 * 2)xs1xf32>, %0: !fx.number<f64>, %rate: !fx.number<f64>)
# CHECK-NEXT: %[[MUL:.*]] = fx.call(%x, %0) {target = @operator.mul, args = [#fx.operand<0>, #fx.operand<1>]} : !fx.tensor<(s0 * 2)xs1xf32>
# CHECK-NEXT: fx.call(%[[MUL]], %x, %rate) {target = @torch.add, args = [#fx.operand<0>, #fx.operand<1>], kwargs = {alpha = #fx.operand<2>}}

# CHECK-LABEL: pyframe.func @scale()
# CHECK: %[[PART:.*]] = pyframe.binary(%step, %{{.*}}) {operator = "/"}
# CHECK-NEXT: %[[FACTOR:.*]] = pyframe.binary(%rate, %[[PART]]) {operator = "*"}
# CHECK-NEXT: pyframe.call_graph(%x, %[[FACTOR]], %rate) {graph = @scale.graph}
# CHECK: pyframe.binary(%step, %{{.*}}) {operator = "+"}

# Below, a number is a 0-d tensor: a product reads it as it is, a factor has the dtype of the tensors.
# FUNCTIONAL-LABEL: functional.func @scale.graph(%x: !functional.tensor<(s0 * 2)xs1xf32>, %0: !functional.tensor<f64>, %rate: !functional.tensor<f64>)
# FUNCTIONAL-NEXT: %[[MUL:.*]] = functional.mul(%x, %0) : !functional.tensor<(s0 * 2)xs1xf32>
# FUNCTIONAL-NEXT: %[[RATE:.*]] = functional.cast(%rate) {to = f32} : !functional.tensor<f32>
# FUNCTIONAL-NEXT: functional.add(%[[MUL]], %x; %[[RATE]]) : !functional.tensor<(s0 * 2)xs1xf32>
