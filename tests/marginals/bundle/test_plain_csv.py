"""Plain files are read as the csv module reads them, field by field; all others are left to it."""

import csv
import io

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from marginals.bundle import reading
from marginals.bundle.reading import Labels, NotPlainError, plain_rows

PLAIN = st.text(st.sampled_from("ab0139é€ x"), max_size=20)
FIELDS = st.text(st.sampled_from('ab0139é€,"\r\n\0 x'), max_size=20)
COUNTS = st.integers(0, 10**17).map(str) | st.sampled_from(["", "01", "+1", "1.0", "-1", " 1", "\u0661"])


def general(content: bytes) -> list[list[str]]:
    return list(csv.reader(io.StringIO(content.decode(), newline=""), strict=True))


@settings(max_examples=300)
@given(
    st.lists(st.tuples(PLAIN, PLAIN, COUNTS), min_size=1, max_size=12)
    | st.lists(st.tuples(FIELDS, FIELDS, COUNTS), min_size=1, max_size=12),
    st.lists(PLAIN | FIELDS, min_size=1, max_size=12, unique=True),
    st.booleans(),
    st.integers(1, 64),
)
@example([("a", "é", "1"), ("aaaaaaaab", "b", "12")], ["a", "aaaaaaaab", "é", "b"], True, 8)
def test_fields_are_those_of_the_csv_module(
    rows: list[tuple[str, str, str]], labels: list[str], ends: bool, block: int
) -> None:
    content = "".join(",".join(row) + "\n" for row in [("first", "second", "count"), *rows]).encode()
    content = content if ends else content[:-1]
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(reading, "_BLOCK", block)
        try:
            blocks = list(plain_rows(content, 3))
            known = Labels(labels)
        except NotPlainError:
            return
        expected = general(content)[1:]
        assert sum(map(len, blocks)) == len(expected)
        for column in (0, 1):
            codes = np.concatenate([part.codes(column, known) for part in blocks]).tolist()
            assert codes == [labels.index(row[column]) if row[column] in labels else -1 for row in expected]
        counts = np.concatenate([part.counts(2, 15) for part in blocks]).tolist()
        assert counts == [
            int(c) if c.isascii() and c.isdigit() and c[0] != "0" and len(c) < 16 else -1 for *_, c in expected
        ]


@pytest.mark.parametrize(
    "content",
    [
        b'a,"b",c\n',
        b"a,b,c\r\n",
        b"a,b\0,c\n",
        b"a,b\n",
        b"a,b,c,d\n",
        b"a,b,c\n\n",
        b"a\n,b,c\n",
        b"a,b,\xff\n",
        b"a,b,c" * 999,
    ],
)
def test_what_is_not_plain_is_left_to_others(content: bytes) -> None:
    with pytest.raises(NotPlainError):
        plain_rows(b"x,y,z\n" + content, 3)


@pytest.mark.parametrize("labels", [["a\0"], ["a", "x" * (1 << 26)], []])
def test_labels_that_cannot_be_laid_out_are_left_to_others(labels: list[str]) -> None:
    with pytest.raises(NotPlainError):
        Labels(labels)


def test_labels_with_the_same_key_are_left_to_others(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(reading, "_key", lambda words: words[0] * 0)
    with pytest.raises(NotPlainError):
        Labels(["a", "b"])
