"""Truncated and mutated IR text: always a located error or valid IR that prints and parses again, never anything else.

Each part of each .mlir file in the tree is mutated with a seed made of its name.  By default a file gets 30 mutations, with `-m slow` 1,000.
"""

from __future__ import annotations

import random
import re
from functools import cache

import pytest

from lect.dialects import make_context
from lect.ir import LectError, ParseError, VerifyError, parse_module, print_module, verify
from lect.tools.lect_opt import split_input
from tests.meta.tree import ROOT, tracked_files

FILES = [name for name in tracked_files() if name.suffix == ".mlir"]
TOKEN = re.compile(r'"(?:[^"\\\n]|\\.)*"|[%^@!#]?[\w.$]+|->|::|\s+|.', re.S)
VALUE = re.compile(r"%[\w$]+")
VOCABULARY = (
    *"(){}[]<>,:;=%@!#^\"\\\n\0-.0",
    *("->", "::", "loc", "to", "nan", "inf", "-inf", "true", "none", "f32", "index", "i1", "complex<f32>", "1e999", "0x", "-", "9" * 40),
    *("%0", "^bb0", "@f", "!t", "#a", "d.op", '"d.op"', "//", "builtin.module", "\ud800", "é", "\x7f", "<<<<", ">>>>", "[[[["),
)


@cache
def parts_of(name: str) -> tuple[str, ...]:
    """The parts of a file, without the empty lines that keep line numbers and without comments (which nothing can break)."""
    text = (ROOT / name).read_text(encoding="utf-8")
    parts = [re.sub(r"^\s*//.*\n", "", part, flags=re.M).strip("\n") for part in split_input(text)]
    return tuple(part for part in parts if part)


def truncate(text: str, rng: random.Random) -> str:
    return text[: rng.randrange(len(text))]


def cut(text: str, rng: random.Random) -> str:
    start = rng.randrange(len(text))
    return text[:start] + text[start + rng.randint(1, 20) :]


def change_token(text: str, rng: random.Random) -> str:
    tokens = TOKEN.findall(text)
    for _ in range(rng.choice((1, 1, 1, 2, 5))):
        place = rng.randrange(len(tokens))
        tokens[place] = rng.choice((rng.choice(VOCABULARY), rng.choice(tokens), "", tokens[place] * 2))
    return "".join(tokens)


def swap_tokens(text: str, rng: random.Random) -> str:
    tokens = TOKEN.findall(text)
    a, b = rng.randrange(len(tokens)), rng.randrange(len(tokens))
    tokens[a], tokens[b] = tokens[b], tokens[a]
    return "".join(tokens)


def change_character(text: str, rng: random.Random) -> str:
    place = rng.randrange(len(text))
    return text[:place] + rng.choice((*'(){}[]<>,:;=%@!#^"\\\n-.0aZ_ ', chr(rng.randrange(1, 0x3000)))) + text[place + 1 :]


def move_lines(text: str, rng: random.Random) -> str:
    lines = text.split("\n")
    line = lines.pop(rng.randrange(len(lines)))
    lines.insert(rng.randrange(len(lines) + 1), line if rng.random() < 0.7 else line + "\n" + line)
    return "\n".join(lines)


MUTATIONS = (truncate, cut, change_token, change_token, swap_tokens, change_character, move_lines)


def mutants(name: str, count: int):
    """Reproducible variants of the parts of a file."""
    parts = parts_of(name)
    for number in range(count if parts else 0):
        rng = random.Random(f"{name}:{number}")
        text = rng.choice(parts)
        mutation = rng.choice(MUTATIONS)
        yield number, mutation(text, rng)


def check(text: str) -> None:
    """A located error, or IR that survives printing in both forms."""
    ctx = make_context(allow_unregistered=True)
    try:
        module = parse_module(text, ctx, "mutant.mlir")
    except ParseError as error:
        assert error.loc.file == "mutant.mlir", error.render()
        assert 1 <= error.loc.line <= text.count("\n") + 1, error.render()
        return
    try:
        verify(module)
    except VerifyError as error:
        assert error.loc.known or "loc(unknown)" in text, error.render()
        return
    printed = print_module(module)
    assert print_module(parse_module(printed, ctx)) == printed
    generic = print_module(module, generic=True)
    again = parse_module(generic, ctx)
    assert print_module(again, generic=True) == generic
    assert VALUE.sub("%", print_module(again)) == VALUE.sub("%", printed)  # names differ where nested isolated operations repeat them


def run(name: str, count: int) -> None:
    for number, text in mutants(name, count):
        try:
            check(text)
        except Exception as error:
            kind = "a wrong error" if isinstance(error, LectError | AssertionError) else type(error).__name__
            pytest.fail(f"mutant {number} of {name} gives {kind}: {error}\n--- text ---\n{text}")


@pytest.mark.parametrize("name", FILES, ids=str)
def test_few_mutants(name):
    run(str(name), 30)


@pytest.mark.slow
@pytest.mark.parametrize("name", FILES, ids=str)
def test_a_thousand_mutants(name):
    run(str(name), 1000)


def test_mutations_do_something():
    changed = [text for number, text in mutants("tests/lit/ir/names.mlir", 50) if text not in parts_of("tests/lit/ir/names.mlir")]
    assert len(changed) > 40
