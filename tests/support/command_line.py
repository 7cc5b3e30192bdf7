"""The command `marginals`, run in this process."""

from marginals.commands.main import main

__all__ = ["main"]
