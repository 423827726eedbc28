"""One rule per `pyframe` operation: `rule(frame, op)` reads operands from `frame.env`, and binds the results there.

The rule of a terminator returns the next block, or None when the function returns or is suspended.
"""

from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Any

from lect.frontends.capture.rules import containers, control, objects, suspension, variables

RULES: Mapping[str, Callable[[Any, Any], Any]] = MappingProxyType({**variables.RULES, **objects.RULES, **containers.RULES, **control.RULES, **suspension.RULES})
RESUMED = suspension.RESUMED
