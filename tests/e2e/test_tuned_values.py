"""Programs whose kernels are measured on this machine give the values that they give without that."""

from __future__ import annotations

from typing import Any

import pytest
import torch

import lect
from lect.runtime.entry import RUNTIME
from lect.runtime.tuning_records import TuningStore
from tests.triton.zoo import ZOO, maker

QUICK = frozenset("broadcast_add transpose_add softmax_rows column_sums".split())
TOLERANCES = {torch.float16: 1e-2, torch.bfloat16: 4e-2, torch.float64: 1e-12}


def tensors(found: Any) -> list[torch.Tensor]:
    return [each for each in (found if isinstance(found, tuple | list) else [found]) if isinstance(each, torch.Tensor)]


@pytest.mark.parametrize("name", [pytest.param(name, marks=() if name in QUICK else (pytest.mark.slow,)) for name in ZOO])
def test_values_are_those_of_the_estimates(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    program = ZOO[name]
    monkeypatch.setattr(RUNTIME.log, "tuning", TuningStore(None, pytest.fail))
    results = []
    for mode in ("default", "max-autotune", "default"):
        lect.reset()
        torch.manual_seed(1)
        results.append(tensors(lect.compile(program.run, mode=mode, options={"cache": False})(*program.make(maker()))))
        assert [event.text() for event in lect.events("tuning problem")] == []
        assert mode == "max-autotune" or lect.events("tuning") == []
    wanted, *others = results
    for found in others:
        for a, b in zip(found, wanted, strict=True):
            tolerance = TOLERANCES.get(b.dtype, 1e-5)
            torch.testing.assert_close(a, b, rtol=tolerance, atol=tolerance, equal_nan=True)
