"""Functions over windows, as OVER operators (semantics 46.19, 46.82)."""
