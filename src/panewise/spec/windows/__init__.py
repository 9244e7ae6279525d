"""Windows: which rows belong together. Values only."""
