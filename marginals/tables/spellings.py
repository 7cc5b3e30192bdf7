"""Normal form of a cell, similar spellings, and texts for unknown values.

Every source puts the text of a value into its normal form before any other use (`cell_text`).
"""

import re
import unicodedata
from collections import defaultdict
from collections.abc import Collection, Mapping
from functools import cache, lru_cache

from marginals.tables.words import sections

SPACES = "\u00a0\u1680\u2000\u2001\u2002\u2003\u2004\u2005\u2006\u2007\u2008\u2009\u200a\u202f\u205f\u3000"
UNSEEN = "\u00ad\u180e\u200b\u200e\u200f\u202a\u202b\u202c\u202d\u202e\u2060\u2066\u2067\u2068\u2069\ufeff"
_ONE_BLANK = str.maketrans(dict.fromkeys(SPACES, " ") | dict.fromkeys(UNSEEN, ""))
OUTER = " \t\n\v\f\r\x1c\x1d\x1e\x1f\x85\u2028\u2029\u200c\u200d\u2800\u3164"
BLANKS = SPACES + UNSEEN + OUTER  # texts of these alone are no values


def cell_text(text: str) -> str:
    """Return the normal form of a text: composed (NFC), one kind of blank, without outer blanks and unseen characters."""
    if text.isascii():
        return text.strip()
    return unicodedata.normalize("NFC", text.translate(_ONE_BLANK)).strip(OUTER)


# Letters of other scripts that look like a Latin one, in either case (Unicode Technical Standard 39).
_CYRILLIC = dict(zip("авезіјкмнорсѕтухьԁԛԝһӏ", "abezijkmhopcstyxbdqwhl"))
_GREEK = dict(zip("αβεζηικμνορτυχ", "abezhikmnoptyx"))
_LATIN = str.maketrans({**_CYRILLIC, **_GREEK, "\u0131": "i", "ø": "o", "ł": "l", "đ": "d", "æ": "ae", "œ": "oe"})
_DASHES = re.compile("[\u2010-\u2015\u2212\ufe58\ufe63\uff0d]")
_QUOTES = re.compile("[\u2018\u2019\u201a\u201b\u201c\u201d\u201e\u2032\u00b4`\"']")
_BETWEEN = re.compile(r"(?<=[^\W\d_])[\s_-]+(?=\w)|(?<=\w)[\s_-]+(?=[^\W\d_])")
_ZERO_FRACTION = re.compile(r"([-+]?[0-9]+)[.,]0+")


def folded(text: str) -> str:
    """Return the common form of all spellings of one value: without case, accents, script, hyphens and final dots."""
    plain = unicodedata.normalize("NFKC", text).casefold()
    if not plain.isascii():
        decomposed = unicodedata.normalize("NFKD", plain)
        plain = "".join(c for c in decomposed if unicodedata.category(c) not in ("Mn", "Cf")).translate(_LATIN)
        plain = _DASHES.sub("-", plain)
    plain = " ".join(_QUOTES.sub("", plain).split())
    if match := _ZERO_FRACTION.fullmatch(plain):
        return match[1]
    if len(plain) > 1 and plain[-1] in ".,;:!" and plain[-2].isalnum():
        plain = plain[:-1]
    return _BETWEEN.sub("", plain) or text


def respelled(rows_of: Mapping[str, int], preferred: Collection[str] = ()) -> dict[str, str]:
    """Map each text to a more frequent spelling of it, if there is one. `preferred`: texts that win."""
    alike: dict[str, list[str]] = defaultdict(list)
    for text in sorted(rows_of):
        alike[folded(text)].append(text)
    named: dict[str, str] = {}
    for texts in alike.values():
        if len(texts) > 1:
            name = max(texts, key=lambda text: (text in preferred, rows_of[text]))
            named |= {text: name for text in texts if text != name}
    return named


_SIGNS = re.compile(r"[?.\-\u2010-\u2015\u2026_/'\"()\[\]{}<>#~\s]*|#[A-Z0-9/]+[!?]")
_OR = re.compile(r"[/,;|()\[\]&]+|\b(?:or|and|oder|und|ou|et|o|y|e|of|en|lub)\b", re.IGNORECASE)
_LONGEST = 60


@lru_cache(1 << 17)  # asked several times of each value of a column
def says_nothing(text: str) -> bool:
    """Return whether a text says that a value is not known, was refused or not asked for, in one of several languages."""
    if len(text) > _LONGEST or text.isdecimal():
        return False
    text = text if text.isascii() else unicodedata.normalize("NFKC", text)
    if _SIGNS.fullmatch(text) or _is_nothing(text):
        return True
    parts = [part for part in _OR.split(text) if part.strip()]
    return len(parts) > 1 and all(map(_is_nothing, parts))


def _is_nothing(text: str) -> bool:
    plain = _BETWEEN_WORDS.sub("_", without_accents(text)).strip("_")
    return plain in _nothing() or _CODES.sub("", plain) in _nothing()


_BETWEEN_WORDS, _CODES = re.compile(r"\W+|_+"), re.compile(r"^(?:[0-9]+_)+|(?:_[0-9]+)+$")


def without_accents(text: str) -> str:
    """Return a text in lower case, with the Latin letter that each letter with an accent is written as or looks like."""
    if text.isascii():
        return text.casefold()
    decomposed = unicodedata.normalize("NFKD", text.casefold())
    return "".join(c for c in decomposed if not unicodedata.combining(c)).translate(_LATIN)


@cache
def _nothing() -> frozenset[str]:
    return frozenset(map(without_accents, sections()["nothing"]["words"].split()))


def nothing_among(texts: Collection[str]) -> frozenset[str]:
    """Return those of the values of a column that are texts for unknown values; a minus beside a plus is a result."""
    texts_for_nothing = [text for text in texts if says_nothing(text)]
    has_plus = any("-" in text or "\u2212" in text for text in texts_for_nothing) and any("+" in text for text in texts)
    return frozenset(text for text in texts_for_nothing if not (has_plus and text and not text.strip("-\u2212\u2013")))
