"""Whether two runs of a training step differ by rounding alone, where the step enlarges rounding.

Gradients may be sums that cancel, as those of a bias in front of a normalisation; a normalisation of few elements divides by what is nearly 0; and an
activation whose argument is next to its corner takes one side or the other.  Two measures tell rounding from a fault there: the same step in f64, and the
same step of eager with parameters that are a few roundings away.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

import torch

Named = Mapping[str, torch.Tensor | None]
STEPS = 4  # with other parameters
ROUNDINGS = 2.0**-22  # how far each parameter is moved, relatively


class Rounding:
    """`step` runs one step of a fresh model, in a dtype if that is given, after its parameters were moved by a function; it gives tensors by name."""

    def __init__(self, step: Callable[[torch.dtype | None, Callable[[torch.nn.Module], None]], Named]) -> None:
        self.step = step
        self._exact: Named | None = None
        self._moved: list[Named] = []

    def check(self, want: Named, got: Named) -> None:
        """An AssertionError says which tensor has other metadata, or is further from eager's than both measures allow, by its largest element."""
        largest = max([float(one.detach().abs().max()) for one in want.values() if one is not None and one.numel()], default=0.0)
        for name, one in want.items():
            other = got[name]
            assert (one is None) == (other is None), name
            if one is None or other is None or not one.numel():
                continue
            assert one.dtype == other.dtype and one.shape == other.shape, name
            assert all(size == 1 or a == b for size, a, b in zip(one.shape, one.stride(), other.stride())), name
            scale = float(one.detach().abs().max().clamp(min=1e-3))
            if _apart(one, other) < 1e-6 * largest:  # the slope of what has no influence, such as a constant in front of a normalisation
                continue
            error = _apart(one, other) / scale
            if not error < 2e-5:  # NaN is no rounding
                self._judge(name, one, other, error, scale)

    def _judge(self, name: str, want: torch.Tensor, got: torch.Tensor, error: float, scale: float) -> None:
        if self._exact is None:
            self._exact = self.step(torch.float64, lambda module: None)
        errors = [_apart(each, self._exact[name]) / scale for each in (want, got)]
        if errors[1] < 8 * errors[0] + 2e-5:
            return
        while len(self._moved) < STEPS:
            self._moved.append(self.step(None, _mover(len(self._moved))))
        spread = max(_apart(want, each[name]) / scale for each in self._moved)
        assert errors[1] < 4 * spread, (
            f"{name} is off by {error:.2g}: {errors[1]:.2g} from that of f64, eager's {errors[0]:.2g}, and eager's by {spread:.2g} when parameters are rounded"
        )


def _apart(one: torch.Tensor, other: torch.Tensor | None) -> float:
    assert other is not None
    return float((one.detach().double() - other.detach().double()).abs().max())


def _mover(number: int) -> Callable[[torch.nn.Module], None]:
    """Moves every parameter of a module by a few roundings."""
    generator = torch.Generator().manual_seed(number)

    def move(module: torch.nn.Module) -> None:
        with torch.no_grad():
            for parameter in module.parameters():
                if parameter.is_floating_point():
                    parameter.mul_(1 + ROUNDINGS * torch.randn(parameter.shape, generator=generator).to(parameter.dtype))

    return move
