"""Words of `words.toml`, which tell the topic of a column."""

import re
import tomllib
from functools import cache
from pathlib import Path
from typing import Any


@cache
def sections() -> dict[str, Any]:
    """Return all sections of the table of words."""
    return tomllib.loads(Path(__file__).with_name("words.toml").read_text(encoding="utf-8"))


@cache
def people_words(*keys: str) -> frozenset[str]:
    """Return the words of some keys of the section [people]."""
    return frozenset(word for key in keys for word in sections()["people"][key].split())


@cache
def column_words(*keys: str) -> frozenset[str]:
    """Return the words of some keys of the section [columns]."""
    return frozenset(word for key in keys for word in sections()["columns"][key].split())


@cache
def column_pattern(key: str) -> re.Pattern[str]:
    """Return a pattern of the words of a key of the section [columns], in their order."""
    return re.compile("|".join(sections()["columns"][key].split()))
