"""The command `marginals`, run in this process."""

from click.testing import CliRunner, Result

from marginals.commands.main import main

__all__ = ["main", "run"]


def run(*arguments: object) -> Result:
    """The command with these arguments, run to its end."""
    return CliRunner().invoke(main, [str(argument) for argument in arguments])
