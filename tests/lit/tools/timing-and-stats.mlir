// RUN: lect-opt %s -p canonicalize,cse --timing -o %t 2>&1 | filecheck %s --check-prefix TIMING
// TIMING: ms share step
// TIMING: parse
// TIMING: verify input
// TIMING: canonicalize
// TIMING: cse
// TIMING: verify
// TIMING: print
// TIMING: total

// RUN: lect-opt %s -p canonicalize,cse --stats -o %t 2>&1 | filecheck %s --check-prefix STATS
// STATS: count pass: what
// STATS-NEXT: 2 canonicalize: changes
// STATS-NOT: cse

fx.graph @f(%x: !fx.tensor<2xf32>) {
  %0 = builtin.unrealized_conversion_cast(%x) : f32
  %1 = builtin.unrealized_conversion_cast(%0) : !fx.tensor<2xf32>
  fx.return(%1)
}
