"""The inputs of an operator: checks, names, watermarks, and what is upstream."""
