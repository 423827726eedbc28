"""A captured graph as Python source that calls torch: for graphs that autograd records, and for those that a later stage refuses.

`print_python` gives the source of an `fx.graph`; `load` compiles it against the functions that it names.  Torch runs each call as eager would, so
views, writes, random numbers and gradients are eager's.
"""

from lect.backends.python_fx.emit import print_python
from lect.backends.python_fx.load import load
from lect.ir import Context, Operation


def source_text(func: Operation, ctx: Context) -> str:
    """The Python source of an `fx.graph` as text."""
    return print_python(func).text


__all__ = ["load", "print_python", "source_text"]
