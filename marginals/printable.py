"""Text of strangers, shown without obeying it: labels and file names of a bundle may hold terminal escapes."""

import textwrap

_LONGEST = 1000
"""Characters that a sentence shows; a label may have a million."""


def printable(text: str) -> str:
    r"""One line in which control, formatting and unassigned characters stand as escapes, and which has an end.

    >>> printable("red: \x1b[31m, two" + chr(10) + "lines")
    'red: \\x1b[31m, two\\nlines'
    """
    escaped = "".join(c if c.isprintable() else c.encode("unicode_escape").decode() for c in text[: _LONGEST + 1])
    return escaped if len(text) <= _LONGEST else escaped[:_LONGEST] + "..."


LONGEST_WORDS = 200
"""Characters of a title or a description."""


def is_words(text: object) -> bool:
    """Whether something is one line of text that can be printed as it is, as titles, descriptions and labels are.

    >>> is_words("body mass index"), is_words("two" + chr(10) + "lines"), is_words("")
    (True, False, True)
    """
    return isinstance(text, str) and text.isprintable() and len(text) <= LONGEST_WORDS


def wrapped(line: str, width: int) -> str:
    r"""A line as several of no more than so many characters, the later ones further in, words left whole.

    >>> print(wrapped("  one class: a part of it is small", 20))
      one class: a part
        of it is small
    """
    begin = line[: len(line) - len(line.lstrip())]
    return textwrap.fill(
        line, max(width, 20), subsequent_indent=begin + "  ", break_long_words=False, break_on_hyphens=False
    )
