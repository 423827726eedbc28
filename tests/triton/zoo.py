"""Programs whose graphs become every kind of GPU kernel: the same ones run in Triton's interpreter, are compiled for a GPU, and run on one.

A program is a function of tensors and the tensors for it, made on the CPU from a generator; its tolerance says how far from eager it may be, in units of
what is usual among the numbers of a result.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import torch
import torch.nn.functional as F

Make = Callable[..., torch.Tensor]
NAN, INF = float("nan"), float("inf")
SPECIAL = (NAN, INF, -INF, 0.0, -0.0, 1.0, -1.0, 0.5, -2.5, 1e-40, 3e38, 88.8, -103.5)


class Program(NamedTuple):
    """`tolerance` is relative to the element and the median of its tensor, added; 0 asks for equal bits (NaN equals NaN)."""

    run: Callable[..., Any]
    make: Callable[[Make], tuple[torch.Tensor, ...]]
    tolerance: float = 0.0
    draws: bool = False  # its random numbers are lect's, which the CPU's native code gives too


def maker(seed: int = 0) -> Make:
    """`make(8, 4, dtype=..., special=False)`: random tensors of one generator, some of whose elements are NaN and their like if asked for."""
    generator = torch.Generator().manual_seed(seed)

    def make(*shape: int, dtype: torch.dtype = torch.float32, special: bool = False, high: int = 100) -> torch.Tensor:
        if dtype is torch.bool:
            return torch.randint(0, 2, shape, generator=generator).bool()
        if not dtype.is_floating_point:
            low = 0 if dtype is torch.uint8 else -high
            return torch.randint(low, high, shape, generator=generator).to(dtype)
        out = torch.randn(shape, generator=generator, dtype=torch.float64).to(dtype)
        if special:
            flat = out.reshape(-1)
            places = torch.randperm(flat.numel(), generator=generator)[: len(SPECIAL)]
            flat[places] = torch.tensor(SPECIAL, dtype=torch.float64).to(dtype)[: len(places)]
        return out

    return make


ZOO: dict[str, Program] = {}
BF16, F16, F64 = torch.bfloat16, torch.float16, torch.float64
ULPS, HALF = 4e-7, 8e-3


def program(make: Callable[[Make], tuple[torch.Tensor, ...]], tolerance: float = 0.0, draws: bool = False) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Add a program to the zoo under its own name."""

    def add(run: Callable[..., Any]) -> Callable[..., Any]:
        ZOO[run.__name__] = Program(run, make, tolerance, draws)
        return run

    return add


# ---- elementwise -----------------------------------------------------------------------------------------------------


@program(lambda t: (t(100, 30, special=True), t(30)))
def broadcast_add(x, b):
    return x + b, x - 2 * b, x * b


@program(lambda t: (t(4, 8, 16), t(8, 1)))
def broadcast_middle(x, y):
    return x * y + 1


@program(lambda t: (t(40, 50), t(50, 40)))
def transpose_add(x, y):
    return (x.t() + y).contiguous()


@program(lambda t: (t(6, 33, 40),))
def permuted(x):
    return x.permute(2, 0, 1).contiguous() * 2


@program(lambda t: (t(1000),))
def not_a_power(x):
    return (x * 3 - 1).abs()


@program(lambda t: (t(64, 33)[:, 1:],))
def odd_rows(x):
    return x + 1


@program(lambda t: (t(1, 20).expand(7, 20),))
def expanded(x):
    return x * 3


@program(lambda t: (t(),))
def no_dims(x):
    return x * 2 + 1


@program(lambda t: (t(0, 5), t(5)))
def empty(x, y):
    return x + y, y + 1


@program(lambda t: (t(200, special=True), t(200, special=True)))
def extremes(x, y):
    return torch.maximum(x, y), torch.minimum(x, y), torch.fmax(x, y), torch.fmin(x, y), x.clamp(-1, 1), torch.relu(x)


@program(lambda t: (t(200, special=True), t(200, special=True)))
def comparisons(x, y):
    return x < y, x <= y, x == y, x != y, x.isnan(), x.isinf(), torch.where(x > 0, x, y), ~(x < y), (x < y) & (y > 0)


@program(lambda t: (t(300, special=True),), ULPS)
def mathematics(x):
    return x.exp(), x.abs().log(), x.abs().sqrt(), x.tanh(), x.sigmoid(), x.erf(), x.expm1(), x.abs().log1p()


@program(lambda t: (t(300),), ULPS)
def trigonometry(x):
    return x.sin(), x.cos(), x.tan(), x.atan(), (x / 4).clamp(-1, 1).asin(), x.sinh(), x.cosh(), x.asinh()


@program(lambda t: (t(300).abs() + 0.1, t(300)), ULPS)
def powers(x, y):
    return x**y, x**2, x**0.5, x.rsqrt(), x.reciprocal(), torch.atan2(x, y), torch.hypot(x, y), x.log2(), x.log10(), x.exp2()


@program(lambda t: (t(300) * 10, t(300) * 3))
def divisions(x, y):
    return x / y, torch.floor(x), torch.ceil(x), torch.trunc(x), torch.round(x), torch.fmod(x, y), torch.remainder(x, y), x // y, torch.div(x, y, rounding_mode="trunc")


@program(lambda t: (t(300, special=True),))
def signs(x):
    return -x, x.abs(), x.sign(), torch.copysign(torch.ones_like(x), x)


@program(lambda t: (t(200, dtype=torch.int32), t(200, dtype=torch.int32, high=9).abs() + 1))
def integers(x, y):
    return x + y, x * y - 3, x // y, x % y, torch.div(x, y, rounding_mode="trunc"), torch.fmod(x, y), -x, x.abs(), x.sign(), x & y, x | y, x ^ y, ~x, x << (y % 5), x >> (y % 5)


@program(lambda t: (t(200, dtype=torch.int64), t(200, dtype=torch.int8), t(200, dtype=torch.uint8), t(200, dtype=torch.bool)))
def integer_widths(x, y, z, b):
    return x * 3_000_000_000 + 1, y + y, y * 2, z + z, z // 3, x + y, b & (x > 0), b | (z > 4), b ^ b.logical_not(), b.to(torch.float32) + 1


@program(lambda t: (t(250, special=True), t(250, dtype=torch.int64), t(250, dtype=torch.bool)))
def casts(x, n, b):
    finite = x.nan_to_num(0.0, 5.0, -5.0).clamp(-1e6, 1e6)
    return (x.to(BF16), x.to(F16), x.double(), finite.int(), finite.long(), n.float(), n.to(BF16), n.double(), n.int(), b.int(), b.to(F16), x.bool(), n.bool(), x.to(BF16).to(F16))


@program(lambda t: (t(120, dtype=F64, special=True), t(120, dtype=F64)))
def doubles(x, y):
    return x * 0.1 + y, x / y, torch.maximum(x, y), x.abs().sqrt(), x > y, x.float()


@program(lambda t: (t(120, dtype=F64),), 1e-14)
def doubles_mathematics(x):
    return x.exp(), x.tanh(), x.sin(), x.abs().log(), x.softmax(0), x.sum()


@program(lambda t: (t(96, 40, dtype=BF16, special=True), t(40, dtype=BF16)))
def halves_round_each_time(x, b):
    return (x + b) * 3 - x, ((x * b) + x) * b


@program(lambda t: (t(96, 40, dtype=F16), t(40, dtype=F16)))
def f16_chain(x, b):
    return (x + b) * 3 - x


@program(lambda t: (t(64, 256, dtype=BF16), t(256, dtype=BF16)), HALF)
def bias_gelu(x, b):
    return F.gelu(x + b, approximate="tanh") * 1.5


@program(lambda t: (t(50, 30), t(50, 30)), 4e-6)
def activations(x, y):
    return F.gelu(x), F.gelu(x, approximate="tanh"), F.silu(x) * y, F.elu(x), F.softplus(x), F.mish(x), F.hardswish(x), F.leaky_relu(x), F.logsigmoid(x)


# ---- special functions ------------------------------------------------------------------------------------------------

SPECIALS = torch.special


@program(lambda t: (t(150, special=True) / 2, t(70, dtype=F64, special=True) / 2, t(64, dtype=BF16) / 2), 2e-6)
def error_functions(x, y, z):
    return [run(each) for each in (x, y) for run in (torch.erfinv, SPECIALS.erfcx, SPECIALS.ndtri, SPECIALS.log_ndtr)] + [torch.erfinv(z), SPECIALS.ndtri(z.float())]


@program(lambda t: (t(150, special=True) * 4, t(70, dtype=F64, special=True) * 4, t(64, dtype=BF16).abs() + 1), 3e-6)
def gamma_functions(x, y, z):
    both = [run(each) for each in (x, y) for run in (torch.lgamma, torch.digamma)]
    return [*both, torch.polygamma(1, z.float()), torch.polygamma(2, z.double()), torch.polygamma(1, x.abs()), torch.mvlgamma(y.abs() + 2, 3), torch.lgamma(z)]


@program(lambda t: (t(120).abs() * 4 + 1, t(120).abs() * 6, t(60, dtype=F64).abs() * 40, t(60, dtype=F64).abs() * 40), 1e-5)
def incomplete_gammas(a, x, b, y):
    return torch.igamma(a, x), torch.igammac(a, x), torch.igamma(b, y), torch.igammac(b, y), torch.igamma(a[:, None], x[:5]), SPECIALS.zeta(a + 0.1, x + 0.1)


@program(lambda t: (t(150, special=True) * 5, t(70, dtype=F64) * 5), 3e-6)
def bessel_functions(x, y):
    both = (torch.i0, SPECIALS.i0e, SPECIALS.i1, SPECIALS.i1e, SPECIALS.bessel_j0, SPECIALS.bessel_j1, SPECIALS.spherical_bessel_j0)
    above = (SPECIALS.bessel_y0, SPECIALS.bessel_y1, SPECIALS.modified_bessel_k0, SPECIALS.modified_bessel_k1, SPECIALS.scaled_modified_bessel_k0)
    return [run(each) for each in (x.clamp(-60, 60), y) for run in both] + [run(each.abs() + 0.01) for each in (x.clamp(-60, 60), y) for run in above]


@program(lambda t: (t(150, special=True) * 5, t(70, dtype=F64) * 5), 5e-5)  # eager's is off by 2e-5 about -2 and -3, also in f64
def airy_function(x, y):
    return SPECIALS.airy_ai(x.clamp(-60, 60)), SPECIALS.airy_ai(y)


@program(lambda t: (t(90).tanh(), t(90, dtype=torch.int32, high=12).abs(), t(40, dtype=F64), t(40, dtype=torch.int64, high=9)), 2e-5)
def polynomials(x, n, y, m):
    names = [f"{shifted}chebyshev_polynomial_{letter}" for shifted in ("", "shifted_") for letter in "tuvw"]
    names += ["hermite_polynomial_h", "hermite_polynomial_he", "laguerre_polynomial_l", "legendre_polynomial_p"]
    return [getattr(SPECIALS, name)(*each) for name in names for each in ((x, n), (y, m))]


@program(lambda t: (t(120, special=True), t(120), t(60, dtype=BF16), t(60, dtype=BF16), t(120, dtype=torch.int32), t(80, dtype=torch.int64), t(30, dtype=F64)))
def parts_of_numbers(x, y, z, w, m, n, d):
    return (*torch.frexp(x), *torch.frexp(d), torch.nextafter(x, y), torch.nextafter(z, w), torch.nextafter(d, d * 2), torch.gcd(m, m.flip(0)), torch.gcd(n, n.flip(0)),
            torch.lcm(m, m.roll(1)), torch.ldexp(y, m % 9))  # fmt: skip


# ---- reductions ------------------------------------------------------------------------------------------------------


@program(lambda t: (t(9, 100), t(5, 3, 70)), 1e-6)
def row_sums(x, y):
    return x.sum(-1), x.mean(-1, keepdim=True), y.sum(-1), (y * y).sum((1, 2))


@program(lambda t: (t(300, 70),), 1e-6)
def column_sums(x):
    return (x * x).sum(0), x.mean(0)


@program(lambda t: (t(40, 17, 33),), 1e-6)
def middle_sums(x):
    return x.sum(1), x.sum((0, 2)), x.sum()


@program(lambda t: (t(3, 40000),), 2e-6)
def long_rows(x):
    return x.sum(-1), x.amax(-1), torch.softmax(x, -1)


@program(lambda t: (t(30, 60, special=True),))
def greatest(x):
    return x.amax(-1), x.amin(0), x.argmax(-1), x.argmin(0), x.max(1)[0], x.min(1)[1], x.argmax()


@program(lambda t: (t(30, 60),))
def greatest_of_few(x):
    few = torch.round(x)
    return few.argmax(-1), few.argmin(-1), few.max(0)[1]


@program(lambda t: (t(30, 60, dtype=torch.bool), t(30, 60, dtype=torch.int32), t(20, 30, dtype=torch.int8)))
def folds_of_integers(b, n, s):
    return b.any(-1), b.all(0), b.sum(-1), n.sum(0), n.amax(-1), n.prod(-1), s.sum(-1), s.amax(0), n.argmax(0), b.any()


@program(lambda t: (t(30, 12),), ULPS)
def products(x):
    return x.prod(-1), x.prod(0)


@program(lambda t: (t(64, 100, dtype=BF16),), HALF)
def softmax_rows(x):
    return torch.softmax(x.float(), -1).to(x.dtype), torch.softmax(x, -1)


@program(lambda t: (t(64, 100, special=True), t(20, 90)), ULPS)
def softmaxes(x, y):
    return torch.softmax(x, -1), torch.log_softmax(y, -1), torch.logsumexp(y, 0), torch.softmax(y, 0)


@program(lambda t: (t(33, 128, dtype=BF16), t(33, 128, dtype=BF16), t(128, dtype=BF16), t(128, dtype=BF16)), HALF)
def residual_layernorm(x, y, w, b):
    return F.layer_norm(x + y, (128,), w, b)


@program(lambda t: (t(33, 100), t(100), t(100)), 2e-6)
def layernorm(x, w, b):
    return F.layer_norm(x, (100,), w, b)


@program(lambda t: (t(40, 96, dtype=BF16), t(96, dtype=BF16)), HALF)
def rmsnorm(x, w):
    h = x.float()
    return (h * torch.rsqrt(h.pow(2).mean(-1, keepdim=True) + 1e-6)).to(x.dtype) * w


@program(lambda t: (t(25, 70),), 2e-6)
def variances(x):
    return x.var(-1), x.std(0), torch.var_mean(x, 1)[1], x.norm(dim=-1)


@program(lambda t: (t(8, 6, 10, 10), t(6), t(6)), 4e-5)  # half of the results are 0, so the median is none of the usual
def batch_norm(x, w, b):
    return F.relu(F.batch_norm(x, None, None, w, b, training=True))


@program(lambda t: (t(4, 8, 6, 6), t(8), t(8)), 1e-5)
def group_norm(x, w, b):
    return F.group_norm(x, 4, w, b)


# ---- gathers, scans, windows -----------------------------------------------------------------------------------------


@program(lambda t: (t(50, 24), t(8, 5, dtype=torch.int64, high=50).abs() % 50))
def embedding(w, n):
    return F.embedding(n, w), w[n[0]]


@program(lambda t: (t(20, 30), t(20, 7, dtype=torch.int64).abs() % 30))
def gathers(x, n):
    return x.gather(1, n), x.index_select(1, n[0])


@program(lambda t: (t(12, 300), t(300, 20), t(5, 40, dtype=torch.int32)), 4e-6)
def scans(x, y, n):
    return x.cumsum(-1), y.cumsum(0), n.cumsum(-1), x.cummax(-1)[0], x[:, :9].cumprod(-1)


@program(lambda t: (t(2, 3, 20), t(2, 5, 20), t(10, 8)))
def joined(x, y, z):
    return torch.cat([x, y], 1) * 2, F.pad(z, (1, 2, 3, 0)) + 1, torch.stack([z, z + 1]), z.flip(0), z.roll(3, 1), z.tril(), z.repeat(2, 3)


@program(lambda t: (t(2, 4, 12, 12),), ULPS)
def pooling(x):
    return F.max_pool2d(x, 3, 2, 1), F.avg_pool2d(x, 2), F.adaptive_avg_pool2d(x, 3), F.interpolate(x, scale_factor=2)


@program(lambda t: (t(16, 50), t(16, dtype=torch.int64).abs() % 50), ULPS)
def cross_entropy(x, n):
    return F.cross_entropy(x, n), F.cross_entropy(x, n, reduction="none")


@program(lambda t: (t(2, 17001), t(2, 17001, dtype=F16), torch.tensor([17000, -100])), 4 * ULPS)
def cross_entropy_of_long_rows(x, y, n):
    return F.cross_entropy(x, n), F.cross_entropy(y.float(), n, reduction="sum"), F.cross_entropy(torch.where(x > 0, -INF, x), n, reduction="none")


@program(lambda t: (t(2, 17001, special=True), t(2, 17001, dtype=BF16)), 4 * ULPS)
def softmax_of_long_rows(x, y):
    return torch.softmax(x, -1), torch.logsumexp(y.float(), -1), torch.log_softmax(y.float(), -1), torch.softmax(torch.where(x > -9, -INF, x), -1)


@program(lambda t: (t(20, 30), t(30, 40), t(40)), 1e-5)
def matmul_epilogue(x, w, b):
    return F.relu(torch.addmm(b, x, w)) ** 2, (x @ w).softmax(-1)


@program(lambda t: (t(40, 72, dtype=BF16), t(72, 24, dtype=BF16), t(24, dtype=BF16), t(40, 24, dtype=BF16)), 2 * HALF)
def products_of_halves(x, w, b, y):
    return F.gelu(torch.addmm(b, x, w)) + y, (x @ w).relu(), torch.tanh(F.linear(x, w.t().contiguous())) * 2


@program(lambda t: (t(40, 72, special=True), t(72, 24), t(24), t(3, 24, 40), t(3, 40, 16), t(40, 24)), 1e-5)
def small_products(x, w, b, u, v, y):
    """Of f32, and in f32 whatever the program allows."""
    return torch.tanh(x @ w) + y, torch.addmm(b, x, w).relu(), torch.bmm(u, v) * 2, torch.sigmoid(F.linear(y, w))


@program(lambda t: (t(128, 48, dtype=BF16), t(48, 48, dtype=BF16), t(48, dtype=BF16)), 2 * HALF)
def turned_products(x, w, b):
    heads = torch.addmm(b, x, w).view(2, 64, 3, 16)
    return (heads.permute(0, 2, 3, 1) * 2).contiguous(), (heads.transpose(1, 2) * 2).contiguous(), (F.linear(x, w, b).t() * 2).contiguous()


@program(lambda t: (t(64, 96, dtype=BF16), t(64, 96, dtype=BF16), t(96, dtype=BF16), t(192, 96, dtype=BF16), t(192, dtype=BF16)), 2 * HALF)
def product_behind_a_norm(x, y, g, w, b):
    return F.gelu(F.linear(F.layer_norm(x + y, (96,), g, g), w, b))


@program(lambda t: (t(3, 40, 32, dtype=F16), t(3, 32, 16, dtype=F16), t(3, 16, 40, dtype=F16)), 2 * HALF)
def batches_of_products(x, y, z):
    return (x @ y).relu() * 2, torch.bmm(x.transpose(1, 2), z.transpose(1, 2)).sigmoid()


@program(lambda t: (t(2, 16, 5, 6, dtype=F16), t(24, 16, 1, 1, dtype=F16), t(24, dtype=F16), t(2, 24, 5, 6, dtype=F16)), 2 * HALF)
def convolution_of_points(x, w, b, y):
    x, y = x.to(memory_format=torch.channels_last), y.to(memory_format=torch.channels_last)
    return F.relu(F.conv2d(x, w, b) + y), F.hardswish(F.conv2d(x, w))


@program(lambda t: (t(70, 48, dtype=BF16, special=True).clamp(-1e30, 1e30), t(70, 48, dtype=F16)), HALF)  # eager's on a CPU differs beyond
def gelu_of_halves(x, y):
    slope = torch.ops.aten.gelu_backward(y.flip(0), y)
    return F.gelu(x), F.gelu(y) * 2, slope, slope.sum(0)


@program(lambda t: (t(70, 48, dtype=BF16, special=True), t(70, 48, dtype=F16, special=True) * 30), HALF)
def sigmoids_of_halves(x, y):
    far = torch.arange(-100.0, 100.0, 0.5, device=x.device).to(BF16)  # where powers overflow, and where reciprocals vanish
    return F.silu(x), torch.sigmoid(x), F.silu(y), torch.sigmoid(y), F.gelu(y, approximate="tanh"), F.silu(far) * 1e30, torch.sigmoid(far) * 1e30, far / (1 + (-far).exp())


@program(lambda t: (t(40, 30), t(20, 15)))
def known_places(x, y):
    return torch.slice_scatter(x[:20], y, 1, 3, 18), x.diagonal_scatter(y.flatten()[:28], 2)


@program(lambda t: (t(70, 40), t(70, 40), t(40)), 1e-5)
def summed_and_overwritten(x, y, m):
    h = (x + y).exp()
    g = torch.where(y <= 0, 0, h)
    return g + 1, g.sum(0), ((x - m) * g).sum(0), x.add_(y), x.sum(0)


@program(lambda t: (t(6, 10), t(6, 10)))
def writes(x, y):
    x.add_(y).mul_(2)
    y[1:3].zero_()
    return x.t()


@program(lambda t: tuple(t(40, 16) for _ in range(40)), ULPS)
def adam_foreach(*tensors):
    p, g, m, v = [list(tensors[k::4]) for k in range(4)]
    v = [x.abs_() for x in v]
    torch._foreach_lerp_(m, g, 0.1)
    torch._foreach_mul_(v, 0.999)
    torch._foreach_addcmul_(v, g, g, 0.001)
    d = torch._foreach_sqrt(v)
    torch._foreach_add_(d, 1e-8)
    torch._foreach_addcdiv_(p, m, d, -1e-3)


@program(lambda t: (t(60, 50), t(60, 50, dtype=BF16)), ULPS, draws=True)
def random_numbers(x, y):
    return F.dropout(x, 0.3), torch.rand_like(x) + x, torch.randn_like(y), torch.randint_like(x, 5, 900), torch.rand_like(x, dtype=F64), torch.bernoulli(x, 0.25)


def results(found: Any, inputs: tuple[torch.Tensor, ...]) -> list[torch.Tensor]:
    """All tensors that a run gives, and the inputs, which it may have changed."""
    found = found if isinstance(found, (tuple, list)) else (found,)
    return [*[each for each in found if each is not None], *inputs]


def difference(expected: torch.Tensor, found: torch.Tensor, tolerance: float) -> str | None:
    """What differs, in words; None when nothing does."""
    if (expected.dtype, expected.shape, expected.stride()) != (found.dtype, found.shape, found.stride()):
        return f"{found.dtype} {tuple(found.shape)} {found.stride()}, expected {expected.dtype} {tuple(expected.shape)} {expected.stride()}"
    if not expected.numel():
        return None
    if not expected.dtype.is_floating_point:
        return None if torch.equal(expected, found) else f"{int((expected != found).sum())} of {expected.numel()} differ"
    a, b = expected.double(), found.double()
    same = (a == b) | (a.isnan() & b.isnan())
    if not tolerance:
        same &= a.isnan() | (torch.signbit(a) == torch.signbit(b))
    if bool(same.all()):
        return None
    finite = a.isfinite() & b.isfinite()
    usual = a[finite & (a != 0)].abs()  # what a relu leaves, not its zeros
    scale = a.abs() + (usual.median() if usual.numel() else 0)
    off = torch.where(finite, (a - b).abs() / scale, torch.inf).where(~same, 0.0)
    worst = off.max().item()
    if worst <= tolerance:
        return None
    at = int(off.argmax())
    return f"{int((off > tolerance).sum())} of {off.numel()} differ, by {worst:.2e} at {at}: {found.flatten()[at].item()!r}, expected {expected.flatten()[at].item()!r}"
