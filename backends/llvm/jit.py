"""LLVM IR text to object code, and object code to callable addresses.

`compile_object` is a pure function of its text, level and target: its bytes may be kept on disk under a key that contains
`host_fingerprint()`. `load_object` links them into this process. Symbols that the object leaves open are looked up in the process, in the
C library's mathematics, and in the shared libraries whose paths the caller gives (torch's OpenMP, for instance).
"""

from __future__ import annotations

import ctypes.util
import itertools
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from types import MappingProxyType

import llvmlite.binding as llvm

from lect.ir.diagnostics import LectError, ParseError, source_excerpt
from lect.ir.location import Location

# The C library's mathematics, and what LLVM calls for halves on processors without instructions for them: names on Linux, and for a search elsewhere.
LIBRARIES = MappingProxyType({"libm.so.6": "m", "libgcc_s.so.1": "gcc_s"})


@dataclass(frozen=True)
class Target:
    """What code is made for: an LLVM triple, a processor name and a feature string such as `+avx2,+fma`."""

    triple: str
    cpu: str
    features: str

    def fingerprint(self) -> str:
        """One line that changes whenever object code of one target may not run, or be reproduced, on another."""
        version = ".".join(map(str, llvm.llvm_version_info))
        return f"llvm {version} {self.triple} {self.cpu} {self.features}"


class LoadedCode:
    """Object code linked into this process. Its addresses are valid as long as this object is alive."""

    def __init__(self, session: llvm.LLJIT, library: llvm.ResourceTracker) -> None:
        self._session = session
        self._library = library
        # LLVM unloads the whole library when the tracker of any lookup dies, so all are kept.
        self._found: dict[str, llvm.ResourceTracker] = {}

    def address(self, symbol: str) -> int:
        """Address of an external function or variable that the object defines; raises LectError if it defines none of that name."""
        if symbol not in self._found:
            try:
                self._found[symbol] = self._session.lookup(self._library.name, symbol)
            except RuntimeError as error:
                raise LectError(f"the object code has no address for {symbol!r}: {str(error).strip()}") from error
        return self._found[symbol][symbol]


@cache
def initialise() -> None:
    """Prepare LLVM for the host, once per process."""
    llvm.initialize_native_target()
    llvm.initialize_native_asmprinter()
    for path, name in LIBRARIES.items():
        try:
            llvm.load_library_permanently(path)
        except RuntimeError:  # of another system; a search runs other programs, which takes 10 ms
            found = ctypes.util.find_library(name)
            if found is not None:
                llvm.load_library_permanently(found)


@cache
def initialise_all_targets() -> None:
    """Prepare LLVM for emitting code for other machines, once per process."""
    llvm.initialize_all_targets()
    llvm.initialize_all_asmprinters()


@cache
def host_target() -> Target:
    """The machine that this process runs on."""
    initialise()
    return Target(llvm.get_process_triple(), llvm.get_host_cpu_name(), llvm.get_host_cpu_features().flatten())


def host_fingerprint() -> str:
    """`Target.fingerprint` of the host."""
    return host_target().fingerprint()


def target_machine(target: Target, opt_level: int = 3) -> llvm.TargetMachine:
    """LLVM's description of `target`, with position-independent code; raises LectError for an unknown triple."""
    try:
        described = llvm.Target.from_triple(target.triple)
    except RuntimeError as error:
        raise LectError(f"LLVM knows no target {target.triple!r}: {error}") from error
    return described.create_target_machine(cpu=target.cpu, features=target.features, opt=opt_level, reloc="pic", codemodel="small")


def parse(ir_text: str, machine: llvm.TargetMachine) -> llvm.ModuleRef:
    """Parse and verify IR text for `machine`; raises ParseError that shows the offending line."""
    try:
        module = llvm.parse_assembly(ir_text)
    except RuntimeError as error:
        raise located_error(str(error), ir_text) from error
    module.triple = machine.triple
    module.data_layout = str(machine.target_data)
    for function in module.functions:
        if not function.is_declaration:
            function.add_function_attribute("nounwind")  # no exception passes generated code, and no unwind tables need to be registered for it
    try:
        module.verify()
    except RuntimeError as error:
        raise LectError(f"LLVM rejects the module: {str(error).strip()}") from error
    return module


def located_error(report: str, ir_text: str) -> ParseError:
    """LLVM's report, such as `<string>:3:5: error: expected type`, as a located error with an excerpt of the text."""
    match = re.search(r"<string>:(\d+):(\d+): error: (.*)", report)
    if match is None:
        return ParseError(f"LLVM cannot read the module: {report.strip()}")
    line, column = int(match[1]), int(match[2]) - 1
    error = ParseError(f"LLVM cannot read the module: {match[3]}", Location("<llvm ir>", line, column))
    error.excerpt = source_excerpt(ir_text, line, column)
    return error


def optimise(module: llvm.ModuleRef, machine: llvm.TargetMachine, opt_level: int, vectorise: bool = True) -> None:
    """Run LLVM's standard pipeline of this level on the module, in place; `vectorise` includes its loop and vector passes."""
    options = llvm.create_pipeline_tuning_options(speed_level=opt_level)
    options.loop_vectorization = vectorise
    options.slp_vectorization = vectorise
    options.loop_interleaving = vectorise
    options.loop_unrolling = vectorise
    builder = llvm.create_pass_builder(machine, options)
    builder.getModulePassManager().run(module, builder)


def compile_object(ir_text: str, opt_level: int = 3, target: Target | None = None, vectorise: bool = True) -> bytes:
    """Relocatable object code of a module given as text, optimised for `target` (the host if None).

    Text that is in vectors already needs no `vectorise`, which costs a third of the time.
    Raises ParseError for malformed text and LectError for a module that LLVM's verifier rejects.
    """
    module, machine = optimised_module(ir_text, opt_level, target, vectorise)
    return machine.emit_object(module)


def emit_assembly(ir_text: str, target: Target | None = None, opt_level: int = 3) -> str:
    """Assembly text of a module, for reading and for checks on machines that are not at hand. Raises like `compile_object`."""
    module, machine = optimised_module(ir_text, opt_level, target)
    return machine.emit_assembly(module)


def optimised_ir(ir_text: str, target: Target | None = None, opt_level: int = 3) -> str:
    """The module after LLVM's optimiser, as text. Raises like `compile_object`."""
    module, _ = optimised_module(ir_text, opt_level, target)
    return str(module)


def optimised_module(ir_text: str, opt_level: int, target: Target | None, vectorise: bool = True) -> tuple[llvm.ModuleRef, llvm.TargetMachine]:
    """The parsed, verified and optimised module, and the machine it is for."""
    if target is None:
        target = host_target()
    elif target != host_target():
        initialise_all_targets()
    machine = target_machine(target, opt_level)
    module = parse(ir_text, machine)
    optimise(module, machine, opt_level, vectorise)
    return module, machine


@cache
def link_session() -> tuple[llvm.LLJIT, Iterator[int]]:
    """LLVM's linker for this process, and numbers that name the libraries made in it; made once, as making it takes a millisecond."""
    # JITLink puts all sections of an object into one piece of memory; the older linker may place code and constants further apart than their
    # relocations reach, in a process whose address space is crowded, and then ends the process
    return llvm.create_lljit_compiler(target_machine(host_target()), use_jit_link=True, suppress_errors=True), itertools.count()


def load_object(object_code: bytes, libraries: Sequence[str] = ()) -> LoadedCode:
    """Link object code into this process. `libraries` are paths of shared libraries that may define the symbols it needs; they stay loaded.

    Raises LectError when a library cannot be loaded or the bytes are no object code of this machine. A symbol that is nowhere defined is
    reported when an address is asked for.
    """
    for path in libraries:
        try:
            llvm.load_library_permanently(path)
        except RuntimeError as error:
            raise LectError(f"cannot load the library {path!r}: {str(error).strip()}") from error
    session, numbers = link_session()
    builder = llvm.JITLibraryBuilder().add_object_img(object_code).add_current_process()
    try:
        library = builder.link(session, f"lect.{next(numbers)}")
    except RuntimeError as error:
        raise LectError(f"cannot link the object code: {str(error).strip()}") from error
    return LoadedCode(session, library)
