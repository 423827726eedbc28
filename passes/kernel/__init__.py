"""Passes that decide about kernels: on nests before they are lowered, and on tile programs behind."""
