"""Writing the functions of the checker as LLVM IR text.

A check is a function `ptr name(ptr row, ptr flat)`: it gives the address of the next row when this one holds, else null.  `flat` holds the arguments
of the call and what rows have read from them.  An operand in a row is the address of an object, which is even, or 8n + 1 for `flat[n]`.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

WORD = 8
# Rows nearly always hold.  Told so, LLVM branches where it would else choose the address of the next row by what was compared, and the processor goes on
# with that row before it has read all of this one.
LIKELY = '!0 = !{!"branch_weights", i32 4000, i32 1}\n'


class Check:
    """One function under construction.  Values are names of LLVM registers, or constants as text."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.lines: list[str] = []
        self.block = "entry"
        self._names = 0

    def text(self) -> str:
        """The function."""
        head = f"define internal ptr @{self.name}(ptr %row, ptr %flat) alwaysinline {{"
        return "\n".join([head, "entry:", *self.lines, "fail:", "  ret ptr null", "}", ""])

    def emit(self, text: str) -> str:
        """Append an instruction that gives a value; the value."""
        self._names += 1
        self.lines.append(f"  %v{self._names} = {text}")
        return f"%v{self._names}"

    def line(self, text: str) -> None:
        """Append an instruction without a value."""
        self.lines.append(f"  {text}")

    def label(self, wish: str) -> str:
        """A label that is free."""
        self._names += 1
        return f"{wish}{self._names}"

    def start(self, label: str) -> None:
        """Begin a block."""
        self.lines.append(f"{label}:")
        self.block = label

    def jump(self, label: str) -> None:
        """End the block, begin block `label`."""
        self.line(f"br label %{label}")
        self.start(label)

    def branch(self, condition: str, true: str, false: str) -> None:
        """End the block with a choice."""
        self.line(f"br i1 {condition}, label %{true}, label %{false}")

    # ---- memory ------------------------------------------------------------------------------------------------------

    def at(self, base: str, offset: int | str) -> str:
        """The address `offset` bytes behind another."""
        return base if offset == 0 else self.emit(f"getelementptr i8, ptr {base}, i64 {offset}")

    def load(self, type: str, base: str, offset: int | str = 0) -> str:
        """What memory holds."""
        return self.emit(f"load {type}, ptr {self.at(base, offset)}")

    def store(self, type: str, value: str, base: str, offset: int | str = 0) -> None:
        """Write to memory."""
        self.line(f"store {type} {value}, ptr {self.at(base, offset)}")

    def word(self, number: int, type: str = "i64") -> str:
        """A word of the row; the first is the number of its kind."""
        return self.load(type, "%row", number * WORD)

    def operand(self, number: int) -> str:
        """The object that a word of the row stands for."""
        return self.resolve(self.word(number))

    def resolve(self, code: str) -> str:
        """The object that an operand stands for."""
        slot, done, before = self.label("slot"), self.label("known"), self.block
        fixed = self.emit(f"inttoptr i64 {code} to ptr")
        self.branch(self.emit(f"trunc i64 {code} to i1"), slot, done)
        self.start(slot)
        read = self.load("ptr", "%flat", self.emit(f"add i64 {code}, -1"))
        self.jump(done)
        return self.emit(f"phi ptr [ {fixed}, %{before} ], [ {read}, %{slot} ]")

    def put(self, number: int, value: str) -> None:
        """Store an object into the slot that a word of the row names."""
        self.store("ptr", value, "%flat", self.emit(f"add i64 {self.word(number)}, -1"))

    def number(self, number: int) -> str:
        """The integer in the slot that a word of the row names."""
        return self.load("i64", "%flat", self.emit(f"add i64 {self.word(number)}, -1"))

    def put_number(self, number: int, value: str) -> None:
        """Store an integer into the slot that a word of the row names."""
        self.store("i64", value, "%flat", self.emit(f"add i64 {self.word(number)}, -1"))

    # ---- conditions --------------------------------------------------------------------------------------------------

    def compare(self, type: str, left: str, right: str, how: str = "eq") -> str:
        """The outcome of a comparison."""
        return self.emit(f"icmp {how} {type} {left}, {right}")

    def require(self, condition: str) -> None:
        """The row does not hold unless the condition does."""
        label = self.label("ok")
        self.line(f"br i1 {condition}, label %{label}, label %fail, !prof !0")
        self.start(label)

    def same(self, type: str, left: str, right: str) -> None:
        """The row does not hold unless both are equal."""
        self.require(self.compare(type, left, right))

    def class_is(self, object: str, cls: str) -> None:
        """The row does not hold unless the object is of this class itself."""
        self.same("ptr", self.load("ptr", object, WORD), cls)

    @contextmanager
    def repeat(self, count: str) -> Iterator[str]:
        """A loop from 0 to `count` - 1 around what is written in the block; gives the number of the round."""
        head, body, done = self.label("head"), self.label("body"), self.label("done")
        before = self.block
        self.jump(head)
        place = len(self.lines)
        self._names += 1
        number = f"%n{self._names}"
        self.branch(self.compare("i64", number, count, "slt"), body, done)
        self.start(body)
        yield number
        following = self.emit(f"add nsw i64 {number}, 1")
        self.lines.insert(place, f"  {number} = phi i64 [ 0, %{before} ], [ {following}, %{self.block} ]")
        self.line(f"br label %{head}")
        self.start(done)

    def call(self, type: str, function: str, *arguments: str) -> str:
        """Call a function; `arguments` have their types in front."""
        return self.emit(f"call {type} @{function}({', '.join(arguments)})")

    def next(self, words: int) -> None:
        """The row holds, and is this many words long."""
        self.line(f"ret ptr {self.at('%row', words * WORD)}")
