"""Benchmarks of panewise and of other ways to compute the same, the peers: `python -m bench`.

In names and comments "ours" is panewise, and "native" is Spark's own operator.
"""
