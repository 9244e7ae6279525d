"""Policy windows: the window package of IBM Streams."""
