"""S1's windowed stream join (semantics 37.14 to 37.19)."""
