// RUN: lect-opt %s --split-input-file --verify-diagnostics

builtin.module {
  // expected-error @+1 {{'guard.global_state' must stand inside 'guard.set', found it in 'builtin.module'}}
  guard.global_state() {grad = true, default_dtype = f32}
}

// -----

guard.set @foreign_operation() {
  // expected-error @+1 {{'guard.set' holds operations of guard, got 'builtin.module'}}
  builtin.module {}
}

// -----

guard.set @strides_of_another_rank() {
  %x = guard.source() {path = #guard.path<L["x"]>} : !guard.object
  // expected-error @+1 {{'guard.tensor' needs as many strides as sizes, got 1 and 2}}
  guard.tensor(%x) {dtype = f32, sizes = [4, 8], strides = [1]}
}

// -----

guard.set @no_names() {
  %x = guard.source() {path = #guard.path<L["x"]>} : !guard.object
  // expected-error @+1 {{'guard.no_attr' needs names, got ()}}
  guard.no_attr(%x) {names = []}
}

// -----

guard.set @one_tensor_cannot_overlap() {
  %x = guard.source() {path = #guard.path<L["x"]>} : !guard.object
  // expected-error @+1 {{'guard.no_overlap' needs at least two tensors, got 1}}
  guard.no_overlap(%x)
}

// -----

guard.set @unknown_root() {
  // expected-error @+1 {{in #guard.path: expected one of the roots L, M, O and R, found "Q[1]"}}
  %x = guard.source() {path = #guard.path<Q[1]>} : !guard.object
}

// -----

guard.set @unknown_step() {
  // expected-error @+1 {{'last' is no step of a path}}
  %x = guard.source() {path = #guard.path<L["x"]:last(1)>} : !guard.object
}

// -----

guard.set @source_of_another_type() {
  // expected-error @+1 {{result 'object' of 'guard.source' must be !guard.object, got f32}}
  %x = guard.source() {path = #guard.path<L["x"]>} : f32
}

// -----

guard.set @number_of_another_type() {
  %x = guard.source() {path = #guard.path<L["x"]>} : !guard.object
  // expected-error @+1 {{'guard.number' is about f64 or i64, got f32}}
  guard.number(%x) {element = f32}
}

// -----

guard.set @float_cannot_fit_integers() {
  %x = guard.source() {path = #guard.path<L["x"]>} : !guard.object
  // expected-error @+1 {{a number of type f64 cannot fit i8}}
  guard.number(%x) {element = f64, fits = i8}
}

// -----

guard.set @f.guards() {
  %x = guard.source() {path = #guard.path<L["x"]>} : !guard.object
  // expected-error @+1 {{a number of type f64 is no size}}
  guard.number(%x) {element = f64, size = #lect.size<s0>}
}

// -----

guard.set @unused_operand() {
  %x = guard.source() {path = #guard.path<L["x"]>} : !guard.object
  // expected-error @+1 {{arguments of 'guard.apply' must use each of its 1 operands, found the numbers []}}
  %0 = guard.apply(%x) {function = "neg", args = [1]} : !guard.object
}

// -----

guard.set @text_is_no_number() {
  %x = guard.source() {path = #guard.path<L["x"]>} : !guard.object
  // expected-error @+1 {{'guard.apply' takes numbers, got a}}
  %0 = guard.apply(%x) {function = "add", args = [#fx.operand<0>, "a"]} : !guard.object
}

// -----

guard.set @function_that_is_no_arithmetic() {
  %x = guard.source() {path = #guard.path<L["x"]>} : !guard.object
  // expected-error @+1 {{function}}
  %0 = guard.apply(%x) {function = "print", args = [#fx.operand<0>]} : !guard.object
}

// -----

guard.set @name_that_is_no_builtin() {
  // expected-error @+1 {{'spam' is no function, class or constant of Python's builtins}}
  guard.builtins() {names = ["abs", "spam"]}
}

// -----

guard.set @names_that_are_no_texts() {
  %x = guard.source() {path = #guard.path<L["x"]>} : !guard.object
  // expected-error @+1 {{'guard.no_keys' needs names, got (1,)}}
  guard.no_keys(%x) {keys = [1]}
}

// -----

guard.set @bases_that_are_no_objects() {
  %x = guard.source() {path = #guard.path<L["x"]>} : !guard.object
  // expected-error @+1 {{'guard.mro' takes classes, got}}
  guard.mro(%x) {bases = ["A"]}
}

// -----

guard.set @class_of_tensors_without_names() {
  // expected-error @+1 {{'guard.tensor_class' needs names, got ()}}
  guard.tensor_class() {names = []}
}

// -----

guard.set @callees_of_no_function() {
  // expected-error @+1 {{'guard.torch_callees' needs names of functions, got ()}}
  guard.torch_callees() {functions = []}
}
