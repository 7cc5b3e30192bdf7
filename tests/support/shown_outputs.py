"""What a page shows of an output, held against the output."""

import doctest
import re
from collections.abc import Mapping

SHOWN = re.compile(r"```text\n(.*?)```", re.DOTALL)


def is_shown(lines: str, printed: str) -> bool:
    """Whether the lines of a page stand in the output, whole and in this order; only a line `...` leaves some out."""
    parts = lines.rstrip("\n").split("\n...")
    pattern = r"\n(?:.*\n)*?".join(re.escape(part.lstrip("\n")) for part in parts)
    return re.search(rf"(?m)^{pattern}$", printed) is not None


def wrong_answers(session: str, names: Mapping[str, object], page: str) -> str:
    """What a Python session of a page answers otherwise than the page shows; empty if all is as shown.

    `...` leaves out a part of a line, and blanks count as one.
    """
    differences: list[str] = []
    runner = doctest.DocTestRunner(optionflags=doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE)
    runner.run(doctest.DocTestParser().get_doctest(session, dict(names), page, page, 0), out=differences.append)
    return "".join(differences)
