"""A loop that applies one function of the library to arrays: the plainest caller, for tests, benchmarks and trying a function out."""

from __future__ import annotations

from .library import name, signature


def scalar_of(type_text: str) -> str:
    """`float` of `<16 x float>`, and of `float`."""
    return type_text.rsplit(" ", 1)[-1].rstrip(">")


def array_loop(op: str, element: str, lanes: int, symbol: str) -> str:
    """LLVM IR of `void symbol(operand pointers..., result pointer, i64 count)`; count is a positive multiple of `lanes`.

    The text calls the function by name; the module also needs `functions({(op, element)}, {lanes}, ...)`.
    """
    result, operands = signature(op, element, lanes)
    numbered = list(enumerate(operands))
    parameters = ", ".join(f"ptr %p{i}" for i, _ in numbered)
    lines = [
        f"define void @{symbol}({parameters}, ptr %out, i64 %count) {{",
        "entry:",
        "  br label %step",
        "step:",
        "  %i = phi i64 [ 0, %entry ], [ %next, %step ]",
    ]
    for i, operand in numbered:
        lines.append(f"  %at{i} = getelementptr {scalar_of(operand)}, ptr %p{i}, i64 %i")
        lines.append(f"  %x{i} = load {operand}, ptr %at{i}, align 1")
    arguments = ", ".join(f"{operand} %x{i}" for i, operand in numbered)
    lines += [
        f"  %y = call {result} {name(op, element, lanes)}({arguments})",
        f"  %to = getelementptr {scalar_of(result)}, ptr %out, i64 %i",
        f"  store {result} %y, ptr %to, align 1",
        f"  %next = add i64 %i, {lanes}",
        "  %more = icmp ult i64 %next, %count",
        "  br i1 %more, label %step, label %done",
        "done:",
        "  ret void",
        "}",
    ]
    return "\n".join(lines) + "\n"
