"""Criteria on the distribution of a sensitive attribute within one class."""
