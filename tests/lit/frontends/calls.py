# RUN: lect-opt --capture %s:inlined -p pyframe-to-fx | filecheck %s --check-prefix=INLINED
# RUN: lect-opt --capture %s:methods -p pyframe-to-fx | filecheck %s --check-prefix=METHODS
"""User functions and methods are inlined; each one that decided what runs is guarded at the line that asked for it."""

import torch

SCALE = 3.0


def scaled(x, factor=2.0, *, shift=0.0):
    return x * factor + shift


def inlined(x):
    def twice(value):
        return scaled(value, shift=SCALE)

    return twice(x) + scaled(x, SCALE)


def inlined_inputs():
    return (torch.randn(2, 2),)


# INLINED-LABEL: guard.set @inlined.guards()
# INLINED-DAG: %[[SCALED:.*]] = guard.source() {path = #guard.path<{{.*}}scaled{{.*}}>}
# INLINED-DAG: guard.is(%[[SCALED]]) {is_object = #fx.object<{{[0-9]+}}, "function calls.scaled">}
# INLINED-DAG: guard.equals(%SCALE) {value = 3.0}
# INLINED-DAG: .__defaults__[-1]>}
# INLINED-LABEL: fx.graph @inlined.graph
# INLINED-NEXT: fx.call(%x) {target = @operator.mul, args = [#fx.operand<0>, 2.0]}
# INLINED-NEXT: fx.call(%0) {target = @operator.add, args = [#fx.operand<0>, 3.0]}
# INLINED-NEXT: fx.call(%x) {target = @operator.mul, args = [#fx.operand<0>, 3.0]}
# INLINED-NEXT: fx.call(%2) {target = @operator.add, args = [#fx.operand<0>, 0.0]}
# INLINED-NEXT: fx.call(%1, %3) {target = @operator.add, args = [#fx.operand<0>, #fx.operand<1>]}


class Layer:
    gain = 0.5

    def __init__(self, weight):
        self.weight = weight

    @property
    def scale(self):
        return self.gain * 2

    def __call__(self, x):
        return (x @ self.weight) * self.scale


LAYER = Layer(torch.eye(2))


def methods(x):
    return LAYER(x)


def methods_inputs():
    return (torch.randn(2, 2),)


# The class of the object, the property of the class, and the absence of instance attributes that would hide them.
# METHODS-LABEL: guard.set @methods.guards()
# METHODS-DAG: guard.type_is(%LAYER) {type = #fx.object<{{[0-9]+}}, "calls.Layer">}
# METHODS-DAG: guard.is(%scale) {is_object = #fx.object<{{[0-9]+}}, "builtins.property object">}
# METHODS-DAG: guard.no_attr(%LAYER) {names = ["gain"]}
# METHODS-DAG: guard.equals(%gain) {value = 0.5}
# METHODS-LABEL: fx.graph @methods.graph(%x: !fx.tensor<2x2xf32>, %LAYER_weight: !fx.tensor<2x2xf32>)
# METHODS-NEXT: fx.call(%x, %LAYER_weight) {target = @operator.matmul, args = [#fx.operand<0>, #fx.operand<1>]}
# METHODS-NEXT: fx.call(%0) {target = @operator.mul, args = [#fx.operand<0>, 1.0]}
