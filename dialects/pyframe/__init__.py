"""pyframe: Python frames without operand stack and CPython version; see `ops` for the semantics."""

from lect.dialects.pyframe import attributes, building, control, ops, types
from lect.ir import Dialect

DIALECT = Dialect.collect("pyframe", ops, building, control, types, attributes)

__all__ = ["DIALECT", "attributes", "building", "control", "ops", "types"]
