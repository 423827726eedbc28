"""The stored parse tables are those of the grammar, and a changed grammar is noticed."""

import json

from lect.ir import tables
from lect.ir.lalr import Parser


def test_stored_tables_are_those_of_the_grammar():
    assert tables.STORED.read_text(encoding="utf-8") == tables.dump(tables.make_tables()), "run `python -m lect.ir.tables`"


def test_tables_of_another_grammar_are_made_anew(tmp_path, monkeypatch):
    stale = json.loads(tables.STORED.read_text(encoding="utf-8"))
    stale["grammar"] = "0" * 16
    path = tmp_path / "grammar.json"
    path.write_text(json.dumps(stale))
    monkeypatch.setattr(tables, "STORED", path)
    assert tables.load_tables()["grammar"] == tables.grammar_hash()


def test_check_fails_without_stored_tables(tmp_path, monkeypatch, capsys):
    monkeypatch.setattr(tables, "STORED", tmp_path / "grammar.json")
    assert tables.main(["--check"]) == 1
    assert "python -m lect.ir.tables" in capsys.readouterr().err
    assert tables.main([]) == 0
    assert tables.main(["--check"]) == 0


def test_parser_hands_rules_their_parts():
    calls = []

    def callbacks(name):
        return lambda parts: calls.append((name, tuple(parts))) or name

    Parser(tables.load_tables(), callbacks).parse("%0 = d.op(%1)")
    assert calls[0] == ("results", (("%0", 0),))
    assert calls[1] == ("plain_operands", (("(%1)", 9),))
    name, parts = calls[2]
    assert name == "pretty"
    assert parts == ("results", ("d.op", 5), None, "plain_operands", None, None, None, None, None)
    assert calls[-1] == ("start", ("pretty",))
