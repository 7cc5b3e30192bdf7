"""What a first config says of sensitive values: how sure anybody can become of each, and which may harm nobody."""

from fractions import Fraction

from checks.diversity.registry import PRESETS
from marginals.config.facts import Facts
from marginals.config.questions import comment_lines, quoted
from marginals.config.vocabulary import harmless_values, meaning_of
from marginals.publishing.harmful import bounded_values, known_values
from marginals.publishing.policy import PROPOSED
from marginals.tables.table import Table

_MOST_LISTED = 12
"""Values of a column, at most, that a first config lists."""

ABOUT_EXCEPTIONS = (
    "some values look as if they harm nobody, and are named there: if that is so, write confirmed = true; until then all "
    "values count as harmful"
)
"""What is asked about exceptions, without naming a value."""

_MOSTLY = 2
"""One in so many rows at least has the number 0, if it stands for nothing that harms and not for the end of a scale."""


def exception_lines(facts: Facts, table: Table) -> list[str]:
    """Ask in a section of a config about values of a sensitive column that look as if they harm nobody; nothing if none do.

    table: as publishing counts it. Rare values are not named. What is not listed counts as harmful in later tables, too.
    """
    values = known_values(table, facts.name)
    labels, rows = values.hierarchy.labels[0], values.rows
    canonical = str if facts.format is None else facts.format.canonical
    said = {canonical(value): meaning for value, meaning in facts.said.values.items()}
    about = meaning_of(facts.name) or meaning_of(facts.said.description) or facts.values_meaning
    harmless = harmless_values(facts.name, facts.said.description, about, {v: said.get(v, v) for v in labels})
    is_end_of_scale = "0" in harmless and _MOSTLY * rows[labels.index("0")] < sum(rows)
    is_rare = any(rows[labels.index(value)] < facts.rare for value in harmless)
    if is_rare or is_end_of_scale or len(harmless) in (0, len(labels)):
        return []
    return [
        *comment_lines(
            "These values look as if they harm nobody. If so, write confirmed = true. Until then all count as harmful."
        ),
        f"harmless = {quoted(list(harmless))}",
        "confirmed = false",
    ]


def share_in_words(share: Fraction) -> str:
    """The percentage, whole, so that it tells no small count."""
    return "under 1" if 100 * share < 1 else str(min(99, round(100 * share)))


def bound_lines(table: Table, name: str, rare: int) -> list[str]:
    """Say in a comment how sure the proposed demand lets anybody become of each value of a sensitive column of few."""
    values = bounded_values(table, name)
    if len(values.rows) > _MOST_LISTED or not any(values.rows):
        return []
    people = table.rows_per_person if isinstance(table.rows_per_person, int) else 1
    odds = PRESETS[PROPOSED].of_rows(people)

    def most(share: Fraction) -> str:
        return "no bound" if odds.bound(share) == 1 else str(100 * people * odds.bound(share))

    of_each = zip(values.rows, values.hierarchy.labels[values.level], values.shares)
    told = [  # the most frequent value, which seldom harms, last
        f"{quoted(label)} {most(share)} ({share_in_words(share)})"
        for rows, label, share in sorted(of_each)
        if rows >= rare
    ]
    if len(told) < len(values.rows):
        told.append(f"each rarer value at most {most(Fraction(rare - 1, sum(values.rows)))}")
    return comment_lines(
        f'How sure "{PROPOSED}" lets anybody become, in percent, and how many of all have it: {", ".join(told)}.'
    )
