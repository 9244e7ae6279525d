"""The dataflow of an operator, as a Spark plan."""
