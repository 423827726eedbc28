"""Bytecode of CPython 3.11, 3.12 and 3.13 to the `pyframe` dialect."""

from lect.frontends.bytecode.decode import Symbols, UnsupportedCode, decode, decode_function, unsupported_kind

__all__ = ["Symbols", "UnsupportedCode", "decode", "decode_function", "unsupported_kind"]
