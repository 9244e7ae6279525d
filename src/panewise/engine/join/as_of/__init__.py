"""Joins as of the event time of left rows."""
