"""Queries: how they are started, and what they store and show."""
