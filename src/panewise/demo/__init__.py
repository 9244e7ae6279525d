"""A year of New York flights, replayed in the order in which they became known. Run it with `python -m panewise.demo`."""
