# RUN: lect-opt --capture %s:known -p pyframe-to-fx | filecheck %s --check-prefix=KNOWN
# RUN: lect-opt --capture %s:handled -p pyframe-to-fx | filecheck %s --check-prefix=HANDLED
"""Branches and loops on known values leave no trace but the guards on what they looked at."""

import torch

FLAGS = {"twice": True, "steps": [1, 2]}


def known(x, mask=None):
    if mask is not None:
        x = x * mask
    if FLAGS["twice"] and x.shape[0] == 2:
        x = x * 2
    for step in FLAGS["steps"]:
        if step > 1:
            break
        x = x + step
    return x


def known_inputs():
    return (torch.randn(2),)


# KNOWN-LABEL: guard.set @known.guards()
# KNOWN-DAG: guard.equals(%mask) {value = none}
# KNOWN-DAG: guard.equals(%twice) {value = true}
# KNOWN-DAG: guard.items(%steps) {items = [1, 2]}
# KNOWN-LABEL: fx.graph @known.graph(%x: !fx.tensor<2xf32>)
# KNOWN-NEXT: fx.call(%x) {target = @operator.mul, args = [#fx.operand<0>, 2]}
# KNOWN-NEXT: fx.call(%0) {target = @operator.add, args = [#fx.operand<0>, 1]}
# KNOWN-NEXT: fx.return(%1)


def handled(x):
    try:
        x = x + FLAGS["missing"]
    except KeyError as error:
        x = x - len(error.args)
    finally:
        x = x * 3
    with torch.no_grad():
        return x + 1


def handled_inputs():
    return (torch.randn(2),)


# The absence of the key decided, so it is guarded; the modes of autograd are switched where the program did it.
# HANDLED-LABEL: guard.set @handled.guards()
# HANDLED: guard.has_key({{.*}}) {key = "missing", present = false}
# HANDLED-LABEL: fx.graph @handled.graph
# HANDLED-NEXT: fx.call(%x) {target = @operator.sub, args = [#fx.operand<0>, 1]}
# HANDLED-NEXT: fx.call(%0) {target = @operator.mul, args = [#fx.operand<0>, 3]}
# HANDLED-NEXT: fx.call() {target = @torch.set_grad_enabled, args = [false]
# HANDLED-NEXT: fx.call(%1) {target = @operator.add, args = [#fx.operand<0>, 1]}
# HANDLED-NEXT: fx.call() {target = @torch.set_grad_enabled, args = [true]
