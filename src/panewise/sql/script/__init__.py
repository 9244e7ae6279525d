"""Scripts of SQL: statements, and what they become, without Spark and without a JVM (semantics 46.40 to 46.47)."""
