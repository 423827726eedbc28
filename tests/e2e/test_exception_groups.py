"""`except*` in compiled functions."""

import pytest
import torch

import lect
from tests.e2e.group_programs import PROGRAMS
from tests.e2e.support import check, stops, versions


@pytest.fixture(autouse=True)
def fresh_start():
    lect.reset()


@pytest.mark.parametrize("program", PROGRAMS, ids=lambda program: program.__name__)
def test_program_is_one_graph(program):
    compiled = lect.compile(program, fullgraph=True)
    for seed in range(2):
        check(program, torch.randn(4, generator=torch.Generator().manual_seed(seed)), compiled=compiled)
    assert stops() == []
    assert versions() == 1
