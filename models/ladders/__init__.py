"""Levels of generalization that are fitted to how often each value occurs."""
