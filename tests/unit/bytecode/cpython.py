"""CPython's own tests of language features, executed from round-tripped code: `python cpython.py MODULE...` prints one line of JSON.

Each module of the `test` package is compiled, its code objects go through decode -> print -> parse -> assemble, and its tests run twice: from the
original code and from the round-tripped one.  A test that passes in the first run must pass in the second.
"""

from __future__ import annotations

import importlib.util
import io
import json
import sys
import unittest
import warnings
from pathlib import Path
from types import CodeType, ModuleType

ROOT = Path(__file__).resolve().parents[3]
if __name__ == "__main__":
    sys.path[:0] = [str(ROOT / "src"), str(Path(__file__).parent)]

from execution import round_trip  # noqa: E402

from lect.ir import LectError  # noqa: E402

MODULES = (
    "test_augassign test_bool test_builtin test_class test_compare test_comprehensions test_contains test_contextlib test_decorators test_dictcomps"
    " test_dynamic test_except_star test_exception_group test_exception_variations test_exceptions test_extcall test_fstring test_funcattrs test_generators"
    " test_genexps test_global test_grammar test_int test_iter test_keywordonlyarg test_listcomps test_metaclass test_named_expressions test_opcodes"
    " test_patma test_positional_only_arg test_raise test_richcmp test_scope test_setcomps test_slice test_string_literals test_super test_traceback test_tuple"
    " test_type_params test_unary test_unpack test_unpack_ex test_weakref test_with test_dataclasses test_enum test_list test_dict test_set test_range"
).split()


# What assembled code does not keep, and these look at: line events at instructions that do nothing (`pass`, `case _:`).
NOT_KEPT = ("TestTracing",)


def load(name: str, changed: bool) -> ModuleType | None:
    """A test module executed as it is or round-tripped; None when this Python has none of that name."""
    spec = importlib.util.find_spec(f"test.{name}")
    if spec is None or spec.origin is None:
        return None
    code = compile(Path(spec.origin).read_bytes(), spec.origin, "exec", dont_inherit=True)
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    exec(transformed(code) if changed else code, module.__dict__)
    return module


def transformed(code: CodeType) -> CodeType:
    """The code of a module, round-tripped."""
    return round_trip(code)


def outcomes(module: ModuleType) -> dict[str, str]:
    """How each test of a module ends."""
    result = unittest.TestResult()
    suite = unittest.defaultTestLoader.loadTestsFromModule(module)
    names = [test.id() for test in _tests(suite)]
    stdout, sys.stdout = sys.stdout, io.StringIO()
    try:
        suite.run(result)
    finally:
        sys.stdout = stdout
    ended = dict.fromkeys(names, "passed")
    for kind, pairs in (("failed", result.failures), ("error", result.errors), ("skipped", result.skipped)):
        for test, text in pairs:
            ended[test.id()] = kind if kind == "skipped" else f"{kind}: {text.strip().splitlines()[-1][:200]}"
    return ended


def _tests(suite: unittest.TestSuite) -> list[unittest.TestCase]:
    found: list[unittest.TestCase] = []
    for test in suite:
        found += _tests(test) if isinstance(test, unittest.TestSuite) else [test]  # type: ignore[list-item]
    return found


def _kept(expected: dict[str, str]) -> list[tuple[str, str]]:
    return [(test, how) for test, how in expected.items() if not any(name in test.split(".") for name in NOT_KEPT)]


def main() -> None:
    """Run the modules named on the command line, or all."""
    warnings.simplefilter("ignore")
    count, failures = 0, []
    for name in sys.argv[1:] or MODULES:
        try:
            before, after = load(name, False), None
            expected = outcomes(before) if before is not None else {}
            after = load(name, True)
            found = outcomes(after) if after is not None else {}
        except LectError as error:
            failures.append(f"{name}: {str(error)[:500]}")
            continue
        except ImportError:
            continue  # a test package that is not installed
        count += sum(how == "passed" for how in expected.values())
        failures += [f"{test}: {found.get(test)}" for test, how in _kept(expected) if how == "passed" and found.get(test) != "passed"]
    print(json.dumps({"passed": count, "failures": failures}))


if __name__ == "__main__":
    main()
