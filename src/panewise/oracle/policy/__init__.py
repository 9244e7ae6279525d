"""Policy windows, one tuple at a time."""
