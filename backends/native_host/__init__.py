"""Host programs as native code: one runner for all of them, compiled once for a process, which goes through the rows of one program.

    load(func, kernels, launcher)     -> a program: `run(*tensors) -> list`, or LectError where it cannot be made
    print_native(func, ctx)           -> its rows as text

Memory, kernels and the usual matrix products are rows of native code; every other operation, and several in a row as one, is a Python function that the
printer of the Python host writes.  So each host program has this form, and does what the Python host does.
"""

from lect.backends.native_host.program import NativeProgram, load, print_native

__all__ = ["NativeProgram", "load", "print_native"]
