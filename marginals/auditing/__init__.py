"""Audits of tables that others published: what follows from them for certain."""
