"""A loop with a break in each turn: the number of graphs and versions does not grow with the number of turns."""

from __future__ import annotations

import contextlib
import io
import itertools
import operator
from collections.abc import Callable, Iterator
from typing import Any

import pytest
import torch
from torch import nn

import lect
from lect.runtime import native_guards
from tests.e2e.support import fallbacks, same

MOST_VERSIONS = 16


@pytest.fixture(autouse=True)
def fresh() -> Iterator[None]:
    lect.reset()
    yield
    lect.reset()


def in_enumerate(layers: nn.ModuleList, x: Any) -> Any:
    for number, layer in enumerate(layers):
        x = layer(x)
        print(number)
    return x


def in_zip(layers: nn.ModuleList, x: Any) -> Any:
    for layer, scale in zip(layers, range(1, 100)):
        x = layer(x) / scale
        print(scale)
    return x


def in_items(layers: nn.ModuleList, x: Any) -> Any:
    for name, layer in {f"layer {number}": layer for number, layer in enumerate(layers)}.items():
        x = layer(x)
        print(name)
    return x


def in_range(layers: nn.ModuleList, x: Any) -> Any:
    for number in range(len(layers)):
        x = layers[number](x)
        print(number)
    return x


def in_reversed(layers: nn.ModuleList, x: Any) -> Any:
    for layer in reversed(layers):
        x = layer(x)
        print("turn")
    return x


def in_map(layers: nn.ModuleList, x: Any) -> Any:
    for y in map(operator.methodcaller("forward", x), layers):
        x = x + y
        print("turn")
    return x


def in_while(layers: nn.ModuleList, x: Any) -> Any:
    number = 0
    while number < len(layers):
        x = layers[number](x)
        print(number)
        number += 1
    return x


def under_with_and_try(layers: nn.ModuleList, x: Any) -> Any:
    for number, layer in enumerate(layers):
        with contextlib.suppress(ValueError):
            try:
                x = layer(x)
                print(number)
                if number % 2:
                    raise ValueError(number)
                x = x * 2
            finally:
                x = x + 1
    return x


def in_loops(layers: nn.ModuleList, x: Any) -> Any:
    for layer in layers:
        for scale in (0.5, 2.0):
            x = layer(x) * scale
            print(scale)
    return x


def into_a_list(layers: nn.ModuleList, x: Any) -> Any:
    found = []
    for number in range(len(layers)):
        found.append(layers[number](x))
        print(len(found))
        x = x + found[number]
    return found


def into_a_dictionary(layers: nn.ModuleList, x: Any) -> Any:
    found = {}
    for number, layer in enumerate(layers):
        found[number] = layer(x)
        print("turn")
        x = x + number
    return found


PROGRAMS = [in_enumerate, in_zip, in_items, in_range, in_reversed, in_map, in_while, under_with_and_try, in_loops, into_a_list, into_a_dictionary]


def made(count: int) -> nn.ModuleList:
    return nn.ModuleList([nn.Linear(4, 4) for _ in range(count)]).requires_grad_(False)


def run(fn: Callable[..., Any], layers: nn.ModuleList, x: torch.Tensor) -> tuple[Any, str]:
    out = io.StringIO()
    with contextlib.redirect_stdout(out):
        returned = fn(layers, x)
    return returned, out.getvalue()


@pytest.mark.parametrize("program", PROGRAMS, ids=lambda program: program.__name__)
def test_versions_do_not_grow_with_the_turns(program: Callable[..., Any]) -> None:
    counts = []
    for turns in (7, 11):
        lect.reset()
        compiled, layers = lect.compile(program), made(turns)
        for _ in range(2):
            x = torch.randn(2, 4)
            same(run(program, layers, x), run(compiled, layers, x))
        counts.append(len(lect.events("compile")))
        assert set(fallbacks()) <= {"LB0022"}
    assert counts[0] == counts[1] <= MOST_VERSIONS


def test_a_number_of_many_values_is_told() -> None:
    run(lect.compile(in_range), made(6), torch.randn(2, 4))
    (event,) = [event for event in lect.events("graph break") if event.number == "LB0032"]
    assert "another value in each turn" in str(event) and 'L["stack.1"]' in str(event)


def test_the_layers_of_a_model_have_tables_of_their_own() -> None:
    native_guards.meter().asked += native_guards.GUARDS_BEFORE_NATIVE
    layers, x = made(20), torch.randn(2, 4)
    compiled = lect.compile(in_enumerate)
    for _ in range(60):
        got = run(compiled, layers, x)
    same(run(in_enumerate, layers, x), got)
    layers[7] = nn.Linear(4, 4, bias=False).requires_grad_(False)
    same(run(in_enumerate, layers, x), run(compiled, layers, x))


class Rows:
    """A sequence of the program, which notes what it is asked for."""

    def __init__(self, *rows: Any) -> None:
        self.rows = rows
        self.asked: list[int] = []

    def __len__(self) -> int:
        return len(self.rows)

    def __getitem__(self, number: int) -> Any:
        self.asked.append(number)
        return self.rows[number]


def backwards(rows: Rows, x: Any) -> Any:
    rest = reversed(rows)
    first = next(rest)
    return x * first, [x + row for row in rest], list(rest), [row for row in reversed(rows) if row is not first]


def test_reversed_asks_a_sequence_of_the_program() -> None:
    x, items = torch.randn(3), (torch.randn(3), 2.0, torch.randn(3))
    one, other = Rows(*items), Rows(*items)
    compiled = lect.compile(backwards)
    for _ in range(3):
        same(backwards(one, x), compiled(other, x))
        assert one.asked == other.asked
    assert not lect.events("graph break", "fallback")


def running(x: Any, first: Any) -> Any:
    plain = list(itertools.accumulate([x, x * 2], initial=first))
    return plain, list(itertools.accumulate(iter([x, x]), torch.mul, initial=x)), list(itertools.accumulate([], initial=first))


def test_accumulate_begins_with_a_tensor() -> None:
    compiled = lect.compile(running)
    for first in (torch.randn(3), torch.randn(3), None):
        x = torch.randn(3)
        same(running(x, first), compiled(x, first))
    assert not lect.events("graph break", "fallback")
