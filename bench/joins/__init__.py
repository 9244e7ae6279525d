"""Joins of two streams beside what else joins them: `python -m bench.joins`."""
