"""What every compile needs and the entry by itself does not: imported with the entry, so that the first call of a compiled function does not wait for it.

The largest part is llvmlite, whose library takes longer to load than a small graph to trace.
"""

import torch

import lect.backends.llvm.launcher
import lect.backends.llvm.loaded
import lect.backends.native_guards.checker
import lect.backends.native_host
import lect.backends.python_fx.load
import lect.frontends.bytecode.handlers
import lect.passes.convert.pyframe_to_fx
import lect.runtime.executable
import lect.runtime.residual

if torch.version.cuda is not None:
    import lect.backends.triton.launcher  # noqa: F401  # which imports no Triton
