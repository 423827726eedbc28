"""The kinds of rows: what each compares, and the code for it.

    type       operand class                     the object is of this class itself
    is         operand operand                   both are one object
    is_not     operand operand                   they are two
    member     operand offset object             memory at this offset of the object refers to `object`
    instance   operand class offset dict tag n entries      of this class, with this dictionary at this offset, which is as it was
    dict       dict tag n entries                the dictionary is as it was
    empty      n dict...                         none of the dictionaries has an element
    version    class tag                         neither the class nor a base has changed
    list       operand n objects                 a list of exactly these objects
    tuple      operand n objects                 a tuple of exactly these objects
    length     operand class n                   of this class, a list, tuple or dict, with n elements
    list_item  operand number slot               the element of a list of that number goes to a slot
    tuple_item operand number slot               the same of a tuple
    dict_item  operand key hash slot             the value of a dict under a text goes to a slot
    tensor     operand class keys flags rank layout         the dispatch keys, dtype and requires_grad (`flags`), sizes and strides (`layout`)
    sized      operand class keys flags rank layout slot    likewise, where sizes and strides of -1 are any; all go to slots from this one on
    number     value slot                        an integer goes to a slot
    equal      slot slot                         two integers are equal
    range      slot low high                     an integer is in this range
    nonzero    slot                              an integer is not 0
    times      slot slot slot                    the product of two integers goes to a slot; neither has more than 31 bits
    plus       slot slot slot                    their sum
    floordiv   slot slot slot                    their quotient; the first is not negative, the second positive
    mod        slot slot slot                    and what is left of it
    grad       operand class slot none           the tensor is of this class itself; its gradient, or None, goes to a slot; `none` stands for None in it
    device     operand index                     the tensor is on the device of that number
    apart      class class n mask places operand...         of one of both classes each, and no two of them have one memory
    int        operand low high                  an int in this range, no bool
    whole      operand low high slot             likewise; its value goes to a slot
    float      operand bits                      a float of this value, which is neither zero nor NaN
    text       operand object                    equal to `object`, a str, bytes or device
    modes      offset mask value dtype deterministic autocast shared the modes of torch (`modes.py`)
    calm                                         no exception is being handled

A dictionary is as it was when its version is; else when each of `n` entries (key, hash, value or 0) is, with n = -1 for never, and then the new version is
kept.  Every row may be asked of any object: it reads no memory before it knows what is there.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from types import MappingProxyType

from lect.backends.native_guards.code import WORD, Check
from lect.backends.native_guards.layout import Layout
from lect.backends.native_guards.modes import modes_body

USED = 2 * WORD  # number of elements of a list, tuple or dict
ELEMENTS = 3 * WORD  # the pointer to those of a list, the first of those of a tuple
INLINE_RANK = 5  # up to which torch has sizes and strides in the tensor itself

Body = Callable[[Check, Layout], None]


def _type(c: Check, where: Layout) -> None:
    c.class_is(c.operand(1), c.word(2, "ptr"))
    c.next(3)


def _is(c: Check, where: Layout) -> None:
    c.same("ptr", c.operand(1), c.operand(2))
    c.next(3)


def _is_not(c: Check, where: Layout) -> None:
    c.require(c.compare("ptr", c.operand(1), c.operand(2), "ne"))
    c.next(3)


def _member(c: Check, where: Layout) -> None:
    c.same("ptr", c.load("ptr", c.operand(1), c.word(2)), c.word(3, "ptr"))
    c.next(4)


def _unchanged(c: Check, where: Layout, members: str, first: int) -> None:
    """The dictionary has the version in word `first`, or the entries that the two words behind tell of."""
    changed, done = c.label("changed"), c.label("unchanged")
    tag = c.load("i64", members, where.dict_tag)
    if where.dict_tag_mask != -1:
        tag = c.emit(f"and i64 {tag}, {where.dict_tag_mask}")
    known = c.compare("i64", tag, c.word(first)) if where.dict_tag_mask else "false"
    c.branch(known, done, changed)
    c.start(changed)
    count = c.word(first + 1)
    c.require(c.compare("i64", count, "0", "sge"))
    entries = c.word(first + 2, "ptr")
    with c.repeat(count) as number:
        entry = c.at(entries, c.emit(f"mul i64 {number}, {3 * WORD}"))
        key, hash, wanted = c.load("ptr", entry), c.load("i64", entry, WORD), c.load("ptr", entry, 2 * WORD)
        c.same("ptr", c.call("ptr", "_PyDict_GetItem_KnownHash", f"ptr {members}", f"ptr {key}", f"i64 {hash}"), wanted)
    raised = c.call("ptr", "PyErr_Occurred")
    keep, clear = c.label("keep"), c.label("clear")
    c.branch(c.compare("ptr", raised, "null"), keep, clear)
    c.start(clear)
    c.line("call void @PyErr_Clear()")
    c.line("br label %fail")
    c.start(keep)
    c.store("i64", tag, "%row", first * WORD)
    c.jump(done)


def _instance(c: Check, where: Layout) -> None:
    value = c.operand(1)
    c.class_is(value, c.word(2, "ptr"))
    members = c.load("ptr", value, c.word(3))
    c.same("ptr", members, c.word(4, "ptr"))
    _unchanged(c, where, members, 5)
    c.next(8)


def _dict(c: Check, where: Layout) -> None:
    _unchanged(c, where, c.word(1, "ptr"), 2)
    c.next(5)


def _empty(c: Check, where: Layout) -> None:
    count = c.word(1)
    first = c.at("%row", 2 * WORD)
    with c.repeat(count) as number:
        members = c.load("ptr", first, c.emit(f"mul i64 {number}, {WORD}"))
        c.same("i64", c.load("i64", members, USED), "0")
    c.line(f"ret ptr {c.at(first, c.emit(f'mul i64 {count}, {WORD}'))}")


def _version(c: Check, where: Layout) -> None:
    c.same("i32", c.load("i32", c.word(1, "ptr"), where.type_tag), c.word(2, "i32"))
    c.next(3)


def _elements(c: Check, cls: str) -> None:
    value = c.operand(1)
    c.class_is(value, f"@{cls}")
    count = c.word(2)
    c.same("i64", c.load("i64", value, USED), count)
    wanted = c.word(3, "ptr")
    items = c.load("ptr", value, ELEMENTS) if cls == "PyList_Type" else c.at(value, ELEMENTS)
    with c.repeat(count) as number:
        place = c.emit(f"mul i64 {number}, {WORD}")
        c.same("ptr", c.load("ptr", items, place), c.load("ptr", wanted, place))
    c.next(4)


def _list(c: Check, where: Layout) -> None:
    _elements(c, "PyList_Type")


def _tuple(c: Check, where: Layout) -> None:
    _elements(c, "PyTuple_Type")


def _length(c: Check, where: Layout) -> None:
    value = c.operand(1)
    c.class_is(value, c.word(2, "ptr"))
    c.same("i64", c.load("i64", value, USED), c.word(3))
    c.next(4)


def _item(c: Check, cls: str) -> None:
    value = c.operand(1)
    c.class_is(value, f"@{cls}")
    number = c.word(2)
    c.require(c.compare("i64", number, c.load("i64", value, USED), "ult"))
    items = c.load("ptr", value, ELEMENTS) if cls == "PyList_Type" else c.at(value, ELEMENTS)
    found = c.load("ptr", items, c.emit(f"mul i64 {number}, {WORD}"))
    c.require(c.compare("ptr", found, "null", "ne"))
    c.put(3, found)
    c.next(4)


def _list_item(c: Check, where: Layout) -> None:
    _item(c, "PyList_Type")


def _tuple_item(c: Check, where: Layout) -> None:
    _item(c, "PyTuple_Type")


def _dict_item(c: Check, where: Layout) -> None:
    value = c.operand(1)
    c.class_is(value, "@PyDict_Type")
    found = c.call("ptr", "_PyDict_GetItem_KnownHash", f"ptr {value}", f"ptr {c.word(2, 'ptr')}", f"i64 {c.word(3)}")
    missing, there = c.label("missing"), c.label("there")
    c.branch(c.compare("ptr", found, "null"), missing, there)
    c.start(missing)
    c.line("call void @PyErr_Clear()")
    c.line("br label %fail")
    c.start(there)
    c.put(4, found)
    c.next(5)


def _tensor(c: Check, where: Layout) -> None:
    impl, rank, flags = _metadata(c, where)
    sizes, strides = _layout_of(c, where, impl, rank)
    wanted = c.word(6, "ptr")
    wanted_strides = c.at(wanted, c.emit(f"mul i64 {rank}, {WORD}"))
    with c.repeat(rank) as number:
        place = c.emit(f"mul i64 {number}, {WORD}")
        c.same("i64", c.load("i64", sizes, place), c.load("i64", wanted, place))
        c.same("i64", c.load("i64", strides, place), c.load("i64", wanted_strides, place))
    _requires_grad(c, where, impl, c.emit(f"trunc i64 {c.emit(f'lshr i64 {flags}, 16')} to i1"))
    c.next(7)


def _sized(c: Check, where: Layout) -> None:
    impl, rank, flags = _metadata(c, where)
    wanted, out, behind = c.word(6, "ptr"), c.at("%flat", c.emit(f"add i64 {c.word(7)}, -1")), c.emit(f"mul i64 {rank}, {WORD}")
    for found, first in zip(_layout_of(c, where, impl, rank), ("0", behind)):
        with c.repeat(rank) as number:
            place = c.emit(f"mul i64 {number}, {WORD}")
            value, there = c.load("i64", found, place), c.emit(f"add i64 {place}, {first}")
            asked = c.load("i64", wanted, there)
            c.require(c.emit(f"or i1 {c.compare('i64', asked, '-1')}, {c.compare('i64', asked, value)}"))
            c.store("i64", value, out, there)
    _requires_grad(c, where, impl, c.emit(f"trunc i64 {c.emit(f'lshr i64 {flags}, 16')} to i1"))
    c.next(8)


def _metadata(c: Check, where: Layout) -> tuple[str, str, str]:
    """The class, the dispatch keys, the dtype and the rank are those of the row; the tensor's memory in torch, the rank and the flags."""
    value = c.operand(1)
    c.class_is(value, c.word(2, "ptr"))
    impl = c.load("ptr", value, where.handle)
    c.require(c.compare("ptr", impl, "null", "ne"))
    c.same("i64", c.load("i64", impl, where.keys), c.word(3))
    flags = c.word(4)
    c.same("i16", c.load("i16", impl, where.dtype), c.emit(f"trunc i64 {flags} to i16"))
    rank = c.word(5)
    c.same("i64", c.load("i64", impl, where.rank), rank)
    return impl, rank, flags


def _layout_of(c: Check, where: Layout, impl: str, rank: str) -> tuple[str, str]:
    """Where the sizes and the strides of a tensor are."""
    inline = c.compare("i64", rank, str(INLINE_RANK), "sle")
    far = c.load("ptr", impl, where.sizes)
    sizes = c.emit(f"select i1 {inline}, ptr {c.at(impl, where.sizes)}, ptr {far}")
    behind = c.at(far, c.emit(f"mul i64 {rank}, {WORD}"))
    return sizes, c.emit(f"select i1 {inline}, ptr {c.at(impl, where.strides)}, ptr {behind}")


def _requires_grad(c: Check, where: Layout, impl: str, wanted: str) -> None:
    """A leaf says it in a byte; of a result of recorded operations torch is asked."""
    has, flagged, ask, done = c.label("has"), c.label("flagged"), c.label("ask"), c.label("told")
    meta = c.load("ptr", impl, where.autograd)
    before = c.block
    c.branch(c.compare("ptr", meta, "null"), done, has)
    c.start(has)
    leaf = c.emit(f"trunc i8 {c.load('i8', meta, where.requires_grad)} to i1")
    c.jump(flagged)
    c.branch(leaf, done, ask)
    c.start(ask)
    told = c.call("zeroext i1", "_ZNK3c1010TensorImpl13requires_gradEv", f"ptr {impl}")
    c.jump(done)
    found = c.emit(f"phi i1 [ false, %{before} ], [ true, %{flagged} ], [ {told}, %{ask} ]")
    c.same("i1", found, wanted)


def _grad(c: Check, where: Layout) -> None:
    value = c.operand(1)
    c.class_is(value, c.word(2, "ptr"))
    impl = c.load("ptr", value, where.handle)
    none, some, unset, has, done = (c.label(name) for name in ("none", "some", "unset", "has", "done"))
    meta = c.load("ptr", impl, where.autograd)
    c.branch(c.compare("ptr", meta, "null"), none, some)
    c.start(some)
    gradient = c.load("i64", meta, where.grad)
    c.branch(c.compare("i64", gradient, c.word(4)), none, has)
    c.start(has)
    known = c.emit(f"and i64 {c.load('i64', c.emit(f'inttoptr i64 {gradient} to ptr'), where.object)}, -4")
    c.require(c.compare("i64", known, "0", "ne"))
    before = c.block
    found = c.emit(f"inttoptr i64 {known} to ptr")
    c.line(f"br label %{done}")
    c.start(none)
    c.jump(unset)
    c.jump(done)
    c.put(3, c.emit(f"phi ptr [ {found}, %{before} ], [ @_Py_NoneStruct, %{unset} ]"))
    c.next(5)


def _device(c: Check, where: Layout) -> None:
    place = c.emit("alloca i32")  # first, as only memory of the first block is reserved once
    handle = c.at(c.operand(1), where.handle)
    c.same("i32", c.call("i32", "aoti_torch_get_device_index", f"ptr {handle}", f"ptr {place}"), "0")
    c.same("i32", c.load("i32", place), c.word(2, "i32"))
    c.next(3)


def _apart(c: Check, where: Layout) -> None:
    """Each memory goes to its place in a table of 2**k, `mask` + 1, words, or the next that is free; what is there already is found there."""
    first, second, count, mask, places = c.word(1, "ptr"), c.word(2, "ptr"), c.word(3), c.word(4), c.word(5, "ptr")
    length = c.emit(f"mul i64 {c.emit(f'add i64 {mask}, 1')}, {WORD}")
    c.line(f"call void @llvm.memset.p0.i64(ptr {places}, i8 0, i64 {length}, i1 false)")
    operands = c.at("%row", 6 * WORD)
    with c.repeat(count) as number:
        value = c.resolve(c.load("i64", operands, c.emit(f"mul i64 {number}, {WORD}")))
        cls = c.load("ptr", value, WORD)
        c.require(c.emit(f"or i1 {c.compare('ptr', cls, first)}, {c.compare('ptr', cls, second)}"))
        impl = c.load("ptr", value, where.handle)
        some, search, taken, free, done = (c.label(name) for name in ("some", "search", "taken", "free", "done"))
        c.branch(c.compare("i64", c.load("i64", impl, where.numel), "0"), done, some)
        c.start(some)
        storage = c.load("ptr", impl, where.storage)
        c.require(c.compare("ptr", storage, "null", "ne"))
        memory = c.emit(f"or i64 {c.load('i64', storage, where.data)}, 1")  # which is not 0, as a free place is
        start = c.emit(f"and i64 {c.emit(f'lshr i64 {memory}, 6')}, {mask}")
        before = c.block
        c.jump(search)
        step = c.label("%at")
        following = c.label("%next")
        c.line(f"{step} = phi i64 [ {start}, %{before} ], [ {following}, %{taken} ]")
        place = c.at(places, c.emit(f"mul i64 {step}, {WORD}"))
        found = c.load("i64", place)
        c.branch(c.compare("i64", found, "0"), free, taken)
        c.start(taken)
        c.line(f"{following} = and i64 {c.emit(f'add i64 {step}, 1')}, {mask}")
        c.branch(c.compare("i64", found, memory), "fail", search)
        c.start(free)
        c.store("i64", memory, place)
        c.jump(done)
    c.line(f"ret ptr {c.at(operands, c.emit(f'mul i64 {count}, {WORD}'))}")


def _int(c: Check, where: Layout) -> None:
    _value_in_range(c)
    c.next(4)


def _whole(c: Check, where: Layout) -> None:
    c.put_number(4, _value_in_range(c))
    c.next(5)


def _value_in_range(c: Check) -> str:
    place = c.emit("alloca i32")
    value = c.operand(1)
    c.class_is(value, "@PyLong_Type")
    number = c.call("i64", "PyLong_AsLongLongAndOverflow", f"ptr {value}", f"ptr {place}")
    c.same("i32", c.load("i32", place), "0")
    c.require(c.compare("i64", number, c.word(2), "sge"))
    c.require(c.compare("i64", number, c.word(3), "sle"))
    return number


def _number(c: Check, where: Layout) -> None:
    c.put_number(2, c.word(1))
    c.next(3)


def _equal(c: Check, where: Layout) -> None:
    c.same("i64", c.number(1), c.number(2))
    c.next(3)


def _range(c: Check, where: Layout) -> None:
    number = c.number(1)
    c.require(c.compare("i64", number, c.word(2), "sge"))
    c.require(c.compare("i64", number, c.word(3), "sle"))
    c.next(4)


def _nonzero(c: Check, where: Layout) -> None:
    c.require(c.compare("i64", c.number(1), "0", "ne"))
    c.next(2)


def _computed(instruction: str, bits: int) -> Body:
    """Integers between -(2**bits) and 2**bits - 1 go through an instruction, so that it does not overflow."""

    def write(c: Check, where: Layout) -> None:
        values = c.number(1), c.number(2)
        for value in values:
            c.require(c.compare("i64", c.emit(f"add i64 {value}, {1 << bits}"), str(2 << bits), "ult"))
        c.put_number(3, c.emit(f"{instruction} i64 {', '.join(values)}"))
        c.next(4)

    return write


def _divided(instruction: str) -> Body:
    def write(c: Check, where: Layout) -> None:
        value, divisor = c.number(1), c.number(2)
        c.require(c.compare("i64", value, "0", "sge"))
        c.require(c.compare("i64", divisor, "0", "sgt"))
        c.put_number(3, c.emit(f"{instruction} i64 {value}, {divisor}"))
        c.next(4)

    return write


def _float(c: Check, where: Layout) -> None:
    value = c.operand(1)
    c.class_is(value, "@PyFloat_Type")
    c.same("i64", c.emit(f"bitcast double {c.call('double', 'PyFloat_AsDouble', f'ptr {value}')} to i64"), c.word(2))
    c.next(3)


def _text(c: Check, where: Layout) -> None:
    value, wanted = c.operand(1), c.word(2, "ptr")
    other, equal, done = c.label("other"), c.label("equal"), c.label("one")
    c.branch(c.compare("ptr", value, wanted), done, other)
    c.start(other)
    c.class_is(value, c.load("ptr", wanted, WORD))
    outcome = c.call("i32", "PyObject_RichCompareBool", f"ptr {value}", f"ptr {wanted}", "i32 2")
    c.branch(c.compare("i32", outcome, "1"), done, equal)
    c.start(equal)
    c.line("call void @PyErr_Clear()")
    c.line("br label %fail")
    c.start(done)
    c.next(3)


def _calm(c: Check, where: Layout) -> None:
    handled = c.call("ptr", "PyErr_GetHandledException")
    some, none = c.label("handled"), c.label("calm")
    c.branch(c.compare("ptr", handled, "null"), none, some)
    c.start(some)
    c.line(f"call void @Py_DecRef(ptr {handled})")
    c.same("ptr", handled, "@_Py_NoneStruct")
    c.jump(none)
    c.next(1)


KINDS: Mapping[str, Body] = MappingProxyType(
    {
        "type": _type,
        "is": _is,
        "is_not": _is_not,
        "member": _member,
        "instance": _instance,
        "dict": _dict,
        "empty": _empty,
        "version": _version,
        "list": _list,
        "tuple": _tuple,
        "length": _length,
        "list_item": _list_item,
        "tuple_item": _tuple_item,
        "dict_item": _dict_item,
        "tensor": _tensor,
        "grad": _grad,
        "device": _device,
        "apart": _apart,
        "int": _int,
        "float": _float,
        "text": _text,
        "modes": modes_body,
        "calm": _calm,
        "sized": _sized,
        "number": _number,
        "equal": _equal,
        "range": _range,
        "nonzero": _nonzero,
        "times": _computed("mul", 31),
        "plus": _computed("add", 61),
        "floordiv": _divided("udiv"),
        "mod": _divided("urem"),
        "whole": _whole,
    }
)
NUMBERS: Mapping[str, int] = MappingProxyType({name: number for number, name in enumerate(KINDS, 1)})
