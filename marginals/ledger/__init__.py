"""Ledgers: a publisher's private account of the releases of one table that are out."""
