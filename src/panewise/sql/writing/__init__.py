"""Parts of a text of SQL that says a specification (semantics 46.22, 46.70 to 46.75)."""
