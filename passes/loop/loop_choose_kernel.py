"""Choose for each matrix product between the library and a nest of our own, and write down why.

    %0 = loop.extern @e0(%x, %w) {callee = @aten.mm.default, ..}
        =>   %0 = loop.nest @e0(%x, %w) {chosen = "own: 8.1 us against 12.0 us of the library", ..} { sum of load %x * load %w }

Both are predicted from the target.  The library computes at `library_rate` of what the processor can, each call costs `call_ns`, and pointwise work
behind it reads its result again.  A nest computes at `own_rate`; pointwise work behind it, which is launched anyway, joins it (`loop-fuse-vertical`
does that), else its launch costs `launch_ns`; and the second matrix may have to be copied into panels first.  So small products with something behind
them, batches of tiny ones and products whose result is large beside the length of their sums become nests; others stay calls.
The `own_rate` holds for sums of at most `longest_sum` products, which are added one after another as the library's are; the error grows with their number.
Products of halves and those with factors stay with the library.

On a GPU products of halves are looked at, and convolutions that are products: see `gpu_products`.
A record of tuning decides instead of the prediction, where there is one for the product and a nest would do.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

from lect.dialects.loop.ops import ExternOp, FuncOp, NestOp
from lect.ir import Context, Operation
from lect.passes.base import Pass, option
from lect.passes.loop.forms import FORMS, Forms, forms_of
from lect.passes.loop.gpu_products import CONVOLUTION, OWN, TileProduct
from lect.passes.loop.nests import functions, readers, reduced
from lect.passes.loop.products import CALLS, Product, ProductNests
from lect.passes.targets import is_gpu
from lect.passes.tuning import records_of

VECTOR_BYTES = 32
L1_BYTES = 32 << 10
L2_BYTES = 512 << 10
RECORD = "as a record of tuning says"
ROWS = 4  # fewer rows do not fill the pipeline of the processor


@dataclass(frozen=True)
class LoopChooseKernel(Pass):
    """Replace matrix products by nests where a nest is faster."""

    name: ClassVar[str] = "loop-choose-kernel"
    keeps: ClassVar[tuple[str, ...]] = (FORMS,)
    call_ns: int = option(3500, "what a library call costs beside its work, in nanoseconds")
    matrix_ns: int = option(300, "what each further matrix of a batch costs the library, in nanoseconds")
    launch_ns: int = option(3500, "what a launch costs with the memory of its result, in nanoseconds")
    program_ns: int = option(10, "what each program of a nest costs beside its work, in nanoseconds")
    library_rate: int = option(88, "speed of the library's products, in percent of the processor's")
    own_rate: int = option(80, "speed of nests, in percent of the processor's")
    operations_per_ns: int = option(12, "operations in a nanosecond for each lane of a vector register, at full speed")
    near_bytes_per_ns: int = option(32, "bytes that are read or written in a nanosecond in the second cache")
    far_bytes_per_ns: int = option(14, "the same beyond it")
    own_margin: int = option(5, "by how much a nest must be faster, in percent")
    gpu_library_rate: int = option(700, "operations of the library's products of halves on a GPU, in teraflops")
    gpu_own_rate: int = option(450, "operations of products by tiles, in teraflops")
    gpu_launch_ns: int = option(3000, "what a launch on a GPU costs beside its work, in nanoseconds")
    longest_sum: int = option(512, "longest sum that a nest adds up")

    def run(self, op: Operation, ctx: Context) -> None:
        if is_gpu(ctx.target):
            for func in functions(op):
                self._choose_tiles(func, ctx)
            return
        if not ctx.target.get("fma"):
            return
        records = records_of(ctx)
        for func in functions(op):
            for call in [inner for inner in func.body if isinstance(inner, ExternOp) and inner.callee.leaf in CALLS]:
                product = Product.of(call)
                if product is None:
                    continue
                if product.is_symbolic:
                    call.chosen = "library: its sizes are known only at run time"
                    ctx.count("products by the library")
                    continue
                choice = Choice(self, product, ctx.target, forms_of(ctx))
                told = records.product(call) if records is not None else None
                choice.hear(None if told is None else told["product"])
                if choice.own:
                    choice.replace(func)
                    ctx.count("products by nests")
                else:
                    call.chosen = choice.reason
                    ctx.count("products by the library")

    def choices(self, op: ExternOp, ctx: Context) -> list[dict[str, Any]]:
        """What a record may say of a library call, if that is a product which nests could do as well, so that time alone decides; else nothing."""
        both: list[dict[str, Any]] = [{"product": "library"}, {"product": "own"}]
        if is_gpu(ctx.target):
            tiles = TileProduct.of(op) if op.callee.leaf in CALLS or op.callee.leaf == CONVOLUTION else None
            if tiles is None or tiles.refusal():
                return []
            return both + [{"product": "own", "parts": parts} for parts in tiles.parts(int(ctx.target["processors"]))]
        product = Product.of(op) if op.callee.leaf in CALLS and ctx.target.get("fma") else None
        may = product is not None and not product.is_symbolic and not Choice(self, product, ctx.target, forms_of(ctx)).refusal
        return both if may else []

    def _choose_tiles(self, func: FuncOp, ctx: Context) -> None:
        """The choice on a GPU."""
        records = records_of(ctx)
        for call in [inner for inner in func.body if isinstance(inner, ExternOp) and (inner.callee.leaf in CALLS or inner.callee.leaf == CONVOLUTION)]:
            product = TileProduct.of(call)
            if product is None:
                continue
            parts, reason = product.parts_are_faster(self, ctx.target)
            own = parts > 1
            if not own:
                own, reason = product.is_faster(self, ctx.target)
            told = records.product(call) if records is not None and not product.refusal() else None
            if told is not None:
                own = told["product"] == "own"
                reason = f"{OWN if own else 'library'}: {RECORD}"
                parts = int(told.get("parts", 1))
            ctx.count("products by nests" if own else "products by the library")
            if not own:
                call.chosen = reason
                continue
            assert call.parent is not None
            if parts in product.parts():
                for nest in product.nests_of_parts(parts, "a product", reason):
                    made = call.parent.insert_before(call, nest)
            else:
                made = call.parent.insert_before(call, product.nest("a product", reason))
            made.results[0].hint = call.results[0].hint
            call.replace(made.results)


class Choice:
    """The prediction for one product, in nanoseconds; `reason` says it in words."""

    def __init__(self, options: LoopChooseKernel, product: Product, target: Mapping[str, Any], forms: Forms) -> None:
        self.options = options
        self.product = product
        self.forms = forms
        self.l2_bytes = int(target.get("l2_bytes", L2_BYTES))
        width = int(target.get("vector_bytes", VECTOR_BYTES)) // product.element_bytes
        self.lanes = min(2 * width, 1 << (product.columns.bit_length() - 1))
        self.panels = product.needs_panels(self.lanes, int(target.get("l1_bytes", L1_BYTES)))
        self.peak = options.operations_per_ns * width / 100
        self.library = self._library()
        self.nest = self._nest()
        self.refusal = self._refusal(width)
        self.own = not self.refusal and self.nest * (100 + options.own_margin) < self.library * 100
        self.told = False

    def hear(self, told: str | None) -> None:
        """What a record of tuning says, "library" or "own", decides where a nest would do."""
        if told is not None and not self.refusal:
            self.own, self.told = told == "own", True

    def _refusal(self, width: int) -> str:
        product = self.product
        if product.inner > self.options.longest_sum:
            return f"sums of {product.inner} products are longer than {self.options.longest_sum}"
        if product.columns < width:
            return f"{product.columns} columns do not fill a vector register"
        if self.panels and product.columns % self.lanes:
            return f"{product.columns} columns are no whole panels of {self.lanes}"
        if product.inner * product.columns * product.element_bytes > self.l2_bytes:
            return f"the second matrix is larger than the {self.l2_bytes} bytes of the second cache"
        return ""

    def _moved(self, count: int) -> float:
        """Time to write and read `count` elements once each."""
        size = count * self.product.element_bytes
        return 2 * size / (self.options.near_bytes_per_ns if size <= self.l2_bytes else self.options.far_bytes_per_ns)

    def _library(self) -> float:
        options, product = self.options, self.product
        calls = options.call_ns + (product.batch - 1) * options.matrix_ns
        again = self._moved(product.batch * product.rows * product.columns) if self.followed() else 0
        return calls + again + product.operations / (options.library_rate * self.peak)

    def _nest(self) -> float:
        options, product = self.options, self.product
        launches = (not self.followed()) + self.panels
        copied = self._moved(product.batch * product.inner * product.columns) if self.panels else 0
        programs = product.batch * -(-product.rows // ROWS) * -(-product.columns // self.lanes)
        rate = options.own_rate * min(product.rows, ROWS) / ROWS
        return launches * options.launch_ns + programs * options.program_ns + copied + product.operations / (rate * self.peak)

    def followed(self) -> bool:
        """Whether a nest without reductions is all that reads the product, so that it can be joined with it."""
        users = readers(self.product.op.results[0])
        return len(users) == 1 and isinstance(users[0], NestOp) and not self.forms.ask(users[0], reduced)

    @property
    def reason(self) -> str:
        """`own: 8.1 us against 12.0 us of the library`."""
        if self.refusal:
            return f"library: {self.refusal}"
        if self.told:
            return f"{'own' if self.own else 'library'}: {RECORD}"
        own, library = f"{self.nest / 1000:.1f} us", f"{self.library / 1000:.1f} us"
        return f"own: {own} against {library} of the library" if self.own else f"library: {library} against {own} of a nest"

    def replace(self, func: FuncOp) -> None:
        """Put the nests where the call stands."""
        call = self.product.op
        taken = {op.sym_name for op in func.body if isinstance(op, (NestOp, ExternOp))}
        nests = ProductNests(self.product, self.lanes, lambda wanted: _free_name(wanted, taken))
        assert call.parent is not None
        panels = None
        if self.panels:
            panels = call.parent.insert_before(call, nests.panels()).results[0]
        users = readers(call.results[0])
        made = call.parent.insert_before(call, nests.product_nest(panels, _why_stored(users), self.reason))
        made.results[0].hint = call.results[0].hint
        call.replace(made.results)


def _why_stored(users: list[Operation]) -> str:
    for user in users:
        if isinstance(user, ExternOp):
            return f"operand of {user.callee.leaf}"
        if user.name == "loop.return":
            return "graph output"
    return "a product"


def _free_name(wanted: str, taken: set[str]) -> str:
    name, number = wanted, 1
    while name in taken:
        name, number = f"{wanted}_{number}", number + 1
    taken.add(name)
    return name
