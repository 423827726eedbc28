"""Opening a frame: from a live call to a module with the decoded function.

    module = open_frame(fn, args, kwargs, ctx)       # pyframe.func @fn, and the live call in ctx.resources["frame"]

The pass `pyframe-to-fx` then follows that function on the live objects.
"""

from __future__ import annotations

from collections.abc import Mapping
from types import CodeType, FunctionType, MethodType
from typing import Any

import torch

from lect.dialects.builtin.ops import ModuleOp
from lect.dialects.pyframe.control import FuncOp
from lect.frontends.bytecode.decode import UnsupportedCode
from lect.frontends.capture.breaks import GraphBreak, Refused
from lect.frontends.capture.interpreter import CodeTable, decode_code
from lect.frontends.capture.module_calls import MODULE_CALL
from lect.frontends.capture.objects import describe
from lect.frontends.capture.resume import Clone, Resume, resume_function
from lect.frontends.capture.targets import name_of
from lect.ir import Block, Context, Operation, Region


class LiveFrame:
    """A call that is about to run.

    `bound` are the values of the parameters of `function` by name, `codes` the code objects that its IR names, and `of_module` says that it is the
    forward of a module being called.  For a resume function, `rest` is what goes on, and `part` tells where its operations come from.
    """

    __slots__ = ("bound", "codes", "function", "of_module", "part", "rest")

    def __init__(self, function: FunctionType, bound: dict[str, Any], codes: Mapping[str, CodeType], of_module: bool = False) -> None:
        self.function = function
        self.bound = bound
        self.codes = codes
        self.of_module = of_module
        self.rest: Rest | None = None
        self.part: Clone | None = None


class Rest:
    """The rest of a function behind a cut, to be followed like a function.

    `function` stands for it: a function without a use of its own that has the parameters of the resume function, those for its cells behind them, and
    the globals.  `root` is the symbol of the function that was compiled, `code` the code object of the one that was cut, and `codes` are the code
    objects that its IR names.
    """

    def __init__(self, resume: Resume, symbol: str, root: str, function: FunctionType, code: CodeType, codes: Mapping[str, CodeType]) -> None:
        self.resume = resume
        self.symbol = symbol
        self.function = function
        self.code = code
        self.codes = codes
        self.root = root
        self.__qualname__ = function.__qualname__

    def open(self, args: tuple[Any, ...], ctx: Context) -> Operation:
        """A module with the resume function, and the call in `ctx`."""
        part = resume_function(self.resume, self.symbol)
        live = LiveFrame(self.function, dict(zip(rest_parameters(self.resume), args)), self.codes)
        live.rest, live.part = self, part
        ctx.resources["frame"] = live
        return ModuleOp(regions=[Region([_single(part.func)])])


def rest_parameters(resume: Resume) -> tuple[str, ...]:
    """Names of the parameters of a `Rest`."""
    return (*resume.parameters, *(cell_parameter(name) for name in resume.base.shared))


def cell_parameter(name: str) -> str:
    """The parameter of a `Rest` for the cell of a variable."""
    return f"cell.{name}"


def python_function(fn: Any) -> tuple[FunctionType, tuple[Any, ...]]:
    """The function behind a callable, and the arguments that a call adds in front.  Breaks for callables without bytecode."""
    if isinstance(fn, torch.nn.Module):
        if type(fn).__call__ is not MODULE_CALL:
            raise GraphBreak("LB0017", "the class of the module has a `__call__` of its own")
        if "forward" not in fn.__dict__ and isinstance(type(fn).forward, FunctionType):
            return type(fn).forward, (fn,)
        raise GraphBreak("LB0017", "the module has a forward of its own, besides its class")
    if isinstance(fn, MethodType) and isinstance(fn.__func__, FunctionType):
        return fn.__func__, (fn.__self__,)
    if isinstance(fn, FunctionType):
        return fn, ()
    name = name_of(fn)
    if name is not None and not name.startswith("builtins."):
        return _calling(fn, name), ()
    raise GraphBreak("LB0026", describe(fn))


def _calling(function: Any, name: str) -> FunctionType:
    """A Python function that calls a function of torch in C."""

    def call(*args: Any, **kwargs: Any) -> Any:
        return function(*args, **kwargs)

    call.__name__, call.__qualname__ = name.rpartition(".")[2], name
    assert isinstance(call, FunctionType)
    return call


class DoesNotBind(TypeError):
    """The arguments of a call do not fit the function; the function's own error is the one to show."""


def bind_parameters(function: FunctionType, func: FuncOp, args: tuple[Any, ...], kwargs: dict[str, Any]) -> dict[str, Any]:
    """Values of the parameters by name, as a call binds them.  Raises `DoesNotBind` when they do not."""
    names = func.args
    bound = dict(zip(names, args))
    if len(args) > len(names) and func.varargs is None:
        raise DoesNotBind(f"{function.__qualname__}() takes {len(names)} positional arguments but {len(args)} were given")
    extra = {}
    allowed = (*names[func.positional_only :], *func.keyword_only)
    for name, value in kwargs.items():
        if name in allowed and name not in bound:
            bound[name] = value
        elif func.varkw is not None and name not in allowed:
            extra[name] = value
        else:
            raise DoesNotBind(f"{function.__qualname__}() got an unexpected or repeated keyword argument '{name}'")
    defaults = function.__defaults__ or ()
    for name, value in zip(names[len(names) - len(defaults) :], defaults):
        bound.setdefault(name, value)
    for name in func.keyword_only:
        if name not in bound and name in (function.__kwdefaults__ or {}):
            bound[name] = (function.__kwdefaults__ or {})[name]
    missing = [name for name in (*names, *func.keyword_only) if name not in bound]
    if missing:
        raise DoesNotBind(f"{function.__qualname__}() is missing the argument '{missing[0]}'")
    if func.varargs is not None:
        bound[func.varargs] = tuple(args[len(names) :])
    if func.varkw is not None:
        bound[func.varkw] = extra
    return bound


def open_frame(fn: Any, args: tuple[Any, ...], kwargs: dict[str, Any], ctx: Context) -> Operation:
    """A `builtin.module` with the function that `fn(*args, **kwargs)` runs.

    Puts the call into `ctx.resources["frame"]` and what is known of code objects into `ctx.resources["code_table"]`.  Raises `Refused` when the
    function has no bytecode that can be read, `DoesNotBind` when the arguments do not fit.
    """
    table = ctx.resources.setdefault("code_table", None) or CodeTable()
    ctx.resources["code_table"] = table
    if isinstance(fn, Rest):
        return fn.open(args, ctx)
    try:
        function, front = python_function(fn)
        func, codes = decode_code(function.__code__)
    except GraphBreak as stop:
        raise Refused(stop) from None
    except UnsupportedCode as error:
        raise Refused(GraphBreak("LB0009", error.message, error.loc)) from None
    if "generator" in func.flags:
        raise Refused(GraphBreak("LB0009", f"{function.__qualname__} is a generator, whose frame outlives the call", func.loc))
    bound = bind_parameters(function, func, (*front, *args), kwargs)
    ctx.resources["frame"] = LiveFrame(function, bound, codes, isinstance(fn, torch.nn.Module))
    return ModuleOp(regions=[Region([_single(func)])])


def _single(op: Operation) -> Block:
    block = Block()
    block.append(op)
    return block
