"""Containers that take results of each call: what is overwritten is not asked for, so other lengths need no new version; what is read is."""

from __future__ import annotations

from typing import Any

import pytest
import torch

import lect


@pytest.fixture(autouse=True)
def _clean():
    lect.reset()
    yield
    lect.reset()


def stored(seen: dict[Any, Any], y: torch.Tensor) -> None:
    for layer in range(4):
        seen[f"layer {layer}"] = y * layer


def updated(seen: dict[Any, Any], y: torch.Tensor) -> None:
    seen.update(a=y, b=y + 1)
    seen |= {"c": y}


def cleared(seen: dict[Any, Any], y: torch.Tensor) -> None:
    seen.clear()
    seen["a"] = y


def read_back(seen: dict[Any, Any], y: torch.Tensor) -> None:
    seen["a"] = y
    seen["b"] = seen["a"] * 2
    seen["length"] = len(seen)


def removed(seen: dict[Any, Any], y: torch.Tensor) -> None:
    seen["a"] = y
    seen["b"] = y
    del seen["a"]
    seen["keys"] = list(seen)


def other_names(seen: dict[Any, Any], y: torch.Tensor) -> None:
    """Kept under a name that is not a text, beside texts."""
    seen[0] = y
    seen["0"] = y * 2
    seen[True] = y * 3


# Versions: one for a length, one for all; where the keys are asked for, one more for each set of them.
MOST = {stored: 2}


@pytest.mark.parametrize("keep", [stored, updated, cleared, read_back, removed, other_names])
def test_what_is_overwritten_needs_no_version(keep):
    def program(x, seen):
        y = x.exp()
        keep(seen, y)
        return y.sum()

    compiled = lect.compile(program, fullgraph=True)
    ours: dict[Any, Any] = {"first": 1}
    theirs: dict[Any, Any] = {"first": 1}
    for length in (4, 5, 6, 7, 9):
        x = torch.randn(length)
        torch.testing.assert_close(compiled(x, ours), program(x, theirs))
        assert list(ours) == list(theirs)
        for key, value in theirs.items():
            if isinstance(value, torch.Tensor):
                torch.testing.assert_close(ours[key], value)
            else:
                assert ours[key] == value
    assert len(lect.events("trace")) <= MOST.get(keep, 5)


def test_a_list_of_slots():
    def program(x, slots):
        slots[-1] = x * 2
        slots[0] = x * 3
        return x + 1

    compiled = lect.compile(program, fullgraph=True)
    ours, theirs = [None, 5, None], [None, 5, None]
    for length in (4, 5, 6, 7):
        x = torch.randn(length)
        assert torch.equal(compiled(x, ours), program(x, theirs))
        assert ours[1] == 5 and torch.equal(ours[0], theirs[0]) and torch.equal(ours[2], theirs[2])


def test_an_old_value_that_is_read_first_is_the_old_one():
    def program(x, seen):
        old = seen.get("a")
        seen["a"] = x * 2
        seen["b"] = x if old is None else x + old.sum()
        return seen["b"] * 1

    compiled = lect.compile(program)
    ours, theirs = {}, {}
    for length in (4, 4, 5, 6):
        x = torch.randn(length)
        torch.testing.assert_close(compiled(x, ours), program(x, theirs))
        torch.testing.assert_close(ours, theirs)


def test_two_names_of_one_dictionary():
    def program(x, seen, again):
        seen["a"] = x * 2
        return again["a"] + 1 if "a" in again else x

    compiled = lect.compile(program)
    for _ in range(2):
        shared = {"a": torch.zeros(4)}
        x = torch.randn(4)
        assert torch.equal(compiled(x, shared, shared), x * 2 + 1)
        assert torch.equal(compiled(x, {}, {}), x)
        assert torch.equal(compiled(x, {}, {"a": x}), x + 1)


def test_a_class_that_takes_items_its_own_way_is_called():
    class Names(dict):
        def __setitem__(self, key, value):
            dict.__setitem__(self, key.upper(), value)

    def program(x, seen):
        seen["a"] = x * 2
        return x + 1

    ours = Names()
    compiled = lect.compile(program)
    plain: dict[str, Any] = {}
    x = torch.randn(3)
    for _ in range(2):
        compiled(x, plain)
        compiled(x, ours)
    assert list(ours) == ["A"] and list(plain) == ["a"]
