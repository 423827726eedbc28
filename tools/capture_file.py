"""`--capture FILE.py:FUNCTION`: load a Python file, find a function and arguments for it, and open its frame as IR.

The file is run as a module.  The arguments are what `FUNCTION_inputs()` returns, or else `inputs()`, or else none: a tuple or list of positional
arguments, a dictionary of keyword arguments, a pair of both, or one argument.
"""

from __future__ import annotations

import importlib
import inspect
import sys
from importlib.machinery import SourceFileLoader
from pathlib import Path
from types import ModuleType
from typing import Any

from lect.ir import Context, LectError, Location, Operation

OPEN_FRAME = "lect.frontends.capture.api"


def capture_file(target: str, ctx: Context) -> Operation:
    """The module with the `pyframe.func` of the function; its live frame is in `ctx.resources`.  Raises `LectError`."""
    path, _, name = target.rpartition(":")
    if not path or not name:
        raise LectError(f"--capture takes FILE.py:FUNCTION, got '{target}'")
    module = load_file(Path(path))
    function = find(module, name, path)
    args, kwargs = inputs_of(module, name, path)
    api = importlib.import_module(OPEN_FRAME)
    if not isinstance(function, api.Rest):
        check_inputs(function, name, args, kwargs)
    return api.open_frame(function, args, kwargs, ctx)


def load_file(path: Path) -> ModuleType:
    """Run a Python file as a module; files beside it can be imported meanwhile.  Raises `LectError` when that fails."""
    if not path.is_file():
        raise LectError(f"cannot read '{path}': no such file")
    loader = SourceFileLoader(path.stem, str(path))  # with the path as given, which is what locations then show
    module = ModuleType(path.stem)
    module.__file__, module.__loader__ = str(path), loader
    shadowed = sys.modules.get(path.stem)
    sys.modules[path.stem] = module
    sys.path.insert(0, str(path.parent))
    try:
        loader.exec_module(module)
    except Exception as error:
        raise LectError(f"running the file failed with {type(error).__name__}: {error}", failing_line(error, path)) from error
    finally:
        sys.path.remove(str(path.parent))
        if shadowed is not None and getattr(shadowed, "__file__", None) != str(path):  # a file captured again replaces what it gave before
            sys.modules[path.stem] = shadowed
    return module


def failing_line(error: Exception, path: Path) -> Location:
    """The last place in `path` that the error came through."""
    if isinstance(error, SyntaxError) and error.filename == str(path):
        return Location(str(path), error.lineno or 1, max((error.offset or 1) - 1, 0))
    line, trace = 1, error.__traceback__
    while trace is not None:
        if trace.tb_frame.f_code.co_filename == str(path):
            line = trace.tb_lineno
        trace = trace.tb_next
    return Location(str(path), line)


def find(module: ModuleType, name: str, path: str) -> Any:
    """The callable `name`, dots allowed, of a module.  Raises `LectError` that names what there is."""
    found: Any = module
    for part in name.split("."):
        if not hasattr(found, part):
            there = sorted(key for key, value in vars(module).items() if callable(value) and not key.startswith("_"))
            raise LectError(f"'{path}' has no function '{name}'; it has {', '.join(there) or 'none'}")
        found = getattr(found, part)
    if not callable(found) and not isinstance(found, importlib.import_module(OPEN_FRAME).Rest):
        raise LectError(f"'{name}' of '{path}' is no function but {type(found).__name__}")
    return found


def check_inputs(function: Any, name: str, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
    """Raise `LectError` when a call with these inputs would not even start."""
    try:
        signature = inspect.signature(function)
    except (TypeError, ValueError):
        return  # a callable that does not tell its parameters
    try:
        signature.bind(*args, **kwargs)
    except TypeError as error:
        raise LectError(f"the inputs do not fit {name}{signature}: {error}") from None


def inputs_of(module: ModuleType, name: str, path: str) -> tuple[tuple[Any, ...], dict[str, Any]]:
    """Positional and keyword arguments for the function."""
    maker = getattr(module, f"{name.replace('.', '_')}_inputs", None) or getattr(module, "inputs", None)
    if maker is None:
        return (), {}
    try:
        made = maker()
    except Exception as error:
        raise LectError(f"{maker.__name__}() failed with {type(error).__name__}: {error}", failing_line(error, Path(path))) from error
    if isinstance(made, dict):
        return (), made
    if isinstance(made, tuple) and len(made) == 2 and isinstance(made[0], tuple) and isinstance(made[1], dict):
        return made
    return (tuple(made) if isinstance(made, (tuple, list)) else (made,)), {}
