// RUN: lect-opt %s | lect-opt | filecheck %s
// RUN: lect-opt %s --print-op-generic | lect-opt | filecheck %s

// One operand; predicates give i1.
// CHECK-LABEL: functional.func @unary(%x: !functional.tensor<8x16xf32>, %i: !functional.tensor<4xi32>)
functional.func @unary(%x: !functional.tensor<8x16xf32>, %i: !functional.tensor<4xi32>) {
  // CHECK-NEXT: functional.reciprocal({{.*}}) : !functional.tensor<8x16xf32>
  %0 = functional.reciprocal(%x) : !functional.tensor<8x16xf32>
  // CHECK-NEXT: functional.sqrt({{.*}}) : !functional.tensor<8x16xf32>
  %1 = functional.sqrt(%x) : !functional.tensor<8x16xf32>
  // CHECK-NEXT: functional.rsqrt({{.*}}) : !functional.tensor<8x16xf32>
  %2 = functional.rsqrt(%x) : !functional.tensor<8x16xf32>
  // CHECK-NEXT: functional.exp({{.*}}) : !functional.tensor<8x16xf32>
  %3 = functional.exp(%x) : !functional.tensor<8x16xf32>
  // CHECK-NEXT: functional.exp2({{.*}}) : !functional.tensor<8x16xf32>
  %4 = functional.exp2(%x) : !functional.tensor<8x16xf32>
  // CHECK-NEXT: functional.expm1({{.*}}) : !functional.tensor<8x16xf32>
  %5 = functional.expm1(%x) : !functional.tensor<8x16xf32>
  // CHECK-NEXT: functional.log({{.*}}) : !functional.tensor<8x16xf32>
  %6 = functional.log(%x) : !functional.tensor<8x16xf32>
  // CHECK-NEXT: functional.log2({{.*}}) : !functional.tensor<8x16xf32>
  %7 = functional.log2(%x) : !functional.tensor<8x16xf32>
  // CHECK-NEXT: functional.log10({{.*}}) : !functional.tensor<8x16xf32>
  %8 = functional.log10(%x) : !functional.tensor<8x16xf32>
  // CHECK-NEXT: functional.log1p({{.*}}) : !functional.tensor<8x16xf32>
  %9 = functional.log1p(%x) : !functional.tensor<8x16xf32>
  // CHECK-NEXT: functional.sin({{.*}}) : !functional.tensor<8x16xf32>
  %10 = functional.sin(%x) : !functional.tensor<8x16xf32>
  // CHECK-NEXT: functional.cos({{.*}}) : !functional.tensor<8x16xf32>
  %11 = functional.cos(%x) : !functional.tensor<8x16xf32>
  // CHECK-NEXT: functional.tan({{.*}}) : !functional.tensor<8x16xf32>
  %12 = functional.tan(%x) : !functional.tensor<8x16xf32>
  // CHECK-NEXT: functional.asin({{.*}}) : !functional.tensor<8x16xf32>
  %13 = functional.asin(%x) : !functional.tensor<8x16xf32>
  // CHECK-NEXT: functional.acos({{.*}}) : !functional.tensor<8x16xf32>
  %14 = functional.acos(%x) : !functional.tensor<8x16xf32>
  // CHECK-NEXT: functional.atan({{.*}}) : !functional.tensor<8x16xf32>
  %15 = functional.atan(%x) : !functional.tensor<8x16xf32>
  // CHECK-NEXT: functional.sinh({{.*}}) : !functional.tensor<8x16xf32>
  %16 = functional.sinh(%x) : !functional.tensor<8x16xf32>
  // CHECK-NEXT: functional.cosh({{.*}}) : !functional.tensor<8x16xf32>
  %17 = functional.cosh(%x) : !functional.tensor<8x16xf32>
  // CHECK-NEXT: functional.tanh({{.*}}) : !functional.tensor<8x16xf32>
  %18 = functional.tanh(%x) : !functional.tensor<8x16xf32>
  // CHECK-NEXT: functional.asinh({{.*}}) : !functional.tensor<8x16xf32>
  %19 = functional.asinh(%x) : !functional.tensor<8x16xf32>
  // CHECK-NEXT: functional.acosh({{.*}}) : !functional.tensor<8x16xf32>
  %20 = functional.acosh(%x) : !functional.tensor<8x16xf32>
  // CHECK-NEXT: functional.atanh({{.*}}) : !functional.tensor<8x16xf32>
  %21 = functional.atanh(%x) : !functional.tensor<8x16xf32>
  // CHECK-NEXT: functional.erf({{.*}}) : !functional.tensor<8x16xf32>
  %22 = functional.erf(%x) : !functional.tensor<8x16xf32>
  // CHECK-NEXT: functional.erfc({{.*}}) : !functional.tensor<8x16xf32>
  %23 = functional.erfc(%x) : !functional.tensor<8x16xf32>
  // CHECK-NEXT: functional.erfinv({{.*}}) : !functional.tensor<8x16xf32>
  %24 = functional.erfinv(%x) : !functional.tensor<8x16xf32>
  // CHECK-NEXT: functional.erfcx({{.*}}) : !functional.tensor<8x16xf32>
  %25 = functional.erfcx(%x) : !functional.tensor<8x16xf32>
  // CHECK-NEXT: functional.ndtri({{.*}}) : !functional.tensor<8x16xf32>
  %26 = functional.ndtri(%x) : !functional.tensor<8x16xf32>
  // CHECK-NEXT: functional.log_ndtr({{.*}}) : !functional.tensor<8x16xf32>
  %27 = functional.log_ndtr(%x) : !functional.tensor<8x16xf32>
  // CHECK-NEXT: functional.lgamma({{.*}}) : !functional.tensor<8x16xf32>
  %28 = functional.lgamma(%x) : !functional.tensor<8x16xf32>
  // CHECK-NEXT: functional.digamma({{.*}}) : !functional.tensor<8x16xf32>
  %29 = functional.digamma(%x) : !functional.tensor<8x16xf32>
  // CHECK-NEXT: functional.sigmoid({{.*}}) : !functional.tensor<8x16xf32>
  %30 = functional.sigmoid(%x) : !functional.tensor<8x16xf32>
  // CHECK-NEXT: functional.abs({{.*}}) : !functional.tensor<8x16xf32>
  %31 = functional.abs(%x) : !functional.tensor<8x16xf32>
  // CHECK-NEXT: functional.neg({{.*}}) : !functional.tensor<8x16xf32>
  %32 = functional.neg(%x) : !functional.tensor<8x16xf32>
  // CHECK-NEXT: functional.floor({{.*}}) : !functional.tensor<8x16xf32>
  %33 = functional.floor(%x) : !functional.tensor<8x16xf32>
  // CHECK-NEXT: functional.ceil({{.*}}) : !functional.tensor<8x16xf32>
  %34 = functional.ceil(%x) : !functional.tensor<8x16xf32>
  // CHECK-NEXT: functional.round({{.*}}) : !functional.tensor<8x16xf32>
  %35 = functional.round(%x) : !functional.tensor<8x16xf32>
  // CHECK-NEXT: functional.trunc({{.*}}) : !functional.tensor<8x16xf32>
  %36 = functional.trunc(%x) : !functional.tensor<8x16xf32>
  // CHECK-NEXT: functional.sign({{.*}}) : !functional.tensor<8x16xf32>
  %37 = functional.sign(%x) : !functional.tensor<8x16xf32>
  // CHECK-NEXT: functional.bitwise_not({{.*}}) : !functional.tensor<4xi32>
  %38 = functional.bitwise_not(%i) : !functional.tensor<4xi32>
  // CHECK-NEXT: functional.logical_not({{.*}}) : !functional.tensor<8x16xi1>
  %39 = functional.logical_not(%x) : !functional.tensor<8x16xi1>
  // CHECK-NEXT: functional.isnan({{.*}}) : !functional.tensor<8x16xi1>
  %40 = functional.isnan(%x) : !functional.tensor<8x16xi1>
  // CHECK-NEXT: functional.isinf({{.*}}) : !functional.tensor<8x16xi1>
  %41 = functional.isinf(%x) : !functional.tensor<8x16xi1>
  // CHECK-NEXT: functional.signbit({{.*}}) : !functional.tensor<8x16xi1>
  %42 = functional.signbit(%x) : !functional.tensor<8x16xi1>
  // CHECK-NEXT: functional.frexp({{.*}}) : (!functional.tensor<8x16xf32>, !functional.tensor<8x16xi32>)
  %43, %44 = functional.frexp(%x) : (!functional.tensor<8x16xf32>, !functional.tensor<8x16xi32>)
  // CHECK-NEXT: functional.bessel({{.*}}) {kind = "i0e"} : !functional.tensor<8x16xf32>
  %45 = functional.bessel(%x) {kind = "i0e"} : !functional.tensor<8x16xf32>
  // CHECK-NEXT: functional.return({{.*}})
  functional.return(%45)
}

// A second tensor, broadcast, or a number.
// CHECK-LABEL: functional.func @binary(%x: !functional.tensor<8x16xf32>, %y: !functional.tensor<16xf32>, %i: !functional.tensor<4xi64>, %j: !functional.tensor<4xi64>, %h: !functional.tensor<4xbf16>, %s: !functional.tensor<f32>)
functional.func @binary(%x: !functional.tensor<8x16xf32>, %y: !functional.tensor<16xf32>, %i: !functional.tensor<4xi64>, %j: !functional.tensor<4xi64>, %h: !functional.tensor<4xbf16>, %s: !functional.tensor<f32>) {
  // CHECK-NEXT: functional.add({{.*}}) {alpha = 2} : !functional.tensor<8x16xf32>
  %0 = functional.add(%x, %y) {alpha = 2} : !functional.tensor<8x16xf32>
  // CHECK-NEXT: functional.sub({{.*}}) {alpha = 2} : !functional.tensor<8x16xf32>
  %1 = functional.sub(%x, %y) {alpha = 2} : !functional.tensor<8x16xf32>
  // CHECK-NEXT: functional.mul({{.*}}) : !functional.tensor<8x16xf32>
  %2 = functional.mul(%x, %y) : !functional.tensor<8x16xf32>
  // CHECK-NEXT: functional.remainder({{.*}}) : !functional.tensor<8x16xf32>
  %3 = functional.remainder(%x, %y) : !functional.tensor<8x16xf32>
  // CHECK-NEXT: functional.fmod({{.*}}) : !functional.tensor<8x16xf32>
  %4 = functional.fmod(%x, %y) : !functional.tensor<8x16xf32>
  // CHECK-NEXT: functional.pow({{.*}}) : !functional.tensor<8x16xf32>
  %5 = functional.pow(%x, %y) : !functional.tensor<8x16xf32>
  // CHECK-NEXT: functional.atan2({{.*}}) : !functional.tensor<8x16xf32>
  %6 = functional.atan2(%x, %y) : !functional.tensor<8x16xf32>
  // CHECK-NEXT: functional.hypot({{.*}}) : !functional.tensor<8x16xf32>
  %7 = functional.hypot(%x, %y) : !functional.tensor<8x16xf32>
  // CHECK-NEXT: functional.copysign({{.*}}) : !functional.tensor<8x16xf32>
  %8 = functional.copysign(%x, %y) : !functional.tensor<8x16xf32>
  // CHECK-NEXT: functional.nextafter({{.*}}) : !functional.tensor<8x16xf32>
  %9 = functional.nextafter(%x, %y) : !functional.tensor<8x16xf32>
  // CHECK-NEXT: functional.zeta({{.*}}) : !functional.tensor<8x16xf32>
  %10 = functional.zeta(%x, %y) : !functional.tensor<8x16xf32>
  // CHECK-NEXT: functional.igamma({{.*}}) : !functional.tensor<8x16xf32>
  %11 = functional.igamma(%x, %y) : !functional.tensor<8x16xf32>
  // CHECK-NEXT: functional.igammac({{.*}}) : !functional.tensor<8x16xf32>
  %12 = functional.igammac(%x, %y) : !functional.tensor<8x16xf32>
  // CHECK-NEXT: functional.maximum({{.*}}) : !functional.tensor<8x16xf32>
  %13 = functional.maximum(%x, %y) : !functional.tensor<8x16xf32>
  // CHECK-NEXT: functional.minimum({{.*}}) : !functional.tensor<8x16xf32>
  %14 = functional.minimum(%x, %y) : !functional.tensor<8x16xf32>
  // CHECK-NEXT: functional.fmax({{.*}}) : !functional.tensor<8x16xf32>
  %15 = functional.fmax(%x, %y) : !functional.tensor<8x16xf32>
  // CHECK-NEXT: functional.fmin({{.*}}) : !functional.tensor<8x16xf32>
  %16 = functional.fmin(%x, %y) : !functional.tensor<8x16xf32>
  // CHECK-NEXT: functional.div({{.*}}) : !functional.tensor<8x16xf32>
  %17 = functional.div(%x, %y) : !functional.tensor<8x16xf32>
  // CHECK-NEXT: functional.div({{.*}}) {other = 3, mode = "floor"} : !functional.tensor<4xi64>
  %18 = functional.div(%i) {other = 3, mode = "floor"} : !functional.tensor<4xi64>
  // CHECK-NEXT: functional.sub({{.*}}) {other = 1.0, reversed = true} : !functional.tensor<8x16xf32>
  %19 = functional.sub(%x) {other = 1.0, reversed = true} : !functional.tensor<8x16xf32>
  // CHECK-NEXT: functional.mul({{.*}}) : !functional.tensor<4xbf16>
  %20 = functional.mul(%h, %s) : !functional.tensor<4xbf16>
  // CHECK-NEXT: functional.bitwise_and({{.*}}) : !functional.tensor<4xi64>
  %21 = functional.bitwise_and(%i, %j) : !functional.tensor<4xi64>
  // CHECK-NEXT: functional.bitwise_or({{.*}}) : !functional.tensor<4xi64>
  %22 = functional.bitwise_or(%i, %j) : !functional.tensor<4xi64>
  // CHECK-NEXT: functional.bitwise_xor({{.*}}) : !functional.tensor<4xi64>
  %23 = functional.bitwise_xor(%i, %j) : !functional.tensor<4xi64>
  // CHECK-NEXT: functional.shift_left({{.*}}) : !functional.tensor<4xi64>
  %24 = functional.shift_left(%i, %j) : !functional.tensor<4xi64>
  // CHECK-NEXT: functional.shift_right({{.*}}) : !functional.tensor<4xi64>
  %25 = functional.shift_right(%i, %j) : !functional.tensor<4xi64>
  // CHECK-NEXT: functional.gcd({{.*}}) : !functional.tensor<4xi64>
  %26 = functional.gcd(%i, %j) : !functional.tensor<4xi64>
  // CHECK-NEXT: functional.eq({{.*}}) {other = 0.5} : !functional.tensor<8x16xi1>
  %27 = functional.eq(%x) {other = 0.5} : !functional.tensor<8x16xi1>
  // CHECK-NEXT: functional.ne({{.*}}) {other = 0.5} : !functional.tensor<8x16xi1>
  %28 = functional.ne(%x) {other = 0.5} : !functional.tensor<8x16xi1>
  // CHECK-NEXT: functional.lt({{.*}}) {other = 0.5} : !functional.tensor<8x16xi1>
  %29 = functional.lt(%x) {other = 0.5} : !functional.tensor<8x16xi1>
  // CHECK-NEXT: functional.le({{.*}}) {other = 0.5} : !functional.tensor<8x16xi1>
  %30 = functional.le(%x) {other = 0.5} : !functional.tensor<8x16xi1>
  // CHECK-NEXT: functional.gt({{.*}}) {other = 0.5} : !functional.tensor<8x16xi1>
  %31 = functional.gt(%x) {other = 0.5} : !functional.tensor<8x16xi1>
  // CHECK-NEXT: functional.ge({{.*}}) {other = 0.5} : !functional.tensor<8x16xi1>
  %32 = functional.ge(%x) {other = 0.5} : !functional.tensor<8x16xi1>
  // CHECK-NEXT: functional.logical_and({{.*}}) {other = 0.5} : !functional.tensor<8x16xi1>
  %33 = functional.logical_and(%x) {other = 0.5} : !functional.tensor<8x16xi1>
  // CHECK-NEXT: functional.logical_or({{.*}}) {other = 0.5} : !functional.tensor<8x16xi1>
  %34 = functional.logical_or(%x) {other = 0.5} : !functional.tensor<8x16xi1>
  // CHECK-NEXT: functional.logical_xor({{.*}}) {other = 0.5} : !functional.tensor<8x16xi1>
  %35 = functional.logical_xor(%x) {other = 0.5} : !functional.tensor<8x16xi1>
  // CHECK-NEXT: functional.orthopoly({{.*}}) {kind = "chebyshev_t"} : !functional.tensor<8x16xf32>
  %36 = functional.orthopoly(%x, %y) {kind = "chebyshev_t"} : !functional.tensor<8x16xf32>
  // CHECK-NEXT: functional.gt({{.*}}) : !functional.tensor<8x16xi1>
  %37 = functional.gt(%x, %y) : !functional.tensor<8x16xi1>
  // CHECK-NEXT: functional.where({{.*}}) : !functional.tensor<8x16xf32>
  %38 = functional.where(%37, %x, %x) : !functional.tensor<8x16xf32>
  // CHECK-NEXT: functional.clamp({{.*}}) {min = 0.0} : !functional.tensor<8x16xf32>
  %39 = functional.clamp(%x; %y) {min = 0.0} : !functional.tensor<8x16xf32>
  // CHECK-NEXT: functional.return({{.*}})
  functional.return(%39)
}

// Formulas that eager computes in one pass.
// CHECK-LABEL: functional.func @composites(%x: !functional.tensor<8x16xf32>, %y: !functional.tensor<16xf32>, %m: !functional.tensor<16xi1>, %n: !functional.tensor<f32>)
functional.func @composites(%x: !functional.tensor<8x16xf32>, %y: !functional.tensor<16xf32>, %m: !functional.tensor<16xi1>, %n: !functional.tensor<f32>) {
  // CHECK-NEXT: functional.silu({{.*}}) : !functional.tensor<8x16xf32>
  %0 = functional.silu(%x) : !functional.tensor<8x16xf32>
  // CHECK-NEXT: functional.mish({{.*}}) : !functional.tensor<8x16xf32>
  %1 = functional.mish(%x) : !functional.tensor<8x16xf32>
  // CHECK-NEXT: functional.hardswish({{.*}}) : !functional.tensor<8x16xf32>
  %2 = functional.hardswish(%x) : !functional.tensor<8x16xf32>
  // CHECK-NEXT: functional.hardsigmoid({{.*}}) : !functional.tensor<8x16xf32>
  %3 = functional.hardsigmoid(%x) : !functional.tensor<8x16xf32>
  // CHECK-NEXT: functional.log_sigmoid({{.*}}) : !functional.tensor<8x16xf32>
  %4 = functional.log_sigmoid(%x) : !functional.tensor<8x16xf32>
  // CHECK-NEXT: functional.entr({{.*}}) : !functional.tensor<8x16xf32>
  %5 = functional.entr(%x) : !functional.tensor<8x16xf32>
  // CHECK-NEXT: functional.frac({{.*}}) : !functional.tensor<8x16xf32>
  %6 = functional.frac(%x) : !functional.tensor<8x16xf32>
  // CHECK-NEXT: functional.sinc({{.*}}) : !functional.tensor<8x16xf32>
  %7 = functional.sinc(%x) : !functional.tensor<8x16xf32>
  // CHECK-NEXT: functional.relu({{.*}}) : !functional.tensor<8x16xf32>
  %8 = functional.relu(%x) : !functional.tensor<8x16xf32>
  // CHECK-NEXT: functional.sgn({{.*}}) : !functional.tensor<8x16xf32>
  %9 = functional.sgn(%x) : !functional.tensor<8x16xf32>
  // CHECK-NEXT: functional.gelu({{.*}}) : !functional.tensor<8x16xf32>
  %10 = functional.gelu(%x) : !functional.tensor<8x16xf32>
  // CHECK-NEXT: functional.elu({{.*}}) : !functional.tensor<8x16xf32>
  %11 = functional.elu(%x) : !functional.tensor<8x16xf32>
  // CHECK-NEXT: functional.leaky_relu({{.*}}) : !functional.tensor<8x16xf32>
  %12 = functional.leaky_relu(%x) : !functional.tensor<8x16xf32>
  // CHECK-NEXT: functional.softplus({{.*}}) : !functional.tensor<8x16xf32>
  %13 = functional.softplus(%x) : !functional.tensor<8x16xf32>
  // CHECK-NEXT: functional.hardtanh({{.*}}) : !functional.tensor<8x16xf32>
  %14 = functional.hardtanh(%x) : !functional.tensor<8x16xf32>
  // CHECK-NEXT: functional.logit({{.*}}) : !functional.tensor<8x16xf32>
  %15 = functional.logit(%x) : !functional.tensor<8x16xf32>
  // CHECK-NEXT: functional.hardshrink({{.*}}) : !functional.tensor<8x16xf32>
  %16 = functional.hardshrink(%x) : !functional.tensor<8x16xf32>
  // CHECK-NEXT: functional.softshrink({{.*}}) : !functional.tensor<8x16xf32>
  %17 = functional.softshrink(%x) : !functional.tensor<8x16xf32>
  // CHECK-NEXT: functional.leaky_relu({{.*}}) : !functional.tensor<8x16xf32>
  %18 = functional.leaky_relu(%x, %y) : !functional.tensor<8x16xf32>
  // CHECK-NEXT: functional.gelu({{.*}}) {approximate = "tanh"} : !functional.tensor<8x16xf32>
  %19 = functional.gelu(%x) {approximate = "tanh"} : !functional.tensor<8x16xf32>
  // CHECK-NEXT: functional.elu({{.*}}) {alpha = 0.5} : !functional.tensor<8x16xf32>
  %20 = functional.elu(%x) {alpha = 0.5} : !functional.tensor<8x16xf32>
  // CHECK-NEXT: functional.threshold({{.*}}) {threshold = 0.1, value = 2.0} : !functional.tensor<8x16xf32>
  %21 = functional.threshold(%x) {threshold = 0.1, value = 2.0} : !functional.tensor<8x16xf32>
  // CHECK-NEXT: functional.glu({{.*}}) {dim = 1} : !functional.tensor<8x8xf32>
  %22 = functional.glu(%x) {dim = 1} : !functional.tensor<8x8xf32>
  // CHECK-NEXT: functional.lerp({{.*}}) {amount = 0.25} : !functional.tensor<8x16xf32>
  %23 = functional.lerp(%x, %y) {amount = 0.25} : !functional.tensor<8x16xf32>
  // CHECK-NEXT: functional.lerp({{.*}}) : !functional.tensor<8x16xf32>
  %24 = functional.lerp(%x, %y, %y) : !functional.tensor<8x16xf32>
  // CHECK-NEXT: functional.add(%x, %y; %n) : !functional.tensor<8x16xf32>
  %scaled0 = functional.add(%x, %y; %n) : !functional.tensor<8x16xf32>
  // CHECK-NEXT: functional.addcdiv(%x, %y, %x, %n) : !functional.tensor<8x16xf32>
  %scaled1 = functional.addcdiv(%x, %y, %x, %n) : !functional.tensor<8x16xf32>
  // CHECK-NEXT: functional.addcmul({{.*}}) {value = 0.5} : !functional.tensor<8x16xf32>
  %25 = functional.addcmul(%x, %y, %x) {value = 0.5} : !functional.tensor<8x16xf32>
  // CHECK-NEXT: functional.addcdiv({{.*}}) {value = 0.5} : !functional.tensor<8x16xf32>
  %26 = functional.addcdiv(%x, %y, %x) {value = 0.5} : !functional.tensor<8x16xf32>
  // CHECK-NEXT: functional.xlogy({{.*}}) : !functional.tensor<8x16xf32>
  %27 = functional.xlogy(%x, %y) : !functional.tensor<8x16xf32>
  // CHECK-NEXT: functional.xlogy({{.*}}) {other = 2.0, reversed = true, logarithm = "log1p"} : !functional.tensor<8x16xf32>
  %28 = functional.xlogy(%x) {other = 2.0, reversed = true, logarithm = "log1p"} : !functional.tensor<8x16xf32>
  // CHECK-NEXT: functional.logaddexp({{.*}}) {base = "2"} : !functional.tensor<8x16xf32>
  %29 = functional.logaddexp(%x, %y) {base = "2"} : !functional.tensor<8x16xf32>
  // CHECK-NEXT: functional.nan_to_num({{.*}}) {nan = 0.0} : !functional.tensor<8x16xf32>
  %30 = functional.nan_to_num(%x) {nan = 0.0} : !functional.tensor<8x16xf32>
  // CHECK-NEXT: functional.heaviside({{.*}}) : !functional.tensor<8x16xf32>
  %31 = functional.heaviside(%x, %y) : !functional.tensor<8x16xf32>
  // CHECK-NEXT: functional.ldexp({{.*}}) : !functional.tensor<8x16xf32>
  %32 = functional.ldexp(%x, %y) : !functional.tensor<8x16xf32>
  // CHECK-NEXT: functional.polygamma({{.*}}) {n = 1} : !functional.tensor<8x16xf32>
  %33 = functional.polygamma(%x) {n = 1} : !functional.tensor<8x16xf32>
  // CHECK-NEXT: functional.masked_fill({{.*}}) {other = -1.0} : !functional.tensor<8x16xf32>
  %34 = functional.masked_fill(%x, %m) {other = -1.0} : !functional.tensor<8x16xf32>
  // CHECK-NEXT: functional.return({{.*}})
  functional.return(%34)
}

// Gradients of elementwise operations.
// CHECK-LABEL: functional.func @gradients(%g: !functional.tensor<8x16xf32>, %x: !functional.tensor<8x16xf32>, %h: !functional.tensor<8x8xf32>)
functional.func @gradients(%g: !functional.tensor<8x16xf32>, %x: !functional.tensor<8x16xf32>, %h: !functional.tensor<8x8xf32>) {
  // CHECK-NEXT: functional.silu_backward({{.*}}) : !functional.tensor<8x16xf32>
  %0 = functional.silu_backward(%g, %x) : !functional.tensor<8x16xf32>
  // CHECK-NEXT: functional.mish_backward({{.*}}) : !functional.tensor<8x16xf32>
  %1 = functional.mish_backward(%g, %x) : !functional.tensor<8x16xf32>
  // CHECK-NEXT: functional.hardswish_backward({{.*}}) : !functional.tensor<8x16xf32>
  %2 = functional.hardswish_backward(%g, %x) : !functional.tensor<8x16xf32>
  // CHECK-NEXT: functional.hardsigmoid_backward({{.*}}) : !functional.tensor<8x16xf32>
  %3 = functional.hardsigmoid_backward(%g, %x) : !functional.tensor<8x16xf32>
  // CHECK-NEXT: functional.log_sigmoid_backward({{.*}}) : !functional.tensor<8x16xf32>
  %4 = functional.log_sigmoid_backward(%g, %x) : !functional.tensor<8x16xf32>
  // CHECK-NEXT: functional.sigmoid_backward({{.*}}) : !functional.tensor<8x16xf32>
  %5 = functional.sigmoid_backward(%g, %x) : !functional.tensor<8x16xf32>
  // CHECK-NEXT: functional.tanh_backward({{.*}}) : !functional.tensor<8x16xf32>
  %6 = functional.tanh_backward(%g, %x) : !functional.tensor<8x16xf32>
  // CHECK-NEXT: functional.gelu_backward({{.*}}) : !functional.tensor<8x16xf32>
  %7 = functional.gelu_backward(%g, %x) : !functional.tensor<8x16xf32>
  // CHECK-NEXT: functional.hardtanh_backward({{.*}}) : !functional.tensor<8x16xf32>
  %8 = functional.hardtanh_backward(%g, %x) : !functional.tensor<8x16xf32>
  // CHECK-NEXT: functional.elu_backward({{.*}}) : !functional.tensor<8x16xf32>
  %9 = functional.elu_backward(%g, %x) : !functional.tensor<8x16xf32>
  // CHECK-NEXT: functional.leaky_relu_backward({{.*}}) : !functional.tensor<8x16xf32>
  %10 = functional.leaky_relu_backward(%g, %x) : !functional.tensor<8x16xf32>
  // CHECK-NEXT: functional.softplus_backward({{.*}}) : !functional.tensor<8x16xf32>
  %11 = functional.softplus_backward(%g, %x) : !functional.tensor<8x16xf32>
  // CHECK-NEXT: functional.threshold_backward({{.*}}) {threshold = 0} : !functional.tensor<8x16xf32>
  %12 = functional.threshold_backward(%g, %x) {threshold = 0} : !functional.tensor<8x16xf32>
  // CHECK-NEXT: functional.shrink_backward({{.*}}) {kind = "soft"} : !functional.tensor<8x16xf32>
  %13 = functional.shrink_backward(%g, %x) {kind = "soft"} : !functional.tensor<8x16xf32>
  // CHECK-NEXT: functional.glu_backward({{.*}}) {dim = 1} : !functional.tensor<8x16xf32>
  %14 = functional.glu_backward(%h, %x) {dim = 1} : !functional.tensor<8x16xf32>
  // CHECK-NEXT: functional.return({{.*}})
  functional.return(%14)
}

// Casts, copies, new tensors, random numbers from an explicit seed.
// CHECK-LABEL: functional.func @creation(%x: !functional.tensor<8x16xf32, strides [1, 8]>, %seed: !functional.tensor<i64>)
functional.func @creation(%x: !functional.tensor<8x16xf32, strides [1, 8]>, %seed: !functional.tensor<i64>) {
  // CHECK-NEXT: functional.cast({{.*}}) {to = bf16} : !functional.tensor<8x16xbf16, strides [1, 8]>
  %0 = functional.cast(%x) {to = bf16} : !functional.tensor<8x16xbf16, strides [1, 8]>
  // CHECK-NEXT: functional.copy({{.*}}) : !functional.tensor<8x16xf32, strides [1, 8]>
  %1 = functional.copy(%x) : !functional.tensor<8x16xf32, strides [1, 8]>
  // CHECK-NEXT: functional.full({{.*}}) {shape = [2, 3], value = 1.5, element = f32} : !functional.tensor<2x3xf32>
  %2 = functional.full() {shape = [2, 3], value = 1.5, element = f32} : !functional.tensor<2x3xf32>
  // CHECK-NEXT: functional.undefined({{.*}}) {shape = [2], element = i64} : !functional.tensor<2xi64>
  %3 = functional.undefined() {shape = [2], element = i64} : !functional.tensor<2xi64>
  // CHECK-NEXT: functional.iota({{.*}}) {size = 8, start = 2, step = 3} : !functional.tensor<8xi64>
  %4 = functional.iota() {size = 8, start = 2, step = 3} : !functional.tensor<8xi64>
  // CHECK-NEXT: functional.rand({{.*}}) {shape = [4], element = f32, offset = 7} : !functional.tensor<4xf32>
  %5 = functional.rand(%seed) {shape = [4], element = f32, offset = 7} : !functional.tensor<4xf32>
  // CHECK-NEXT: functional.randn({{.*}}) {shape = [4], element = f32, offset = 7} : !functional.tensor<4xf32>
  %6 = functional.randn(%seed) {shape = [4], element = f32, offset = 7} : !functional.tensor<4xf32>
  // CHECK-NEXT: functional.randint({{.*}}) {shape = [4], element = i64, high = 10} : !functional.tensor<4xi64>
  %7 = functional.randint(%seed) {shape = [4], element = i64, high = 10} : !functional.tensor<4xi64>
  // CHECK-NEXT: functional.return({{.*}})
  functional.return(%7)
}

// Views are values; their types have the strides of eager.
// CHECK-LABEL: functional.func @views(%x: !functional.tensor<8x16xf32>, %r: !functional.tensor<16xf32>)
functional.func @views(%x: !functional.tensor<8x16xf32>, %r: !functional.tensor<16xf32>) {
  // CHECK-NEXT: functional.reshape({{.*}}) {shape = [4, 32]} : !functional.tensor<4x32xf32>
  %0 = functional.reshape(%x) {shape = [4, 32]} : !functional.tensor<4x32xf32>
  // CHECK-NEXT: functional.permute({{.*}}) {dims = [1, 0]} : !functional.tensor<16x8xf32, strides [1, 16]>
  %1 = functional.permute(%x) {dims = [1, 0]} : !functional.tensor<16x8xf32, strides [1, 16]>
  // CHECK-NEXT: functional.expand({{.*}}) {shape = [8, 16]} : !functional.tensor<8x16xf32, strides [0, 1]>
  %2 = functional.expand(%r) {shape = [8, 16]} : !functional.tensor<8x16xf32, strides [0, 1]>
  // CHECK-NEXT: functional.slice({{.*}}) {dim = 1, start = 2, end = 16, step = 3} : !functional.tensor<8x5xf32, strides [16, 3]>
  %3 = functional.slice(%x) {dim = 1, start = 2, end = 16, step = 3} : !functional.tensor<8x5xf32, strides [16, 3]>
  // CHECK-NEXT: functional.diagonal({{.*}}) {offset = 1} : !functional.tensor<8xf32, strides [17]>
  %4 = functional.diagonal(%x) {offset = 1} : !functional.tensor<8xf32, strides [17]>
  // CHECK-NEXT: functional.as_strided({{.*}}) {size = [3, 4], stride = [8, 1], offset = 2} : !functional.tensor<3x4xf32, strides [8, 1]>
  %5 = functional.as_strided(%x) {size = [3, 4], stride = [8, 1], offset = 2} : !functional.tensor<3x4xf32, strides [8, 1]>
  // CHECK-NEXT: functional.reverse({{.*}}) {dims = [0]} : !functional.tensor<8x16xf32>
  %6 = functional.reverse(%x) {dims = [0]} : !functional.tensor<8x16xf32>
  // CHECK-NEXT: functional.cat({{.*}}) {dim = 1} : !functional.tensor<8x32xf32>
  %7 = functional.cat(%x, %x) {dim = 1} : !functional.tensor<8x32xf32>
  // CHECK-NEXT: functional.pad({{.*}}) {pads = {{\[\[}}1, 1], [0, 2{{\]\]}}, value = 0.5} : !functional.tensor<10x18xf32>
  %8 = functional.pad(%x) {pads = [[1, 1], [0, 2]], value = 0.5} : !functional.tensor<10x18xf32>
  // CHECK-NEXT: functional.reshape({{.*}}) {shape = [8, 1, 16]} : !functional.tensor<8x1x16xf32>
  %9 = functional.reshape(%x) {shape = [8, 1, 16]} : !functional.tensor<8x1x16xf32>
  // CHECK-NEXT: functional.return({{.*}})
  functional.return(%9)
}

// Reductions, scans and sorts.
// CHECK-LABEL: functional.func @reductions(%x: !functional.tensor<8x16xf32>, %i: !functional.tensor<4xi32>)
functional.func @reductions(%x: !functional.tensor<8x16xf32>, %i: !functional.tensor<4xi32>) {
  // CHECK-NEXT: functional.sum({{.*}}) {dims = [1], keepdim = true} : !functional.tensor<8x1xf32>
  %0 = functional.sum(%x) {dims = [1], keepdim = true} : !functional.tensor<8x1xf32>
  // CHECK-NEXT: functional.prod({{.*}}) {dims = [1], keepdim = true} : !functional.tensor<8x1xf32>
  %1 = functional.prod(%x) {dims = [1], keepdim = true} : !functional.tensor<8x1xf32>
  // CHECK-NEXT: functional.xor_sum({{.*}}) {dims = [1], keepdim = true} : !functional.tensor<8x1xui64>
  %2 = functional.xor_sum(%x) {dims = [1], keepdim = true} : !functional.tensor<8x1xui64>
  // CHECK-NEXT: functional.amax({{.*}}) {dims = [1], keepdim = true} : !functional.tensor<8x1xf32>
  %3 = functional.amax(%x) {dims = [1], keepdim = true} : !functional.tensor<8x1xf32>
  // CHECK-NEXT: functional.amin({{.*}}) {dims = [1], keepdim = true} : !functional.tensor<8x1xf32>
  %4 = functional.amin(%x) {dims = [1], keepdim = true} : !functional.tensor<8x1xf32>
  // CHECK-NEXT: functional.any({{.*}}) {dims = [1], keepdim = true} : !functional.tensor<8x1xi1>
  %5 = functional.any(%x) {dims = [1], keepdim = true} : !functional.tensor<8x1xi1>
  // CHECK-NEXT: functional.all({{.*}}) {dims = [1], keepdim = true} : !functional.tensor<8x1xi1>
  %6 = functional.all(%x) {dims = [1], keepdim = true} : !functional.tensor<8x1xi1>
  // CHECK-NEXT: functional.sum({{.*}}) {dims = [0]} : !functional.tensor<i64>
  %7 = functional.sum(%i) {dims = [0]} : !functional.tensor<i64>
  // CHECK-NEXT: functional.sum({{.*}}) {dims = [0, 1], element = f64} : !functional.tensor<f64>
  %8 = functional.sum(%x) {dims = [0, 1], element = f64} : !functional.tensor<f64>
  // CHECK-NEXT: functional.argmax({{.*}}) : !functional.tensor<i64>
  %9 = functional.argmax(%x) : !functional.tensor<i64>
  // CHECK-NEXT: functional.argmax({{.*}}) {dim = 1} : !functional.tensor<8xi64>
  %10 = functional.argmax(%x) {dim = 1} : !functional.tensor<8xi64>
  // CHECK-NEXT: functional.argmin({{.*}}) : !functional.tensor<i64>
  %11 = functional.argmin(%x) : !functional.tensor<i64>
  // CHECK-NEXT: functional.argmin({{.*}}) {dim = 1} : !functional.tensor<8xi64>
  %12 = functional.argmin(%x) {dim = 1} : !functional.tensor<8xi64>
  // CHECK-NEXT: functional.max_with_index({{.*}}) {dim = 1} : (!functional.tensor<8xf32>, !functional.tensor<8xi64>)
  %13, %14 = functional.max_with_index(%x) {dim = 1} : (!functional.tensor<8xf32>, !functional.tensor<8xi64>)
  // CHECK-NEXT: functional.min_with_index({{.*}}) {dim = 1} : (!functional.tensor<8xf32>, !functional.tensor<8xi64>)
  %15, %16 = functional.min_with_index(%x) {dim = 1} : (!functional.tensor<8xf32>, !functional.tensor<8xi64>)
  // CHECK-NEXT: functional.var_mean({{.*}}) {dims = [0], correction = 0} : (!functional.tensor<16xf32>, !functional.tensor<16xf32>)
  %17, %18 = functional.var_mean(%x) {dims = [0], correction = 0} : (!functional.tensor<16xf32>, !functional.tensor<16xf32>)
  // CHECK-NEXT: functional.mean({{.*}}) {dims = [1]} : !functional.tensor<8xf32>
  %19 = functional.mean(%x) {dims = [1]} : !functional.tensor<8xf32>
  // CHECK-NEXT: functional.vector_norm({{.*}}) {dims = [1]} : !functional.tensor<8xf32>
  %20 = functional.vector_norm(%x) {dims = [1]} : !functional.tensor<8xf32>
  // CHECK-NEXT: functional.logsumexp({{.*}}) {dims = [1]} : !functional.tensor<8xf32>
  %21 = functional.logsumexp(%x) {dims = [1]} : !functional.tensor<8xf32>
  // CHECK-NEXT: functional.softmax({{.*}}) {dim = 1} : !functional.tensor<8x16xf32>
  %22 = functional.softmax(%x) {dim = 1} : !functional.tensor<8x16xf32>
  // CHECK-NEXT: functional.log_softmax({{.*}}) {dim = 1} : !functional.tensor<8x16xf32>
  %23 = functional.log_softmax(%x) {dim = 1} : !functional.tensor<8x16xf32>
  // CHECK-NEXT: functional.softmax_backward({{.*}}) {dim = 1} : !functional.tensor<8x16xf32>
  %24 = functional.softmax_backward(%x, %22) {dim = 1} : !functional.tensor<8x16xf32>
  // CHECK-NEXT: functional.log_softmax_backward({{.*}}) {dim = 1} : !functional.tensor<8x16xf32>
  %25 = functional.log_softmax_backward(%x, %23) {dim = 1} : !functional.tensor<8x16xf32>
  // CHECK-NEXT: functional.cumsum({{.*}}) {dim = 1} : !functional.tensor<8x16xf32>
  %26 = functional.cumsum(%x) {dim = 1} : !functional.tensor<8x16xf32>
  // CHECK-NEXT: functional.cumprod({{.*}}) {dim = 1} : !functional.tensor<8x16xf32>
  %27 = functional.cumprod(%x) {dim = 1} : !functional.tensor<8x16xf32>
  // CHECK-NEXT: functional.logcumsumexp({{.*}}) {dim = 1} : !functional.tensor<8x16xf32>
  %28 = functional.logcumsumexp(%x) {dim = 1} : !functional.tensor<8x16xf32>
  // CHECK-NEXT: functional.cummax_with_index({{.*}}) {dim = 1} : (!functional.tensor<8x16xf32>, !functional.tensor<8x16xi64>)
  %29, %30 = functional.cummax_with_index(%x) {dim = 1} : (!functional.tensor<8x16xf32>, !functional.tensor<8x16xi64>)
  // CHECK-NEXT: functional.sort({{.*}}) {dim = 1} : (!functional.tensor<8x16xf32>, !functional.tensor<8x16xi64>)
  %31, %32 = functional.sort(%x) {dim = 1} : (!functional.tensor<8x16xf32>, !functional.tensor<8x16xi64>)
  // CHECK-NEXT: functional.topk({{.*}}) {k = 3, dim = 1} : (!functional.tensor<8x3xf32>, !functional.tensor<8x3xi64>)
  %33, %34 = functional.topk(%x) {k = 3, dim = 1} : (!functional.tensor<8x3xf32>, !functional.tensor<8x3xi64>)
  // CHECK-NEXT: functional.return({{.*}})
  functional.return(%33)
}

// Reads and writes at computed places.
// CHECK-LABEL: functional.func @gathers(%x: !functional.tensor<8x16xf32>, %i: !functional.tensor<3xi64>, %v: !functional.tensor<3x16xf32>, %j: !functional.tensor<8x2xi64>, %j2: !functional.tensor<8x2xf32>, %d: !functional.tensor<8xf32>, %b: !functional.tensor<5xf32>, %o: !functional.tensor<2xi64>, %l: !functional.tensor<2xi64>)
functional.func @gathers(%x: !functional.tensor<8x16xf32>, %i: !functional.tensor<3xi64>, %v: !functional.tensor<3x16xf32>, %j: !functional.tensor<8x2xi64>, %j2: !functional.tensor<8x2xf32>, %d: !functional.tensor<8xf32>, %b: !functional.tensor<5xf32>, %o: !functional.tensor<2xi64>, %l: !functional.tensor<2xi64>) {
  // CHECK-NEXT: functional.index({{.*}}) {dims = [0]} : !functional.tensor<3x16xf32>
  %0 = functional.index(%x, %i) {dims = [0]} : !functional.tensor<3x16xf32>
  // CHECK-NEXT: functional.index_put({{.*}}) {dims = [0]} : !functional.tensor<8x16xf32>
  %1 = functional.index_put(%x, %v, %i) {dims = [0]} : !functional.tensor<8x16xf32>
  // CHECK-NEXT: functional.gather({{.*}}) {dim = 1} : !functional.tensor<8x2xf32>
  %2 = functional.gather(%x, %j) {dim = 1} : !functional.tensor<8x2xf32>
  // CHECK-NEXT: functional.scatter({{.*}}) {dim = 1, mode = "add"} : !functional.tensor<8x16xf32>
  %3 = functional.scatter(%x, %j, %j2) {dim = 1, mode = "add"} : !functional.tensor<8x16xf32>
  // CHECK-NEXT: functional.scatter({{.*}}) {dim = 1, value = 1.0} : !functional.tensor<8x16xf32>
  %4 = functional.scatter(%x, %j) {dim = 1, value = 1.0} : !functional.tensor<8x16xf32>
  // CHECK-NEXT: functional.slice_scatter({{.*}}) {dim = 0, start = 0, end = 3} : !functional.tensor<8x16xf32>
  %5 = functional.slice_scatter(%x, %v) {dim = 0, start = 0, end = 3} : !functional.tensor<8x16xf32>
  // CHECK-NEXT: functional.diagonal_scatter({{.*}}) : !functional.tensor<8x16xf32>
  %6 = functional.diagonal_scatter(%x, %d) : !functional.tensor<8x16xf32>
  // CHECK-NEXT: functional.as_strided_scatter({{.*}}) {size = [8], stride = [17]} : !functional.tensor<8x16xf32>
  %7 = functional.as_strided_scatter(%x, %d) {size = [8], stride = [17]} : !functional.tensor<8x16xf32>
  // CHECK-NEXT: functional.searchsorted({{.*}}) : !functional.tensor<8xi64>
  %8 = functional.searchsorted(%b, %d) : !functional.tensor<8xi64>
  // CHECK-NEXT: functional.embedding_backward({{.*}}) {count = 10} : !functional.tensor<10x16xf32>
  %9 = functional.embedding_backward(%v, %i) {count = 10} : !functional.tensor<10x16xf32>
  // CHECK-NEXT: functional.embedding_bag({{.*}}) {mode = "mean"} : (!functional.tensor<2x16xf32>, !functional.tensor<3xi64>, !functional.tensor<2xi64>, !functional.tensor<2xi64>)
  %10, %11, %12, %13 = functional.embedding_bag(%x, %i, %o) {mode = "mean"} : (!functional.tensor<2x16xf32>, !functional.tensor<3xi64>, !functional.tensor<2xi64>, !functional.tensor<2xi64>)
  // CHECK-NEXT: functional.embedding_bag_backward({{.*}}) {count = 8, mode = "mean"} : !functional.tensor<8x16xf32>
  %14 = functional.embedding_bag_backward(%10, %i, %11, %12, %13) {count = 8, mode = "mean"} : !functional.tensor<8x16xf32>
  // CHECK-NEXT: functional.segment_reduce({{.*}}) {reduce = "sum"} : !functional.tensor<2x16xf32>
  %15 = functional.segment_reduce(%x, %l) {reduce = "sum"} : !functional.tensor<2x16xf32>
  // CHECK-NEXT: functional.return({{.*}})
  functional.return(%15)
}

// Elements that must lie within bounds; tensors that are stored before anything reads them.
// CHECK-LABEL: functional.func @bounds(
functional.func @bounds(%x: !functional.tensor<8x16xf32>) {
  // CHECK-NEXT: functional.within({{.*}}) {min = 0.0, max = 1.0} : !functional.tensor<8x16xf32>
  %0 = functional.within(%x) {min = 0.0, max = 1.0} : !functional.tensor<8x16xf32>
  // CHECK-NEXT: functional.together({{.*}}) : (!functional.tensor<8x16xf32>, !functional.tensor<8x16xf32>)
  %1, %2 = functional.together(%x, %0) : (!functional.tensor<8x16xf32>, !functional.tensor<8x16xf32>)
  // CHECK-NEXT: functional.return({{.*}})
  functional.return(%0)
}

// Products with a sum: of a matrix and a vector, and of rows of matrices.
// CHECK-LABEL: functional.func @summed_products(
functional.func @summed_products(%x: !functional.tensor<8x16xbf16>, %v: !functional.tensor<16xbf16>, %a: !functional.tensor<1xbf16>, %bx: !functional.tensor<2x8x16xbf16>, %by: !functional.tensor<2x16x4xbf16>) {
  // CHECK-NEXT: functional.addmv({{.*}}) {beta = 0.5} : !functional.tensor<8xbf16>
  %0 = functional.addmv(%a, %x, %v) {beta = 0.5} : !functional.tensor<8xbf16>
  // CHECK-NEXT: functional.addbmm({{.*}}) {alpha = 2} : !functional.tensor<8x4xbf16>
  %1 = functional.addbmm(%a, %bx, %by) {alpha = 2} : !functional.tensor<8x4xbf16>
  // CHECK-NEXT: functional.return({{.*}})
  functional.return(%0, %1)
}

// Products, attention, convolution.
// CHECK-LABEL: functional.func @products(%x: !functional.tensor<8x16xf32>, %y: !functional.tensor<16x4xf32>, %b: !functional.tensor<4xf32>, %bx: !functional.tensor<2x8x16xf32>, %by: !functional.tensor<2x16x4xf32>, %q: !functional.tensor<2x4x5x8xf32>, %im: !functional.tensor<2x3x8x8xf32>, %f: !functional.tensor<6x3x3x3xf32>, %ft: !functional.tensor<3x6x3x3xf32>)
functional.func @products(%x: !functional.tensor<8x16xf32>, %y: !functional.tensor<16x4xf32>, %b: !functional.tensor<4xf32>, %bx: !functional.tensor<2x8x16xf32>, %by: !functional.tensor<2x16x4xf32>, %q: !functional.tensor<2x4x5x8xf32>, %im: !functional.tensor<2x3x8x8xf32>, %f: !functional.tensor<6x3x3x3xf32>, %ft: !functional.tensor<3x6x3x3xf32>) {
  // CHECK-NEXT: functional.mm({{.*}}) : !functional.tensor<8x4xf32>
  %0 = functional.mm(%x, %y) : !functional.tensor<8x4xf32>
  // CHECK-NEXT: functional.bmm({{.*}}) : !functional.tensor<2x8x4xf32>
  %1 = functional.bmm(%bx, %by) : !functional.tensor<2x8x4xf32>
  // CHECK-NEXT: functional.addmm({{.*}}) {beta = 0.5} : !functional.tensor<8x4xf32>
  %2 = functional.addmm(%b, %x, %y) {beta = 0.5} : !functional.tensor<8x4xf32>
  // CHECK-NEXT: functional.baddbmm({{.*}}) : !functional.tensor<2x8x4xf32>
  %3 = functional.baddbmm(%b, %bx, %by) : !functional.tensor<2x8x4xf32>
  // CHECK-NEXT: functional.attention({{.*}}) {is_causal = true} : (!functional.tensor<2x4x5x8xf32>, !functional.tensor<2x4x5xf32, strides [20, 1, 4]>)
  %4, %5 = functional.attention(%q, %q, %q) {is_causal = true} : (!functional.tensor<2x4x5x8xf32>, !functional.tensor<2x4x5xf32, strides [20, 1, 4]>)
  // CHECK-NEXT: functional.attention_backward({{.*}}) : (!functional.tensor<2x4x5x8xf32, strides [160, 8, 32, 1]>, !functional.tensor<2x4x5x8xf32, strides [160, 8, 32, 1]>, !functional.tensor<2x4x5x8xf32, strides [160, 8, 32, 1]>)
  %6, %7, %8 = functional.attention_backward(%q, %q, %q, %q, %4, %5) : (!functional.tensor<2x4x5x8xf32, strides [160, 8, 32, 1]>, !functional.tensor<2x4x5x8xf32, strides [160, 8, 32, 1]>, !functional.tensor<2x4x5x8xf32, strides [160, 8, 32, 1]>)
  // CHECK-NEXT: functional.convolution({{.*}}) {stride = [2, 2], padding = [1, 1], dilation = [1, 1]} : !functional.tensor<2x6x4x4xf32>
  %9 = functional.convolution(%im, %f) {stride = [2, 2], padding = [1, 1], dilation = [1, 1]} : !functional.tensor<2x6x4x4xf32>
  // CHECK-NEXT: functional.convolution({{.*}}) {stride = [2, 2], padding = [1, 1], dilation = [1, 1], transposed = true, output_padding = [1, 1]} : !functional.tensor<2x6x16x16xf32>
  %10 = functional.convolution(%im, %ft) {stride = [2, 2], padding = [1, 1], dilation = [1, 1], transposed = true, output_padding = [1, 1]} : !functional.tensor<2x6x16x16xf32>
  // CHECK-NEXT: functional.convolution_backward({{.*}}) {stride = [2, 2], padding = [1, 1], dilation = [1, 1]} : (!functional.tensor<2x3x8x8xf32>, !functional.tensor<6x3x3x3xf32>, !functional.tensor<6xf32>)
  %11, %12, %13 = functional.convolution_backward(%9, %im, %f) {stride = [2, 2], padding = [1, 1], dilation = [1, 1]} : (!functional.tensor<2x3x8x8xf32>, !functional.tensor<6x3x3x3xf32>, !functional.tensor<6xf32>)
  // CHECK-NEXT: functional.return({{.*}})
  functional.return(%11)
}

// Pooling and resampling.
// CHECK-LABEL: functional.func @windows(%x: !functional.tensor<2x3x8x8xf32>, %grid: !functional.tensor<2x4x4x2xf32>)
functional.func @windows(%x: !functional.tensor<2x3x8x8xf32>, %grid: !functional.tensor<2x4x4x2xf32>) {
  // CHECK-NEXT: functional.window_sum({{.*}}) {kernel = [2, 2], stride = [2, 2], padding = [0, 0], divisor = "valid"} : !functional.tensor<2x3x4x4xf32>
  %0 = functional.window_sum(%x) {kernel = [2, 2], stride = [2, 2], padding = [0, 0], divisor = "valid"} : !functional.tensor<2x3x4x4xf32>
  // CHECK-NEXT: functional.window_sum({{.*}}) {output_size = [3, 3], divisor = "valid"} : !functional.tensor<2x3x3x3xf32>
  %1 = functional.window_sum(%x) {output_size = [3, 3], divisor = "valid"} : !functional.tensor<2x3x3x3xf32>
  // CHECK-NEXT: functional.window_max_with_index({{.*}}) {kernel = [2, 2], stride = [2, 2], padding = [0, 0], dilation = [1, 1]} : (!functional.tensor<2x3x4x4xf32>, !functional.tensor<2x3x4x4xi64>)
  %2, %3 = functional.window_max_with_index(%x) {kernel = [2, 2], stride = [2, 2], padding = [0, 0], dilation = [1, 1]} : (!functional.tensor<2x3x4x4xf32>, !functional.tensor<2x3x4x4xi64>)
  // CHECK-NEXT: functional.avg_pool_backward({{.*}}) {kernel = [2, 2], stride = [2, 2], padding = [0, 0], divisor = "valid"} : !functional.tensor<2x3x8x8xf32>
  %4 = functional.avg_pool_backward(%0, %x) {kernel = [2, 2], stride = [2, 2], padding = [0, 0], divisor = "valid"} : !functional.tensor<2x3x8x8xf32>
  // CHECK-NEXT: functional.max_pool_backward({{.*}}) {spatial = 2} : !functional.tensor<2x3x8x8xf32>
  %5 = functional.max_pool_backward(%2, %x, %3) {spatial = 2} : !functional.tensor<2x3x8x8xf32>
  // CHECK-NEXT: functional.upsample({{.*}}) {kind = "linear", size = [16, 16], align_corners = true} : !functional.tensor<2x3x16x16xf32>
  %6 = functional.upsample(%x) {kind = "linear", size = [16, 16], align_corners = true} : !functional.tensor<2x3x16x16xf32>
  // CHECK-NEXT: functional.upsample_backward({{.*}}) {kind = "linear", input_size = [2, 3, 8, 8], align_corners = true} : !functional.tensor<2x3x8x8xf32>
  %7 = functional.upsample_backward(%6) {kind = "linear", input_size = [2, 3, 8, 8], align_corners = true} : !functional.tensor<2x3x8x8xf32>
  // CHECK-NEXT: functional.grid_sample({{.*}}) : !functional.tensor<2x3x4x4xf32>
  %8 = functional.grid_sample(%x, %grid) : !functional.tensor<2x3x4x4xf32>
  // CHECK-NEXT: functional.grid_sample_backward({{.*}}) : (!functional.tensor<2x3x8x8xf32>, !functional.tensor<2x4x4x2xf32>)
  %9, %10 = functional.grid_sample_backward(%8, %x, %grid) : (!functional.tensor<2x3x8x8xf32>, !functional.tensor<2x4x4x2xf32>)
  // CHECK-NEXT: functional.return({{.*}})
  functional.return(%9)
}

// On a GPU eager keeps the statistics of a layer norm of halves in f32.
// CHECK-LABEL: functional.func @layer_norm_of_halves_on_a_gpu
functional.func @layer_norm_of_halves_on_a_gpu(%x: !functional.tensor<8x16xbf16, "cuda:0">) {
  // CHECK-NEXT: functional.layer_norm({{.*}}) {{.*}} : (!functional.tensor<8x16xbf16, "cuda:0">, !functional.tensor<8x1xf32, "cuda:0">, !functional.tensor<8x1xf32, "cuda:0">)
  %0, %1, %2 = functional.layer_norm(%x) {normalized = [16], eps = 1.0e-05} : (!functional.tensor<8x16xbf16, "cuda:0">, !functional.tensor<8x1xf32, "cuda:0">, !functional.tensor<8x1xf32, "cuda:0">)
  functional.return(%0)
}

// Normalisations and losses.
// CHECK-LABEL: functional.func @normalisations_and_losses(%x: !functional.tensor<8x16xf32>, %w: !functional.tensor<16xf32>, %y: !functional.tensor<2x4x5xf32>, %c: !functional.tensor<4xf32>, %g: !functional.tensor<8x1xf32>, %t: !functional.tensor<8xi64>)
functional.func @normalisations_and_losses(%x: !functional.tensor<8x16xf32>, %w: !functional.tensor<16xf32>, %y: !functional.tensor<2x4x5xf32>, %c: !functional.tensor<4xf32>, %g: !functional.tensor<8x1xf32>, %t: !functional.tensor<8xi64>) {
  // CHECK-NEXT: functional.layer_norm({{.*}}) {normalized = [16], eps = 1.0e-05} : (!functional.tensor<8x16xf32>, !functional.tensor<8x1xf32>, !functional.tensor<8x1xf32>)
  %0, %1, %2 = functional.layer_norm(%x, %w; %w) {normalized = [16], eps = 1.0e-05} : (!functional.tensor<8x16xf32>, !functional.tensor<8x1xf32>, !functional.tensor<8x1xf32>)
  // CHECK-NEXT: functional.layer_norm_backward({{.*}}) {normalized = [16]} : (!functional.tensor<8x16xf32>, !functional.tensor<16xf32>, !functional.tensor<16xf32>)
  %3, %4, %5 = functional.layer_norm_backward(%x, %x, %1, %2, %w) {normalized = [16]} : (!functional.tensor<8x16xf32>, !functional.tensor<16xf32>, !functional.tensor<16xf32>)
  // CHECK-NEXT: functional.group_norm({{.*}}) {groups = 2, eps = 1.0e-05} : (!functional.tensor<2x4x5xf32>, !functional.tensor<2x2xf32>, !functional.tensor<2x2xf32>)
  %6, %7, %8 = functional.group_norm(%y, %c; %c) {groups = 2, eps = 1.0e-05} : (!functional.tensor<2x4x5xf32>, !functional.tensor<2x2xf32>, !functional.tensor<2x2xf32>)
  // CHECK-NEXT: functional.group_norm_backward({{.*}}) {groups = 2} : (!functional.tensor<2x4x5xf32>, !functional.tensor<4xf32>, !functional.tensor<4xf32>)
  %9, %10, %11 = functional.group_norm_backward(%y, %y, %7, %8, %c) {groups = 2} : (!functional.tensor<2x4x5xf32>, !functional.tensor<4xf32>, !functional.tensor<4xf32>)
  // CHECK-NEXT: functional.batch_norm({{.*}}) {training = true, momentum = 0.1, eps = 1.0e-05} : (!functional.tensor<2x4x5xf32>, !functional.tensor<4xf32>, !functional.tensor<4xf32>, !functional.tensor<4xf32>, !functional.tensor<4xf32>)
  %12, %13, %14, %15, %16 = functional.batch_norm(%y, %c, %c, %c; %c) {training = true, momentum = 0.1, eps = 1.0e-05} : (!functional.tensor<2x4x5xf32>, !functional.tensor<4xf32>, !functional.tensor<4xf32>, !functional.tensor<4xf32>, !functional.tensor<4xf32>)
  // CHECK-NEXT: functional.batch_norm_backward({{.*}}) {training = true, eps = 1.0e-05} : (!functional.tensor<2x4x5xf32>, !functional.tensor<4xf32>, !functional.tensor<4xf32>)
  %17, %18, %19 = functional.batch_norm_backward(%y, %y, %13, %14, %c) {training = true, eps = 1.0e-05} : (!functional.tensor<2x4x5xf32>, !functional.tensor<4xf32>, !functional.tensor<4xf32>)
  // CHECK-NEXT: functional.weight_norm({{.*}}) {dim = 0} : (!functional.tensor<8x16xf32>, !functional.tensor<8x1xf32>)
  %20, %21 = functional.weight_norm(%x, %g) {dim = 0} : (!functional.tensor<8x16xf32>, !functional.tensor<8x1xf32>)
  // CHECK-NEXT: functional.weight_norm_backward({{.*}}) {dim = 0} : (!functional.tensor<8x16xf32>, !functional.tensor<8x1xf32>)
  %22, %23 = functional.weight_norm_backward(%x, %x, %g, %21) {dim = 0} : (!functional.tensor<8x16xf32>, !functional.tensor<8x1xf32>)
  // CHECK-NEXT: functional.mse({{.*}}) {reduction = "sum"} : !functional.tensor<f32>
  %24 = functional.mse(%x, %x) {reduction = "sum"} : !functional.tensor<f32>
  // CHECK-NEXT: functional.huber({{.*}}) {reduction = "sum"} : !functional.tensor<f32>
  %25 = functional.huber(%x, %x) {reduction = "sum"} : !functional.tensor<f32>
  // CHECK-NEXT: functional.bce({{.*}}) {reduction = "sum"} : !functional.tensor<f32>
  %26 = functional.bce(%x, %x) {reduction = "sum"} : !functional.tensor<f32>
  // CHECK-NEXT: functional.bce_with_logits({{.*}}) {reduction = "sum"} : !functional.tensor<f32>
  %27 = functional.bce_with_logits(%x, %x) {reduction = "sum"} : !functional.tensor<f32>
  // CHECK-NEXT: functional.soft_margin({{.*}}) {reduction = "sum"} : !functional.tensor<f32>
  %28 = functional.soft_margin(%x, %x) {reduction = "sum"} : !functional.tensor<f32>
  // CHECK-NEXT: functional.nll({{.*}}) : (!functional.tensor<f32>, !functional.tensor<f32>)
  %29, %30 = functional.nll(%x, %t) : (!functional.tensor<f32>, !functional.tensor<f32>)
  // CHECK-NEXT: functional.nll_backward({{.*}}) : !functional.tensor<8x16xf32>
  %31 = functional.nll_backward(%29, %x, %t, %30) : !functional.tensor<8x16xf32>
  // CHECK-NEXT: functional.return({{.*}})
  functional.return(%31)
}

// Everything else is called by name.
// CHECK-LABEL: functional.func @opaque_call(%x: !functional.tensor<4x4xf32>)
functional.func @opaque_call(%x: !functional.tensor<4x4xf32>) {
  // CHECK-NEXT: functional.opaque({{.*}}) {target = @aten.linalg_inv_ex.default, args = [#functional.operand<0>], kwargs = {check_errors = true}} : (!functional.tensor<4x4xf32, strides [1, 4]>, !functional.tensor<i32>)
  %0, %1 = functional.opaque(%x) {target = @aten.linalg_inv_ex.default, args = [#functional.operand<0>], kwargs = {check_errors = true}} : (!functional.tensor<4x4xf32, strides [1, 4]>, !functional.tensor<i32>)
  // CHECK-NEXT: functional.slice({{.*}}) {dim = 0, start = 1, end = 3} : !functional.tensor<2x4xf32, strides [1, 4]>
  %2 = functional.slice(%0) {dim = 0, start = 1, end = 3} : !functional.tensor<2x4xf32, strides [1, 4]>
  // CHECK-NEXT: functional.return({{.*}})
  functional.return(%2)
}

// Types: strides that are not row-major, another device, a scalar, an empty tensor, sizes that are known at run time.
// CHECK-LABEL: functional.func @types(%a: !functional.tensor<8x16xbf16, strides [1, 8], "cuda:0">, %b: !functional.tensor<f64>, %c: !functional.tensor<0x3xi1>, %d: !functional.tensor<2xcomplex<f32>>, %e: !functional.tensor<s0x(s0 + 1)xf32>) {symbols = {s0 = {hint = 3, min = 2}}}
// CHECK-NEXT: functional.return(%b, %a) {aliases = {{\[\[}}"input", 1, 0], ["input", 0, 4]]}
functional.func @types(%a: !functional.tensor<8x16xbf16, strides [1, 8], "cuda:0">, %b: !functional.tensor<f64, strides [], "cpu">, %c: !functional.tensor<0x3xi1, strides [3, 1]>, %d: !functional.tensor<2xcomplex<f32>>, %e: !functional.tensor<s0x(s0 + 1)xf32, strides [s0 + 1, 1]>) {symbols = {s0 = {hint = 3, min = 2}}} {
  functional.return(%b, %a) {aliases = [["input", 1, 0], ["input", 0, 4]]}
}

// Inputs are written when everything else was computed.
// CHECK-LABEL: functional.func @writes(%x: !functional.tensor<3x4xf32>, %y: !functional.tensor<4xf32>)
functional.func @writes(%x: !functional.tensor<3x4xf32>, %y: !functional.tensor<4xf32>) {
  // CHECK-NEXT: %[[N:.*]] = functional.neg(%y)
  %0 = functional.neg(%y) : !functional.tensor<4xf32>
  // CHECK-NEXT: functional.write(%x, %[[N]]) {offset = 4, versions = 2}
  functional.write(%x, %0) {offset = 4, versions = 2}
  // CHECK-NEXT: functional.write(%y, %[[N]])
  functional.write(%y, %0)
  functional.return()
}
