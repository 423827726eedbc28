"""kernel: tile programs, the form that code is printed from."""

from lect.dialects.kernel import attributes, ops, scalar, types
from lect.ir import Dialect

DIALECT = Dialect.collect("kernel", ops, scalar, types, attributes)
