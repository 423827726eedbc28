"""torch's own samples of all its operators through `lect.compile`: values, dtypes, strides, shared memory, written arguments, gradients and exceptions are
eager's.  A few entries always run, all of them with `-m slow`; `-n 2` spreads them over processes and reports one that ends as such.

The environment variable OPINFO_SAMPLES is the number of samples of each entry, dtype and kind.
"""

from __future__ import annotations

import os
from collections import Counter

import pytest
import torch

from tests.opinfo.pool import Job, Worker
from tests.opinfo.samples import DTYPES, KINDS, SAMPLES, dtype_name, entries, full_name, kinds_of
from tests.opinfo.trial import outcomes

LIMIT = int(os.environ.get("OPINFO_SAMPLES", SAMPLES))
QUICK = """
add addcmul amax argmax as_strided bmm cat clamp cumsum div.floor_rounding floor_divide gather index_put index_select linalg.norm logit
logsumexp masked_fill mean nn.functional.batch_norm nn.functional.conv2d nn.functional.cross_entropy nn.functional.embedding nn.functional.gelu
nn.functional.layer_norm nn.functional.max_pool2d nn.functional.pad.reflect pow scatter softmax sort split sum topk transpose tril var where
zeros_like
""".split()


def faults(name: str, dtype: torch.dtype, limit: int, kinds: tuple[str, ...] = KINDS) -> tuple[int, list[str]]:
    """How many samples ran, and a sentence for each that is not eager's."""
    found = list(outcomes(name, dtype, kinds, limit))
    return len(found), [f"{each.kind} {each.number}: {each.how}: {each.what}; {each.what_ran} ({each.way})" for each in found if not each.good]


@pytest.mark.parametrize("name", QUICK)
def test_a_few_samples_equal_eager(name):
    ran, wrong = faults(name, torch.float32, 2)
    assert ran
    assert not wrong, "\n".join(wrong)


@pytest.mark.slow
@pytest.mark.parametrize("dtype", DTYPES, ids=dtype_name)
@pytest.mark.parametrize("name", [pytest.param(name, id=name.replace(".", "-")) for name in entries()])
def test_samples_equal_eager(name, dtype):
    if not kinds_of(entries()[name], dtype):
        pytest.skip("eager has no such kernel")
    _, wrong = faults(name, dtype, LIMIT)
    assert not wrong, "\n".join(wrong)


def test_entries_have_one_name_each():
    assert len(entries()) > 690
    assert Counter(full_name(op) for op in entries().values()).most_common(1)[0][1] == 1


@pytest.mark.slow
def test_a_process_that_ends_is_one_outcome():
    """The worker goes on with the other samples of the entry behind one that ends it."""
    found = []
    worker = Worker()
    job = Job("exp", "float32", ("forward",), 3)

    def report(outcome):
        found.append((outcome["number"], outcome["how"]))
        if len(found) == 1:
            worker.process.kill()

    worker.run(job, report)
    worker.close()
    hows = Counter(how for _, how in found)
    assert hows["crash"] == 1 and len(found) >= 3
