"""The kinds of rows of a host program, and the code for each.

    empty    slot rank sizes strides dtype              a new tensor on the CPU
    empty_on slot rank sizes strides dtype kind number function  one on a device, such as the first of kind 1, CUDA; where that fails, the function of Python
                                                        makes it, or raises what is wrong
    view     slot slot rank sizes strides offset        the memory of a tensor, seen another way
    launch   launcher kernel grid grain release name n slot... run the programs of a kernel on the memory of tensors
    stream   slot function number                       the stream that is current on a GPU, into the first word of a slot
    start    info function stream inputs arguments slot... slot...  start a kernel of a GPU on the memory of tensors; where it is not loaded, its memory lies
                                                        otherwise than it was compiled for, or CUDA refuses, a function of Python is called with tensors
    start_group  last function stream inputs arguments slot... slot...   the same for a kernel that takes a table of addresses: while `last` tells of the same
                                                        addresses on the same stream, with the table that it tells; else a function of Python is called
    product  function slot slot slot name python inputs slot...   mm and bmm: into the first, of the others; where that fails, the function of Python makes
                                                        the first of inputs, or raises what is wrong
    sum      function slot slot slot slot beta alpha name python inputs slot...   addmm and baddbmm: into the first, beta times the second plus alpha times
                                                        the product
    python   function inputs results slot...            call a function of Python, which gives a tuple of tensors
    free     slot                                       nothing uses the tensor any more
    return   n slot...                                  the results
    size     number slot dim divisor                    the size of a tensor, divided
    element  number slot divisor                        the element of a 0-d tensor of i64, divided
    set      number value                               a number that is known
    gather   number n number...                         several numbers to words that lie together
    plus, times, quotient, remainder, least, greatest   number number number: into the first, of the others
    empty_of, view_of, launch_of                        as above; sizes, strides, the offset, the grid and what a kernel gets behind its memory are numbers

A slot is four words behind `flat`: the address of the tensor's handle, the handle again when it is owned, the Python object or null, and whether that is
owned.  `release` says that the kernel takes long enough for other threads of Python to run.  A row that fails has set the exception.  While one of torch's
profilers is at work, kernels and products are events of this `name`; it is asked once for a run of the program.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from types import MappingProxyType

from lect.backends.native_guards.code import WORD, Check

HEAP, OBJECT, OWNED = WORD, 2 * WORD, 3 * WORD
SLOT_BYTES = 4 * WORD
HEADER_BYTES = 4 * WORD  # in front of the slots: who raises, the results, the first of the scratch words, whether a profiler is at work
RESULT, SCRATCH = WORD, 2 * WORD
ITEMS = 3 * WORD  # of a tuple
MASK, LAUNCH, GRID, THREADS, SHARED = 8, 16, 24, 28, 32  # of what is known of a kernel of a GPU: see `LaunchInfo`
LAST_CAPTURING, LAST_STREAM, LAST_TABLE, LAST_ADDRESSES = WORD, 2 * WORD, 3 * WORD, 4 * WORD  # of the last launch with a table: see `LastLaunch`
SCRATCH_PARAMETERS = 2  # addresses behind the parameters of a kernel of a GPU

Body = Callable[[Check, int], None]
Read = Callable[[Check, int], str]  # what a word of the row says


def _slot(c: Check, number: int) -> str:
    """The address of a slot."""
    return c.at("%flat", c.word(number))


def _shim(c: Check, function: str, *arguments: str) -> None:
    """Call a function of torch that gives 0 when all went well."""
    _checked(c, c.call("i32", function, *arguments))


def _checked(c: Check, outcome: str) -> None:
    raised, done = c.label("raised"), c.label("done")
    c.branch(c.compare("i32", outcome, "0"), done, raised)
    c.start(raised)
    c.line("call void @lect_raise(ptr %flat)")
    c.line("br label %fail")
    c.start(done)


def _begin(c: Check, name: str) -> str:
    """Begin an event; it."""
    return c.call("ptr", "lect_begin", "ptr %flat", f"ptr {name}")


def _end(c: Check, event: str) -> None:
    """End an event."""
    c.line(f"call void @lect_end(ptr {event})")


def _made(c: Check, slot: str) -> None:
    """A slot owns the handle that was stored in it."""
    c.store("ptr", c.load("ptr", slot), slot, HEAP)


def _empty(pointer: Read) -> Body:
    """A row that makes a tensor, whose sizes and strides lie where `pointer` says."""

    def body(c: Check, handle: int) -> None:
        slot = _slot(c, 1)
        layout = (f"i64 {c.word(2)}", f"ptr {pointer(c, 3)}", f"ptr {pointer(c, 4)}", f"i32 {c.word(5, 'i32')}", "i32 0", "i32 -1")
        _shim(c, "aoti_torch_empty_strided", *layout, f"ptr {slot}")
        _made(c, slot)
        c.next(6)

    return body


def _empty_on(c: Check, handle: int) -> None:
    slot = _slot(c, 1)
    layout = (f"i64 {c.word(2)}", f"ptr {c.word(3, 'ptr')}", f"ptr {c.word(4, 'ptr')}", f"i32 {c.word(5, 'i32')}")
    outcome = c.call("i32", "aoti_torch_empty_strided", *layout, f"i32 {c.word(6, 'i32')}", f"i32 {c.word(7, 'i32')}", f"ptr {slot}")
    good, slowly, done = c.label("good"), c.label("slowly"), c.label("done")
    c.branch(c.compare("i32", outcome, "0"), good, slowly)
    c.start(slowly)
    told = _called(c, c.word(8, "ptr"), "%row", "0")
    _take(c, c.load("ptr", c.at(told, ITEMS)), slot, handle)
    c.line(f"call void @Py_DecRef(ptr {told})")
    c.line(f"br label %{done}")
    c.start(good)
    _made(c, slot)
    c.jump(done)
    c.next(9)


def _take(c: Check, value: str, slot: str, handle: int) -> None:
    """A slot owns an object of Python, which is a tensor."""
    c.line(f"call void @Py_IncRef(ptr {value})")
    c.store("ptr", c.at(value, handle), slot)
    c.store("ptr", value, slot, OBJECT)
    c.store("i64", "1", slot, OWNED)


def _stream(c: Check, handle: int) -> None:
    _checked(c, c.emit(f"call i32 {c.word(2, 'ptr')}(i32 {c.word(3, 'i32')}, ptr {_slot(c, 1)})"))
    c.next(4)


def _start(c: Check, handle: int) -> None:
    """The parameters of a kernel are the addresses of its tensors and of scratch memory, which is null; they lie in the scratch words, and behind them the
    place of each, and all their bits."""
    info, count, arguments = c.word(1, "ptr"), c.word(4), c.word(5)
    operands = c.at("%row", 6 * WORD)
    values = _take_addresses(c, operands, count)
    end = c.emit(f"mul i64 {count}, {WORD}")
    nulls = c.at(values, end)
    c.store("i64", "0", nulls)
    c.store("i64", "0", nulls, WORD)
    places = c.at(nulls, SCRATCH_PARAMETERS * WORD)
    bits = c.at(c.at(places, end), SCRATCH_PARAMETERS * WORD)
    c.store("i64", "0", bits)
    with c.repeat(c.emit(f"add i64 {count}, {SCRATCH_PARAMETERS}")) as number:
        offset = c.emit(f"mul i64 {number}, {WORD}")
        place = c.at(values, offset)
        c.store("ptr", place, places, offset)
        c.store("i64", c.emit(f"or i64 {c.load('i64', bits)}, {c.load('i64', place)}"), bits)
    go, asked, slowly, done = c.label("go"), c.label("asked"), c.label("slowly"), c.label("done")
    function = c.load("ptr", info)
    c.branch(c.compare("ptr", function, "null"), slowly, asked)
    c.start(asked)
    wrong = c.emit(f"and i64 {c.load('i64', bits)}, {c.load('i64', info, MASK)}")
    c.branch(c.compare("i64", wrong, "0"), go, slowly)
    c.start(go)
    grid, threads, shared = [c.load("i32", info, offset) for offset in (GRID, THREADS, SHARED)]
    stream = c.load("ptr", _slot(c, 3))
    sizes = f"i32 {grid}, i32 1, i32 1, i32 {threads}, i32 1, i32 1, i32 {shared}"
    status = c.emit(f"call i32 {c.load('ptr', info, LAUNCH)}(ptr {function}, {sizes}, ptr {stream}, ptr {places}, ptr null)")
    c.branch(c.compare("i32", status, "0"), done, slowly)
    c.start(slowly)
    first = c.at(operands, end)
    c.line(f"call void @Py_DecRef(ptr {_called(c, c.word(2, 'ptr'), first, arguments)})")
    c.jump(done)
    words = c.emit(f"add i64 {count}, {arguments}")
    c.line(f"ret ptr {c.at(operands, c.emit(f'mul i64 {words}, {WORD}'))}")


def _start_group(c: Check, handle: int) -> None:
    """Only the address of the table is a parameter.  While the stream is recorded, Python starts the kernel, as the table must live as long as the
    recording."""
    last, count, arguments = c.word(1, "ptr"), c.word(4), c.word(5)
    operands = c.at("%row", 6 * WORD)
    values = _take_addresses(c, operands, count)
    end = c.emit(f"mul i64 {count}, {WORD}")
    parameters = c.at(values, end)
    places = c.at(parameters, (1 + SCRATCH_PARAMETERS) * WORD)
    status, slowly, done = c.at(places, (1 + SCRATCH_PARAMETERS) * WORD), c.label("slowly"), c.label("done")

    def unless(type: str, left: str, right: str, kind: str = "eq") -> None:
        """Go on when the comparison holds, else slowly."""
        on = c.label("on")
        c.branch(c.compare(type, left, right, kind), on, slowly)
        c.start(on)

    table, stream, info = c.load("i64", last, LAST_TABLE), c.load("ptr", _slot(c, 3)), c.load("ptr", last)
    unless("i64", table, "0", "ne")
    unless("ptr", stream, c.load("ptr", last, LAST_STREAM))
    unless("i32", c.call("i32", "memcmp", f"ptr {values}", f"ptr {c.at(last, LAST_ADDRESSES)}", f"i64 {end}"), "0")
    c.store("i64", "1", status)
    unless("i32", c.emit(f"call i32 {c.load('ptr', last, LAST_CAPTURING)}(ptr {stream}, ptr {status})"), "0")
    unless("i32", c.load("i32", status), "0")
    function = c.load("ptr", info)
    unless("ptr", function, "null", "ne")
    for number in range(1 + SCRATCH_PARAMETERS):
        c.store("i64", "0" if number else table, parameters, number * WORD)
        c.store("ptr", c.at(parameters, number * WORD), places, number * WORD)
    grid, threads, shared = [c.load("i32", info, offset) for offset in (GRID, THREADS, SHARED)]
    sizes = f"i32 {grid}, i32 1, i32 1, i32 {threads}, i32 1, i32 1, i32 {shared}"
    unless("i32", c.emit(f"call i32 {c.load('ptr', info, LAUNCH)}(ptr {function}, {sizes}, ptr {stream}, ptr {places}, ptr null)"), "0")
    c.line(f"br label %{done}")
    c.start(slowly)
    c.line(f"call void @Py_DecRef(ptr {_called(c, c.word(2, 'ptr'), c.at(operands, end), arguments)})")
    c.jump(done)
    words = c.emit(f"add i64 {count}, {arguments}")
    c.line(f"ret ptr {c.at(operands, c.emit(f'mul i64 {words}, {WORD}'))}")


def _called(c: Check, function: str, first: str, count: str) -> str:
    """What a function of Python gives for the tensors of slots, of which words from `first` on tell."""
    arguments = c.load("ptr", "%flat", SCRATCH)
    with c.repeat(count) as number:
        place = c.emit(f"mul i64 {number}, {WORD}")
        value = c.call("ptr", "lect_object", f"ptr {c.at('%flat', c.load('i64', first, place))}")
        c.require(c.compare("ptr", value, "null", "ne"))
        c.store("ptr", value, arguments, place)
    told = c.call("ptr", "PyObject_Vectorcall", f"ptr {function}", f"ptr {arguments}", f"i64 {count}", "ptr null")
    c.require(c.compare("ptr", told, "null", "ne"))
    return told


def _view(pointer: Read, number: Read) -> Body:
    """A row that makes a view, whose sizes and strides lie where `pointer` says; `number` reads its offset."""

    def body(c: Check, handle: int) -> None:
        slot = _slot(c, 1)
        whole = c.load("ptr", _slot(c, 2))
        layout = (f"i64 {c.word(3)}", f"ptr {pointer(c, 4)}", f"ptr {pointer(c, 5)}", f"i64 {number(c, 6)}")
        _shim(c, "aoti_torch__reinterpret_tensor", f"ptr {whole}", *layout, f"ptr {slot}")
        _made(c, slot)
        c.next(7)

    return body


def _launch(c: Check, handle: int) -> None:
    launcher, kernel, grid, grain = c.word(1, "ptr"), c.word(2, "ptr"), c.word(3), c.word(4)
    count = c.word(7)
    operands = c.at("%row", 8 * WORD)
    pointers = _take_addresses(c, operands, count)
    call = f"call void {launcher}(ptr {kernel}, ptr {pointers}, i64 {grid}, i64 {grain})"
    _run(c, call, 6, lambda: c.compare("i64", c.word(5), "0"))
    c.line(f"ret ptr {c.at(operands, c.emit(f'mul i64 {count}, {WORD}'))}")


def _take_addresses(c: Check, operands: str, count: str) -> str:
    """Write where the elements of tensors lie into the scratch memory, which is the result."""
    pointers = c.load("ptr", "%flat", SCRATCH)
    with c.repeat(count) as number:
        place = c.emit(f"mul i64 {number}, {WORD}")
        tensor = c.load("ptr", c.at("%flat", c.load("i64", operands, place)))
        _shim(c, "aoti_torch_get_data_ptr", f"ptr {tensor}", f"ptr {c.at(pointers, place)}")
    return pointers


def _run(c: Check, call: str, event_word: int, is_short: Callable[[], str]) -> None:
    """Run a kernel, which keeps the lock of the interpreter where it is short."""
    let, hold, after = c.label("let"), c.label("hold"), c.label("after")
    event = _begin(c, c.word(event_word, "ptr"))
    c.branch(is_short(), hold, let)
    c.start(let)
    thread = c.call("ptr", "PyEval_SaveThread")
    c.line(call)
    c.line(f"call void @PyEval_RestoreThread(ptr {thread})")
    c.line(f"br label %{after}")
    c.start(hold)
    c.line(call)
    c.jump(after)
    _end(c, event)


def _product(c: Check, handle: int) -> None:
    tensors = ", ".join([f"ptr {c.load('ptr', _slot(c, number))}" for number in (2, 3, 4)])
    event = _begin(c, c.word(5, "ptr"))
    outcome = c.emit(f"call i32 {c.word(1, 'ptr')}({tensors})")
    _end(c, event)
    _or_by_python(c, outcome, 6, handle)


def _sum(c: Check, handle: int) -> None:
    tensors = ", ".join([f"ptr {c.load('ptr', _slot(c, number))}" for number in (2, 3, 4, 5)])
    event = _begin(c, c.word(8, "ptr"))
    outcome = c.emit(f"call i32 {c.word(1, 'ptr')}({tensors}, double {c.word(6, 'double')}, double {c.word(7, 'double')})")
    _end(c, event)
    _or_by_python(c, outcome, 9, handle)


def _or_by_python(c: Check, outcome: str, word: int, handle: int) -> None:
    """End a row whose call gave `outcome`: where it failed, a function of Python is called, which the words from `word` on tell, and its result is that of
    the row instead of the tensor that was there."""
    count, first = c.word(word + 1), c.at("%row", (word + 2) * WORD)
    slowly, done = c.label("slowly"), c.label("done")
    c.branch(c.compare("i32", outcome, "0"), done, slowly)
    c.start(slowly)
    told, slot = _called(c, c.word(word, "ptr"), first, count), _slot(c, 2)
    value = c.load("ptr", c.at(told, ITEMS))
    c.line(f"call void @lect_drop(ptr {slot})")
    _take(c, value, slot, handle)
    c.line(f"call void @Py_DecRef(ptr {told})")
    c.jump(done)
    c.line(f"ret ptr {c.at(first, c.emit(f'mul i64 {count}, {WORD}'))}")


def _python(c: Check, handle: int) -> None:
    count, results = c.word(2), c.word(3)
    first = c.at("%row", 4 * WORD)
    told = _called(c, c.word(1, "ptr"), first, count)
    targets = c.at(first, c.emit(f"mul i64 {count}, {WORD}"))
    with c.repeat(results) as number:
        place = c.emit(f"mul i64 {number}, {WORD}")
        value = c.load("ptr", c.at(told, ITEMS), place)
        _take(c, value, c.at("%flat", c.load("i64", targets, place)), handle)
    c.line(f"call void @Py_DecRef(ptr {told})")
    c.line(f"ret ptr {c.at(targets, c.emit(f'mul i64 {results}, {WORD}'))}")


def _free(c: Check, handle: int) -> None:
    c.line(f"call void @lect_drop(ptr {_slot(c, 1)})")
    c.next(2)


def _return(c: Check, handle: int) -> None:
    count = c.word(1)
    first = c.at("%row", 2 * WORD)
    made = c.call("ptr", "PyList_New", f"i64 {count}")
    c.require(c.compare("ptr", made, "null", "ne"))
    c.store("ptr", made, "%flat", RESULT)
    with c.repeat(count) as number:
        place = c.emit(f"mul i64 {number}, {WORD}")
        value = c.call("ptr", "lect_object", f"ptr {c.at('%flat', c.load('i64', first, place))}")
        c.require(c.compare("ptr", value, "null", "ne"))
        c.line(f"call void @Py_IncRef(ptr {value})")
        c.emit(f"call i32 @PyList_SetItem(ptr {made}, i64 {number}, ptr {value})")
    c.line(f"ret ptr {c.at(first, c.emit(f'mul i64 {count}, {WORD}'))}")


def _number(c: Check, word: int) -> str:
    """The address of a number."""
    return c.at("%flat", c.word(word))


def _size(c: Check, handle: int) -> None:
    target = _number(c, 1)
    _shim(c, "aoti_torch_get_size", f"ptr {c.load('ptr', _slot(c, 2))}", f"i64 {c.word(3)}", f"ptr {target}")
    c.store("i64", c.emit(f"sdiv i64 {c.load('i64', target)}, {c.word(4)}"), target)
    c.next(5)


def _element(c: Check, handle: int) -> None:
    target = _number(c, 1)
    _shim(c, "aoti_torch_get_data_ptr", f"ptr {c.load('ptr', _slot(c, 2))}", f"ptr {target}")
    c.store("i64", c.emit(f"sdiv i64 {c.load('i64', c.load('ptr', target))}, {c.word(3)}"), target)
    c.next(4)


def _set(c: Check, handle: int) -> None:
    c.store("i64", c.word(2), _number(c, 1))
    c.next(3)


def _gather(c: Check, handle: int) -> None:
    target, count, first = _number(c, 1), c.word(2), c.at("%row", 3 * WORD)
    with c.repeat(count) as number:
        place = c.emit(f"mul i64 {number}, {WORD}")
        c.store("i64", c.load("i64", c.at("%flat", c.load("i64", first, place))), target, place)
    c.line(f"ret ptr {c.at(first, c.emit(f'mul i64 {count}, {WORD}'))}")


def _arithmetic(instruction: str) -> Body:
    """A row that computes one number of two."""

    def body(c: Check, handle: int) -> None:
        left, right = c.load("i64", _number(c, 2)), c.load("i64", _number(c, 3))
        if instruction.startswith("@"):
            value = c.emit(f"call i64 {instruction}(i64 {left}, i64 {right})")
        else:
            value = c.emit(f"{instruction} i64 {left}, {right}")
        c.store("i64", value, _number(c, 1))
        c.next(4)

    return body


def _divided(c: Check, handle: int, remainder: bool) -> None:
    """Quotient or remainder of a division that rounds down, as sizes may have negative terms; the divisor is positive."""
    left, right = [c.load("i64", _number(c, place)) for place in (2, 3)]
    rest = c.emit(f"srem i64 {left}, {right}")
    below = c.emit(f"icmp slt i64 {rest}, 0")
    if remainder:
        value = c.emit(f"select i1 {below}, i64 {c.emit(f'add i64 {rest}, {right}')}, i64 {rest}")
    else:
        value = c.emit(f"add i64 {c.emit(f'sdiv i64 {left}, {right}')}, {c.emit(f'sext i1 {below} to i64')}")
    c.store("i64", value, _number(c, 1))
    c.next(4)


def _launch_of(c: Check, handle: int) -> None:
    launcher, kernel, grid, grain = c.word(1, "ptr"), c.word(2, "ptr"), c.load("i64", _number(c, 3)), c.word(4)
    count, sizes = c.word(6), c.word(7)
    operands = c.at("%row", 8 * WORD)
    first = _take_addresses(c, operands, count)
    behind = c.emit(f"mul i64 {count}, {WORD}")
    operands, pointers = c.at(operands, behind), c.at(first, behind)
    with c.repeat(sizes) as number:
        place = c.emit(f"mul i64 {number}, {WORD}")
        c.store("i64", c.load("i64", c.at("%flat", c.load("i64", operands, place))), pointers, place)
    call = f"call void {launcher}(ptr {kernel}, ptr {first}, i64 {grid}, i64 {grain})"
    _run(c, call, 5, lambda: c.compare("i64", grid, grain, "slt"))
    c.line(f"ret ptr {c.at(operands, c.emit(f'mul i64 {sizes}, {WORD}'))}")


def _pointer(c: Check, word: int) -> str:
    return c.word(word, "ptr")


def _word(c: Check, word: int) -> str:
    return c.word(word)


def _value(c: Check, word: int) -> str:
    return c.load("i64", _number(c, word))


KINDS: Mapping[str, Body] = MappingProxyType(
    {
        "empty": _empty(_pointer),
        "empty_on": _empty_on,
        "stream": _stream,
        "start": _start,
        "start_group": _start_group,
        "view": _view(_pointer, _word),
        "launch": _launch,
        "product": _product,
        "sum": _sum,
        "python": _python,
        "free": _free,
        "return": _return,
        "size": _size,
        "element": _element,
        "set": _set,
        "gather": _gather,
        "plus": _arithmetic("add"),
        "times": _arithmetic("mul"),
        "quotient": partial(_divided, remainder=False),
        "remainder": partial(_divided, remainder=True),
        "least": _arithmetic("@llvm.smin.i64"),
        "greatest": _arithmetic("@llvm.smax.i64"),
        "empty_of": _empty(_number),
        "view_of": _view(_number, _value),
        "launch_of": _launch_of,
    }
)
NUMBERS: Mapping[str, int] = MappingProxyType({name: number for number, name in enumerate(KINDS, 1)})
