"""The names and types of columns in Spark and in operators."""
