"""Clocks and watermarks: how far processing time and event time have progressed."""
