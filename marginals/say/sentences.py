"""Sentences, one on one finding: the terminal, the window and programs get the same list of them."""

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from functools import cached_property
from typing import NamedTuple

from models.frozen import frozen

HOLDS, FAILS, UNDECIDED, ATTESTED, WARNING = "holds", "fails", "undecided", "attested", "warning"
NOTHING_FOUND, NOT_EXAMINED, LOOK = "nothing found", "not examined", "look"

TABLES_ALONE = "Readers of the tables alone"


class Sentence(NamedTuple):
    """A finding for people.

    mark: the verdict, or whether somebody should look. term: how the claim is written where it is demanded; empty for what
    is no claim. detail: further lines, each maybe indented. readers: those who conclude it.
    """

    mark: str
    text: str
    detail: Sequence[str] = ()
    readers: str = TABLES_ALONE
    term: str = ""

    @property
    def look(self) -> str:
        """The class of the mark on a page: holds, fails or undecided."""
        return {HOLDS: HOLDS, NOTHING_FOUND: HOLDS, FAILS: FAILS}.get(self.mark, UNDECIDED)

    @property
    def lines(self) -> Iterator[str]:
        """Yield the text and its detail, which is indented."""
        yield self.text
        yield from (f"  {line}" for line in self.detail)

    @property
    def details(self) -> Sequence[str]:
        """The term and the detail, as a page folds them."""
        return (self.term, *self.detail) if self.term else self.detail


@frozen
class ReadersConclude:
    """The sentences on what the same readers conclude."""

    readers: str
    sentences: Sequence[Sentence]

    @cached_property
    def tally(self) -> str:
        """Number of sentences of each mark: "3 look, 1 not examined"."""
        marks = Counter(sentence.mark for sentence in self.sentences)
        return ", ".join(f"{number} {mark}" for mark, number in marks.items())


def by_readers(sentences: Iterable[Sentence]) -> list[ReadersConclude]:
    """Return the sentences by the readers who conclude them, in their order."""
    groups: dict[str, list[Sentence]] = {}
    for sentence in sentences:
        groups.setdefault(sentence.readers, []).append(sentence)
    return [ReadersConclude(readers, group) for readers, group in groups.items()]


def in_short(
    parts: Sequence[tuple[str, Sequence[Sentence]]], most: int
) -> tuple[list[tuple[str, list[Sentence]]], int]:
    """Return parts under headings cut to so many lines, and how many are left out: first the details, then the last texts.

    >>> parts = [("", [Sentence(LOOK, "a", ("b", "c")), Sentence(LOOK, "d")])]
    >>> [(_, [first, last])], left = in_short(parts, 3)
    >>> [*first.lines, *last.lines], left
    (['a', '  b', 'd'], 1)
    """
    room = most - sum(bool(heading) + len(sentences) for heading, sentences in parts)
    parts_cut, left = [], 0
    for heading, sentences in parts:
        cut = []
        for sentence in sentences:
            details = max(min(room, len(sentence.detail)), 0)
            room, left = room - details, left + len(sentence.detail) - details
            cut.append(sentence._replace(detail=sentence.detail[:details]))
        parts_cut.append((heading, cut))
    while room < 0 and parts_cut:
        heading, cut = parts_cut[-1]
        if cut:
            cut.pop()
            room, left = room + 1, left + 1
        if not cut:
            parts_cut.pop()
            room += bool(heading)
    return parts_cut, left
