"""All sentences for people, in one golden file per surface: `tests/words`. `make words` writes the files anew."""

import os
from pathlib import Path

import pytest

import word_cases
import words


@pytest.mark.parametrize("part", word_cases.PARTS)
def test_the_program_says_what_the_golden_files_show(part: str, tmp_path: Path) -> None:
    texts = words.section_texts(word_cases.PARTS[part](words.Stage(tmp_path)))
    if "MARGINALS_WORDS" in os.environ:
        words.renew(part, texts, list(word_cases.PARTS))
    difference = words.differences(part, texts)
    assert not difference, f"{difference}\n\nIf these words are meant, `make words` writes them to tests/words."
