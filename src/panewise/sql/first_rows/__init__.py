"""The first rows of each partition, and the different rows (semantics 46.19, 46.33).

`first_queries` determines which SELECTs these are, by the `pattern` of ROW_NUMBER. `top_n` compiles them as
rankings of windows, and `deduplicates` as deduplications.
"""
