"""The host program as Python source: readable, steppable in a debugger, and the reference for every other host backend.

`print_python` gives the source of a `host.func`; `load` compiles it against the callables and addresses it needs.  It knows no device
beyond what torch offers and decides nothing: allocation, order and sizes are the IR's.
"""

from lect.backends.python_host.emit import print_python
from lect.backends.python_host.load import load
from lect.ir import Context, Operation


def source_text(func: Operation, ctx: Context) -> str:
    """The Python source of a `host.func` as text."""
    return print_python(func).text


__all__ = ["load", "print_python", "source_text"]
