"""Tables that live in immutable runs: what an operator stores between steps."""
