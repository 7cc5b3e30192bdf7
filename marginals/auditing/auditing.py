"""What follows for certain from tables that others published."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from checks.audits.certain_facts import Asked, FactKind, certain_facts
from marginals.auditing.audited import AuditedTables, Reasons
from marginals.auditing.guessing import guessed_spec
from marginals.auditing.in_words import because, cell_name
from marginals.auditing.published_tables import PublishedTables, read_tables
from marginals.auditing.spec import AuditSpec, read_spec
from marginals.errors import InputError
from marginals.jobs import Jobs
from marginals.timing import Seconds, within
from models.deadline import Deadline
from models.errors import ContradictionError
from models.intervals.contradictions import disagreements
from models.intervals.estimates import estimated_counts
from models.intervals.explanations import explained
from models.intervals.joint_contradictions import joint_contradiction
from models.intervals.linked_tables import linked_tables
from models.intervals.proven_bounds import Reach, Run, proven_bounds
from models.programs.equations import UNBOUNDED

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
        """Whether no more is certain than that people exist, all is decided, and no tables contradict each other."""
        told = any(fact.kind is not FactKind.EXISTS for part in self.parts for fact in part.facts)
        return not told and not any(part.undecided or part.bounds is None for part in self.parts)

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
                    "tables": [part.linked.names[table] for table in each.tables],
                    "values": part.linked.named(each.cell),
                    "count_of": cell_name(part.linked, each.cell),
                    "ranges": [_ends(ends) for ends in each.ranges],
                    "gap": each.gap,
                }
                for each in part.disagreements
            ]
            parts.append(
                {
                    "people": part.people,
                    "tables": list(part.linked.names[: part.linked.table_count]),
                    "cells": len(part.linked),
                    "undecided": part.undecided,
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
        return {"ok": self.ok, "audited": parts}


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
    paths = [Path(table) for table in tables]
    deadline, run = within(seconds), Jobs(jobs)
    if spec is None:
        if not paths:
            raise InputError("name the tables to audit, or a spec that does")
        used = guessed_spec(paths).spec
    else:
        used = spec if isinstance(spec, AuditSpec) else read_spec(Path(spec))
    used = replace(
        used,
        small=used.small if small is None else small,
        protection=used.protection if protection is None else protection,
        sensitive=tuple(sensitive) or used.sensitive,
    )
    used.check_attributes()
    used = _chosen(used, paths)
    if used.small < 1 or used.protection < 0:
        raise InputError("small must be at least 1, and protection at least 0")
    found = read_tables(used)
    return Audit(used, tuple(_audited(each, used, deadline.share(len(found) - n), run) for n, each in enumerate(found)))


def _chosen(spec: AuditSpec, paths: Sequence[Path]) -> AuditSpec:
    known = {path.resolve(): path for path in spec.tables}
    for path in paths:
        if path.resolve() not in known:
            raise InputError(
                f"the spec has no section for {path.name}; its tables are {', '.join(p.name for p in spec.tables)}"
            )
    if not paths:
        return spec
    wanted = {known[path.resolve()] for path in paths}
    return replace(spec, tables={path: table for path, table in spec.tables.items() if path in wanted})


def _audited(found: PublishedTables, spec: AuditSpec, deadline: Deadline, run: Run) -> AuditedTables:
    linked = linked_tables(found.tables, found.classifications)
    try:
        bounds = proven_bounds(linked, Reach(spec.small), deadline.share(2), run)
    except ContradictionError:
        pairs = tuple(disagreements(linked))
        together = None if pairs else joint_contradiction(linked, deadline)
        return AuditedTables(found.people, linked, None, (), pairs, {}, None, together)
    own = {c.name for c in linked.classifications}
    asked = Asked(spec.small, spec.protection, tuple(name for name in spec.sensitive if name in own))
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
    return AuditedTables(found.people, linked, bounds, tuple(facts), (), reasons, estimates)


def _ends(ends: tuple[int, int]) -> list[int | None]:
    return [ends[0], None if ends[1] >= UNBOUNDED else ends[1]]
