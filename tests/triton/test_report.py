"""The report of a compile for a GPU: a line of the program is followed to Triton source and PTX, without a GPU."""

from __future__ import annotations

from importlib.util import find_spec
from typing import Any

import pytest
import torch

import lect
from lect.ir import UNKNOWN, Location
from lect.runtime.report.backend_texts import commented, ptx_places
from lect.runtime.report.page import page_data
from tests.report.programs import level, recording, source_line, spread
from tests.triton.interpreter import on_gpu_in_name_only

needs_triton = pytest.mark.skipif(find_spec("triton") is None, reason="Triton is not installed")


@needs_triton
def test_a_line_is_followed_to_ptx():
    with on_gpu_in_name_only(), recording() as recorder:
        lect.compile(spread, options={"cache": False})(torch.randn(64, 32))
    data: dict[str, Any] = page_data(recorder)
    (made,) = data["compiles"]
    assert {"triton", "ptx"} <= {each["name"] for each in made["levels"]} and "llvm" not in [each["name"] for each in made["levels"]]
    found = {}
    for name in ("triton", "ptx"):
        for part in ("h = F.gelu(x) * 2", "return torch.softmax(h, dim=-1)"):
            place = source_line(data, part)
            found[name, part] = "\n".join(data["lines"][number] for number in level(data, 0, name) if data["places"][number] == place)
    assert "erf" in found["triton", "h = F.gelu(x) * 2"] and "erf" not in found["triton", "return torch.softmax(h, dim=-1)"]
    assert "exp" in found["triton", "return torch.softmax(h, dim=-1)"]
    assert "mul" in found["ptx", "h = F.gelu(x) * 2"] and "st.global" in found["ptx", "return torch.softmax(h, dim=-1)"]


def test_lines_of_ptx_name_lines_of_the_source():
    one, two = Location("m.py", 1), Location("m.py", 2)
    text = '.file 1 "/x/<lect kernel n0 ab>"\n.file 2 "/y/standard.py"\n{\n.loc 1 2 0\na;\n.loc 2 2 0\nb;\n.loc 1 1 5\nc;\n.loc 1 9 0\nd;\n}\ne;\n.section .debug_abbrev\nf;\n'
    lines, places = ptx_places(text, [one, two])
    assert dict(zip(lines, places)) == {
        **dict.fromkeys(['.file 1 "/x/<lect kernel n0 ab>"', '.file 2 "/y/standard.py"', "{", "b;", ".loc 2 2 0", ".loc 1 9 0", "d;", "}", "e;"], UNKNOWN),
        **dict.fromkeys([".loc 1 2 0", "a;"], two),
        **dict.fromkeys([".loc 1 1 5", "c;"], one),
    }


def test_comments_name_the_place_of_what_follows():
    text = "define void @f() {\n  a\n  ; my file.py:12\n  b\n  ; note: none\n  c\n}\ndefine void @g() {\n  d\n"
    lines, places = commented(text)
    place = Location("my file.py", 12)
    assert [line.strip() for line, here in zip(lines, places) if here is place] == ["; my file.py:12", "b", "; note: none", "c"]
    assert [line.strip() for line, here in zip(lines, places) if here is UNKNOWN] == ["define void @f() {", "a", "}", "define void @g() {", "d"]
    assert commented("    # a.py:3  return x + 1\n    y = x + 1")[1] == [Location("a.py", 3)] * 2
