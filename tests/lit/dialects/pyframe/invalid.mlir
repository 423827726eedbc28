// RUN: lect-opt %s --split-input-file --verify-diagnostics

// expected-error @+1 {{the variable 'x' is declared twice}}
pyframe.func @variable_twice() {code_name = "f", args = ["x"], locals = ["x"]} {
  %0 = pyframe.load_const() {value = none} : !pyframe.object
  pyframe.return(%0)
}

// -----

// expected-error @+1 {{a cell is declared twice}}
pyframe.func @cell_twice() {code_name = "f", args = ["x"], cells = ["x", "x"]} {
  %0 = pyframe.load_const() {value = none} : !pyframe.object
  pyframe.return(%0)
}

// -----

// expected-error @+1 {{'pyframe.func' has 2 positional-only of 1 parameters}}
pyframe.func @too_many_positional_only() {code_name = "f", args = ["x"], positional_only = 2} {
  %0 = pyframe.load_const() {value = none} : !pyframe.object
  pyframe.return(%0)
}

// -----

// expected-error @+1 {{'locals' of 'pyframe.func' must be a list of names}}
pyframe.func @name_is_a_number() {code_name = "f", locals = [1]} {
  %0 = pyframe.load_const() {value = none} : !pyframe.object
  pyframe.return(%0)
}

// -----

// expected-error @+1 {{'pyframe.func' has no flag 'fast'}}
pyframe.func @unknown_flag() {code_name = "f", flags = ["fast"]} {
  %0 = pyframe.load_const() {value = none} : !pyframe.object
  pyframe.return(%0)
}

// -----

// expected-error @+1 {{'pyframe.func' takes its parameters in local variables, not as block arguments}}
pyframe.func @parameter_as_block_argument(%x: !pyframe.object) {code_name = "f"} {
  pyframe.return(%x)
}

// -----

pyframe.func @undeclared_local() {code_name = "f"} {
  // expected-error @+1 {{'x' is no local variable of @undeclared_local}}
  %0 = pyframe.load_local() {id = "x"} : !pyframe.object
  pyframe.return(%0)
}

// -----

pyframe.func @cell_as_local() {code_name = "f", args = ["x"], cells = ["x"]} {
  // expected-error @+1 {{'x' is no local variable of @cell_as_local}}
  %0 = pyframe.load_local() {id = "x"} : !pyframe.object
  pyframe.return(%0)
}

// -----

pyframe.func @local_as_cell() {code_name = "f", args = ["x"]} {
  // expected-error @+1 {{'x' is no cell or free variable of @local_as_cell}}
  %0 = pyframe.load_deref() {id = "x"} : !pyframe.object
  pyframe.return(%0)
}

// -----

pyframe.func @saved_is_undeclared() {code_name = "f"} {
  // expected-error @+1 {{'x' is no variable of @saved_is_undeclared}}
  %0 = pyframe.save_local() {id = "x"} : !pyframe.saved
  pyframe.restore_local(%0) {id = "x"}
  %1 = pyframe.load_const() {value = none} : !pyframe.object
  pyframe.return(%1)
}

// -----

pyframe.func @value_leaves_its_block() {code_name = "f"} {
  %0 = pyframe.load_const() {value = none} : !pyframe.object
  pyframe.branch()[^next]
^next:
  // expected-error @+1 {{a value may leave its block only as an argument of the next}}
  pyframe.return(%0)
}

// -----

pyframe.func @kept_value_is_made_too_late() {code_name = "f"} {
  %0 = pyframe.load_global() {id = "g"} : !pyframe.object
  // expected-error @+1 {{what survives an exception must be there before the first operation of the block that may raise}}
  pyframe.branch()[^next, ^handler(%0)]
^next:
  %1 = pyframe.load_const() {value = none} : !pyframe.object
  pyframe.return(%1)
^handler(%kept: !pyframe.object, %exc: !pyframe.object):
  pyframe.return(%exc)
}

// -----

pyframe.func @handler_without_exception() {code_name = "f"} {
  %0 = pyframe.load_global() {id = "g"} : !pyframe.object
  // expected-error @+1 {{successor 0 of 'pyframe.return' takes 0 arguments, got 1}}
  pyframe.return(%0)[^handler]
^handler:
  %1 = pyframe.load_const() {value = none} : !pyframe.object
  pyframe.return(%1)
}

// -----

pyframe.func @loop_without_item() {code_name = "f"} {
  %0 = pyframe.load_global() {id = "g"} : !pyframe.object
  // expected-error @+1 {{successor 0 of 'pyframe.for_iter' takes 1 arguments, got 2}}
  pyframe.for_iter(%0)[^body(%0), ^done]
^body(%1: !pyframe.object):
  pyframe.return(%1)
^done:
  %2 = pyframe.load_const() {value = none} : !pyframe.object
  pyframe.return(%2)
}

// -----

pyframe.func @cause_alone() {code_name = "f"} {
  %0 = pyframe.load_global() {id = "g"} : !pyframe.object
  // expected-error @+1 {{'pyframe.raise' has a cause but no exception}}
  pyframe.raise(; %0)
}

// -----

pyframe.func @more_keywords_than_arguments() {code_name = "f"} {
  %0 = pyframe.load_global() {id = "g"} : !pyframe.object
  // expected-error @+1 {{'pyframe.call' has 2 keywords for 1 arguments}}
  %1 = pyframe.call(%0, %0) {keywords = ["a", "b"]} : !pyframe.object
  pyframe.return(%1)
}

// -----

pyframe.func @keyword_is_no_name() {code_name = "f"} {
  %0 = pyframe.load_global() {id = "g"} : !pyframe.object
  // expected-error @+1 {{keywords of 'pyframe.call' must be strings}}
  %1 = pyframe.call(%0, %0) {keywords = [1]} : !pyframe.object
  pyframe.return(%1)
}

// -----

pyframe.func @key_without_value() {code_name = "f"} {
  %0 = pyframe.load_global() {id = "g"} : !pyframe.object
  // expected-error @+1 {{'pyframe.build_map' takes keys and values in pairs, got 1 operands}}
  %1 = pyframe.build_map(%0) : !pyframe.object
  pyframe.return(%1)
}

// -----

pyframe.func @keys_and_values_differ() {code_name = "f"} {
  %0 = pyframe.load_global() {id = "g"} : !pyframe.object
  // expected-error @+1 {{'pyframe.build_const_key_map' has 2 keys for 1 values}}
  %1 = pyframe.build_const_key_map(%0) {keys = ["a", "b"]} : !pyframe.object
  pyframe.return(%1)
}

// -----

pyframe.func @key_is_no_constant() {code_name = "f"} {
  %0 = pyframe.load_global() {id = "g"} : !pyframe.object
  // expected-error @+1 {{'pyframe.build_const_key_map' holds a key that is no Python constant}}
  %1 = pyframe.build_const_key_map(%0) {keys = [f32]} : !pyframe.object
  pyframe.return(%1)
}

// -----

pyframe.func @constant_holds_a_type() {code_name = "f"} {
  // expected-error @+1 {{'pyframe.load_const' holds what is no Python constant}}
  %0 = pyframe.load_const() {value = [f32]} : !pyframe.object
  pyframe.return(%0)
}

// -----

pyframe.func @unknown_operator() {code_name = "f"} {
  %0 = pyframe.load_global() {id = "g"} : !pyframe.object
  // expected-error @+1 {{attribute 'operator' of 'pyframe.binary' must be one of}}
  %1 = pyframe.binary(%0, %0) {operator = "<>"} : !pyframe.object
  pyframe.return(%1)
}

// -----

pyframe.func @saved_as_object() {code_name = "f", locals = ["x"]} {
  %0 = pyframe.save_local() {id = "x"} : !pyframe.saved
  // expected-error @+1 {{operand 'value' of 'pyframe.return' must be !pyframe.object, got !pyframe.saved}}
  pyframe.return(%0)
}

// -----

pyframe.func @targets_and_count_differ() {code_name = "f"} {
  %0 = pyframe.load_global() {id = "g"} : !pyframe.object
  // expected-error @+1 {{'pyframe.unpack_sequence' has 3 results, got 2}}
  %1, %2 = pyframe.unpack_sequence(%0) {count = 3} : (!pyframe.object, !pyframe.object)
  pyframe.return(%1)
}

// -----

builtin.module {
  // expected-error @+1 {{'pyframe.raise' must stand inside 'pyframe.func'}}
  pyframe.raise()
}

// -----

pyframe.func @yields_without_flag() {code_name = "f"} {
  %0 = pyframe.load_const() {value = none} : !pyframe.object
  // expected-error @+1 {{'pyframe.yield' needs the flag 'generator' of @yields_without_flag}}
  pyframe.yield(%0)[^resume]
^resume(%sent: !pyframe.object):
  pyframe.return(%sent)
}
