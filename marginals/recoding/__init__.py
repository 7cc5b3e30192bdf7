"""Single tables: full-domain generalization along a lattice, and local recoding."""

from models.installed import open_door

__all__, __getattr__, __dir__ = open_door(__name__)
