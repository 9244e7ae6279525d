"""What several operators share: assigning windows, sessions, triggers, lateness and panes."""
