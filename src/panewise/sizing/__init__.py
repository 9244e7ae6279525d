"""Computes what a query needs from measured costs: cores, shards, bytes of state and memory."""
