"""Specifications in plain words."""
