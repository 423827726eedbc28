"""fx: torch calls as captured."""

from lect.dialects.fx import ops, types
from lect.ir import Dialect

DIALECT = Dialect.collect("fx", ops, types)
