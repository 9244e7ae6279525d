"""The window operator, one row at a time."""
