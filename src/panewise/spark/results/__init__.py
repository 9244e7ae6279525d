"""The outputs of operators: a result class for each family."""
