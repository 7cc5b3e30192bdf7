"""The command `marginals`, run in this process."""

from click.testing import CliRunner, Result

from marginals.commands.main import main

__all__ = ["main", "output", "run"]


def run(*arguments: object) -> Result:
    """The command with these arguments, run to its end."""
    return CliRunner().invoke(main, [str(argument) for argument in arguments])


def output(*arguments: object, status: int = 0) -> str:
    """What the command prints, which ends with this status."""
    ended = run(*arguments)
    assert ended.exit_code == status, ended.output
    return ended.output
