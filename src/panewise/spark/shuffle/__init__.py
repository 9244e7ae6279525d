"""The rows that cross Spark's shuffle."""
