"""Commands, each with its usual outcomes and with those that warn, fail or are refused."""

from collections.abc import Iterator

from words import Case, Stage


def commands(stage: Stage) -> Iterator[Case]:
    """What commands print."""
    with stage.entered():
        yield stage.command("--version")
