"""lect-run: execute a module at any level, and compare levels with each other.

    lect-run graph.mlir --random-inputs                     run it and print what comes out
    lect-run graph.mlir --inputs x.safetensors --outputs y.safetensors
    lect-run graph.mlir --random-inputs -p loop,kernel      lower it first
    lect-run graph.mlir --random-inputs --compare-levels    run it before and after every pass on the way to native code
    lect-run edited.mlir --random-inputs --compare original.mlir
    lect-run frame.mlir --frame f.py:f --compare-eager      a whole frame: its pyframe assembled, its graph at the level that the file has
    lect-run --run-reproducer wrong.mlir                    what the file itself says: see LECT_CHECK in docs/failures.md

What runs is the program at the lowest level that the module has.  fx and functional programs run by their reference interpreters, loop programs through
kernels as native code (or, with `--reference`, by the interpreter).  The exit status is 0 when everything ran and agreed, 1 otherwise.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from lect.ir import Context, LectError, Operation, parse_module, verify
from lect.tools.completion import completed_by, offer, pipeline, targets
from lect.tools.lect_opt import read_target

if TYPE_CHECKING:
    from lect.runtime.levels import Program
    from lect.runtime.random_replay import Draw


def arguments() -> argparse.ArgumentParser:
    """The command line."""
    parser = argparse.ArgumentParser(prog="lect-run", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("file", help="the module, '-' for standard input")
    parser.add_argument("--function", metavar="NAME", help="which program of the module (default: the only one)")
    parser.add_argument("--run-reproducer", action="store_true", help="take the flags from the first line of the file")
    source = parser.add_mutually_exclusive_group()
    source.add_argument("--random-inputs", action="store_true", help="make inputs of the types of the parameters")
    source.add_argument("--inputs", metavar="F.safetensors", help="tensors named as the parameters, or '0', '1', ...")
    source.add_argument("--inputs-inside", action="store_true", help="take the tensors that the file itself carries")
    source.add_argument("--frame", metavar="FILE.py:FUNCTION", help="run the frame that was made of this function, on the inputs that the file gives")
    parser.add_argument("--seed", type=_seed, default=0, help="seed of --random-inputs and of torch's generator (default 0)")
    parser.add_argument("--special", action="store_true", help="sprinkle NaN, infinities and signed zeros over random floats")
    completed_by(parser.add_argument("-p", "--pipeline", default="", help="passes to run first, as in lect-opt"), pipeline)
    parser.add_argument("--reference", action="store_true", help="run loop programs by the reference interpreter, too")
    completed_by(parser.add_argument("--target", default="", metavar="KEY=VALUE,...", help="the machine that passes decide for, as in lect-opt"), targets)
    parser.add_argument("--compare-reference", action="store_true", help="run it natively and by the reference interpreter, and compare")
    parser.add_argument("--compare-eager", action="store_true", help="with --frame, run the function itself, too, and compare")
    parser.add_argument("--compare", metavar="FILE", help="run this module on the same inputs and compare")
    parser.add_argument("--compare-levels", action="store_true", help="run after every pass on the way to native code and compare with the start")
    parser.add_argument("--tolerance", type=float, help="how far values may lie apart, relative to each (default: by dtype, relative to the largest)")
    parser.add_argument("--outputs", metavar="F.safetensors", help="write the results")
    parser.add_argument("--print-host", action="store_true", help="print the Python source of the host program")
    return parser


def _seed(text: str) -> int:
    value = int(text)
    if not -(2**63) <= value < 2**64:
        raise argparse.ArgumentTypeError(f"torch's generator takes seeds of 64 bits, got {text}")
    return value


def main(argv: Sequence[str] | None = None) -> int:
    """The command; returns the exit status."""
    options = offer(arguments()).parse_args(argv)
    try:
        return run(configured(options) if options.run_reproducer else options)
    except LectError as error:
        print(error.render(), file=sys.stderr)
    except OSError as error:
        print(f"error: {error.filename}: {error.strerror}" if error.filename else f"error: {error}", file=sys.stderr)
    except UnicodeDecodeError as error:
        print(f"error: {options.file} is not UTF-8 text: {error.reason} at byte {error.start}", file=sys.stderr)
    except Exception as error:  # what a library call of the program raises is the program's error, and one sentence is enough
        print(f"error: running the program failed: {type(error).__name__}: {str(error).splitlines()[0] if str(error) else ''}", file=sys.stderr)
    return 1


def configured(given: argparse.Namespace) -> argparse.Namespace:
    """The options that a file asks for.  Raises `LectError` when it is no reproducer."""
    from lect.passes.instrument import read_configuration

    found = read_configuration(Path(given.file).read_text())
    if found is None:
        raise LectError(f"'{given.file}' is no reproducer: it has no line '// configuration: ...'")
    return arguments().parse_args([*found, given.file])


def run(options: argparse.Namespace) -> int:
    """What the options ask for.  Raises `LectError`."""
    from lect.dialects import make_context
    from lect.passes.manager import PassManager
    from lect.runtime.levels import apart, find_program, random_inputs

    ctx = make_context()
    ctx.target.update(read_target(options.target))
    module = read(options.file, ctx)
    if options.frame:
        return run_frame(module, options, ctx)
    if options.compare_eager:
        raise LectError("--compare-eager takes a function: name it with --frame FILE.py:FUNCTION")
    start = find_program(module, options.function)
    tensors = random_inputs(start, options.seed, options.special) if options.random_inputs else read_inputs(options, start)
    if options.compare_reference:
        return compare_reference(start, tensors, options, ctx)
    if options.compare_levels:
        return compare_levels(module, tensors, options, ctx)
    if options.pipeline:
        PassManager.parse(options.pipeline).run(module, ctx)
    results = execute(find_program(module, start.symbol), tensors, options, ctx)
    show(results)
    if options.outputs:
        write_outputs(options.outputs, results)
    if not options.compare:
        return 0
    other = execute(program_like(start, read(options.compare, ctx), options.function), tensors, options, ctx)
    problem = apart(results, other, options.tolerance)
    print(f"compared with {options.compare}: {problem or 'equal'}")
    return 0 if problem is None else 1


def program_like(start: Program, module: Operation, name: str | None) -> Program:
    """The program of another module to compare with `start`: the one called `name`, else the one of the same name, else the only one."""
    from lect.ir import SymbolTable
    from lect.runtime.levels import PROGRAMS_BY_LEVEL, find_program

    same = SymbolTable(module).lookup(start.symbol)
    return find_program(module, start.symbol if name is None and same is not None and same.name in PROGRAMS_BY_LEVEL else name)


def run_frame(module: Operation, options: argparse.Namespace, ctx: Context) -> int:
    """Run the frame of a module, and of the one to compare it with; the exit status."""
    from lect.passes.manager import PassManager
    from lect.runtime.levels import apart
    from lect.tools.run_frame import Call

    call = Call.of(options.frame, options.seed)
    if options.pipeline:
        PassManager.parse(options.pipeline).run(module, ctx)

    def run_graph(program: Program, tensors: Sequence[Any]) -> list[Any]:
        return execute_in_place(program, tensors, options, ctx)

    results = call.run_frame(module, run_graph)
    show(results)
    if options.outputs:
        write_outputs(options.outputs, results)
    wrong = 0
    others = [(options.compare, lambda: call.run_frame(read(options.compare, ctx), run_graph))] if options.compare else []
    others += [("eager", call.run_eagerly)] if options.compare_eager else []
    for name, other in others:
        problem = apart(results, other(), options.tolerance)
        wrong += problem is not None
        print(f"compared with {name}: {problem or 'equal'}")
    return 1 if wrong else 0


def read(name: str, ctx: Context) -> Operation:
    """Parse and verify a file."""
    text = sys.stdin.read() if name == "-" else Path(name).read_text()
    module = parse_module(text, ctx, "<stdin>" if name == "-" else name)
    verify(module)
    return module


def execute(program: Program, tensors: Sequence[Any], options: argparse.Namespace, ctx: Context) -> list[Any]:
    """What a program gives for copies of the tensors, and behind it the copies that it wrote to."""
    from lect.runtime.levels import copy_of, difference, to_tensors

    copies = [copy_of(tensor) if hasattr(tensor, "stride") else tensor for tensor in tensors]
    results = execute_in_place(program, copies, options, ctx, draws_of_program(program))
    return [*to_tensors(results), *[after for after, before in zip(copies, tensors) if hasattr(after, "stride") and difference([after], [before], 0.0)]]


def draws_of_program(program: Program) -> Sequence[Draw]:
    """The random operators of a program, in front of the pass that makes their numbers functions of a seed: so they give the same at every level."""
    from lect.runtime.random_replay import draws_of, find_draws

    if program.level == "functional.func":
        return find_draws(program.func)  # type: ignore[arg-type]
    try:
        return draws_of(program.func, {}) if program.level == "fx.graph" else ()
    except LectError:  # what no pass takes can only be run as it is
        return ()


def execute_in_place(program: Program, tensors: Sequence[Any], options: argparse.Namespace, ctx: Context, draws: Sequence[Draw] = ()) -> list[Any]:
    """Run a program where it is, or as native code when it is low enough; `draws` are replaced by the numbers that they have at lower levels."""
    import torch

    from lect.passes.manager import PassManager
    from lect.runtime.executable import build
    from lect.runtime.levels import REMAINING, find_program, given, run_reference

    torch.manual_seed(options.seed)  # what draws from torch's generator gives the same at every level
    with torch.no_grad():
        if any(draw.numbers is not None for draw in draws):
            from lect.runtime.random_replay import Replay

            with Replay(draws):
                return run_reference(program, tensors)
        if program.level in ("fx.graph", "functional.func") or options.reference:
            return run_reference(program, tensors)
        module = program.module
        if REMAINING[program.level]:
            module = module.clone()
            PassManager.parse(REMAINING[program.level]).run(module, ctx)
            program = find_program(module, program.symbol)
        executable = build(module, ctx, program.symbol)
        if options.print_host:
            print(executable.host_text, end="")
        return executable(*given(program, tensors))


def compare_levels(module: Operation, tensors: Sequence[Any], options: argparse.Namespace, ctx: Context) -> int:
    """Run before and after each pass; print one line for each level and return 1 when one differs from the first."""
    from lect.passes.manager import PassManager
    from lect.runtime.levels import REMAINING, apart, find_program

    program = find_program(module, options.function)
    first = execute(program, tensors, options, ctx)
    print(f"{'as given':<28} {program.level:<16} {len(first)} outputs")
    wrong = 0
    for single in PassManager.parse(options.pipeline or REMAINING[program.level]).passes:
        PassManager((single,)).run(module, ctx)
        program = find_program(module, program.symbol)
        problem = apart(execute(program, tensors, options, ctx), first, options.tolerance)
        wrong += problem is not None
        print(f"{'after ' + single.name:<28} {program.level:<16} {problem or 'equal'}")
    return 1 if wrong else 0


def compare_reference(program: Program, tensors: Sequence[Any], options: argparse.Namespace, ctx: Context) -> int:
    """Run a program as native code and by the reference interpreter; 1 when they differ."""
    from lect.runtime.levels import apart

    native = execute(program, tensors, options, ctx)
    reference = execute(program, tensors, argparse.Namespace(**{**vars(options), "reference": True}), ctx)
    problem = apart(native, reference, options.tolerance)
    print(f"native code against the reference interpreter: {problem or 'equal'}")
    return 0 if problem is None else 1


# ---- tensors in and out ----------------------------------------------------------------------------------------------


def stored_inputs(options: argparse.Namespace) -> dict[str, Any]:
    """The tensors that a file has, by name.  Raises `LectError` when it has none."""
    from safetensors import SafetensorError
    from safetensors.torch import load_file

    if options.inputs_inside:
        from lect.runtime.bisection import decode

        found = decode(Path(options.file).read_text())
        if found is None:
            raise LectError(f"'{options.file}' carries no inputs")
        return found
    if not options.inputs:
        raise LectError("name inputs: --random-inputs, --inputs FILE or --inputs-inside")
    try:
        return load_file(options.inputs)  # type: ignore[no-any-return]
    except SafetensorError as error:
        raise LectError(f"{options.inputs} is no safetensors file: {error}") from None


def read_inputs(options: argparse.Namespace, program: Program) -> list[Any]:
    """Tensors and numbers for the parameters from a file.  Raises `LectError` when one is missing or of the wrong sizes or dtype."""
    from lect.dialects.fx.types import NumberType
    from lect.runtime.levels import tensor_layout

    stored, name = stored_inputs(options), options.inputs or options.file
    tensors = []
    for number, (parameter, type) in enumerate(program.inputs):
        tensor = stored.get(parameter, stored.get(str(number)))
        if tensor is not None and isinstance(type, NumberType):
            tensors.append(tensor.item())
            continue
        sizes, strides, dtype = tensor_layout(type)
        if tensor is None:
            raise LectError(f"{name} has no tensor '{parameter}' or '{number}'; it has {', '.join(sorted(stored)) or 'none'}")
        if tuple(tensor.shape) != sizes or tensor.dtype != dtype:
            raise LectError(f"tensor '{parameter}' is {tuple(tensor.shape)} {tensor.dtype}, the program takes {sizes} {dtype}")
        if strides is not None and tensor.stride() != strides:
            import torch

            tensor = torch.empty_strided(sizes, strides, dtype=dtype).copy_(tensor)
        tensors.append(tensor)
    return tensors


def write_outputs(name: str, results: Sequence[Any]) -> None:
    """Write results as '0', '1', ... to a file."""
    from safetensors import SafetensorError
    from safetensors.torch import save_file

    try:
        save_file({str(number): tensor.contiguous().clone() for number, tensor in enumerate(results)}, name)
    except (OSError, SafetensorError) as error:
        raise LectError(f"cannot write the results to '{name}': {error}") from None


def show(results: Sequence[Any]) -> None:
    """One line for each result: layout, first values, and the sum as a fingerprint of the rest."""
    for number, tensor in enumerate(results):
        flat = tensor.detach().reshape(-1)
        values = ", ".join(f"{value:.6g}" if isinstance(value, float) else str(value) for value in flat[:6].tolist())
        more = ", ..." if flat.numel() > 6 else ""
        total = flat.double().sum().item() if not flat.dtype.is_complex else flat.sum().item()
        dtype = str(tensor.dtype).removeprefix("torch.")
        print(f"output {number}: {tuple(tensor.shape)} {dtype} strides {tensor.stride()} [{values}{more}] sum {total:.6g}")


if __name__ == "__main__":
    sys.exit(main())
