"""From LLVM IR text to addresses, and the errors on the way."""

import ctypes
import gc
import subprocess
import sys

import pytest

from lect.backends.llvm import jit
from lect.ir.diagnostics import LectError, ParseError

THREE = "define i32 @three() {\n  ret i32 3\n}\n"
SINE = "declare float @sinf(float)\ndefine float @sine(float %x) {\n  %y = call float @sinf(float %x)\n  ret float %y\n}\n"
MISSING = "declare void @lect_no_such_symbol()\ndefine void @calls_it() {\n  call void @lect_no_such_symbol()\n  ret void\n}\n"


def call_three(code):
    return ctypes.CFUNCTYPE(ctypes.c_int)(code.address("three"))()


def test_compiles_loads_and_runs():
    assert call_three(jit.load_object(jit.compile_object(THREE))) == 3


def test_code_lives_as_long_as_the_loaded_object():
    code = jit.load_object(jit.compile_object(THREE))
    address = code.address("three")
    gc.collect()
    assert code.address("three") == address
    assert call_three(code) == 3


def test_two_objects_may_define_the_same_symbol():
    first = jit.load_object(jit.compile_object(THREE))
    second = jit.load_object(jit.compile_object(THREE.replace("ret i32 3", "ret i32 4")))
    assert (call_three(first), call_three(second)) == (3, 4)
    del first
    gc.collect()
    assert call_three(second) == 4


def test_functions_of_the_mathematics_library_are_found():
    code = jit.load_object(jit.compile_object(SINE))
    assert ctypes.CFUNCTYPE(ctypes.c_float, ctypes.c_float)(code.address("sine"))(0.0) == 0.0


def test_compiling_is_deterministic():
    assert jit.compile_object(SINE) == jit.compile_object(SINE)


def test_malformed_text_is_reported_with_its_line():
    with pytest.raises(ParseError, match="use of undefined value '%z'") as caught:
        jit.compile_object("define float @f(float %x) {\n  %y = fadd float %x, %z\n  ret float %y\n}\n")
    assert caught.value.loc.line == 2
    assert "fadd float %x, %z" in str(caught.value)


def test_module_that_breaks_a_rule_of_llvm_is_reported():
    with pytest.raises(LectError, match="LLVM rejects the module|cannot read the module"):
        jit.compile_object("define void @f() {\nentry:\n  br label %next\nnext:\n  %x = add i32 %y, 1\n  %y = add i32 1, 1\n  ret void\n}\n")


def test_unknown_symbol_is_reported():
    code = jit.load_object(jit.compile_object(THREE))
    with pytest.raises(LectError, match="no address for 'four'"):
        code.address("four")
    assert call_three(code) == 3


def test_symbol_defined_nowhere_is_reported():
    code = jit.load_object(jit.compile_object(MISSING))
    with pytest.raises(LectError, match="no address for 'calls_it'"):
        code.address("calls_it")


@pytest.mark.parametrize("damaged", [b"", b"no object code at all", jit.compile_object(THREE)[:150]])
def test_damaged_object_code_is_reported(damaged):
    with pytest.raises(LectError, match="cannot link the object code"):
        jit.load_object(damaged)


def test_missing_library_is_reported():
    with pytest.raises(LectError, match="cannot load the library '/no/such/library.so'"):
        jit.load_object(jit.compile_object(THREE), ["/no/such/library.so"])


def test_unknown_target_is_reported():
    with pytest.raises(LectError, match="no target 'pdp11-dec-unix'"):
        jit.emit_assembly(THREE, jit.Target("pdp11-dec-unix", "generic", ""))


def test_assembly_for_another_machine():
    assert "ret" in jit.emit_assembly(THREE, jit.Target("aarch64-unknown-linux-gnu", "generic", ""))


def test_fingerprint_names_version_processor_and_features():
    target = jit.host_target()
    fingerprint = jit.host_fingerprint()
    for part in (target.triple, target.cpu, target.features):
        assert part in fingerprint
    assert fingerprint != jit.Target(target.triple, target.cpu, target.features + ",+made_up").fingerprint()


def test_importing_the_jit_does_not_import_torch():
    program = "import sys, lect.backends.llvm.jit; sys.exit('torch' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", program], check=False).returncode == 0
