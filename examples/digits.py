"""A small convolutional network that learns to read the handwritten digits of scikit-learn, as people write it.

    python examples/digits.py       trains it twice, under eager and compiled, and compares
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field

import torch
import torch.nn.functional as F
from sklearn.datasets import load_digits
from torch import nn

import lect

BATCH = 128
EPOCHS = 4
TOLERANCE = 1e-3  # relative; sums are added in another order, and every step carries the difference on


@dataclass(frozen=True)
class Digits:
    """Images of 1 x 8 x 8 numbers between 0 and 1, and the digits that they show; a quarter is held out of training."""

    images: torch.Tensor
    labels: torch.Tensor
    held_out_images: torch.Tensor
    held_out_labels: torch.Tensor


@dataclass
class Training:
    """One training: the loss of each step, seconds of each step, and the part of the held-out images that is read right."""

    losses: list[float] = field(default_factory=list)
    seconds: list[float] = field(default_factory=list)
    accuracy: float = 0.0


def load() -> Digits:
    """The 1797 digits that come with scikit-learn, in an order of their own."""
    data = load_digits()
    order = torch.randperm(len(data.target), generator=torch.Generator().manual_seed(0))
    images = torch.tensor(data.images, dtype=torch.float32)[order].unsqueeze(1) / 16
    labels = torch.tensor(data.target, dtype=torch.int64)[order]
    count = len(labels) * 3 // 4 // BATCH * BATCH
    return Digits(images[:count], labels[:count], images[count:], labels[count:])


def network() -> nn.Module:
    """Two convolutions with batch norm, and a linear layer."""
    return nn.Sequential(
        nn.Conv2d(1, 16, 3, padding=1),
        nn.BatchNorm2d(16),
        nn.ReLU(),
        nn.Conv2d(16, 32, 3, padding=1, stride=2),
        nn.BatchNorm2d(32),
        nn.ReLU(),
        nn.Flatten(),
        nn.Linear(32 * 4 * 4, 10),
    )


def train(data: Digits, compile: Callable[[nn.Module], Callable[[torch.Tensor], torch.Tensor]], epochs: int) -> Iterator[Training]:
    """Train a network that starts from fixed numbers, called through what `compile` makes of it: the training as it is after each step."""
    torch.manual_seed(0)
    model = network()
    called = compile(model)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.05, momentum=0.9)
    training = Training()
    for _ in range(epochs):
        for images, labels in zip(data.images.split(BATCH), data.labels.split(BATCH)):
            start = time.perf_counter()
            loss = F.cross_entropy(called(images), labels)
            loss.backward()
            optimizer.step()
            optimizer.zero_grad()
            training.seconds.append(time.perf_counter() - start)
            training.losses.append(loss.item())
            yield training
    model.eval()
    with torch.no_grad():
        found = called(data.held_out_images).argmax(1)
    training.accuracy = (found == data.held_out_labels).double().mean().item()
    yield training


def compare(epochs: int = EPOCHS) -> tuple[Training, Training]:
    """The training under eager and compiled, step beside step, so that what else the machine does slows both.

    Raises AssertionError when a loss differs, or when the graphs were not compiled.
    """
    data = load()
    *_, (eager, compiled) = zip(train(data, lambda model: model, epochs), train(data, lect.compile, epochs))
    torch.testing.assert_close(torch.tensor(compiled.losses), torch.tensor(eager.losses), rtol=TOLERANCE, atol=1e-5)
    kinds = {type(event).__name__ for event in lect.events()}
    assert "BackwardCompile" in kinds and "BackwardFallback" not in kinds, "the training was not compiled"
    return eager, compiled


def show() -> None:
    """Print both trainings side by side."""
    eager, compiled = compare()
    print(f"  {'step':>6} {'loss, eager':>14} {'loss, lect':>14}")
    count = len(eager.losses)
    for step in sorted({*range(0, count, max(1, count // 8)), count - 1}):
        print(f"  {step + 1:>6} {eager.losses[step]:14.6f} {compiled.losses[step]:14.6f}")
    worst = max(abs(a - b) / abs(a) for a, b in zip(eager.losses, compiled.losses))
    print(f"  all {count} losses agree, largest relative difference {worst:.1e}")
    print(f"  held-out digits read right: eager {eager.accuracy:.1%}, lect {compiled.accuracy:.1%}")
    medians = [torch.tensor(each.seconds[1:]).median().item() * 1e3 for each in (eager, compiled)]
    first = compiled.seconds[0] * 1e3 - medians[1]
    print(f"  one step: eager {medians[0]:.2f} ms, lect {medians[1]:.2f} ms; compiling forward and backward took {first:.0f} ms")


if __name__ == "__main__":
    show()
