"""Contingency tables: hierarchies, domains, margins, sparse counts, and what they are counted with."""
