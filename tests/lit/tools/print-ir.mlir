// RUN: lect-opt %s -p 'dce,canonicalize,dce' --print-ir-before dce 2>&1 | filecheck %s --check-prefix BEFORE
// BEFORE: // == IR before dce (1 of 3) ==
// BEFORE-NEXT: builtin.module @m {
// BEFORE: builtin.unrealized_conversion_cast
// BEFORE-NOT: canonicalize
// BEFORE: // == IR before dce (3 of 3) ==
// BEFORE-NEXT: builtin.module @m {
// BEFORE-NOT: builtin.unrealized_conversion_cast

// RUN: lect-opt %s -p 'dce,canonicalize,cse' --print-ir-after dce,cse 2>&1 | filecheck %s --check-prefix AFTER
// AFTER: // == IR after dce (1 of 3) ==
// AFTER-NOT: IR after canonicalize
// AFTER: // == IR after cse (3 of 3) ==

// RUN: lect-opt %s -p 'dce,cse' --print-ir-before-all 2>&1 | filecheck %s --check-prefix BEFORE-ALL
// BEFORE-ALL: IR before dce (1 of 2)
// BEFORE-ALL: IR before cse (2 of 2)
// BEFORE-ALL-NOT: IR after

// RUN: lect-opt %s -p 'dce,cse' --print-ir-after-all 2>&1 | filecheck %s --check-prefix AFTER-ALL
// AFTER-ALL-NOT: IR before
// AFTER-ALL: IR after dce (1 of 2)
// AFTER-ALL: IR after cse (2 of 2)

// RUN: lect-opt %s -p 'cse,dce,canonicalize,dce' --print-ir-after-change 2>&1 | filecheck %s --check-prefix CHANGE
// CHANGE-NOT: IR after cse
// CHANGE-NOT: IR after dce
// CHANGE: // == IR after canonicalize (3 of 4) ==
// CHANGE-NEXT: builtin.module @m {
// CHANGE-NOT: builtin.unrealized_conversion_cast
// CHANGE-NOT: IR after dce

// RUN: lect-opt %s -p cse --print-ir-after-all --print-op-generic --print-locations 2>&1 | filecheck %s --check-prefix STYLE
// STYLE: IR after cse
// STYLE: "builtin.module"() ({
// STYLE: loc("

// RUN: lect-opt %s -p "canonicalize,dce" --print-ir-tree-dir %t && cat %t/0_input.mlir %t/1_canonicalize.mlir %t/2_dce.mlir | filecheck %s --check-prefix TREE
// TREE: builtin.module @m {
// TREE: builtin.unrealized_conversion_cast
// TREE: builtin.module @m {
// TREE-NOT: builtin.unrealized_conversion_cast
// TREE: builtin.module @m {

// Each file of the tree is input again.
// RUN: lect-opt %t/1_canonicalize.mlir -p dce | filecheck %s --check-prefix RESUME
// RESUME: fx.return(%x)

builtin.module @m {
  fx.graph @f(%x: !fx.tensor<2xf32>) {
    %0 = builtin.unrealized_conversion_cast(%x) : f32
    %1 = builtin.unrealized_conversion_cast(%0) : !fx.tensor<2xf32>
    fx.return(%1)
  }
}
