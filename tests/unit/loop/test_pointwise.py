"""functional-to-loop on elementwise operations: eager's values for every dtype, specials included, halves bit for bit."""

import pytest
import torch
import torch.nn.functional as F

from lect.dialects.functional import composite, creation, pointwise
from lect.ir.types import bf16, f16, f32, f64, i1, i8, i16, i32, i64, ui8
from tests.unit.loop.programs import DTYPES, assert_same, execute, lowered, random_tensor

FLOATS = (torch.float32, torch.float64, torch.bfloat16, torch.float16)
INTS = (torch.int64, torch.int32, torch.int16, torch.int8, torch.uint8)


def check(build, eager, tensors, exact=False, tolerance=None):
    found = execute(lowered(build, tensors), tensors)
    wanted = eager(*tensors)
    for a, b in zip(found, wanted if isinstance(wanted, (tuple, list)) else [wanted], strict=True):
        assert_same(a, b, exact=exact, tolerance=tolerance)


UNARY = "reciprocal sqrt rsqrt exp exp2 expm1 log log2 log10 log1p sin cos tan asin acos atan sinh cosh tanh asinh acosh atanh erf erfc".split()
UNARY += "sigmoid abs neg floor ceil round trunc sign isnan isinf signbit logical_not erfinv lgamma digamma".split()


@pytest.mark.parametrize("dtype", FLOATS)
@pytest.mark.parametrize("name", UNARY)
def test_unary(name, dtype):
    cls = getattr(pointwise, "".join(p.capitalize() for p in name.split("_")) + "Op")
    x = random_tensor((6, 64), dtype)  # eager rounds the tail of a vector loop otherwise
    exact = dtype.itemsize == 2 and name not in ("erf", "sqrt")  # eager's erf of halves is another one; its sqrt of f16 rounds once
    check(lambda emit, x: emit(cls(x)), getattr(torch, name), [x], exact=exact)


@pytest.mark.parametrize("dtype", INTS)
@pytest.mark.parametrize("name", ["abs", "neg", "floor", "sign", "bitwise_not", "logical_not", "isnan", "signbit"])
def test_unary_of_integers(name, dtype):
    cls = getattr(pointwise, "".join(p.capitalize() for p in name.split("_")) + "Op")
    x = torch.cat([random_tensor((20,), dtype), torch.tensor([torch.iinfo(dtype).min, torch.iinfo(dtype).max], dtype=dtype)])
    check(lambda emit, x: emit(cls(x)), getattr(torch, name), [x])


@pytest.mark.parametrize("dtype", FLOATS + INTS + (torch.bool,))
@pytest.mark.parametrize("name", "add sub mul maximum minimum eq ne lt le gt ge logical_and logical_or logical_xor fmax fmin".split())
def test_binary(name, dtype):
    if name == "sub" and dtype == torch.bool:
        pytest.skip("eager refuses")
    cls = getattr(pointwise, "".join(p.capitalize() for p in name.split("_")) + "Op")
    x, y = random_tensor((5, 1, 36), dtype), random_tensor((7, 36), dtype, 3)
    check(lambda emit, x, y: emit(cls(x, y)), getattr(torch, name), [x, y], exact=True)


@pytest.mark.parametrize("dtype", FLOATS)
@pytest.mark.parametrize("name", "div pow atan2 hypot copysign remainder fmod".split())
def test_binary_of_floats(name, dtype):
    cls = getattr(pointwise, "".join(p.capitalize() for p in name.split("_")) + "Op")
    x, y = random_tensor((40, 40), dtype), random_tensor((40, 40), dtype, 3)
    check(lambda emit, x, y: emit(cls(x, y)), getattr(torch, name), [x, y], exact=dtype.itemsize == 2)


@pytest.mark.parametrize("dtype", FLOATS)
@pytest.mark.parametrize("mode", ["floor", "trunc"])
def test_rounded_quotient_of_floats(mode, dtype):
    x, y = random_tensor((40, 40), dtype), random_tensor((40, 40), dtype, 3)
    check(lambda emit, x, y: emit(pointwise.DivOp(x, y, mode=mode)), lambda x, y: torch.div(x, y, rounding_mode=mode), [x, y], exact=True)
    tenths = torch.tensor([1.0, -1.0, 0.3], dtype=dtype)
    check(lambda emit, x: emit(pointwise.DivOp(x, other=0.1, mode=mode)), lambda x: torch.div(x, 0.1, rounding_mode=mode), [tenths], exact=True)


@pytest.mark.parametrize("dtype", INTS)
@pytest.mark.parametrize("divisor", [3, -3, 1, -1, 7])
def test_integers_divided_by_a_number(divisor, dtype):
    if dtype == torch.uint8 and divisor < 0:
        pytest.skip("no such number")
    least = torch.iinfo(dtype).min + (divisor == -1)  # eager traps on the one quotient that does not fit
    x = torch.cat([random_tensor((30,), dtype), torch.tensor([least, torch.iinfo(dtype).max], dtype=dtype)])
    for mode in ("floor", "trunc"):
        check(lambda emit, x: emit(pointwise.DivOp(x, other=divisor, mode=mode)), lambda x: torch.div(x, divisor, rounding_mode=mode), [x])
    check(lambda emit, x: emit(pointwise.RemainderOp(x, other=divisor)), lambda x: torch.remainder(x, divisor), [x])
    check(lambda emit, x: emit(pointwise.FmodOp(x, other=divisor)), lambda x: torch.fmod(x, divisor), [x])


def test_integers_divided_by_zero_raise():
    x, y = torch.tensor([4, 5]), torch.tensor([2, 0])
    module = lowered(lambda emit, x, y: emit(pointwise.DivOp(x, y, mode="floor")), [x, y])
    with pytest.raises(RuntimeError, match="ZeroDivisionError"):
        execute(module, [x, y])


@pytest.mark.parametrize("dtype", FLOATS)
@pytest.mark.parametrize("exponent", [2.0, 3.0, -0.5, -1.0, -2.0, 1.75, 0.0, 1.0])
def test_powers(exponent, dtype):
    x = random_tensor((10, 64), dtype)
    check(lambda emit, x: emit(pointwise.PowOp(x, other=exponent)), lambda x: x**exponent, [x], exact=dtype.itemsize == 2)


@pytest.mark.parametrize("exponent", [0, 1, 2, 5, 11])
def test_powers_of_integers_wrap(exponent):
    x = random_tensor((50,), torch.int32) * 1000
    check(lambda emit, x: emit(pointwise.PowOp(x, other=exponent)), lambda x: x**exponent, [x])


@pytest.mark.parametrize("dtype", FLOATS + (torch.int64, torch.int32))
def test_sums_with_alpha(dtype):
    x, y = random_tensor((9, 64), dtype), random_tensor((9, 64), dtype, 5)
    for alpha in (1, 2, -3, 0.3) if dtype.is_floating_point else (1, 2, -3):
        check(lambda emit, x, y: emit(pointwise.AddOp(x, y, alpha=alpha)), lambda x, y: torch.add(x, y, alpha=alpha), [x, y], exact=True)
        check(lambda emit, x, y: emit(pointwise.SubOp(x, y, alpha=alpha)), lambda x, y: torch.sub(x, y, alpha=alpha), [x, y], exact=True)


@pytest.mark.parametrize("dtype", FLOATS)
def test_numbers_and_reversed_operands(dtype):
    x = random_tensor((8, 9), dtype)
    cases = ((pointwise.AddOp, torch.add), (pointwise.SubOp, torch.sub), (pointwise.MulOp, torch.mul), (pointwise.DivOp, torch.div))
    for cls, eager in cases:
        check(lambda emit, x: emit(cls(x, other=0.375)), lambda x: eager(x, 0.375), [x], exact=True)
        check(lambda emit, x: emit(cls(x, other=0.375, reversed=True)), lambda x: eager(torch.tensor(0.375, dtype=dtype), x), [x], exact=True)


@pytest.mark.parametrize("dtype", (torch.bfloat16, torch.float16))
def test_numbers_take_part_in_full_precision(dtype):
    x, tenth = random_tensor((31,), dtype), torch.tensor(0.1)
    for cls, eager in ((pointwise.MulOp, torch.mul), (pointwise.DivOp, torch.div)):
        check(lambda emit, x: emit(cls(x, other=0.1)), lambda x: eager(x, 0.1), [x], exact=True)
        check(lambda emit, x, y: emit(cls(x, y)), eager, [x, tenth], exact=True)


@pytest.mark.parametrize("dtype", INTS)
def test_bits_and_shifts(dtype):
    x = torch.cat([random_tensor((30,), dtype), torch.tensor([torch.iinfo(dtype).min, torch.iinfo(dtype).max], dtype=dtype)])
    y = random_tensor((32,), dtype, 4)
    for cls, eager in ((pointwise.BitwiseAndOp, torch.bitwise_and), (pointwise.BitwiseOrOp, torch.bitwise_or), (pointwise.BitwiseXorOp, torch.bitwise_xor)):
        check(lambda emit, x, y: emit(cls(x, y)), eager, [x, y])
    amounts = torch.arange(32).to(dtype) - (0 if dtype == torch.uint8 else 3)
    check(lambda emit, x, y: emit(pointwise.ShiftLeftOp(x, y)), torch.bitwise_left_shift, [x, amounts])
    check(lambda emit, x, y: emit(pointwise.ShiftRightOp(x, y)), torch.bitwise_right_shift, [x, amounts])


@pytest.mark.parametrize("dtype", FLOATS + (torch.int64, torch.uint8))
def test_clamp_and_where(dtype):
    x, low, high = random_tensor((6, 40), dtype), random_tensor((40,), dtype, 1), random_tensor((6, 1), dtype, 2)
    mask = random_tensor((6, 40), torch.bool)
    check(lambda emit, x, a, b: emit(pointwise.ClampOp(x, a, b)), torch.clamp, [x, low, high], exact=True)
    check(lambda emit, x: emit(pointwise.ClampOp(x, min=1, max=3)), lambda x: x.clamp(1, 3), [x], exact=True)
    check(lambda emit, x: emit(pointwise.ClampOp(x, min=5, max=3)), lambda x: x.clamp(5, 3), [x], exact=True)
    check(lambda emit, m, x, y: emit(pointwise.WhereOp(m, x, y)), torch.where, [mask, x, low], exact=True)
    check(lambda emit, x, m: emit(composite.MaskedFillOp(x, m, other=3)), lambda x, m: x.masked_fill(m, 3), [x, mask], exact=True)


ELEMENTS = (f16, bf16, f32, f64, i1, i8, i16, i32, i64, ui8)


@pytest.mark.parametrize("target", ELEMENTS, ids=str)
@pytest.mark.parametrize("source", FLOATS + INTS + (torch.bool,))
def test_casts(source, target):
    x = random_tensor((64,), source)
    if source.is_floating_point:
        more = torch.tensor([300.7, -1.0, -129.0, 2.0**31, -(2.0**31) - 1, 2.0**63, -(2.0**63), 1e20, 65519.0, 65520.0, 2147483647.5], dtype=torch.float64)
        x = torch.cat([x, more.to(source)])
    elif source != torch.bool:
        info = torch.iinfo(source)
        x = torch.cat([x, torch.tensor([info.min, info.max, info.max // 3], dtype=source)])
    check(lambda emit, x: emit(creation.CastOp(x, target)), lambda x: x.to(DTYPES[str(target)], copy=True), [x], exact=True)


COMPOSITES = [
    ("silu", composite.SiluOp, {}, F.silu),
    ("mish", composite.MishOp, {}, F.mish),
    ("hardswish", composite.HardswishOp, {}, F.hardswish),
    ("hardsigmoid", composite.HardsigmoidOp, {}, F.hardsigmoid),
    ("log_sigmoid", composite.LogSigmoidOp, {}, F.logsigmoid),
    ("entr", composite.EntrOp, {}, torch.special.entr),
    ("frac", composite.FracOp, {}, torch.frac),
    ("sinc", composite.SincOp, {}, torch.sinc),
    ("relu", composite.ReluOp, {}, F.relu),
    ("sgn", composite.SgnOp, {}, torch.sgn),
    ("leaky_relu", composite.LeakyReluOp, {"negative_slope": 0.02}, lambda x: F.leaky_relu(x, 0.02)),
    ("elu", composite.EluOp, {"alpha": 1.3}, lambda x: F.elu(x, 1.3)),
    ("celu", composite.EluOp, {"alpha": 1.3, "input_scale": 1 / 1.3}, lambda x: F.celu(x, 1.3)),
    ("selu", composite.EluOp, {"alpha": 1.6732632423543772, "scale": 1.0507009873554805}, F.selu),
    ("gelu", composite.GeluOp, {}, lambda x: torch.where(x == torch.inf, x, F.gelu(x))),  # some builds of torch give NaN at infinity
    ("gelu_tanh", composite.GeluOp, {"approximate": "tanh"}, lambda x: F.gelu(x, approximate="tanh")),
    ("hardtanh", composite.HardtanhOp, {"min": -0.7, "max": 0.9}, lambda x: F.hardtanh(x, -0.7, 0.9)),
    ("softplus", composite.SoftplusOp, {"beta": 2.0, "threshold": 7.0}, lambda x: F.softplus(x, 2.0, 7.0)),
    ("threshold", composite.ThresholdOp, {"threshold": 0.2, "value": 5.0}, lambda x: F.threshold(x, 0.2, 5.0)),
    ("hardshrink", composite.HardshrinkOp, {"lambd": 0.4}, lambda x: F.hardshrink(x, 0.4)),
    ("softshrink", composite.SoftshrinkOp, {"lambd": 0.4}, lambda x: F.softshrink(x, 0.4)),
    ("nan_to_num", composite.NanToNumOp, {}, torch.nan_to_num),
    ("logit", composite.LogitOp, {"eps": 0.01}, lambda x: torch.logit(x, 0.01)),
    ("polygamma", composite.PolygammaOp, {"n": 2}, lambda x: torch.polygamma(2, x)),
    ("glu", composite.GluOp, {"dim": 1}, lambda x: F.glu(x, 1)),
]


@pytest.mark.parametrize("dtype", FLOATS)
@pytest.mark.parametrize(("name", "cls", "attrs", "eager"), COMPOSITES, ids=[c[0] for c in COMPOSITES])
def test_composites(name, cls, attrs, eager, dtype):
    x = random_tensor((30, 64), dtype)
    check(lambda emit, x: emit(cls(x, **attrs)), eager, [x], exact=dtype.itemsize == 2 and name not in ("gelu", "polygamma"))  # eager's erf and zeta are others


THREE = [
    ("addcmul", composite.AddcmulOp, {"value": 0.5}, lambda x, y, z: torch.addcmul(x, y, z, value=0.5)),
    ("addcdiv", composite.AddcdivOp, {"value": 0.5}, lambda x, y, z: torch.addcdiv(x, y, z, value=0.5)),
    ("lerp", composite.LerpOp, {}, torch.lerp),
]


@pytest.mark.parametrize("dtype", FLOATS)
@pytest.mark.parametrize(("name", "cls", "attrs", "eager"), THREE, ids=[c[0] for c in THREE])
def test_composites_of_three(name, cls, attrs, eager, dtype):
    tensors = [random_tensor((30, 65), dtype, k) for k in range(3)]
    check(lambda emit, x, y, z: emit(cls(x, y, z, **attrs)), eager, tensors, exact=dtype.itemsize == 2)


TWO = [
    ("xlogy", composite.XlogyOp, {}, torch.xlogy),
    ("xlog1py", composite.XlogyOp, {"logarithm": "log1p"}, torch.special.xlog1py),
    ("logaddexp", composite.LogaddexpOp, {}, torch.logaddexp),
    ("logaddexp2", composite.LogaddexpOp, {"base": "2"}, torch.logaddexp2),
    ("heaviside", composite.HeavisideOp, {}, torch.heaviside),
    ("sigmoid_backward", composite.SigmoidBackwardOp, {}, lambda g, y: torch.ops.aten.sigmoid_backward(g, y)),
    ("tanh_backward", composite.TanhBackwardOp, {}, lambda g, y: torch.ops.aten.tanh_backward(g, y)),
    ("threshold_backward", composite.ThresholdBackwardOp, {"threshold": 0}, lambda g, x: torch.ops.aten.threshold_backward(g, x, 0)),
    ("silu_backward", composite.SiluBackwardOp, {}, lambda g, x: torch.ops.aten.silu_backward(g, x)),
    ("gelu_backward", composite.GeluBackwardOp, {}, lambda g, x: torch.ops.aten.gelu_backward(g, x)),
    ("gelu_tanh_backward", composite.GeluBackwardOp, {"approximate": "tanh"}, lambda g, x: torch.ops.aten.gelu_backward(g, x, approximate="tanh")),
    ("mish_backward", composite.MishBackwardOp, {}, lambda g, x: torch.ops.aten.mish_backward(g, x)),
    ("elu_backward", composite.EluBackwardOp, {}, lambda g, x: torch.ops.aten.elu_backward(g, 1.0, 1.0, 1.0, False, x)),
    ("softplus_backward", composite.SoftplusBackwardOp, {}, lambda g, x: torch.ops.aten.softplus_backward(g, x, 1.0, 20.0)),
    ("log_sigmoid_backward", composite.LogSigmoidBackwardOp, {}, lambda g, x: torch.ops.aten.log_sigmoid_backward(g, x, torch.exp(-x.abs()))),
    ("nextafter", pointwise.NextafterOp, {}, torch.nextafter),
]


@pytest.mark.parametrize("dtype", FLOATS)
@pytest.mark.parametrize(("name", "cls", "attrs", "eager"), TWO, ids=[c[0] for c in TWO])
def test_composites_of_two(name, cls, attrs, eager, dtype):
    if dtype == torch.float16 and name == "nextafter":
        pytest.skip("eager has none")
    x, y = random_tensor((30, 65), dtype, 1), random_tensor((30, 65), dtype, 2)
    check(lambda emit, x, y: emit(cls(x, y, **attrs)), eager, [x, y], exact=dtype.itemsize == 2 and name != "gelu_backward")


@pytest.mark.parametrize("shape", [(), (0,), (3, 0, 2), (1,), (1, 1)])
def test_empty_and_dimensionless_tensors(shape):
    x, y = random_tensor(shape, torch.float32), random_tensor((), torch.float32, 1)
    check(lambda emit, x, y: emit(pointwise.AddOp(x, y)), torch.add, [x, y], exact=True)


def test_creation():
    check(lambda emit: emit(creation.FullOp((2, 3), 1.5, f32)), lambda: torch.full((2, 3), 1.5), [])
    check(lambda emit: emit(creation.FullOp((), True, i1)), lambda: torch.tensor(True), [])
    check(lambda emit: emit(creation.IotaOp(7, 3, -2)), lambda: torch.arange(3, -11, -2), [])
    check(lambda emit: emit(creation.IotaOp(300, 3, 1, bf16)), lambda: torch.arange(3, 303, 1, dtype=torch.bfloat16), [], exact=True)
    check(lambda emit: emit(creation.IotaOp(40, 0.1, 0.3, f32)), lambda: torch.arange(0.1, 12.0, 0.3)[:40], [], exact=True)


@pytest.mark.parametrize("strides", ["transposed", "sliced", "expanded", "channels_last", "flipped"])
def test_strided_inputs_and_eager_strides_of_results(strides):
    x = random_tensor((4, 6, 8, 10), torch.float32)
    x = {
        "transposed": lambda: x.transpose(1, 3),
        "sliced": lambda: x[:, 1:5:2, :, 3:],
        "expanded": lambda: x[:, :1].expand(4, 5, 8, 10),
        "channels_last": lambda: x.contiguous(memory_format=torch.channels_last),
        "flipped": lambda: x.permute(3, 2, 1, 0),
    }[strides]()
    check(lambda emit, x: emit(pointwise.ExpOp(x)), torch.exp, [x], exact=True)
    check(lambda emit, x: emit(creation.CopyOp(x)), torch.clone, [x], exact=True)
