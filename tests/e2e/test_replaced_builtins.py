"""No stale result: a name of Python's builtins may stand for something else at the next call, or in the middle of one."""

import builtins
import functools
import sys
import types

import pytest
import torch

import lect
from tests.e2e.support import same, stops, versions

HERE = sys.modules[__name__]
ABS = builtins.abs


@pytest.fixture(autouse=True)
def builtins_as_before():
    yield
    builtins.abs = ABS


def callee(x):
    return x * abs(-2)


def numbers():
    for number in (-1, -2):
        yield abs(number)


@lect.disable
def replace_abs():
    builtins.abs = lambda value: 11


def in_a_frame(x):
    return x * abs(-2)


def in_a_callee(x):
    return callee(x) + 1


def in_a_comprehension(x):
    return x * sum([abs(number) for number in (-1, 2)])


def in_a_generator(x):
    return x * sum(numbers())


def in_a_class_body(x):
    class Made:
        value = abs(-3)

    return x * Made.value


def behind_a_break(x):
    y = x + 1
    print(end="")
    return y * abs(-2)


def as_a_value(x):
    return x * sum(map(abs, [1, -3])) + sorted([1, -3], key=abs)[0]


def with_a_parameter_of_the_name(x, abs=3):
    return callee(x) * abs


PROGRAMS = [in_a_frame, in_a_callee, in_a_comprehension, in_a_generator, in_a_class_body, behind_a_break, as_a_value, with_a_parameter_of_the_name]


@pytest.mark.parametrize("program", PROGRAMS, ids=lambda program: program.__name__)
def test_replaced_between_two_calls(program, monkeypatch):
    compiled, x = lect.compile(program), torch.randn(3)
    same(program(x), compiled(x))
    for new in (lambda value: 7, lambda value: value * value, ABS):
        monkeypatch.setattr(builtins, "abs", new)
        same(program(x), compiled(x))
    assert not any(number == "LB0020" for number in stops())


def test_replaced_during_a_call(monkeypatch):
    def program(x):
        y = x * abs(-2)
        replace_abs()
        return y + abs(-2)

    def written_in_the_frame(x):
        y = x * abs(-2)
        builtins.abs = lambda value: 13
        return y + abs(-2)

    for run in (program, written_in_the_frame):
        compiled, x = lect.compile(run), torch.randn(3)
        for _ in range(2):
            builtins.abs = ABS
            want = run(x)
            builtins.abs = ABS
            same(want, compiled(x))
            assert builtins.abs(-2) != 2


def test_added_and_deleted(monkeypatch):
    def program(x):
        try:
            return x * a_new_name  # noqa: F821
        except NameError:
            return x + abs(-1)

    compiled, x = lect.compile(program), torch.randn(3)
    for held, value in ((builtins, 5), (HERE, 6), (builtins, 7)):
        same(program(x), compiled(x))
        with monkeypatch.context() as patch:
            patch.setattr(held, "a_new_name", value, raising=False)
            same(program(x), compiled(x))
    monkeypatch.delattr(builtins, "abs")
    with pytest.raises(NameError):
        compiled(x)


def test_a_number_of_the_program_among_the_builtins(monkeypatch):
    def program(x):
        return x * a_new_name  # noqa: F821

    compiled, x = lect.compile(program), torch.randn(3)
    for value in (3, 4, 3.0):
        monkeypatch.setattr(builtins, "a_new_name", value, raising=False)
        same(program(x), compiled(x))


def made_with(own):
    names = {"__builtins__": own}
    exec("def program(x): return x * abs(-2)", names)
    return names["program"]


def test_functions_with_builtins_of_their_own():
    own = {"abs": lambda value: 5}
    program, x = made_with(own), torch.randn(3)

    def caller(x):
        return program(x) + 1

    for run in (program, caller):
        own["abs"] = lambda value: 5
        compiled = lect.compile(run)
        same(run(x), compiled(x))
        own["abs"] = lambda value: 6
        same(run(x), compiled(x))
        program.__globals__["__builtins__"] = {"abs": ABS}  # which counts for functions that are made later
        same(run(x), compiled(x))


def test_modules_with_builtins_of_their_own(monkeypatch):
    module = types.ModuleType("module_with_builtins")
    monkeypatch.setitem(sys.modules, module.__name__, module)
    exec("def before(x): return x * abs(-2)", vars(module))
    module.__builtins__ = {"abs": lambda value: 8}
    exec("def after(x): return x * abs(-2)", vars(module))
    x = torch.randn(3)
    for program in (module.before, module.after):
        compiled = lect.compile(program)
        same(program(x), compiled(x))
        module.__builtins__["abs"] = lambda value: 9
        same(program(x), compiled(x))


def test_imports_and_classes_of_the_program(monkeypatch):
    def imports(x):
        import math

        return x * math.floor(2.5)

    def defines(x):
        class Made:
            value = 3

        return x * Made.value

    def import_it(name, *args, importer=builtins.__import__, **kwargs):
        return types.SimpleNamespace(floor=lambda value: 40) if name == "math" else importer(name, *args, **kwargs)

    def build(*args, make=builtins.__build_class__):
        made = make(*args)
        made.value = 8
        return made

    x = torch.randn(3)
    for program, name, new in ((imports, "__import__", import_it), (defines, "__build_class__", build)):
        compiled = lect.compile(program)
        same(program(x), compiled(x))
        with monkeypatch.context() as patch:
            patch.setattr(builtins, name, new)
            same(program(x), compiled(x))
        same(program(x), compiled(x))
    monkeypatch.setitem(sys.modules, "math", types.SimpleNamespace(__name__="math", floor=lambda value: 50))
    same(imports(x), lect.compile(imports)(x))


def test_a_loaded_module_is_replaced(monkeypatch):
    def program(x):
        import module_to_replace
        from module_to_replace import scale

        return x * scale + module_to_replace.shift

    compiled, x = lect.compile(program), torch.randn(3)
    for scale, shift in ((2, 3), (4, 5)):
        module = types.ModuleType("module_to_replace")
        module.scale, module.shift = scale, shift
        monkeypatch.setitem(sys.modules, module.__name__, module)
        same(program(x), compiled(x))


def test_other_builtins_make_no_new_version(monkeypatch):
    lect.reset()
    compiled, x = lect.compile(in_a_frame), torch.randn(3)
    compiled(x)
    monkeypatch.setattr(builtins, "a_new_name", 5, raising=False)
    monkeypatch.setattr(builtins, "divmod", lambda a, b: None)
    compiled(x)
    assert versions() == 1
    monkeypatch.setattr(builtins, "abs", lambda value: 7)
    compiled(x)
    missed = lect.events("guard miss")[-1]
    assert "abs" in missed.expected and "abs is builtins.function" in missed.found


CALLED_BY_LECT = ("len", "isinstance", "max", "sum", "zip", "any", "all", "sorted", "getattr", "id", "map", "next", "iter", "repr", "hash", "vars", "issubclass")


def test_what_a_program_puts_among_the_builtins_is_not_called_by_lect(monkeypatch):
    callers = set()

    def watched(own):
        def new(*args, **kwargs):
            callers.add(sys._getframe(1).f_globals["__name__"].partition(".")[0])
            return own(*args, **kwargs)

        return new

    def program(x):
        return x * len([1, 2]) + max(1, 2) + sum([abs(number) for number in (-1, 2)])

    compiled, x = lect.compile(program), torch.randn(3)
    with monkeypatch.context() as patch:
        for name in CALLED_BY_LECT:
            patch.setattr(builtins, name, watched(getattr(builtins, name)))
        found = compiled(x)
    assert "lect" not in callers
    same(program(x), found)
    assert not any(number == "LB0020" for number in stops())


def test_len_takes_only_what_can_be_hashed_while_parts_of_a_function_are_compiled():
    def program(x):
        before = builtins.len
        try:
            builtins.len = functools.lru_cache(4)(len)
            for size in (0, 1, 2, 1):
                x = x * 2 + len("abc"[:size])
        finally:
            builtins.len = before
        return x

    own, x = len, torch.randn(3)
    found = lect.compile(program)(x)
    assert builtins.len is own
    same(program(x), found)
