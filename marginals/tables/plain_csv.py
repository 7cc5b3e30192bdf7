"""Plain CSV: lines of fields without quotes, found by where their separators stand, so that no field becomes an object.

A file of a million cells is read in a second this way. Whatever is not as plain as that is left to a general reader.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from models.arrays import BoolArray, CountArray, IndexArray

_COMMA, _NEWLINE = b",\n"
_BLOCK = 1 << 22
"""Bytes that are worked on at a time."""

_WORD = 8
"""Bytes that are compared at a time."""

_LONGEST = 1024
"""Bytes of a field beyond which a file is not plain."""

_MOST_BYTES = 1 << 26
"""Of labels, each as long as the longest."""


class NotPlainError(Exception):
    """Something that only a general reader can read."""


Words = NDArray[np.uint64]


@dataclass(frozen=True, eq=False)
class PlainRows:
    """Some rows of a file. text: their bytes, and `_WORD` more. starts, lengths: of the fields, shape (rows, columns)."""

    text: NDArray[np.uint8]
    starts: IndexArray
    lengths: IndexArray

    def __len__(self) -> int:
        """Number of rows."""
        return len(self.starts)

    def codes(self, column: int, labels: "Labels") -> IndexArray:
        """The place of each field of a column among some labels, -1 where it is none of them: shape (rows,)."""
        words = [self._words(column, part) for part in range(labels.parts)]
        places = np.minimum(np.searchsorted(labels.keys, _key(words)), len(labels.keys) - 1)
        found: BoolArray = self.lengths[:, column] <= labels.parts * _WORD
        for known, word in zip(labels.words, words):
            found &= known[places] == word
        return np.where(found, labels.order[places], -1)

    def counts(self, column: int, digits: int) -> CountArray:
        """Whole numbers from 1 on, without leading zeros, of so many digits at most; -1 where a field is none."""
        lengths = self.lengths[:, column]
        totals = np.zeros(len(self), dtype=np.int64)
        valid: BoolArray = (lengths > 0) & (lengths <= digits)
        for place in range(min(int(lengths.max(initial=0)), digits)):
            digit = self.text[np.minimum(self.starts[:, column] + place, len(self.text) - 1)].astype(np.int64) - ord(
                "0"
            )
            inside = place < lengths
            valid &= ~inside | ((digit >= (0 if place else 1)) & (digit <= 9))
            totals = np.where(inside, totals * 10 + digit, totals)
        return np.where(valid, totals, -1)

    def _words(self, column: int, part: int) -> Words:
        """So many times eight bytes into each field the next eight, 0 beyond its end."""
        windows = np.ndarray((len(self.text) - _WORD + 1,), "<u8", self.text, strides=(1,))
        left = np.clip(self.lengths[:, column] - part * _WORD, 0, _WORD)
        places = np.minimum(self.starts[:, column] + part * _WORD, len(windows) - 1)
        return windows[places] & _MASKS[left]


_MASKS: Words = np.array([(1 << 8 * length) - 1 for length in range(_WORD + 1)], dtype=np.uint64)


class Labels:
    """Labels that fields are looked up in: by a key of all their bytes, and then compared byte by byte.

    Raises NotPlainError where two labels have the same key, for NUL in a label, and for labels that are too long together.
    """

    def __init__(self, labels: Sequence[str]) -> None:
        encoded = [label.encode() for label in labels]
        longest = max(map(len, encoded), default=0)
        if any(b"\0" in label for label in encoded) or longest * len(encoded) > _MOST_BYTES or not encoded:
            raise NotPlainError
        self.parts = max(1, -(-longest // _WORD))
        width = self.parts * _WORD
        laid_out = np.frombuffer(b"".join(label.ljust(width, b"\0") for label in encoded), dtype="<u8")
        words = list(laid_out.reshape(len(encoded), self.parts).T)
        keys = _key(words)
        self.order = np.argsort(keys, kind="stable")
        self.keys = keys[self.order]
        self.words = [word[self.order] for word in words]
        if np.any(self.keys[1:] == self.keys[:-1]):
            raise NotPlainError


def _key(words: Sequence[Words]) -> Words:
    """One number for several: equal for equal ones, and rarely for others."""
    key = words[0]
    for word in words[1:]:
        key = key * np.uint64(0x9E3779B97F4A7C15) ^ (key >> np.uint64(29)) ^ word
    return key


def plain_rows(content: bytes, columns: int) -> Iterator[PlainRows]:
    """The rows of a CSV file after its header, in blocks. Raises NotPlainError where it is not plain.

    Plain means: UTF-8 without quotes, carriage returns and NUL, each line, the header too, of so many columns, and no field
    longer than a kilobyte.
    """
    if any(byte in content for byte in (b'"', b"\r", b"\0")):
        raise NotPlainError
    if not content.endswith(b"\n"):
        content += b"\n"
    blocks = list(_blocks(content))
    if not all(_is_plain(content, block, columns) for block in blocks):
        raise NotPlainError
    return _rows(content, blocks, columns)


def _blocks(content: bytes) -> Iterator[tuple[int, int]]:
    """Begin and end of parts of whole lines."""
    begin = 0
    while begin < len(content):
        end = content.rfind(b"\n", begin, begin + _BLOCK) + 1 or content.find(b"\n", begin) + 1
        yield begin, end
        begin = end


def _separators(content: bytes, block: tuple[int, int]) -> tuple[NDArray[np.uint8], IndexArray]:
    text = np.frombuffer(content, dtype=np.uint8, count=block[1] - block[0], offset=block[0])
    return text, np.flatnonzero((text == _COMMA) | (text == _NEWLINE))


def _is_plain(content: bytes, block: tuple[int, int], columns: int) -> bool:
    try:
        content[slice(*block)].decode()
    except UnicodeDecodeError:
        return False
    text, separators = _separators(content, block)
    if len(separators) % columns or np.diff(separators, prepend=-1).max() > _LONGEST:
        return False
    kinds = text[separators].reshape(-1, columns)
    return bool((kinds[:, -1] == _NEWLINE).all() and (kinds[:, :-1] == _COMMA).all())


def _rows(content: bytes, blocks: Sequence[tuple[int, int]], columns: int) -> Iterator[PlainRows]:
    for number, block in enumerate(blocks):
        text, separators = _separators(content, block)
        starts = np.concatenate(([0], separators[:-1] + 1))
        padded = np.concatenate((text, np.zeros(_WORD, dtype=np.uint8)))
        lengths = (separators - starts).reshape(-1, columns)
        header = 0 if number else 1
        yield PlainRows(padded, starts.reshape(-1, columns)[header:], lengths[header:])
