"""Audits of tables that others published: what follows from them for certain."""

from models.installed import open_door

__all__, __getattr__, __dir__ = open_door(__name__)
