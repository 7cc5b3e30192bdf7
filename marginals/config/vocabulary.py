"""Topics of the words of a name, a description or a value, by the table of words."""

import re
from collections.abc import Collection, Iterable, Mapping, Sequence
from functools import cache, lru_cache
from typing import Any

from marginals.tables.attribute import ColumnTexts, Role, words_in_order
from marginals.tables.words import sections
from models.frozen import frozen

_SHORTEST_WITH_AN_END = 5

_WORD = re.compile(r"[^\W\d_]+")

_SIGNS = "$€£¥"
# An amount with the sign of a currency, or a stretch that begins with one.
_MONEY = re.compile(
    r"-?(([$€£¥]|(usd|eur|gbp|chf|pln)\b) ?-?[\d., ]+k?|[\d., ]+([$€£¥k]|euros?|zł|zl|chf|pln|eur|usd|gbp))"
    r"( ?(-|to|and) ?.*|\+)?"
)

_RATINGS = frozenset({"poor", "bad", "fair", "good", "excellent", "very good", "very poor", "very bad"})


@frozen
class Topic:
    """Topic of a column, and the word that says so. default: the role of a column of which that is not sure."""

    about: str
    word: str
    is_sure: bool = True
    default: Role = Role.SENSITIVE


@frozen
class TopicWords:
    """Topic of the table of words, which explains these keys."""

    about: str
    words: tuple[str, ...] = ()
    begins: tuple[str, ...] = ()
    ends: tuple[str, ...] = ()
    short: tuple[str, ...] = ()
    values: tuple[str, ...] = ()
    maybe: tuple[str, ...] = ()
    excluded: tuple[str, ...] = ()
    texts: tuple[str, ...] = ()
    default: str = Role.SENSITIVE.value
    pervades: str = ""
    absence: str = ""

    def sure_word(self, words: Sequence[str]) -> str:
        """Return the word among some that tells this topic; empty if none does."""
        if not {*words}.isdisjoint(self.excluded):
            return ""
        if pair := _pair_among(words, self.words):
            return " ".join(word for word in words if word in pair)
        for word in words:
            is_end = len(word) >= _SHORTEST_WITH_AN_END and word.endswith(self.ends)
            if word in self.words or is_end or word.startswith(self.begins) or _abbreviated(word, self.short):
                return word
        return ""

    def likely_word(self, words: Sequence[str]) -> str:
        """Return the word among some that may tell this topic; empty if none does."""
        if not {*words}.isdisjoint(self.excluded):
            return ""
        longer = [stem for stem in self.maybe if len(stem) >= _SHORTEST_BEHIND_A_LETTER - 1]
        return next((word for word in words if word in self.maybe or _abbreviated(word, longer)), "")


def _pair_among(words: Iterable[str], pairs: Iterable[str]) -> set[str]:
    """Return the first of some pairs of words, such as `net+income`, both of which are among others."""
    return next((pair for text in pairs if "+" in text and (pair := {*text.split("+")}) <= {*words}), set())


_SHORTEST_BEHIND_A_LETTER = 5


@cache
def _around(length: int) -> re.Pattern[str]:
    entry: dict[str, str] = sections()["abbreviations"]
    whose, letters, after = ("|".join(entry[key].split()) for key in ("before", "letters", "after"))
    before = f"({whose}|{letters})*" if length >= _SHORTEST_BEHIND_A_LETTER else f"(({letters})?({whose})+)?"
    return re.compile(f"{before}0({after}){{0,2}}")


def _abbreviated(word: str, stems: Iterable[str]) -> bool:

    def is_around(stem: str) -> bool:
        if stem not in word or (word != stem and word in _common()):
            return False
        return _around(len(stem)).fullmatch(word.replace(stem, "0", 1)) is not None

    return any(map(is_around, stems))


@cache
def _common() -> frozenset[str]:
    return frozenset((*sections()["common"]["words"].split(), *_recognizable()))


@cache
def _cut_short(word: str) -> str:
    if len(word) < _SHORTEST_WITH_AN_END or any(common.startswith(word) for common in _common()):
        return ""
    sure_words = ((kind.about, sure) for kind in kinds() for sure in kind.words if "+" not in sure)
    return next((about for about, sure in sure_words if sure.startswith(word) and sure != word), "")


@cache
def kinds() -> tuple[TopicWords, ...]:
    """Return all topics, in the order of the table."""

    def kind(entry: Mapping[str, str]) -> TopicWords:
        single = {"about", "default", "pervades", "absence"}
        values: dict[str, Any] = {k: text if k in single else tuple(text.split()) for k, text in entry.items()}
        return TopicWords(**values)

    return tuple(map(kind, sections()["kinds"].values()))


@cache
def _recognizable() -> tuple[str, ...]:
    return tuple(sections()["recognizable"]["words"].split())


@lru_cache(maxsize=10_000)
def meaning_of(text: str) -> Topic | None:
    """Return the sensitive topic of a name or a description, sure or not; None if there is none."""
    words = words_in_order(text)
    for kind in kinds():
        if word := kind.sure_word(words):
            return Topic(kind.about, word)
    for kind in kinds():
        if word := kind.likely_word(words):
            return Topic(kind.about, word, is_sure=False, default=Role(kind.default))
    for word in words:
        if about := _cut_short(word):
            return Topic(about, word, is_sure=False)
    return None


def is_recognizable(text: str) -> bool:
    """True if people are recognized by what a name says, such as their age, job or town."""
    words = words_in_order(text)
    return bool(_pair_among(words, _recognizable())) or any(map(_is_recognizable_word, words))


@cache
def _is_recognizable_word(word: str) -> bool:
    single = [text for text in _recognizable() if "+" not in text]
    begins = len(word) >= _SHORTEST_BEHIND_A_LETTER and any(text.startswith(word) for text in single)
    return word in single or begins or _abbreviated(word, [text for text in single if len(text) < len(word)])


def meaning_of_values(column: ColumnTexts, labels: Collection[str] = ()) -> Topic | None:
    """Return the sensitive topic of the values of at least half the rows; None if there is none. labels: of codes."""
    if len(column.values) < 2:
        return None
    texts = [value.lower() for value in (labels or column.values)]
    if not any(c.isalpha() or c in _SIGNS for c in {*"".join(texts)}):
        return None
    weights = [1] * len(texts) if labels else column.counts.tolist()
    if len(_RATINGS & set(texts)) >= 2 and {"poor", "bad"} & {word for text in texts for word in text.split()}:
        return Topic("ratings, as of health", "", is_sure=False)
    if 2 * sum(weight for text, weight in zip(texts, weights) if _MONEY.fullmatch(text)) >= sum(weights) > 0:
        return Topic("amounts of money", "", is_sure=False)
    spoken = [(text, _WORD.findall(text), weight) for text, weight in zip(texts, weights) if _WORD.search(text)]
    for kind in kinds():
        weight_of_kind = sum(
            weight
            for text, words, weight in spoken
            if text in kind.texts or any(word.startswith(kind.values) or word in kind.texts for word in words)
        )
        if 2 * weight_of_kind >= sum(weights) > 0:
            return Topic(kind.about, "")
    return None


def harmless_values(name: str, description: str, about: Topic | None, meanings: Mapping[str, str]) -> tuple[str, ...]:
    """Return the values of a sensitive column that say that somebody lacks something, if lacking it harms nobody."""
    entry, words = {key: tuple(text.split()) for key, text in sections()["absence"].items()}, set(words_in_order(name))

    def reverses(word: str) -> bool:
        return word.startswith(entry["harmful"]) or word.endswith(entry["ends"]) or word in entry["begins"]

    def lacks(meaning: str, absent: Collection[str]) -> bool:
        spoken = words_in_order(meaning)
        if not spoken:
            return meaning == "0" and not is_test
        rest = spoken[1:]
        begins = bool(rest) and not is_test and spoken[0] in entry["begins"]
        return (len(spoken) == 1 and spoken[0] in absent) or (
            begins and not any(reverses(word) or word in entry["values"] for word in rest)
        )

    sure = about.about if about and about.is_sure else None
    is_kind = any(kind.absence == "harmless" and kind.about == sure for kind in kinds())
    is_amount = not words.isdisjoint(entry["amounts"]) or bool(_pair_among(words, entry["amounts"]))
    is_test = not (is_kind or is_amount)
    if any(map(reverses, words | {*words_in_order(description)})) or (is_test and not words & {*entry["tests"]}):
        return ()
    absent = entry["negative" if is_test else "values"]
    return tuple(value for value, meaning in meanings.items() if lacks(meaning, absent))
