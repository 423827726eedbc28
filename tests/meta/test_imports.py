"""Who may import what: no other compiler of PyTorch programs in product code, and only downwards between layers."""

import ast
import subprocess
import sys
from pathlib import Path

import pytest

from tests.meta.tree import PRODUCT, ROOT, dotted_name, imported_modules, python_files, syntax

FORBIDDEN_MODULES = (
    "torch._dynamo",
    "torch._inductor",
    "torch._functorch",
    "torch.compile",
    "torch.export",
    "torch.fx.experimental.proxy_tensor",
    "pickle",
    "marshal",
    "dill",
    "cloudpickle",
)
FORBIDDEN_NAMES = frozenset({"make_fx", "torch.compile", "torch.export.export"})
HEAVY = ("torch", "sympy", "networkx", "triton", "llvmlite", "numpy", "lark")


def is_forbidden(module: str) -> bool:
    return any(module == name or module.startswith(name + ".") for name in FORBIDDEN_MODULES)


def forbidden_uses(tree: ast.Module) -> list[tuple[int, str]]:
    """(line, name) of each forbidden import and each forbidden attribute chain such as `torch._dynamo.reset`."""
    found = [(line, name) for line, name in imported_modules(tree) if is_forbidden(name)]
    for node in ast.walk(tree):
        if isinstance(node, ast.Attribute | ast.Name):
            name = dotted_name(node)
            if name in FORBIDDEN_NAMES or (name.startswith("torch.") and is_forbidden(name)):
                found.append((node.lineno, name))
        elif isinstance(node, ast.Call) and dotted_name(node.func) in ("import_module", "importlib.import_module"):
            argument = node.args[0] if node.args else None
            if isinstance(argument, ast.Constant) and is_forbidden(str(argument.value)):
                found.append((node.lineno, str(argument.value)))
    return found


def test_product_code_uses_no_other_compiler():
    found = []
    for name in python_files(*PRODUCT, "examples"):
        found += [f"{name}:{line} {what}" for line, what in forbidden_uses(syntax(name))]
    assert not found, "\n".join(found)


@pytest.mark.parametrize(
    "source",
    [
        "import torch._dynamo",
        "def f():\n    from torch._inductor import config",
        "from torch import _functorch",
        "import torch\ntorch.compile(f)",
        "from importlib import import_module\nimport_module('torch._dynamo.eval_frame')",
        "from torch.fx.experimental.proxy_tensor import make_fx",
        "import pickle",
    ],
)
def test_the_check_finds_each_way_to_import(source):
    assert forbidden_uses(ast.parse(source))


def test_layers_hold():
    lint_imports = Path(sys.executable).with_name("lint-imports")
    if not lint_imports.exists():
        pytest.skip("import-linter is not installed beside this interpreter")
    result = subprocess.run([lint_imports, "--no-logo", "--no-cache"], cwd=ROOT, capture_output=True, text=True, check=False)
    assert result.returncode == 0, result.stdout + result.stderr


def modules_loaded_by(code: str) -> set[str]:
    """The heavy modules that are loaded after running some code in a fresh interpreter."""
    report = f"{code}\nimport sys\nprint(*[name for name in {HEAVY!r} if name in sys.modules])"
    result = subprocess.run([sys.executable, "-c", report], cwd=ROOT, capture_output=True, text=True, check=False)
    assert result.returncode == 0, result.stderr
    return set(result.stdout.split("\n")[-2].split())


@pytest.mark.parametrize("module", ["lect", "lect.ir", "lect.passes", "lect.dialects", "lect.tools.lect_opt"])
def test_module_loads_nothing_heavy(module):
    assert modules_loaded_by(f"import {module}") == set()


def test_lect_opt_runs_a_file_without_heavy_modules():
    code = (
        "import sys\nfrom lect.tools.lect_opt import main\n"
        "sys.argv = ['lect-opt', 'tests/lit/dialects/builtin/ops.mlir', '-p', 'canonicalize']\n"
        "try:\n    main()\nexcept SystemExit as stop:\n    assert not stop.code, stop.code\n"
    )
    assert modules_loaded_by(code) == set()
