"""The imprint of a release: its title, who publishes it, when, whom to ask, and under which licence; all of it optional."""

from collections.abc import Mapping
from dataclasses import asdict, dataclass, fields
from typing import Any

from marginals.errors import InputError
from marginals.messages import LONGEST_WORDS, is_words

TITLE = "Anonymized marginals"
"""What a release is called where nobody has said otherwise."""


@dataclass(frozen=True)
class Imprint:
    """What a release is called, and what readers are told of whoever publishes it; empty where it is left out.

    date: as it is typed, since the same tables give the same bundle on any day. Raises InputError for what is not one line
    of text.

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
    def of(cls, stated: object) -> "Imprint":
        """From the entries of a config or a descriptor, others than its own left aside. Raises InputError as a new one does.

        >>> Imprint.of({"publisher": "City of Ulm", "path": "census.csv"}).publisher
        'City of Ulm'
        """
        if not isinstance(stated, Mapping):
            raise InputError(
                "the imprint of a release says of publisher, date, contact and licence a line of text each"
            )
        said = {name: stated[name] for name in NAMES if name in stated}
        return cls(**{name: text.strip() if isinstance(text, str) else text for name, text in said.items()})

    @property
    def entries(self) -> dict[str, Any]:
        """What is said beside the title, by name."""
        return {name: text for name, text in asdict(self).items() if text and name != "title"}

    def __str__(self) -> str:
        return ", ".join(self.entries.values())


NAMES = tuple(field.name for field in fields(Imprint))

NO_IMPRINT = Imprint()
