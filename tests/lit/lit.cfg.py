"""Settings for plain `lit tests/lit`: the same files as under pytest, each command a process."""

import os
import sys
from pathlib import Path

import lit.formats

config.name = "lect"  # noqa: F821
config.test_format = lit.formats.ShTest(execute_external=False)  # noqa: F821
config.suffixes = [".mlir", ".py"]  # noqa: F821
config.excludes = ["conftest.py", "runner.py", "lit.cfg.py", "Inputs", "__pycache__"]  # noqa: F821
config.test_source_root = str(Path(__file__).parent)  # noqa: F821
config.test_exec_root = str(Path(os.environ.get("TMPDIR", "/tmp")) / "lect-lit")  # noqa: F821

scripts = str(Path(sys.executable).parent)
config.environment["PATH"] = os.pathsep.join([scripts, os.environ.get("PATH", "")])  # noqa: F821
config.substitutions.append(("%python", sys.executable))  # noqa: F821
config.available_features.add(f"python-{sys.version_info.major}.{sys.version_info.minor}")  # noqa: F821
if os.path.exists("/dev/nvidia0"):
    config.available_features.add("cuda")  # noqa: F821
