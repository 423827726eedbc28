"""host: the wrapper program of a compiled graph: memory, kernel launches, library calls."""

from lect.dialects.host import attributes, ops, types
from lect.dialects.host.canonicalization import PATTERNS
from lect.ir import Dialect

DIALECT = Dialect.collect("host", ops, types, attributes, patterns=PATTERNS)
