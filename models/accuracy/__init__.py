"""Accuracy: how far the tables and counts of a model are from those of the data that it was made of."""
