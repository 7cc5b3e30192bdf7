"""Ladders: levels of an attribute that are fitted to how often its values occur, and the names of their groups."""
