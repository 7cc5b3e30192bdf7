"""Model selection on frames: a graphical model of a table, with its tests, independences and pictures."""
