"""What a command printed, as cards: a mark and a sentence each, the detail beneath them, in groups by who concludes it."""

import re
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

_VERDICT = re.compile(r" *(holds|fails|undecided|attested|warning)  (?P<told>\S.*)")
_NOTHING = re.compile(
    r"Nonsensitive attributes alone, from the tables alone: no combination certainly has .*"
    r"|[^:;]+: Of the [\d,]+ possible combinations of [^;]*, none has a count that readers can determine\."
    r"|[\w-]+ \d+( of people[^:;]*)?: the smallest count is [\d,]+; not binding"
)
"""Whole sentences that say that readers learn nothing; any other is to be looked at."""

_OPEN = re.compile(r"\b(?:not examined|undecided|attested)\b")

_IN_WORDS = {
    "integrity key": "The files are as they were signed",
    "k-link": "Each group of a published table, sensitive columns aside, is as large as claimed",
    "k-combinatorial": "Nobody can prove by the tables alone that rows alike in nonsensitive columns are fewer than claimed",
    "min-cell": "No count smaller than claimed is published, and none can be worked out",
    "maxent-diversity": "To readers who combine all tables by maximum entropy, values of {columns} are as varied as claimed",
    "register": "To readers with a register of all nonsensitive values, values of {columns} are as varied as claimed",
}
"""What is judged, by the words with which a verdict begins; another stands as it was printed."""

_COLUMNS = (
    ("%s sensitive columns", re.compile(r" of ([\d,]+) sensitive attributes")),
    ("%s", re.compile(r" sensitive = (.+?)(?:, of people.*)?$")),
)
"""How a verdict names the sensitive columns that it is about."""

_READERS = re.compile(r"Readers (?:with a register|who [a-z ]+)")

_FEW = 4
"""Cards of a group that are shown at once."""

_CLASSES = {
    "holds": "holds",
    "nothing found": "holds",
    "fails": "fails",
    "look": "undecided",
    "undecided": "undecided",
    "not examined": "undecided",
    "attested": "undecided",
    "warning": "undecided",
}


@dataclass(frozen=True)
class ResultCard:
    """mark: one word or two, of those that `look` has a class for. detail: lines, maybe none."""

    mark: str
    sentence: str
    detail: tuple[str, ...]

    @property
    def look(self) -> str:
        """The class of the mark: holds, fails or undecided."""
        return _CLASSES[self.mark]


@dataclass(frozen=True)
class CardGroup:
    """Cards on what the same readers conclude. title: who these are; empty where all cards stand together."""

    title: str
    cards: tuple[ResultCard, ...]

    @property
    def tally(self) -> str:
        """How many cards have each mark: "3 look, 1 not examined"."""
        return ", ".join(f"{number} {mark}" for mark, number in Counter(card.mark for card in self.cards).items())

    @property
    def is_short(self) -> bool:
        """Whether its cards are shown at once."""
        return not self.title or len(self.cards) <= _FEW


def cards_of_verdicts(printed: str) -> tuple[ResultCard, ...]:
    """Those of `marginals verify`: one for each verdict, in words, what is said of it being its detail.

    A line at the margin that ends with a colon is the heading of the verdicts after it, whose mark says the same.
    """
    lines = [line for line in printed.splitlines() if line.startswith(" ") or not line.endswith(":")]
    verdicts = _cards(lines, lambda line: (match[1], match["told"]) if (match := _VERDICT.fullmatch(line)) else None)
    return tuple(map(_in_words, verdicts))


def cards_of_attacks(printed: str) -> tuple[ResultCard, ...]:
    """Those of `marginals attack`: one for each line that begins at the margin.

    Where such a line ends with a colon, its detail completes the sentence. Only where a known sentence says that readers
    learn nothing, and has no detail, the mark says so too.
    """
    cards = _cards(printed.splitlines(), lambda line: None if line.startswith(" ") else (_mark(line), line))
    return tuple(
        replace(card, mark="nothing found") if _NOTHING.fullmatch(card.sentence) and not card.detail else card
        for card in map(_completed, cards)
    )


def in_groups(cards: Sequence[ResultCard]) -> tuple[CardGroup, ...]:
    """Cards by the readers that they are about, in their order."""
    groups: dict[str, list[ResultCard]] = {}
    for card in cards:
        groups.setdefault(_readers(card), []).append(card)
    return tuple(CardGroup(title, tuple(group)) for title, group in groups.items())


def _in_words(card: ResultCard) -> ResultCard:
    """A verdict whose sentence a board can read, with what was printed as its first detail."""
    named = next((words for name, words in _IN_WORDS.items() if re.match(rf"{name}\b", card.sentence)), None)
    if named is None:
        return card
    about = next(
        (form % match[1] for form, columns in _COLUMNS if (match := columns.search(card.sentence))), "sensitive columns"
    )
    return ResultCard(card.mark, f"{named.replace('{columns}', about)}.", (card.sentence, *card.detail))


def _readers(card: ResultCard) -> str:
    return match[0] if (match := _READERS.match(card.sentence)) else "Readers of the tables alone"


def _completed(card: ResultCard) -> ResultCard:
    """A card whose sentence does not end with the colon before its only line of detail."""
    if not card.sentence.endswith(":") or len(card.detail) != 1:
        return card
    sentence = f"{card.sentence} {card.detail[0]}"
    return ResultCard(_mark(sentence), sentence, ())


def _mark(line: str) -> str:
    """Of a finding: whether it was not examined, or somebody should look."""
    return "not examined" if _OPEN.search(line) else "look"


def _cards(lines: Sequence[str], head: Callable[[str], tuple[str, str] | None]) -> tuple[ResultCard, ...]:
    cards: list[ResultCard] = []
    for line in filter(str.strip, lines):
        if (told := head(line)) is not None:
            cards.append(ResultCard(*told, ()))
        elif cards:
            last = cards[-1]
            cards[-1] = ResultCard(last.mark, last.sentence, (*last.detail, line.strip()))
    return tuple(cards)
