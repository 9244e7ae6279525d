"""Pictures of what a window operator did, from plain frames of its outputs."""
