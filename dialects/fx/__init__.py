"""fx: torch calls as captured."""

from lect.dialects.fx import ops, regions, types
from lect.ir import Dialect

DIALECT = Dialect.collect("fx", ops, regions, types)
