"""Sentences for people and lines for a terminal: made once, at the edge, from facts."""
