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
