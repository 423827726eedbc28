// RUN: lect-opt --list-passes | filecheck %s
// CHECK: canonicalize {{ *}}Folds, dialect patterns and removal of dead operations, to a fixpoint.
// CHECK: cse {{ *}}Replace an operation by an equal one that dominates it.

// RUN: lect-opt --list-pipelines | filecheck %s --check-prefix PIPELINES
// PIPELINES: capture {{ *}}pyframe-to-fx
// PIPELINES: aot {{ *}}fx-build-joint{{.*}}fx-to-functional{{.*}}cse

// RUN: lect-opt --help | filecheck %s --check-prefix HELP
// HELP: usage: lect-opt
// HELP: --print-ir-after-change
