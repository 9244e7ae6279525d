"""The characters of a query, before and behind the parser."""
