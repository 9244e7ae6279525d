"""The parts of the window operator that only sliding windows need."""
