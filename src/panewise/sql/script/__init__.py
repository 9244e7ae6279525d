"""Scripts of SQL: statements, and what they become, without Spark (semantics 46.40 to 46.47)."""
