"""Questions of `init` to whoever knows the table, and guesses that nobody has confirmed yet."""

import re
from collections.abc import Iterable, Iterator, Mapping
from textwrap import wrap

from marginals.config import UNKNOWN
from marginals.messages import one_line
from marginals.names import column_name, quoted
from marginals.tables.attribute import Attribute, Role
from models.frozen import frozen

_MOST_ASKED = 6  # columns of one question: of more nobody thinks of each

NOT_REVIEWED = """\
# Nobody has confirmed the roles below yet, and publish says so. Once you have looked at all of them: true.
reviewed = false
"""


@frozen
class Inquiry:
    """A question about some columns, or all, and the reason for it.

    role: until it is answered; of identifiers it is asked whose rows these are, and without a role about the values.
    """

    columns: tuple[str, ...]
    reason: str
    role: Role | None

    def __str__(self) -> str:
        if self.role is Role.IDENTIFIER:
            return (
                f"Whose rows are these? {self.reason} If each row is a person of its own, write rows_per_person = 1. Until "
                "you say so, promises count rows, not people."
            )
        columns, reason = ", ".join(map(column_name, self.columns)), f"{self.reason[:1].upper()}{self.reason[1:]}."
        if self.role is None:
            return f"{columns}: {self.reason}." if self.columns else f"{self.reason}."
        if not self.role.is_used:
            one = len(self.columns) == 1
            return f"{columns}: shall {'it' if one else 'they'} stay left out? {reason}"
        if self.reason == UNKNOWN and len(self.columns) > 1:
            return (
                f"{columns}: is one of these, whose names say nothing that this program knows, something that nobody should "
                "learn about a person? Until you say yes: quasi-identifiers."
            )
        taken = f"Until you say {'no' if self.role is Role.SENSITIVE else 'yes'}: {self.role.value}"
        return f"{columns}: is that something that nobody should learn about a person? {reason} {taken}."


def questions_of(entries: Iterable[tuple[str, str, Role | None]]) -> list[Inquiry]:
    """Return questions by reason and role, of few columns at once, those without evidence last."""
    groups: dict[tuple[str, Role | None], list[str]] = {}
    for name, reason, role in entries:
        if reason:
            groups.setdefault((reason, role), []).append(name)
    ordered = sorted(groups.items(), key=lambda group: group[0][0] == UNKNOWN)
    return [
        Inquiry(tuple(names[first : first + _MOST_ASKED]), reason, role)
        for (reason, role), names in ordered
        for first in range(0, len(names), _MOST_ASKED)
    ]


@frozen
class Unconfirmed:
    """A guess that stands in a config. why: its reason. question: why it is asked; empty where it is not."""

    why: str
    question: str = ""


_GUESSED, _ASKED = "Guessed: ", "Asked: "


def guess_comments(why: str, question: str) -> list[str]:
    """Return the lines of a section of a config that say why a column has its role."""
    return comment_lines(f"{_GUESSED}{why}.") + (comment_lines(f"{_ASKED}{question}.") if question else [])


def comment_lines(text: str, mark: str = "# ") -> list[str]:
    """Return the lines of one comment, which break at no hyphen of a label."""
    return wrap(one_line(text), 118, initial_indent=mark, subsequent_indent="#   ", break_on_hyphens=False)


_SECTION = re.compile(r"^\[attributes\.(.*)\]\s*?\n((?:#.*\n?)*)", re.MULTILINE)
_REASON = re.compile(rf"^#\s*({_GUESSED}|{_ASKED})(.*?)\.?\s*$", re.MULTILINE)


def guesses_in(text: str, names: Mapping[str, object]) -> dict[str, Unconfirmed]:
    r"""The guesses that the comments of a config give reasons for, by attribute. names: all its attributes."""
    comments = dict(_SECTION.findall("\n".join(text.splitlines())))
    guesses = {}
    for name in names:
        for header in (name, quoted(name), f"'{name}'"):
            reasons = dict(_REASON.findall(re.sub(r"\s*\n#   \s*", " ", comments.get(header, ""))))
            if _GUESSED in reasons:
                guesses[name] = Unconfirmed(reasons[_GUESSED], reasons.get(_ASKED, ""))
                break
    return guesses


def unconfirmed_lines(
    unconfirmed: Mapping[str, Unconfirmed], attributes: Mapping[str, Attribute], config: str
) -> Iterator[str]:
    """Name values that harm and roles that nobody has confirmed, those first that `init` asked about."""
    if waiting := [name for name, attribute in attributes.items() if attribute.harmless and not attribute.confirmed]:
        yield (
            f"All values of {', '.join(map(column_name, waiting))} count as harmful: look at harmless in {config}, "
            "then write confirmed = true beside it."
        )
    if not unconfirmed:
        return
    yield f"Nobody has confirmed what init guessed: look at the roles in {config}, then write reviewed = true under [data]."
    names = sorted(unconfirmed, key=lambda name: not unconfirmed[name].question)
    yield f"  {', '.join(f'{column_name(name)} ({attributes[name].role.value})' for name in names)}."


def without_question(text: str, names: Iterable[str]) -> str:
    """The text of a config without the comments that ask about some columns: somebody has answered."""
    question = re.compile(rf"^#\s*{_ASKED}.*\n(?:#   .*\n)*", re.MULTILINE)
    headers = {header for name in names for header in (name, quoted(name), f"'{name}'")}
    return _SECTION.sub(lambda match: question.sub("", match[0]) if match[1] in headers else match[0], text)
