"""Criteria that name sensitive values or compare with the whole table: what they demand depends on both."""
