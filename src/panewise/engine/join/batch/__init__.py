"""The rows of a batch: their order, which are late, in which turn stored rows expire, and what is emitted."""
