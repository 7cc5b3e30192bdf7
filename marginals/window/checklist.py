"""The list that is gone through before a release is published, and the file beside the release that keeps it."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from marginals.errors import InputError
from marginals.files import PRIVATE, replace_file

LOOKED = "I have looked at what leaves the house, its labels too, and it may."
"""The sentence that a person must tick."""

_TITLE = "What was looked at before a release was published"


@dataclass(frozen=True)
class CheckedItem:
    """A finding as a sentence. is_right: whether nothing need be done. page, link: where it is changed."""

    sentence: str
    is_right: bool = True
    page: str = ""
    link: str = ""

    @property
    def line(self) -> str:
        """The line of the file."""
        return f"[{'x' if self.is_right else ' '}] {self.sentence}"


@dataclass(frozen=True)
class Checklist:
    """must: what no release may lack; should: what is worth a second look."""

    must: Sequence[CheckedItem]
    should: Sequence[CheckedItem]

    def require(self, looked: bool) -> None:
        """Raises InputError where something is missing that must be."""
        if wrong := next((item for item in self.must if not item.is_right), None):
            raise InputError(wrong.sentence.rstrip("."))
        if not looked:
            raise InputError(f'look at what leaves the house, then tick "{LOOKED}"')

    def text(self, release: str, config: str) -> str:
        """Return the text of the file. release, config: their names."""
        parts = [f"{_TITLE}: {release}, from {config}", ""]
        for tier, items in (("Must", (*self.must, CheckedItem(LOOKED))), ("Should", self.should)):
            parts += [tier, *(item.line for item in items), ""]
        return "\n".join(parts)


def kept_at(release: Path) -> Path:
    """Where the list of a release is kept. Raises InputError where another file is there."""
    place = release.parent / f"{release.name}-checklist.txt"
    if place.exists() and not (place.is_file() and place.read_bytes().startswith(_TITLE.encode())):
        raise InputError(f"{place.name} is there already, and is no list of this kind; move it, or name another folder")
    return place


def keep(text: str, place: Path) -> None:
    """For the steward alone: it names columns, and counts of the table."""
    replace_file(place, text.encode(), PRIVATE)
