"""Passes from one level to the next, one a file; a lowering with many operations keeps its rules in files beside it."""
