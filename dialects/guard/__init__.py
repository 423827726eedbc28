"""guard: conditions for using a compiled version again."""

from lect.dialects.guard import ops, types
from lect.ir import Dialect

DIALECT = Dialect.collect("guard", ops, types)
