"""The syntax of streaming SQL: from a text to its queries. It imports no other part of the package."""
