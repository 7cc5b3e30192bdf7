"""Imprint of a release: its title, publisher, date, contact and licence; all of it optional."""

from collections.abc import Mapping
from dataclasses import asdict, fields
from typing import Any

from marginals.errors import InputError
from marginals.messages import LONGEST_WORDS, is_words
from models.frozen import frozen

TITLE = "Anonymized marginals"  # of a release without one of its own


@frozen
class Imprint:
    """Title of a release, and facts about its publisher; empty where they are left out.

    `date`: as typed, since the same tables give the same bundle on any day. Raises InputError for a text that is not
    one line.

    >>> str(Imprint("A census", "City of Ulm", contact="data@ulm.example"))
    'City of Ulm, data@ulm.example'
    """

    title: str = TITLE
    publisher: str = ""
    date: str = ""
    contact: str = ""
    licence: str = ""

    def __post_init__(self) -> None:
        for name, text in vars(self).items():
            if not is_words(text) or (name == "title" and not text):
                raise InputError(f"release.{name} must be one line of text of at most {LONGEST_WORDS} characters")

    @classmethod
    def of(cls, content: object) -> "Imprint":
        """Read the entries of a config or a descriptor; other entries are left aside. Raises InputError."""
        if not isinstance(content, Mapping):
            raise InputError(
                "the imprint of a release says of publisher, date, contact and licence a line of text each"
            )
        entries = {name: content[name] for name in NAMES if name in content}
        return cls(**{name: text.strip() if isinstance(text, str) else text for name, text in entries.items()})

    @property
    def entries(self) -> dict[str, Any]:
        """Entries other than the title, by name."""
        return {name: text for name, text in asdict(self).items() if text and name != "title"}

    def __str__(self) -> str:
        return ", ".join(self.entries.values())


NAMES = tuple(field.name for field in fields(Imprint))

NO_IMPRINT = Imprint()
