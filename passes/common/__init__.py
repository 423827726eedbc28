"""Passes that know no dialect: they ask operations for folds, traits and memory effects."""
