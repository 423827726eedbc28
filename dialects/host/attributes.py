"""The marker for an operand inside the written-out arguments of a library call."""

from __future__ import annotations

from lect.ir import Attribute, Scanner, attr


@attr("host.operand")
class OperandRef(Attribute):
    """Stands in `args` or `kwargs` of a call for the operand with this number."""

    number: int

    def print_body(self) -> str:
        return str(self.number)

    @classmethod
    def parse_body(cls, scanner: Scanner | None) -> OperandRef:
        if scanner is None:
            raise ValueError("the number is missing")
        return cls(scanner.integer())
