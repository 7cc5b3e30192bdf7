"""Choosing among the disclosures of many records at once."""
