"""Triggers as columns of the window table and expressions over them."""
