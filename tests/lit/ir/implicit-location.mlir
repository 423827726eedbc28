// RUN: lect-opt %s --allow-unregistered-dialect --print-locations | filecheck %s

// Without a location in the text, the place in this file is the location.
// CHECK: "test.op"() : () -> () loc("{{.*}}implicit-location.mlir":5:0)
"test.op"() : () -> ()
