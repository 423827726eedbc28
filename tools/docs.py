"""`python -m lect.tools.docs`: write the reference of dialects and passes from their docstrings and declarations.

    python -m lect.tools.docs            write docs/reference
    python -m lect.tools.docs --check    change nothing; exit 1 and name each file that differs from the code

docs/graph-breaks.md is made too, from the table of reasons and the programs of `break_examples`.

The text of a dialect is its module docstring, the text of an op its class docstring, the tables come from the
declared fields. Events, options and the grammar for editors come from `reference_pages`. Nothing is written by hand in docs/reference.
"""

from __future__ import annotations

import argparse
import dataclasses
import inspect
import sys
from collections.abc import Iterator
from importlib import import_module
from pathlib import Path

from lect.dialects import make_context
from lect.frontends.capture.breaks import REASONS
from lect.ir import Attribute, Dialect, FuncLike, Operation, attribute_text
from lect.ir.define import FieldSpec, OptionalOperand, Variadic, VariadicRegion, VariadicResult
from lect.ir.structure import describe
from lect.passes import PASSES
from lect.passes.pipelines import ORDER, PIPELINES
from lect.tools import break_prose
from lect.tools.break_examples import EXAMPLES
from lect.tools.reference_pages import events_page, options_page, textmate

HEADER = "<!-- Made by `python -m lect.tools.docs` from {source}. Edit the docstrings there, then run `make docs`. -->"


def main(arguments: list[str] | None = None) -> int:
    """Write the reference or compare it; 0 when it is as it should be."""
    parser = argparse.ArgumentParser(prog="lect.tools.docs", description="Write the reference of dialects and passes.")
    parser.add_argument("--out", type=Path, default=Path("docs/reference"), help="folder of the reference (default: %(default)s)")
    parser.add_argument("--check", action="store_true", help="write nothing, exit 1 if a file differs")
    options = parser.parse_args(arguments)
    pages = reference()
    if options.check:
        wrong = list(differences(pages, options.out))
        for line in wrong:
            print(line, file=sys.stderr)
        return 1 if wrong else 0
    for name, text in pages.items():
        path = options.out / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
    for path in stale_files(pages, options.out):
        path.unlink()
    return 0


def reference() -> dict[str, str]:
    """All pages: file name below the reference folder -> text."""
    context = make_context()
    pages = {}
    for name in context.dialect_names:
        dialect = context.dialect(name)
        assert dialect is not None
        pages[f"dialects/{name}.md"] = dialect_page(dialect)
    pages["passes.md"] = passes_page()
    pages["events.md"] = events_page(HEADER.format(source="runtime/events.py"))
    pages["options.md"] = options_page(HEADER.format(source="runtime/settings.py"))
    pages["lect.tmLanguage.json"] = textmate()
    pages["../graph-breaks.md"] = breaks_page()
    return pages


def differences(pages: dict[str, str], folder: Path) -> Iterator[str]:
    """One sentence for each page that is missing, differs, or should not be there."""
    for name, text in pages.items():
        path = folder / name
        if not path.is_file():
            yield f"{path} is missing; run `make docs`"
        elif path.read_text(encoding="utf-8") != text:
            yield f"{path} differs from the code; run `make docs`"
    for path in stale_files(pages, folder):
        yield f"{path} describes nothing; run `make docs`"


def stale_files(pages: dict[str, str], folder: Path) -> list[Path]:
    """Files in the reference folder that are no page."""
    return sorted(path for path in folder.rglob("*.md") if str(path.relative_to(folder)) not in pages)


# ---- graph breaks ----------------------------------------------------------------------------------------------------


def breaks_page() -> str:
    """The page of all reasons of graph breaks and fallbacks, with a program for each that has one."""
    parts = ["# Graph breaks", HEADER.format(source="frontends/capture/breaks.py"), clean(break_prose.__doc__)]
    rows = [f"| [{number}](#{number.lower()}) | {reason.title} |" for number, reason in sorted(REASONS.items())]
    parts.append("\n".join(["| number | reason |", "|---|---|", *rows]))
    for number, reason in sorted(REASONS.items()):
        parts.append(f"## {number}")
        parts.append(f"**{reason.title}**: {reason.explanation}. What to do: {reason.hint}.")
        example = EXAMPLES.get(number)
        if example is not None:
            parts.append("```python\n" + inspect.getsource(example).rstrip() + "\n```")
    return "\n\n".join(parts) + "\n"


# ---- dialects --------------------------------------------------------------------------------------------------------


def dialect_page(dialect: Dialect) -> str:
    """The page of one dialect: semantics, then ops, types and attributes in the order of their declaration."""
    parts = [f"# The `{dialect.name}` dialect", HEADER.format(source=f"dialects/{dialect.name}"), clean(dialect.doc)]
    if dialect.ops:
        parts.append("## Operations")
        parts.append(" ·\n".join(f"[`{name}`](#{anchor(name)})" for name in dialect.ops))
        parts += [operation_entry(cls) for cls in dialect.ops.values()]
    for title, classes in (("## Types", dialect.types), ("## Attributes", dialect.attrs)):
        if classes:
            parts.append(title)
            parts += [value_class_entry(cls) for cls in classes.values()]
    return "\n\n".join(parts) + "\n"


def operation_entry(cls: type[Operation]) -> str:
    """Name, docstring, shape of the text, table of fields and traits of one op."""
    parts = [f"### `{cls.name}`", clean(cls.__doc__), f"    {signature(cls)}"]
    rows = list(field_rows(cls))
    if rows:
        parts.append("\n".join(["| field | kind | accepts | default |", "|---|---|---|---|", *rows]))
    traits = [trait_text(trait) for trait in cls.traits]
    if traits:
        parts.append("Traits: " + ", ".join(traits) + ".")
    return "\n\n".join(parts)


def signature(cls: type[Operation]) -> str:
    """How the op looks in text, with a name in each place."""
    definition = cls.definition
    if definition is None:
        return cls.name
    results = ", ".join("%" + spread(field) for field in definition.results)
    separator = "; " if definition.needs_segments else ", "
    operands = separator.join("%" + spread(field) for field in definition.operands)
    symbol = " @name" if "sym_name" in definition.attrs else ""
    targets = ", ".join(f"^{field.name}" for field in definition.successors)
    attributes = ", ".join(f"{name} = …" for name in definition.attrs if name != "sym_name")
    parts = [f"{results} = " if results else "", f"{cls.name}{symbol}("]
    parts.append("%arguments...: types)" if FuncLike in cls.traits else f"{operands})")
    parts.append(f"[{targets}]" if targets else "")
    parts.append(f" {{{attributes}}}" if attributes else "")
    several = len(definition.results) > 1 or any(field.kind is VariadicResult for field in definition.results)
    parts.append((" : types" if several else " : type") if results else "")
    parts += [" {…}" for _ in definition.regions]
    return "".join(parts)


def spread(field: FieldSpec) -> str:
    """The field's name, marked `...` when it stands for any number and `?` when it may be absent."""
    if field.kind in (Variadic, VariadicResult, VariadicRegion):
        return field.name + "..."
    return field.name + "?" if field.kind is OptionalOperand else field.name


def field_rows(cls: type[Operation]) -> Iterator[str]:
    """One line of the table for each declared field."""
    definition = cls.definition
    if definition is None:
        return
    for kind, fields in (
        ("operand", definition.operands),
        ("attribute", list(definition.attrs.values())),
        ("result", definition.results),
        ("region", definition.regions),
        ("successor", definition.successors),
    ):
        for field in fields:
            accepts = "" if field.constraint is None else describe(field.constraint)
            default = f"`{escape(attribute_text(field.default))}`" if field.has_default else ""
            yield f"| `{spread(field)}` | {kind} | {escape(accepts)} | {default} |"


def trait_text(trait: object) -> str:
    """`Pure`, `Reads(buffer)`."""
    if isinstance(trait, type):
        return f"`{trait.__name__}`"
    values = [value for name in vars(trait) for value in as_tuple(getattr(trait, name))]
    return f"`{type(trait).__name__}({', '.join(map(str, values))})`"


def as_tuple(value: object) -> tuple[object, ...]:
    """A tuple as it is, anything else as a tuple of one."""
    return value if isinstance(value, tuple) else (value,)


def value_class_entry(cls: type[Attribute]) -> str:
    """Name, docstring and fields of a type or attribute."""
    parts = [f"### `{cls.sigil}{cls.name}`", clean(cls.__doc__)]
    names = getattr(cls, "fields", ())
    if names:
        annotations = inspect.get_annotations(cls)
        rows = [f"| `{name}` | `{escape(annotation_text(annotations.get(name, '')))}` |" for name in names]
        parts.append("\n".join(["| field | holds |", "|---|---|", *rows]))
    return "\n\n".join(parts)


def annotation_text(annotation: object) -> str:
    """An annotation as it is written in the source."""
    if isinstance(annotation, str):
        return annotation
    return annotation.__name__ if isinstance(annotation, type) and not getattr(annotation, "__args__", ()) else str(annotation)


# ---- passes ----------------------------------------------------------------------------------------------------------


def passes_page() -> str:
    """The page of all passes, in the order of the table."""
    parts = ["# Passes", HEADER.format(source="passes/"), " ·\n".join(f"[`{name}`](#{anchor(name)})" for name in PASSES)]
    parts.append("## Pipelines")
    parts.append("A pipeline's name stands for its passes wherever passes are named.")
    parts.append("\n".join(["| pipeline | passes |", "|---|---|", *pipeline_rows()]))
    parts.append("What runs before what, when a pipeline has both:")
    parts.append("\n".join(["| first | second | because |", "|---|---|---|", *order_rows()]))
    for name, target in PASSES.items():
        module, _, class_name = target.partition(":")
        parts.append(pass_entry(name, getattr(import_module(module), class_name)))
    return "\n\n".join(parts) + "\n"


def pipeline_rows() -> Iterator[str]:
    """One line of the table for each named pipeline."""
    for name, passes in PIPELINES.items():
        yield f"| `{name}` | {', '.join(f'`{each}`' for each in passes)} |"


def order_rows() -> Iterator[str]:
    """One line of the table for each ordering constraint."""
    for constraint in ORDER:
        yield f"| `{constraint.first}` | `{constraint.second}` | {escape(constraint.reason)} |"


def pass_entry(name: str, cls: type) -> str:
    """Name, class docstring, module docstring and table of options of one pass."""
    parts = [f"## `{name}`"]
    summary, details = clean(cls.__doc__), clean(sys.modules[cls.__module__].__doc__)
    parts += [details] if summary in details else [summary, details]
    rows = []
    for field in dataclasses.fields(cls):
        default = f"`{field.default!r}`" if field.default is not dataclasses.MISSING else ""
        rows.append(f"| `{field.name}` | `{annotation_text(field.type)}` | {default} | {escape(option_help(field))} |")
    if rows:
        parts.append("\n".join(["| option | type | default | meaning |", "|---|---|---|---|", *rows]))
    return "\n\n".join(part for part in parts if part)


def option_help(field: dataclasses.Field) -> str:
    """What an option means, as its declaration says."""
    return str(field.metadata.get("help", ""))


# ---- text ------------------------------------------------------------------------------------------------------------


def clean(docstring: str | None) -> str:
    """A docstring without its indentation."""
    return inspect.cleandoc(docstring or "")


def escape(text: str) -> str:
    """Text that may stand in a table cell."""
    return text.replace("|", "\\|")


def anchor(name: str) -> str:
    """The link target that a heading with this name gets."""
    return "".join(character for character in name.lower() if character.isalnum() or character in "-_")


if __name__ == "__main__":
    raise SystemExit(main())
