"""`python -m tests.models.report [--level L | --train] [NAME ...]`: for each model whether it is one graph, and how long that took.

A name selects the models that contain it.  Below the table stand the reasons, most frequent first.
"""

from __future__ import annotations

import argparse
import gc
import warnings
from collections import Counter
from collections.abc import Iterator

import torch

from tests.models.catalogue import Case
from tests.models.trial import HEADER, Outcome, outcome_of, try_model, try_training
from tests.models.wide import ALL


def chosen(names: list[str]) -> Iterator[Case]:
    """The cases that contain one of `names`, or all."""
    for name, case in ALL.items():
        if not names or any(part in name for part in names):
            yield case


def attempt(case: Case, level: str, train: bool) -> Outcome:
    """The outcome of one case; a difference from eager counts as a reason."""
    try:
        return try_training(case) if train else try_model(case, level)
    except Exception as error:
        made = outcome_of(case.name)
        text = f"{type(error).__name__}: {error}".replace("\n", " ")[:300]
        return Outcome(case.name, "WRONG", text, made.operations, made.capture_ms, made.compile_ms)


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description="Try lect on real models.")
    parser.add_argument("names", nargs="*", help="parts of names of models")
    parser.add_argument("--level", default="native", choices=["fx", "functional", "loop", "native"], help="level at which the graphs run")
    parser.add_argument("--train", action="store_true", help="two steps of training instead, with gradients and buffers compared")
    options = parser.parse_args()
    torch.set_num_threads(1)
    warnings.simplefilter("ignore")
    reasons: Counter[str] = Counter()
    print(HEADER, flush=True)
    for case in chosen(options.names):
        outcome = attempt(case, options.level, options.train)
        reasons[outcome.reason or "one graph"] += 1
        print(outcome.row(), flush=True)
        gc.collect()
    print("\n" + "\n".join(f"{count:4} {reason}" for reason, count in reasons.most_common()))


if __name__ == "__main__":
    main()
