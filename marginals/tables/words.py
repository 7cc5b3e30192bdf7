"""Words of `words.toml`, which tell the topic of a column."""

import re
import tomllib
from functools import cache, partial
from pathlib import Path
from typing import Any


@cache
def sections() -> dict[str, Any]:
    """Return all sections of the table of words."""
    return tomllib.loads(Path(__file__).with_name("words.toml").read_text(encoding="utf-8"))


@cache
def _words(section: str, *keys: str) -> frozenset[str]:
    return frozenset(word for key in keys for word in sections()[section][key].split())


people_words, column_words = partial(_words, "people"), partial(_words, "columns")  # of some keys of a section


@cache
def column_pattern(key: str) -> re.Pattern[str]:
    """Return a pattern of the words of a key of the section [columns], in their order."""
    return re.compile("|".join(sections()["columns"][key].split()))
