"""What the files call that replay a failing call: they make the objects of the call again, and follow it once more.

Such a file is a Python program of its own, and runs the program's files as an import does:

    python FILE.py                          compiles the call as it was compiled, makes it, and says whether lect fails again
    lect-opt --run-reproducer FILE.py       follows the call and prints its IR
"""

from __future__ import annotations

import importlib
import sys
from collections import OrderedDict, defaultdict, deque
from collections.abc import Mapping, Sequence
from functools import cache, partial
from pathlib import Path
from types import CellType, CodeType, FunctionType, MethodType, ModuleType
from typing import Any

import torch

from lect.frontends.capture.api import Rest
from lect.ir import LectError
from lect.runtime.call_script import slots_of
from lect.tools.capture_file import load_file
from lect.tools.decode_file import code_objects, compile_file

__all__ = [
    "CellType",
    "MethodType",
    "OrderedDict",
    "complete",
    "defaultdict",
    "deque",
    "fill",
    "function",
    "instance",
    "main",
    "missing",
    "module",
    "named",
    "parameter",
    "partial",
    "reduced",
    "rest",
    "search",
    "tensor",
    "torch",
]


class Missing:
    """Stands for an object that the file could not carry; `what` describes it."""

    def __init__(self, what: str) -> None:
        self.what = what

    def __repr__(self) -> str:
        return f"<missing: {self.what}>"

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        raise LectError(f"the call cannot be made again: the file could not carry {self.what}")


def missing(what: str) -> Missing:
    """An object in the place of one that could not be carried."""
    return Missing(what)


def search(*folders: str) -> None:
    """Look for modules in these folders, too."""
    sys.path += [folder for folder in folders if folder not in sys.path]


@cache
def module(name: str) -> ModuleType:
    """A module by its name, or the file of a program by its path.  Raises `LectError` when it cannot be loaded."""
    if name.endswith(".py"):
        return load_file(Path(name))
    if name in sys.modules:
        return sys.modules[name]
    try:
        return importlib.import_module(name)
    except Exception as error:
        raise LectError(f"the module '{name}' cannot be imported: {type(error).__name__}: {error}") from error


def named(place: str, qualname: str) -> Any:
    """What a module calls `qualname`.  Raises `LectError` when it has no such name."""
    found: Any = module(place)
    for part in qualname.split("."):
        if not hasattr(found, part):
            raise LectError(f"'{place}' has no '{qualname}'")
        found = getattr(found, part)
    return found


def _code(file: str, qualname: str, line: int) -> CodeType:
    for code in code_objects(compile_file(file)):
        if code.co_qualname == qualname and code.co_firstlineno == line:
            return code
    raise LectError(f"'{file}' has no function '{qualname}' at line {line}; it is not what it was")


def function(place: str, file: str, qualname: str, line: int) -> FunctionType:
    """The function that begins at `line` of `file`, with the globals of the module `place` and cells without content.  Raises `LectError`."""
    code = _code(file, qualname, line)
    made = FunctionType(code, vars(module(place)), code.co_name, None, tuple(CellType() for _ in code.co_freevars))
    made.__qualname__ = qualname
    return made


def complete(made: FunctionType, cells: tuple[Any, ...], defaults: tuple[Any, ...], named_defaults: Mapping[str, Any]) -> FunctionType:
    """A function with its cells filled and its defaults; recursive functions are in cells of their own."""
    for mine, other in zip(made.__closure__ or (), cells):
        try:
            mine.cell_contents = other.cell_contents
        except ValueError:
            continue
    made.__defaults__, made.__kwdefaults__ = defaults or None, dict(named_defaults) or None
    return made


def rest(
    place: str,
    file: str,
    qualname: str,
    line: int,
    at: tuple[int, int, bool],
    variables: Sequence[str],
    empty: Sequence[int],
    symbol: str,
    root: str,
) -> Rest:
    """The rest of a function behind a graph break: `at` is block and operation, and whether an exception is on its way.  Raises `LectError`."""
    from lect.frontends.capture.interpreter import Program, decode_code
    from lect.frontends.capture.resume import Place, resume_at

    code = _code(file, qualname, line)
    func, codes = decode_code(code)
    base = Program(func, codes, code).cuttable()
    values = base.stack_at(Place(*at))
    resume = resume_at(base, Place(*at), tuple(variables), [values[number] for number in empty])

    def stands_for() -> None:
        """Has the name and the globals of the function."""

    named_like = FunctionType(stands_for.__code__, vars(module(place)), code.co_name)
    named_like.__qualname__ = code.co_qualname
    return Rest(resume, symbol, root, named_like, code, codes)


# ---- objects ---------------------------------------------------------------------------------------------------------


def tensor(
    shape: tuple[int, ...], strides: tuple[int, ...], dtype: torch.dtype, device: str = "cpu", requires_grad: bool = False, recorded: bool = False
) -> torch.Tensor:
    """A tensor of this metadata; elements are 1, 0.5, 0.25, ... or 0 and 1.  With `recorded` autograd made it of another."""
    made = torch.empty_strided(shape, strides, dtype=dtype, device=device)
    span = made.untyped_storage().nbytes() // max(made.element_size(), 1)
    memory = torch.arange(span, device=device)
    values = 0.5 ** (memory % 8) if dtype.is_floating_point or dtype.is_complex else memory % 2
    made.as_strided((span,), (1,)).copy_(values)
    if recorded:
        return made.requires_grad_(True).view_as(made)
    return made.requires_grad_(requires_grad)


def parameter(shape: tuple[int, ...], strides: tuple[int, ...], dtype: torch.dtype, device: str = "cpu", requires_grad: bool = True) -> torch.nn.Parameter:
    """A parameter of this metadata."""
    return torch.nn.Parameter(tensor(shape, strides, dtype, device), requires_grad)


def instance(kind: Any) -> Any:
    """An object of a class, without its `__init__`."""
    return kind if isinstance(kind, Missing) else kind.__new__(kind)


def reduced(make: Any, args: tuple[Any, ...], state: Any) -> Any:
    """An object of C, made by what its class names for that, with its state."""
    made = make(*args)
    if state is not None and not isinstance(made, Missing):
        made.__setstate__(state)
    return made


def fill(made: Any, state: Mapping[str, Any], items: Any = ()) -> None:
    """Give an object its attributes, and a list or dict its items."""
    if isinstance(made, Missing):
        return
    own, slots = getattr(made, "__dict__", None), slots_of(type(made))
    for name, value in state.items():
        if own is None or name in slots or (isinstance(made, BaseException) and hasattr(BaseException, name)):
            object.__setattr__(made, name, value)
        else:
            own[name] = value
    if isinstance(made, dict):
        dict.update(made, items)
    elif isinstance(made, list):
        list.extend(made, items)


# ---- the call --------------------------------------------------------------------------------------------------------


def main(call: Any, args: tuple[Any, ...], kwargs: dict[str, Any], options: Mapping[str, Any]) -> int:
    """Compile and make the call, and print the internal errors of lect: the exit status is 1 when there are any, 0 when there are none."""
    try:
        events = follow_rest(call, args, options) if isinstance(call, Rest) else make_call(call, args, kwargs, options)
    except LectError as error:
        print(error, file=sys.stderr)
        return 2
    for event in events:
        print(event)
    if not events:
        print("lect does not fail for this call")
    return 1 if events else 0


def make_call(call: Any, args: tuple[Any, ...], kwargs: dict[str, Any], options: Mapping[str, Any]) -> list[Any]:
    """The internal errors of a call.  What the program itself raises is no matter here."""
    from lect.runtime import entry

    found: list[Any] = []
    stop = entry.RUNTIME.log.listen(found.append)
    try:
        entry.compile(call, options=dict(options))(*args, **kwargs)
    except Exception as error:
        print(f"the call raises {type(error).__name__}: {error}")
    finally:
        stop()
    return [event for event in found if getattr(event, "number", "") == "LB0020"]


def follow_rest(call: Rest, args: tuple[Any, ...], options: Mapping[str, Any]) -> list[Any]:
    """The internal errors in following the rest of a function."""
    from lect.frontends.capture.interpreter import CodeTable
    from lect.runtime.pipeline import compile_call

    made = compile_call(call, args, {}, CodeTable(), options, lambda stage, op: None)
    return [event for event in (made.fallback, made.note) if event is not None and event.number == "LB0020"]
