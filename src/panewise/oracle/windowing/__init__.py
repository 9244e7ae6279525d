"""Which windows a row belongs to."""
