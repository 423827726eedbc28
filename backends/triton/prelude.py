"""Functions of the Triton source that take more than one operation; a module has those that its kernels call.

Each is one `@triton.jit` function; those of `special` are written when a kernel calls them.  Division of integers by zero gives some value, as everywhere
in the scalar table.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from types import MappingProxyType

from lect.backends.triton.special import HELPERS, SPECIAL, special_function

HEADER = "import triton\nimport triton.language as tl\nfrom triton.language.extra import libdevice\n"
WAITING = "from triton.language.extra.cuda import gdc\n"  # control of grids that depend on one another
WAIT = "gdc.gdc_wait()"

FUNCTIONS: Mapping[str, str] = MappingProxyType(
    {
        **HELPERS,
        "nan_max": """
def nan_max(a, b):
    return tl.maximum(a, b, propagate_nan=tl.PropagateNan.ALL)
""",
        "nan_min": """
def nan_min(a, b):
    return tl.minimum(a, b, propagate_nan=tl.PropagateNan.ALL)
""",
        "number_max": """
def number_max(a, b):
    # the other operand where one is NaN
    return tl.where(a != a, b, tl.where(b != b, a, tl.maximum(a, b)))
""",
        "number_min": """
def number_min(a, b):
    # the other operand where one is NaN
    return tl.where(a != a, b, tl.where(b != b, a, tl.minimum(a, b)))
""",
        "add": """
def add(a, b):
    return a + b
""",
        "multiply": """
def multiply(a, b):
    return a * b
""",
        "larger": """
def larger(a, b):
    return tl.maximum(a, b)
""",
        "smaller": """
def smaller(a, b):
    return tl.minimum(a, b)
""",
        "first_max": """
def first_max(a, i, b, j):
    # NaN before numbers, then the greater value, then the lower index
    a_nan, b_nan = a != a, b != b
    equal = (a == b) | (a_nan & b_nan)
    take = (a > b) | (a_nan & (b_nan == 0)) | (equal & (i < j))
    return tl.where(take, a, b), tl.where(take, i, j)
""",
        "first_min": """
def first_min(a, i, b, j):
    # NaN before numbers, then the lesser value, then the lower index
    a_nan, b_nan = a != a, b != b
    equal = (a == b) | (a_nan & b_nan)
    take = (a < b) | (a_nan & (b_nan == 0)) | (equal & (i < j))
    return tl.where(take, a, b), tl.where(take, i, j)
""",
        "sign": """
def sign(a):
    return (a > 0).to(a.dtype) - (a < 0).to(a.dtype)
""",
        "floor_quotient": """
def floor_quotient(a, b):
    q = a // b
    return q - ((a - q * b != 0) & ((a < 0) != (b < 0))).to(q.dtype)
""",
        "floor_remainder": """
def floor_remainder(a, b):
    r = a % b
    return tl.where((r != 0) & ((r < 0) != (b < 0)), r + b, r)
""",
        "float_remainder": """
def float_remainder(a, b):
    r = libdevice.fmod(a, b)
    return tl.where((r != 0) & ((r < 0) != (b < 0)), r + b, r)
""",
        "divide": """
def divide(a, b):
    # rounded to nearest, which a / b of f32 is not
    return tl.div_rn(a, b) if a.dtype == tl.float32 else a / b
""",
        "quick_sigmoid": """
def quick_sigmoid(x):
    # a fourth of both sides of 1 / (1 + exp(-x)), as the hardware takes the reciprocal of 2^126 and more for zero
    return libdevice.fast_dividef(1.0, tl.exp2(tl.fma(x, -1.4426950408889634, -2.0)) + 0.25) * 0.25
""",
        "float_floor_quotient": """
def float_floor_quotient(a, b):
    # (a - fmod(a, b)) / b brought to an integer, as Python's //; a / b where b is 0
    r = libdevice.fmod(a, b)
    q = divide(a - r, b)
    q = tl.where((r != 0) & ((r < 0) != (b < 0)), q - 1, q)
    f = tl.floor(q)
    f = tl.where(q - f > 0.5, f + 1, f)
    exact = divide(a, b)
    f = tl.where(q == 0, libdevice.copysign(tl.zeros_like(q), exact), f)
    return tl.where(b == 0, exact, f)
""",
        "shift_left": """
def shift_left(a, n, BITS: tl.constexpr):
    fits = (n >= 0) & (n < BITS)
    return tl.where(fits, a << tl.where(fits, n, 0), 0)
""",
        "shift_right": """
def shift_right(a, n, BITS: tl.constexpr):
    fits = (n >= 0) & (n < BITS)
    return a >> tl.where(fits, n, BITS - 1)
""",
        "philox": """
def philox(key, stream, block):
    # four 32-bit words of Philox 4x32-10 for one key and one counter
    low = (block & 0xFFFFFFFF).to(tl.uint32)
    high = (block >> 32).to(tl.uint32)
    stream_low = (stream & 0xFFFFFFFF).to(tl.uint32) + tl.zeros_like(low)
    stream_high = (stream >> 32).to(tl.uint32) + tl.zeros_like(low)
    return tl.philox(key, low, high, stream_low, stream_high)
""",
        "philox32": """
def philox32(key, stream, word):
    w0, w1, w2, w3 = philox(key, stream, word >> 2)
    n = word & 3
    return tl.where(n < 2, tl.where(n == 0, w0, w1), tl.where(n == 2, w2, w3)).to(tl.int64)
""",
        "philox64": """
def philox64(key, stream, pair):
    w0, w1, w2, w3 = philox(key, stream, pair >> 1)
    second = (pair & 1) != 0
    low = tl.where(second, w2, w0).to(tl.int64)
    high = tl.where(second, w3, w1).to(tl.int64)
    return low | (high << 32)
""",
    }
)
NEEDS: Mapping[str, tuple[str, ...]] = MappingProxyType(
    {"float_floor_quotient": ("divide",), "philox32": ("philox",), "philox64": ("philox",)}
)


def prelude(names: Iterable[str]) -> str:
    """The header of a module and the functions `names`: those of the table in its order, then special functions by name.  "gdc" is a module."""
    wanted = set(names)
    special = {name: special_function(name) for name in sorted(wanted & SPECIAL.keys())}
    wanted.update(*[calls for _, calls in special.values()])
    for name in tuple(wanted):
        wanted.update(NEEDS.get(name, ()))
    texts = [text for name, text in FUNCTIONS.items() if name in wanted]
    texts += [text for text, _ in special.values()]
    return HEADER + (WAITING if "gdc" in wanted else "") + "".join([f"\n\n@triton.jit{text}" for text in texts])
