"""A file that does not run."""
raise KeyError("here")
