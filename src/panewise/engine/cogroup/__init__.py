"""Cogroups: aggregates of two inputs in the windows of both."""
