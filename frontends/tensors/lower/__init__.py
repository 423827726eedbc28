"""From calls of torch functions to functional operations: the body of the pass `fx-to-functional`."""
