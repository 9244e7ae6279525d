"""Rows on their way in: which are valid, in which order they arrive, which are replays."""
