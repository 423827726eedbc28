"""CPU code: kernel functions to LLVM IR text, and LLVM IR text to native code through llvmlite."""
