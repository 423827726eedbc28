"""The command line tools: `lect-opt` transforms IR text, `lect-run` executes it, `docs` writes the reference.

A tool parses arguments, calls the packages below and prints. It must hold no compiler logic, and `lect-opt`
must start without importing torch, sympy, networkx, triton or llvmlite.
"""
