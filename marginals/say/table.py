"""Tables in words: whose rows count, which were left out, what a table gives away, and single tables made of it."""

from collections.abc import Iterator, Mapping, Sequence
from math import isfinite
from pathlib import Path
from typing import TYPE_CHECKING

from marginals.names import margin_in_words, number_of
from marginals.say.claims import counted_in_words
from marginals.tables.attribute import Role
from marginals.tables.people import ANY, RowsPerPerson
from models.tables.hierarchy import Domain

if TYPE_CHECKING:
    from checks.classes import Assessment, Eligibility, KnowledgeNeeded, StrongestRequirements
    from checks.diversity.implications import WeakestImplying
    from checks.reidentification import Reidentification, Risk, Uniqueness
    from checks.requirements import Requirements
    from marginals.anonymizers.lattice import LatticeResult
    from marginals.anonymizers.local_recoding import LocalRecoding
    from marginals.anonymizers.thinning import ThinnedTable
    from marginals.tables.table import Table


def rows_in_words(rows: int, rows_per_person: RowsPerPerson) -> str:
    """So many rows, or people where each has one row.

    >>> rows_in_words(1, None), rows_in_words(4800, 1), rows_in_words(48, 3)
    ('1 row', '4,800 people', '48 rows (at most 3 of a person)')
    """
    if rows_per_person == 1:
        return number_of(rows, "person", "people")
    of_a_person = f" (at most {rows_per_person:,} of a person)" if isinstance(rows_per_person, int) else ""
    return f"{number_of(rows, 'row')}{of_a_person}"


def unit_in_words(rows_per_person: RowsPerPerson) -> str:
    """Of whom a release speaks, as a sentence; empty where it does not say.

    >>> unit_in_words(1)
    'Each row is a person of its own, so whatever is counted and claimed is of people.'
    """
    if rows_per_person is None:
        return ""
    if rows_per_person == ANY:
        return "A person can have any number of these rows: claims are of rows, and k rows may be fewer than k people."
    if rows_per_person == 1:
        return "Each row is a person of its own, so whatever is counted and claimed is of people."
    few = f"No person has more than {rows_per_person:,} of these rows."
    return f"{few} Counts are of rows, claims are of people."


def part_in_words(where: str) -> str:
    """Which part of a table a release counts, as a sentence; empty where it counts all.

    >>> part_in_words("age >= 21")
    'It is of a part of a table: whoever is counted meets the condition age >= 21, and of all others it says nothing.'
    """
    if not where:
        return ""
    return f"It is of a part of a table: whoever is counted meets the condition {where}, and of all others it says nothing."


def part_lines(table: "Table", ledger: Path | None) -> Iterator[str]:
    """What a steward must know who publishes a part of a table. ledger: beside which that is."""
    if table.part is None:
        return
    are = "is" if table.rows == 1 else "are"
    yield f"Of {number_of(table.part.whole.rows, 'row')} {table.rows:,} {are} in the part {table.part.where.text}."
    if ledger is None:
        yield (
            "It is judged by itself, without a ledger. So publish nothing else of this table beside it, neither the whole "
            "nor another part: who is in the one and not in the other could be few. With --ledger DIR both can be published."
        )
    elif table.rows_per_person not in (None, 1):
        yield "A person can have rows in the part and others outside of it: it is a part of the rows, not of the people."


def kept_out_by_role(roles: Mapping[str, Role], config: str) -> dict[str, str]:
    """Why each column is not published whose role keeps it out. config: the name of the file that says so.

    >>> from marginals.tables.attribute import Role
    >>> kept_out_by_role({"age": Role.QUASI_IDENTIFIER, "pid": Role.IDENTIFIER}, "release.toml")
    {'pid': 'its role in release.toml is "identifier", so it is never read'}
    """
    why = {
        Role.IDENTIFIER: "so it is never read",
        Role.IGNORED: "so it is left out; if init wrote that, it says there why",
    }
    return {name: f'its role in {config} is "{role.value}", {why[role]}' for name, role in roles.items() if role in why}


def left_out_lines(table: "Table") -> Iterator[str]:
    """What was left out of people with more rows than count, of whom the release will speak, and how numbers are read."""
    if table.left_out:
        count = "one row of each person counts" if table.rows_per_person == 1 else "more of a person do not count"
        yield f"Left out {number_of(table.left_out, 'more row')}, since {count}."
    if sentence := unit_in_words(table.rows_per_person):
        yield sentence
    for name, numbers in table.numbers.items():
        if numbers.format.is_grouped:
            yield f"The numbers of {name} are read with {numbers.format}."
        if numbers.unreadable:
            has = "has a value" if numbers.unreadable == 1 else "have a value"
            yield (
                f"{number_of(numbers.unreadable, 'row')} {has} of {name} that is no number: ranges cannot be judged of it; "
                "list what stands for no value under data.missing."
            )


_MANY = 0.05
"""Share of dropped rows from which on they are warned of."""

_NAMED = 5
"""Columns that a line names."""


def dropped_lines(
    complete: int, dropped: int, dropped_in: Mapping[str, int], least: int | None = None, person: str | None = None
) -> Iterator[str]:
    """How many rows were dropped, by column, and warnings where they are many, or few enough to be a small count.

    complete: rows that lack nothing, also those beyond what counts of a person. least: the smallest count that may be
    published or derived; None where there is none. person: the column that says whose row it is, if there is one.

    >>> list(dropped_lines(7000, 300, {"cause": 200, "age": 110}))
    ['Dropped 300 of 7,300 rows with missing values: 200 lack cause, 110 age.']
    """
    if not dropped:
        yield f"None of the {number_of(complete, 'row')} lacks a value."
        return
    lacking = [f"{rows:,} {column}" for column, rows in dropped_in.items()]
    if lacking:
        lacking[0] = lacking[0].replace(" ", " lacks " if next(iter(dropped_in.values())) == 1 else " lack ", 1)
    others = len(lacking) - _NAMED
    named = [*lacking[:_NAMED], *([f"fewer in {others} other column{'s' if others > 1 else ''}"] if others > 0 else [])]
    yield (
        f"Dropped {dropped:,} of {complete + dropped:,} rows with missing values{': ' if named else ''}{', '.join(named)}."
    )
    many = dropped_warning(complete, dropped, dropped_in, person)
    for warning in (many, few_dropped_warning(dropped, dropped_in, least, person)):
        if warning:
            yield f"Warning: {warning}"


def few_dropped_warning(
    dropped: int, dropped_in: Mapping[str, int], least: int | None, person: str | None = None
) -> str:
    """What readers who know how many rows there were can compute, where fewer rows were dropped than a count may have."""
    if least is None or not 0 < dropped < least or not dropped_in:
        return ""
    column = next(iter(dropped_in))
    return (
        f"fewer than {least:,} rows are dropped. A reader who knows how many rows the table has can compute how many lack a "
        f"value; the release does not say it, and no check covers it. "
        + (_NOBODY if column == person else f'Count missing values: attributes.{column}.missing = "as a value".')
    )


_NOBODY = (
    "Find out whose rows these are: rows of nobody can be more rows of the people who count, so no setting counts them."
)
"""What to do about rows without a person."""


def dropped_warning(complete: int, dropped: int, dropped_in: Mapping[str, int], person: str | None = None) -> str:
    """What is wrong with a release of the rows that are left, and what to do, where more than a twentieth was dropped.

    complete: rows that lack nothing, also those beyond what counts of a person.
    """
    if dropped <= _MANY * (complete + dropped) or not dropped_in:
        return ""
    column = next(iter(dropped_in))
    advice = f'Ignore that column, or count its missing values: attributes.{column}.missing = "as a value".'
    return (
        f"{100 * dropped / (complete + dropped):.1f} percent of the rows are dropped, and those that are left may be of "
        f"another kind. Most lack {column}. {_NOBODY if column == person else advice}"
    )


def assessment_lines(assessment: "Assessment", rows_per_person: RowsPerPerson = None) -> Iterator[str]:
    """What one table reaches of each criterion, by sensitive attribute, and its homogeneous classes."""
    counted = rows_in_words(assessment.rows, 1 if rows_per_person == 1 else None)
    classes = number_of(assessment.classes, "class", "classes")
    yield f"{counted} in {classes}, the smallest of {assessment.k_anonymity:,}."
    if rows_per_person != 1:
        yield from filter(None, [unit_in_words(rows_per_person)])
    for attribute, reached in assessment.diversity.items():
        yield f"{attribute}: {reached.distinct} distinct, simple {reached.simple:.3g}, entropy {reached.entropy:.3g}"
        yield from _recursive_lines(reached)
    homogeneous = {"Homogeneous": assessment.homogeneous, "Nearly homogeneous": assessment.nearly_homogeneous}
    for name, affected in homogeneous.items():
        yield f"{name}: {number_of(affected.classes, 'class', 'classes')} with {number_of(affected.rows, 'row')}."
    for attribute, needed in assessment.knowledge.items():
        yield from _knowledge_lines(attribute, needed)


def _knowledge_lines(attribute: str, needed: "KnowledgeNeeded") -> Iterator[str]:
    """How many values of a person somebody must rule out to learn the sensitive one."""
    if needed.least:
        values = number_of(needed.least, "value")
        yield f"Background knowledge: who rules out {values} of {attribute} for a person can be left with a single one."
    for ruled_out, fallen in needed.fallen.items():
        if fallen.classes and ruled_out >= needed.least:
            held = f"{number_of(fallen.classes, 'class', 'classes')} with {number_of(fallen.rows, 'row')}"
            yield f"  {number_of(ruled_out, 'value')} ruled out leave a single one in up to {held}"


def eligibility_lines(eligible: Mapping[str, "Eligibility"]) -> Iterator[str]:
    """The strongest requirements that any generalization of a table satisfies, and how far beyond need it is protected."""
    yield "Eligible, however far quasi-identifiers are generalized:"
    for attribute, eligibility in eligible.items():
        reached = eligibility.reached
        yield f"{attribute}: {reached.distinct} distinct, simple {reached.simple:.3g}, entropy {reached.entropy:.3g}"
        yield from _recursive_lines(reached)
        yield from _tau_lines(eligibility)


def _tau_lines(eligibility: "Eligibility") -> Iterator[str]:
    """The eligible tau by l, and the excessive protection."""
    from checks.classes import rounded_up

    for l, tau in enumerate(eligibility.tau, 2):
        if tau < 1:
            yield f"  functional (tau, {l}): tau of {rounded_up(tau):g} or more"
    beyond = [l for l, tau in enumerate(eligibility.tau, 2) if tau == 1]
    if beyond:
        yield f"  functional (tau, {beyond[0]}){f' to (tau, {beyond[-1]})' if len(beyond) > 1 else ''}: no tau will do"
    if eligibility.values > 1:
        least = rounded_up(eligibility.generalized)
        swept = "with sensitive values generalized too (anonymize --method sweep)"
        yield f"  {swept}: tau of {least:g} or more at every l up to {eligibility.values}"
    for requirement, weakest in eligibility.implying.items():
        yield from _implied_lines(requirement, weakest)
    for requirement, excess in eligibility.excess.items():
        yield (
            f"  excessive protection beyond {requirement}: {excess:.4g}"
            if excess is not None
            else f"  excessive protection beyond {requirement}: none, since this table does not satisfy it"
        )


def _implied_lines(requirement: str, weakest: "WeakestImplying") -> Iterator[str]:
    """Which simple and recursive diversities imply a functional one, over the values that occur."""
    from checks.diversity.text import spelled

    if weakest.simple is not None:
        yield f"  {requirement} is implied by simple:l with l of {spelled(weakest.simple)} or more"
    for l, c in weakest.recursive.items():
        yield f"  {requirement} is implied by recursive:c,{l} with c of at most {spelled(c)}"


def _recursive_lines(reached: "StrongestRequirements") -> Iterator[str]:
    finite = [c for c in reached.recursive_c if isfinite(c)]
    for l, c in enumerate(finite, 2):
        yield f"  recursive (c, {l}): c above {c:.3g}"
    if len(finite) < len(reached.recursive_c):
        first, last = len(finite) + 2, len(reached.recursive_c) + 1
        others = f"(c, {first})" if first == last else f"(c, {first}) to (c, {last})"
        yield f"  recursive {others}: no c will do"


def single_table_lines(result: "LatticeResult", domain: "Domain", most: int | None = None) -> Iterator[str]:
    """Minimal single tables with their measures of utility, the best first. most: so many of them; None for all."""
    listed = result.minimal[:most]
    if result.nodes > 1:
        minimal = number_of(len(result.minimal), "minimal table")
        yield f"{minimal} among {result.nodes:,}, {'the best:' if most == 1 else 'best first:'}"
    for table in listed:
        levels = ",".join(f"{attribute}={level}" for attribute, level in table.levels.items())
        shown_levels = {a: level for a, level in table.levels.items() if level < domain.hierarchy(a).height}
        yield f"  {margin_in_words(shown_levels, domain) if shown_levels else 'every quasi-identifier suppressed'}"
        yield (
            f"    KL divergence {table.kl_divergence:.4f}, {number_of(table.classes, 'class', 'classes')} of "
            f"{table.average_class_size:,.1f} rows on average, height {table.height}, discernibility "
            f"{table.discernibility:,}"
        )
        if table.suppressed:
            yield f"    {suppressed_rows(table.suppressed)}"
        yield f"    --levels {levels}"
    if len(listed) < len(result.minimal) and most != 1:
        yield f"And {len(result.minimal) - len(listed):,} more: --all lists them, --json too."


def thinned_table_lines(tables: "Sequence[ThinnedTable]", domain: "Domain", most: int | None = None) -> Iterator[str]:
    """Minimal tables of which rows are left out, the best first, and whom that does not protect from."""
    listed = tables[:most]
    yield f"{number_of(len(tables), 'minimal table')}, {'the best:' if most == 1 else 'best first:'}"
    for table in listed:
        shown_levels = {a: level for a, level in table.levels.items() if level < domain.hierarchy(a).height}
        yield f"  {margin_in_words(shown_levels, domain) if shown_levels else 'every quasi-identifier suppressed'}"
        yield (
            f"    KL divergence {table.kl_divergence:.4f}, {number_of(len(table.recoding), 'class', 'classes')}, "
            f"{number_of(table.left_out, 'row')} left out: of {number_of(table.thinned, 'class', 'classes')} some, of "
            f"{number_of(table.dropped, 'class', 'classes')} all"
        )
    if len(listed) < len(tables) and most != 1:
        yield f"And {len(tables) - len(listed):,} more: --all lists them, --json too."
    if any(table.left_out for table in listed):
        yield (
            "The demands hold of the rows that are shown. A reader who knows that somebody is in the table, and how many "
            "rows share those values, counts the rows left out too, and knows that they have frequent values; do not "
            "publish how many were left out."
        )


def written_table_lines(
    path: str, recoded: "LocalRecoding", requirements: "Requirements", suppressed: int = 0
) -> Iterator[str]:
    """What a single table holds that was just written, and what is known of its privacy. requirements: that it satisfies."""
    smallest = int(recoded.sizes.min()) if len(recoded) else 0
    yield (
        f"Wrote {number_of(recoded.rows, 'row')} to {path}, in {number_of(len(recoded.cells), 'line')}: combinations of "
        f"values with their count. The smallest of its {number_of(len(recoded), 'class', 'classes')} has "
        f"{number_of(smallest, 'row')}."
    )
    if suppressed:
        yield f"{suppressed_rows(suppressed)}."
    diversities = _demanded_diversities(requirements)
    parts = [f"has at least {counted_in_words(requirements.class_size, None)}"] if requirements.class_size else []
    parts += [f"satisfies {' and '.join(diversities)}"] if diversities else []
    if parts:
        yield f"Every class {' and '.join(parts)}."
    if requirements.cell_size:
        yield f"Every count in it is at least {requirements.cell_size:,}."
    if parts:
        yield "Nothing else was checked of it, such as other tables about the same people."
    if not diversities and recoded.sensitive:
        yield f"Warning: no diversity is demanded of what is sensitive: {', '.join(recoded.sensitive)}."


def _demanded_diversities(requirements: "Requirements") -> list[str]:
    """The diversities that every class satisfies, in words; each once where it is one for all sensitive attributes."""
    claims = requirements.diversity_claims
    texts = {str(claim.class_diversity) for claim in claims}
    if len(texts) == 1 and len(claims) == len(requirements.sensitive):
        return [*texts]
    return [f"{claim.class_diversity} in {claim.sensitive}" for claim in claims]


def suppressed_rows(rows: int) -> str:
    """What is said of the rows of a table that are suppressed."""
    they = (
        "it has * in every quasi-identifier, and is a class"
        if rows == 1
        else ("they have * in every quasi-identifier, and are one class together")
    )
    return f"{number_of(rows, 'row')} suppressed: {they}"


def reidentification_lines(risk: "Reidentification | None", unique: "Uniqueness | None") -> Iterator[str]:
    """What a prosecutor, a marketer and a journalist can do, and which columns make rows unique. No value is named."""
    if risk is not None:
        yield from _risk_lines(risk)
    if unique is not None:
        yield from _unique_lines(unique)


def _risk_lines(risk: "Reidentification") -> Iterator[str]:
    yield "Risk that somebody finds a person's row:"
    yield f"  prosecutor, who knows that the person is in the table: {_in_words(risk.prosecutor)}"
    if risk.journalist is not None:
        about = ", estimated from the sampling fraction" if risk.is_estimated else ""
        yield f"  journalist, who knows the population only{about}: {_in_words(risk.journalist)}"
        unique = f"{'about ' if risk.is_estimated else ''}{risk.population_unique:,.4g}"
        yield f"    unique in the population too: {unique} {'row' if risk.population_unique == 1 else 'rows'}"
    yield f"  marketer, who links all rows at random: right for {100 * risk.marketer:.3g} % of them on average"


def _in_words(risk: "Risk") -> str:
    above = ", ".join(f"{100 * share:.3g} % above {bound}" for bound, share in risk.above.items())
    return f"{risk.highest:.3g} at most, {risk.average:.3g} on average; of the rows {above}"


def _unique_lines(uniqueness: "Uniqueness") -> Iterator[str]:
    yield f"Unique by all quasi-identifiers together: {number_of(uniqueness.records, 'row')}."
    telling = sorted(((share, name) for name, share in uniqueness.columns.items() if share), reverse=True)
    if telling:
        shares = ", ".join(f"{name} {100 * share:.3g} %" for share, name in telling)
        columns = "one column" if uniqueness.most == 1 else f"{uniqueness.most} columns or fewer"
        yield f"  Of those unique by {columns}, how many need this column: {shares}."
