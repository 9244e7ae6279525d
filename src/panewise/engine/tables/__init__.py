"""Tables made of immutable runs: what an operator stores between steps."""
