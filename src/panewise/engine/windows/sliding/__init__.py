"""The part of the window operator that is special to sliding windows."""
