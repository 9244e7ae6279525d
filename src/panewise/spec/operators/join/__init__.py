"""Joins of two inputs: their sides, what matches, and the columns of the emitted rows."""
