"""How CSV files are written: what separates their columns, and in which encoding their characters are.

Whatever the encoding, readers get UTF-8: UTF-8 itself as it is, everything else recoded as it is read.
"""

import codecs
import json
import re
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from importlib.util import find_spec
from io import BufferedReader, RawIOBase
from pathlib import Path
from typing import Any, BinaryIO, cast

from marginals.errors import InputError
from marginals.tables.sources.compressed import LONGEST_HEADER, MOST_COLUMNS, decompressed, reading

SEPARATORS = (",", ";", "\t", "|")
"""What can stand between the columns of a CSV file."""

AUTO = "auto"
"""UTF-8, or what the mark at the beginning of a file says."""

_MARKS = ((codecs.BOM_UTF32_LE, "utf-32"), (codecs.BOM_UTF32_BE, "utf-32"), (codecs.BOM_UTF16_LE, "utf-16"),
          (codecs.BOM_UTF16_BE, "utf-16"))  # fmt: skip
"""The longer ones first: that of UTF-32 begins as that of UTF-16."""

_BLOCK = 1 << 16


@dataclass(frozen=True)
class CsvForm:
    r"""What separates the columns of CSV files, and their encoding: "auto", or one that Python knows by name.

    "auto" is UTF-8, or UTF-16 or UTF-32 where a file begins with their mark. Raises InputError for anything else.

    >>> CsvForm("\t", "cp1252").encoding
    'cp1252'
    """

    separator: str = ","
    encoding: str = AUTO

    def __post_init__(self) -> None:
        if self.separator not in SEPARATORS:
            raise InputError(
                f"the separator of columns is {' or '.join(map(json.dumps, SEPARATORS))}, not {self.separator!r}"
            )
        if not is_encoding(self.encoding):
            raise InputError(
                f'the encoding is "auto", or one of text that Python knows, such as "cp1252", "latin-1" or "utf-16", not '
                f"{self.encoding!r}"
            )

    def recoded_from(self, path: Path) -> str | None:
        """The encoding of a file, None for UTF-8. Raises InputError where the file cannot be read."""
        if self.encoding != AUTO:
            name = codecs.lookup(self.encoding).name
            return None if name in ("utf-8", "utf-8-sig", "ascii") else name
        with reading(path), decompressed(path) as stream:
            begin = stream.read(4)
        return next((name for mark, name in _MARKS if begin.startswith(mark)), None)

    def require_short_header(self, path: Path) -> None:
        """Raise InputError for a first line of a file that is too long, or has too many columns, to be a header."""
        with self.opened(path) as stream:
            begin = stream.read(LONGEST_HEADER + 1)
        line = re.split(rb"[\r\n]", begin.removeprefix(b"\xef\xbb\xbf").lstrip(), maxsplit=1)[0]
        if len(begin) > LONGEST_HEADER and (not line or begin.endswith(line)):
            raise InputError(
                f"the first line of {path.name} is longer than the {LONGEST_HEADER} bytes that are read of a header; it "
                "must be CSV with a header"
            )
        if line.count(self.separator.encode()) >= MOST_COLUMNS:
            raise InputError(
                f"{path.name} has more than the {MOST_COLUMNS} columns that are read; leave out those that are not used"
            )

    @contextmanager
    def opened(self, path: Path) -> Iterator[BinaryIO]:
        """The bytes of a file in UTF-8, decompressed. Errors as those of `decompressed`."""
        encoding = self.recoded_from(path)
        with decompressed(path) as stream:
            if encoding is None:
                yield stream
            else:
                yield cast("BinaryIO", BufferedReader(_Recoded(stream, encoding, path.name), _BLOCK))


def is_encoding(name: object) -> bool:
    """Whether a name is "auto" or that of an encoding of text in which a line break and a comma are themselves.

    >>> [is_encoding(name) for name in ("auto", "cp1252", "rot13", "utf-7", "none")]
    [True, True, False, False, False]
    """
    if name == AUTO:
        return True
    try:
        codec = codecs.lookup(str(name))
        spelled = codecs.encode('a,";\t|\n', codec.name)
        kept = isinstance(spelled, bytes) and codecs.decode(spelled, codec.name) == 'a,";\t|\n'
    except (LookupError, UnicodeError, TypeError, ValueError):
        return False
    return (
        isinstance(name, str)
        and kept
        and codec.name not in ("utf-7", "idna", "punycode")
        and "escape" not in codec.name
    )


COMMAS = CsvForm()
"""What is taken for granted."""


class _Recoded(RawIOBase):
    """The bytes of a stream in UTF-8. Raises InputError, naming the file, for bytes that its encoding does not have."""

    def __init__(self, stream: BinaryIO, encoding: str, name: str) -> None:
        self._stream, self._encoding, self._name = stream, encoding, name
        self._decoder = codecs.getincrementaldecoder(encoding)()
        self._ready = b""
        self._ended = False

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        while not self._ready and not self._ended:
            block = self._stream.read(_BLOCK)
            self._ended = not block
            try:
                self._ready = self._decoder.decode(block, final=self._ended).encode()
            except UnicodeError:
                raise InputError(
                    f"{self._name} is not in {self._encoding}; name another data.encoding, or convert it to UTF-8"
                ) from None
        view = memoryview(buffer).cast("B")
        taken, self._ready = self._ready[: len(view)], self._ready[len(view) :]
        view[: len(taken)] = taken
        return len(taken)


def likely_encoding(path: Path) -> str:
    """The encoding that a CSV file most likely has: "auto" where that reads it, else a guess that people must check.

    Codes of other scripts are told apart by charset-normalizer where it is installed. Of those of Latin letters cp1252,
    that of Windows in Western Europe and America, is taken before others unless words look wrong in it.
    """
    if COMMAS.recoded_from(path) is not None:
        return AUTO
    sample = b""
    decoder = codecs.getincrementaldecoder("utf-8")()
    fits = True
    with reading(path), decompressed(path) as stream:
        while len(sample) < _BLOCK and (block := stream.read(_BLOCK)):
            sample += b"".join(_telling(block))
            if fits:
                fits = _decodes(decoder, block)
        while fits and (block := stream.read(_BLOCK)):
            if not (fits := _decodes(decoder, block)):
                sample = block
    if fits and _decodes(decoder, b"", final=True):
        return AUTO
    sample = b"".join(_telling(sample))[:_BLOCK]
    guess = _best(sample)
    few = sum(byte > 0x7F for byte in sample) < _FEW
    return "cp1252" if (few or guess in _LATIN) and _reads_well(sample, "cp1252") else guess


_FEW = 8
"""Bytes beyond ASCII, fewer of which tell no script."""


def _telling(block: bytes) -> Iterator[bytes]:
    """The lines with bytes beyond ASCII."""
    return (line for line in block.splitlines(keepends=True) if not line.isascii())


_LATIN = ("cp1252", "cp1250", "cp1254", "cp1257", "cp850", "mac_roman")
_OTHERS = ("cp1251", "cp1253", "cp1255", "cp1256", "koi8_r", "shift_jis", "gb18030", "big5", "euc_kr")
"""Encodings of CSV files, as Python calls them."""


def _decodes(decoder: codecs.IncrementalDecoder, block: bytes, final: bool = False) -> bool:
    try:
        decoder.decode(block, final)
    except UnicodeDecodeError:
        return False
    return True


def _best(sample: bytes) -> str:
    if not find_spec("charset_normalizer"):
        return "cp1252"
    from charset_normalizer import from_bytes

    best = from_bytes(sample, cp_isolation=[*_LATIN, *_OTHERS]).best()
    return "cp1252" if best is None else best.encoding


def _reads_well(sample: bytes, encoding: str) -> bool:
    """Whether no word has a sign like ³ or „ inside, or a capital letter that ASCII lacks after a small one."""
    try:
        text = sample.decode(encoding)
    except UnicodeDecodeError:
        return False
    return not _ODD.search(text) and not any(
        before.islower() and after.isupper() and not after.isascii() for before, after in zip(text, text[1:])
    )


_ODD = re.compile("[^\\W\\d_][^\\w\\s\\x00-\\x7f\u2019\xb4\xb7][^\\W\\d_]|[^\\W\\d_m][²³¹]|[²³¹£¥¢][^\\W\\d_]")
"""A letter, a sign other than an apostrophe or a dot, and a letter; or figures and currencies beside letters, but for m²."""
