"""The upper levels of the cache: a captured graph that was lowered before, in this process or another, is not lowered again.

A new process traces its functions, which takes milliseconds and decides the key; with the entry of that key it has the host program as text, and the
object code of the kernels.  Neither passes nor the code generator run.  Backwards have entries of their own, made when the first of them is asked for.

An entry of the level `graph` holds

    host.mlir        the host function
    kernels.mlir     for a GPU, the kernels: read where memory lies otherwise than their machine code was made for, and where they have sizes as parameters
    facts.json       what the runtime knows beside the text: which entries of the level `kernel` have the machine code, for a GPU how each kernel is started,
                     what autograd is told, which records of tuning were asked for and what they said

What cannot be read back is removed and made again.
"""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache, cached_property
from typing import Any

from lect.dialects import make_context
from lect.ir import Context, LectError, Operation, parse_module, print_op
from lect.passes.tuning import TUNING
from lect.runtime.cache_keys import graph_key
from lect.runtime.events import CacheLookup, EventLog
from lect.runtime.store import Damaged, Entry, Store, digest_of
from lect.runtime.stored_sizes import size_from_json, size_to_json
from lect.runtime.tuning_records import UNTUNED

KERNELS = "kernels.mlir"
COUNTED = ("random calls", "random operators seeded")  # statistics of the passes that the runtime reads


@dataclass
class GraphCache:
    """The store of a runtime, and the log that is told of each look into it."""

    store: Store
    log: EventLog

    def place_of(self, name: str, graph: Operation, guards: Operation | None, ctx: Context) -> Place | None:
        """Where the lowered graph of function `name` lies, whether it is there or not; None when it has no place."""
        key = graph_key(graph, guards, ctx)
        return None if key is None else Place(self, name, key)

    def tell(self, place: Place, level: str, found: bool, seconds: float) -> None:
        """The event of a look."""
        self.log.add(CacheLookup(place.name, level, place.digest, found, seconds))


@dataclass(frozen=True)
class Restored:
    """A lowered graph out of the cache: its module, its kernels (None where they are in the module), and the facts beside it."""

    module: Operation
    code: Any
    facts: dict[str, Any]


@dataclass
class Place:
    """The key of one lowered graph in a cache."""

    cache: GraphCache
    name: str
    key: str
    objects: Objects = field(init=False)

    def __post_init__(self) -> None:
        self.objects = Objects(self.cache.store)

    @cached_property
    def digest(self) -> str:
        """The name of the entry."""
        return digest_of(self.key)

    def beside(self, line: str) -> Place:
        """The place of something that is made of the same graph, such as one of its backwards."""
        return Place(self.cache, self.name, f"{line}\n{self.key}")

    def restore(self, ctx: Context, use: Callable[[Restored], Any]) -> Any:
        """`use` of what lies here, or None when nothing does.  An entry that `use` can do nothing with counts as damaged."""
        start = time.perf_counter()
        store, made = self.cache.store, None
        entry = store.get("graph", self.digest)
        if entry is not None:
            try:
                made = use(self._read(entry, ctx))
            except _Gone:
                pass
            except (Damaged, LectError, LookupError, TypeError, ValueError, AttributeError) as error:
                store.report(f"removed the entry graph/{self.digest[:12]}, which cannot be used: {type(error).__name__}: {error}")
                store.remove("graph", self.digest)
        self.cache.tell(self, "graph", made is not None, time.perf_counter() - start)
        return made

    def _read(self, entry: Entry, ctx: Context) -> Restored:
        facts, records = entry.facts(), ctx.resources.get(TUNING)
        if not (records.still(facts["tuning"]) if records is not None else not any((facts["tuning"] or {}).values())):
            raise _Gone
        text = entry.text("host.mlir")
        named = None if facts["named"] is None else self._named(entry, facts["named"], ctx)
        if named is None and facts["object"] is None:
            text = "\n\n".join([text, *([entry.text(KERNELS)] if KERNELS in entry.parts else [])])
        module = parse_module(text, ctx, "host.mlir")
        ctx.statistics.update({name: int(number) for name, number in facts["statistics"].items()})
        ctx.resources["code_store"] = self.objects  # also for what all programs share, which runs kernels and host programs
        if facts["object"] is None:  # for a GPU, or without kernels
            return Restored(module, named, facts)
        from lect.backends.llvm.jit import load_object
        from lect.backends.llvm.loaded import CompiledKernels

        found = self.cache.store.get("kernel", facts["object"])
        if found is None:
            raise _Gone
        grids = {name: size_from_json(programs) for name, programs in facts["kernels"].items()}
        return Restored(module, CompiledKernels(grids, load_object(found.parts["code.o"])), facts)

    def _named(self, entry: Entry, told: Mapping[str, Any], ctx: Context) -> Any:
        """The kernels for a GPU by the names of their machine code.  Their text is parsed at once by who asks for other code of theirs."""
        from lect.backends.triton.compile import find_kernels, kernel_table
        from lect.backends.triton.named import KernelFacts, named_kernels

        text, target = entry.parts[KERNELS], dict(ctx.target)

        @cache
        def others() -> Mapping[str, Any]:
            own = make_context()
            own.target.update(target)
            own.resources["code_store"] = self.objects
            return find_kernels(list(parse_module(text.decode(), own, KERNELS).body), own, kernel_table())

        facts = {symbol: KernelFacts(*each) for symbol, each in told.items()}
        found = named_kernels(facts, self.objects, others)
        if found is None:
            raise _Gone
        return found

    def keep(self, module: Operation, ctx: Context, facts: dict[str, Any], compiled: Any) -> None:
        """Write a lowered module here, with further facts for who restores it; `compiled` are its kernels."""
        if ctx.resources.get(UNTUNED):
            return
        kernels = [op for op in module.body if op.name == "kernel.func"]
        on_gpu = any(op.attrs.get("target") == "cuda" for op in kernels)
        digest = None if on_gpu else self.objects.last
        if kernels and digest is None and not on_gpu:
            return  # the object code could not be kept
        named = self._facts_of(compiled) if on_gpu else None
        records = ctx.resources.get(TUNING)
        told = {
            "object": digest,
            "named": named,
            "kernels": {str(op.attrs["sym_name"]): size_to_json(op.programs) for op in kernels},  # type: ignore[attr-defined]
            "tuning": None if records is None else records.consulted,
            "statistics": {name: ctx.statistics[name] for name in COUNTED if name in ctx.statistics},
            **facts,
        }
        parts = {"host.mlir": _text([op for op in module.body if op.name == "host.func"])}
        if on_gpu:
            parts[KERNELS] = _text(kernels)
        self.cache.store.put(Entry("graph", self.key, {**parts, "facts.json": json.dumps(told).encode()}))

    def _facts_of(self, compiled: Any) -> Mapping[str, Any] | None:
        from lect.backends.triton.named import facts_of_kernels

        return facts_of_kernels(compiled, self.objects)


def _text(ops: Sequence[Operation]) -> bytes:
    return ("\n\n".join([print_op(op)[0] for op in ops]) + "\n").encode()


class _Gone(Exception):
    """The object code of an entry is not in the store any more, or records of tuning say something else now."""


@dataclass
class Objects:
    """The level `kernel` for one compile: `last` is the entry whose object code was found or kept last."""

    store: Store
    last: str | None = None

    def find(self, key: str) -> bytes | None:
        """The object code that was kept under this key, or None."""
        digest = digest_of(key)
        entry = self.store.get("kernel", digest)
        if entry is None or "code.o" not in entry.parts:
            return None
        self.last = digest
        return entry.parts["code.o"]

    def name_of(self, key: str) -> str:
        """The name of what is kept under this key."""
        return digest_of(key)

    def named(self, name: str) -> bytes | None:
        """The object code of this name, or None."""
        entry = self.store.get("kernel", name)
        return None if entry is None else entry.parts.get("code.o")

    def keep(self, key: str, code: bytes) -> None:
        """Keep object code; nothing happens when that is not possible."""
        entry = Entry("kernel", key, {"code.o": code})
        if self.store.put(entry):
            self.last = entry.digest
