"""Windows in SQL as window operators (semantics 46.4).

`compiler` compiles a SELECT with windows in GROUP BY, `chained` one over panes, `second_windows` one over
selected panes, `window_rows` one over rows of windows, and `stream_queries` one over windows of CQL.
"""
