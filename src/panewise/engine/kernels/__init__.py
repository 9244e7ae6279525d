"""Algorithms on arrays and frames that are independent of streams and operators."""
