"""The vocabularies of the compiler: one package per dialect, each declaring its operations, types and attributes.

A dialect states what an operation means and when it is well formed, and offers local folds. It knows no pass,
no backend and no torch; it must not decide, lower or run anything.
"""
