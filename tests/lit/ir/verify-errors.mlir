// RUN: lect-opt %s --split-input-file --verify-diagnostics --allow-unregistered-dialect

// Invariants of the verifier that text can break; the rest is in tests/unit/ir.

"test.function"() ({
  // expected-error @+1 {{operand of 'test.use' is used before it is defined}}
  "test.use"(%x) : (f32) -> ()
  %x = "test.make"() : () -> f32
}) : () -> ()

// -----

"test.function"() ({
^bb0(%condition: i1):
  "test.branch"(%condition)[^a, ^b] : (i1) -> ()
^a:
  %x = "test.make"() : () -> f32
  "test.jump"()[^b] : () -> ()
^b:
  // expected-error @+1 {{operand of 'test.use' is not defined on every path to its use}}
  "test.use"(%x) : (f32) -> ()
}) : () -> ()

// -----

"test.function"() ({
  // expected-error @+1 {{'test.jump' has successors and must be the last operation of its block}}
  "test.jump"()[^a] : () -> ()
  "test.late"() : () -> ()
^a:
  "test.end"() : () -> ()
}) : () -> ()

// -----

fx.graph @no_terminator(%x: !fx.tensor<2xf32>) {
  // expected-error @+1 {{the block must end in a terminator, not in 'fx.call'}}
  %0 = fx.call(%x) {target = @f, args = [#fx.operand<0>]} : !fx.tensor<2xf32>
}

// -----

fx.graph @terminator_inside(%x: !fx.tensor<2xf32>) {
  // expected-error @+1 {{'fx.return' must be the last operation of its block}}
  fx.return(%x)
  fx.return(%x)
}

// -----

// expected-error @+1 {{a block of 'fx.graph' is empty but needs a terminator}}
fx.graph @empty(%x: !fx.tensor<2xf32>) {
}

// -----

// expected-error @+1 {{the entry block of 'test.function' is a successor of another block}}
"test.function"() ({
^entry:
  "test.jump"()[^other] : () -> ()
^other:
  "test.jump"()[^entry] : () -> ()
}) : () -> ()
