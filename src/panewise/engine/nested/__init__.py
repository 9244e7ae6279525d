"""Operators that follow one another, as one operator."""
