"""How control leaves a block: the terminators, with the stack brought into the order that each successor expects.

The arguments of a block lie on the stack at its entry in their order.  Where the two ways out of a conditional jump want different stacks, the one
that is jumped to is served before the jump if the other can be served behind it, and by a stub at the end of the function otherwise.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from types import MappingProxyType
from typing import Any

from lect.backends.bytecode.blocks import BlockAssembler
from lect.backends.bytecode.encode import Cover, Label
from lect.backends.bytecode.rules import OLDER_THAN_312, SINCE_313, gives_bool
from lect.backends.bytecode.stack import Entry
from lect.ir import Block, Value


def finish(a: BlockAssembler, following: Block | None) -> None:
    """Assemble the terminator; `following` is the block that comes next in the code."""
    name = a.terminator.name
    if a.cover is not None and not a.covering:
        a.begin_cover()
    TERMINATORS[name](a, a.terminator, following)


def branch(a: BlockAssembler, op: Any, following: Block | None) -> None:
    a.stack.settle(op.target_operands)
    jump(a, op.target, following)


def jump(a: BlockAssembler, target: Block, following: Block | None) -> None:
    """Go to `target`, whose stack is ready; nothing to do when it is `following`."""
    if target is following:
        return
    _uncover_unless_kept(a)
    a.emit("JUMP_BACKWARD" if a.frame.is_placed(target) else "JUMP_FORWARD", a.frame.label(target))


def _uncover_unless_kept(a: BlockAssembler) -> None:
    """A handler covers an instruction only while what it keeps lies at the bottom of the stack."""
    if a.covering and not starts_with(a.stack.entries, a.kept):
        a.covering = False


def starts_with(entries: Sequence[Entry], prefix: Sequence[Entry]) -> bool:
    """True when the bottom of a stack is `prefix`."""
    return len(entries) >= len(prefix) and all(a is b for a, b in zip(prefix, entries))


def same(left: Sequence[Entry], right: Sequence[Entry]) -> bool:
    """True when two stacks hold the same entries."""
    return len(left) == len(right) and all(a is b for a, b in zip(left, right))


def includes(stack: Sequence[Entry], goal: Sequence[Entry]) -> bool:
    """True when everything that `goal` needs lies on `stack`."""
    return all(any(entry is other for other in stack) for entry in goal)


def needed_entries(a: BlockAssembler, *goals: Sequence[Value]) -> list[Entry]:
    """The entries that some way out needs, or the handler; in the order in which they lie."""
    wanted = {value for goal in goals for value in goal} | set(a.kept if a.covering else ())
    seen: set[Entry] = set()
    out: list[Entry] = []
    for entry in a.stack.entries:
        if entry in wanted and entry not in seen:
            seen.add(entry)
            out.append(entry)
    return out


# ---- conditional branches --------------------------------------------------------------------------------------------


def cond_branch(a: BlockAssembler, op: Any, following: Block | None) -> None:
    jumps_when = op.otherwise is following and op.then is not following
    if op.then is not following and op.otherwise is not following:
        jumps_when = a.frame.is_placed(op.otherwise) and not a.frame.is_placed(op.then)
    ways = [(op.otherwise, op.otherwise_operands), (op.then, op.then_operands)]
    target, goal = ways[jumps_when]
    other, other_goal = ways[not jumps_when]
    kept = a.kept if a.covering else []
    if includes(goal, other_goal) and starts_with(goal, kept):
        _jump_served_first(a, op, jumps_when, target, goal, other_goal)
    else:
        base = needed_entries(a, goal, other_goal)
        a.stack.settle([*base, op.condition])
        label = a.frame.label(target) if same(base, goal) and _reachable(a, target) else a.frame.stub(a, base, goal, target)
        _test(a, op, jumps_when, label)
    a.stack.settle(other_goal)
    jump(a, other, following)


def _reachable(a: BlockAssembler, target: Block) -> bool:
    """True when a conditional jump can go to `target`: since 3.12 only forward."""
    return OLDER_THAN_312 or not a.frame.is_placed(target)


def _jump_served_first(a: BlockAssembler, op: Any, jumps_when: bool, target: Block, goal: list[Value], other_goal: list[Value]) -> None:
    if OLDER_THAN_312 and op.test == "true" and same(goal, [*other_goal, op.condition]) and not a.frame.is_placed(target):
        a.stack.settle(goal)
        a.emit("JUMP_IF_TRUE_OR_POP" if jumps_when else "JUMP_IF_FALSE_OR_POP", a.frame.label(target))
        a.stack.entries.pop()
        return
    a.stack.settle([*goal, op.condition])
    if _reachable(a, target):
        _test(a, op, jumps_when, a.frame.label(target))
        return
    skip = Label()
    _test(a, op, not jumps_when, skip)
    _uncover_unless_kept(a)
    a.emit("JUMP_BACKWARD", a.frame.label(target))
    a.frame.place(skip)


def _test(a: BlockAssembler, op: Any, jumps_when: bool, label: Label) -> None:
    """Take the condition from the stack and jump when its outcome is `jumps_when`."""
    if SINCE_313 and op.test == "true" and not (gives_bool(op.condition) or _compared_as_bool(a, op.condition)):
        a.emit("TO_BOOL", 0)
    what = ("TRUE" if jumps_when else "FALSE") if op.test == "true" else ("NONE" if jumps_when else "NOT_NONE")
    direction = "" if not OLDER_THAN_312 else "BACKWARD_" if label.index >= 0 else "FORWARD_"
    a.emit(f"POP_JUMP_{direction}IF_{what}", label)
    a.stack.entries.pop()


def _compared_as_bool(a: BlockAssembler, condition: Value) -> bool:
    op = condition.op
    return op is not None and op.name == "pyframe.compare" and a.tested_at_once(op)


# ---- loops and exits -------------------------------------------------------------------------------------------------


def for_iter(a: BlockAssembler, op: Any, following: Block | None) -> None:
    iterator, body, done = op.iterator, op.then_operands, op.otherwise_operands
    if same(body, [*done, iterator]) and starts_with(body, a.kept if a.covering else []):
        base: list[Entry] = list(done)
    else:
        base = [entry for entry in needed_entries(a, body, done) if entry is not iterator or any(value is iterator for value in done)]
    a.stack.settle([*base, iterator])
    direct = same(base, done) and not a.frame.is_placed(op.otherwise)
    label = a.frame.loop_exit(op.otherwise) if direct else a.frame.stub(a, base, done, op.otherwise, after_loop=True)
    a.emit("FOR_ITER", label)
    item = op.then.args[-1]
    a.stack.push(item)
    a.stack.settle([*body, item])
    jump(a, op.then, following)


# ---- generators ------------------------------------------------------------------------------------------------------

AFTER_YIELD, AFTER_YIELD_FROM = 1, 2  # what RESUME is told about the instruction before it
UNPROTECTED = 4  # added to it since 3.13: no handler of the program's stands around, so that `close` need not run the frame


def _base(a: BlockAssembler, op: Any) -> list[Entry]:
    """What lies on the stack of a suspended frame: what its handler keeps, then what the way on needs besides."""
    wanted, kept = op.then_operands, a.kept if a.covering else []
    return list(wanted) if starts_with(wanted, kept) else [*kept, *(value for value in wanted if not includes(kept, [value]))]


def yield_(a: BlockAssembler, op: Any, following: Block | None) -> None:
    a.stack.settle([*_base(a, op), op.value])
    a.emit("YIELD_VALUE", 0 if OLDER_THAN_312 or SINCE_313 else _protection(a, op))
    a.emit("RESUME", AFTER_YIELD | (UNPROTECTED if SINCE_313 and _protection(a, op) == 1 else 0))
    a.stack.entries.pop()
    _go_on(a, op, following)


def _protection(a: BlockAssembler, op: Any) -> int:
    """Since 3.12: how many handlers stand around, that for StopIteration among them.  Of more than one nothing depends on how many."""
    return a.frame.turns_stop_iteration + (op.handler is not None)


def _go_on(a: BlockAssembler, op: Any, following: Block | None) -> None:
    """On to the first successor of a suspension, whose outcome is the top of the stack."""
    outcome = op.then.args[-1]
    a.stack.push(outcome)
    a.stack.settle([*op.then_operands, outcome])
    jump(a, op.then, following)


def yield_from(a: BlockAssembler, op: Any, following: Block | None) -> None:
    """The loop that delegates.  Its five instructions stand as the compiler puts them: `throw` of 3.11 counts on it."""
    base = _base(a, op)
    a.stack.settle([*base, op.iterable])
    again, begin, done = Label(), Label(), Label()
    a.stack.reach(2)
    if not op.standing:
        a.emit("GET_YIELD_FROM_ITER", 0)
    a.emit("LOAD_CONST", a.frame.constant_index(None))
    if op.standing:  # that None is handed out
        a.emit("JUMP_FORWARD", begin)
    a.frame.place(again)
    a.emit("SEND", done)
    a.frame.place(begin)
    a.emit("YIELD_VALUE", 0 if OLDER_THAN_312 else 1 if SINCE_313 else 1 + _protection(a, op))
    if not OLDER_THAN_312:  # what the delegate raises on `throw` comes out here
        a.out[-1].cover = Cover(a.frame.cleanup_throw(a, done), len(base) + 2, False)
    a.emit("RESUME", AFTER_YIELD_FROM | (UNPROTECTED if SINCE_313 and not _protection(a, op) else 0))  # the handler of the delegation is the only one
    a.emit("JUMP_BACKWARD_NO_INTERRUPT", again)
    a.frame.place(done)
    if not OLDER_THAN_312:
        a.emit("END_SEND", 0)
    a.stack.entries.pop()
    _go_on(a, op, following)


def leave(a: BlockAssembler, op: Any, following: Block | None) -> None:
    a.stack.settle([op.value])
    last = a.out[-1] if len(a.out) > a.begin else None
    if not OLDER_THAN_312 and last is not None and last.name == "LOAD_CONST":
        a.out.pop()
        a.emit("RETURN_CONST", last.arg)
        return
    a.emit("RETURN_VALUE", 0)


def raise_(a: BlockAssembler, op: Any, following: Block | None) -> None:
    operands = [value for value in (op.exception, op.cause) if value is not None]
    a.use(operands)
    a.stack.bring(operands, a.alive)
    a.emit("RAISE_VARARGS", len(operands))


def reraise(a: BlockAssembler, op: Any, following: Block | None) -> None:
    a.use([op.exception])
    a.stack.bring([op.exception], a.alive)
    a.emit("RERAISE", 0 if op.place is None else a.stack.depth(op.place) - 1)


TERMINATORS: Mapping[str, Callable[[BlockAssembler, Any, Block | None], None]] = MappingProxyType(
    {
        "pyframe.branch": branch,
        "pyframe.cond_branch": cond_branch,
        "pyframe.for_iter": for_iter,
        "pyframe.yield": yield_,
        "pyframe.yield_from": yield_from,
        "pyframe.return": leave,
        "pyframe.raise": raise_,
        "pyframe.reraise": reraise,
    }
)
