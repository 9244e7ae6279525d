"""Triggers: when a window fires. Values only."""
