"""What `python -m benchmarks.run` times: single kernels, a zoo of them, and whole models with random weights.

A workload is a builder: a function of a device that gives what to call and with what.  Sizes on the CPU fit two cores; those on a GPU exceed its caches.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any


@dataclass
class Workload:
    """`fn(*args, **kwargs)` is one step, with its backward if `train`; `params` are leaves whose gradients a training loop resets.

    A step that `mutates` its arguments gives something else at each call, so its values are not compared.
    """

    fn: Callable[..., Any]
    args: tuple[Any, ...] = ()
    train: bool = False
    kwargs: dict[str, Any] = field(default_factory=dict)
    params: Sequence[Any] = ()
    mutates: bool = False

    def leaves(self) -> list[Any]:
        """Tensors that get gradients."""
        return [value for value in (*self.args, *self.kwargs.values(), *self.params) if getattr(value, "requires_grad", False)]

    def step(self, fn: Callable[..., Any]) -> Any:
        """One step of `fn` in the place of the workload's own function; gives its result."""
        import torch

        if not self.train:
            with torch.no_grad():
                return fn(*self.args, **self.kwargs)
        for leaf in self.leaves():
            leaf.grad = None
        loss = fn(*self.args, **self.kwargs)
        loss.backward()
        return loss


Builder = Callable[[str], Workload]


def suites() -> Mapping[str, Mapping[str, Builder]]:
    """Suite -> name -> builder."""
    from benchmarks.workloads import kernels, models, zoo

    return {"kernels": kernels.KERNELS, "zoo": zoo.ZOO, "models": models.MODELS}
