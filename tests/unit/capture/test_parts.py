"""The small parts of capture: names of functions, sources, guard predicates."""

import builtins
import math
import operator
import subprocess
import sys
import types
import weakref

import pytest
import torch
import torch.nn.functional as F

from lect.dialects import make_context
from lect.dialects.fx import python_values
from lect.dialects.fx.python_values import decode, resolve
from lect.dialects.guard.types import PathAttr
from lect.frontends.capture.scalars import scalar_attribute
from lect.frontends.capture.sources import SourceTable
from lect.frontends.capture.targets import _names, name_of
from lect.ir import LectError, parse_module, same_attribute
from lect.runtime.guards import HOLDS, RAISED, build_predicate


def test_every_name_leads_back_to_its_function():
    _names.cache_clear()  # it may be older than what importing torch's compiler puts in the place of some
    wrong = [name for value, name in _names().values() if python_values._function.__wrapped__(name) is not value]
    assert wrong == []


def test_a_function_that_torch_itself_replaces_keeps_its_name():
    program = """
import torch, lect
from lect.frontends.capture.targets import name_of
from lect.dialects.fx.python_values import resolve
print(name_of(torch.manual_seed))
old = torch.manual_seed
torch.manual_seed = torch._disable_dynamo(old)  # as when torch's compiler is imported
print(name_of(torch.manual_seed), resolve("torch.manual_seed") is torch.manual_seed, name_of(old))
torch.manual_seed = lambda seed: old(seed)
torch.manual_seed.__name__, torch.manual_seed.__module__ = "manual_seed", "torch.random"
print(name_of(torch.manual_seed))
"""
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
    assert done.stdout.splitlines() == ["torch.manual_seed", "torch.manual_seed True None", "None"], done.stderr


def test_names_are_found_without_the_table_that_holds_them_all():
    _names.cache_clear()
    table = _names()
    others = [value for namespace in (builtins, operator, math, list, dict, str, object, pytest, torch, torch.nn) for value in vars(namespace).values()]
    others = [value for value in others if not isinstance(value, torch._ops.OpOverloadPacket)]
    for value in [*(value for value, _ in table.values()), *others, [].append, str.maketrans]:
        entry = table.get(id(value))
        name = entry[1] if entry is not None and entry[0] is value else None
        assert name_of(value) == (name if name is None or resolve(name) is value else None), value


@pytest.mark.parametrize(
    ("function", "name"),
    [
        (torch.softmax, "torch.softmax"),
        (F.gelu, "torch.nn.functional.gelu"),
        (F.max_pool2d, "torch.nn.functional.max_pool2d"),
        (torch.Tensor.view, "torch.Tensor.view"),
        (operator.add, "operator.add"),
        (getattr, "builtins.getattr"),
        (print, None),
        (pytest.skip, None),
    ],
)
def test_public_names(function, name):
    assert name_of(function) == name


@pytest.mark.parametrize("name", ["os.system", "builtins.eval", "torch.nn.Module.__class__", "torch.Tensor.view.__self__", "torch.load.__globals__", "nothing"])
def test_names_outside_of_the_list_are_refused(name):
    with pytest.raises(LectError, match="no function of torch"):
        resolve(name)


@pytest.mark.parametrize(
    "value",
    [1, 1.0, True, None, "x", -0.0, float("inf"), 3 + 4j, ..., torch.float32, torch.float8_e5m2, torch.device("cuda:1"), torch.strided, torch.channels_last],
)
def test_plain_values_survive_as_attributes(value):
    back = decode(scalar_attribute(value), ())
    assert type(back) is type(value)
    assert same_attribute(back, value) if isinstance(value, float) else back == value


def test_sources_are_interned_and_keep_types_of_keys_apart():
    table = SourceTable()
    x = table.local("x")
    assert x.attr("a").item(1) is table.local("x").attr("a").item(1)
    assert len({x.item(1), x.item(True), x.item(1.0), x.item("1")}) == 4
    assert repr(x.attr("a").item("k").step("type")) == 'L["x"].a["k"]:type'


def test_paths_of_sources_are_those_of_their_text():
    table = SourceTable()
    x = table.local("x")
    for source in (x, x.attr("a").item(1), x.item(True).attr("b"), x.item((1, 2.5)), x.item(None).step("type"), table.module("torch").attr("nn"), table.kept(3).item(-0.0)):
        path = source.path()
        assert path is PathAttr(path.root, path.key, path.steps)
        assert path is source.path()
    assert x.item(1).path() is not x.item(True).path() is not x.item(1.0).path()


def predicate(conditions, function, objects=(), **bound):
    """The predicate of one guard set over the arguments of `function(x, y)`."""
    text = 'guard.set @s() {\n  %x = guard.source() {path = #guard.path<L["x"]>} : !guard.object\n'
    text += '  %y = guard.source() {path = #guard.path<L["y"]>} : !guard.object\n' + conditions + "\n}"
    guards = next(iter(parse_module(text, make_context()).body))
    bound = {"x": None, "y": None, **bound}
    return build_predicate(guards, function, {"args": ("x", "y")}, objects, bound).holds


def two(x, y=None):
    return x


class Thing:
    pass


THING = Thing()
THING.a = 1
EMPTY = Thing()


@pytest.mark.parametrize(
    ("condition", "good", "bad"),
    [
        ("guard.equals(%x) {value = 1}", [1], [True, 1.0, 2, None, "1"]),
        ("guard.equals(%x) {value = 0.0}", [0.0], [-0.0, 0, False]),
        ("guard.equals(%x) {value = nan}", [float("nan")], [1.0]),
        ("guard.equals(%x) {value = none}", [None], [0, False]),
        ("guard.equals(%x) {value = true}", [True], [1]),
        ('guard.equals(%x) {value = "a"}', ["a"], ["b", b"a"]),
        ("guard.equals(%x) {value = f32}", [torch.float32], [torch.float64]),
        ("guard.not_none(%x)", [0, "", False], [None]),
        ("guard.length(%x) {length = 2}", [[1, 2], (3, 4), {1: 1, 2: 2}], [[1], 5]),
        ("guard.truth(%x) {value = true}", [[1]], [[]]),
        ("guard.truth(%x) {value = false}", [[]], [[1]]),
        ('guard.keys(%x) {keys = ["a", 1]}', [{"a": 0, 1: 0}], [{1: 0, "a": 0}, {"a": 0}, {"a": 0, True: 0}]),
        ("guard.items(%x) {items = [1, 2.0]}", [[1, 2.0], (1, 2.0)], [[1, 2], [1], [1.0, 2.0]]),
        ('guard.has_key(%x) {key = "a"}', [{"a": 1}], [{}]),
        ('guard.has_key(%x) {key = "a", present = false}', [{}], [{"a": 1}]),
        ('guard.no_attr(%x) {names = ["a", "b"]}', [EMPTY], [THING]),
        ("guard.tensor(%x) {dtype = f32, sizes = [2, 3], strides = [3, 1]}", [torch.ones(2, 3)], [torch.ones(3, 2), torch.ones(3, 2).t(), torch.ones(2, 3).double(), None]),
        ("guard.tensor(%x) {dtype = i64, sizes = [], strides = []}", [torch.tensor(1)], [torch.tensor(1.0), torch.tensor([1]), 1]),
        ("guard.same(%x, %y)", [], [1]),
    ],
)  # fmt: skip
def test_guard(condition, good, bad):
    holds = predicate("  " + condition, two, x=(good or bad)[0])
    assert [holds(value) for value in good] == [HOLDS] * len(good)
    assert [value for value in bad if holds(value) == HOLDS] == []


def test_guards_on_two_objects():
    same = predicate("  guard.same(%x, %y)", two)
    distinct = predicate("  guard.distinct(%x, %y)", two)
    overlap = predicate("  guard.no_overlap(%x, %y)", two)
    a, b = torch.ones(3), torch.ones(3)
    assert (same(a, a), same(a, b)) == (HOLDS, 0)
    assert (distinct(a, a), distinct(a, b)) == (0, HOLDS)
    assert (overlap(a, b), overlap(a, a[1:]), overlap(a[:0], a)) == (HOLDS, 0, HOLDS)


def test_objects_are_held_weakly():
    thing = Thing()
    watched = weakref.ref(thing)
    objects = [thing]
    holds = predicate('  guard.is(%x) {is_object = #fx.object<0, "thing">}', two, objects)
    assert holds(thing) == HOLDS
    assert holds(Thing()) == 0
    objects.clear()
    del thing
    assert watched() is None
    assert holds(None) == 0


def test_a_source_that_cannot_be_read_is_a_miss():
    text = '  %a = guard.source() {path = #guard.path<L["x"].missing[3]>} : !guard.object\n  guard.present(%a)'
    holds = predicate(text, two, x=types.SimpleNamespace(missing={3: 1}))
    assert holds(types.SimpleNamespace(missing={3: 1})) == HOLDS
    assert holds(types.SimpleNamespace()) == RAISED
    assert holds(types.SimpleNamespace(missing=[])) == RAISED


def test_the_first_guard_that_fails_is_named():
    holds = predicate("  guard.equals(%x) {value = 1}\n  guard.equals(%y) {value = 2}", two, x=1, y=2)
    assert (holds(1, 2), holds(2, 2), holds(1, 3)) == (HOLDS, 0, 1)
