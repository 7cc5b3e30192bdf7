"""Conditions: which rows or values a text means; one grammar for the queries of analysts and the rules of stewards."""
