"""Operators of lect's own.  Two are for `torch.Generator`: a draw as a pure function of the state of a generator.

    lect::draw(str target, str arguments, Tensor[] operands, Tensor state) -> (Tensor, Tensor)

calls `target` with a generator in this state, and gives the result and the state behind it.  `arguments` is JSON: a list of the positional arguments and
a mapping of the others, in which `{"operand": n}` is an operand, and `{"dtype": ...}` and its like name constants of torch.  A target that writes to its
first argument writes to a copy, which is the result.

    lect::generator_state(str seed) -> Tensor

is the state of a generator of the CPU behind `manual_seed(seed)`.

    lect::extent(Tensor number) -> Tensor

has as many elements, of no particular value, as the only element of its operand says, none where that is negative.  They all lie in one place, for the
number may be large.  Torch is imported when the operators are first asked for.
"""

from __future__ import annotations

import importlib
import json
from functools import cache
from typing import Any

from lect.dialects.fx.python_values import resolve
from lect.ir import LectError

_CONSTANTS = frozenset({"dtype", "layout", "memory_format"})


@cache
def define() -> Any:
    """Register the operators once; what is returned keeps them."""
    torch = importlib.import_module("torch")
    library = torch.library.Library("lect", "DEF")
    library.define("draw(str target, str arguments, Tensor[] operands, Tensor state) -> (Tensor, Tensor)")
    library.define("generator_state(str seed) -> Tensor")
    library.define("extent(Tensor number) -> Tensor")
    library.impl("draw", _draw, "CompositeExplicitAutograd")
    library.impl("draw", _draw_on_meta, "Meta")
    library.impl("generator_state", _state, "CompositeExplicitAutograd")
    library.impl("extent", _extent, "CompositeExplicitAutograd")
    return library


def _extent(number: Any) -> Any:
    torch = importlib.import_module("torch")
    return torch.zeros(1, dtype=torch.int8, device=number.device).expand(max(int(number), 0))


def encode(args: list[Any], kwargs: dict[str, Any]) -> tuple[str, list[Any]]:
    """Arguments as a text, and the tensors in them.  Raises `LectError` for what has no text."""
    operands: list[Any] = []
    return json.dumps([[_encoded(value, operands) for value in args], {name: _encoded(value, operands) for name, value in kwargs.items()}]), operands


def _encoded(value: Any, operands: list[Any]) -> Any:
    torch = importlib.import_module("torch")
    if value is None or type(value) in (bool, int, float, str):
        return value
    if isinstance(value, torch.Tensor):
        operands.append(value)
        return {"operand": len(operands) - 1}
    if isinstance(value, tuple | list):
        return [_encoded(item, operands) for item in value]
    if isinstance(value, torch.device):
        return {"device": str(value)}
    kind = type(value).__name__
    if kind in _CONSTANTS:
        return {kind: str(value).removeprefix("torch.")}
    raise LectError(f"a {kind} has no form in a draw")


def _decoded(value: Any, operands: list[Any]) -> Any:
    torch = importlib.import_module("torch")
    if isinstance(value, list):
        return [_decoded(item, operands) for item in value]
    if not isinstance(value, dict):
        return value
    ((kind, content),) = value.items()
    if kind == "operand":
        return operands[content]
    if kind == "device":
        return torch.device(content)
    found = getattr(torch, content, None) if kind in _CONSTANTS else None
    if type(found).__name__ != kind:
        raise LectError(f"a draw has no argument of the form {value}")
    return found


def _call(target: str, arguments: str, operands: list[Any], generator: Any, device: Any = None) -> Any:
    args, kwargs = json.loads(arguments)
    args = [_decoded(value, operands) for value in args]
    kwargs = {name: _decoded(value, operands) for name, value in kwargs.items()}
    if target.endswith("_"):
        args[0] = args[0].clone()
    if device is not None and not operands:
        kwargs["device"] = device
    return resolve(target)(*args, **kwargs, generator=generator)


def _draw(target: str, arguments: str, operands: list[Any], state: Any) -> tuple[Any, Any]:
    torch = importlib.import_module("torch")
    generator = torch.Generator()
    generator.set_state(state)
    return _call(target, arguments, operands, generator), generator.get_state()


def _draw_on_meta(target: str, arguments: str, operands: list[Any], state: Any) -> tuple[Any, Any]:
    torch = importlib.import_module("torch")
    return _call(target, arguments, operands, None, "meta"), torch.empty_like(state)


def _state(seed: str) -> Any:
    return importlib.import_module("torch").Generator().manual_seed(int(seed)).get_state()
