"""The OVER operator: its columns, frames and functions."""
