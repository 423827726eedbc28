"""Passes over functional graphs: folding, pattern matching, the choice of better forms, and what a training step keeps between forward and backward."""
