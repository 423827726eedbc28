"""`python -m lect.ir.tables`: turn `grammar.lark` into the parse tables that `lalr` runs.

    python -m lect.ir.tables            write ir/grammar.json
    python -m lect.ir.tables --check    change nothing; exit 1 when grammar.json is not that of grammar.lark

Lark reads the grammar and constructs the LALR(1) automaton; what is kept of it is below, as plain JSON, so that a program that reads IR need not
import Lark.  When the stored tables are not those of the grammar (someone edits it), they are made anew in memory.
"""

from __future__ import annotations

import json
import sys
import zlib
from operator import itemgetter
from pathlib import Path
from typing import Any

GRAMMAR = Path(__file__).with_name("grammar.lark")
STORED = Path(__file__).with_name("grammar.json")
VERSION = 1  # of the format below


def grammar_hash() -> str:
    """Names the grammar, and the format of its tables."""
    text = GRAMMAR.read_bytes()
    return f"{VERSION}-{len(text)}-{zlib.crc32(text):08x}"


def load_tables() -> dict[str, Any]:
    """The stored tables if they are those of the grammar, else new ones."""
    if STORED.is_file():
        tables = json.loads(STORED.read_bytes())
        if tables.get("grammar") == grammar_hash():
            return tables
    return make_tables()


def make_tables() -> dict[str, Any]:
    """The tables of the grammar:

    terminals   [name, regular expression] in the order in which the lexer tries them; `keywords` are [name, word], `punctuation` [name, text]
    ignore      regular expressions of what stands between tokens
    rules       [left side, number of symbols on the right, callback or None, template]; a template lists the callback's arguments: the position of
                a symbol, -1 for None, or [position] for the list of a repetition, whose members are arguments
    actions     for each state, [terminal, action, terminal, action, ...]; an action n >= 0 goes to state n, n < 0 reduces by rule -1 - n
    gotos       for each state, [left side, state, ...] after a reduction
    """
    import lark

    parser = lark.Lark(GRAMMAR.read_text(encoding="utf-8"), parser="lalr", lexer="basic", maybe_placeholders=True)
    automaton = parser.parser.parser._parse_table  # type: ignore[attr-defined]
    ignored = set(parser.ignore_tokens)
    terminals: list[Any] = []
    keywords: list[Any] = []
    punctuation: list[Any] = []
    for terminal in sorted(parser.terminals, key=lambda t: (-t.priority, -len(t.pattern.value), t.name)):
        text = terminal.pattern.value
        if terminal.name in ignored:
            continue
        if terminal.pattern.type == "re":
            terminals.append([terminal.name, text])
        else:
            (keywords if text.isalpha() else punctuation).append([terminal.name, text])
    rules = sorted(parser.rules, key=lambda rule: (rule.origin.name, rule.order))
    numbers = {rule: number for number, rule in enumerate(rules)}
    states = _states_in_order(automaton)
    place = {state: number for number, state in enumerate(states)}
    known = {terminal.name for terminal in parser.terminals} | {"$END"}
    actions, gotos = [], []
    for state in states:
        moves: list[Any] = []
        jumps: list[Any] = []
        for name, (action, argument) in sorted(automaton.states[state].items(), key=itemgetter(0)):
            target = place[argument] if action.name == "Shift" else -1 - numbers[argument]
            (moves if name in known else jumps).extend((name, target))
        actions.append(moves)
        gotos.append(jumps)
    return {
        "grammar": grammar_hash(),
        "terminals": terminals,
        "keywords": keywords,
        "punctuation": punctuation,
        "ignore": sorted(terminal.pattern.value for terminal in parser.terminals if terminal.name in ignored),
        "rules": [_rule(rule) for rule in rules],
        "start": place[automaton.start_states["start"]],
        "end": place[automaton.end_states["start"]],
        "actions": actions,
        "gotos": gotos,
    }


def _states_in_order(automaton: Any) -> list[Any]:
    """The states as they are met from the start, so that their numbers do not depend on how Lark happened to number them."""
    states = [automaton.start_states["start"]]
    seen = set(states)
    for state in states:
        for _, (action, argument) in sorted(automaton.states[state].items(), key=itemgetter(0)):
            if action.name == "Shift" and argument not in seen:
                seen.add(argument)
                states.append(argument)
    return states


def _rule(rule: Any) -> list[Any]:
    gaps = rule.options.empty_indices or [False] * len(rule.expansion)
    template: list[Any] = []
    position = 0
    for absent in gaps:
        if absent:
            template.append(-1)
            continue
        symbol = rule.expansion[position]
        if not symbol.is_term and symbol.name.startswith("_"):
            template.append([position])
        elif not (symbol.is_term and symbol.filter_out):
            template.append(position)
        position += 1
    name = rule.origin.name
    callback = None if name.startswith("_") else rule.alias or name
    return [name, len(rule.expansion), callback, template]


def dump(tables: dict[str, Any]) -> str:
    """The tables as JSON, one entry a line so that a change shows."""
    parts = []
    for key, value in tables.items():
        if isinstance(value, list):
            rows = ",\n".join(json.dumps(row, separators=(",", ":")) for row in value)
            parts.append(f'"{key}": [\n{rows}\n]')
        else:
            parts.append(f'"{key}": {json.dumps(value)}')
    return "{\n" + ",\n".join(parts) + "\n}\n"


def main(arguments: list[str]) -> int:
    """Write or compare the stored tables; 0 when they are right."""
    text = dump(make_tables())
    if "--check" in arguments:
        if STORED.is_file() and STORED.read_text(encoding="utf-8") == text:
            return 0
        print(f"{STORED.name} is not that of {GRAMMAR.name}; run `python -m lect.ir.tables`", file=sys.stderr)
        return 1
    STORED.write_text(text, encoding="utf-8")
    return 0


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))
