"""What a command printed, as cards: a mark and a sentence each, and the detail beneath them."""

import re
from collections.abc import Callable
from dataclasses import dataclass, replace

_VERDICT = re.compile(r" *(holds|fails|undecided|attested|warning)  ?(?P<told>\S.*)")
_NOTHING = re.compile(
    r"Nonsensitive attributes alone, from the tables alone: no combination certainly has .*"
    r"|[^:;]+: Of the [\d,]+ possible combinations of [^;]*, none has a count that readers can determine\."
    r"|[\w-]+ \d+: the smallest count is [\d,]+; not binding"
)
"""Whole sentences that say that readers learn nothing; any other is to be looked at."""

_OPEN = re.compile(r"\b(?:not examined|undecided|attested)\b")

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


def cards_of_verdicts(printed: str) -> tuple[ResultCard, ...]:
    """Those of `marginals verify`: one for each verdict, what is said of it being its detail."""
    return _cards(printed, lambda line: (match[1], match["told"]) if (match := _VERDICT.fullmatch(line)) else None)


def cards_of_attacks(printed: str) -> tuple[ResultCard, ...]:
    """Those of `marginals attack`: one for each line that begins at the margin.

    Only where a known sentence says that readers learn nothing, and has no detail, the mark says so too.
    """
    return tuple(
        replace(card, mark="nothing found") if _NOTHING.fullmatch(card.sentence) and not card.detail else card
        for card in _cards(printed, lambda line: None if line.startswith(" ") else (_mark(line), line))
    )


def _mark(line: str) -> str:
    """Of a finding: whether it was not examined, or somebody should look."""
    return "not examined" if _OPEN.search(line) else "look"


def _cards(printed: str, head: Callable[[str], tuple[str, str] | None]) -> tuple[ResultCard, ...]:
    cards: list[ResultCard] = []
    for line in filter(str.strip, printed.splitlines()):
        if (told := head(line)) is not None:
            cards.append(ResultCard(*told, ()))
        elif cards:
            last = cards[-1]
            cards[-1] = ResultCard(last.mark, last.sentence, (*last.detail, line.strip()))
    return tuple(cards)
