"""Functions that must follow the interpreter's view of objects instead of running for real.

`special_table()` gives the rules by callable; a rule takes the tracer, boxes of the positional arguments and boxes by keyword, and returns a box.
"""

from __future__ import annotations

import abc
import collections
import copy
import functools
import itertools
import operator
import re
import sys
import types
import weakref
from collections.abc import Callable, Mapping
from contextvars import ContextVar
from types import FunctionType, MappingProxyType, MethodType
from typing import Any

import torch

from lect.frontends.capture import policy
from lect.frontends.capture.arity import with_arity
from lect.frontends.capture.attributes import bound_method, generic_attr, load_attr, lookup, python_method, type_attr
from lect.frontends.capture.autograd import AUTOGRAD
from lect.frontends.capture.breaks import UserError
from lect.frontends.capture.cached_functions import CACHED_FUNCTIONS
from lect.frontends.capture.calls import call_function
from lect.frontends.capture.checkpointing import CHECKPOINTS
from lect.frontends.capture.class_checks import class_of, is_instance, is_subclass, stand_in
from lect.frontends.capture.classes import CLASSES, make_type
from lect.frontends.capture.consumers import CONSUMERS, called_until
from lect.frontends.capture.context_vars import CONTEXT_VARS
from lect.frontends.capture.control_flow import CONTROL_FLOW
from lect.frontends.capture.copying import COPYING
from lect.frontends.capture.data_aliases import VIEWS
from lect.frontends.capture.digests import DIGESTS
from lect.frontends.capture.effects import delete_attr, generic_delete_attr, generic_store_attr, globals_box, run_real, store_attr
from lect.frontends.capture.evaluated import EVALUATED
from lect.frontends.capture.exception_groups import EXCEPTION_GROUPS
from lect.frontends.capture.frames import FRAMES
from lect.frontends.capture.functorch import FUNCTORCH
from lect.frontends.capture.generator_states import GENERATOR_STATES
from lect.frontends.capture.generators import Exhausted, TracedGenerator, close, exception_of, in_program, resume
from lect.frontends.capture.getters import GETTERS
from lect.frontends.capture.gradient_hooks import GRADIENT_HOOKS
from lect.frontends.capture.inference import INFERENCE
from lect.frontends.capture.iteration import get_iter, get_next
from lect.frontends.capture.locks import LOCKS
from lect.frontends.capture.log_calls import LOGGING
from lect.frontends.capture.making import allocate, call_c_init, initialize, new_object
from lect.frontends.capture.modes import MODES
from lect.frontends.capture.module_calls import MODULE_CALL_IMPL
from lect.frontends.capture.module_hooks import MODULE_HOOKS_IN_FRAMES
from lect.frontends.capture.module_moves import MODULE_MOVES
from lect.frontends.capture.numbers import without_numbers
from lect.frontends.capture.objects import describe
from lect.frontends.capture.operators import answer_of, is_same, truth
from lect.frontends.capture.optimizers import OPTIMIZERS, in_arithmetic
from lect.frontends.capture.ordering import ORDERING
from lect.frontends.capture.patterns import PATTERNS
from lect.frontends.capture.plain_calls import PLAIN_CALLS
from lect.frontends.capture.random_draws import RANDOM_DRAWS
from lect.frontends.capture.random_state import RANDOM_STATE
from lect.frontends.capture.scalars import SCALAR_TYPES
from lect.frontends.capture.searches import SEARCHES
from lect.frontends.capture.shortcuts import SHORTCUTS
from lect.frontends.capture.size_symbols import sized
from lect.frontends.capture.special_methods import SPECIAL_METHODS
from lect.frontends.capture.texts import TEXTS
from lect.frontends.capture.torch_calls import torch_call
from lect.frontends.capture.torch_checks import CHECKS
from lect.frontends.capture.tracebacks import TRACEBACKS, traceback_of
from lect.frontends.capture.tracer import NONE, Box, Tracer
from lect.frontends.capture.value_objects import VALUE_METHODS
from lect.frontends.capture.warning_calls import WARNINGS
from lect.frontends.capture.weak_references import read_reference
from lect.frontends.tensors import LT

LAZY_PROPERTY: Any = torch.distributions.utils._lazy_property_and_property  # type: ignore[attr-defined]
Kwargs = dict[str, Box]
Rule = Callable[[Tracer, list[Box], Kwargs], Box]


def _type(t: Tracer, args: list[Box], kwargs: Kwargs) -> Box:
    if len(args) != 1 or kwargs:
        return make_type(t, args, kwargs)
    return t.static(class_of(t, args[0]))


def _attribute_name(t: Tracer, function: Callable[..., Any], box: Box) -> str:
    """The name that getattr and its like are given; the TypeError of `function` for what is no string."""
    name = t.leak(box)
    if not issubclass(type(name), str):
        run_real(function, None, name, *([None] if function is setattr else []))
    return name


def _getattr(t: Tracer, args: list[Box], kwargs: Kwargs) -> Box:
    name = _attribute_name(t, getattr, args[1])
    try:
        return load_attr(t, args[0], name)
    except UserError as raised:
        if len(args) > 2 and issubclass(type(raised.error), AttributeError):
            return args[2]
        raise


def _hasattr(t: Tracer, args: list[Box], kwargs: Kwargs) -> Box:
    try:
        found = load_attr(t, args[0], _attribute_name(t, hasattr, args[1]))
    except UserError as raised:
        if issubclass(type(raised.error), AttributeError):
            return (False, None)
        raise
    if found[1] is not None:
        t.guards.present(found[1])
    return (True, None)


def _setattr(t: Tracer, args: list[Box], kwargs: Kwargs) -> Box:
    store_attr(t, args[0], _attribute_name(t, setattr, args[1]), args[2])
    return NONE


def _delattr(t: Tracer, args: list[Box], kwargs: Kwargs) -> Box:
    delete_attr(t, args[0], _attribute_name(t, delattr, args[1]))
    return NONE


def _object_getattribute(t: Tracer, args: list[Box], kwargs: Kwargs) -> Box:
    return generic_attr(t, args[0], _attribute_name(t, getattr, args[1]), fallback=False)


def _type_getattribute(t: Tracer, args: list[Box], kwargs: Kwargs) -> Box:
    return type_attr(t, args[0], _attribute_name(t, getattr, args[1]))


def _refuse_classes(args: list[Box], name: str) -> None:
    """Methods of `object` do not write to classes."""
    if issubclass(type(args[0][0]), type):
        raise UserError(TypeError(f"can't apply this {name} to {type(args[0][0]).__name__} object"))


def _object_setattr(t: Tracer, args: list[Box], kwargs: Kwargs) -> Box:
    _refuse_classes(args, "__setattr__")
    return _type_setattr(t, args, kwargs)


def _object_delattr(t: Tracer, args: list[Box], kwargs: Kwargs) -> Box:
    _refuse_classes(args, "__delattr__")
    return _type_delattr(t, args, kwargs)


def _type_setattr(t: Tracer, args: list[Box], kwargs: Kwargs) -> Box:
    generic_store_attr(t, args[0], _attribute_name(t, setattr, args[1]), args[2])
    return NONE


def _type_delattr(t: Tracer, args: list[Box], kwargs: Kwargs) -> Box:
    generic_delete_attr(t, args[0], _attribute_name(t, delattr, args[1]))
    return NONE


def _object_new(t: Tracer, args: list[Box], kwargs: Kwargs) -> Box:
    if (len(args) > 1 or kwargs) and issubclass(type(args[0][0]), type):
        run_real(object.__new__, args[0][0], *[None for _ in args[1:]], **dict.fromkeys(kwargs))  # which may take none
    return new_object(t, object.__new__, args[0][0], args[1:], kwargs)


def _nothing(t: Tracer, args: list[Box], kwargs: Kwargs) -> Box:
    return NONE


def _referent(t: Tracer, args: list[Box], kwargs: Kwargs) -> Box:
    """`super().__call__()` in a class of weak references."""
    return read_reference(t, args[0])


def _cache_token(t: Tracer, args: list[Box], kwargs: Kwargs) -> Box:
    """`abc.get_cache_token()`, another number behind each registration of a class."""
    return t.wrap(abc.get_cache_token(), t.static_source(abc.get_cache_token).step("call"))


def _init_reference(t: Tracer, args: list[Box], kwargs: Kwargs) -> Box:
    """`weakref.ref.__init__`, which only counts its arguments."""
    if not 2 <= len(args) <= 3 or kwargs:
        run_real(weakref.ref.__init__, args[0][0], *[None for _ in args[1:]], **dict.fromkeys(kwargs))
    return NONE


def _object_init(t: Tracer, args: list[Box], kwargs: Kwargs) -> Box:
    """`object.__init__`, which does nothing but to refuse arguments that nobody else takes."""
    if len(args) > 1 or kwargs:
        run_real(object.__init__, args[0][0], *[None for _ in args[1:]], **dict.fromkeys(kwargs))
    return NONE


def _type_call(t: Tracer, args: list[Box], kwargs: Kwargs) -> Box:
    made = allocate(t, args[0], args[1:], kwargs)
    if args[0][0] in type(made[0]).__mro__:
        initialize(t, made, args[1:], kwargs)
    return made


def _len(t: Tracer, args: list[Box], kwargs: Kwargs) -> Box:
    value, source = args[0]
    if type(value) is LT:
        if not value.dim():
            raise UserError(TypeError("len() of a 0-d tensor"))
        return (sized(t, value.shape[0]), None)
    t.guard_type(args[0])
    method = python_method(t, type(value), "__len__")
    if method is not None:
        return answer_of(t, "__len__", call_function(t, t.static(method), [args[0]], {}))
    length = run_real(len, t.now(args[0]))
    if source is not None:
        t.leak(args[0]) if type(value) in SCALAR_TYPES else t.guards.length(source, len(value))
    return (length, None)


def _iter(t: Tracer, args: list[Box], kwargs: Kwargs) -> Box:
    return get_iter(t, args[0]) if len(args) == 1 else called_until(t, args[0], args[1])


def _next(t: Tracer, args: list[Box], kwargs: Kwargs) -> Box:
    if len(args) == 1:
        return in_program(get_next, t, args[0])
    try:
        return get_next(t, args[0])
    except Exhausted:
        return args[1]


def _traced_generator(t: Tracer, args: list[Box]) -> TracedGenerator:
    value = args[0][0]
    if type(value) is not TracedGenerator:
        raise t.stop("LB0009", "a generator made outside of the compiled frame is advanced")
    return value


def _send(t: Tracer, args: list[Box], kwargs: Kwargs) -> Box:
    return in_program(resume, t, _traced_generator(t, args), args[1])


def _throw(t: Tracer, args: list[Box], kwargs: Kwargs) -> Box:
    return in_program(resume, t, _traced_generator(t, args), NONE, exception_of(t, args[1:]))


def _close(t: Tracer, args: list[Box], kwargs: Kwargs) -> Box:
    return close(t, _traced_generator(t, args))


def _bool(t: Tracer, args: list[Box], kwargs: Kwargs) -> Box:
    return (truth(t, args[0]) if args else False, None)


def _callable(t: Tracer, args: list[Box], kwargs: Kwargs) -> Box:
    lookup(t, class_of(t, args[0]), "__call__")  # which guards it
    return (callable(stand_in(t, args[0])), None)


def _is(same: bool) -> Rule:
    """`operator.is_` or its opposite."""
    return lambda t, args, kwargs: (is_same(t, *args) is same, None)


def _super(t: Tracer, args: list[Box], kwargs: Kwargs) -> Box:
    if len(args) != 2:
        raise t.stop("LB0001", "super() with other than two arguments")
    proxy = run_real(super, args[0][0], args[1][0])
    t.keep.append(proxy)
    return (proxy, None)


def _bind(t: Tracer, args: list[Box], kwargs: Kwargs) -> Box:
    """`function.__get__(value, cls)`."""
    return args[0] if args[1][0] is None else bound_method(t, args[0][0], args[1])


def _lazy_property(t: Tracer, args: list[Box], kwargs: Kwargs) -> Box:
    """What a lazy property of a distribution is when its class is asked for it: another descriptor, which only holds the function."""
    return t.made(LAZY_PROPERTY(args[0][0]))


def _vars(t: Tracer, args: list[Box], kwargs: Kwargs) -> Box:
    if not args:
        raise t.stop("LB0003", "vars() without argument")
    try:
        return load_attr(t, args[0], "__dict__")
    except UserError as raised:
        if not issubclass(type(raised.error), AttributeError):
            raise
    raise UserError(TypeError("vars() argument must have __dict__ attribute"))


def _globals(t: Tracer, args: list[Box], kwargs: Kwargs) -> Box:
    return globals_box(t, t.frame.globals, t.frame.globals_source)


def _is_tensor(t: Tracer, args: list[Box], kwargs: Kwargs) -> Box:
    class_of(t, args[0])
    return (type(args[0][0]) is LT, None)


def _size(t: Tracer, args: list[Box], kwargs: Kwargs) -> Box:
    value = args[0][0]
    if type(value) is not LT:
        return torch_call(t, torch.Tensor.size, args, kwargs)
    return (sized(t, run_real(torch.Tensor.size, value, *t.leak_all(args[1:]), **{name: t.leak(box) for name, box in kwargs.items()})), None)


def _state_query(function: Callable[..., Any]) -> Rule:
    def rule(t: Tracer, args: list[Box], kwargs: Kwargs) -> Box:
        return (run_real(function, *t.leak_all(args)), None)

    return rule


def _is_compiling(t: Tracer, args: list[Box], kwargs: Kwargs) -> Box:
    if in_arithmetic(t) or _in_padded_encoder(t) or _around_hooks(t):
        return (False, None)
    t.asked_compiling = True
    return (t.policy.compiling, None)


def _around_hooks(t: Tracer) -> bool:
    """True in the code around the hooks of a module, which would leave some out behind an exception if it were told that it is compiled."""
    return t.frame is not None and t.frame.function[0] is MODULE_CALL_IMPL


def _in_padded_encoder(t: Tracer) -> bool:
    """True inside of `torch.nn.TransformerEncoder`, which in evaluation sets padded positions to zero unless it is told that it is compiled."""
    return t.frame is not None and t.frame.function[0] is torch.nn.TransformerEncoder.forward


def _fold(answer: Any) -> Rule:
    return lambda t, args, kwargs: (answer, None)


def _fastpath(t: Tracer, args: list[Box], kwargs: Kwargs) -> Box:
    """Whether torch may use its fused kernel for an encoder layer.

    Without masks and on a contiguous input the kernel gives the values and strides of the plain operations, and those can be compiled, so a compiled
    layer is told no.  Attention on its own gives other strides with the kernel, so there the answer is the real one.
    """
    frame = t.frame
    while frame is not None:
        if frame.function[0] is torch.nn.TransformerEncoderLayer.forward:
            source = frame.locals["src"][0]
            unmasked = all(frame.locals[name][0] is None for name in ("src_mask", "src_key_padding_mask"))
            if unmasked and type(source) is LT and source.is_contiguous():
                return (False, None)
            break
        frame = frame.caller
    return load_attr(t, t.static(torch.backends.mha), "_is_fastpath_enabled")


def _regular_expression(t: Tracer, args: list[Box], kwargs: Kwargs) -> Box:
    """`re._compile`, which all functions of `re` call: the same pattern for the same text, out of a cache that is nobody's concern."""
    if any(type(box[0]) not in (str, bytes, int, re.Pattern, re.RegexFlag) for box in args):
        raise t.stop("LB0003", "a regular expression that is no text")
    return t.static(run_real(re._compile, *t.leak_all(args)))  # type: ignore[attr-defined]


def _method_type(t: Tracer, args: list[Box], kwargs: Kwargs) -> Box:
    function = args[0][0]
    if type(function) is FunctionType and not t.is_fresh(function):
        t.static(function)
    method = run_real(MethodType, *[box[0] for box in args])
    t.keep.append(method)
    return (method, None)


def _exception(t: Tracer, args: list[Box], kwargs: Kwargs) -> Box:
    error = t.handled()
    if error is None:
        t.found_unhandled()
        return NONE
    return t.made(error)


def _exc_info(t: Tracer, args: list[Box], kwargs: Kwargs) -> Box:
    error = t.handled()
    if error is None:
        t.found_unhandled()
        return ((None, None, None), None)
    return t.make_tuple([t.static(type(error)), t.made(error), traceback_of(t, error, handled=True)])


def _outside(function: Any) -> Rule:
    def rule(t: Tracer, args: list[Box], kwargs: Kwargs) -> Box:
        raise t.stop("LB0013", f"{describe(function)} acts on the outside world")

    return rule


def _c_init(init: Callable[..., None]) -> Rule:
    """`super().__init__(...)` that ends at the `__init__` of a builtin class."""

    def rule(t: Tracer, args: list[Box], kwargs: Kwargs) -> Box:
        if not t.is_fresh(args[0][0]):
            raise t.stop("LB0004", "an object is initialized again")
        call_c_init(t, init, args[0], args[1:], kwargs)
        return NONE

    return rule


# Rules that keep numbers of run time what they are; all others get constants.
_WITH_NUMBERS = frozenset(
    {sum, min, max, any, all, functools.reduce, isinstance, type, getattr, setattr, object.__setattr__, callable, bool, next, iter, type.__call__}
    | {operator.is_, operator.is_not, torch.is_tensor, types.GeneratorType.send, copy.deepcopy, ContextVar.get, ContextVar.set, ContextVar.reset}
    | {*AUTOGRAD, *CHECKS, *CHECKPOINTS, *FUNCTORCH, *CONTROL_FLOW, *SPECIAL_METHODS}
)


_ITERATED: tuple[Any, ...] = ([], (), {}, {}.keys(), {}.values(), {}.items(), set(), "", "\u00e4", b"", range(1))
_ITERATORS: frozenset[Any] = frozenset(type(iter(each)) for each in _ITERATED) | {
    *(zip, map, filter, enumerate, reversed),
    *(value for value in vars(itertools).values() if isinstance(value, type) and hasattr(value, "__next__")),
}
_OTHERS: Mapping[Any, Rule] = MappingProxyType(
    {
        FunctionType.__get__: _bind,
        LAZY_PROPERTY: _lazy_property,
        re._compile: _regular_expression,  # type: ignore[attr-defined]
        operator.is_: _is(True),
        operator.is_not: _is(False),
        **{cls.__next__: _next for cls in _ITERATORS},
    }
)
_BY_SUBJECT = (
    _OTHERS,
    CHECKS,
    GETTERS,
    COPYING,
    TRACEBACKS,
    AUTOGRAD,
    CACHED_FUNCTIONS,
    LOCKS,
    CHECKPOINTS,
    CLASSES,
    FUNCTORCH,
    CONTROL_FLOW,
    EVALUATED,
    EXCEPTION_GROUPS,
    FRAMES,
    GENERATOR_STATES,
    GRADIENT_HOOKS,
    MODES,
    MODULE_HOOKS_IN_FRAMES,
    MODULE_MOVES,
    OPTIMIZERS,
    ORDERING,
    PATTERNS,
    PLAIN_CALLS,
    RANDOM_DRAWS,
    RANDOM_STATE,
    CONTEXT_VARS,
    INFERENCE,
    LOGGING,
    SPECIAL_METHODS,
    SEARCHES,
    SHORTCUTS,
    TEXTS,
    DIGESTS,
    VALUE_METHODS,
    VIEWS,
)


def _recursion_limit(t: Tracer, args: list[Box], kwargs: Kwargs) -> Box:
    """`sys.getrecursionlimit()`."""
    return t.wrap(t.recursion_limit, t.sources.module("sys").attr("getrecursionlimit").step("call"))


# Rules that do nothing which lasts but what the log of the trace tells of, or what they call does.
_LOGGED = frozenset(
    {isinstance, issubclass, type, getattr, hasattr, setattr, object.__getattribute__, types.ModuleType.__getattribute__, type.__getattribute__}
    | {object.__setattr__, object.__new__, object.__init__, object.__init_subclass__, type.__call__, len, iter, next, bool, callable, hash, str, repr, format}
    | {super, torch.is_tensor, torch.Tensor.size, MethodType, FunctionType.__get__, sum, min, max, any, all, *policy.FOLDED, *policy.STATE_QUERIES}
    | {*policy.MACHINE, *policy.COMPILING, types.GeneratorType.__iter__, types.GeneratorType.__next__, dict.__init__, list.__init__, torch.is_autocast_enabled}
    | {*SHORTCUTS, *SEARCHES}
)


def _disturbing(rule: Rule) -> Rule:
    """A rule that says that something happens."""

    def disturb(t: Tracer, args: list[Box], kwargs: Kwargs) -> Box:
        t.memo.disturb()
        return rule(t, args, kwargs)

    return disturb


def special_table() -> Mapping[Any, Rule]:
    """All rules by callable."""
    table: dict[Any, Rule] = {
        **CONSUMERS,
        isinstance: is_instance,
        issubclass: is_subclass,
        type: _type,
        getattr: _getattr,
        hasattr: _hasattr,
        setattr: _setattr,
        delattr: _delattr,
        object.__getattribute__: _object_getattribute,
        types.ModuleType.__getattribute__: _object_getattribute,
        type.__getattribute__: _type_getattribute,
        object.__setattr__: _object_setattr,
        object.__delattr__: _object_delattr,
        type.__setattr__: _type_setattr,
        type.__delattr__: _type_delattr,
        object.__new__: _object_new,
        object.__init__: _object_init,
        object.__init_subclass__: _nothing,
        type.__call__: _type_call,
        weakref.ref.__init__: _init_reference,
        weakref.ref.__call__: _referent,
        abc.get_cache_token: _cache_token,
        len: _len,
        iter: _iter,
        next: _next,
        types.GeneratorType.__iter__: _iter,
        types.GeneratorType.__next__: _next,
        types.GeneratorType.send: _send,
        types.GeneratorType.throw: _throw,
        types.GeneratorType.close: _close,
        bool: _bool,
        callable: _callable,
        super: _super,
        vars: _vars,
        globals: _globals,
        torch.is_tensor: _is_tensor,
        torch.Tensor.size: _size,
        torch.backends.mha.get_fastpath_enabled: _fastpath,
        MethodType: _method_type,
        sys.exc_info: _exc_info,
        sys.getrecursionlimit: _recursion_limit,
        sys.exception: _exception,
        **WARNINGS,
    }
    for part in _BY_SUBJECT:
        table.update(part)
    for function in policy.OUTSIDE_WORLD:
        table.setdefault(function, _outside(function))
    for function in policy.STATE_QUERIES | policy.MACHINE:
        table[function] = _state_query(function)
    table.update(dict.fromkeys(policy.COMPILING, _is_compiling))
    for function, answer in policy.FOLDED.items():
        table[function] = _fold(answer)
    for base in (dict, list, set, collections.deque, collections.OrderedDict, BaseException, Exception):
        table.setdefault(base.__init__, _c_init(base.__init__))
    table = {function: with_arity(function, rule if function in _LOGGED else _disturbing(rule)) for function, rule in table.items()}
    return MappingProxyType({function: rule if function in _WITH_NUMBERS else without_numbers(rule) for function, rule in table.items()})
