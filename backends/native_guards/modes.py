"""The row about torch's modes, which asks torch once in a thread and after each change, and else reads where torch keeps them.

    modes      offset mask value dtype deterministic autocast shared     the modes of torch

Most modes are variables of the thread, whose addresses differ from thread to thread and which only functions of torch hand out.  So each thread has a block
of memory (a `pthread_key_t`, whose destructor frees it) with those addresses, and with what was there when torch last said that no mode is on:

    0  the autograd state                  1  the dispatch keys that are included and excluded by force, in two words
    2  3  those words                      4  the keys of autocast that torch was asked for
    5  the state of function modes         6 to 9  its words
    10 the layers of functorch             11 the state of tracing

The same words mean the same modes: `torch_dispatch` modes and layers of functorch include keys of their own as long as any is on, which is what the
dispatcher goes by; a function mode moves the end of the vector that has them.  Other words: torch is asked, and if nothing is on they are noted.
"""

from __future__ import annotations

import ctypes
from functools import cache
from types import MappingProxyType

from lect.backends.native_guards.code import WORD, Check
from lect.backends.native_guards.layout import Layout, torch_libraries

KEYSET = b"_ZN3c104impl26raw_local_dispatch_key_setE"
BLOCK_WORDS = 12
STATE, KEYS, SEEN_KEYS, ASKED, FUNCTIONS, SEEN_FUNCTIONS, LAYERS, TRACING = 0, 1, 2, 4, 5, 6, 10, 11
FUNCTION_WORDS = 4  # of the state of function modes: a flag and a vector
SHARED = MappingProxyType({"key": 0, "library": 1, "name": 2})

DECLARATIONS = """
declare ptr @pthread_getspecific(i32)
declare i32 @pthread_setspecific(i32, ptr)
declare ptr @calloc(i64, i64)
declare void @free(ptr)
declare ptr @dlsym(ptr, ptr)
declare ptr @_ZN3c1013AutogradState13get_tls_stateEv()
declare ptr @_ZN2at13globalContextEv()
declare i16 @_ZN3c1017get_default_dtypeEv()
declare zeroext i1 @_ZNK2at7Context23deterministicAlgorithmsEv(ptr)
declare zeroext i1 @_ZN3c104impl31tls_is_dispatch_keyset_excludedENS_14DispatchKeySetE(i64)
declare i64 @_ZN3c104impl20TorchDispatchModeTLS9stack_lenEv()
declare i64 @_ZN2at4impl22PythonTorchFunctionTLS9stack_lenEv()
declare ptr @_ZN2at4impl22PythonTorchFunctionTLS9get_stateEv()
declare ptr @_ZN2at9functorch20getDynamicLayerStackEv()
declare ptr @_ZN5torch3jit6tracer15getTracingStateEv()
"""

# i1 lect_ask_torch(shared, keys of autocast, block or null): no mode is on; then the block of the thread, which may be made, says so.
ASK = f"""
define internal i1 @lect_ask_torch(ptr %shared, i64 %autocast, ptr %known) noinline {{
entry:
  %excluded = call zeroext i1 @_ZN3c104impl31tls_is_dispatch_keyset_excludedENS_14DispatchKeySetE(i64 %autocast)
  br i1 %excluded, label %dispatch, label %fail
dispatch:
  %modes = call i64 @_ZN3c104impl20TorchDispatchModeTLS9stack_lenEv()
  %no.modes = icmp eq i64 %modes, 0
  br i1 %no.modes, label %function, label %fail
function:
  %functions = call i64 @_ZN2at4impl22PythonTorchFunctionTLS9stack_lenEv()
  %no.functions = icmp eq i64 %functions, 0
  br i1 %no.functions, label %functorch, label %fail
functorch:
  %layers = call ptr @_ZN2at9functorch20getDynamicLayerStackEv()
  %layers.begin = load ptr, ptr %layers
  %layers.end.at = getelementptr i8, ptr %layers, i64 8
  %layers.end = load ptr, ptr %layers.end.at
  %no.layers = icmp eq ptr %layers.begin, %layers.end
  br i1 %no.layers, label %tracing, label %fail
tracing:
  %tracing.at = call ptr @_ZN5torch3jit6tracer15getTracingStateEv()
  %tracer = load ptr, ptr %tracing.at
  %untraced = icmp eq ptr %tracer, null
  br i1 %untraced, label %noting, label %fail
noting:
  %unshared = icmp eq ptr %shared, null
  br i1 %unshared, label %holds, label %shares
shares:
  %new = icmp eq ptr %known, null
  br i1 %new, label %make, label %note
make:
  %made = call ptr @calloc(i64 {BLOCK_WORDS}, i64 {WORD})
  %full = icmp eq ptr %made, null
  br i1 %full, label %holds, label %place
place:
  %library.at = getelementptr i64, ptr %shared, i64 {SHARED["library"]}
  %library = load ptr, ptr %library.at
  %name.at = getelementptr i64, ptr %shared, i64 {SHARED["name"]}
  %name = load ptr, ptr %name.at
  %keys.found = call ptr @dlsym(ptr %library, ptr %name)
  %no.keys = icmp eq ptr %keys.found, null
  br i1 %no.keys, label %drop, label %fill
fill:
  %state = call ptr @_ZN3c1013AutogradState13get_tls_stateEv()
  store ptr %state, ptr %made
  %made.keys = getelementptr i64, ptr %made, i64 {KEYS}
  store ptr %keys.found, ptr %made.keys
  %function.state = call ptr @_ZN2at4impl22PythonTorchFunctionTLS9get_stateEv()
  %made.functions = getelementptr i64, ptr %made, i64 {FUNCTIONS}
  store ptr %function.state, ptr %made.functions
  %made.layers = getelementptr i64, ptr %made, i64 {LAYERS}
  store ptr %layers, ptr %made.layers
  %made.tracing = getelementptr i64, ptr %made, i64 {TRACING}
  store ptr %tracing.at, ptr %made.tracing
  %key = load i32, ptr %shared
  %refused = call i32 @pthread_setspecific(i32 %key, ptr %made)
  %kept = icmp eq i32 %refused, 0
  br i1 %kept, label %note, label %drop
drop:
  call void @free(ptr %made)
  br label %holds
note:
  %block = phi ptr [ %known, %shares ], [ %made, %fill ]
  %keys.at = getelementptr i64, ptr %block, i64 {KEYS}
  %keys = load ptr, ptr %keys.at
  %keys.now = load <2 x i64>, ptr %keys, align 8
  %keys.place = getelementptr i64, ptr %block, i64 {SEEN_KEYS}
  store <2 x i64> %keys.now, ptr %keys.place, align 8
  %asked.place = getelementptr i64, ptr %block, i64 {ASKED}
  store i64 %autocast, ptr %asked.place
  %functions.at = getelementptr i64, ptr %block, i64 {FUNCTIONS}
  %functions.state = load ptr, ptr %functions.at
  %functions.now = load <{FUNCTION_WORDS} x i64>, ptr %functions.state, align 8
  %functions.place = getelementptr i64, ptr %block, i64 {SEEN_FUNCTIONS}
  store <{FUNCTION_WORDS} x i64> %functions.now, ptr %functions.place, align 8
  br label %holds
holds:
  ret i1 true
fail:
  ret i1 false
}}
"""


class Shared:
    """What all threads share: the key of their blocks, where torch's core is loaded, the name of its dispatch keys."""

    def __init__(self) -> None:
        """Raises AttributeError or OSError where the system has no such thing."""
        process = ctypes.CDLL(None)
        key = ctypes.c_uint()
        if process.pthread_key_create(ctypes.byref(key), process.free) != 0:
            raise OSError("no key for variables of threads")
        core = ctypes.CDLL(torch_libraries()[0])
        ctypes.c_char.in_dll(core, KEYSET.decode())
        self.name = ctypes.create_string_buffer(KEYSET)
        self.words = (ctypes.c_uint64 * len(SHARED))(key.value, core._handle, ctypes.addressof(self.name))
        self.address = ctypes.addressof(self.words)


@cache
def shared() -> Shared | None:
    """That of this process, which is never given back, as rows refer to it; None where torch has to be asked each time."""
    try:
        return Shared()
    except (AttributeError, OSError, ValueError):
        return None


def modes_body(c: Check, where: Layout) -> None:
    """The code of the row."""
    common, asked = c.word(7, "ptr"), c.word(6)
    look, seen, ask, plain = (c.label(name) for name in ("look", "seen", "ask", "plain"))
    unshared = c.block
    c.branch(c.compare("ptr", common, "null"), ask, look)
    c.start(look)
    block = c.call("ptr", "pthread_getspecific", f"i32 {c.load('i32', common, SHARED['key'] * WORD)}")
    c.branch(c.compare("ptr", block, "null"), ask, seen)
    c.start(seen)
    looked = [(unshared, "null"), (look, "null"), *[(before, block) for before in _unless_noted(c, block, asked, ask)]]
    noted, known = c.load("ptr", block, STATE * WORD), c.block
    c.line(f"br label %{plain}")
    c.start(ask)
    thread = c.emit(f"phi ptr {', '.join([f'[ {value}, %{before} ]' for before, value in looked])}")
    c.require(c.call("i1", "lect_ask_torch", f"ptr {common}", f"i64 {asked}", f"ptr {thread}"))
    told = c.call("ptr", "_ZN3c1013AutogradState13get_tls_stateEv")
    before = c.block
    c.jump(plain)
    state = c.emit(f"phi ptr [ {noted}, %{known} ], [ {told}, %{before} ]")
    c.same("i8", c.emit(f"and i8 {c.load('i8', state, c.word(1))}, {c.word(2, 'i8')}"), c.word(3, "i8"))
    c.same("i16", c.call("i16", "_ZN3c1017get_default_dtypeEv"), c.word(4, "i16"))
    context = c.call("ptr", "_ZN2at13globalContextEv")
    deterministic = c.call("zeroext i1", "_ZNK2at7Context23deterministicAlgorithmsEv", f"ptr {context}")
    c.same("i64", c.emit(f"zext i1 {deterministic} to i64"), c.word(5))
    c.next(8)


def _unless_noted(c: Check, block: str, asked: str, ask: str) -> list[str]:
    """Go to `ask` unless the thread's modes are those that its block has noted; the blocks of code from which it goes there."""
    left = []

    def same(type: str, one: str, other: str) -> None:
        left.append(c.block)
        on = c.label("noted")
        c.branch(c.compare(type, one, other), on, ask)
        c.start(on)

    same("i64", c.load("i64", block, ASKED * WORD), asked)
    keys = c.load("ptr", block, KEYS * WORD)
    for n in range(2):
        same("i64", c.load("i64", keys, n * WORD), c.load("i64", block, (SEEN_KEYS + n) * WORD))
    functions = c.load("ptr", block, FUNCTIONS * WORD)
    for n in range(FUNCTION_WORDS):
        same("i64", c.load("i64", functions, n * WORD), c.load("i64", block, (SEEN_FUNCTIONS + n) * WORD))
    layers = c.load("ptr", block, LAYERS * WORD)
    same("ptr", c.load("ptr", layers), c.load("ptr", layers, WORD))
    same("ptr", c.load("ptr", c.load("ptr", block, TRACING * WORD)), "null")
    return left
