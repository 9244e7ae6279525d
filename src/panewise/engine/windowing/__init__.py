"""Parts that several operators share: window assignment, sessions, triggers, lateness and panes."""
