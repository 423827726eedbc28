// RUN: lect-opt %s --split-input-file --verify-diagnostics --allow-unregistered-dialect

// expected-error @+1 {{'builtin.module' has one region, got 2}}
builtin.module @two_regions {
}, {
}

// -----

// expected-error @+1 {{'builtin.module' needs exactly one block in each region, got 2}}
builtin.module @two_blocks {
^a:
^b:
}

// -----

builtin.module @twice {
  builtin.module @inner {
  }
  // expected-error @+1 {{symbol @inner is defined twice}}
  builtin.module @inner {
  }
}

// -----

"test.outer"() ({
  %0 = "test.make"() : () -> f32
  builtin.module @isolated {
    // expected-error @+1 {{%0 is used but never defined}}
    "test.use"(%0) : (f32) -> ()
  }
}) : () -> ()

// -----

%0 = "test.make"() : () -> f32
// expected-error @+1 {{'builtin.unrealized_conversion_cast' takes one operand, got 2}}
%1 = builtin.unrealized_conversion_cast(%0, %0) : f32

// -----

%0 = "test.make"() : () -> f32
// expected-error @+1 {{'builtin.unrealized_conversion_cast' has one result, got 0}}
builtin.unrealized_conversion_cast(%0)

// -----

// expected-error @+1 {{attributes of 'builtin.module' need a dialect's name in front, as in 'lect.version'}}
builtin.module @named {version = "1"} {
}
