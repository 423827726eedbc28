"""Passes over loop nests: what is stored, what is fused, how dims are split and joined, which buffers share memory."""
