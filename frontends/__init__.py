"""The ways into the compiler: Python bytecode is decoded into `pyframe`, and its execution is captured as `fx`.

A front end turns a Python object into IR and says where every value came from. It must not optimise, choose
kernels or touch caches, and it never imports a pass or a backend.
"""
