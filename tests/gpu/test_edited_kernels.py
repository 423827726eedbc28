"""Edited Triton source and PTX on the device: what was edited is what runs."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest
import torch

import lect

pytestmark = pytest.mark.cuda


def scaled(x: torch.Tensor) -> torch.Tensor:
    return (x + 1.0) * 2.0


def run(x: torch.Tensor, **options: Any) -> torch.Tensor:
    lect.reset()
    return lect.compile(scaled, fullgraph=True, dynamic=False, options=options)(x)


def edit(path: Path, pattern: str, replacement: str) -> None:
    text, count = re.subn(pattern, replacement, path.read_text())
    assert count, f"{path.name} has nothing like {pattern}:\n{path.read_text()}"
    path.write_text(text)


def test_an_edited_source(tmp_path: Path) -> None:
    x = torch.randn(4096, device="cuda")
    assert torch.equal(run(x, dump=tmp_path), scaled(x))
    (source,) = tmp_path.glob("scaled.0/kernels/*.triton.py")
    edit(source, r"\* 2\.0", "* 5.0")
    assert torch.equal(run(x, override=tmp_path), (x + 1) * 5)
    (event,) = lect.events("override")
    assert event.file == str(source)


def test_an_edited_ptx(tmp_path: Path) -> None:
    x = torch.randn(4096, device="cuda")
    run(x, dump=tmp_path)
    (ptx,) = tmp_path.glob("scaled.0/kernels/*.ptx")
    edit(ptx, r"\badd(\.\w+)*\.f32(x2)?\b(?=\s+%)", lambda found: found[0].replace("add", "sub"))  # type: ignore[arg-type]
    plain = (x + 1) * 2
    found = run(x, override=tmp_path)
    assert not torch.equal(found, plain)
    (event,) = lect.events("override")
    assert event.file == str(ptx)


def test_an_edited_ptx_of_other_memory(tmp_path: Path) -> None:
    x = torch.randn(4097, device="cuda")[1:]
    assert torch.equal(run(x, dump=tmp_path), scaled(x))
    paths = sorted(tmp_path.glob("scaled.0/kernels/*.ptx"))
    assert len(paths) == 2, paths  # one for memory that begins at a multiple of 16 bytes, one for this
    for path in paths:
        edit(path, r"ret;", "// here\n\tret;")
    assert torch.equal(run(x, override=tmp_path), scaled(x))
    assert {event.file for event in lect.events("override")} == set(map(str, paths))
