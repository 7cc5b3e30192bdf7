"""Facts that follow for certain from tables that others published."""

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from checks.attacks.knowledge import Fact, FactCriteria, FactKind, certain_facts
from marginals.arguments import elements_of, path_of, require_whole_number
from marginals.auditing.formats import is_frame
from marginals.auditing.guess import guessed_spec
from marginals.auditing.published import read_all
from marginals.auditing.spec import AuditSpec, NotExamined, PublishedTables, read_spec, read_tables
from marginals.deadline import Seconds, within
from marginals.errors import InputError
from marginals.files import resolved
from marginals.later import pd
from marginals.names import number_of
from marginals.results import plain
from models.arrays import BoolArray
from models.deadline import Deadline
from models.errors import ContradictionError
from models.frozen import frozen
from models.intervals.linked_tables import LinkedTables, linked_tables
from models.intervals.proofs import (
    BlockRunner,
    Disagreement,
    Explanation,
    ProvenBounds,
    Term,
    disagreements,
    explained,
    proven_bounds,
)
from models.programs.consistent_tables import UNBOUNDED


@frozen(eq=False)
class AuditedTables:
    """Facts that tables about the same people tell together.

    `unlisted`: of each table, the unknown combinations of its values. `bounds`: None where the tables contradict each
    other. `reasons`: reasons of some facts, by their place in `facts`.
    """

    people: str
    linked: LinkedTables
    unlisted: tuple[int, ...]
    bounds: ProvenBounds | None
    facts: tuple[Fact, ...]
    disagreements: tuple[Disagreement, ...]
    reasons: dict[int, list[str]]

    @property
    def is_printed(self) -> BoolArray:
        """Return whether a table prints the exact count of a cell: shape (cells,)."""
        printed: BoolArray = self.linked.is_published & (self.linked.lower >= self.linked.upper)  # above: two counts
        return printed

    @property
    def is_withheld(self) -> BoolArray:
        """Return whether a table shows a cell without its exact count, suppressed or rounded: shape (cells,)."""
        return np.asarray(self.linked.is_published & ~self.is_printed)

    @property
    def is_undecided(self) -> BoolArray:
        """Cells of which more may follow: shape (cells,)."""
        return np.zeros(len(self.linked), dtype=np.bool_) if self.bounds is None else ~self.bounds.decided

    @property
    def undecided(self) -> int:
        """Number of undecided cells."""
        return int(self.is_undecided.sum())

    def because(self, number: int) -> list[str]:
        """Reasons of a fact: a sentence for each of its bounds that has a reason."""
        return self.reasons.get(number, [])

    def bounds_of_withheld(self) -> Iterator[dict[str, Any]]:
        """A row for each withheld cell: its labels, what is published, its bounds, the verdict, and how it follows."""
        facts = {fact.cell: number for number, fact in reversed([*enumerate(self.facts)])}
        if self.bounds is None:
            return
        for place, cell in enumerate(np.flatnonzero(self.is_withheld).tolist()):
            published, proven = ((int(of.lower[cell]), int(of.upper[cell])) for of in (self.linked, self.bounds))
            number = facts.get(cell)
            kind = "protected" if number is None else self.facts[number].kind.value
            if number is not None and number in self.reasons:
                because = self.because(number)
            elif place < _EXPLAINED_ROWS:
                because = _reasons(self.linked, self.bounds, cell, published, proven)
            else:
                because = ["by the sums of all tables together"] if proven != published else []
            yield {
                **{c.name: "all" for c in self.linked.classifications},
                **self.linked.named(cell),
                "published": ends_in_words(published),
                "least": proven[0],
                "most": _ends(proven)[1],
                "verdict": "undecided" if self.is_undecided[cell] else kind,
                "because": "; ".join(because),
            }

    def as_json(self) -> dict[str, Any]:
        """Facts with their reasons, contradictions, and how much is decided."""
        linked = self.linked
        facts = [
            {
                "kind": fact.kind,
                "values": linked.named(fact.cell),
                "published": _ends(fact.published),
                "proven": _ends(fact.proven),
                "because": self.because(number),
            }
            for number, fact in enumerate(self.facts)
        ]
        contradictions = [
            {
                "tables": [linked.names[table] for table in disagreement.tables],
                "values": linked.named(disagreement.cell),
                "count_of": cell_name(linked, disagreement.cell),
                "ranges": [_ends(ends) for ends in disagreement.ranges],
                "gap": disagreement.gap,
            }
            for disagreement in self.disagreements
        ]
        return {
            "people": self.people,
            "tables": linked.names[: linked.table_count],
            "cells": len(linked),
            "undecided": self.undecided,
            "undecided_withheld": int((self.is_undecided & self.is_withheld).sum()),
            "withheld": int(self.is_withheld.sum()),
            "printed": int(self.is_printed.sum()),
            "contradictory": self.bounds is None,
            "contradictions": contradictions,
            "left_out": linked.left_out,
            "facts": facts,
        }


def _ends(ends: tuple[int, int]) -> tuple[int, int | None]:
    return ends[0], None if ends[1] >= UNBOUNDED else ends[1]


@frozen(eq=False)
class Audit:
    r"""Facts that published tables tell for certain. `spec`: how the tables were read.

    >>> from pathlib import Path
    >>> from tempfile import TemporaryDirectory
    >>> from marginals import audit
    >>> with TemporaryDirectory() as folder:
    ...     file = Path(folder, "sex.csv")
    ...     _ = file.write_text("area,f,m,Total\nAurora,*,31,33\nBoone,9,8,16\n")
    ...     found = audit(file)
    >>> found.ok, [(each.gap, each.ranges) for each in found.parts[0].disagreements]
    (False, [(1, ((16, 16), (17, 17)))])
    """

    spec: AuditSpec
    parts: tuple[AuditedTables, ...]

    @property
    def ok(self) -> bool:
        """Return whether no more follows than that people exist, and all is understood, decided and consistent."""
        more = any(fact.kind is not FactKind.EXISTS for part in self.parts for fact in part.facts)
        is_open = any(part.undecided or part.bounds is None or part.linked.left_out for part in self.parts)
        return not more and not is_open and not self.spec.doubts

    @property
    def not_examined(self) -> tuple[NotExamined, ...]:
        """Parts of the tables of which nothing was concluded, first those that were not understood."""
        return tuple(_not_examined(self))

    def bounds(self) -> "pd.DataFrame":
        """Bounds of each withheld or rounded cell, one row each; `most` is missing without an upper bound."""
        rows = [{"people": part.people, **row} for part in self.parts for row in part.bounds_of_withheld()]
        frame = pd.DataFrame(rows, columns=None if rows else ["published", "least", "most", "verdict", "because"])
        frame["most"] = frame["most"].astype("Int64")
        return frame if len(self.parts) > 1 else frame.drop(columns="people", errors="ignore")

    def printed_small(self, part: AuditedTables) -> int:
        """Counts from 1 to the largest small one that the tables print themselves."""
        return int((part.is_printed & (part.linked.lower >= 1) & (part.linked.lower <= self.spec.small)).sum())

    def as_json(self) -> dict[str, Any]:
        """Facts with their reasons, contradictions, and how much is decided."""
        audited = [{**part.as_json(), "printed_small": self.printed_small(part)} for part in self.parts]
        result: dict[str, Any] = plain({"ok": self.ok, "not_examined": self.not_examined, "audited": audited})
        return result


def _not_examined(audit: Audit) -> Iterator[NotExamined]:
    spec = audit.spec
    yield from spec.doubts
    doubted = {(doubt.table, doubt.key) for doubt in spec.doubts}
    for path, table in spec.tables.items():
        for column in (name for name in table.ignore if (path.name, name) not in doubted):
            why = f"it {table.why_ignored[column]}" if column in table.why_ignored else "the spec ignores it"
            sentence = f"Not examined: the column {column!r} of {path.name}; {why}."
            yield NotExamined("column", sentence, path.name, column)
    if not spec.sensitive:
        why = "whether everybody of a group has one sensitive value. Name the attributes with --sensitive."
        yield NotExamined("sensitive", f"Not examined: {why}")
    for part in audit.parts:
        for names in map(", ".join, part.linked.left_out):
            why = f"Not examined, for too many cells: the joint table of {names}."
            yield NotExamined("joint-table", why, key=names)
        for name, unlisted in zip(part.linked.names, part.unlisted):
            if unlisted:
                sentence = (
                    f"{name} does not list {number_of(unlisted, 'combination')} of its values, taken for unknown. If nobody "
                    "has one of these, more may follow: write complete = true into its section of the spec."
                )
                yield NotExamined("unlisted", sentence, name)
    if any(part.linked.table_count > 1 for part in audit.parts):
        sentence = "Not examined: combinations of more than three attributes, besides those that all tables have."
        yield NotExamined("combinations", sentence)


def audit(
    *tables: Any,
    spec: str | Path | AuditSpec | None = None,
    seconds: Seconds = 60.0,
    small: int | None = None,
    protection: int | None = None,
    sensitive: Sequence[str] = (),
    jobs: int = 2,
) -> Audit:
    r"""Facts that follow for certain from published tables.

    They are suppressed counts that can be computed, small counts, and people who exist. Files are CSV, spreadsheets,
    Parquet or SDMX-CSV. All parameters but the tables are the options of the command.

    Parameters
    ----------
    tables
        Files, folders of files, frames, or lists of these; the tables of the spec where none is named.
    spec
        `audit.toml`, which says how the tables are read; a guess without it.
    seconds
        Seconds after which the rest is undecided.
    small
        Largest count that is small; `small`, `protection` and `sensitive` override the spec.
    protection
        Least range that must be left of a suppressed count.
    sensitive
        Attributes of which a value may be certain for a group.
    jobs
        Processes at work at once on tables that fall into blocks, such as a geography.

    Raises
    ------
    InputError
        Naming file and column, key or label.
    WorkerLostError
        A process ended early.

    >>> from pathlib import Path
    >>> from tempfile import TemporaryDirectory
    >>> with TemporaryDirectory() as folder:
    ...     file = Path(folder, "births.csv")
    ...     _ = file.write_text("area,sex,count\nAurora,f,<5\nAurora,m,31\nAurora,Total,33\n")
    ...     found = audit(file)
    >>> [(fact.kind.value, fact.proven) for fact in found.parts[0].facts]
    [('recovered', (2, 2))]
    """
    from marginals.jobs import in_processes  # loaded here: no other command starts processes

    require_whole_number(jobs, "jobs", 1)
    deadline, run = within(seconds), partial(in_processes, jobs)
    sensitive = elements_of(sensitive, "sensitive", 'a list of attributes, ["diagnosis"]')
    if spec is None:
        if not tables:
            raise InputError("name the tables to audit, or a spec that does")
        used, paths = guessed_spec(tables).spec, []
    elif any(map(is_frame, tables)):
        raise InputError("a spec names its tables by their files; save the frames, or audit them without a spec")
    else:
        used = spec if isinstance(spec, AuditSpec) else read_spec(path_of(spec))
        paths = [file.path for file in read_all(tables)]
    names = tuple(elements_of(sensitive, "sensitive", "names of attributes", str)) or None
    changes: dict[str, Any] = {"small": small, "protection": protection, "sensitive": names}
    used = replace(used, **{key: value for key, value in changes.items() if value is not None})
    require_whole_number(used.small, "small", 1)
    require_whole_number(used.protection, "protection", 0)
    used.check_attributes()
    used = _chosen(used, paths)
    parts = read_tables(used)
    used = replace(used, doubts=(*(finding for part in parts for finding in part.revealed), *used.doubts))
    return Audit(used, tuple(_audited(part, used, deadline.share(len(parts) - n), run) for n, part in enumerate(parts)))


def _chosen(spec: AuditSpec, paths: Sequence[Path]) -> AuditSpec:
    paths_of = {resolved(path): path for path in spec.tables}
    for path in paths:
        if resolved(path) not in paths_of:
            names = ", ".join(table.name for table in spec.tables)
            raise InputError(f"the spec has no section for {path.name}; its tables are {names}")
    if not paths:
        return spec
    wanted = {paths_of[resolved(path)] for path in paths}
    tables = {path: table for path, table in spec.tables.items() if path in wanted}
    used = {path.name for path in tables}
    return replace(spec, tables=tables, doubts=tuple(doubt for doubt in spec.doubts if doubt.table in used))


_EXPLAINED = 50  # facts of each kind
_EXPLAINED_ROWS = 500  # rows of the table of bounds that are explained though they are no facts
_FOR_BOUNDS = 1.1  # divisor of the time; the rest is for explanations


def _audited(tables: PublishedTables, spec: AuditSpec, deadline: Deadline, run: BlockRunner) -> AuditedTables:
    linked = linked_tables(tables.tables, tables.classifications)
    try:
        bounds = proven_bounds(linked, spec.small, deadline.share(_FOR_BOUNDS), run)
    except ContradictionError:
        return AuditedTables(tables.people, linked, tables.unlisted, None, (), tuple(disagreements(linked)), {})
    names = {classification.name for classification in linked.classifications}
    sensitive = tuple(name for name in spec.sensitive if name in names)
    facts = certain_facts(linked, bounds, FactCriteria(spec.small, spec.protection, sensitive))
    reasons: dict[int, list[str]] = {}
    seen: Counter[FactKind] = Counter()
    for place, fact in enumerate(facts):
        seen[fact.kind] += 1
        if seen[fact.kind] <= _EXPLAINED and not deadline.is_over:
            most = fact.proven[1] if fact.kind is FactKind.EXISTS else fact.published[1]
            reasons[place] = _reasons(linked, bounds, fact.cell, (fact.published[0], most), fact.proven)
    return AuditedTables(tables.people, linked, tables.unlisted, bounds, tuple(facts), (), reasons)


def _reasons(
    linked: LinkedTables, bounds: ProvenBounds, cell: int, published: tuple[int, int], proven: tuple[int, int]
) -> list[str]:
    lower = explained(linked, bounds, cell, upper=False) if proven[0] > published[0] else None
    tells_both = lower is not None and lower.is_whole and all(term.lower == term.upper for term in lower.terms)
    upper = explained(linked, bounds, cell, upper=True) if proven[1] < published[1] and not tells_both else None
    exactly = proven[0] == proven[1] and upper is None
    of_lower = [] if lower is None else [_because(linked, lower, proven[0], "" if exactly else "at least ")]
    return of_lower + ([] if upper is None else [_because(linked, upper, proven[1], "at most ")])


_TERMS = 12  # counts that an explanation lists


def cell_name(linked: LinkedTables, cell: int) -> str:
    """Values of a cell, such as "Aurora, under 65"; "everybody" for the count of all."""
    return ", ".join(f"{name} {value}" for name, value in linked.named(cell).items()) or "everybody"


def ends_in_words(ends: tuple[int, int]) -> str:
    """A range of counts."""
    low, high = ends
    if high >= UNBOUNDED:
        return f"{low:,} or more" if low else "unknown"
    return f"{low:,}" if low == high else f"{low:,} to {high:,}"


def _because(linked: LinkedTables, explanation: Explanation, bound: int, how: str) -> str:
    if not explanation.terms:
        return f"{how}{bound:,}, as all tables together leave it"
    terms = sorted(explanation.terms, key=lambda term: (term.times < 0, -abs(term.times), term.cell))
    used = [term for term in terms if term.is_published or (term.lower, term.upper) != (0, UNBOUNDED)]
    words = " ".join(_term(linked, term, is_first=not n) for n, term in enumerate(used[:_TERMS]))
    words += f" and {len(used) - _TERMS} more counts" if len(used) > _TERMS else ""
    words += ", as no count is below 0" if len(used) < len(terms) else ""
    reason = "" if explanation.is_whole else ", since counts are whole numbers and by more sums than these"
    return f"{how}{bound:,}{reason}: {words}"


def _term(linked: LinkedTables, term: Term, *, is_first: bool) -> str:
    sign = "minus" if term.times < 0 else "" if is_first else "plus"
    many = "" if abs(term.times) == 1 else f"{abs(term.times)} times "
    worked_out = "" if term.is_published else ", worked out"
    ends = ends_in_words((term.lower, term.upper))
    return f"{sign} {many}{cell_name(linked, term.cell)} ({ends}{worked_out})".strip()
