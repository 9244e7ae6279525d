"""The checks, facts and words of each match of a join."""
