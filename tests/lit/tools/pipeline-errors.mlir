// Each wrong pipeline is one sentence that names what was expected, and exit status 1.

// RUN: not lect-opt %s -p canonicalise 2>&1 | filecheck %s --check-prefix UNKNOWN
// UNKNOWN: lect-opt: error: there is no pass 'canonicalise'; did you mean canonicalize?

// RUN: not lect-opt %s -p 'dce{fast=1}' 2>&1 | filecheck %s --check-prefix NO-OPTION
// NO-OPTION: lect-opt: error: pass 'dce' has no option 'fast'; it has none

// RUN: not lect-opt %s -p 'dce,,cse' 2>&1 | filecheck %s --check-prefix EMPTY
// EMPTY: lect-opt: error: in the pipeline 'dce,,cse': expected the name of a pass, found ',cse'

// RUN: not lect-opt %s -p 'dce,' 2>&1 | filecheck %s --check-prefix END
// END: lect-opt: error: in the pipeline 'dce,': expected the name of a pass, found the end

// RUN: not lect-opt %s -p 'dce cse' 2>&1 | filecheck %s --check-prefix COMMA
// COMMA: lect-opt: error: in the pipeline 'dce cse': expected ',' or the end, found 'cse'

// RUN: not lect-opt %s -p 'dce{a' 2>&1 | filecheck %s --check-prefix BRACE
// BRACE: lect-opt: error: in the pipeline 'dce{a': expected 'option=value' or '}' in the options of 'dce', found 'a'

// RUN: not lect-opt %s -p 'dce{a=1 a=2}' 2>&1 | filecheck %s --check-prefix TWICE
// TWICE: lect-opt: error: option 'a' of pass 'dce' is given twice

// RUN: not lect-opt %s -p 'aot{x=1}' 2>&1 | filecheck %s --check-prefix NAMED
// NAMED: lect-opt: error: pipeline 'aot' takes no options; give them to its passes

// RUN: not lect-opt %s --print-ir-after nothing 2>&1 | filecheck %s --check-prefix AROUND
// AROUND: lect-opt: error: there is no pass 'nothing' to print the IR around; lect-opt --list-passes names them all

// RUN: not lect-opt %s --fast 2>&1 | filecheck %s --check-prefix FLAG
// FLAG: lect-opt: error: unrecognized arguments: --fast

builtin.module @m {
}
