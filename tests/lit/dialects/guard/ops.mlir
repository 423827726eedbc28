// RUN: lect-opt %s | lect-opt | filecheck %s
// RUN: lect-opt %s --print-op-generic | lect-opt | filecheck %s

// Every root and every step of a path.
// CHECK-LABEL: guard.set @paths()
// CHECK-NEXT: %0 = guard.source() {path = #guard.path<L["self"].fc.weight>} : !guard.object
// CHECK-NEXT: %1 = guard.source() {path = #guard.path<R.__closure__[0].cell_contents>} : !guard.object
// CHECK-NEXT: %2 = guard.source() {path = #guard.path<M["torch.nn"].Linear>} : !guard.object
// CHECK-NEXT: %3 = guard.source() {path = #guard.path<O[2]:type.forward:dict["a key"]>} : !guard.object
// CHECK-NEXT: %4 = guard.source() {path = #guard.path<L["x"][true][-1][0.5][none][{{\[}}1, "a"]]>} : !guard.object
// CHECK-NEXT: %5 = guard.source() {path = #guard.path<L["x"]:nth(3):key(0):value(1):part("weight"):attr("not a name"):call>} : !guard.object
// CHECK-NEXT: %6 = guard.source() {path = #guard.path<L["x"]:own("a"):own(1)[#fx.object<2, "class m.K">]:own(#fx.object<3, "m.f(<x>)">)>} : !guard.object
guard.set @paths() {
  %0 = guard.source() {path = #guard.path<L["self"].fc.weight>} : !guard.object
  %1 = guard.source() {path = #guard.path<R.__closure__[0].cell_contents>} : !guard.object
  %2 = guard.source() {path = #guard.path<M["torch.nn"] .Linear>} : !guard.object
  %3 = guard.source() {path = #guard.path<O[2]:type.forward:dict["a key"]>} : !guard.object
  %4 = guard.source() {path = #guard.path<L["x"][true][-1][0.5][none][[1, "a"]]>} : !guard.object
  %5 = guard.source() {path = #guard.path<L["x"]:nth(3):key(0):value(1):part("weight"):attr("not a name"):call>} : !guard.object
  %6 = guard.source() {path = #guard.path<L["x"]:own("a"):own(1)[#fx.object<2, "class m.K">]:own(#fx.object<3, "m.f(<x>)">)>} : !guard.object
}

// Numbers: types, ranges, and outcomes of what the program computes.
// CHECK-LABEL: guard.set @numbers()
// CHECK: guard.number(%n) {element = i64}
// CHECK-NEXT: guard.number(%r) {element = f64, fits = f32}
// CHECK-NEXT: guard.number(%n) {element = i64, size = #lect.size<s0 * 4>}
// CHECK-NEXT: %0 = guard.apply(%n) {function = "truediv", args = [#fx.operand<0>, 100]} : !guard.object
// CHECK-NEXT: %1 = guard.apply(%0, %r) {function = "lt", args = [#fx.operand<0>, #fx.operand<1>]} : !guard.object
// CHECK-NEXT: guard.truth(%1) {value = true}
// CHECK-NEXT: %2 = guard.apply(%r) {function = "math.sqrt", args = [#fx.operand<0>]} : !guard.object
// CHECK-NEXT: guard.number(%2) {element = f64}
guard.set @numbers() {
  %n = guard.source() {path = #guard.path<L["n"]>} : !guard.object
  %r = guard.source() {path = #guard.path<L["r"]>} : !guard.object
  guard.number(%n) {element = i64}
  guard.number(%r) {element = f64, fits = f32}
  guard.number(%n) {element = i64, size = #lect.size<s0 * 4>}
  %0 = guard.apply(%n) {function = "truediv", args = [#fx.operand<0>, 100]} : !guard.object
  %1 = guard.apply(%0, %r) {function = "lt", args = [#fx.operand<0>, #fx.operand<1>]} : !guard.object
  guard.truth(%1) {value = true}
  %2 = guard.apply(%r) {function = "math.sqrt", args = [#fx.operand<0>]} : !guard.object
  guard.number(%2) {element = f64}
}

// CHECK-LABEL: guard.set @conditions()
// CHECK: guard.tensor(%x) {dtype = f32, sizes = [4, 8], strides = [8, 1]}
// CHECK-NEXT: guard.tensor(%y) {dtype = bf16, sizes = [], strides = [], device = "cuda:0", requires_grad = true, type = "torch.nn.Parameter"}
// CHECK-NEXT: guard.type_is(%x) {type = #fx.object<0, "torch.Tensor">}
// CHECK-NEXT: guard.equals(%x) {value = -0.0}
// CHECK-NEXT: guard.is(%x) {is_object = #fx.object<1, "function m.f">}
// CHECK-NEXT: guard.same(%x, %y)
// CHECK-NEXT: guard.distinct(%x, %y)
// CHECK-NEXT: guard.all_distinct(%x, %y)
// CHECK-NEXT: guard.not_none(%x)
// CHECK-NEXT: guard.present(%x)
// CHECK-NEXT: guard.truth(%x) {value = false}
// CHECK-NEXT: guard.no_attr(%x) {names = ["a", "b"], parts = true}
// CHECK-NEXT: guard.no_hooks(%x)
// CHECK-NEXT: guard.length(%x) {length = 2}
// CHECK-NEXT: guard.keys(%x) {keys = ["a", 1, #fx.object<2, "K">]}
// CHECK-NEXT: guard.has_key(%x) {key = "a"}
// CHECK-NEXT: guard.has_key(%x) {key = "b", present = false}
// CHECK-NEXT: guard.holds(%x, %y)
// CHECK-NEXT: guard.holds(%x, %y) {present = false}
// CHECK-NEXT: guard.items(%x) {items = [1, 2.0, "c"]}
// CHECK-NEXT: guard.no_overlap(%x, %y)
// CHECK-NEXT: guard.no_keys(%x) {keys = ["a", "b"]}
// CHECK-NEXT: guard.mro(%x) {bases = [#fx.object<3, "m.A">, #fx.object<4, "m.B">]}
// CHECK-NEXT: guard.no_subclass(%x, %y)
// CHECK-NEXT: guard.builtins() {names = ["abs", "len"]}
// CHECK-NEXT: guard.tensor_class() {names = ["__add__", "T"]}
// CHECK-NEXT: guard.torch_callees() {functions = ["torch.nn.functional.softmax"]}
// CHECK-NEXT: guard.global_state() {grad = true, default_dtype = f32}
guard.set @conditions() {
  %x = guard.source() {path = #guard.path<L["x"]>} : !guard.object
  %y = guard.source() {path = #guard.path<L["y"]>} : !guard.object
  guard.tensor(%x) {dtype = f32, sizes = [4, 8], strides = [8, 1]}
  guard.tensor(%y) {dtype = bf16, sizes = [], strides = [], device = "cuda:0", requires_grad = true, type = "torch.nn.Parameter"}
  guard.type_is(%x) {type = #fx.object<0, "torch.Tensor">}
  guard.equals(%x) {value = -0.0}
  guard.is(%x) {is_object = #fx.object<1, "function m.f">}
  guard.same(%x, %y)
  guard.distinct(%x, %y)
  guard.all_distinct(%x, %y)
  guard.not_none(%x)
  guard.present(%x)
  guard.truth(%x) {value = false}
  guard.no_attr(%x) {names = ["a", "b"], parts = true}
  guard.no_hooks(%x)
  guard.length(%x) {length = 2}
  guard.keys(%x) {keys = ["a", 1, #fx.object<2, "K">]}
  guard.has_key(%x) {key = "a"}
  guard.has_key(%x) {key = "b", present = false}
  guard.holds(%x, %y)
  guard.holds(%x, %y) {present = false}
  guard.items(%x) {items = [1, 2.0, "c"]}
  guard.no_overlap(%x, %y)
  guard.no_keys(%x) {keys = ["a", "b"]}
  guard.mro(%x) {bases = [#fx.object<3, "m.A">, #fx.object<4, "m.B">]}
  guard.no_subclass(%x, %y)
  guard.builtins() {names = ["abs", "len"]}
  guard.tensor_class() {names = ["__add__", "T"]}
  guard.torch_callees() {functions = ["torch.nn.functional.softmax"]}
  guard.global_state() {grad = true, default_dtype = f32}
}
