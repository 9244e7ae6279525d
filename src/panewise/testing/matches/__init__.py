"""How matches, joins with them and their events are drawn, for each match of a join."""
