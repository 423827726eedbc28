"""An LALR(1) parser: one regular expression for the tokens, and the automaton of `tables` run over them.

A token that a callback sees is `(text, offset)`.  Each callback gets the values of its rule's symbols as one sequence, in the grammar's order, with
None where an optional part is absent; punctuation is left out.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from operator import itemgetter
from typing import Any

Callback = Callable[[Sequence[Any]], Any]
Token = tuple[str, int]
Whole = Callable[[str, int], tuple[Any, int] | None]
OPERATION = "pretty"  # a rule of what `Whole` knows
END = "$END"


class SyntaxProblem(Exception):
    """The text leaves the language at `offset`: `found` is the token there ('' at the end), `expected` the terminals that may stand there."""

    def __init__(self, offset: int, found: str, expected: list[str]) -> None:
        super().__init__(offset)
        self.offset = offset
        self.found = found
        self.expected = expected


class Parser:
    """The automaton with its callbacks, found by rule name through `callbacks`.  Holds no state between parses."""

    def __init__(self, tables: dict[str, Any], callbacks: Callable[[str], Callback]) -> None:
        # A terminal that begins with an escaped character begins with punctuation, and is tried before it.
        early = [terminal for terminal in tables["terminals"] if terminal[1].startswith("\\")]
        late = [terminal for terminal in tables["terminals"] if not terminal[1].startswith("\\")]
        marks = sorted((text for _, text in tables["punctuation"]), key=len, reverse=True)
        terminals = [*early, ["$MARK", "|".join(map(re.escape, marks))], *late, [END, r"\Z"], ["$STRAY", r"[\s\S]"]]
        # The number of a terminal is its group in the regular expression; each mark has a number of its own behind the groups.  Groups are empty and
        # stand at the end of a token: an alternative that begins with its first character is left at once when that differs.
        self._mark = len(early) + 1
        self._names = ["", *[name for name, _ in [*terminals, *tables["punctuation"], *tables["keywords"]]]]
        number = {name: position for position, name in enumerate(self._names)}
        self._end_kind, self._word = number[END], number["WORD"]
        self._marks = {text: number[name] for name, text in tables["punctuation"]}
        self._keywords = {text: number[name] for name, text in tables["keywords"]}
        skipped = f"(?:{'|'.join(tables['ignore'])})*"
        self._skipped = re.compile(skipped)
        self._tokens = re.compile(f"(?:{'|'.join(f'(?:{pattern})()' for _, pattern in terminals)}){skipped}")
        self._actions = [{number[name]: action for name, action in zip(row[::2], row[1::2])} for row in tables["actions"]]
        self._gotos = [dict(zip(row[::2], row[1::2])) for row in tables["gotos"]]
        self._rules = [(left, size, _reducer(size, template, callback and callbacks(callback))) for left, size, callback, template in tables["rules"]]
        self._start, self._end = tables["start"], tables["end"]
        self._known = next(left for left, _, callback, _ in tables["rules"] if callback == OPERATION)

    def parse(self, text: str, whole: Whole | None = None) -> Any:
        """The value of the start rule.  Raises `SyntaxProblem`, and what callbacks raise.

        `whole` may know what an operation is that begins at an offset: its value, and where what stands behind it begins.
        """
        states, values = [self._start], []  # type: ignore[var-annotated]
        offset = self._skip(text)
        while True:
            done, offset = self._run(text, offset, states, values, whole)
            if done:
                return values[-1]
            assert whole is not None

    def _run(self, text: str, begin: int, states: list[int], values: list[Any], whole: Whole | None) -> tuple[bool, int]:
        """Go on from an offset, to the end or behind an operation that `whole` knows."""
        actions, gotos, rules = self._actions, self._gotos, self._rules
        mark, word, marks, keywords, known = self._mark, self._word, self._marks, self._keywords, self._known
        row = actions[states[-1]]
        for match in self._tokens.finditer(text, begin):
            kind = match.lastindex or 0
            offset = match.start()
            token = text[offset : match.start(kind)]
            if kind == mark:
                kind = marks[token]
            elif kind == word and token in keywords and keywords[token] in row:
                kind = keywords[token]
            action = row.get(kind)
            while action is not None and action < 0:
                left, size, reduce = rules[-1 - action]
                if size:
                    made = reduce(values[-size:])
                    del values[-size:], states[-size:]
                else:
                    made = reduce(())
                values.append(made)
                state = gotos[states[-1]][left]
                states.append(state)
                row = actions[state]
                action = row.get(kind)
            if action is None:
                if kind == self._end_kind and states[-1] == self._end:
                    return True, offset
                raise SyntaxProblem(offset, token, self._accepted(states))
            if whole is not None and known in gotos[states[-1]]:
                found = whole(text, offset)
                if found is not None:
                    values.append(found[0])
                    states.append(gotos[states[-1]][known])
                    return False, found[1]
            states.append(action)
            values.append((token, offset))
            row = actions[action]
        raise AssertionError("the last token is the end")

    def _skip(self, text: str) -> int:
        match = self._skipped.match(text)
        return match.end() if match is not None else 0

    def _accepted(self, states: list[int]) -> list[str]:
        """The terminals that can follow; those in the row of the state that only lead to reductions and then nowhere are left out."""
        return [self._names[kind] for kind in self._actions[states[-1]] if self._can_shift(states, kind)]

    def _can_shift(self, states: list[int], kind: int) -> bool:
        stack = list(states)
        while True:
            action = self._actions[stack[-1]].get(kind)
            if action is None:
                return kind == self._end_kind and stack[-1] == self._end
            if action >= 0:
                return True
            left, size, _ = self._rules[-1 - action]
            if size:
                del stack[-size:]
            stack.append(self._gotos[stack[-1]][left])


def _reducer(size: int, template: list[Any], callback: Callback | None) -> Callback:
    """The function from a rule's values to its value: picks by the template, then calls back (a repetition has no callback: its value is the list)."""
    if callback is None:
        if template and isinstance(template[0], list):
            return _extender(template[1:]) if len(template) > 1 else itemgetter(0)
        return lambda values: [values[part] if part >= 0 else None for part in template]
    if template == list(range(size)):
        return callback
    if not any(isinstance(part, list) for part in template):
        return _picker(template, callback)

    def spliced(values: Sequence[Any]) -> Any:
        out: list[Any] = []
        for part in template:
            if isinstance(part, list):
                out += values[part[0]]
            else:
                out.append(values[part] if part >= 0 else None)
        return callback(out)

    return spliced


def _extender(more: list[int]) -> Callback:
    """The list so far, which is the first value, with more members.  It belongs to nobody else, so it may grow in place."""

    def extend(values: Sequence[Any]) -> list[Any]:
        for part in more:
            values[0].append(values[part] if part >= 0 else None)
        return values[0]

    return extend


def _picker(template: list[int], callback: Callback) -> Callback:
    if len(template) == 1:
        position = template[0]
        return (lambda values: callback((values[position],))) if position >= 0 else (lambda values: callback((None,)))
    if not template:
        return lambda values: callback(())
    pick = itemgetter(*template)
    if -1 not in template:
        return lambda values: callback(pick(values))
    return lambda values: callback(pick((*values, None)))
