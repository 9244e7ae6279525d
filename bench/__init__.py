"""How fast panewise is, beside what else runs the same windows: `python -m bench`."""
