"""`apply`, and the fluent APIs of all operator families."""
