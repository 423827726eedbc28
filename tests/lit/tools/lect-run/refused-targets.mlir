// RUN: not lect-run %s --function hub --random-inputs 2>&1 | filecheck %s --check-prefix=HUB
// RUN: not lect-run %s --function load --random-inputs 2>&1 | filecheck %s --check-prefix=LOAD
// RUN: not lect-run %s --function file --random-inputs 2>&1 | filecheck %s --check-prefix=FILE
// RUN: not lect-run %s --function extern --random-inputs 2>&1 | filecheck %s --check-prefix=EXTERN
// RUN: not lect-run %s --function extern --random-inputs --reference 2>&1 | filecheck %s --check-prefix=EXTERN
// RUN: lect-run %s --function fine --random-inputs | filecheck %s --check-prefix=FINE

// A file from elsewhere may compute with tensors, and do nothing else.

// HUB: error: 'torch.hub.load' is no function of torch that a graph may call
fx.graph @hub(%x: !fx.tensor<4xf32>) {
  fx.call() {target = @torch.hub.load, args = ["/somewhere", "model"], kwargs = {source = "local"}, structure = none}
  fx.return(%x)
}

// LOAD: error: 'torch.load' is no function of torch that a graph may call
fx.graph @load(%x: !fx.tensor<4xf32>) {
  fx.call() {target = @torch.load, args = ["/somewhere"], structure = none}
  fx.return(%x)
}

// FILE: error: 'torch.from_file' is no function of torch that a graph may call
fx.graph @file(%x: !fx.tensor<4xf32>) {
  %0 = fx.call() {target = @torch.from_file, args = ["/somewhere", false, 4]} : !fx.tensor<4xf32>
  fx.return(%0)
}

// EXTERN: error: a program may not call 'aten.from_file.default', which acts on files
host.func @extern() {
  %0 = host.extern() {callee = @aten.from_file.default, args = ["/somewhere", false, 4]} : !host.tensor<4xf32>
  host.return(%0)
}

// FINE: output 0: (4,) float32
fx.graph @fine(%x: !fx.tensor<4xf32>) {
  fx.call() {target = @torch.set_grad_enabled, args = [false], structure = none}
  %0 = fx.call(%x, %x) {target = @torch.einsum, args = ["i,i->i", #fx.operand<0>, #fx.operand<1>]} : !fx.tensor<4xf32>
  fx.return(%0)
}
