"""The runner: native code that goes through the rows of a host program, and the function of Python that calls it."""

from __future__ import annotations

import ctypes
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

import torch

from lect.backends.code_store import CodeStore
from lect.backends.llvm.loaded import stored_object
from lect.backends.native_guards.code import Check
from lect.backends.native_guards.dispatch import MethodDef, dispatch_text
from lect.backends.native_guards.layout import tensor_handle, torch_libraries
from lect.backends.native_host.rows import HEADER_BYTES, KINDS, NUMBERS, SLOT_BYTES
from lect.ir import LectError

OPT_LEVEL = 0  # a row is a few instructions around a call

DECLARATIONS = """
declare ptr @PyCapsule_GetPointer(ptr, ptr)
declare void @Py_IncRef(ptr)
declare void @Py_DecRef(ptr)
declare ptr @PyList_New(i64)
declare i32 @PyList_SetSlice(ptr, i64, i64, ptr)
declare i32 @PyList_SetItem(ptr, i64, ptr)
declare ptr @PyUnicode_FromString(ptr)
declare ptr @PyObject_CallOneArg(ptr, ptr)
declare ptr @PyObject_Vectorcall(ptr, ptr, i64, ptr)
declare ptr @PyEval_SaveThread()
declare void @PyEval_RestoreThread(ptr)
declare i32 @PyType_IsSubtype(ptr, ptr)
declare i32 @memcmp(ptr, ptr, i64)
declare i32 @aoti_torch_empty_strided(i64, ptr, ptr, i32, i32, i32, ptr)
declare i32 @aoti_torch__reinterpret_tensor(ptr, i64, ptr, ptr, i64, ptr)
declare i32 @aoti_torch_get_data_ptr(ptr, ptr)
declare i32 @aoti_torch_get_size(ptr, i64, ptr)
declare i64 @llvm.smin.i64(i64, i64)
declare i64 @llvm.smax.i64(i64, i64)
declare i32 @aoti_torch_delete_tensor_object(ptr)
declare zeroext i1 @aoti_torch_grad_mode_is_enabled()
declare void @aoti_torch_grad_mode_set_enabled(i1 zeroext)
declare ptr @_Z16THPVariable_WrapRKN2at10TensorBaseE(ptr)
declare void @llvm.memset.p0.i64(ptr, i8, i64, i1)
"""

# Who is asked whether a profiler is at work, and who begins and ends an event.
WATCHED, BEGIN, END = "_ZN2at12hasCallbacksEv", "aoti_record_function_start", "aoti_record_function_end"
EVENTS = f"""
declare zeroext i1 @{WATCHED}()
declare i32 @{BEGIN}(ptr, ptr, ptr, i64, ptr)
declare i32 @{END}(ptr)

define internal ptr @lect_begin(ptr %flat, ptr %name) {{
  %watched.at = getelementptr i8, ptr %flat, i64 24
  %watched = load i64, ptr %watched.at
  %some = icmp ne i64 %watched, 0
  br i1 %some, label %begin, label %none
none:
  ret ptr null
begin:
  %event.at = alloca ptr
  store ptr null, ptr %event.at
  %told = call i32 @{BEGIN}(ptr %name, ptr null, ptr null, i64 0, ptr %event.at)
  %event = load ptr, ptr %event.at
  ret ptr %event
}}

define internal void @lect_end(ptr %event) {{
  %none = icmp eq ptr %event, null
  br i1 %none, label %done, label %end
end:
  %told = call i32 @{END}(ptr %event)
  br label %done
done:
  ret void
}}
"""
NO_EVENTS = f"""
define internal zeroext i1 @{WATCHED}() {{
  ret i1 false
}}

define internal ptr @lect_begin(ptr %flat, ptr %name) {{
  ret ptr null
}}

define internal void @lect_end(ptr %event) {{
  ret void
}}
"""

# Called with tensors, or with one list of them: then they are taken out of it, and belong to the slots. A list is count, class, length, items.
# program: rows, inputs, bytes of the slots, bytes of all, who raises, the class of tensors, whether gradients are off, a message, the name of its event
RUN = f"""
@PyList_Type = external global i8
%program = type {{ ptr, i64, i64, i64, ptr, ptr, i64, ptr, ptr }}
%slot = type {{ ptr, ptr, ptr, i64 }}

define internal void @lect_raise(ptr %flat) {{
  %raiser = load ptr, ptr %flat
  %what = WHAT
  call void @lect_say(ptr %raiser, ptr %what)
  ret void
}}

define internal void @lect_say(ptr %raiser, ptr %what) {{
  %text = call ptr @PyUnicode_FromString(ptr %what)
  %none = icmp eq ptr %text, null
  br i1 %none, label %done, label %say
say:
  %said = call ptr @PyObject_CallOneArg(ptr %raiser, ptr %text)
  call void @Py_DecRef(ptr %text)
  br label %done
done:
  ret void
}}

define internal ptr @lect_object(ptr %slot) {{
  %object.at = getelementptr %slot, ptr %slot, i32 0, i32 2
  %known = load ptr, ptr %object.at
  %some = icmp ne ptr %known, null
  br i1 %some, label %give, label %wrap
give:
  ret ptr %known
wrap:
  %handle = load ptr, ptr %slot
  %made = call ptr @_Z16THPVariable_WrapRKN2at10TensorBaseE(ptr %handle)
  store ptr %made, ptr %object.at
  %owned.at = getelementptr %slot, ptr %slot, i32 0, i32 3
  store i64 1, ptr %owned.at
  ret ptr %made
}}

define internal void @lect_drop(ptr %slot) {{
  %heap.at = getelementptr %slot, ptr %slot, i32 0, i32 1
  %heap = load ptr, ptr %heap.at
  %own = icmp ne ptr %heap, null
  br i1 %own, label %delete, label %object
delete:
  %gone = call i32 @aoti_torch_delete_tensor_object(ptr %heap)
  br label %object
object:
  %owned.at = getelementptr %slot, ptr %slot, i32 0, i32 3
  %owned = load i64, ptr %owned.at
  %object.at = getelementptr %slot, ptr %slot, i32 0, i32 2
  %known = load ptr, ptr %object.at
  call void @llvm.memset.p0.i64(ptr %slot, i8 0, i64 {SLOT_BYTES}, i1 false)
  %both = icmp ne i64 %owned, 0
  %some = icmp ne ptr %known, null
  %drop = and i1 %both, %some
  br i1 %drop, label %release, label %done
release:
  call void @Py_DecRef(ptr %known)
  br label %done
done:
  ret void
}}

define ptr @lect_run(ptr %self, ptr %given, i64 %ngiven) {{
entry:
  %program = call ptr @PyCapsule_GetPointer(ptr %self, ptr null)
  %inputs.at = getelementptr %program, ptr %program, i32 0, i32 1
  %inputs = load i64, ptr %inputs.at
  %slots.at = getelementptr %program, ptr %program, i32 0, i32 2
  %slots = load i64, ptr %slots.at
  %bytes.at = getelementptr %program, ptr %program, i32 0, i32 3
  %bytes = load i64, ptr %bytes.at
  %raiser.at = getelementptr %program, ptr %program, i32 0, i32 4
  %raiser = load ptr, ptr %raiser.at
  %class.at = getelementptr %program, ptr %program, i32 0, i32 5
  %class = load ptr, ptr %class.at
  %flat = alloca i8, i64 %bytes, align 16
  %end = add i64 %slots, {HEADER_BYTES}
  call void @llvm.memset.p0.i64(ptr %flat, i8 0, i64 %end, i1 false)
  store ptr %raiser, ptr %flat
  %scratch = getelementptr i8, ptr %flat, i64 %end
  %scratch.at = getelementptr i8, ptr %flat, i64 16
  store ptr %scratch, ptr %scratch.at
  %single = icmp eq i64 %ngiven, 1
  br i1 %single, label %one, label %count
one:
  %first = load ptr, ptr %given
  %first.type.at = getelementptr i8, ptr %first, i64 8
  %first.type = load ptr, ptr %first.type.at
  %is.list = icmp eq ptr %first.type, @PyList_Type
  br i1 %is.list, label %open, label %count
open:
  %length.at = getelementptr i8, ptr %first, i64 16
  %length = load i64, ptr %length.at
  %items.at = getelementptr i8, ptr %first, i64 24
  %items = load ptr, ptr %items.at
  br label %count
count:
  %args = phi ptr [ %given, %entry ], [ %given, %one ], [ %items, %open ]
  %nargs = phi i64 [ %ngiven, %entry ], [ %ngiven, %one ], [ %length, %open ]
  %handed = phi ptr [ null, %entry ], [ null, %one ], [ %first, %open ]
  %fits = icmp eq i64 %nargs, %inputs
  br i1 %fits, label %fill, label %wrong
fill:
  %i = phi i64 [ 0, %count ], [ %i.next, %store ]
  %more = icmp slt i64 %i, %inputs
  br i1 %more, label %take, label %filled
take:
  %arg.at = getelementptr ptr, ptr %args, i64 %i
  %arg = load ptr, ptr %arg.at
  %type.at = getelementptr i8, ptr %arg, i64 8
  %type = load ptr, ptr %type.at
  %plain = icmp eq ptr %type, %class
  br i1 %plain, label %store, label %derived
derived:
  %kind = call i32 @PyType_IsSubtype(ptr %type, ptr %class)
  %tensor = icmp ne i32 %kind, 0
  br i1 %tensor, label %store, label %wrong
store:
  %place = mul i64 %i, {SLOT_BYTES}
  %behind = add i64 %place, {HEADER_BYTES}
  %slot = getelementptr i8, ptr %flat, i64 %behind
  %handle = getelementptr i8, ptr %arg, i64 HANDLE
  store ptr %handle, ptr %slot
  %object.at = getelementptr %slot, ptr %slot, i32 0, i32 2
  store ptr %arg, ptr %object.at
  %i.next = add i64 %i, 1
  br label %fill
filled:
  %is.handed = icmp ne ptr %handed, null
  br i1 %is.handed, label %own, label %modes
own:
  %k = phi i64 [ 0, %filled ], [ %k.next, %owning ]
  %unowned = icmp slt i64 %k, %inputs
  br i1 %unowned, label %owning, label %empty
owning:
  %k.place = mul i64 %k, {SLOT_BYTES}
  %k.behind = add i64 %k.place, {HEADER_BYTES}
  %k.slot = getelementptr i8, ptr %flat, i64 %k.behind
  %k.object.at = getelementptr %slot, ptr %k.slot, i32 0, i32 2
  %k.object = load ptr, ptr %k.object.at
  call void @Py_IncRef(ptr %k.object)
  %k.owned.at = getelementptr %slot, ptr %k.slot, i32 0, i32 3
  store i64 1, ptr %k.owned.at
  %k.next = add i64 %k, 1
  br label %own
empty:
  %emptied = call i32 @PyList_SetSlice(ptr %handed, i64 0, i64 %inputs, ptr null)
  br label %modes
modes:
  %grad.at = getelementptr %program, ptr %program, i32 0, i32 6
  %quiet = load i64, ptr %grad.at
  %asked = icmp ne i64 %quiet, 0
  br i1 %asked, label %look, label %go
look:
  %on = call zeroext i1 @aoti_torch_grad_mode_is_enabled()
  br i1 %on, label %off, label %go
off:
  call void @aoti_torch_grad_mode_set_enabled(i1 zeroext false)
  br label %go
go:
  %restore = phi i1 [ false, %modes ], [ false, %look ], [ true, %off ]
  %rows = load ptr, ptr %program
  %some.profiler = call zeroext i1 @{WATCHED}()
  %watched = zext i1 %some.profiler to i64
  %watched.at = getelementptr i8, ptr %flat, i64 24
  store i64 %watched, ptr %watched.at
  %name.at = getelementptr %program, ptr %program, i32 0, i32 8
  %name = load ptr, ptr %name.at
  %event = call ptr @lect_begin(ptr %flat, ptr %name)
  %good = call i1 @lect_rows(ptr %rows, ptr %flat)
  call void @lect_end(ptr %event)
  br i1 %restore, label %on.again, label %clean
on.again:
  call void @aoti_torch_grad_mode_set_enabled(i1 zeroext true)
  br label %clean
clean:
  %j = phi i64 [ 0, %go ], [ 0, %on.again ], [ %j.next, %cleaning ]
  %left = icmp slt i64 %j, %slots
  br i1 %left, label %cleaning, label %result
cleaning:
  %from = add i64 %j, {HEADER_BYTES}
  %each = getelementptr i8, ptr %flat, i64 %from
  call void @lect_drop(ptr %each)
  %j.next = add i64 %j, {SLOT_BYTES}
  br label %clean
result:
  %result.at = getelementptr i8, ptr %flat, i64 8
  %list = load ptr, ptr %result.at
  br i1 %good, label %give, label %failed
give:
  ret ptr %list
failed:
  %some = icmp ne ptr %list, null
  br i1 %some, label %drop, label %null
drop:
  call void @Py_DecRef(ptr %list)
  br label %null
wrong:
  %message.at = getelementptr %program, ptr %program, i32 0, i32 7
  %message = load ptr, ptr %message.at
  call void @lect_say(ptr %raiser, ptr %message)
  br label %null
null:
  ret ptr null
}}
"""
PROGRAM_WORDS = 9
MESSAGES = ("torch_exception_get_what_without_backtrace", "torch_exception_get_what")  # who tells what went wrong in a call of torch, best first
FAILED = "a call of torch failed"


@cache
def message_symbol() -> str | None:
    """The function of this torch that tells what went wrong in a call of it; None when there is none."""
    return next((name for name in MESSAGES if symbol_address(name) is not None), None)


def module_text(handle: int) -> str:
    """The runner as an LLVM module; `handle` is the offset of the handle in a tensor object."""
    teller = message_symbol()
    failed = f'@lect.failed = private constant [{len(FAILED) + 1} x i8] c"{FAILED}\\00"'
    events = all(symbol_address(name) is not None for name in (WATCHED, BEGIN, END))
    parts = [DECLARATIONS, f"declare ptr @{teller}()" if teller else failed, EVENTS if events else NO_EVENTS]
    for name, body in KINDS.items():
        check = Check(f"lect_{name}")
        body(check, handle)
        parts.append(check.text())
    run = RUN.replace("HANDLE", str(handle)).replace("WHAT", f"call ptr @{teller}()" if teller else "bitcast ptr @lect.failed to ptr")
    return "\n".join([*parts, dispatch_text("lect_rows", NUMBERS), run])


class Runner:
    """The compiled runner."""

    def __init__(self, handle: int, store: CodeStore | None) -> None:
        self._code = stored_object(module_text(handle), OPT_LEVEL, store, torch_libraries())
        self._method = MethodDef.of("run", self._code.address("lect_run"))

    def function(self, address: int, keep: Any) -> Callable[..., list[Any]]:
        """`run(*tensors)` for the program at an address; `keep` lives as long as the function, and so does this code."""
        return self._method.bound(address, (self, keep))


@cache
def symbol_address(name: str) -> int | None:
    """The address of a function of torch; None when there is none of that name."""
    for path in (*torch_libraries(), *cuda_libraries()):
        found = getattr(ctypes.CDLL(path), name, None)
        if found is not None:
            return ctypes.cast(found, ctypes.c_void_p).value
    return None


def cuda_libraries() -> tuple[str, ...]:
    """The library of torch with the operators of a GPU, where it is loaded."""
    path = Path(torch.__file__).with_name("lib") / "libtorch_cuda.so"
    return (str(path),) if torch.version.cuda is not None and path.exists() else ()


class _Once:
    """The runner of this process."""

    made: Runner | None = None
    refused: LectError | None = None


@cache
def _once() -> _Once:
    return _Once()


def runner(store: CodeStore | None = None) -> Runner:
    """The runner of this process, made when first asked for, and only then; `store` may have its code.  Raises `LectError` when it cannot be made."""
    once = _once()
    if once.refused is not None:
        raise once.refused
    if once.made is None:
        try:
            once.made = Runner(tensor_handle(), store)
        except LectError as error:
            once.refused = error
            raise
    return once.made
