"""Passive agent of a lightpath, and the scoreboard of what lightpaths carry."""
