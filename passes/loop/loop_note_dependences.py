"""Write on each nest where it reads what other operations make: the dependence analysis that fusion relies on, for a person to read.

    %1 = loop.nest @n1(%0, %s) {space = <d0: 8, d1: 64>}   =>   {.., depends = [#loop.depends<@n0 by "result 0 at (d0, 63 - d1)">,
      load %0 at (d0 * 64 - d1 + 63)  load %s at (d0)                          #loop.depends<@n0 by "result 1 at (d0), which folds [d1]">]}

For each buffer that a nest loads there is one entry for each different place: the operation that makes it, the number of the result, and the point of
the maker's space that wrote the element, as expressions over the reader's dims ("own point" where the two spaces are one and the point is the same).
Where no one point can be named the entry says why: the maker is a library call, the index was loaded from memory, or the maker does not
write its elements in order.  The attribute is for reading: no pass looks at it, and fusion leaves it behind.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from lect.dialects.loop.attributes import DependsAttr
from lect.dialects.loop.ops import LoadOp, NestOp
from lect.ir import Context, Operation
from lect.ir.index_map import delinearize, linearize
from lect.passes.base import Pass
from lect.passes.loop.forms import FORMS
from lect.passes.loop.nests import functions, own_point


@dataclass(frozen=True)
class LoopNoteDependences(Pass):
    """Set `depends` on every nest that reads what another operation makes."""

    name: ClassVar[str] = "loop-note-dependences"
    keeps: ClassVar[tuple[str, ...]] = (FORMS,)

    def run(self, op: Operation, ctx: Context) -> None:
        for func in functions(op):
            for nest in [inner for inner in func.body if isinstance(inner, NestOp)]:
                found: dict[DependsAttr, None] = {}
                for load in nest.loads:
                    maker = load.buffer.owner
                    if isinstance(maker, Operation):
                        found[DependsAttr(maker.symbol or maker.name, f"result {load.buffer.index} {place(load, maker, nest)}")] = None
                nest.depends = tuple(found)
                ctx.count("dependences", len(found))


def place(load: LoadOp, maker: Operation, nest: NestOp) -> str:
    """Where a load reads what `maker` wrote, in words."""
    under = " under a mask" if load.masks else ""
    if not isinstance(maker, NestOp):
        return f"of a library call{under}"
    if load.indices:
        return f"at loaded indices{under}"
    store = next((store for store in maker.stores if store.to == load.buffer.index), None)
    if store is None or store.name != "loop.store":
        return f"as an update left it{under}"
    folded = list(maker.reduced)
    folds = f", which folds [{', '.join(f'd{k}' for k in folded)}]" if folded else ""
    sizes = maker.space.sizes
    written, read = store.map.offset, load.map.offset
    if written is own_point(maker):
        over = list(range(len(sizes)))
    else:
        over = [k for k in range(len(sizes)) if k not in folded]
        dims = maker.space.dims
        if written is not linearize([dims[k] for k in over], tuple([sizes[k] for k in over])):
            return f"at ({read}) of memory that is not written in order{folds}{under}"
    if sizes == nest.space.sizes and written is read:
        return f"at its own point{folds}{under}"
    point = delinearize(read, tuple([sizes[k] for k in over]), nest.space.ranges)
    return f"at ({', '.join(map(str, point))}){folds}{under}"
