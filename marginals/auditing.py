"""What follows for certain from tables that others published."""

from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

from checks.attacks.knowledge import Fact, FactCriteria, FactKind, certain_facts
from marginals.arguments import elements_of, path_of, require_whole_number
from marginals.audited_tables import AuditSpec, NotExamined, PublishedTables, guessed_spec, read_spec, read_tables
from marginals.deadline import Seconds, within
from marginals.errors import InputError
from marginals.files import resolved
from marginals.names import number_of
from models.arrays import BoolArray, FloatArray
from models.deadline import Deadline
from models.errors import ContradictionError
from models.intervals.linked_tables import LinkedTables, linked_tables
from models.intervals.proofs import (
    BlockRunner,
    Disagreement,
    Explanation,
    JointContradiction,
    ProvenBounds,
    Term,
    disagreements,
    estimated_counts,
    explained,
    joint_contradiction,
    proven_bounds,
)
from models.programs.consistent_tables import UNBOUNDED


@dataclass(frozen=True)
class Reasons:
    """Why a cell has at least, and at most, the counts that are proven; None where nothing was to be explained."""

    lower: Explanation | None
    upper: Explanation | None


@dataclass(frozen=True, eq=False)
class AuditedTables:
    """What tables about the same people tell together. bounds: None where they contradict each other.

    unlisted: of each table the combinations of its values that it does not list and of which nothing is known.
    reasons: of as many facts as time was left for, by their place in `facts`. estimates: shape (cells,), NaN for none.
    together: tables that contradict each other where no two of them do.
    """

    people: str
    linked: LinkedTables
    unlisted: tuple[int, ...]
    bounds: ProvenBounds | None
    facts: tuple[Fact, ...]
    disagreements: tuple[Disagreement, ...]
    reasons: dict[int, Reasons]
    estimates: FloatArray | None
    together: JointContradiction | None = None

    @property
    def is_printed(self) -> BoolArray:
        """Whether a table prints the exact count of a cell: shape (cells,)."""
        printed: BoolArray = self.linked.is_published & (self.linked.lower >= self.linked.upper)  # above: two counts
        return printed

    @property
    def undecided(self) -> int:
        """Cells of which more may follow than was found."""
        return 0 if self.bounds is None else int((~self.bounds.decided).sum())

    @property
    def uncovered(self) -> int:
        """Cells among these of which no time would show that nothing more follows: their joint tables are too large."""
        return 0 if self.bounds is None else int((~self.bounds.decided & ~self.linked.covered).sum())


_EXPLAINED = 50
"""Facts of each kind, at most, that are explained."""


@dataclass(frozen=True, eq=False)
class Audit:
    r"""What published tables tell for certain. spec: how they were read.

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
        """Whether no more is certain than that people exist, all is decided, and no tables contradict each other.

        Joint tables that are too large count as undecided. It is false, too, where something was not understood; what else
        was not examined, `not_examined` says.
        """
        told = any(fact.kind is not FactKind.EXISTS for part in self.parts for fact in part.facts)
        unknown = any(part.undecided or part.bounds is None or part.linked.left_out for part in self.parts)
        return not told and not unknown and not self.spec.doubts

    @property
    def not_examined(self) -> tuple[NotExamined, ...]:
        """What nothing was concluded of; first what was not understood, which leaves no all-clear."""
        return tuple(_not_examined(self))

    def printed_small(self, part: AuditedTables) -> int:
        """Counts from 1 to the largest small one that the tables print themselves."""
        return int((part.is_printed & (part.linked.lower >= 1) & (part.linked.lower <= self.spec.small)).sum())

    def as_json(self) -> dict[str, Any]:
        """All facts with their reasons, contradictions, and how much is decided."""
        parts = []
        for part in self.parts:
            facts = []
            for number, fact in enumerate(part.facts):
                estimate = None if part.estimates is None else round(float(part.estimates[fact.cell]), 1)
                facts.append(
                    {
                        "kind": fact.kind.value,
                        "values": part.linked.named(fact.cell),
                        "published": _ends(fact.published),
                        "proven": _ends(fact.proven),
                        "estimate": estimate,
                        "because": because(part, number),
                    }
                )
            contradictions = [
                {
                    "tables": [part.linked.names[table] for table in disagreement.tables],
                    "values": part.linked.named(disagreement.cell),
                    "count_of": cell_name(part.linked, disagreement.cell),
                    "ranges": [_ends(ends) for ends in disagreement.ranges],
                    "gap": disagreement.gap,
                }
                for disagreement in part.disagreements
            ]
            parts.append(
                {
                    "people": part.people,
                    "tables": list(part.linked.names[: part.linked.table_count]),
                    "cells": len(part.linked),
                    "undecided": part.undecided,
                    "printed": int(part.is_printed.sum()),
                    "printed_small": self.printed_small(part),
                    "contradictory": part.bounds is None,
                    "contradictions": contradictions,
                    "contradictory_together": None
                    if part.together is None
                    else {
                        "tables": [part.linked.names[table] for table in part.together.tables],
                        "correction": round(part.together.correction, 3),
                    },
                    "left_out": [list(names) for names in part.linked.left_out],
                    "facts": facts,
                }
            )
        return {"ok": self.ok, "not_examined": [asdict(each) for each in self.not_examined], "audited": parts}


def audit(
    *tables: str | Path,
    spec: str | Path | AuditSpec | None = None,
    seconds: Seconds = 60.0,
    small: int | None = None,
    protection: int | None = None,
    sensitive: Sequence[str] = (),
    jobs: int = 2,
) -> Audit:
    r"""What follows for certain from published tables: suppressed counts that can be computed, small ones, people who exist.

    tables: CSV files, or spreadsheets; those of the spec where none is named. spec: `audit.toml`, which says how they are
    read; without it that is guessed. small: counts from 1 to this one are small. protection: the least range that must be
    left of a suppressed count. sensitive: attributes of which a value may be certain for a group; these three override the
    spec. What needs longer than `seconds` is undecided. jobs: processes that work at once on tables that fall into blocks,
    such as a geography. All parameters but the tables are the
    options of the command. Raises InputError naming file and column, key or label, and WorkerLostError.

    >>> from pathlib import Path
    >>> from tempfile import TemporaryDirectory
    >>> with TemporaryDirectory() as folder:
    ...     file = Path(folder, "births.csv")
    ...     _ = file.write_text("area,sex,count\nAurora,f,<5\nAurora,m,31\nAurora,Total,33\n")
    ...     found = audit(file)
    >>> [(fact.kind.value, fact.proven) for fact in found.parts[0].facts]
    [('recovered', (2, 2))]
    """
    paths = [path_of(table) for table in tables]
    from marginals.jobs import Jobs  # loaded here: no other command starts processes

    deadline, run = within(seconds), Jobs(jobs)
    sensitive = elements_of(sensitive, "sensitive", 'a list of attributes, ["diagnosis"]')
    if spec is None:
        if not paths:
            raise InputError("name the tables to audit, or a spec that does")
        used = guessed_spec(paths).spec
    else:
        used = spec if isinstance(spec, AuditSpec) else read_spec(path_of(spec))
    used = replace(
        used,
        small=used.small if small is None else small,
        protection=used.protection if protection is None else protection,
        sensitive=tuple(sensitive) or used.sensitive,
    )
    require_whole_number(used.small, "small", 1)
    require_whole_number(used.protection, "protection", 0)
    used.check_attributes()
    used = _chosen(used, paths)
    parts = read_tables(used)
    return Audit(used, tuple(_audited(part, used, deadline.share(len(parts) - n), run) for n, part in enumerate(parts)))


def _chosen(spec: AuditSpec, paths: Sequence[Path]) -> AuditSpec:
    known = {resolved(path): path for path in spec.tables}
    for path in paths:
        if resolved(path) not in known:
            raise InputError(
                f"the spec has no section for {path.name}; its tables are {', '.join(p.name for p in spec.tables)}"
            )
    if not paths:
        return spec
    wanted = {known[resolved(path)] for path in paths}
    tables = {path: table for path, table in spec.tables.items() if path in wanted}
    used = {path.name for path in tables}
    return replace(spec, tables=tables, doubts=tuple(doubt for doubt in spec.doubts if doubt.table in used))


def _audited(tables: PublishedTables, spec: AuditSpec, deadline: Deadline, run: BlockRunner) -> AuditedTables:
    linked = linked_tables(tables.tables, tables.classifications)
    try:
        bounds = proven_bounds(linked, spec.small, deadline.share(2), run)
    except ContradictionError:
        pairs = tuple(disagreements(linked))
        together = None if pairs else joint_contradiction(linked, deadline)
        return AuditedTables(tables.people, linked, tables.unlisted, None, (), pairs, {}, None, together)
    classification_names = {c.name for c in linked.classifications}
    asked = FactCriteria(
        spec.small, spec.protection, tuple(name for name in spec.sensitive if name in classification_names)
    )
    facts = certain_facts(linked, bounds, asked)
    estimates = estimated_counts(linked, bounds.lower, bounds.upper, deadline.share(4))
    reasons: dict[int, Reasons] = {}
    number_of: dict[str, int] = {}
    for place, fact in enumerate(facts):
        number_of[fact.kind.value] = number_of.get(fact.kind.value, 0) + 1
        if number_of[fact.kind.value] > _EXPLAINED or deadline.is_over:
            continue
        lower = explained(linked, bounds, fact.cell, upper=False) if fact.proven[0] > fact.published[0] else None
        same = lower is not None and lower.is_whole and all(term.lower == term.upper for term in lower.terms)
        upper = (
            explained(linked, bounds, fact.cell, upper=True)
            if not same and fact.kind is not FactKind.EXISTS and fact.proven[1] < min(fact.published[1], UNBOUNDED)
            else None
        )
        reasons[place] = Reasons(lower, upper)
    return AuditedTables(tables.people, linked, tables.unlisted, bounds, tuple(facts), (), reasons, estimates)


def _ends(ends: tuple[int, int]) -> list[int | None]:
    return [ends[0], None if ends[1] >= UNBOUNDED else ends[1]]


_TERMS = 12
"""Counts that an explanation lists."""


def cell_name(linked: LinkedTables, cell: int) -> str:
    """The values of a cell, such as "Aurora, under 65"; "everybody" for the count of all."""
    named = linked.named(cell)
    return ", ".join(f"{name} {value}" for name, value in named.items()) or "everybody"


def ends_in_words(ends: tuple[int, int]) -> str:
    """A range of counts.

    >>> ends_in_words((3, 3)), ends_in_words((1, 4)), ends_in_words((2, 2**60)), ends_in_words((0, 2**60))
    ('3', '1 to 4', '2 or more', 'unknown')
    """
    low, high = ends
    if high >= UNBOUNDED:
        return f"{low:,} or more" if low else "unknown"
    return f"{low:,}" if low == high else f"{low:,} to {high:,}"


def because(part: AuditedTables, fact: int) -> list[str]:
    """Why a fact is certain: a sentence for each of its bounds that has a reason of its own."""
    reasons = part.reasons.get(fact)
    if reasons is None:
        return []
    result = part.facts[fact]
    sentences = []
    if reasons.lower is not None:
        exactly = result.proven[0] == result.proven[1] and reasons.upper is None
        sentences.append(_sentence(part.linked, reasons.lower, result.proven[0], "" if exactly else "at least "))
    if reasons.upper is not None:
        sentences.append(_sentence(part.linked, reasons.upper, result.proven[1], "at most "))
    return sentences


def _sentence(linked: LinkedTables, explanation: Explanation, bound: int, how: str) -> str:
    if not explanation.terms:
        return f"{how}{bound:,}, as all tables together leave it"
    used = [
        term for term in _ordered(explanation.terms) if term.is_published or (term.lower, term.upper) != (0, UNBOUNDED)
    ]
    rest = ", as no count is below 0" if len(used) < len(explanation.terms) else ""
    parts = [_term(linked, term, first=not n) for n, term in enumerate(used)]
    sum_text = (
        " ".join(parts[:_TERMS]) + (f" and {len(parts) - _TERMS} more counts" if len(parts) > _TERMS else "") + rest
    )
    if explanation.is_whole:
        return f"{how}{bound:,}: {sum_text}"
    return f"{how}{bound:,}, since counts are whole numbers and by more sums than these: {sum_text}"


def _ordered(terms: Sequence[Term]) -> Sequence[Term]:
    return sorted(terms, key=lambda term: (term.times < 0, -abs(term.times), term.cell))


def _term(linked: LinkedTables, term: Term, *, first: bool) -> str:
    sign = "minus" if term.times < 0 else "" if first else "plus"
    size = abs(term.times)
    many = "" if size == 1 else f"{size} times "
    worked_out = "" if term.is_published else ", worked out"
    text = f"{sign} {many}{cell_name(linked, term.cell)} ({ends_in_words((term.lower, term.upper))}{worked_out})"
    return text.strip()


KINDS = {
    FactKind.RECOVERED: ("suppressed or rounded count that", "suppressed or rounded counts that", "can be computed"),
    FactKind.SMALL: ("small count that is", "small counts that are", "certain"),
    FactKind.SENSITIVE: ("group", "groups", "of which everybody has one sensitive value"),
    FactKind.NARROW: ("suppressed count", "suppressed counts", "with a range narrower than the protection"),
    FactKind.EXISTS: (
        "combination that certainly has",
        "combinations that certainly have",
        "people, not shown by any table or suppressed",
    ),
}
"""What a fact of a kind is, several are, and the rest of the words, in the order in which they are listed."""


_LISTED = 10
"""Facts of each kind that are listed."""


_EXISTING = 3
"""Combinations that certainly have people of which so many are listed: there are many, and most tell little."""


NO_ALL_CLEAR = (
    "Not all of the tables was understood, so this is no all-clear, and what follows rests on a guess. "
    "Write it down with --init and review it."
)


def audit_lines(audit: Audit) -> Iterator[str]:
    """Contradictions or facts of all tables, and what is undecided."""
    if audit.spec.doubts:
        yield NO_ALL_CLEAR
    for part in audit.parts:
        linked = part.linked
        tables = ", ".join(linked.names[: linked.table_count])
        of_whom = "" if len(audit.parts) == 1 else f" (people: {part.people})"
        yield f"{tables}{of_whom}: {number_of(len(linked), 'count')}, {int(part.is_printed.sum()):,} of them printed"
        if part.bounds is None:
            yield from contradiction_lines(part)
            continue
        yield from _facts(part)
        yield from undecided_lines(part)
    if audit.ok:
        yield from _nothing_certain(audit)
    if printed := sum(map(audit.printed_small, audit.parts)):
        yield f"The tables themselves print {number_of(printed, 'count')} from 1 to {audit.spec.small:,}."
    yield from (each.sentence for each in audit.not_examined)


def _nothing_certain(audit: Audit) -> Iterator[str]:
    """What was examined without a fact."""
    spec = audit.spec
    yield (
        "Of the counts examined, no suppressed or rounded one can be computed, and none that no table prints is certainly "
        f"from 1 to {spec.small:,}."
    )
    if spec.protection:
        yield f"No suppressed or rounded count is left a range of less than {spec.protection:,}."
    if spec.sensitive:
        yield f"No group examined certainly has one value only of {' or of '.join(spec.sensitive)}."


def _not_examined(audit: Audit) -> Iterator[NotExamined]:
    yield from audit.spec.doubts
    doubted = {(doubt.table, doubt.key) for doubt in audit.spec.doubts}
    for path, table in audit.spec.tables.items():
        for column in (name for name in table.ignore if (path.name, name) not in doubted):
            why = f"it {table.why_ignored[column]}" if column in table.why_ignored else "the spec ignores it"
            sentence = f"Not examined: the column {column!r} of {path.name}; {why}."
            yield NotExamined("column", sentence, path.name, column)
    if not audit.spec.sensitive:
        sentence = (
            "Not examined: whether everybody of a group has one sensitive value. Name the attributes with --sensitive."
        )
        yield NotExamined("sensitive", sentence)
    for part in audit.parts:
        for names in map(", ".join, part.linked.left_out):
            yield NotExamined(
                "joint-table", f"Not examined, for too many cells: the joint table of {names}.", key=names
            )
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


def undecided_lines(part: AuditedTables) -> Iterator[str]:
    """How many counts are undecided, and why."""
    if late := part.undecided - part.uncovered:
        yield f"Undecided in time: {number_of(late, 'count')}; more may follow from the tables. Give --seconds more."
    if part.uncovered:
        yield (
            f"Undecided: {number_of(part.uncovered, 'count')} of attributes that are linked by more of them than "
            "joint tables have; what is said of them is true, and more may follow. Audit fewer tables at once."
        )


def contradiction_lines(part: AuditedTables) -> Iterator[str]:
    """Which tables contradict each other."""
    yield "The tables contradict each other as they are read here, so nothing follows from them."
    for disagreement in part.disagreements:
        one, other = (part.linked.names[table] for table in disagreement.tables)
        whose = cell_name(part.linked, disagreement.cell)
        first, second = map(ends_in_words, disagreement.ranges)
        if disagreement.tables[0] == disagreement.tables[1]:
            yield (
                f"  {one} contradicts itself on {whose}: {first}, but its parts add up to {second}; a gap of "
                f"{disagreement.gap:,}"
            )
        else:
            yield f"  {one} and {other} disagree on {whose}: {first} and {second}; a gap of {disagreement.gap:,}"
    if part.together is not None:
        names = ", ".join(part.linked.names[table] for table in part.together.tables)
        change = f"{part.together.correction:,.4g}"
        yield f"  Not two of them, but these together: {names}. Their counts must be changed by {change} in all, at least."
    elif not part.disagreements:
        yield "  No two of them do; only several together. Check rounding, markers and totals in the spec."


def _facts(part: AuditedTables) -> Iterator[str]:
    for kind, (one, many, rest) in KINDS.items():
        numbers = [number for number, fact in enumerate(part.facts) if fact.kind is kind]
        if not numbers:
            continue
        yield f"{number_of(len(numbers), one, many)} {rest}:"
        listed = _EXISTING if kind is FactKind.EXISTS else _LISTED
        for number in numbers[:listed]:
            yield fact_line(part, number)
            for reason in because(part, number):
                yield f"      {reason}"
        if len(numbers) > listed:
            yield f"  and {len(numbers) - listed:,} more (--json and --report list all)"


def fact_line(part: AuditedTables, number: int) -> str:
    """A fact: whose count, what was published of it, and what is certain."""
    fact = part.facts[number]
    before = f"published as {ends_in_words(fact.published)}" if fact.is_published else "not published"
    return f"  {cell_name(part.linked, fact.cell)}: {ends_in_words(fact.proven)} ({before})"
