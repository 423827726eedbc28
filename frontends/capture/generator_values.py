"""Generators and iterators that outlive a trace, made again by the residual code.

A generator that has not begun is a call of its function, one that stands somewhere is its resume generator (`suspended.py`), primed, and one that is
over is one that is closed before it has begun.  An iterator of C code is asked for its own recipe (`__reduce__`): the function that makes it, what from,
and the state to put it into.  Iterators over dicts and sets are made anew and moved on, since their recipe would forget what they iterate over.

What C code was handed in the place of the program's functions and iterables (`Callback`, `IteratorForC`) is the original again.
"""

from __future__ import annotations

import itertools
import operator
import types
import warnings
from collections import deque
from collections.abc import Callable, Mapping
from types import CellType, FunctionType
from typing import TYPE_CHECKING, Any

from lect.dialects.pyframe import building, control
from lect.dialects.pyframe import ops as py
from lect.frontends.capture.breaks import GraphBreak
from lect.frontends.capture.generators import DONE, ITSELF, NEW, RUNNING, Callback, IterableForC, IteratorForC, TracedGenerator
from lect.frontends.capture.suspended import GeneratorCode, Resumption, resume_generator
from lect.frontends.capture.tracer import NONE, Box
from lect.ir import SymbolRef, Value

if TYPE_CHECKING:
    from lect.frontends.capture.residual import ResidualBuilder


# ---- generators ------------------------------------------------------------------------------------------------------


def generator_value(b: ResidualBuilder, generator: TracedGenerator) -> Value:
    """A generator of the trace, at the place where it stands.  Breaks when it runs."""
    if generator.state is RUNNING:
        raise GraphBreak("LB0009", f"the generator {generator.frame.function[0].__qualname__} is running", b.loc)
    if generator.state is NEW:
        return _called(b, generator)
    made = _finished(b, generator) if generator.state is DONE else _standing(b, generator)
    function = generator.frame.function[0]
    if function.__qualname__ != function.__code__.co_qualname:
        b.block.append(py.StoreAttrOp(made, b.constant(function.__qualname__), "__qualname__", loc=b.loc))
    return made


def _called(b: ResidualBuilder, generator: TracedGenerator) -> Value:
    """The function called with the arguments that it was called with."""
    frame = generator.frame
    func: control.FuncOp = frame.program.func

    def argument(name: str) -> Value:
        return _contents(b, frame.cells[name][0]) if name in func.cells else b.value_of_box(frame.locals[name])

    callee = b._callable(frame.function[0])
    positional, named = [argument(name) for name in func.args], [argument(name) for name in func.keyword_only]
    if func.varargs is None and func.varkw is None:
        return b.emit(py.CallOp(callee, [*positional, *named], keywords=func.keyword_only, loc=b.loc))
    args = b.emit(building.BuildListOp(positional, loc=b.loc))
    if func.varargs is not None:
        b.block.append(building.ListExtendOp(args, argument(func.varargs), loc=b.loc))
    kwargs = b.emit(building.BuildConstKeyMapOp(named, func.keyword_only, loc=b.loc))
    if func.varkw is not None:
        b.block.append(building.DictUpdateOp(kwargs, argument(func.varkw), loc=b.loc))
    return b.emit(py.CallExOp(callee, b.emit(building.ListToTupleOp(args, loc=b.loc)), kwargs, loc=b.loc))


def _contents(b: ResidualBuilder, cell: CellType) -> Value:
    box = b.t.cells.get(id(cell))
    return b.value_of_box(box) if box is not None else b.value(cell.cell_contents)


def _function(b: ResidualBuilder, generator: TracedGenerator, code: Any, cells: list[Value]) -> Value:
    """A function with this code that makes generators with the names of the original's."""
    function = generator.frame.function[0]
    closure = b.emit(building.BuildTupleOp(cells, loc=b.loc)) if cells else b.constant(None)
    return b.call(FunctionType, b.resource(code), b.resource(function.__globals__), b.constant(function.__name__), b.constant(None), closure)


def _standing(b: ResidualBuilder, generator: TracedGenerator) -> Value:
    """The resume generator, called and asked for its first value."""
    frame, at = generator.frame, generator.op
    func: control.FuncOp = frame.program.func
    made, code = _resume_generator(b, func, at, frozenset(frame.locals), generator.handled is not None, frame.program.codes)
    arguments = []
    for name in made.variables:
        box = frame.cells.get(name) if name in func.cells else frame.locals.get(name)
        arguments.append(b.value_of_box(box) if box is not None else b.constant(None))
    arguments += [b.value_of_box(frame.env[value]) for value in made.stack]
    if made.delegates:
        assert generator.delegate is not None
        arguments.append(b.value_of_box(generator.delegate))
    if made.handling:
        arguments.append(b.value(generator.handled))
    function = _function(b, generator, code, [b.value(frame.cells[name][0]) for name in func.free])
    again = b.emit(py.CallOp(function, arguments, loc=b.loc))
    b.call(next, again)
    return again


def _finished(b: ResidualBuilder, generator: TracedGenerator) -> Value:
    """A generator of the function that is closed before it has begun: it has nothing more to give."""
    func: control.FuncOp = generator.frame.program.func
    function = _function(b, generator, generator.frame.function[0].__code__, [b.call(CellType) for _ in func.free])
    nothing = [b.constant(None) for _ in (*func.args, *func.keyword_only)]
    again = b.emit(py.CallOp(function, nothing, keywords=func.keyword_only, loc=b.loc))
    b.emit(py.CallOp(b.emit(py.LoadAttrOp(again, "close", loc=b.loc)), [], loc=b.loc))
    return again


def _resume_generator(
    b: ResidualBuilder, func: control.FuncOp, at: Any, bound: frozenset[str], handling: bool, codes: Mapping[str, Any]
) -> tuple[Resumption, GeneratorCode]:
    """The resume generator of a place and its code, one for all generators that stand there alike."""
    key = (at, bound, handling)
    found = b.generators.get(key)
    if found is None:
        made = resume_generator(func, at, bound, handling)
        made.func.attrs["sym_name"] = f"{b.graph.removesuffix('.graph')}.generator_{len(b.generators)}.{func.sym_name}"
        _name_codes(b, made.func, codes)
        found = b.generators[key] = made, GeneratorCode(made.func)
    return found


def _name_codes(b: ResidualBuilder, func: control.FuncOp, codes: Mapping[str, Any]) -> None:
    """Code objects among the constants of a function become live objects of the trace."""
    for op in list(func.walk()):
        value = op.attrs.get("value") if op.name == "pyframe.load_const" else None
        if isinstance(value, SymbolRef):
            assert op.parent is not None
            loaded = py.LoadResourceOp(f"object.{b.t.objects.number(codes[value.leaf])}", loc=op.loc)
            op.parent.insert_before(op, loaded)
            op.replace(loaded.results)


# ---- iterators of C code ---------------------------------------------------------------------------------------------


def iterator_value(b: ResidualBuilder, value: Any) -> Value:
    """An iterator of C code, at the place where it stands.  Breaks for one that does not tell how it is made."""
    kind = type(value)
    if kind in _OVER:
        return _over(b, value, *_OVER[kind])
    if kind is map and _only_hands_on(value):
        return b.value(value.__reduce__()[1][1])
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)  # 3.14 forgets how to
        recipe = value.__reduce__()
    make, parts = recipe[0], recipe[1]
    made = b.emit(py.CallOp(b.resource(make), [_part(b, part) for part in parts], loc=b.loc))
    if len(recipe) > 2 and recipe[2] is not None:
        if any(_original(b, part) for part in parts):
            b.late.append(lambda: _set_state(b, made, recipe[2]))  # a place that is not there before the writes are replayed would be the end
        else:
            _set_state(b, made, recipe[2])
    return made


def _set_state(b: ResidualBuilder, made: Value, state: Any) -> None:
    stated = b.emit(building.BuildTupleOp([_part(b, part) for part in state], loc=b.loc)) if type(state) is tuple else _part(b, state)
    b.emit(py.CallOp(b.emit(py.LoadAttrOp(made, "__setstate__", loc=b.loc)), [stated], loc=b.loc))


def _part(b: ResidualBuilder, part: Any) -> Value:
    """What an iterator is made from: a function that it calls, or what it iterates over."""
    if type(part) is Callback:
        if part.stands_for is None:
            raise GraphBreak("LB0008", "an iterator that calls back", b.loc)
        return b.constant(None) if part.stands_for[0] is None else b._callable(part.stands_for[0])
    if isinstance(part, IterableForC | IteratorForC):
        return b.value_of_box(part.box)
    return _container(b, part)


def _original(b: ResidualBuilder, container: Any) -> Box | None:
    """The container of which `container` is the copy that took the trace's writes."""
    return next((b.t.mutated.get(number, NONE) for number, shadow in b.t.shadows.items() if shadow is container), None)


def _container(b: ResidualBuilder, container: Any) -> Value:
    """A container that is iterated over: the original, which has the trace's writes too when it is asked for its next item."""
    original = _original(b, container)
    if original is None:
        return b.value(container)
    if type(container) is not list or original[1] is None:
        raise GraphBreak("LB0008", f"an iterator over a {type(container).__name__} that the trace has changed", b.loc)
    return b.source(original[1])


def _only_hands_on(mapped: map) -> bool:
    """True for the `map` that makes the items of an iterable fit for C code and changes nothing else."""
    function = mapped.__reduce__()[1][0]
    return type(function) is Callback and function.stands_for is ITSELF


def _over(b: ResidualBuilder, iterator: Any, kind: type, start: Callable[..., Any]) -> Value:
    """An iterator over a dict or set: one from its beginning, moved on."""
    import gc

    left = operator.length_hint(iterator)
    container: Any = next((each for each in gc.get_referents(iterator) if issubclass(type(each), kind)), None)
    if container is None:
        container = kind()
    elif issubclass(type(container), set | frozenset) and b.t.is_fresh(container):
        raise GraphBreak("LB0008", "an iterator over a set, whose order may be another one when it is made again", b.loc)
    made = b.call(iter, b.call(start, _container(b, container)) if start is not iter else _container(b, container))
    done = len(container) - left
    if done:
        count = b.constant(done)
        b.call(next, b.call(itertools.islice, made, count, count), b.constant(None))
    return made


_OVER: Mapping[type, tuple[Any, Callable[..., Any]]] = types.MappingProxyType(
    {
        type(iter({})): (dict, iter),
        type(iter({}.values())): (dict, dict.values),
        type(iter({}.items())): (dict, dict.items),
        type(iter(set())): (set | frozenset, iter),
    }
)
_TOLD: tuple[Any, ...] = ([], (), "", "ä", b"", range(0), range(2**70), deque())
ITERATORS: frozenset[type] = frozenset(
    {
        *_OVER,
        *(type(iter(each)) for each in _TOLD),
        *(type(reversed(each)) for each in _TOLD if hasattr(type(each), "__reversed__")),
        type(iter(int, 1)),
        *(enumerate, zip, map, filter, reversed),
        *(itertools.accumulate, itertools.chain, itertools.combinations, itertools.combinations_with_replacement, itertools.compress, itertools.count),
        *(itertools.cycle, itertools.dropwhile, itertools.filterfalse, itertools.islice, itertools.permutations, itertools.product, itertools.repeat),
        *(itertools.starmap, itertools.takewhile, itertools.zip_longest),
    }
)
