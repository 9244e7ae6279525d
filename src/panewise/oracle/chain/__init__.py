"""Chains, one evaluation at a time."""
