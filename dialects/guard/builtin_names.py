"""What Python's own module of builtins held when lect was loaded, by name: functions, classes and constants.

`guard.builtins` says that names still stand for these.  Other entries of the module, as what a program puts there, are reached by a path.
"""

from __future__ import annotations

import builtins
from collections.abc import Mapping
from types import BuiltinFunctionType, MappingProxyType
from typing import Any

_KINDS = frozenset({BuiltinFunctionType, type, type(...), type(NotImplemented)})

OWN: Mapping[str, Any] = MappingProxyType({name: value for name, value in vars(builtins).items() if type(value) in _KINDS})
