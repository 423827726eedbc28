"""Delta debugging of modules: smaller and smaller ones that are still interesting.

A module is made smaller by leaving out parts of it: functions, results, operations, attributes, parameters, and by making its sizes smaller.  Each kind
is tried in halves, quarters and so on down to single parts.  What does not verify is never asked about.
"""

from __future__ import annotations

import re
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from lect.dialects import make_context
from lect.ir import FuncLike, LectError, Operation, Terminator, Value, parse_module, print_module, verify

# Functions whose body may get a further parameter in the place of a result.
OPEN = frozenset({"fx.graph", "functional.func", "loop.func"})
# Attributes of a terminator or a function that have an entry for each operand or parameter.
LISTED = ("views", "aliases", "arguments")
ROUNDS = 8
NUMBER = re.compile(r'"(?:[^"\\]|\\.)*"|(?<![\w.%@$#-])\d+(?![\w.])|(?<=[<x])\d+(?=[x>,])')


@dataclass
class Reduction:
    """The smallest module so far.  `is_interesting` is asked about texts, `header` are the lines in front of the module, which stay."""

    module: Operation
    is_interesting: Callable[[str], bool]
    header: str = ""
    deadline: float = float("inf")
    asked: int = 0
    erases_unused: bool = False
    seen: set[str] = field(default_factory=set)

    @property
    def text(self) -> str:
        """The whole text."""
        return self.header + print_module(self.module)

    def run(self) -> None:
        """Reduce until nothing gets smaller, or time is up."""
        self.erases_unused = True
        self.erases_unused = self._try(lambda module: True)  # unless what fails is something that nobody uses
        for _ in range(ROUNDS):
            before = self.text
            for count, leave_out in KINDS:
                self._leave_out(count, leave_out)
            self._make_sizes_smaller()
            if self.text == before or time.monotonic() > self.deadline:
                return

    def _leave_out(self, count: Callable[[Operation], int], leave_out: Callable[[Operation, range], bool]) -> None:
        """Leave out parts of one kind: halves of all first, from the last to the first, then smaller runs of them."""
        size = count(self.module)
        while size >= 1:
            end = count(self.module)
            while end > 0 and time.monotonic() <= self.deadline:
                part = range(max(0, end - size), end)
                self._try(lambda module, part=part: leave_out(module, part))  # type: ignore[misc]
                end = min(part.start, count(self.module))
            size //= 2

    def _try(self, change: Callable[[Operation], bool]) -> bool:
        """Take a changed copy of the module if it is valid and interesting."""
        copy = self.module.clone({})
        try:
            if not change(copy):
                return False
            tidy(copy, self.erases_unused)
            verify(copy)
            text = print_module(copy)
        except (LectError, IndexError, KeyError, TypeError, ValueError, AttributeError, AssertionError):  # a change that makes no sense here
            return False
        return self._ask(text) and self._take(copy)

    def _take(self, module: Operation) -> bool:
        self.module = module
        return True

    def _ask(self, text: str) -> bool:
        if text in self.seen:
            return False
        self.seen.add(text)
        self.asked += 1
        return self.is_interesting(self.header + text)

    # ---- sizes ---------------------------------------------------------------------------------------------------------

    def _make_sizes_smaller(self) -> None:
        """Replace numbers, and with them their multiples, by smaller ones wherever they stand."""
        for number in sorted(numbers_of(print_module(self.module)), reverse=True):
            for smaller in (1, 2, 3, number // 2):
                if smaller < number and time.monotonic() <= self.deadline and (self._replace(number, smaller, True) or self._replace(number, smaller, False)):
                    break

    def _replace(self, number: int, smaller: int, multiples: bool) -> bool:
        def new(found: re.Match[str]) -> str:
            if found[0].startswith('"'):
                return found[0]
            value = int(found[0])
            if value == number or (multiples and value > number and value % number == 0):
                return str(value // number * smaller)
            return found[0]

        text = NUMBER.sub(new, print_module(self.module))
        try:
            module = parse_module(text, make_context())
            verify(module)
        except LectError:
            return False
        return self._ask(print_module(module)) and self._take(module)


def numbers_of(text: str) -> set[int]:
    """Whole numbers above 1 that stand alone, or as sizes."""
    return {int(found) for found in NUMBER.findall(text) if found[0] != '"' and int(found) > 1}


def count_ops(module: Operation) -> int:
    """Operations in functions, without those that end a block."""
    return len(inner_ops(module))


# ---- what can be left out ----------------------------------------------------------------------------------------------


def inner_ops(module: Operation) -> list[Operation]:
    """All operations but functions and terminators, in order."""
    return [op for op in module.walk() if op.parent_op is not None and not op.has_trait(FuncLike) and not op.has_trait(Terminator)]


def functions(module: Operation) -> list[Operation]:
    """What stands in the module itself."""
    return list(module.body)


def _leave_out_functions(module: Operation, part: range) -> bool:
    for op in functions(module)[part.start : part.stop]:
        op.erase()
    return bool(len(module.body))


def _results(module: Operation) -> list[tuple[Operation, int]]:
    ends = [op for op in module.walk() if op.has_trait(Terminator) and not op.successors]
    return [(op, number) for op in ends for number in range(len(op.operands))]


def _leave_out_results(module: Operation, part: range) -> bool:
    chosen = _results(module)[part.start : part.stop]
    for end in dict.fromkeys(op for op, _ in chosen):
        gone = {number for op, number in chosen if op is end}
        _shorten_lists(end, gone, len(end.operands))
        end.set_operands([value for number, value in enumerate(end.operands) if number not in gone])
    return True


def _leave_out_ops(module: Operation, part: range) -> bool:
    return bool([op for op in reversed(inner_ops(module)[part.start : part.stop]) if remove(op)])


def _attributes(module: Operation) -> list[tuple[Operation, str]]:
    return [(op, name) for op in module.walk() for name in op.attrs if name != "sym_name"]


def _leave_out_attributes(module: Operation, part: range) -> bool:
    for op, name in _attributes(module)[part.start : part.stop]:
        del op.attrs[name]
    return True


def _parameters(module: Operation) -> list[tuple[Operation, int]]:
    return [(op, number) for op in module.body if op.has_trait(FuncLike) and op.regions[0].blocks for number in range(len(op.body.args))]


def _leave_out_parameters(module: Operation, part: range) -> bool:
    changed = False
    for op, number in reversed(_parameters(module)[part.start : part.stop]):
        if not op.body.args[number].users:
            _shorten_lists(op, {number}, len(op.body.args))
            op.body.erase_arg(number)
            changed = True
    return changed


def _shorten_lists(op: Operation, gone: set[int], length: int) -> None:
    for name in LISTED:
        listed = op.attrs.get(name)
        if type(listed) is tuple and len(listed) == length:
            op.attrs[name] = tuple([item for number, item in enumerate(listed) if number not in gone])


KINDS: Sequence[tuple[Callable[[Operation], int], Callable[[Operation, range], bool]]] = (
    (lambda module: len(functions(module)), _leave_out_functions),
    (lambda module: len(_results(module)), _leave_out_results),
    (count_ops, _leave_out_ops),
    (lambda module: len(_attributes(module)), _leave_out_attributes),
    (lambda module: len(_parameters(module)), _leave_out_parameters),
)


# ---- operations --------------------------------------------------------------------------------------------------------


def remove(op: Operation) -> bool:
    """Take an operation out: what it gave is one of its operands, a parameter, or another value of that type; False when there is none."""
    found = []
    for result in op.results:
        if result.users:
            other = _other(op, result)
            if other is None:
                return False
            found.append((result, other))
    for result, other in found:
        result.replace_all_uses(other)
    op.erase()
    return True


def _other(op: Operation, result: Value) -> Value | None:
    same = [value for value in op.operands if value.type is result.type]
    if same:
        return same[0]
    func = op.parent_op
    if func is not None and func.name in OPEN:
        return _parameter(func, result)
    cursor = op.prev
    while cursor is not None:
        for value in cursor.results:
            if value.type is result.type:
                return value
        cursor = cursor.prev
    return next((value for value in op.parent.args if value.type is result.type), None) if op.parent is not None else None


def _parameter(func: Operation, result: Value) -> Value:
    if func.attrs.get("arguments"):
        from lect.dialects.loop.attributes import ViewAttr

        func.attrs["arguments"] = (*func.attrs["arguments"], ViewAttr(result.type.sizes))
    return func.body.add_arg(result.type, result.hint)


def tidy(module: Operation, erases_unused: bool) -> None:
    """Name the buffers that a nest still reads, and erase what nobody uses."""
    changed = True
    while changed:
        changed = False
        for op in reversed(inner_ops(module)) if erases_unused else ():
            if op.results and not any(result.users for result in op.results) and op.parent is not None:
                op.erase()
                changed = True
        for op in module.walk():
            if op.name == "loop.nest":
                read = {value for inner in op.walk() if inner is not op for value in inner.operands}
                kept = [value for value in op.operands if value in read]
                if len(kept) != len(op.operands):
                    op.set_operands(kept)
                    changed = True
