"""Chains: a window operator and the stages that take its panes."""
