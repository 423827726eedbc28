"""What the checker of guards and the runner of host programs share: the loop over rows, and functions of Python that are native code."""

from __future__ import annotations

import ctypes
from collections.abc import Callable, Iterable
from typing import Any

from lect.backends.native_guards.code import LIKELY

METH_FASTCALL = 0x80


def dispatch_text(function: str, names: Iterable[str]) -> str:
    """The function that goes through rows: `i1 function(ptr rows, ptr flat)`; row kind n is `lect_` and name n, counted from 1, and 0 ends the rows."""
    kinds = list(names)
    cases = " ".join([f"i64 {number}, label %{name}" for number, name in enumerate(kinds, 1)])
    lines = [
        f"define internal i1 @{function}(ptr %rows, ptr %flat) {{",
        "entry:",
        "  br label %next",
        "next:",
        "  %row = phi ptr [ %rows, %entry ], [ %after, %step ]",
        "  %kind = load i64, ptr %row",
        f"  switch i64 %kind, label %fails [ i64 0, label %holds {cases} ]",
    ]
    for name in kinds:
        lines += [f"{name}:", f"  %{name}.next = call ptr @lect_{name}(ptr %row, ptr %flat)", "  br label %step"]
    after = ", ".join([f"[ %{name}.next, %{name} ]" for name in kinds])
    lines += ["step:", f"  %after = phi ptr {after}", "  %stop = icmp eq ptr %after, null", "  br i1 %stop, label %fails, label %next"]
    return "\n".join([*lines, "holds:", "  ret i1 true", "fails:", "  ret i1 false", "}", LIKELY])


class MethodDef(ctypes.Structure):
    """CPython's description of a function in C, which must outlive the functions made of it."""

    _fields_ = (("name", ctypes.c_char_p), ("code", ctypes.c_void_p), ("flags", ctypes.c_int), ("doc", ctypes.c_char_p))

    @classmethod
    def of(cls, name: str, address: int) -> MethodDef:
        """The description of `ptr f(ptr self, ptr args, i64 nargs)` at an address."""
        return cls(name.encode(), address, METH_FASTCALL, None)

    def bound(self, address: int, keep: Any) -> Callable[..., Any]:
        """A function whose `self` is a capsule around an address, which lies in what `keep` keeps alive, and so does the function.

        The code must outlive all calls.  The function holds its description, which it reads once more when it goes.
        """
        make, capsule = ctypes.pythonapi.PyCFunction_NewEx, ctypes.pythonapi.PyCapsule_New
        make.restype = capsule.restype = ctypes.py_object
        make.argtypes = (ctypes.c_void_p, ctypes.py_object, ctypes.py_object)
        capsule.argtypes = (ctypes.c_void_p, ctypes.c_void_p, ctypes.c_void_p)
        made: Callable[..., Any] = make(ctypes.addressof(self), capsule(address, None, None), (self, keep))
        return made
