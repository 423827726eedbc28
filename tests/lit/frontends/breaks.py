# RUN: not lect-opt --capture %s:reads_element -p 'pyframe-to-fx{whole=true}' 2>&1 | filecheck %s --check-prefix=ELEMENT
# RUN: not lect-opt --capture %s:prints -p 'pyframe-to-fx{whole=true}' 2>&1 | filecheck %s --check-prefix=PRINTS
# RUN: not lect-opt --capture %s:raises -p 'pyframe-to-fx{whole=true}' 2>&1 | filecheck %s --check-prefix=RAISES
"""What cannot be captured is refused with a number, the line of the program, and a hint."""

import torch


def inputs():
    return (torch.randn(2),)


def reads_element(x):
    if x.sum() > 0:
        return x + 1
    return x


# ELEMENT: breaks.py:{{[0-9]+:[0-9]+}}: error: LB0002 value of a tensor: the truth value of a tensor decides a branch
# ELEMENT-NEXT: hint: use torch.where


def prints(x):
    print("working")
    return x + 1


# PRINTS: breaks.py:{{[0-9]+:[0-9]+}}: error: LB0013 input or output: function builtins.print acts on the outside world


def raises(x):
    raise ValueError("no")


# RAISES: breaks.py:{{[0-9]+:[0-9]+}}: error: LB0012 exception: ValueError leaves the frame: no
