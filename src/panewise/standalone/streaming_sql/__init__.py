"""Streaming SQL in process, over Polars and Arrow tables."""
