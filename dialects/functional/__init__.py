"""functional: pure operations on tensors with exact types."""
