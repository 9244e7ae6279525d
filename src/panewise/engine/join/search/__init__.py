"""The search for rows of the other side that match, whatever the match is."""
