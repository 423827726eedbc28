"""`pyframe` to code objects of the running CPython."""

from lect.backends.bytecode.assemble import assemble, assemble_module

__all__ = ["assemble", "assemble_module"]
