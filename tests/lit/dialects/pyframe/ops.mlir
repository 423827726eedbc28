// RUN: lect-opt %s | lect-opt | filecheck %s
// RUN: lect-opt %s --print-op-generic | lect-opt | filecheck %s
// RUN: lect-opt %s --print-op-generic --print-locations | lect-opt --print-locations | filecheck %s --check-prefix=PLACES

// CHECK-LABEL: pyframe.func @variables()
// CHECK-SAME: args = ["a", "b"], positional_only = 1, keyword_only = ["k"], varargs = "rest", varkw = "named", locals = ["x"], cells = ["c"], free = ["f"]
pyframe.func @variables() {code_name = "variables", args = ["a", "b"], positional_only = 1, keyword_only = ["k"], varargs = "rest", varkw = "named", locals = ["x"], cells = ["c"], free = ["f"], flags = ["optimized", "newlocals", "nested", "annotations"], doc = "Text.", file = "m.py", first_line = 7} {
  // CHECK-NEXT: %a = pyframe.load_local() {id = "a"} : !pyframe.object
  // PLACES: pyframe.load_local() {id = "a"} : !pyframe.object loc("variables"("m.py":8:4 to 8:5))
  %a = pyframe.load_local() {id = "a"} : !pyframe.object loc("variables"("m.py":8:4 to 8:5))
  // CHECK-NEXT: pyframe.store_local(%a) {id = "x"}
  pyframe.store_local(%a) {id = "x"}
  // CHECK-NEXT: pyframe.delete_local() {id = "x"}
  pyframe.delete_local() {id = "x"}
  // CHECK-NEXT: %[[SAVED:.*]] = pyframe.save_local() {id = "c"} : !pyframe.saved
  %saved = pyframe.save_local() {id = "c"} : !pyframe.saved
  // CHECK-NEXT: pyframe.make_cell() {id = "c"}
  pyframe.make_cell() {id = "c"}
  // CHECK-NEXT: pyframe.restore_local(%[[SAVED]]) {id = "c"}
  pyframe.restore_local(%saved) {id = "c"}
  // CHECK-NEXT: %[[G:.*]] = pyframe.load_global() {id = "g"} : !pyframe.object
  %g = pyframe.load_global() {id = "g"} : !pyframe.object
  // CHECK-NEXT: pyframe.store_global(%[[G]]) {id = "g"}
  pyframe.store_global(%g) {id = "g"}
  // CHECK-NEXT: pyframe.delete_global() {id = "g"}
  pyframe.delete_global() {id = "g"}
  // CHECK-NEXT: %[[N:.*]] = pyframe.load_name() {id = "n"}
  %n = pyframe.load_name() {id = "n"} : !pyframe.object
  // CHECK-NEXT: pyframe.store_name(%[[N]]) {id = "n"}
  pyframe.store_name(%n) {id = "n"}
  // CHECK-NEXT: pyframe.delete_name() {id = "n"}
  pyframe.delete_name() {id = "n"}
  // CHECK-NEXT: %[[F:.*]] = pyframe.load_deref() {id = "f"}
  %f = pyframe.load_deref() {id = "f"} : !pyframe.object
  // CHECK-NEXT: pyframe.store_deref(%[[F]]) {id = "c"}
  pyframe.store_deref(%f) {id = "c"}
  // CHECK-NEXT: pyframe.delete_deref() {id = "c"}
  pyframe.delete_deref() {id = "c"}
  // CHECK-NEXT: pyframe.load_cell() {id = "c"}
  %cell = pyframe.load_cell() {id = "c"} : !pyframe.object
  // CHECK-NEXT: pyframe.bind_cell(%{{.*}}) {id = "c"}
  pyframe.bind_cell(%cell) {id = "c"}
  // CHECK-NEXT: %[[M:.*]] = pyframe.load_locals()
  %m = pyframe.load_locals() : !pyframe.object
  // CHECK-NEXT: pyframe.load_from_dict_or_deref(%[[M]]) {id = "f"}
  %d1 = pyframe.load_from_dict_or_deref(%m) {id = "f"} : !pyframe.object
  // CHECK-NEXT: pyframe.load_from_dict_or_globals(%[[M]]) {id = "q"}
  %d2 = pyframe.load_from_dict_or_globals(%m) {id = "q"} : !pyframe.object
  // CHECK-NEXT: pyframe.load_resource() {id = "live"}
  %r = pyframe.load_resource() {id = "live"} : !pyframe.object
  // CHECK-NEXT: pyframe.load_build_class()
  %bc = pyframe.load_build_class() : !pyframe.object
  // CHECK-NEXT: %[[AE:.*]] = pyframe.load_assertion_error()
  %ae = pyframe.load_assertion_error() : !pyframe.object
  // CHECK-NEXT: pyframe.drop(%[[AE]])
  pyframe.drop(%ae)
  // CHECK-NEXT: pyframe.return(%cell)
  pyframe.return(%cell)
}

// CHECK-LABEL: pyframe.func @constants
pyframe.func @constants() {code_name = "constants"} {
  // CHECK-NEXT: load_const() {value = none}
  %0 = pyframe.load_const() {value = none} : !pyframe.object
  // CHECK-NEXT: load_const() {value = true}
  %1 = pyframe.load_const() {value = true} : !pyframe.object
  // CHECK-NEXT: load_const() {value = 1}
  %2 = pyframe.load_const() {value = 1} : !pyframe.object
  // CHECK-NEXT: load_const() {value = -0.0}
  %3 = pyframe.load_const() {value = -0.0} : !pyframe.object
  // CHECK-NEXT: load_const() {value = 123456789012345678901234567890}
  %4 = pyframe.load_const() {value = 123456789012345678901234567890} : !pyframe.object
  // CHECK-NEXT: load_const() {value = "a\"b\n"}
  %5 = pyframe.load_const() {value = "a\"b\n"} : !pyframe.object
  // CHECK-NEXT: load_const() {value = [1, ["x", none], nan]}
  %6 = pyframe.load_const() {value = [1, ["x", none], nan]} : !pyframe.object
  // CHECK-NEXT: load_const() {value = #pyframe.bytes<"<a>">}
  %7 = pyframe.load_const() {value = #pyframe.bytes<"<a>">} : !pyframe.object
  // CHECK-NEXT: load_const() {value = #pyframe.bytes<hex "00ff">}
  %8 = pyframe.load_const() {value = #pyframe.bytes<hex "00ff">} : !pyframe.object
  // CHECK-NEXT: load_const() {value = #pyframe.number<complex 1.0, -0.0>}
  %9 = pyframe.load_const() {value = #pyframe.number<complex 1.0, -0.0>} : !pyframe.object
  // CHECK-NEXT: load_const() {value = #pyframe.number<float bits "010000000000f8ff">}
  %10 = pyframe.load_const() {value = #pyframe.number<float bits "010000000000f8ff">} : !pyframe.object
  // CHECK-NEXT: load_const() {value = #pyframe.number<int bits "0x1000000000">}
  %11 = pyframe.load_const() {value = #pyframe.number<int bits "0x1000000000">} : !pyframe.object
  // CHECK-NEXT: load_const() {value = #pyframe.ellipsis}
  %12 = pyframe.load_const() {value = #pyframe.ellipsis} : !pyframe.object
  // CHECK-NEXT: load_const() {value = #pyframe.frozenset<["b", [1, -2.5], #pyframe.ellipsis, none]>}
  %13 = pyframe.load_const() {value = #pyframe.frozenset<["b", [1, -2.5], #pyframe.ellipsis, none]>} : !pyframe.object
  // CHECK-NEXT: load_const() {value = @"outer.<locals>.inner"}
  %14 = pyframe.load_const() {value = @"outer.<locals>.inner"} : !pyframe.object
  pyframe.return(%0)
}

// CHECK-LABEL: pyframe.func @attributes_and_operators
pyframe.func @attributes_and_operators() {code_name = "f", qualname = "C.f", args = ["x"]} {
  %x = pyframe.load_local() {id = "x"} : !pyframe.object
  // CHECK: %attr = pyframe.load_attr(%x) {attr = "w"}
  %attr = pyframe.load_attr(%x) {attr = "w"} : !pyframe.object
  // CHECK-NEXT: pyframe.load_super_attr(%x, %x, %x) {attr = "m", explicit = true}
  %super = pyframe.load_super_attr(%x, %x, %x) {attr = "m", explicit = true} : !pyframe.object
  // CHECK-NEXT: pyframe.store_attr(%x, %attr) {attr = "w"}
  pyframe.store_attr(%x, %attr) {attr = "w"}
  // CHECK-NEXT: pyframe.delete_attr(%x) {attr = "w"}
  pyframe.delete_attr(%x) {attr = "w"}
  // CHECK-NEXT: %[[SLICE:.*]] = pyframe.build_slice(%x, %attr)
  %slice = pyframe.build_slice(%x, %attr) : !pyframe.object
  // CHECK-NEXT: pyframe.load_item(%x, %[[SLICE]])
  %item = pyframe.load_item(%x, %slice) : !pyframe.object
  // CHECK-NEXT: pyframe.store_item(%x, %attr, %item)
  pyframe.store_item(%x, %attr, %item)
  // CHECK-NEXT: pyframe.delete_item(%x, %attr)
  pyframe.delete_item(%x, %attr)
  // CHECK-NEXT: pyframe.binary(%x, %attr) {operator = "@="}
  %b = pyframe.binary(%x, %attr) {operator = "@="} : !pyframe.object
  // CHECK-NEXT: pyframe.unary(%b) {operator = "not"}
  %u = pyframe.unary(%b) {operator = "not"} : !pyframe.object
  // CHECK-NEXT: pyframe.compare(%x, %u) {operator = "<="}
  %c = pyframe.compare(%x, %u) {operator = "<="} : !pyframe.object
  // CHECK-NEXT: pyframe.contains(%x, %c) {invert = true}
  %in = pyframe.contains(%x, %c) {invert = true} : !pyframe.object
  // CHECK-NEXT: pyframe.is(%x, %in)
  %is = pyframe.is(%x, %in) : !pyframe.object
  pyframe.return(%is)
}

// CHECK-LABEL: pyframe.func @calls
pyframe.func @calls() {code_name = "calls", args = ["f"]} {
  %f = pyframe.load_local() {id = "f"} : !pyframe.object
  // CHECK: %[[R:.*]] = pyframe.call(%f, %f, %f) {keywords = ["k"]}
  %r = pyframe.call(%f, %f, %f) {keywords = ["k"]} : !pyframe.object
  // CHECK-NEXT: pyframe.call_ex(%f, %[[R]])
  %1 = pyframe.call_ex(%f, %r) : !pyframe.object
  // CHECK-NEXT: pyframe.call_ex(%f, %[[R]], %[[R]])
  %2 = pyframe.call_ex(%f, %r, %r) : !pyframe.object
  // CHECK-NEXT: pyframe.call_graph(%[[R]]) {graph = @f.graph}
  %3 = pyframe.call_graph(%r) {graph = @f.graph} : !pyframe.object
  // CHECK-NEXT: pyframe.make_function(%f; ; ; %[[R]])
  %4 = pyframe.make_function(%f; ; ; %r) : !pyframe.object
  // CHECK-NEXT: pyframe.intrinsic(%f) {function = "typevar"}
  %5 = pyframe.intrinsic(%f) {function = "typevar"} : !pyframe.object
  pyframe.return(%r)
}

// CHECK-LABEL: pyframe.func @containers
pyframe.func @containers() {code_name = "containers", args = ["x"]} {
  %x = pyframe.load_local() {id = "x"} : !pyframe.object
  // CHECK: pyframe.build_tuple(%x, %x)
  %tuple = pyframe.build_tuple(%x, %x) : !pyframe.object
  // CHECK-NEXT: %list = pyframe.build_list()
  %list = pyframe.build_list() : !pyframe.object
  // CHECK-NEXT: %set = pyframe.build_set(%x)
  %set = pyframe.build_set(%x) : !pyframe.object
  // CHECK-NEXT: %map = pyframe.build_map(%x, %x)
  %map = pyframe.build_map(%x, %x) : !pyframe.object
  // CHECK-NEXT: pyframe.build_const_key_map(%x) {keys = ["a"]}
  %const = pyframe.build_const_key_map(%x) {keys = ["a"]} : !pyframe.object
  // CHECK-NEXT: pyframe.list_append(%list, %x)
  pyframe.list_append(%list, %x)
  // CHECK-NEXT: pyframe.list_extend(%list, %x)
  pyframe.list_extend(%list, %x)
  // CHECK-NEXT: pyframe.set_add(%set, %x)
  pyframe.set_add(%set, %x)
  // CHECK-NEXT: pyframe.set_update(%set, %x)
  pyframe.set_update(%set, %x)
  // CHECK-NEXT: pyframe.map_add(%map, %x, %x)
  pyframe.map_add(%map, %x, %x)
  // CHECK-NEXT: pyframe.dict_update(%map, %x)
  pyframe.dict_update(%map, %x)
  // CHECK-NEXT: pyframe.dict_merge(%x, %map, %x)
  pyframe.dict_merge(%x, %map, %x)
  // CHECK-NEXT: pyframe.list_to_tuple(%list)
  %t = pyframe.list_to_tuple(%list) : !pyframe.object
  // CHECK-NEXT: %a, %b = pyframe.unpack_sequence(%t) {count = 2}
  %a, %b = pyframe.unpack_sequence(%t) {count = 2} : (!pyframe.object, !pyframe.object)
  // CHECK-NEXT: %c, %d, %e = pyframe.unpack_ex(%set) {before = 1, after = 1}
  %c, %d, %e = pyframe.unpack_ex(%set) {before = 1, after = 1} : (!pyframe.object, !pyframe.object, !pyframe.object)
  // CHECK-NEXT: %[[V:.*]] = pyframe.convert_value(%x) {conversion = "repr"}
  %v = pyframe.convert_value(%x) {conversion = "repr"} : !pyframe.object
  // CHECK-NEXT: %[[S:.*]] = pyframe.format_value(%[[V]])
  %s = pyframe.format_value(%v) : !pyframe.object
  // CHECK-NEXT: pyframe.build_string(%[[S]], %[[S]])
  %string = pyframe.build_string(%s, %s) : !pyframe.object
  pyframe.return(%map)
}

// CHECK-LABEL: pyframe.func @"<module>"
pyframe.func @"<module>"() {code_name = "<module>", flags = []} {
  // CHECK-NEXT: pyframe.setup_annotations()
  pyframe.setup_annotations()
  %level = pyframe.load_const() {value = 0} : !pyframe.object
  %names = pyframe.load_const() {value = ["path"]} : !pyframe.object
  // CHECK: %os = pyframe.import_name(%level, %names) {id = "os"}
  %os = pyframe.import_name(%level, %names) {id = "os"} : !pyframe.object
  // CHECK-NEXT: %path = pyframe.import_from(%os) {id = "path"}
  %path = pyframe.import_from(%os) {id = "path"} : !pyframe.object
  // CHECK-NEXT: pyframe.print_expr(%path)
  pyframe.print_expr(%path)
  // CHECK-NEXT: pyframe.import_star(%os)
  pyframe.import_star(%os)
  // CHECK-NEXT: %length = pyframe.get_len(%path)
  %length = pyframe.get_len(%path) : !pyframe.object
  // CHECK-NEXT: pyframe.match_mapping(%path)
  %m1 = pyframe.match_mapping(%path) : !pyframe.object
  // CHECK-NEXT: pyframe.match_sequence(%path)
  %m2 = pyframe.match_sequence(%path) : !pyframe.object
  // CHECK-NEXT: pyframe.match_keys(%path, %names)
  %m3 = pyframe.match_keys(%path, %names) : !pyframe.object
  // CHECK-NEXT: pyframe.match_class(%path, %path, %names) {count = 1}
  %m4 = pyframe.match_class(%path, %path, %names) {count = 1} : !pyframe.object
  pyframe.return(%length)
}

// A suspended frame is a block with what its edges pass on.
// CHECK-LABEL: pyframe.func @suspended
pyframe.func @suspended() {code_name = "suspended", args = ["x"], flags = ["optimized", "newlocals", "generator"]} {
  %x = pyframe.load_local() {id = "x"} : !pyframe.object
  // CHECK: pyframe.yield(%x)[^resume, ^except]
  pyframe.yield(%x)[^resume, ^except]
// CHECK-NEXT: ^resume(%sent: !pyframe.object):
^resume(%sent: !pyframe.object):
  // CHECK-NEXT: pyframe.yield_from(%sent)[^resume_1(%sent)]
  pyframe.yield_from(%sent)[^resume_1(%sent)]
^resume_1(%kept: !pyframe.object, %returned: !pyframe.object):
  // CHECK: pyframe.yield_from(%returned)[^resume_2] {standing = true}
  pyframe.yield_from(%returned)[^resume_2] {standing = true}
^resume_2(%returned_1: !pyframe.object):
  pyframe.return(%returned_1)
^except(%exc: !pyframe.object):
  // CHECK: %[[PLACE:.*]] = pyframe.load_place() : !pyframe.place
  %place = pyframe.load_place() : !pyframe.place
  // CHECK-NEXT: pyframe.reraise(%exc, %[[PLACE]])
  pyframe.reraise(%exc, %place)
}

// A loop in `with` in `try`: arguments of blocks are the stack, the last successor gets exceptions.
// CHECK-LABEL: pyframe.func @control
pyframe.func @control() {code_name = "control", args = ["xs", "m"]} {
  %xs = pyframe.load_local() {id = "xs"} : !pyframe.object
  // CHECK: pyframe.get_iter
  %iter = pyframe.get_iter(%xs) : !pyframe.object
  // CHECK-NEXT: pyframe.branch()[^for(%iter)]
  pyframe.branch()[^for(%iter)]
// CHECK-NEXT: ^for(%[[I:.*]]: !pyframe.object):
^for(%i: !pyframe.object):
  // CHECK-NEXT: pyframe.for_iter(%[[I]])[^body(%[[I]]), ^done]
  pyframe.for_iter(%i)[^body(%i), ^done]
^body(%j: !pyframe.object, %x: !pyframe.object):
  %m = pyframe.load_local() {id = "m"} : !pyframe.object
  // CHECK: %exit, %entered = pyframe.with_enter
  %exit, %entered = pyframe.with_enter(%m) : (!pyframe.object, !pyframe.object)
  // CHECK-NEXT: pyframe.cond_branch(%{{.*}})[^inside(%{{.*}}, %exit), ^leave(%{{.*}}, %exit), ^handler(%{{.*}})] {test = "none"}
  pyframe.cond_branch(%x)[^inside(%j, %exit), ^leave(%j, %exit), ^handler(%j)] {test = "none"}
^inside(%k: !pyframe.object, %exit1: !pyframe.object):
  // CHECK: pyframe.raise()[^except(%{{.*}}, %{{.*}})]
  pyframe.raise()[^except(%k, %exit1)]
^except(%k2: !pyframe.object, %exit2: !pyframe.object, %place: !pyframe.place, %exc: !pyframe.object):
  // CHECK: %previous = pyframe.push_exc(%exc)
  %previous = pyframe.push_exc(%exc) : !pyframe.object
  // CHECK-NEXT: pyframe.with_exit(%{{.*}}, %exc)
  %swallow = pyframe.with_exit(%exit2, %exc) : !pyframe.object
  // CHECK-NEXT: pyframe.pop_exc(%previous)
  pyframe.pop_exc(%previous)
  // CHECK-NEXT: pyframe.reraise(%exc, %place)
  pyframe.reraise(%exc, %place)
^leave(%k3: !pyframe.object, %exit3: !pyframe.object):
  // CHECK: pyframe.load_exc()
  %current = pyframe.load_exc() : !pyframe.object
  pyframe.return(%current)
^handler(%k4: !pyframe.object, %exc4: !pyframe.object):
  // CHECK: pyframe.match_exc(%{{.*}}, %{{.*}})
  %matches = pyframe.match_exc(%exc4, %exc4) : !pyframe.object
  // CHECK-NEXT: %rest, %match = pyframe.match_exc_group(%{{.*}}, %{{.*}})
  %rest, %match = pyframe.match_exc_group(%exc4, %matches) : (!pyframe.object, !pyframe.object)
  // CHECK-NEXT: pyframe.combine_exc_group(%rest, %match)
  %combined = pyframe.combine_exc_group(%rest, %match) : !pyframe.object
  // CHECK-NEXT: pyframe.raise(%{{.*}}; %rest)
  pyframe.raise(%combined; %rest)
^done:
  %none = pyframe.load_const() {value = none} : !pyframe.object
  pyframe.return(%none)
}
