"""S1's window operators: windows that stay for a retention, with metadata and messages that can be read."""
