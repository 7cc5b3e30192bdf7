"""Disclosure of a table row by row, and its risk: rules, the tables of attackers, harm and risk (LSFB09)."""

from models.installed import open_door

__all__, __getattr__, __dir__ = open_door(__name__)
