"""functional: pure tensor operations with exact types, the closed set that every captured graph is expressed in."""

from lect.dialects.functional import composite, contraction, creation, gather, normalization, ops, pointwise, reduction, types, view, window
from lect.dialects.functional.canonicalization import PATTERNS
from lect.ir import Dialect

MODULES = (ops, types, pointwise, composite, creation, view, reduction, gather, contraction, window, normalization)
DIALECT = Dialect.collect("functional", *MODULES, patterns=PATTERNS)
"""The dialect; the closed set is all its operations but `func`, `return` and `opaque`."""
