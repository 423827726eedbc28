"""The checker: one piece of native code for all guard sets of the process, and the function that finds the version for a call.

    find = Checker(layout()).finder(state)  # state: a `State`
    find(args, kwargs)                     # the first result whose table holds, or None

The function puts the arguments in the order of the parameters, defaults included, and asks one table after another; a table that holds goes to the
front.  What native code cannot decide is asked of the table's `piece`, a Python function of the same parameters, when all else holds.
"""

from __future__ import annotations

import ctypes
from collections.abc import Callable
from typing import Any

from lect.backends.code_store import CodeStore
from lect.backends.llvm.loaded import stored_object
from lect.backends.native_guards import modes
from lect.backends.native_guards.code import Check
from lect.backends.native_guards.dispatch import MethodDef, dispatch_text
from lect.backends.native_guards.layout import Layout, torch_libraries
from lect.backends.native_guards.rows import KINDS, NUMBERS

OPT_LEVEL = 1  # level 2 takes twice the time for code that is no faster
WORD = 8

DECLARATIONS = """
@_Py_NoneStruct = external global i8
@PyList_Type = external global i8
@PyTuple_Type = external global i8
@PyDict_Type = external global i8
@PyLong_Type = external global i8
@PyFloat_Type = external global i8
declare ptr @PyCapsule_GetPointer(ptr, ptr)
declare ptr @_PyDict_GetItem_KnownHash(ptr, ptr, i64)
declare ptr @PyErr_Occurred()
declare void @PyErr_Clear()
declare ptr @PyErr_GetHandledException()
declare void @Py_IncRef(ptr)
declare void @Py_DecRef(ptr)
declare ptr @PyObject_Call(ptr, ptr, ptr)
declare ptr @PyTuple_GetSlice(ptr, i64, i64)
declare i64 @llvm.smin.i64(i64, i64)
declare void @llvm.memset.p0.i64(ptr, i8, i64, i1)
declare i32 @PyObject_RichCompareBool(ptr, ptr, i32)
declare i64 @PyLong_AsLongLongAndOverflow(ptr, ptr)
declare double @PyFloat_AsDouble(ptr)
declare zeroext i1 @_ZNK3c1010TensorImpl13requires_gradEv(ptr)
declare i32 @aoti_torch_get_device_index(ptr, ptr)
"""

# state: tables, their number, parameters, positional ones, defaults, (name, hash) of each, slots, calls in progress, what a piece gives when it holds,
# and the slots of *args and **kwargs, -1 where there is none
STATE = "{ ptr, i64, i64, i64, ptr, ptr, i64, i64, ptr, i64, i64 }"
STATE_WORDS = 11
# table: rows, dead, piece, result, hits
TABLE = "{ ptr, i64, ptr, ptr, i64 }"
TABLE_WORDS = 5

FIND = f"""
%state = type {STATE}
%table = type {TABLE}

define ptr @lect_find(ptr %self, ptr %args, i64 %nargs) {{
entry:
  %two = icmp eq i64 %nargs, 2
  br i1 %two, label %begin, label %none
begin:
  %state = call ptr @PyCapsule_GetPointer(ptr %self, ptr null)
  %count.at = getelementptr %state, ptr %state, i32 0, i32 1
  %count = load i64, ptr %count.at
  %some = icmp sgt i64 %count, 0
  br i1 %some, label %bind, label %none
bind:
  %tuple = load ptr, ptr %args
  %names.at = getelementptr ptr, ptr %args, i64 1
  %keywords = load ptr, ptr %names.at
  %given.at = getelementptr i8, ptr %tuple, i64 16
  %given = load i64, ptr %given.at
  %named.at = getelementptr i8, ptr %keywords, i64 16
  %named = load i64, ptr %named.at
  %total.at = getelementptr %state, ptr %state, i32 0, i32 2
  %total = load i64, ptr %total.at
  %positional.at = getelementptr %state, ptr %state, i32 0, i32 3
  %positional = load i64, ptr %positional.at
  %slots.at = getelementptr %state, ptr %state, i32 0, i32 6
  %slots = load i64, ptr %slots.at
  %flat = alloca ptr, i64 %slots
  %rest.at = getelementptr %state, ptr %state, i32 0, i32 9
  %rest.slot = load i64, ptr %rest.at
  %has.rest = icmp sge i64 %rest.slot, 0
  %others.at = getelementptr %state, ptr %state, i32 0, i32 10
  %others.slot = load i64, ptr %others.at
  %has.others = icmp sge i64 %others.slot, 0
  %many = icmp sgt i64 %given, %positional
  %single = xor i1 %has.rest, true
  %unfit = and i1 %many, %single
  br i1 %unfit, label %none, label %copy
copy:
  %direct = call i64 @llvm.smin.i64(i64 %given, i64 %positional)
  %items = getelementptr i8, ptr %tuple, i64 24
  br label %copying
copying:
  %i = phi i64 [ 0, %copy ], [ %i.next, %copied ]
  %more = icmp slt i64 %i, %direct
  br i1 %more, label %copied, label %fill
copied:
  %item.at = getelementptr ptr, ptr %items, i64 %i
  %item = load ptr, ptr %item.at
  %place = getelementptr ptr, ptr %flat, i64 %i
  store ptr %item, ptr %place
  %i.next = add i64 %i, 1
  br label %copying
fill:
  %names.field = getelementptr %state, ptr %state, i32 0, i32 5
  %names = load ptr, ptr %names.field
  %defaults.field = getelementptr %state, ptr %state, i32 0, i32 4
  %defaults = load ptr, ptr %defaults.field
  br label %filling
filling:
  %j = phi i64 [ %direct, %fill ], [ %j.next, %filled ]
  %left = phi i64 [ %named, %fill ], [ %left.next, %filled ]
  %missing = icmp slt i64 %j, %total
  br i1 %missing, label %ask, label %bound
ask:
  %search = icmp ne i64 %left, 0
  br i1 %search, label %keyword, label %default
keyword:
  %pair = mul i64 %j, 16
  %name.at = getelementptr i8, ptr %names, i64 %pair
  %name = load ptr, ptr %name.at
  %hash.at = getelementptr i8, ptr %name.at, i64 8
  %hash = load i64, ptr %hash.at
  %stated = call ptr @_PyDict_GetItem_KnownHash(ptr %keywords, ptr %name, i64 %hash)
  %unstated = icmp eq ptr %stated, null
  %fewer = add i64 %left, -1
  br i1 %unstated, label %default, label %filled
default:
  %default.at = getelementptr ptr, ptr %defaults, i64 %j
  %own = load ptr, ptr %default.at
  %absent = icmp eq ptr %own, null
  br i1 %absent, label %none, label %filled
filled:
  %value = phi ptr [ %stated, %keyword ], [ %own, %default ]
  %left.next = phi i64 [ %fewer, %keyword ], [ %left, %default ]
  %value.at = getelementptr ptr, ptr %flat, i64 %j
  store ptr %value, ptr %value.at
  %j.next = add i64 %j, 1
  br label %filling
bound:
  %all.known = icmp eq i64 %left, 0
  %none.known = icmp eq i64 %left, %named
  %open = select i1 %has.others, i1 %none.known, i1 %all.known
  br i1 %open, label %keywords.too, label %none
keywords.too:
  br i1 %has.others, label %pass.keywords, label %slice
pass.keywords:
  %others.place = getelementptr ptr, ptr %flat, i64 %others.slot
  store ptr %keywords, ptr %others.place
  br label %slice
slice:
  br i1 %has.rest, label %sliced, label %try
sliced:
  %made = call ptr @PyTuple_GetSlice(ptr %tuple, i64 %direct, i64 %given)
  %nothing.made = icmp eq ptr %made, null
  br i1 %nothing.made, label %null, label %keep
keep:
  %rest.place = getelementptr ptr, ptr %flat, i64 %rest.slot
  store ptr %made, ptr %rest.place
  br label %try
null:
  ret ptr null
try:
  %extra = phi ptr [ null, %slice ], [ %made, %keep ]
  %active.at = getelementptr %state, ptr %state, i32 0, i32 7
  %active = load i64, ptr %active.at
  %entered = add i64 %active, 1
  store i64 %entered, ptr %active.at
  br label %trying
trying:
  %t = phi i64 [ 0, %try ], [ %t.next, %wrong ]
  %now = load i64, ptr %count.at
  %another = icmp slt i64 %t, %now
  br i1 %another, label %look, label %nothing
look:
  %tables = load ptr, ptr %state
  %table.at = getelementptr ptr, ptr %tables, i64 %t
  %table = load ptr, ptr %table.at
  %dead.at = getelementptr %table, ptr %table, i32 0, i32 1
  %dead = load i64, ptr %dead.at
  %alive = icmp eq i64 %dead, 0
  br i1 %alive, label %check, label %wrong
check:
  %rows = load ptr, ptr %table
  %holds = call i1 @lect_check(ptr %rows, ptr %flat)
  br i1 %holds, label %rest, label %wrong
rest:
  %result.at = getelementptr %table, ptr %table, i32 0, i32 3
  %result = load ptr, ptr %result.at
  call void @Py_IncRef(ptr %result)
  %piece.at = getelementptr %table, ptr %table, i32 0, i32 2
  %piece = load ptr, ptr %piece.at
  %whole = icmp eq ptr %piece, null
  br i1 %whole, label %right, label %asking
asking:
  call void @Py_IncRef(ptr %piece)
  %told = call ptr @PyObject_Call(ptr %piece, ptr %tuple, ptr %keywords)
  call void @Py_DecRef(ptr %piece)
  %raised = icmp eq ptr %told, null
  br i1 %raised, label %error, label %answer
answer:
  call void @Py_DecRef(ptr %told)
  %good.at = getelementptr %state, ptr %state, i32 0, i32 8
  %good = load ptr, ptr %good.at
  %agreed = icmp eq ptr %told, %good
  br i1 %agreed, label %right, label %other
other:
  call void @Py_DecRef(ptr %result)
  br label %wrong
wrong:
  %t.next = add i64 %t, 1
  br label %trying
right:
  %hits.at = getelementptr %table, ptr %table, i32 0, i32 4
  %hits = load i64, ptr %hits.at
  %hits.next = add i64 %hits, 1
  store i64 %hits.next, ptr %hits.at
  %front = icmp eq i64 %t, 0
  %alone = icmp eq ptr %piece, null
  %move = xor i1 %front, true
  %settled = and i1 %move, %alone
  br i1 %settled, label %shift, label %found
shift:
  %back = add i64 %t, -1
  br label %shifting
shifting:
  %s = phi i64 [ %back, %shift ], [ %s.next, %shifting ]
  %from = getelementptr ptr, ptr %tables, i64 %s
  %moved = load ptr, ptr %from
  %s.up = add i64 %s, 1
  %to = getelementptr ptr, ptr %tables, i64 %s.up
  store ptr %moved, ptr %to
  %s.next = add i64 %s, -1
  %again = icmp sge i64 %s.next, 0
  br i1 %again, label %shifting, label %head
head:
  store ptr %table, ptr %tables
  br label %found
found:
  %count.in = load i64, ptr %active.at
  %count.out = add i64 %count.in, -1
  store i64 %count.out, ptr %active.at
  call void @Py_DecRef(ptr %extra)
  ret ptr %result
error:
  call void @Py_DecRef(ptr %result)
  call void @Py_DecRef(ptr %extra)
  %count.in.e = load i64, ptr %active.at
  %count.out.e = add i64 %count.in.e, -1
  store i64 %count.out.e, ptr %active.at
  ret ptr null
nothing:
  %count.in.n = load i64, ptr %active.at
  %count.out.n = add i64 %count.in.n, -1
  store i64 %count.out.n, ptr %active.at
  call void @Py_DecRef(ptr %extra)
  br label %none
none:
  call void @Py_IncRef(ptr @_Py_NoneStruct)
  ret ptr @_Py_NoneStruct
}}

define i1 @lect_try(ptr %rows, ptr %flat) {{
  %holds = call i1 @lect_check(ptr %rows, ptr %flat)
  ret i1 %holds
}}
"""


def module_text(where: Layout) -> str:
    """The checker as an LLVM module, for objects that lie as `where` says."""
    parts = [DECLARATIONS, modes.DECLARATIONS, modes.ASK]
    for name, body in KINDS.items():
        check = Check(f"lect_{name}")
        body(check, where)
        parts.append(check.text())
    return "\n".join([*parts, dispatch_text("lect_check", NUMBERS), FIND])


class Checker:
    """The compiled checker."""

    def __init__(self, where: Layout, store: CodeStore | None = None) -> None:
        self.layout = where
        self._code = stored_object(module_text(where), OPT_LEVEL, store, torch_libraries())
        self._method = MethodDef.of("find", self._code.address("lect_find"))
        self._try = ctypes.PYFUNCTYPE(ctypes.c_bool, ctypes.c_void_p, ctypes.c_void_p)(self._code.address("lect_try"))

    def holds(self, rows: Any, flat: Any) -> bool:
        """Ask one table, without its piece.  `rows` and `flat` are arrays of words, which the caller keeps alive."""
        return bool(self._try(ctypes.addressof(rows), ctypes.addressof(flat)))

    def finder(self, state: Any) -> Callable[[tuple[Any, ...], dict[str, Any]], Any]:
        """`find(args, kwargs)` for a `State`."""
        return self._method.bound(state.memory.address, state)
