"""Interpreters that say what each level means: slow, literal, and the oracle for everything faster."""
