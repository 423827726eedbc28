"""Functions that no compiler would write, as a program: `python handwritten.py` prints one line of JSON.

The assembler must lay out any verified `pyframe`: values used often, out of order or not at all; blocks whose arguments come in another order on each
edge; handlers that keep values from anywhere; calls of live objects.  Random ones are compared with a direct evaluation.
"""

from __future__ import annotations

import json
import random
import sys
import traceback
from collections.abc import Callable
from pathlib import Path
from types import CodeType, FunctionType
from typing import Any

ROOT = Path(__file__).resolve().parents[3]
if __name__ == "__main__":
    sys.path[:0] = [str(ROOT / "src"), str(Path(__file__).parent)]

from stdlib import deepest_stack  # noqa: E402

from lect.backends.bytecode import assemble  # noqa: E402
from lect.dialects import make_context  # noqa: E402
from lect.ir import LectError, parse_module, verify  # noqa: E402

RANDOM_BLOCKS = 300
RANDOM_GRAPHS = 300
HEAD = 'pyframe.func @f() {{code_name = "f", args = [{args}], locals = [{locals}], flags = [{flags}], file = "hand.py"}} {{\n{body}\n}}\n'


def code_of(body: str, args: str = "", resources: dict[str, Any] | None = None, variables: str = "", generator: bool = False) -> CodeType:
    """The code object of a function given by the text of its body; `%x = op(...)` lines get the type of an object."""
    lines = []
    for line in body.strip().splitlines():
        needs_type = "=" in line.partition("(")[0] and " : " not in line and not line.lstrip().startswith("^")
        lines.append(f"{line} : !pyframe.object" if needs_type else line)
    quoted = ", ".join(f'"{name}"' for name in args.split())
    inner = ", ".join(f'"{name}"' for name in variables.split())
    flags = '"optimized", "newlocals"' + (', "generator"' if generator else "")
    module = parse_module(HEAD.format(args=quoted, locals=inner, flags=flags, body="\n".join(lines)), make_context())
    verify(module)
    code = assemble(module.body.first, None, resources)
    assert deepest_stack(code) <= code.co_stacksize, "the stack is deeper than co_stacksize"
    return code


def call(body: str, args: str = "", values: tuple[Any, ...] = (), resources: dict[str, Any] | None = None, variables: str = "") -> Any:
    """What the function returns."""
    return FunctionType(code_of(body, args, resources, variables), {"__builtins__": __builtins__})(*values)


def expect(found: Any, wanted: Any) -> None:
    """Fail with both values shown."""
    assert found == wanted, f"got {found!r}, expected {wanted!r}"


def load(*names: str) -> str:
    """Lines that load parameters under their own names."""
    return "\n".join(f'%{name} = pyframe.load_local() {{id = "{name}"}}' for name in names)


# ---- single programs -------------------------------------------------------------------------------------------------


def check_value_used_often() -> None:
    body = load("a") + "\n%t = pyframe.build_tuple(%a, %a, %a)\n%u = pyframe.build_tuple(%t, %a, %t)\npyframe.return(%u)"
    expect(call(body, "a", (1,)), ((1, 1, 1), 1, (1, 1, 1)))


def check_operands_in_reverse() -> None:
    body = load("a", "b", "c") + "\n%t = pyframe.build_tuple(%c, %b, %a)\npyframe.return(%t)"
    expect(call(body, "a b c", (1, 2, 3)), (3, 2, 1))


def check_call_of_an_early_value() -> None:
    body = load("f", "a") + "\n%t = pyframe.build_tuple(%a, %f)\n%r = pyframe.call(%f, %a, %t)\n%s = pyframe.call(%f)\n"
    body += "%u = pyframe.build_tuple(%r, %s)\npyframe.return(%u)"
    seen = lambda *args: len(args)  # noqa: E731
    expect(call(body, "f a", (seen, 1)), (2, 0))


def check_keywords_of_an_early_value() -> None:
    body = load("f", "a") + '\n%t = pyframe.build_tuple(%a)\n%r = pyframe.call(%f, %t, %a) {keywords = ["x", "y"]}\n'
    body += "%u = pyframe.build_tuple(%f, %r)\n%v = pyframe.load_item(%u, %a)\npyframe.return(%v)"
    expect(call(body, "f a", (lambda **kw: kw, 1)), {"x": (1,), "y": 1})


def check_spread_of_an_early_value() -> None:
    body = load("f", "a", "k") + "\n%m = pyframe.build_map()\npyframe.dict_merge(%f, %m, %k)\n%r = pyframe.call_ex(%f, %a, %m)\n"
    body += "%s = pyframe.call_ex(%f, %a)\n%u = pyframe.build_tuple(%r, %s)\npyframe.return(%u)"
    expect(call(body, "f a k", (lambda *a, **kw: (a, kw), (1, 2), {"x": 3})), (((1, 2), {"x": 3}), ((1, 2), {})))


def check_spread_twice_names_the_callee() -> None:
    body = load("f", "k") + "\n%t = pyframe.build_tuple()\n%m = pyframe.build_map()\npyframe.dict_merge(%f, %m, %k)\npyframe.dict_merge(%f, %m, %k)\n"
    body += "%r = pyframe.call_ex(%f, %t, %m)\npyframe.return(%r)"
    try:
        call(body, "f k", (max, {"x": 3}))
    except TypeError as error:
        assert "got multiple values for keyword argument 'x'" in str(error), error
    else:
        raise AssertionError("no error")


def check_method_of_an_early_value() -> None:
    body = load("a") + '\n%m = pyframe.load_attr(%a) {attr = "upper"}\n%r = pyframe.call(%m)\n%s = pyframe.call(%m)\n'
    body += "%u = pyframe.build_tuple(%r, %s)\npyframe.return(%u)"
    expect(call(body, "a", ("x",)), ("X", "X"))


def check_graph() -> None:
    body = load("a", "b") + "\n%r = pyframe.call_graph(%a, %b) {graph = @g}\n%s = pyframe.call_graph(%b, %a, %b) {graph = @g}\n"
    body += "%n = pyframe.call_graph() {graph = @g}\n%u = pyframe.build_tuple(%r, %s, %n)\npyframe.return(%u)"
    expect(call(body, "a b", (1, 2), {"g": lambda *args: args}), ((1, 2), (2, 1, 2), ()))


def check_graph_with_unpacked_results() -> None:
    body = load("a") + '\n%w = pyframe.load_attr(%a) {attr = "real"}\n%r = pyframe.call_graph(%w, %w) {graph = @g}\n'
    body += (
        "%x, %y = pyframe.unpack_sequence(%r) {count = 2} : (!pyframe.object, !pyframe.object)\n%u = pyframe.build_tuple(%y, %a, %x, %y)\npyframe.return(%u)"
    )
    expect(call(body, "a", (7,), {"g": lambda p, q: (p + 1, q + 2)}), (9, 7, 8, 9))


def check_two_hundred_graph_arguments() -> None:
    names = [f"x{i}" for i in range(200)]
    arguments = ", ".join(f"%{name}" for name in reversed(names))
    body = load(*names) + f"\n%r = pyframe.call_graph({arguments}) {{graph = @g}}\n%s = pyframe.build_tuple(%x3, %r)\npyframe.return(%s)"
    expect(call(body, " ".join(names), tuple(range(200)), {"g": lambda *a: a}), (3, tuple(reversed(range(200)))))


def check_resource() -> None:
    marker = object()
    expect(call('%r = pyframe.load_resource() {id = "live"}\npyframe.return(%r)', resources={"live": marker}), marker)


def check_missing_resource_is_an_error() -> None:
    try:
        call('%r = pyframe.load_resource() {id = "live"}\npyframe.return(%r)')
    except LectError as error:
        assert "there is no resource 'live'" in str(error)
    else:
        raise AssertionError("no error")


def check_use_behind_drop_is_an_error() -> None:
    try:
        call(load("a") + "\npyframe.drop(%a)\npyframe.return(%a)", "a", (1,))
    except LectError as error:
        assert "is used after 'pyframe.drop' has released it" in str(error)
    else:
        raise AssertionError("no error")


def check_unbound_local_raises() -> None:
    body = '%x = pyframe.load_local() {id = "x"}\npyframe.return(%x)'
    try:
        call(body, variables="x")
    except UnboundLocalError:
        pass
    else:
        raise AssertionError("no error")


def check_current_exception() -> None:
    body = "%e = pyframe.load_exc()\npyframe.return(%e)"
    function = FunctionType(code_of(body), {})
    expect(function(), None)
    try:
        raise KeyError(1)
    except KeyError as error:
        assert function() is error


def check_resuming_inside_an_except_block() -> None:
    body = load("e") + "\n%p = pyframe.push_exc(%e)\n%c = pyframe.load_exc()\npyframe.pop_exc(%p)\n%d = pyframe.load_exc()\n"
    body += "%t = pyframe.build_tuple(%c, %d)\npyframe.return(%t)"
    error = ValueError("x")
    expect(call(body, "e", (error,)), (error, None))


def check_handler_keeps_values_from_anywhere() -> None:
    body = f"""
{load("a", "b", "c")}
pyframe.branch()[^try(%a, %b, %c)]
^try(%x: !pyframe.object, %y: !pyframe.object, %z: !pyframe.object):
%q = pyframe.call(%y, %x)
pyframe.return(%q)[^handler(%z, %x)]
^handler(%k: !pyframe.object, %l: !pyframe.object, %exc: !pyframe.object):
%p = pyframe.push_exc(%exc)
pyframe.pop_exc(%p)
%t = pyframe.build_tuple(%l, %k)
pyframe.return(%t)
"""
    expect(call(body, "a b c", (0, lambda x: 1 // x, 5)), (0, 5))
    expect(call(body, "a b c", (1, lambda x: 1 // x, 5)), 1)


def check_edges_want_different_orders() -> None:
    body = f"""
{load("a", "b", "c")}
pyframe.cond_branch(%c)[^first(%b, %a, %b), ^second(%a, %c, %b)]
^first(%x: !pyframe.object, %y: !pyframe.object, %z: !pyframe.object):
%t = pyframe.build_tuple(%x, %y, %z)
pyframe.return(%t)
^second(%p: !pyframe.object, %q: !pyframe.object, %r: !pyframe.object):
%u = pyframe.build_tuple(%r, %q, %p)
pyframe.return(%u)
"""
    expect(call(body, "a b c", (1, 2, 3)), (2, 1, 2))
    expect(call(body, "a b c", (1, 2, 0)), (2, 0, 1))


def check_loop_that_moves_its_values() -> None:
    body = f"""
{load("xs", "a", "b")}
%it = pyframe.get_iter(%xs)
pyframe.branch()[^loop(%a, %it, %b)]
^loop(%p: !pyframe.object, %i: !pyframe.object, %q: !pyframe.object):
pyframe.for_iter(%i)[^body(%q, %i, %p), ^done(%q, %p)]
^body(%s: !pyframe.object, %j: !pyframe.object, %r: !pyframe.object, %x: !pyframe.object):
%n = pyframe.binary(%r, %x) {{operator = "+"}}
pyframe.branch()[^loop(%s, %j, %n)]
^done(%u: !pyframe.object, %v: !pyframe.object):
%t = pyframe.build_tuple(%u, %v)
pyframe.return(%t)
"""

    def reference(xs: list[int], p: str, q: str) -> tuple[str, str]:
        for x in xs:
            p, q = q, p + x
        return q, p

    for count in range(4):
        xs = list("xyz"[:count])
        expect(call(body, "xs a b", (xs, "a", "b")), reference(xs, "a", "b"))


def check_exit_placed_before_the_loop() -> None:
    body = f"""
{load("xs")}
%it = pyframe.get_iter(%xs)
%c = pyframe.load_const() {{value = 0}}
pyframe.branch()[^loop(%it)]
^done:
%n = pyframe.load_const() {{value = "done"}}
pyframe.return(%n)
^loop(%i: !pyframe.object):
pyframe.for_iter(%i)[^body(%i), ^done]
^body(%j: !pyframe.object, %x: !pyframe.object):
pyframe.cond_branch(%x)[^loop(%j), ^done]
"""
    expect(call(body, "xs", ([1, 2],)), "done")
    expect(call(body, "xs", ([1, 0, undefined],)), "done")


undefined = object()


# ---- generators ------------------------------------------------------------------------------------------------------


def generator_of(body: str, args: str, values: tuple[Any, ...]) -> Any:
    """The generator that a call of the generator function gives."""
    return FunctionType(code_of(body, args, generator=True), {"__builtins__": __builtins__})(*values)


HANDLED = """
pyframe.branch()[^standing(%a, %b, %c)]
^standing(%x: !pyframe.object, %y: !pyframe.object, %z: !pyframe.object):
{suspend}[^resume(%z, %x, %x), ^caught(%y, %x)]
^resume(%p: !pyframe.object, %q: !pyframe.object, %r: !pyframe.object, %outcome: !pyframe.object):
%t = pyframe.build_tuple(%p, %q, %r, %outcome)
pyframe.return(%t)
^caught(%s: !pyframe.object, %u: !pyframe.object, %exc: !pyframe.object):
%v = pyframe.build_tuple(%s, %u, %exc)
pyframe.return(%v)
"""


def returned(step: Callable[[], Any]) -> Any:
    """What a generator returns at this step."""
    try:
        step()
    except StopIteration as end:
        return end.value
    raise AssertionError("the generator goes on")


def check_yield_with_other_values_for_the_handler() -> None:
    body = load("a", "b", "c") + HANDLED.format(suspend="pyframe.yield(%x)")
    error = ValueError("thrown")
    for step, wanted in ((lambda: g.send(7), (3, 1, 1, 7)), (lambda: g.throw(error), (2, 1, error))):
        g = generator_of(body, "a b c", (1, 2, 3))
        expect(next(g), 1)
        expect(returned(step), wanted)


def check_yield_from_with_other_values_for_the_handler() -> None:
    body = load("a", "b", "c") + HANDLED.format(suspend="pyframe.yield_from(%x)")
    error = ValueError("thrown")
    for step, wanted in ((lambda: g.send(None), lambda i: (3, i, i, None)), (lambda: g.throw(error), lambda i: (2, i, error))):
        items = iter([5])
        g = generator_of(body, "a b c", (items, 2, 3))
        expect(next(g), 5)
        assert g.gi_yieldfrom is items
        expect(returned(step), wanted(items))


def check_standing_delegation_hands_out_none_at_first() -> None:
    body = load("a", "b", "c") + HANDLED.format(suspend="pyframe.yield_from(%x)").replace("(%y, %x)]", "(%y, %x)] {standing = true}")
    items = iter([5])
    g = generator_of(body, "a b c", (items, 2, 3))
    expect(next(g), None)
    assert g.gi_yieldfrom is items
    expect(next(g), 5)
    expect(returned(lambda: next(g)), (3, items, items, None))


# ---- random programs -------------------------------------------------------------------------------------------------


def check_random_blocks() -> None:
    for seed in range(RANDOM_BLOCKS):
        rng = random.Random(seed)
        lines, values = [load("a", "b", "c")], {"a": "A", "b": "B", "c": "C"}
        for number in range(rng.randrange(12)):
            operands = [rng.choice(list(values)) for _ in range(rng.randrange(5))]
            values[f"v{number}"] = tuple(values[name] for name in operands)  # type: ignore[assignment]
            lines.append(f"%v{number} = pyframe.build_tuple({', '.join('%' + name for name in operands)})")
        last = rng.choice(list(values))
        lines.append(f"pyframe.return(%{last})")
        found = call("\n".join(lines), "a b c", ("A", "B", "C"))
        assert found == values[last], f"seed {seed}: got {found!r}, expected {values[last]!r}"


def check_random_graphs() -> None:
    """Blocks in a row; each goes to the next or the one after, by a flag, with its values in any order and number."""
    for seed in range(RANDOM_GRAPHS):
        rng = random.Random(seed)
        sizes = [0] + [rng.randrange(5) for _ in range(5)]
        lines = [load("a", "b")]
        plan: list[Any] = []
        for block, size in enumerate(sizes):
            names = ["a", "b"] if block == 0 else [f"p{block}_{i}" for i in range(size)]
            if block:
                lines.append(f"^b{block}({', '.join(f'%{name}: !pyframe.object' for name in names)}):" if names else f"^b{block}:")
            lines.append(f"%t{block} = pyframe.build_tuple({', '.join('%' + name for name in names)})")
            names = [*names, f"t{block}"]
            if block == len(sizes) - 1:
                lines.append(f"pyframe.return(%t{block})")
                plan.append(None)
                continue
            edges = []
            for target in (block + 1, min(block + 2, len(sizes) - 1)):
                edges.append((target, [rng.choice(names) for _ in range(sizes[target])]))
            rng.shuffle(edges)
            lines.append(f'%c{block} = pyframe.load_local() {{id = "f{block}"}}')
            texts = [f"^b{target}({', '.join('%' + name for name in passed)})" if passed else f"^b{target}" for target, passed in edges]
            lines.append(f"pyframe.cond_branch(%c{block})[{', '.join(texts)}]")
            plan.append((names, edges))
        flags = [rng.randrange(2) for _ in sizes[:-1]]
        arguments = "a b " + " ".join(f"f{i}" for i in range(len(flags)))
        found = call("\n".join(lines), arguments, ("A", "B", *flags))
        wanted = _walk(plan, sizes, flags)
        assert found == wanted, f"seed {seed}: got {found!r}, expected {wanted!r}"


def _walk(plan: list[Any], sizes: list[int], flags: list[int]) -> Any:
    block, values = 0, ["A", "B"]
    while True:
        result = tuple(values)
        if plan[block] is None:
            return result
        names, edges = plan[block]
        scope = dict(zip(names, [*values, result]))
        target, passed = edges[0 if flags[block] else 1]
        block, values = target, [scope[name] for name in passed]


def main() -> None:
    """Run all checks of this file."""
    checks: dict[str, Callable[[], None]] = {name: value for name, value in globals().items() if name.startswith("check_")}
    failures = []
    for name, check in checks.items():
        try:
            check()
        except Exception:  # noqa: BLE001
            failures.append(f"{name}: {traceback.format_exc(limit=-3)}")
    print(json.dumps({"checks": len(checks), "failures": failures}))


if __name__ == "__main__":
    main()
