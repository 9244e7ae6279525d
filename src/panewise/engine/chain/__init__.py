"""Chains: a window operator and the stages that aggregate its panes."""
