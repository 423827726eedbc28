"""builtin: what every level shares, the module and the cast between dialects that a later conversion resolves."""

from lect.dialects.builtin import ops
from lect.ir import Dialect

DIALECT = Dialect.collect("builtin", ops)
