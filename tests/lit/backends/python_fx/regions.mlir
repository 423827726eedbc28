// RUN: lect-opt %s --emit=torch | filecheck %s

// A region is a function in front of the call; what it takes from around it lives as long as it may be called.
// CHECK-LABEL: # @checkpoint
// CHECK-NEXT: def checkpoint(x, w):
// CHECK-NEXT: def body_region(a):
// CHECK-NEXT: t3 = F_linear(a, w)
// CHECK-NEXT: del a
// CHECK-NEXT: return [t3]
// CHECK-NEXT: [t4] = checkpoint_1([body_region], [x])
// CHECK-NEXT: del x
// CHECK-NEXT: return [t4]
fx.graph @checkpoint(%x: !fx.tensor<4x8xf32>, %w: !fx.tensor<8x8xf32, requires_grad>) {
  %0 = fx.checkpoint(%x) : !fx.tensor<4x8xf32, requires_grad> {
  ^bb0(%a: !fx.tensor<4x8xf32>):
    %1 = fx.call(%a, %w) {target = @torch.nn.functional.linear, args = [#fx.operand<0>, #fx.operand<1>]} : !fx.tensor<4x8xf32, requires_grad>
    fx.yield(%1)
  }
  fx.return(%0)
}

// Else it ends with the call.
// CHECK-LABEL: # @branches
// CHECK-NEXT: def branches(x, p):
// CHECK-NEXT: def then():
// CHECK-NEXT: t2 = torch_sin(x)
// CHECK-NEXT: return [t2]
// CHECK-NEXT: def otherwise():
// CHECK-NEXT: return [x]
// CHECK-NEXT: [t3] = cond([then, otherwise], [p])
// CHECK-NEXT: del p, x
// CHECK-NEXT: return [t3]
fx.graph @branches(%x: !fx.tensor<4xf32>, %p: !fx.tensor<i1>) {
  %0 = fx.cond(%p) : !fx.tensor<4xf32> {
    %1 = fx.call(%x) {target = @torch.sin, args = [#fx.operand<0>]} : !fx.tensor<4xf32>
    fx.yield(%1)
  }, {
    fx.yield(%x)
  }
  fx.return(%0)
}
