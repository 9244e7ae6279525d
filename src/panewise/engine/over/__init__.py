"""The OVER operator: emits each row with new columns that are computed from nearby rows of its key."""
