"""A process with Triton's interpreter: reads names of programs of the zoo, of networks or of programs over sizes, writes what differs from eager, a line of JSON for each."""

from __future__ import annotations

import json
import sys
import traceback

import torch

import lect
from tests.triton.interpreter import on_gpu_in_name_only
from tests.triton.nets import NETS, pair, step
from tests.triton.sizes import run_sizes
from tests.triton.zoo import ZOO, difference, maker, results


def run_net(name: str) -> str | None:
    """What is wrong with a step of training, None when nothing is: what differs by more than 1e-4 of the greatest number of its tensor."""
    first, second, inputs = pair(name)
    expected = step(first, first, inputs)
    lect.reset()
    with on_gpu_in_name_only():
        found = step(second, lect.compile(second), inputs)
    notes = [str(event) for event in lect.events("note", "fallback", "backward fallback")]
    off = {key: float((found[key].double() - value.double()).abs().max() / (value.double().abs().max() + 1e-3)) for key, value in expected.items()}
    return "; ".join([*notes, *[f"{key} by {value:.1e}" for key, value in off.items() if not value <= 1e-4]]) or None


def run(name: str) -> str | None:
    """What is wrong with a program, None when nothing is."""
    if name in NETS:
        return run_net(name)
    if name.startswith("sizes "):
        return run_sizes(name.removeprefix("sizes "))
    case = ZOO[name]
    inputs, again = case.make(maker()), case.make(maker())
    lect.reset()
    torch.manual_seed(7)
    expected = results((lect.compile(case.run) if case.draws else case.run)(*inputs), inputs)
    lect.reset()
    torch.manual_seed(7)
    with on_gpu_in_name_only():
        found = results(lect.compile(case.run, fullgraph=True)(*again), again)
    notes = [str(event) for event in lect.events("note", "fallback")]
    if notes:
        return "; ".join(notes)
    wrong = [difference(a, b, case.tolerance) for a, b in zip(expected, found, strict=True)]
    return "; ".join([f"result {number}: {text}" for number, text in enumerate(wrong) if text]) or None


def main() -> None:
    """Answer until the input ends."""
    for line in sys.stdin:
        name = line.strip()
        try:
            answer = run(name)
        except Exception:
            answer = traceback.format_exc()
        sys.stdout.write(json.dumps({"name": name, "wrong": answer}) + "\n")
        sys.stdout.flush()


if __name__ == "__main__":
    main()
