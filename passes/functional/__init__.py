"""Passes over functional graphs: folding, pattern matching, and the choice of better forms of the same values."""
