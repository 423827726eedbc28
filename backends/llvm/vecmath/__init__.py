"""Vector mathematics of the CPU backend, as text: LLVM IR functions for scalars and for vectors of any power-of-two width.

    functions({("exp", "f32"), ("tanh", "f32")}, {1, 16}, CpuFeatures.parse(features))    -> IR text to put into a module
    name("exp", "f32", 16)                                                                -> "@lect.exp.f32x16"

Every function takes one or two operands of the named type and width and returns it; the conversions `widen`, `narrow` and `round` of
"bf16" and "f16" are the exception (`signature` tells their types). A function gives the same bits at every width and on every target, up
to the C library's part and the sign and payload of NaN.

`FUNCTIONS` are short and become part of their callers. `SPECIAL_FUNCTIONS` are the routines of `backends.special`, called out of line.

Values: functions of f32 and f64 are within 2 units in the last place of the exact result, most within 1.5; zeros keep their sign;
infinities, NaN and denormal numbers give what C's functions give. The C library computes, one lane at a time: erfc, pow and tan of f64 (so
its erfc is as good as the C library's, 3 units in glibc), and sin, cos and tan in the lanes with |x| above 2^17 (f32) or 2^30 (f64). A
module using those needs the symbols of libm at load time. How exact the special functions are, tests/unit/backends/test_special.py says.

All functions rely on fused multiply-add and are right without the instruction, but slow.

`maximum` and `minimum` are compare-and-select rather than `llvm.maximum`: NaN propagates, and of two equal operands the second is returned,
as torch.maximum does for zeros of different sign. No function carries fast-math flags, and a caller must not add any to the calls: the
algorithms rely on exact rounding. `reassoc` belongs only on a caller's own reductions.
"""

from .features import CpuFeatures
from .library import FUNCTIONS, SPECIAL_FUNCTIONS, functions, has_function, name, signature
from .loop import array_loop

__all__ = ["FUNCTIONS", "SPECIAL_FUNCTIONS", "CpuFeatures", "array_loop", "functions", "has_function", "name", "signature"]
