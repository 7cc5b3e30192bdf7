"""What the words of a name, a description or a value are about, by the table of words."""

import re
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache, lru_cache

from marginals.tables.attribute import Column, Role, words_in_order
from marginals.tables.words import sections

_SHORTEST = 5
"""Letters of a word, at least, of which the end tells something: `hhninc`, not `inc` in `zinc`."""

_WORD = re.compile(r"[^\W\d_]+")

_SIGNS = "$€£¥"
_MONEY = re.compile(
    r"-?(([$€£¥]|(usd|eur|gbp|chf|pln)\b) ?-?[\d., ]+k?|[\d., ]+([$€£¥k]|euros?|zł|zl|chf|pln|eur|usd|gbp))"
    r"( ?(-|to|and) ?.*|\+)?"
)
"""An amount with the sign of a currency, or a stretch that begins with one."""

_RATINGS = frozenset({"poor", "bad", "fair", "good", "excellent", "very good", "very poor", "very bad"})


@dataclass(frozen=True)
class Meaning:
    """What a column is about. word: what says so. is_sure: whether it hardly means anything else.

    default: the role of a column of which it is not sure.
    """

    about: str
    word: str
    is_sure: bool = True
    default: Role = Role.SENSITIVE


@dataclass(frozen=True)
class Kind:
    """One kind of what nobody should learn about a person, and the words that tell it; as in the table of words."""

    about: str
    words: frozenset[str]
    pairs: tuple[frozenset[str], ...]
    begins: tuple[str, ...]
    ends: tuple[str, ...]
    short: tuple[str, ...]
    values: tuple[str, ...]
    maybe: frozenset[str]
    excluded: frozenset[str]
    texts: frozenset[str]
    default: Role
    pervades: bool
    is_absence_harmless: bool

    @classmethod
    def of(cls, entry: Mapping[str, str]) -> "Kind":
        """A section of the table."""
        words, begins, ends, short, values = (
            tuple(entry.get(key, "").split()) for key in ("words", "begins", "ends", "short", "values")
        )
        maybe, excluded, texts = (frozenset(entry.get(key, "").split()) for key in ("maybe", "not", "texts"))
        return cls(
            entry["about"],
            *_single_and_pairs(words),
            begins,
            ends,
            short,
            values,
            maybe,
            excluded,
            texts,
            Role(entry.get("default", Role.SENSITIVE.value)),
            entry.get("pervades") == "yes",
            entry.get("absence") == "harmless",
        )

    def sure_word(self, words: Sequence[str]) -> str:
        """The word among some that tells this kind; empty where none does."""
        word_set = set(words)
        if word_set & self.excluded:
            return ""
        for pair in self.pairs:
            if pair <= word_set:
                return " ".join(word for word in words if word in pair)
        for word in words:
            ends = len(word) >= _SHORTEST and bool(self.ends) and word.endswith(self.ends)
            begins = bool(self.begins) and word.startswith(self.begins)
            if word in self.words or begins or ends or any(_abbreviates(word, stem) for stem in self.short):
                return word
        return ""

    def likely_word(self, words: Sequence[str]) -> str:
        """The word among some that may tell this kind; empty where none does."""
        if set(words) & self.excluded:
            return ""
        longer = [stem for stem in self.maybe if len(stem) >= _LONG_ENOUGH - 1]
        near = (word for word in words if word in self.maybe or any(_abbreviates(word, stem) for stem in longer))
        return next(near, "")


_LONG_ENOUGH = 5
"""Letters of an abbreviation that may have a single letter before it."""


@cache
def _around(length: int) -> re.Pattern[str]:
    said: dict[str, str] = sections()["abbreviations"]
    whose, letters, after = ("|".join(said[key].split()) for key in ("before", "letters", "after"))
    before = f"({whose}|{letters})*" if length >= _LONG_ENOUGH else f"(({letters})?({whose})+)?"
    return re.compile(f"{before}0({after}){{0,2}}")


def _abbreviates(word: str, stem: str) -> bool:
    if stem not in word or (word != stem and word in _common()):
        return False
    return _around(len(stem)).fullmatch(word.replace(stem, "0", 1)) is not None


@cache
def _common() -> frozenset[str]:
    return frozenset(sections()["common"]["words"].split()) | _recognizable()[0]


@cache
def _cut_short(word: str) -> str:
    if len(word) < _SHORTEST or any(common.startswith(word) for common in _common()):
        return ""
    return next(
        (kind.about for kind in kinds() if any(sure != word and sure.startswith(word) for sure in kind.words)), ""
    )


@cache
def kinds() -> tuple[Kind, ...]:
    """All kinds, in the order of the table."""
    return tuple(map(Kind.of, sections()["kinds"].values()))


@cache
def _recognizable() -> tuple[frozenset[str], tuple[frozenset[str], ...]]:
    return _single_and_pairs(sections()["recognizable"]["words"].split())


def _single_and_pairs(words: Iterable[str]) -> tuple[frozenset[str], tuple[frozenset[str], ...]]:
    """The words that stand alone, and those that tell something together, in whatever order: `net+income`."""
    parts = [frozenset(word.split("+")) for word in words]
    return frozenset(word for part in parts if len(part) == 1 for word in part), tuple(p for p in parts if len(p) > 1)


@lru_cache(maxsize=10_000)
def meaning_of(text: str) -> Meaning | None:
    """What a name or a description says that nobody should learn about a person, or may say; None where it says nothing."""
    words = words_in_order(text)
    for kind in kinds():
        if word := kind.sure_word(words):
            return Meaning(kind.about, word)
    for kind in kinds():
        if word := kind.likely_word(words):
            return Meaning(kind.about, word, is_sure=False, default=kind.default)
    for word in words:
        if about := _cut_short(word):
            return Meaning(about, word, is_sure=False)
    return None


def is_recognizable(text: str) -> bool:
    """Whether a name says that it is something by which people are recognized, such as their age, job or town."""
    words, (single, pairs) = set(words_in_order(text)), _recognizable()
    return bool(words & single) or any(pair <= words for pair in pairs) or any(map(_is_near_recognizable, words))


@cache
def _is_near_recognizable(word: str) -> bool:
    single = _recognizable()[0]
    begins = len(word) >= _LONG_ENOUGH and any(whole.startswith(word) for whole in single)
    return begins or any(_abbreviates(word, stem) for stem in single if len(stem) < len(word))


def meaning_of_values(column: Column, labels: Collection[str] = ()) -> Meaning | None:
    """What the values of at least half the rows are, where nobody should learn it about a person; None for anything else.

    labels: what the values are labelled, where they are codes.
    """
    if len(column.values) < 2:
        return None
    texts = [value.lower() for value in (labels or column.values)]
    if not any(any(c.isalpha() or c in _SIGNS for c in text) for text in texts):
        return None
    weights = [1] * len(texts) if labels else column.counts.tolist()
    if len(_RATINGS & set(texts)) >= 2 and {"poor", "bad"} & {word for text in texts for word in text.split()}:
        return Meaning("ratings, as of health", "", is_sure=False)
    if 2 * sum(weight for text, weight in zip(texts, weights) if _MONEY.fullmatch(text)) >= sum(weights) > 0:
        return Meaning("amounts of money", "", is_sure=False)
    spoken = [(text, _WORD.findall(text), weight) for text, weight in zip(texts, weights) if _WORD.search(text)]
    for kind in kinds():
        told = sum(
            weight
            for text, words, weight in spoken
            if text in kind.texts or any(word.startswith(kind.values) or word in kind.texts for word in words)
        )
        if 2 * told >= sum(weights) > 0:
            return Meaning(kind.about, "")
    return None


def harmless_values(name: str, description: str, about: Meaning | None, meanings: Mapping[str, str]) -> tuple[str, ...]:
    """Return the values of a sensitive column that say that somebody lacks something, if lacking it harms nobody."""
    said, words = {key: tuple(text.split()) for key, text in sections()["absence"].items()}, set(words_in_order(name))

    def reverses(word: str) -> bool:
        return word.startswith(said["harmful"]) or word.endswith(said["ends"]) or word in said["begins"]

    def lacks(meaning: str, absent: Collection[str]) -> bool:
        spoken = words_in_order(meaning)
        if not spoken:
            return meaning == "0" and not is_test
        rest = spoken[1:]
        begins = bool(rest) and not is_test and spoken[0] in said["begins"]
        return (len(spoken) == 1 and spoken[0] in absent) or (
            begins and not any(reverses(word) or word in said["values"] for word in rest)
        )

    is_kind = any(kind.is_absence_harmless for kind in kinds() if about and about.is_sure and kind.about == about.about)
    single, pairs = _single_and_pairs(said["amounts"])
    is_amount = bool(words & single) or any(pair <= words for pair in pairs)
    is_test = not (is_kind or is_amount)
    if any(map(reverses, words | {*words_in_order(description)})) or (is_test and not words & {*said["tests"]}):
        return ()
    return tuple(
        value for value, meaning in meanings.items() if lacks(meaning, said["negative" if is_test else "values"])
    )
