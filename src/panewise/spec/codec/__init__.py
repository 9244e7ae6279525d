"""Specifications as plain dicts and as JSON, both ways."""
