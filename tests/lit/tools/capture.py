"""`--capture FILE.py:FUNCTION`: the file is run, the function found, its inputs made, its frame opened."""

# RUN: lect-opt --capture %s:double | filecheck %s
# CHECK: pyframe.func @double

# RUN: lect-opt --capture %s:double -p capture | filecheck %s --check-prefix GRAPH
# GRAPH: fx.graph @double.graph(%x: !fx.tensor<2x3xf32>)
# GRAPH: target = @operator.mul

# The inputs of a function without inputs of its own are those of the file; they may be keyword arguments, or a pair of both kinds.
# RUN: lect-opt --capture %s:halve -p capture | filecheck %s --check-prefix SHARED
# SHARED: fx.graph @halve.graph(%x: !fx.tensor<5xf32>)

# RUN: lect-opt --capture %s:both -p capture | filecheck %s --check-prefix BOTH
# BOTH: fx.graph @both.graph
# BOTH-SAME: !fx.tensor<2xf32>
# BOTH-SAME: !fx.tensor<2xf32>

# RUN: not lect-opt --capture %s:nothing 2>&1 | filecheck %s --check-prefix MISSING
# MISSING: error: '{{.*}}capture.py' has no function 'nothing'; it has both, both_inputs, broken, broken_inputs, double, double_inputs, halve, inputs, two

# RUN: not lect-opt --capture %s:NUMBER 2>&1 | filecheck %s --check-prefix NUMBER
# NUMBER: error: 'NUMBER' of '{{.*}}capture.py' is no function but int

# RUN: not lect-opt --capture %s 2>&1 | filecheck %s --check-prefix FORM
# FORM: error: --capture takes FILE.py:FUNCTION, got '{{.*}}capture.py'

# RUN: not lect-opt --capture %S/nowhere.py:f 2>&1 | filecheck %s --check-prefix NOWHERE
# NOWHERE: error: cannot read '{{.*}}nowhere.py': no such file

# RUN: not lect-opt --capture %s:broken 2>&1 | filecheck %s --check-prefix BROKEN
# BROKEN: capture.py:70: error: broken_inputs() failed with ValueError: no luck

# RUN: not lect-opt --capture %S/Inputs/fails.py:f 2>&1 | filecheck %s --check-prefix FAILS
# FAILS: fails.py:2: error: running the file failed with KeyError: 'here'

# RUN: not lect-opt --capture %s:two 2>&1 | filecheck %s --check-prefix FIT
# FIT: error: the inputs do not fit two(a, b): missing a required argument: 'a'

import torch

NUMBER = 3


def double_inputs():
    return torch.ones(2, 3)


def double(x):
    return x * 2


def inputs():
    return {"x": torch.ones(5)}


def halve(x):
    return x / 2


def both_inputs():
    return (torch.ones(2),), {"y": torch.ones(2)}


def both(x, *, y):
    return x + y


def broken_inputs():
    raise ValueError("no luck")


def broken(x):
    return x


def two(a, b):
    return a
