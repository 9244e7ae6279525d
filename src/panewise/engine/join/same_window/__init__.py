"""Window joins: the rows of both sides that are in one window are matched when the window fires."""
