"""A fault in any function of capture, at its first call or at its last one: eager's values and modes, and nothing of the fault but an event."""

import copy
import functools
import inspect
import sys
from pathlib import Path

import pytest
import torch

import lect
from tests.e2e.programs import PROGRAMS

FOLDERS = tuple(
    str(Path(lect.__file__).parent.joinpath(*parts).resolve()) for parts in (("frontends", "capture"), ("frontends", "bytecode"), ("backends", "bytecode"))
)
# They run when `lect` makes its own tables, before any program is known.
TABLES = {"special_table", "_state_query", "_fold", "_c_init", "with_arity", "_disturbing", "without_numbers", "instruction_handlers"}
QUIET = {"LB0022", "LB0012"}  # there is nothing to compile; the program raises


@functools.cache
def is_of_capture(code):
    if code.co_flags & inspect.CO_GENERATOR:  # one that is closed early has nobody to raise to
        return False
    return code.co_name not in TABLES and str(Path(code.co_filename).resolve()).startswith(FOLDERS)


def outcome(program, args):
    torch.manual_seed(0)
    try:
        found = repr(program(*args))
    except Exception as error:
        found = f"{type(error).__name__}: {error}"
    depths = torch._C._len_torch_function_stack(), torch._C._len_torch_dispatch_stack()
    return found, torch.is_grad_enabled(), torch.is_autocast_enabled("cpu"), torch.get_default_dtype(), depths, torch.random.get_rng_state().tolist()


def under(profile, program, args):
    """The outcome of the first call of the program when compiled, watched by `profile` until that raises."""
    compiled = lect.compile(program, options={"level": "fx"})
    sys.setprofile(profile)
    try:
        return outcome(compiled, args)
    finally:
        sys.setprofile(None)


class Fault:
    """Raises in the given call of the given code."""

    def __init__(self, code, number):
        self.code = code
        self.left = number

    def __call__(self, frame, event, arg):
        if event == "call" and frame.f_code is self.code:
            self.left -= 1
            if not self.left:
                raise RuntimeError("a fault of lect")


@pytest.mark.slow
def test_a_fault_in_any_function():
    seen, silent = set(), set()
    for program, args in PROGRAMS:
        lect.reset()
        want, calls = outcome(program, copy.deepcopy(args)), {}

        def count(frame, event, arg, calls=calls):
            if event == "call" and is_of_capture(frame.f_code):
                calls[frame.f_code] = calls.get(frame.f_code, 0) + 1

        assert under(count, program, copy.deepcopy(args)) == want
        for code, number in calls.items():
            for which in {1, number} if code not in seen else ():
                lect.reset()
                fault = Fault(code, which)
                assert under(fault, program, copy.deepcopy(args)) == want, (program, code, which)
                told = {event.number for event in lect.events("fallback", "note")} - QUIET
                assert told <= {"LB0020", "LB0003"}, (program, code, which, told)
                if not told and not fault.left:
                    silent.add(code)
            seen.add(code)
    assert len(seen) > 500
    assert len(silent) < len(seen) // 50, (len(silent), silent)  # what is asked below a `try` that says why
    lect.reset()
