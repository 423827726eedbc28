"""Sizes that are known only at run time, as Python: `s0 * 8`, `(s1 + 31) // 32`."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from lect.ir import LectError
from lect.ir.symbolic import Atom, Expr, Size


def size_source(size: Size, names: Mapping[int, str]) -> str:
    """A size as a Python expression; `names` are the variables of its symbols.  Raises `LectError` for a symbol without one."""
    if not isinstance(size, Expr):
        return str(size)
    terms = [" * ".join([*[_atom(atom, names) for atom in atoms], *([str(factor)] if factor != 1 else [])]) for atoms, factor in size.terms]
    if size.const or not terms:
        terms.append(str(size.const))
    return " + ".join(terms)


def tuple_source(sizes: Iterable[Size], names: Mapping[int, str]) -> str:
    """Sizes as a Python tuple."""
    sizes = tuple(sizes)
    if all(isinstance(size, int) for size in sizes):
        return repr(sizes)
    return f"({', '.join([size_source(size, names) for size in sizes])}{',' if len(sizes) == 1 else ''})"


def _atom(atom: Atom, names: Mapping[int, str]) -> str:
    if atom.kind == "s":
        if atom.index not in names:
            raise LectError(f"the program does not say what the size {atom} is")
        return names[atom.index]
    parts = [size_source(argument, names) for argument in atom.args]
    if atom.kind in ("min", "max"):
        return f"{atom.kind}({', '.join(parts)})"
    return f"(({parts[0]}) {'//' if atom.kind == 'floordiv' else '%'} ({parts[1]}))"
