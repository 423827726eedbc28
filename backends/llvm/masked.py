"""Masked accesses as LLVM functions: nothing is touched in the lanes where a mask is false, and a load gives zero there.

LLVM has intrinsics for these, but its code for them on processors without mask registers has been seen to read masked lanes, and is long for narrow
types.  Here masks that are all true or all false (most are, at the edges of padded tensors) take the direct way, others go lane by lane.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

from lect.backends.llvm.values import vector


class Masked(NamedTuple):
    """One function: `kind` is load, store, gather or scatter, or prefix_load or prefix_store; the first `live` of `width` lanes exist at all."""

    kind: str
    type: str
    width: int
    live: int

    @property
    def name(self) -> str:
        """Its LLVM name."""
        return f"@lect.masked.{self.kind}.{self.type}x{self.width}.{self.live}"

    @property
    def vector(self) -> str:
        """The type of the lanes."""
        return f"<{self.width} x {self.type}>"


def masked_functions(wanted: Iterable[Masked]) -> str:
    """The text of some functions."""
    return "\n".join([_function(each) for each in sorted(wanted)])


def _function(each: Masked) -> str:
    if each.kind in ("prefix_load", "prefix_store"):
        return _prefix(each)
    reads = each.kind in ("load", "gather")
    mask, flags = f"<{each.width} x i1>", f"<{each.width} x i8>"
    parameters = ["ptr %p"]
    parameters += [f"<{each.width} x i64> %offsets"] if each.kind in ("gather", "scatter") else []
    parameters += [f"{mask} %given"] if reads else [f"{mask} %given", f"{each.vector} %value"]
    live = vector("i1", [str(lane < each.live).lower() for lane in range(each.width)])
    nothing = f"ret {each.vector} zeroinitializer" if reads else "ret void"
    lines = [
        f"define internal {each.vector if reads else 'void'} {each.name}({', '.join(parameters)}) nounwind {{",
        "entry:",
        f"  %copy = alloca {each.vector}",
        f"  %flags = alloca {flags}",
        *([f"  %places = alloca <{each.width} x i64>"] if "offsets" in "".join(parameters) else []),
        f"  %mask = and {mask} %given, {live}",
        *(_whole(each, mask, live) if each.kind in ("load", "store") else ["  br label %ask"]),
        "ask:",
        f"  %some = call i1 @llvm.vector.reduce.or.v{each.width}i1({mask} %mask)",
        "  br i1 %some, label %lanes, label %none",
        "none:",
        f"  {nothing}",
        *_lane_by_lane(each, mask, flags, reads),
        "}",
    ]
    return "\n".join(lines) + "\n"


def _prefix(each: Masked) -> str:
    """The first lanes, as many as a count says, by way of a copy of the vector in memory."""
    reads = each.kind == "prefix_load"
    result, value = (each.vector, "") if reads else ("void", f", {each.vector} %value")
    source, target = ("%p", "%copy") if reads else ("%copy", "%p")
    lines = [
        f"define internal {result} {each.name}(ptr %p, i64 %count{value}) nounwind {{",
        f"  %copy = alloca {each.vector}",
        f"  store {each.vector} {'zeroinitializer' if reads else '%value'}, ptr %copy",
        f"  %most = call i64 @llvm.smin.i64(i64 %count, i64 {each.width})",
        f"  %bytes = mul i64 %most, {_alignment(each.type)}",
        f"  call void @llvm.memcpy.p0.p0.i64(ptr {target}, ptr {source}, i64 %bytes, i1 false)",
        *([f"  %result = load {each.vector}, ptr %copy", f"  ret {each.vector} %result"] if reads else ["  ret void"]),
        "}",
    ]
    return "\n".join(lines) + "\n"


def _whole(each: Masked, mask: str, live: str) -> list[str]:
    """All live lanes at once."""
    part = f"<{each.live} x {each.type}>"
    lanes = vector("i32", [min(lane, each.live) for lane in range(each.width)])
    lines = [
        f"  %same = icmp eq {mask} %mask, {live}",
        f"  %all = call i1 @llvm.vector.reduce.and.v{each.width}i1({mask} %same)",
        "  br i1 %all, label %whole, label %ask",
        "whole:",
    ]
    if each.kind == "load":
        return [
            *lines,
            f"  %loaded = load {part}, ptr %p, align {_alignment(each.type)}",
            f"  %wide = shufflevector {part} %loaded, {part} zeroinitializer, <{each.width} x i32> {lanes}",
            f"  ret {each.vector} %wide",
        ]
    lanes = vector("i32", range(each.live))
    return [
        *lines,
        f"  %narrow = shufflevector {each.vector} %value, {each.vector} poison, <{each.live} x i32> {lanes}",
        f"  store {part} %narrow, ptr %p, align {_alignment(each.type)}",
        "  ret void",
    ]


def _lane_by_lane(each: Masked, mask: str, flags: str, reads: bool) -> list[str]:
    """A loop over copies of the operands in memory."""
    offset = "%i"
    find: list[str] = []
    copies = [f"  %bytes = zext {mask} %mask to {flags}", f"  store {flags} %bytes, ptr %flags"]
    copies.append(f"  store {each.vector} {'zeroinitializer' if reads else '%value'}, ptr %copy")
    if each.kind in ("gather", "scatter"):
        copies.append(f"  store <{each.width} x i64> %offsets, ptr %places")
        find = ["  %place = getelementptr i64, ptr %places, i64 %i", "  %offset = load i64, ptr %place"]
        offset = "%offset"
    source, target = ("%there", "%here") if reads else ("%here", "%there")
    return [
        "lanes:",
        *copies,
        "  br label %lane",
        "lane:",
        "  %i = phi i64 [ 0, %lanes ], [ %next, %after ]",
        "  %flag = getelementptr i8, ptr %flags, i64 %i",
        "  %set = load i8, ptr %flag",
        "  %take = icmp ne i8 %set, 0",
        "  br i1 %take, label %touch, label %after",
        "touch:",
        *find,
        f"  %there = getelementptr {each.type}, ptr %p, i64 {offset}",
        f"  %here = getelementptr {each.type}, ptr %copy, i64 %i",
        f"  %moved = load {each.type}, ptr {source}, align {_alignment(each.type)}",
        f"  store {each.type} %moved, ptr {target}, align {_alignment(each.type)}",
        "  br label %after",
        "after:",
        "  %next = add i64 %i, 1",
        f"  %more = icmp ult i64 %next, {each.live}",
        "  br i1 %more, label %lane, label %exit",
        "exit:",
        *([f"  %result = load {each.vector}, ptr %copy", f"  ret {each.vector} %result"] if reads else ["  ret void"]),
    ]


def _alignment(type: str) -> int:
    return {"half": 2, "float": 4, "double": 8}.get(type) or int(type[1:]) // 8
