"""Sentences for people, as text files: cases of one surface, each a heading and what the program says then.

A file of `tests/words` holds all sentences of a surface once, in parts, and most of what is typed to get them (`typed`).
`make words` writes the files; their diff is read.
Elsewhere tests assert verdicts, codes, keys and numbers.
"""

import contextlib
import difflib
import os
import re
import shlex
import warnings
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from datetime import UTC, datetime
from html.parser import HTMLParser
from pathlib import Path
from typing import NamedTuple

from click.testing import CliRunner

import marginals
from command_line import main
from marginals import MarginalsError
from project import ROOT

FOLDER = ROOT / "tests" / "words"

SURFACES = ("terminal", "report", "steward", "window", "guesses", "errors")
"""The golden files by their names."""

LEFT_OUT = "..."
"""Stands for lines of a page whose words an earlier case of the same surface shows."""


class Case(NamedTuple):
    """heading: what was done, in one line. said: what the program said. surface: where it said so."""

    heading: str
    said: str
    surface: str = "errors"


def section_texts(cases: Iterable[Case]) -> dict[str, str]:
    """The text of cases by surface; headings are not indented, and what was said is."""
    blocks: dict[str, list[str]] = {}
    for case in cases:
        lines = case.said.strip("\n").splitlines() or ["(nothing)"]
        block = "\n".join([case.heading, *(f"    {line}".rstrip() for line in lines)])
        blocks.setdefault(case.surface, []).append(block)
    return {surface: "\n\n".join(texts) for surface, texts in blocks.items()}


def _sections(surface: str) -> dict[str, str]:
    """The text of each part in the golden file of a surface, by the name of the part."""
    path = FOLDER / f"{surface}.txt"
    if not path.exists():
        return {}
    named = re.split(r"^== (.*) ==\n\n", path.read_text(encoding="utf-8"), flags=re.MULTILINE)[1:]
    return {name: text.rstrip("\n") for name, text in zip(named[::2], named[1::2])}


def typed(surface: str, part: str, prompt: str) -> list[str]:
    """What is typed after a prompt in a part of a golden file, where it stands once; cases with a note are left out."""
    lines = _sections(surface).get(part, "").splitlines()
    return [line.removeprefix(prompt) for line in lines if line.startswith(prompt) and "    # " not in line]


def renew(part: str, texts: Mapping[str, str], parts: Sequence[str]) -> None:
    """Write what a part says into the golden files. parts: all there are, in their order; others are removed."""
    for surface in SURFACES:
        sections = {**_sections(surface), part: texts.get(surface, "")}
        kept = [f"== {name} ==\n\n{sections[name]}\n" for name in parts if sections.get(name)]
        (FOLDER / f"{surface}.txt").write_text("\n".join(kept), encoding="utf-8")


def differences(part: str, texts: Mapping[str, str]) -> str:
    """A unified diff of the golden files and what a part says now; empty if they are equal."""
    lines: list[str] = []
    for surface in SURFACES:
        golden, now = (text.splitlines() for text in (_sections(surface).get(part, ""), texts.get(surface, "")))
        lines += difflib.unified_diff(golden, now, f"tests/words/{surface}.txt", "what is said now", lineterm="", n=2)
    return "\n".join(lines)


_VARYING = (
    (re.compile(rf"\b{re.escape(marginals.__version__)}\b"), "VERSION"),
    (re.compile(r"\b\d{4}-\d\d-\d\d[T ]\d\d:\d\d(:\d\d)?(\.\d+)?(Z|[+-]\d\d:\d\d)?"), "TIME"),
    (re.compile(r"\b[0-9a-f]{64}\b"), "HASH"),
    (re.compile(r"\b[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}\b"), "UUID"),
    (re.compile(r"\b\d+(\.\d+)? (s|seconds)\b"), r"N \2"),
    (re.compile(r'"seconds": \{[^}]*\}'), '"seconds": {N}'),
    (re.compile(r"(Seconds of the search)( \| [\d.]+)+"), r"\1 | N"),
)


def normalize_text(text: str, folder: Path) -> str:
    """A text without the parts that differ from run to run: the folder of the run, versions, times, hashes, seconds."""
    for path in sorted({str(folder), str(folder.resolve())}, key=len, reverse=True):
        text = text.replace(path + os.sep, "").replace(path, ".")
    for pattern, name in _VARYING:
        text = pattern.sub(name, text)
    return text.replace(datetime.now(UTC).date().isoformat(), "TODAY")


class Stage:
    """A folder in which cases of one part run, and the words that were shown already, with their surface."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self._shown: set[tuple[str, str]] = set()

    @contextlib.contextmanager
    def entered(self, name: str = "") -> Iterator[Path]:
        place = self.folder / name
        place.mkdir(parents=True, exist_ok=True)
        with contextlib.chdir(place):
            yield place

    def normalize(self, text: str) -> str:
        return normalize_text(text, Path.cwd())

    def command(self, line: str, *, note: str = "", typed: str | None = None) -> Case:
        """Run `marginals LINE` in the current folder. typed: what somebody types; note: why this case is here."""
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            result = CliRunner(env={"COLUMNS": "120", "NO_COLOR": "1"}).invoke(
                main, shlex.split(line), input=typed, prog_name="marginals"
            )
        ended = f"[exit status {result.exit_code}]" if result.exit_code else ""
        heading = f"$ marginals {line}" + (f"    # {note}" if note else "")
        return Case(heading, self.normalize(f"{result.output.rstrip()}\n{ended}"), "terminal")

    def refusal(self, heading: str, act: Callable[[], object]) -> Case:
        """What an act that must be refused says: the name of the error and its sentence, and warnings before it."""
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            try:
                act()
            except (MarginalsError, ValueError) as error:
                said = f"{type(error).__name__}: {error}"
            else:
                assert caught, f"neither refused nor warned about: {heading}"
                said = ""
        told = [f"{warning.category.__name__}: {warning.message}" for warning in caught]
        return Case(heading, self.normalize("\n".join([*dict.fromkeys(told), said])))

    def page(self, surface: str, heading: str, content: bytes) -> Case:
        """What an HTML page shows, without lines whose words an earlier case of this stage shows."""
        return self.shortened(Case(heading, self.normalize("\n".join(visible_lines(content.decode()))), surface))

    def shortened(self, case: Case) -> Case:
        """A case without lines whose words, numbers aside, an earlier case of this stage shows."""
        lines: list[str] = []
        for line in case.said.splitlines():
            words = (case.surface, re.sub(r"[\d.,]*\d", "0", line))
            if words not in self._shown:
                self._shown.add(words)
                lines.append(line)
            elif lines[-1:] != [LEFT_OUT]:
                lines.append(LEFT_OUT)
        return case._replace(said="\n".join(lines))


_INLINE = frozenset(
    "a abbr b bdi cite code em i kbd label mark q s samp small span strong sub sup time u var tspan wbr".split()  # noqa: SIM905
)
_UNSEEN = frozenset(["script", "style", "template", "noscript", "desc", "defs"])
_SPOKEN = ("aria-label", "placeholder", "title", "alt")


class _Visible(HTMLParser):
    """lines: the visible text, one line a block and one a row of a table; texts of one picture stand on one line."""

    def __init__(self) -> None:
        super().__init__()
        self.lines: list[str] = []
        self._line: list[str] = []
        self._unseen = 0
        self._joined: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        if tag in _UNSEEN:
            self._unseen += 1
        named = dict(attrs)
        if tag in ("tr", "svg", "select") and not self._joined:
            self.end_line()
            self._joined.append(tag)
        elif self._joined:
            self._line.append(" | " if tag in ("td", "th", "option", "text", "title") else " ")
        elif tag not in _INLINE:
            self.end_line()
        self._line += [f" ({named[name]}) " for name in _SPOKEN if named.get(name)]
        if tag == "input" and named.get("type") in ("submit", "button"):
            self._line.append(f" [{named.get('value')}] ")

    def handle_endtag(self, tag: str) -> None:
        if tag in _UNSEEN:
            self._unseen -= 1
        if self._joined[-1:] == [tag]:
            self._joined.pop()
            self.end_line()
        elif not self._joined and tag not in _INLINE:
            self.end_line()

    def handle_data(self, data: str) -> None:
        if not self._unseen:
            self._line.append(data)

    def end_line(self) -> None:
        text = " ".join("".join(self._line).split()).strip(" |")
        if text:
            self.lines.append(text)
        self._line = []


def visible_lines(page: str) -> list[str]:
    """The text that a page shows, in reading order, with names that screen readers speak in parentheses."""
    reader = _Visible()
    reader.feed(page)
    reader.close()
    reader.end_line()
    return reader.lines


def changed(text: str, changes: Mapping[str, str]) -> str:
    """A text with parts replaced. Raises AssertionError for a part that it has not."""
    for old, new in changes.items():
        assert old in text, old
        text = text.replace(old, new)
    return text
