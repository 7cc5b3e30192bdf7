"""Disclosing a table under rules that hide or generalize values of some rows."""
