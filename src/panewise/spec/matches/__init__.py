"""The checks, facts, words and JSON of each match of a join."""
