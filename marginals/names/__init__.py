"""Levels, margins and what a model assumes, named for people from their labels alone."""
