"""Criteria on the equivalence classes of one table."""
