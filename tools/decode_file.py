"""`--decode FILE.py:FUNCTION`: compile a Python file and show the frame of one of its functions as IR, without running anything.

FUNCTION is a qualified name; the `<locals>` in it may be left out (`outer.inner`), and `<module>` is the file itself.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from types import CodeType

from lect.ir import Context, LectError, Location, Operation


def decode_file(target: str, ctx: Context) -> Operation:
    """The module with the `pyframe.func` of the function and those nested in it.  Raises `LectError`."""
    from lect.frontends.bytecode import decode

    path, _, name = target.rpartition(":")
    if not path or not name:
        raise LectError(f"--decode takes FILE.py:FUNCTION, got '{target}'")
    found = [code for code in code_objects(compile_file(path)) if name in (code.co_qualname, code.co_qualname.replace("<locals>.", ""))]
    if not found:
        raise LectError(f"there is no function '{name}'", Location(path, 1, 0))
    return decode(found[0], ctx, skip_unsupported=True)


def compile_file(path: str) -> CodeType:
    """The code object of a Python file.  Raises `LectError`."""
    try:
        return compile(Path(path).read_bytes(), path, "exec", dont_inherit=True)
    except OSError as error:
        raise LectError(f"cannot read '{path}': {error.strerror}") from None
    except SyntaxError as error:
        place = Location(path, error.lineno or 1, max((error.offset or 1) - 1, 0))
        raise LectError(f"the file is not Python: {error.msg}", place) from None
    except ValueError as error:
        raise LectError(f"the file is not Python: {error}", Location(path, 1, 0)) from None


def code_objects(code: CodeType) -> Iterator[CodeType]:
    """A code object and all nested in it."""
    yield code
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            yield from code_objects(constant)
