"""loop: nests of scalar operations over index spaces, library calls, and the decisions about both."""

from lect.dialects.loop import attributes, ops, scalar, types
from lect.ir import Dialect
from lect.ir.index_map import IndexMap

DIALECT = Dialect.collect("loop", ops, scalar, types, attributes, attrs=(IndexMap,))
