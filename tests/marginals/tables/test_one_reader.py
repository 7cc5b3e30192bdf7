"""Numbers are read in one module: no other has a pattern that takes a number for one, or has pandas read it."""

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from project import ROOT

HOME = ROOT / "marginals/tables/values.py"
NUMBERS = ("12.5", "1,5", "1,234", "1e5", "-3.25")
"""What is no whole number without signs, which prefixes, places in a file and the like are."""


def texts(path: Path) -> Iterator[str]:
    """The texts in a module that are no docstrings."""
    tree = ast.parse(path.read_text(encoding="utf-8"))
    described = {
        id(node.value) for node in ast.walk(tree) if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)
    }
    for node in ast.walk(tree):
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and id(node) not in described:
            yield node.value


def is_pattern_of_numbers(text: str) -> bool:
    """Whether a text is a regular expression with digits that takes a number for one."""
    if r"\d" not in text and "0-9" not in text:
        return False
    try:
        pattern = re.compile(text)
    except re.error:
        return False
    takes_words = any(pattern.fullmatch(word) for word in ("Anna", "a1.b", "x", "e.n"))
    return not takes_words and any(pattern.fullmatch(number) for number in NUMBERS)


def test_what_a_pattern_of_numbers_is() -> None:
    for pattern in (r"[-+]?[0-9]+(\.[0-9]*)?", r"\d[\d,. ]*%?", r"-?\d+[.,]\d+", r"[0-9][0-9.,]*"):
        assert is_pattern_of_numbers(pattern)
    for pattern in (r"[0-9]{4}-[0-9]{2}", r"0|-?[1-9][0-9]*", r"[A-Za-z0-9._-]+", r"([a-z]+)\d", "[0-9]"):
        assert not is_pattern_of_numbers(pattern)


@pytest.mark.parametrize("path", sorted((ROOT / "marginals").rglob("*.py")), ids=lambda p: str(p.relative_to(ROOT)))
def test_no_other_module_has_a_grammar_of_numbers(path: Path) -> None:
    if path == HOME:
        assert any(map(is_pattern_of_numbers, texts(path)))
        return
    assert [text for text in texts(path) if is_pattern_of_numbers(text)] == []
    tree = ast.parse(path.read_text(encoding="utf-8"))
    called = [node.func for node in ast.walk(tree) if isinstance(node, ast.Call)]
    assert "to_numeric" not in {func.attr for func in called if isinstance(func, ast.Attribute)}
