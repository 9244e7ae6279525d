"""Policy windows, as in the window package of IBM Streams (semantics 10)."""
