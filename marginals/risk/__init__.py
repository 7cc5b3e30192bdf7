"""Disclosure of a table row by row, and its risk: rules, the tables of attackers, harm and risk (LSFB09)."""
