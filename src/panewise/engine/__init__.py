"""The columnar engine: the operators over Polars frames. It knows no runtime and reads no clock.

Its modules are imported one by one, so that a process which only packs rows loads no operators.
"""
