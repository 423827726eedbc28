"""Lower graphs at loop level to kernels and the program that launches them.

    loop.func @f(%x: !loop.buffer<8x64xf32>) {        kernel.func @n0(%x: !kernel.ptr<f32>, %y: !kernel.ptr<f32>) {grid = [8], ...} {
      %y = loop.nest @n0(%x) {...}                      %0 = kernel.program_id() ...
      loop.return(%y)                             =>  }
    }                                                 host.func @f(%x: !host.tensor<8x64xf32>) {
                                                        %y = host.empty() : !host.tensor<8x64xf32>
                                                        host.launch(...) {kernel = @n0, grid = 8}
                                                        host.return(%y)
                                                      }

Each nest is cut as its `tiles` attribute says; a nest without one gets the decision of `kernel-choose-tiles`.  `warps` and `stages` of a nest become those
of its kernel on a GPU.  Nests whose kernels are equal but
for the name share one.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

from lect.dialects.kernel.attributes import TileAxis, TilesAttr
from lect.dialects.kernel.ops import FuncOp
from lect.dialects.loop import ops as loop
from lect.ir import Context, Operation, PassFailure, SymbolTable, print_op
from lect.passes.base import Pass
from lect.passes.convert.loop_to_kernel_host import HostProgram
from lect.passes.convert.loop_to_kernel_sweeps import lower_nest
from lect.passes.kernel.kernel_choose_tiles import choose_tiles
from lect.passes.loop.forms import Forms, forms_of
from lect.passes.targets import is_gpu
from lect.passes.tuning import DECISIONS

LONG_STEP = 4096  # elements of a step along rows that no tile takes whole


@dataclass(frozen=True)
class LoopToKernel(Pass):
    """Replace every `loop.func` by one `kernel.func` for each different nest and one `host.func` of the same name."""

    name: ClassVar[str] = "loop-to-kernel"

    def run(self, op: Operation, ctx: Context) -> None:
        symbols = SymbolTable(op)
        for func in [inner for inner in op.body if isinstance(inner, loop.FuncOp)]:
            self._lower(func, symbols, ctx)

    def _lower(self, func: loop.FuncOp, symbols: SymbolTable, ctx: Context) -> None:
        program = HostProgram(func)
        shared: dict[Any, FuncOp] = {}
        forms = forms_of(ctx)
        for inner in func.body:
            if isinstance(inner, loop.NestOp):
                kernel = self._kernel(inner, shared, forms, symbols, func, ctx)
                program.launch(inner, kernel, forms.ask(inner, updated))
            elif isinstance(inner, loop.ExternOp):
                program.extern(inner)
            elif isinstance(inner, loop.WriteOp):
                program.write(inner)
            elif isinstance(inner, loop.ReturnOp):
                made = program.finish(inner)
        symbols.symbols.pop(func.sym_name, None)
        symbols.insert(made, before=func)
        func.detach()

    def _kernel(self, nest: loop.NestOp, shared: dict[Any, FuncOp], forms: Forms, symbols: SymbolTable, func: Operation, ctx: Context) -> FuncOp:
        """The kernel of a nest, or an equal one made before: of a nest of the same form, or one that has come out the same."""
        form = (forms.form(nest), *[nest.attrs.get(name) for name in DECISIONS], nest.in_place)
        if form in shared:
            ctx.count("kernels shared")
        else:
            shared[form] = self._new_kernel(nest, shared, symbols, func, ctx)
        return shared[form]

    def _new_kernel(self, nest: loop.NestOp, shared: dict[Any, FuncOp], symbols: SymbolTable, func: Operation, ctx: Context) -> FuncOp:
        tiles = nest.attrs.get("tiles") or choose_tiles(nest, ctx.target)
        longer = self._longer(nest, tiles, ctx)
        kernel = lower_nest(nest, tiles)
        if is_gpu(ctx.target):
            kernel.attrs["target"] = "cuda"
            kernel.attrs.update({name: nest.attrs[name] for name in ("warps", "stages") if name in nest.attrs})
        key = canonical_text(kernel)
        if key in shared:
            ctx.count("kernels shared")
            return shared[key]
        if longer is not None:
            longer.attrs["sym_name"] = f"{nest.sym_name}.longer"
            symbols.insert(longer, before=func)
            kernel.attrs["longer"] = longer.attrs["sym_name"]
        symbols.insert(kernel, before=func)
        ctx.count("kernels")
        shared[key] = kernel
        return kernel

    def _longer(self, nest: loop.NestOp, tiles: TilesAttr, ctx: Context) -> FuncOp | None:
        """The kernel for rows that no tile takes whole, beside one that takes rows whole whose length is known only at run time.

        Raises `PassFailure` unless it is for a GPU, where a launch takes a version whose block covers a row.
        """
        whole = [axis for axis in tiles.axes if axis.role == "whole" and type(nest.space.sizes[axis.dim]) is not int]
        if not whole:
            return None
        if not is_gpu(ctx.target):
            size = nest.space.sizes[whole[0].dim]
            raise PassFailure(f"axis {whole[0].name} of @{nest.sym_name} is taken whole, but its block does not cover {size}", op=nest)
        variant, step = ("long rows", LONG_STEP) if tiles.variant == "rows" else (tiles.variant, LONG_STEP // 4)
        kernel = lower_nest(nest, TilesAttr(variant, [TileAxis(axis.name, axis.dim, step, "loop") for axis in whole], whole[0].name))
        kernel.attrs["target"] = "cuda"
        return kernel


def updated(nest: loop.NestOp) -> list[tuple[int, int]]:
    """The results of a nest that are updated, and the inputs that they begin with."""
    return [(update.to, nest.inputs.index(update.base)) for update in nest.updates]


def canonical_text(kernel: FuncOp) -> str:
    """The text of a kernel without its name and the names of its parameters: equal for kernels that do the same."""
    hints = [value.hint for value in kernel.body.args]
    name = kernel.attrs["sym_name"]
    for value in kernel.body.args:
        value.hint = None
    kernel.attrs["sym_name"] = "kernel"
    text = print_op(kernel)[0]
    for value, hint in zip(kernel.body.args, hints):
        value.hint = hint
    kernel.attrs["sym_name"] = name
    return text
