"""The join operator: finds the pairs of rows of two inputs, and the rows without a partner."""
