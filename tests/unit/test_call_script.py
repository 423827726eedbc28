"""A call as a Python program: the objects that it makes are those of the call, but for the elements of tensors."""

import enum
import functools
import math
import os
from collections import OrderedDict, defaultdict, deque, namedtuple
from dataclasses import dataclass, field

import pytest
import torch

from lect.runtime.call_script import CallScript
from lect.tools import replay

Point = namedtuple("Point", "a b")


class Color(enum.Enum):
    RED = 1


@dataclass
class Config:
    size: int = 3
    names: list[str] = field(default_factory=list)


class Slotted:
    __slots__ = ("left", "right")


class Table(dict):
    pass


class Net(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.linear = torch.nn.Linear(3, 2)
        self.register_buffer("count", torch.zeros((), dtype=torch.int64))
        self.act = torch.nn.functional.gelu

    def forward(self, x):
        return self.act(self.linear(x))


def made_with(k, *, by=2):
    def inner(x, c=5, *, d=7):
        return x * k + c + d + by

    return inner


def again(value):
    """`value` made again by the program, and what it could not carry."""
    script = CallScript()
    text = script.expression(value)
    names = {name: getattr(replay, name) for name in replay.__all__}
    exec("\n".join([*script.lines, f"result = {text}"]), names)
    return names["result"], script.missing


@pytest.mark.parametrize(
    "value",
    [
        None,
        True,
        -0.0,
        float("inf"),
        1 + 2j,
        "a'b\n",
        b"\x00",
        torch.float16,
        torch.channels_last,
        torch.device("cpu"),
        torch.Size([2, 3]),
        range(3),
        slice(1, None, 2),
        [1, [2.5, (3,)]],
        {"a": {1, 2}, 2: frozenset([3])},
        OrderedDict(a=1),
        defaultdict(list, a=[1]),
        deque([1, 2], maxlen=3),
        Point(1, "x"),
        Color.RED,
        Config(4, ["a"]),
        math.sqrt,
        torch.relu,
        torch.nn.functional.gelu,
        torch.Tensor.add,
        object.__eq__,
        made_with,
        Net,
    ],
    ids=lambda value: f"{type(value).__name__}-{str(value)[:20]}",
)
def test_an_object_comes_again(value):
    got, missing = again(value)
    assert not missing
    assert type(got) is type(value)
    assert got == value
    assert repr(got) == repr(value)


def test_nan_comes_again():
    got, _ = again(float("nan"))
    assert math.isnan(got)


@pytest.mark.parametrize(
    "value",
    [
        torch.randn(2, 3),
        torch.randn(4, 3).t(),
        torch.randn(3, 1).expand(3, 4),
        torch.randn(()),
        torch.empty(0, 2),
        torch.arange(3),
        torch.tensor([True]),
        torch.randn(2, dtype=torch.complex64),
        torch.randn(2, requires_grad=True),
        torch.randn(2, requires_grad=True) * 2,
        torch.nn.Parameter(torch.randn(2)),
        torch.nn.Parameter(torch.randn(2), requires_grad=False),
        torch.randn(2, dtype=torch.bfloat16),
    ],
    ids=lambda value: f"{value.dtype}-{tuple(value.shape)}-{value.stride()}-{value.requires_grad}",
)
def test_a_tensor_has_its_metadata_again(value):
    got, missing = again(value)
    assert not missing

    def facts(one):
        return type(one), one.shape, one.stride(), one.dtype, one.requires_grad, one.is_leaf

    assert facts(got) == facts(value)


def test_one_object_stays_one_and_cycles_close():
    inner = [1]
    value = {"a": inner, "b": inner}
    value["me"] = value
    got, missing = again(value)
    assert not missing
    assert got["a"] is got["b"]
    assert got["me"] is got


def test_functions_keep_defaults_and_cells():
    got, missing = again(made_with(3, by=4))
    assert not missing
    assert got(2) == made_with(3, by=4)(2)
    bound, missing = again(functools.partial(made_with(3), 2, c=1))
    assert not missing
    assert bound() == made_with(3)(2, c=1)


def test_objects_and_modules_come_without_their_init():
    net = Net()
    got, missing = again(net)
    assert not missing
    assert type(got) is Net
    assert [name for name, _ in got.named_parameters()] == [name for name, _ in net.named_parameters()]
    assert got(torch.ones(1, 3)).shape == (1, 2)
    slotted = Slotted()
    slotted.left = [1]
    got, missing = again([slotted, slotted.left])
    assert not missing
    assert got[0].left is got[1]
    assert not hasattr(got[0], "right")
    table = Table(a=1)
    table.more = 2
    got, _ = again(table)
    assert (type(got), dict(got), got.more) == (Table, {"a": 1}, 2)


def test_iterators_go_on_where_they_were():
    for values in ([1, 2, 3], (1, 2, 3), range(1, 4), zip("abc", [1, 2, 3]), enumerate("abc"), reversed([1, 2, 3])):
        it = iter(values)
        next(it)
        got, missing = again(it)
        assert not missing
        assert type(got) is type(it)
        assert list(got) == list(it)


def test_exceptions_have_arguments_attributes_and_causes():
    try:
        try:
            raise KeyError("a", 1)
        except KeyError as error:
            raise OSError(2, "no", "file") from error
    except OSError as error:
        error.more = [1]
        got, missing = again(error)
        assert not missing
        assert (type(got), got.args, got.more) == (type(error), error.args, [1])
        assert (type(got.__cause__), got.__cause__.args) == (KeyError, ("a", 1))
        assert got.__context__ is got.__cause__


def test_an_array_has_its_size_and_dtype_again():
    numpy = pytest.importorskip("numpy")
    got, missing = again([numpy.full((2, 3), 7, dtype="int16"), numpy.float32(7)])
    assert not missing
    assert (got[0].shape, got[0].dtype, type(got[1])) == ((2, 3), numpy.dtype("int16"), numpy.float32)
    assert 7 not in got[0]


def test_what_cannot_be_made_again_is_named():
    got, missing = again([(x for x in "ab"), 1])
    assert "generator" in missing[0]
    assert "generator" in repr(got[0])
    assert got[1] == 1
    scope = {}
    exec("def f(x): return x", scope)
    _, missing = again(scope["f"])
    assert missing


class Login:
    def __init__(self):
        self.password = "hunter2"
        self.headers = {"Authorization": "Bearer k-123", "api_key": b"k-123", "accept": "text"}
        self.pad_token, self.pad_token_id, self.key = "<pad>", 7, "left"


def test_private_texts_are_not_written():
    script = CallScript()
    text = "\n".join([script.expression(Login()), *script.lines, script.pairs({"hf_token": "hunter2"}), *script.missing])
    assert "hunter2" not in text
    assert "k-123" not in text
    assert "the text under the name 'password', which may be private" in script.missing
    assert "the text under the name 'hf_token', which may be private" in script.missing


def test_other_texts_stand_for_private_ones():
    login, _ = again(Login())
    assert (login.password, login.headers["api_key"]) == ("x" * 7, b"x" * 5)
    assert (login.pad_token, login.pad_token_id, login.key, login.headers["accept"]) == ("<pad>", 7, "left", "text")


def test_the_environment_is_not_written(monkeypatch):
    monkeypatch.setenv("PATH", "/bin")
    monkeypatch.setenv("A_NAME_OF_MINE", "swordfish")
    for value in (os.environ, os.environb, dict(os.environ), {"nested": [OrderedDict(os.environ)]}, dict(os.environb)):
        script = CallScript()
        text = "\n".join([script.expression(value), *script.lines, *script.missing])
        assert "swordfish" not in text
        assert "A_NAME_OF_MINE" not in text
    assert again(os.environ) == (os.environ, [])
