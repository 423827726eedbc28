"""tuning: which choice is the fastest for a kernel on a device, as measured or as a person says."""

from lect.dialects.tuning import ops
from lect.ir import Dialect

DIALECT = Dialect.collect("tuning", ops)
