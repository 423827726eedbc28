"""CPython's own tests of language features, each test function followed by the capture.

    python -m tests.interop.cpython_tests [MODULE ...] > ROWS      one line of JSON for each module of the `test` package
    python -m tests.interop.cpython_tests --table ROWS ...         docs/cpython-tests.md of such lines

Every test method is run twice: as it is, and with its function compiled.  There is nothing to compute in them, so a compiled function consists of its
guards and its residual code alone (`without_graph`), and the trace is what is tested: it runs everything for real.  A test whose trace ends by an
exception is one that the trace got wrong, when the test passes uncompiled.  Doctests are taken too: an example that is an expression or a plain
statement is made a function, in both runs, and compiled in one; definitions are executed as they are.
"""

from __future__ import annotations

import ast
import builtins
import doctest
import gc
import importlib
import io
import json
import os
import re
import signal
import subprocess
import sys
import sysconfig
import tempfile
import threading
import unittest
import warnings
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from types import FunctionType
from typing import Any, NoReturn

ROOT = Path(__file__).resolve().parents[2]
TABLE = ROOT / "docs" / "cpython-tests.md"
MODULES = (
    "test_abc test_augassign test_binop test_bool test_builtin test_call test_class test_compare test_complex test_contains test_context test_contextlib test_copy"
    " test_coroutines test_dataclasses test_decorators"
    " test_defaultdict test_deque test_descr test_dict test_dictcomps test_dictviews test_dynamic test_dynamicclassattribute test_enum test_enumerate"
    " test_except_star test_exception_group test_exception_hierarchy test_exception_variations test_exceptions test_extcall test_float test_fstring"
    " test_funcattrs test_functools test_generators test_genericclass test_genexps test_global test_grammar test_int test_isinstance test_iter test_itertools"
    " test_keywordonlyarg test_list test_listcomps test_long test_math test_metaclass test_named_expressions test_numeric_tower test_operator test_ordered_dict"
    " test_patma test_pep646_syntax test_positional_only_arg test_pow test_property test_raise test_range test_richcmp test_scope test_set test_setcomps test_slice"
    " test_sort test_string_literals test_subclassinit test_super test_tuple test_typechecks test_types test_unary test_unpack test_unpack_ex test_userdict"
    " test_userlist test_weakref test_weakset test_with test_yield_from"
).split()
SECONDS = 300  # for one test; one that does not end is left out of a second run
# Tests that are not run, module -> names: they leave ten calls to the program, and going on behind a cut takes more, so that the limit stays for others.
LEFT_OUT: Mapping[str, tuple[str, ...]] = {"test_exceptions": ("test_recursion_in_except_handler",)}


class Watch:
    """Runs functions compiled and notes how the compile of each ended."""

    def __init__(self) -> None:
        from lect.runtime.entry import RUNTIME, _make
        from lect.runtime.settings import Settings

        self.runtime = RUNTIME
        self._make = _make
        self.settings = Settings(options={"level": "fx", "without_graph": True})
        self.seen = 0

    def compiled(self, function: FunctionType) -> Callable[..., Any]:
        """The function, compiled at its first call."""
        return self._make(function, function, (), self.settings)

    def news(self) -> list[list[str]]:
        """(kind, number, detail, place) of what became of frames since the last time: `compile`, `graph break` or `fallback`."""
        events = self.runtime.log.events(("fallback", "compile", "graph break"))
        new, self.seen = events[self.seen :], len(events)
        return [[e.kind, getattr(e, "number", ""), getattr(e, "detail", "")[:300], getattr(e, "location", "")] for e in new]


class Outcomes(unittest.TestResult):
    """How each test ended, with the events of its frames; hands it to `report` at once."""

    def __init__(self, watch: Watch | None, report: Callable[[str, str, list[list[str]]], None]) -> None:
        super().__init__()
        self.watch = watch
        self.report = report
        self.ended = "passed"

    def startTest(self, test: unittest.TestCase) -> None:  # noqa: N802
        super().startTest(test)
        self.ended = "passed"
        self.report(test.id(), "started", [])
        if self.watch is not None:
            self.watch.news()

    def stopTest(self, test: unittest.TestCase) -> None:  # noqa: N802
        super().stopTest(test)
        self.report(test.id(), self.ended, self.watch.news() if self.watch is not None else [])

    def _failed(self, kind: str, error: Any) -> None:
        self.ended = f"{kind} {error[0].__name__}: {str(error[1]).strip().splitlines()[0][:200] if str(error[1]).strip() else ''}"

    def addError(self, test: Any, error: Any) -> None:  # noqa: N802
        self._failed("error", error)

    def addFailure(self, test: Any, error: Any) -> None:  # noqa: N802
        self._failed("failed", error)

    def addSubTest(self, test: Any, subtest: Any, error: Any) -> None:  # noqa: N802
        if error is not None:
            self._failed("failed", error)

    def addSkip(self, test: Any, reason: str) -> None:  # noqa: N802
        self.ended = "skipped"


def tests_of(module: Any) -> Iterator[unittest.TestCase]:
    """The test methods and doctests of a module."""
    waiting: list[Any] = [unittest.defaultTestLoader.loadTestsFromModule(module)]
    while waiting:
        each = waiting.pop(0)
        if isinstance(each, unittest.TestSuite):
            waiting[:0] = list(each)
        else:
            yield each


def compile_method(test: unittest.TestCase, watch: Watch) -> bool:
    """Put the compiled function in the place of the test's method; False when it is not a plain function."""
    name = test._testMethodName
    function = getattr(type(test), name, None)
    if not isinstance(function, FunctionType) or function.__code__.co_flags & 0x2A0:
        return False
    setattr(test, name, watch.compiled(function).__get__(test))
    return True


# ---- doctests --------------------------------------------------------------------------------------------------------

_PLAIN = (ast.Assign, ast.AugAssign, ast.For, ast.While, ast.If, ast.With, ast.Try, ast.Assert, ast.Raise)


def as_function(source: str) -> str | None:
    """The source of a function that does what an example does: gives the value of an expression, or binds global names.  None for other examples."""
    tree = ast.parse(source)
    if len(tree.body) == 1 and isinstance(tree.body[0], ast.Expr):
        bound = {node.target.id for node in ast.walk(tree) if isinstance(node, ast.NamedExpr)}
        if bound or any(isinstance(node, ast.Yield | ast.YieldFrom | ast.Await) for node in ast.walk(tree)):
            return None
        return f"def _example():\n    return (\n{source}\n)"
    simple = all(isinstance(statement, _PLAIN) for statement in tree.body)
    # The prompt shows the value of an expression that is a statement inside of another one; a function would not.
    simple = simple and all(isinstance(node.value, ast.Call) for node in ast.walk(tree) if isinstance(node, ast.Expr))
    inner = (ast.FunctionDef, ast.ClassDef, ast.Import, ast.ImportFrom, ast.Global, ast.Yield, ast.YieldFrom, ast.Await, ast.Return)
    if not simple or any(isinstance(node, inner) for node in ast.walk(tree)):
        return None
    names = {node.id for node in ast.walk(tree) if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store | ast.Del)}
    names |= {node.name for node in ast.walk(tree) if isinstance(node, ast.ExceptHandler | ast.MatchAs | ast.MatchStar) and node.name}
    head = f"    global {', '.join(sorted(names))}\n" if names else ""
    return "def _example():\n" + head + "\n".join(f"    {line}" for line in source.splitlines())


class Examples:
    """Takes the place of `compile` and `exec` in the module `doctest`."""

    def __init__(self, watch: Watch | None) -> None:
        self.watch = watch

    def compile(self, source: str, filename: str, mode: str, flags: int, dont_inherit: bool) -> Any:
        code = builtins.compile(source, filename, mode, flags, dont_inherit)  # a wrong example fails as it would
        try:
            text = as_function(source)
            return code, None if text is None else builtins.compile(text, filename, "exec", flags, dont_inherit)
        except SyntaxError:
            return code, None

    def exec(self, pair: Any, names: dict[str, Any]) -> None:
        code, function = pair
        if function is None:
            builtins.exec(code, names)
            return
        inner: dict[str, Any] = {}
        builtins.exec(function, names, inner)
        made = inner["_example"]
        sys.displayhook((made if self.watch is None else self.watch.compiled(made))())


# ---- one module ------------------------------------------------------------------------------------------------------


def run_module(name: str, skipped: set[str], followed: bool) -> None:
    """Run the tests of a module and print a line for each."""
    out = sys.stdout
    watch = Watch() if followed else None

    def report(test: str, how: str, events: list[list[str]]) -> None:
        print(json.dumps([test, how, events]), file=out, flush=True)

    try:
        module = importlib.import_module(f"test.{name}")
    except (ImportError, unittest.SkipTest):
        return
    examples = Examples(watch)
    doctest.compile, doctest.exec = examples.compile, examples.exec  # type: ignore[attr-defined]
    result = Outcomes(watch, report)
    # Tests that collect garbage a hundred times, or look at all objects, would otherwise walk through all of torch each time.
    gc.collect()
    gc.freeze()
    sys.stdout = io.StringIO()
    for test in tests_of(module):
        if test.id() in skipped or any(part in LEFT_OUT.get(name, ()) for part in test.id().split(".")):
            continue
        if watch is not None and not isinstance(test, doctest.DocTestCase) and not compile_method(test, watch):
            continue
        unittest.TestSuite([test]).run(result)
    result._tearDownPreviousClass(None, result) if hasattr(result, "_tearDownPreviousClass") else None
    sys.stdout = out


def lines_of(name: str, skipped: set[str], followed: bool) -> Iterator[str]:
    """What the tests of a module print in a process of their own, a copy of this one, which has imported lect already.

    It is ended when it has printed nothing for `SECONDS`, and it runs in a folder of its own: some tests leave files behind.
    """
    with tempfile.TemporaryDirectory() as folder:
        read, write = os.pipe()
        sys.stdout.flush()
        child = os.fork()
        if not child:
            _run_in_child(write, folder, name, skipped, followed)
        os.close(write)
        timer = threading.Timer(SECONDS, os.kill, (child, signal.SIGKILL))
        timer.start()
        with os.fdopen(read) as pipe:
            for line in pipe:
                timer.cancel()
                timer = threading.Timer(SECONDS, os.kill, (child, signal.SIGKILL))
                timer.start()
                yield line
        timer.cancel()
        os.waitpid(child, 0)


def _run_in_child(write: int, folder: str, name: str, skipped: set[str], followed: bool) -> NoReturn:
    """Run the tests and end the process."""
    try:
        os.dup2(write, 1)
        os.dup2(os.open(os.devnull, os.O_WRONLY), 2)
        os.chdir(folder)
        sys.stdout = os.fdopen(1, "w")
        sys.argv = [__file__, name]
        run_module(name, skipped, followed)
        sys.stdout.flush()
    finally:
        os._exit(0)


def outcomes(name: str, followed: bool) -> dict[str, tuple[str, list[list[str]]]]:
    """Test -> (how it ended, events), from processes of their own; one in which a process ends or hangs is `crashed or hung`."""
    found: dict[str, tuple[str, list[list[str]]]] = {}
    lost: dict[str, str] = {}
    for _ in range(4):
        open_test = None
        for line in lines_of(name, {*found, *lost}, followed):
            test, how, events = json.loads(line)
            open_test = test if how == "started" else None
            if how != "started":
                found[test] = (how, events)
        if open_test is None:
            break
        lost[open_test] = "crashed or hung"
    return {**found, **{test: (how, []) for test, how in lost.items()}}


# ---- comparing -------------------------------------------------------------------------------------------------------

# Tests that look at what no value of the program hangs on, and why a compiled frame shows them something else.
BY_NATURE: Mapping[str, str] = {
    "tuple_reuse": "C code uses a tuple again when nobody else holds it, and following a frame holds what C code gives",
    "test_slots": "counts the objects that the collector knows",
    "test_cycle_through_dict": "reads all objects of the process, those of lect included",
    "SharedKeyTests.test_subclasses": "the size of an instance dictionary in bytes",
    "test_splittable_popitem": "the size of an instance dictionary in bytes",
    "testExceptionCleanupState": "when an object is released that an exception holds",
    "test_ref_counting_behavior": "when an object is released: at the end of the piece of the frame",
    "test_lru_cache_weakrefable": "when a cached function is released, which lect knows for as long as its guards live",
    "test_lru_cache_threaded2": "how many threads run at the same time",
    "COperatorTestCase.test_is": "whether two equal texts are one object",
    "test_vicious_descriptor_nonsense": "an entry of an instance dictionary that deletes its class's attribute when it is looked for",
}
WRONG = "LB0012"  # an exception leaves the frame
INTERNAL = "LB0020"


def compare(name: str) -> dict[str, Any]:
    """What became of the tests of a module: counts, reasons for which frames were left, and sentences about tests that differ."""
    before, after = outcomes(name, False), outcomes(name, True)
    tests = [test for test in after if test in before and before[test][0] != "skipped"]
    reasons: Counter[str] = Counter()
    details: Counter[str] = Counter()
    counts = Counter(tests=len(tests))
    differ = []
    for test in tests:
        expected, (got, events) = before[test][0], after[test]
        kinds = {kind for kind, *_ in events}
        counts["whole"] += kinds == {"compile"}
        counts["in parts"] += kinds in ({"compile", "graph break"}, {"graph break"})
        counts["same"] += expected == got
        left = [(number, detail) for kind, number, detail, _ in events if kind != "compile"]
        reasons.update({number for number, _ in left})
        details.update({f"{number} {detail[:80]}" for number, detail in left})
        suspect = [event for event in events if event[1] == INTERNAL or (event[0] == "fallback" and event[1] == WRONG and not is_doctest(test))]
        if expected != got or (expected == "passed" and suspect):
            differ.append(f"{test}: {expected} -> {got} {suspect}")
    return {"module": name, **counts, "reasons": reasons, "details": dict(details.most_common(12)), "differ": differ}


def is_doctest(test: str) -> bool:
    """True for a doctest, whose examples may end by an exception that is expected."""
    return ".test_" not in test.rpartition(".")[0] or "__test__" in test


HEAD = """# CPython's own tests

Test functions of the interpreter's `test` package, each run as it is and compiled, by `python -m tests.interop.cpython_tests` (CPython {version}).
There is nothing to compute in them, so what is compared is the capture: guards, effects, residual code and resume functions. *Whole* are the tests that
were followed to their end in one piece, *in parts* those with graph breaks that were followed behind each; in the others some part ran eagerly. The
outcome (pass, failure, exception) of *same* tests is that of the uncompiled run. The numbers are those of [the reasons](graph-breaks.md). The rows
without a star are of one run, of the commit {commit}.

| module | tests | whole | in parts | same | left at |
|---|---|---|---|---|---|
"""

EARLIER = "\\* The row is of a run of another commit."


def without_places(text: str) -> str:
    """A sentence without addresses and folders of this machine, at most a line long."""
    for folder in (f"{ROOT / 'src'}/", f"{ROOT}/", f"{sysconfig.get_path('stdlib')}/"):
        text = text.replace(folder, "")
    return re.sub(r" at 0x[0-9a-f]+", "", text)[:240]


def table(rows: list[dict[str, Any]]) -> str:
    """The text of docs/cpython-tests.md.  Rows of another commit than the first are marked."""
    lines = []
    commit = rows[0]["commit"]
    rows = sorted([row for row in rows if row["tests"]], key=lambda row: row["module"])
    for row in rows:
        left = ", ".join(f"{number} × {count}" for number, count in sorted(row["reasons"].items(), key=lambda pair: (-pair[1], pair[0])))
        name = row["module"] if row["commit"] == commit else f"{row['module']}*"
        lines.append(f"| {name} | {row['tests']} | {row.get('whole', 0)} | {row.get('in parts', 0)} | {row.get('same', 0)} | {left} |")
    total = [sum(row.get(column, 0) for row in rows) for column in ("tests", "whole", "in parts", "same")]
    lines.append(f"| **{len(rows)} modules** | " + " | ".join(f"**{number}**" for number in total) + " | |")
    if any(row["commit"] != commit for row in rows):
        lines.append(f"\n{EARLIER}")
    return HEAD.format(version=sys.version.split()[0], commit=commit) + "\n".join(lines) + "\n" + differences(
        [sentence for row in rows for sentence in row["differ"]], {test for row in rows for test in row.get("mended", ())}
    )


def differences(sentences: list[str], mended: set[str]) -> str:
    """What the page says of tests that differ: those that do by nature, those with another outcome, and those of which only the trace was wrong.

    `mended` are tests that were run again alone behind a later change, and are the same there; a row names them under that word, which is added by hand.
    """
    natural: dict[str, list[str]] = {}
    other: list[str] = []
    traced: list[str] = []
    later: list[str] = []
    for sentence in sentences:
        test, outcomes = sentence.split(": ", 1)
        why = next((why for name, why in BY_NATURE.items() if name in test), None)
        if test in mended:
            later.append(f"- {test}")
        elif why is not None:
            natural.setdefault(why, []).append(test.removeprefix("test."))
        else:
            (traced if outcomes.startswith("passed -> passed ") else other).append(f"- {without_places(sentence)}")
    told = [f"- {why}: {', '.join(tests)}" for why, tests in sorted(natural.items())]
    parts = (("Another outcome", other), ("The same outcome, but the trace went wrong, and the frame ran as it is written", traced), ("Mended since that run", later), ("By nature", told))
    return "".join(f"\n## {title}\n\n" + "\n".join(found) + "\n" for title, found in parts if found)


def main() -> None:
    """What the command line asks for."""
    warnings.simplefilter("ignore")
    if sys.argv[1:2] == ["--table"]:
        rows = [json.loads(line) for path in sys.argv[2:] for line in Path(path).read_text(encoding="utf-8").splitlines()]
        TABLE.write_text(table(rows), encoding="utf-8")
        return
    Watch().compiled(is_doctest)("warm up")  # once: what runs the tests are copies of this process, which has loaded everything
    told = subprocess.run(["git", "log", "-1", "--format=%h of %cs"], cwd=ROOT, capture_output=True, text=True, check=True)
    for name in sys.argv[1:] or MODULES:
        print(json.dumps({**compare(name), "commit": told.stdout.strip()}), flush=True)


if __name__ == "__main__":
    main()
