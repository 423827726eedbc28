"""The ways out of the compiler: printers from IR to bytecode, to LLVM IR and to Python source.

A backend reads finished IR and emits text or code. It must not analyse, decide or transform; whatever it needs
to know is an attribute that a pass has written.
"""
