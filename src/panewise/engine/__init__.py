"""The columnar engine: the operators on Polars frames. It depends on no runtime and reads no system clock.

This package imports none of its modules, so that a process that only packs rows loads no operators.
"""
