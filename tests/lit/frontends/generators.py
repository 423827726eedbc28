# RUN: lect-opt --decode %s:interleaved.side | filecheck %s --check-prefix=FRAME
# RUN: lect-opt --decode %s:delegating | filecheck %s --check-prefix=DELEGATE
# RUN: lect-opt --capture %s:interleaved -p pyframe-to-fx | filecheck %s
# RUN: lect-opt --capture %s:keyed -p pyframe-to-fx | filecheck %s --check-prefix=KEYED
# RUN: lect-opt --capture %s:managed -p pyframe-to-fx | filecheck %s --check-prefix=MANAGED
# RUN: lect-opt --capture %s:outlives -p pyframe-to-fx | filecheck %s --check-prefix=OUTLIVES
# RUN: not lect-opt --capture %s:left_inside -p 'pyframe-to-fx{whole=true}' 2>&1 | filecheck %s --check-prefix=LEFT
# RUN: not lect-opt --capture %s:delegating -p pyframe-to-fx 2>&1 | filecheck %s --check-prefix=ITSELF
"""Generators are frames that the trace suspends and resumes; nothing of them is left but what they did, in order, and those that outlive the call."""

import contextlib

import torch

LOG: list = []


def inputs():
    return (torch.randn(2),)


# A `yield` ends its block.  What is sent in is the last argument of the next, what is thrown in goes to the handler.
# FRAME-LABEL: pyframe.func
# FRAME-SAME: "generator"
# FRAME: pyframe.yield(%{{.*}})[^resume{{.*}}(%iter_2)]
# FRAME-NEXT: ^resume{{.*}}(%iter_3: !pyframe.object, %sent: !pyframe.object):
# FRAME-NEXT: pyframe.drop(%sent)


def interleaved(x):
    def side(name, n):
        for i in range(n):
            LOG.append(name)
            yield x * i

    for a, b in zip(side("a", 2), side("b", 1)):
        x = a + b
    return x


# CHECK-LABEL: fx.graph @interleaved.graph
# CHECK-NEXT: fx.call(%x) {target = @operator.mul, args = [#fx.operand<0>, 0]}
# CHECK-NEXT: fx.call(%x) {target = @operator.mul, args = [#fx.operand<0>, 0]}
# CHECK-NEXT: fx.call(%0, %1) {target = @operator.add
# `a` goes on once more before `zip` finds that `b` has ended.
# CHECK-NEXT: fx.call(%2) {target = @operator.mul, args = [#fx.operand<0>, 1]}
# CHECK-LABEL: pyframe.func @interleaved
# CHECK: %2 = pyframe.load_const() {value = "a"}
# CHECK-NEXT: %3 = pyframe.load_const() {value = "b"}
# CHECK-NEXT: %4 = pyframe.load_const() {value = "a"}
# CHECK: pyframe.call(%{{.*}}, %LOG, %2)
# CHECK-NEXT: pyframe.call(%{{.*}}, %LOG, %3)
# CHECK-NEXT: pyframe.call(%{{.*}}, %LOG, %4)
# CHECK-NEXT: pyframe.return


def delegating(x):
    value = yield from (x, 1)
    return value


# The loop that CPython makes of `yield from` is one operation.
# DELEGATE-LABEL: pyframe.func @delegating
# DELEGATE: pyframe.yield_from(%{{.*}})[^resume{{.*}}]
# DELEGATE-NEXT: ^resume{{.*}}(%returned: !pyframe.object):
# DELEGATE-NEXT: pyframe.store_local(%returned) {id = "value"}
# ITSELF: error: LB0009 generator or coroutine: delegating is a generator, whose frame outlives the call


def keyed(x):
    parts = sorted([x[:1], x], key=lambda part: -part.shape[0])
    return parts[0] + sum(part.sum() for part in parts)


# The key function has run when the graph is made.
# KEYED-LABEL: fx.graph @keyed.graph
# KEYED-NEXT: %0 = fx.call(%x) {target = @operator.getitem
# KEYED-NEXT: %1 = fx.call(%x) {target = @torch.Tensor.sum
# KEYED-NEXT: fx.call(%1) {target = @operator.add, args = [0, #fx.operand<0>]}
# KEYED-NEXT: fx.call(%0) {target = @torch.Tensor.sum


@contextlib.contextmanager
def scaled(factor):
    LOG.append("enter")
    try:
        yield factor
    finally:
        LOG.append("exit")


def managed(x):
    with scaled(3) as factor:
        return x * factor


# MANAGED-LABEL: fx.graph @managed.graph
# MANAGED-NEXT: fx.call(%x) {target = @operator.mul, args = [#fx.operand<0>, 3]}
# MANAGED-NEXT: fx.return
# MANAGED-LABEL: pyframe.func @managed
# MANAGED: {value = "enter"}
# MANAGED: {value = "exit"}


def outlives(x):
    def g(n):
        for i in (1, 2, 3)[:n]:
            yield x * i

    made = g(3)
    next(made)
    return made


# A generator that outlives the call is made again where it stands: its resume generator is called and primed.
# OUTLIVES-LABEL: pyframe.func @outlives
# OUTLIVES: %[[N:.*]] = pyframe.load_const() {value = 3}
# OUTLIVES: pyframe.load_attr(%[[ITER:.*]]) {attr = "__setstate__"}
# OUTLIVES: %[[MADE:.*]] = pyframe.call(%{{.*}}, %[[N]], %{{.*}}, %[[ITER]])
# OUTLIVES: pyframe.call(%{{.*}}, %[[MADE]])
# OUTLIVES: pyframe.return(%[[MADE]])
# OUTLIVES-LABEL: pyframe.func @"outlives.generator_0.outlives.<locals>.g"
# OUTLIVES-SAME: args = ["n", "i", ".stack.0"], free = ["x"]
# OUTLIVES: ^standing(%[[KEPT:.*]]: !pyframe.object):
# OUTLIVES-NEXT: %[[NONE:.*]] = pyframe.load_const() {value = none}
# OUTLIVES-NEXT: pyframe.yield(%[[NONE]])[^resume_1(%[[KEPT]])]


def left_inside(x):
    def g():
        try:
            yield x + 1
        finally:
            LOG.append("released")

    return next(g())


# LEFT: generators.py:{{[0-9]+:[0-9]+}}: error: LB0009 generator or coroutine: the generator left_inside.<locals>.g is left inside of a 'try' or 'with'
# LEFT-NEXT: hint: make, use up and close the generator inside of the compiled function
