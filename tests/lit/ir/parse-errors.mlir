// RUN: lect-opt %s --split-input-file --verify-diagnostics --allow-unregistered-dialect

// Each error that the parser can give, one in a part.

// expected-error @+1 {{expected ',' or '=', found '"test.op"'}}
%0 "test.op"() : () -> f32

// -----

// expected-error @+2 {{found the end of the text}}
"test.op"() ({

// -----

// expected-error @+1 {{found '?'}}
"test.op"(?) : () -> ()

// -----

// expected-error @+1 {{operation name 'op' needs a dialect in front, as in 'dialect.name'}}
"op"() : () -> ()

// -----

// expected-error @+1 {{unknown operation 'builtin.modul'; did you mean 'builtin.module'?}}
builtin.modul {
}

// -----

%0 = "test.op"() : () -> f32
// expected-error @+1 {{%0 is defined twice}}
%0 = "test.op"() : () -> f32

// -----

// expected-error @+1 {{%later is used but never defined}}
"test.op"(%later) : (f32) -> ()

// -----

%a = "test.op"() : () -> f32
// expected-error @+1 {{%nowhere is used but never defined}}
"test.op"(%a, %a, %nowhere) : (f32, f32, f32) -> ()

// -----

"test.op"() ({
  %inside = "test.op"() : () -> f32
}) : () -> ()
// expected-error @+1 {{%inside is used but never defined}}
"test.op"(%inside) : (f32) -> ()

// -----

%0 = "test.op"() : () -> f32
// expected-error @+1 {{'test.op' has 1 operands but 2 operand types}}
"test.op"(%0) : (f32, f32) -> ()

// -----

%0 = "test.op"() : () -> f32
// expected-error @+1 {{operand of 'test.op' has the type f32, but f64 is written}}
"test.op"(%0) : (f64) -> ()

// -----

// expected-error @+1 {{'test.op' has 1 result types for 2 result names}}
%0, %1 = "test.op"() : () -> f32

// -----

// expected-error @+1 {{only parameters of functions have types in the operand list, but %x has one}}
"test.op"(%x: f32) : (f32) -> ()

// -----

"test.op"() ({
  // expected-error @+1 {{there is no block ^nowhere in this region}}
  "test.jump"()[^nowhere] : () -> ()
}) : () -> ()

// -----

"test.op"() ({
^here:
  "test.jump"()[^here] : () -> ()
// expected-error @+1 {{block ^here is defined twice}}
^here:
  "test.jump"()[^here] : () -> ()
}) : () -> ()

// -----

"test.op"() ({
// expected-error @+1 {{the block argument %x needs a type}}
^here(%x):
  "test.end"() : () -> ()
}) : () -> ()

// -----

"test.op"() ({
  // expected-error @+1 {{operands of a successor have no types, but %x has one}}
  "test.jump"()[^here(%x: f32)] : () -> ()
^here:
  "test.end"() : () -> ()
}) : () -> ()

// -----

// expected-error @+1 {{attribute 'a' is given twice}}
"test.op"() {a = 1, a = 2} : () -> ()

// -----

// expected-error @+1 {{'word' is no attribute; strings stand in quotes}}
"test.op"() {a = word} : () -> ()

// -----

// expected-error @+1 {{expected}}
"test.op"() {a = 1.2.3} : () -> ()

// -----

// expected-error @+1 {{string is not UTF-8}}
"test.op"() {a = "\FF"} : () -> ()

// -----

// expected-error @+1 {{'f33' is no type}}
"test.op"() : () -> f33

// -----

// expected-error @+1 {{unknown type '!nowhere.type'}}
"test.op"() : () -> !nowhere.type<1>

// -----

// expected-error @+1 {{unknown type '!fx.nothing'}}
"test.op"() : () -> !fx.nothing<1>

// -----

// expected-error @+1 {{unknown attribute '#fx.nothing'}}
"test.op"() {a = #fx.nothing<1>} : () -> ()

// -----

// expected-error @+1 {{in !fx.tensor: expected}}
"test.op"() : () -> !fx.tensor<2xf32, nonsense [1]>

// -----

// expected-error @+1 {{alias !missing is not defined}}
"test.op"() : () -> !missing

// -----

!twice = f32
// expected-error @+1 {{alias !twice is defined twice}}
!twice = f64

// -----

// expected-error @+1 {{a location is unknown or names a file, got 'somewhere'}}
"test.op"() : () -> () loc(somewhere)

// -----

// expected-error @+1 {{line and column are integers}}
"test.op"() : () -> () loc("m.py":1.5:2)

// -----

// expected-error @+1 {{#lect.int holds a quoted decimal integer}}
"test.op"() {a = #lect.int<"ten">} : () -> ()

// -----

// expected-error @+1 {{0x12 is no number of type f32}}
"test.op"() {a = 0x12 : f32} : () -> ()

// -----

// expected-error @+1 {{1.5 is no number of type i64}}
"test.op"() {a = 1.5 : i64} : () -> ()

// -----

// expected-error @+1 {{a number has a builtin type, not !fx.tensor<2xf32>}}
"test.op"() {a = 1 : !fx.tensor<2xf32>} : () -> ()
// -----
// expected-error @+1 {{expected a symbol (s0), a dim (d0) or a loaded index (i0)}}
"test.op"() {a = #lect.size<ten>} : () -> ()
