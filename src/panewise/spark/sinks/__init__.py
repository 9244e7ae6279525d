"""Sinks, to which `write` writes outputs, and their checks before a query starts."""
