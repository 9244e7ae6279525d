"""The OVER operator, one row at a time."""
