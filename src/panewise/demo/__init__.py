"""The demo: a year of New York flights as a stream. Run it with `python -m panewise.demo`.

The flights arrive in the order in which they became known.
"""
