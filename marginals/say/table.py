"""Tables in words: whose rows count, which were left out, what a table gives away, and single tables made of it."""

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from fractions import Fraction
from math import isfinite
from pathlib import Path
from typing import TYPE_CHECKING

from marginals.messages import few
from marginals.names import margin_in_words, number_of
from marginals.tables.attribute import Role
from marginals.tables.people import ANY, RowsPerPerson

if TYPE_CHECKING:
    from checks.classes import Assessment, Eligibility, StrongestRequirements
    from checks.population import Reidentification, Risk
    from checks.requirements import Requirements
    from marginals.recoding.lattice import SingleTable
    from marginals.recoding.local_recoding import LocalRecoding
    from marginals.tables.table import Table
    from models.tables.hierarchy import Domain


def rows_in_words(rows: int, rows_per_person: RowsPerPerson) -> str:
    """Return a number of rows, or of people if each has one row."""
    if rows_per_person == 1:
        return number_of(rows, "person", "people")
    of_a_person = f" (at most {rows_per_person:,} of a person)" if isinstance(rows_per_person, int) else ""
    return f"{number_of(rows, 'row')}{of_a_person}"


def unit_in_words(rows_per_person: RowsPerPerson) -> str:
    """Return of whom a release speaks, as a sentence; empty if it does not say."""
    if rows_per_person is None:
        return ""
    if rows_per_person == ANY:
        return "A person can have any number of these rows: claims are of rows, and k rows may be fewer than k people."
    if rows_per_person == 1:
        return "Each row is a person of its own, so whatever is counted and claimed is of people."
    return f"No person has more than {rows_per_person:,} of these rows. Counts are of rows, claims are of people."


def whose_lines(table: "Table") -> Iterator[str]:
    """Yield what comes before all else: that claims count rows, not people, and that rows stand in a table several times."""
    if table.rows_per_person == ANY:
        yield f"Warning: {unit_in_words(ANY)}"
    if table.copies > 1:
        of = "people" if table.rows_per_person == 1 else "rows"
        yield (
            f"Warning: each row stands {table.copies} times in the table, or a multiple of it. If they were entered "
            f"{table.copies} times, {table.copies} {of} of a count are one."
        )


def part_lines(table: "Table", ledger: Path | None) -> Iterator[str]:
    """Yield what a steward must know who publishes a part of a table, with a ledger or without."""
    if table.part is None:
        return
    everybody = table.part.whole.rows
    yield f"Of {number_of(everybody, 'row')} {few(table.rows, everybody)} are in the part {table.part.where.text}."
    if ledger is None:
        yield (
            "It is judged by itself, without a ledger. Do not publish other parts of this table, or all of it: the "
            "difference between two releases could reveal small groups. With --ledger DIR both can be published."
        )
    elif table.rows_per_person not in (None, 1):
        yield "A person can have rows in the part and others outside of it: it is a part of the rows, not of the people."


def kept_out_by_role(roles: Mapping[str, Role], config: str) -> dict[str, str]:
    """Return why each column is not published whose role keeps it out. config: the name of the file that says so."""
    why = {
        Role.IDENTIFIER: "so it is never read",
        Role.IGNORED: "so it is left out; if init wrote that, it says there why",
    }
    return {name: f'its role in {config} is "{role.value}", {why[role]}' for name, role in roles.items() if role in why}


def left_out_lines(table: "Table") -> Iterator[str]:
    """Yield which rows were left out since fewer of a person count, and how numbers are read."""
    if table.left_out:
        count = "one row of each person counts" if table.rows_per_person == 1 else "more of a person do not count"
        yield f"Left out {few(table.left_out)} more rows, since {count}."
    for name, numbers in table.numbers.items():
        if numbers.format.is_grouped:
            yield f"The numbers of {name} are read with {numbers.format}."
        if numbers.unreadable:
            yield (
                f"{name} is no number in {few(numbers.unreadable)} rows: ranges cannot be judged of it; list what "
                "stands for no value under data.missing."
            )
    for name, texts in table.respelled.items():
        yield (
            f"{name}: {number_of(texts, 'text')} read as another spelling of a value; if these are values of their own, "
            "write one_spelling = false."
        )


_MANY = 0.05  # share of dropped rows that is warned of
_NAMED = 5  # columns of a line


def dropped_lines(
    complete: int, dropped: int, dropped_in: Mapping[str, int], least: int | None = None, people: Collection[str] = ()
) -> Iterator[str]:
    """Yield how many rows were dropped, by column, and warnings if they are many, or few enough to be a small count.

    complete: rows that lack nothing, also those beyond what counts of a person. least: the smallest count that may be
    published or derived; None if there is none. people: the columns that say whose row it is.
    """
    if not dropped:
        yield f"None of the {number_of(complete, 'row')} lacks a value."
        return
    lacking = [f"{few(rows)} {column}" for column, rows in dropped_in.items()]
    lacking[:1] = [first.replace(" ", " lack ", 1) for first in lacking[:1]]
    others = len(lacking) - _NAMED
    named = [*lacking[:_NAMED], *([f"fewer in {others} other column{'s' if others > 1 else ''}"] if others > 0 else [])]
    of_all = f"{few(dropped)} of {complete + dropped:,}" if few(dropped) != "few" else "few"
    yield f"Dropped {of_all} rows with missing values{': ' if named else ''}{', '.join(named)}."
    many = dropped_warning(complete, dropped, dropped_in, people)
    may_be_computed = few_dropped_warning(dropped, dropped_in, least, people)
    yield from (f"Warning: {warning}" for warning in (many, may_be_computed) if warning)


def few_dropped_warning(
    dropped: int, dropped_in: Mapping[str, int], least: int | None, people: Collection[str] = ()
) -> str:
    """Return what readers who know how many rows there were can compute, if fewer were dropped than a count may have."""
    if least is None or not 0 < dropped < least or not dropped_in:
        return ""
    return (
        f"fewer than {least:,} rows are dropped. A reader who knows how many rows the table has can compute how many lack a "
        f"value; the release does not say it, and no check covers it. {_count_missing(dropped_in, people, 'Count')}"
    )


def dropped_warning(complete: int, dropped: int, dropped_in: Mapping[str, int], people: Collection[str] = ()) -> str:
    """Return what is wrong with a release of the rows that are left if more than a twentieth was dropped, and what to do.

    complete: rows that lack nothing, also those beyond what counts of a person.
    """
    if dropped <= _MANY * (complete + dropped) or not dropped_in:
        return ""
    share = f"more than {100 * _MANY:.0f}" if few(dropped) == "few" else f"{100 * dropped / (complete + dropped):.1f}"
    return (
        f"{share} percent of the rows are dropped, and those that are left may be of "
        f"another kind. Most lack {next(iter(dropped_in))}. "
        f"{_count_missing(dropped_in, people, 'Ignore that column, or count')}"
    )


def _count_missing(dropped_in: Mapping[str, int], people: Collection[str], what: str) -> str:
    column = next(iter(dropped_in))
    if column in people:
        return (
            "Find out whose rows these are: they can be more rows of the people who count, so no setting counts them."
        )
    return f'{what} its missing values: attributes.{column}.missing = "as a value".'


def assessment_lines(assessment: "Assessment", rows_per_person: RowsPerPerson = None) -> Iterator[str]:
    """Yield what one table reaches of each criterion, by sensitive attribute, and its homogeneous classes."""
    counted = rows_in_words(assessment.rows, 1 if rows_per_person == 1 else None)
    classes = number_of(assessment.classes, "class", "classes")
    yield f"{counted} in {classes}, the smallest of {assessment.k_anonymity:,}."
    if rows_per_person != 1:
        yield from filter(None, [unit_in_words(rows_per_person)])
    for attribute, reached in assessment.diversity.items():
        yield from _reached_lines(attribute, reached)
    homogeneous = {"Homogeneous": assessment.homogeneous, "Nearly homogeneous": assessment.nearly_homogeneous}
    for name, affected in homogeneous.items():
        yield f"{name}: {number_of(affected.classes, 'class', 'classes')} with {number_of(affected.rows, 'row')}."
    for attribute, needed in assessment.background_knowledge.items():
        if needed.least:
            values = number_of(needed.least, "value")
            yield f"Background knowledge: who rules out {values} of {attribute} for a person can be left with a single one."


def eligibility_lines(eligible: Mapping[str, "Eligibility"]) -> Iterator[str]:
    """Yield the strongest requirements that any generalization of a table satisfies, and the excessive protection."""
    from checks.classes import rounded_up
    from checks.diversity.text import spelled

    yield "Eligible, however far quasi-identifiers are generalized:"
    for attribute, eligibility in eligible.items():
        yield from _reached_lines(attribute, eligibility.reached)
        finite = {l: tau for l, tau in enumerate(eligibility.tau, 2) if tau < 1}
        yield from (f"  functional (tau, {l}): tau of {rounded_up(tau):g} or more" for l, tau in finite.items())
        yield from _none_will_do("functional", "tau", len(finite), len(eligibility.tau))
        if eligibility.values > 1:
            least = rounded_up(eligibility.generalized)
            swept = "with sensitive values generalized too (anonymize --method sweep)"
            yield f"  {swept}: tau of {least:g} or more at every l up to {eligibility.values}"
        for requirement, weakest in eligibility.implying.items():
            if weakest.simple is not None:
                yield f"  {requirement} is implied by simple:l with l of {spelled(weakest.simple)} or more"
            for l, c in weakest.recursive.items():
                yield f"  {requirement} is implied by recursive:c,{l} with c of at most {spelled(c)}"
        for requirement, excess in eligibility.excess.items():
            words = "none, since this table does not satisfy it" if excess is None else f"{excess:.4g}"
            yield f"  excessive protection beyond {requirement}: {words}"


def _reached_lines(attribute: str, reached: "StrongestRequirements") -> Iterator[str]:
    yield f"{attribute}: {reached.distinct} distinct, simple {reached.simple:.3g}, entropy {reached.entropy:.3g}"
    finite = [c for c in reached.recursive_c if isfinite(c)]
    yield from (f"  recursive (c, {l}): c above {c:.3g}" for l, c in enumerate(finite, 2))
    yield from _none_will_do("recursive", "c", len(finite), len(reached.recursive_c))


def _none_will_do(criterion: str, parameter: str, finite: int, of: int) -> Iterator[str]:
    if finite < of:
        last = f" to ({parameter}, {of + 1})" if of > finite + 1 else ""
        yield f"  {criterion} ({parameter}, {finite + 2}){last}: no {parameter} will do"


def recoded_line(method: str, recoded: "LocalRecoding", kl_divergence: float) -> str:
    """Return the measures of a table whose classes were generalized one by one."""
    return (
        f"{method}: {number_of(len(recoded), 'class', 'classes')} of {recoded.average_class_size:,.1f} rows on average, "
        f"information utility {recoded.information_utility:.3f}, KL divergence {kl_divergence:.4f}"
    )


def single_table_lines(
    tables: "Sequence[SingleTable]", domain: "Domain", most: int | None, nodes: int
) -> Iterator[str]:
    """Yield minimal single tables with their measures of utility, the best first.

    most: so many of them; None for all. nodes: combinations of levels that there are; 1 if one was chosen.
    """
    if nodes != 1:
        yield f"{number_of(len(tables), 'minimal table')} among {nodes:,}, {'the best:' if most == 1 else 'best first:'}"
    for table in tables[:most]:
        levels = {a: level for a, level in table.levels.items() if level < domain.hierarchy(a).height}
        yield f"  {margin_in_words(levels, domain) if levels else 'every quasi-identifier suppressed'}"
        yield from (f"    {line}" for line in _measures(table))
    if most not in (None, 1) and len(tables) > most:
        yield f"And {len(tables) - most:,} more, which --json lists."


def _measures(table: "SingleTable") -> Iterator[str]:
    yield (
        f"KL divergence {table.kl_divergence:.4f}, {number_of(table.classes, 'class', 'classes')} of "
        f"{table.average_class_size:,.1f} rows on average, height {table.height}, discernibility {table.discernibility:,}"
    )
    if table.suppressed:
        yield _suppressed(table.suppressed)
    yield f"--levels {','.join(f'{attribute}={level}' for attribute, level in table.levels.items())}"


def _suppressed(rows: int) -> str:
    return f"{number_of(rows, 'row')} suppressed: * in every quasi-identifier, one class together"


def written_table_lines(
    path: str, recoded: "LocalRecoding", requirements: "Requirements", suppressed: int = 0
) -> Iterator[str]:
    """Yield what a single table holds that was just written, and what is known of its privacy.

    requirements: that it satisfies.
    """
    smallest = int(recoded.sizes.min()) if len(recoded) else 0
    yield (
        f"Wrote {number_of(recoded.rows, 'row')} to {path}, in {number_of(len(recoded.cells), 'line')}: combinations of "
        f"values with their count. The smallest of its {number_of(len(recoded), 'class', 'classes')} has "
        f"{number_of(smallest, 'row')}."
    )
    if suppressed:
        yield f"{_suppressed(suppressed)}."
    diversities = [f"{claim.class_diversity} in {claim.sensitive}" for claim in requirements.diversity_claims]
    parts = [f"has at least {number_of(requirements.class_size, 'row')}"] if requirements.class_size else []
    parts += [f"satisfies {' and '.join(diversities)}"] if diversities else []
    if parts:
        yield f"Every class {' and '.join(parts)}."
    if requirements.cell_size:
        yield f"Every count in it is at least {requirements.cell_size:,}."
    if parts:
        yield "Nothing else was checked of it, such as other tables about the same people."
    if not diversities and recoded.sensitive:
        yield f"Warning: no diversity is demanded of what is sensitive: {', '.join(recoded.sensitive)}."


def reidentification_lines(risk: "Reidentification | None") -> Iterator[str]:
    """Yield what a prosecutor, a marketer and a journalist can do."""
    if risk is not None:
        about = "estimated from the sampling fraction, " if risk.is_estimated else ""
        yield "Risk that somebody finds a person's row:"
        yield f"  prosecutor, who knows that the person is in the table: {_risk(risk.prosecutor)}"
        if risk.journalist is not None:
            yield f"  journalist, who knows the population only: {about}{_risk(risk.journalist)}"
            rows = "row" if risk.population_unique == 1 else "rows"
            yield f"    unique in the population too: {about}{risk.population_unique:,.4g} {rows}"
        yield f"  marketer, who links all rows at random: right for {100 * risk.marketer:.3g} % of them on average"


def _risk(risk: "Risk") -> str:
    above: Iterable[tuple[Fraction, float]] = risk.above.items()
    shares = ", ".join(f"{100 * share:.3g} % above {bound}" for bound, share in above)
    return f"{risk.highest:.3g} at most, {risk.average:.3g} on average; of the rows {shares}"
