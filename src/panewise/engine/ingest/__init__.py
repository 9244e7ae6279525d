"""Intake of rows: which are valid, in which order they arrive, and which are replays."""
