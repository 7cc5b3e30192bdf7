"""The decision on a release in words: the lines of the terminal, of the report's first page and of the window."""

from collections.abc import Iterator, Mapping, Sequence
from math import ceil, inf
from typing import TYPE_CHECKING, Any

from checks.finding import Verdict
from marginals.attacks import small_below
from marginals.messages import first_few
from marginals.names import column_name, number_of
from marginals.say.claims import finding_sentences, sensitive_lines
from marginals.say.table import rows_in_words

if TYPE_CHECKING:
    from marginals.decision import Approval, DecidedTable, Decision, Learned
    from marginals.steward import WantedTable

_MOST_VALUES = 3  # values that are named; more are counted


def verdict_line(decision: "Decision") -> str:
    """Return how many promises hold, and who can check them."""
    holding, attested, failing, undecided = map(
        decision.promised, (Verdict.HOLDS, Verdict.ATTESTED, Verdict.FAILS, Verdict.UNDECIDED)
    )
    number = len(decision.promises)
    if not number:
        return "It makes no promise about privacy."
    if not decision.is_kept:
        fails = f"{failing:,} {'fails' if failing == 1 else 'fail'}" if failing else ""
        rest = " and ".join(filter(None, [fails, f"{undecided:,} undecided" if undecided else ""]))
        return f"{holding:,} of {number_of(number, 'promise')} proven, {rest}."
    all_of = "The one promise holds" if number == 1 else f"All {number} promises hold"
    if attested:
        return f"{all_of}; anybody can check {holding:,} of them, the publisher vouches for {attested:,}."
    return f"{all_of}; anybody can check {'it' if holding == 1 else 'them'}."


def _person_line(decision: "Decision") -> str:
    how = {"random": "drawn at random"}.get(decision.content.one_row or "", f"the {decision.content.one_row} one")
    return f"One row of each person counts, {how}." if decision.content.one_row else ""


def _counts_line(decision: "Decision") -> str:
    unit = ("row", "rows") if decision.content.most_rows_of_a_person is None else ("person", "people")
    least, count = decision.least_group, decision.least_count
    group = "" if least is None else f"No group shown is smaller than {number_of(least, *unit)}."
    derived = ", shown or worked out" if decision.is_derived_too else " shown"
    return " ".join(filter(None, [group, "" if count is None else f"No number below {count:,}{derived}."]))


def _smallest_line(decision: "Decision") -> str:
    lines = list(sensitive_lines(decision.content.verify()))
    if not lines and decision.smallest is not None:
        lines = [f"The smallest number is {decision.smallest:,}."]
    return " ".join(lines)


def _revealing_line(decision: "Decision") -> str:
    limited = [learned for learned in decision.learned if learned.surest.bound is not None]
    if not limited:
        return ""
    more = len(limited) - 1
    rest = (
        f" {more:,} {'other is further from its' if more == 1 else 'others are further from theirs'}." if more else ""
    )
    return f"Nearest to its limit: {_learned_in_words(decision, limited[0])}.{rest}"


def _learned_in_words(decision: "Decision", learned: "Learned") -> str:
    surest, value = learned.surest, _values_in_words(decision, learned)
    limit = "" if surest.bound is None else f", limit {in_hundred(surest.bound)}"
    overall = f"({in_hundred(surest.overall)} overall{limit})"
    named = f"{column_name(learned.sensitive)} {value}"
    if surest.largest is None:
        return f"{named}, not examined by group {overall}"
    group = _group_in_words(decision, learned)
    return f"{named}, {in_hundred(surest.largest, is_at_most=True)} in 100 for {group} {overall}"


def _values_in_words(decision: "Decision", learned: "Learned") -> str:
    labels, words = learned.surest.labels, decision.content.codebook
    if len(labels) > _MOST_VALUES:
        return f"any of {len(labels):,} harmful values"
    return " or ".join(words.word(learned.sensitive, label) for label in labels)


def _group_in_words(decision: "Decision", learned: "Learned") -> str:
    words, cell = decision.content.codebook, learned.surest.cell
    return ", ".join(f"{column_name(a)} {words.word(a, label)}" for a, label in cell.items()) or "everybody"


def in_hundred(share: float, *, is_at_most: bool = False) -> str:
    """Return how many of a hundred a share is, to one decimal; upwards if nothing may exceed it.

    >>> in_hundred(0.16551), in_hundred(0.16551, is_at_most=True), in_hundred(0.2), in_hundred(0.0004)
    ('16.6', '16.6', '20', 'fewer than 0.1')
    """
    exact = round(1000 * share, 6)  # a share such as .29 is a little more in binary
    tenths = ceil(exact) if is_at_most else round(exact)
    return f"{tenths / 10:g}" if tenths or not exact else "fewer than 0.1"


def useful_line(decision: "Decision") -> str:
    """Return how many pairs of attributes can be analysed, and of which nothing is published."""
    pairs = decision.pairs.total
    nothing = f" Nothing of: {first_few(decision.content.unpublished, 6)}." if decision.content.unpublished else ""
    if not pairs:
        return f"Useful for: the counts of one column.{nothing}"
    exactly = "" if not decision.exact else f", {decision.exact:,} of them exactly"
    return f"Useful for: {decision.analysable:,} of {number_of(pairs, 'pair')} of columns{exactly}.{nothing}"


def wanted_in_short(wanted: Sequence["WantedTable"]) -> str:
    """Return which analyses that somebody named are answered by a table; empty if nobody named one."""
    if not wanted:
        return ""
    lost = [" by ".join(map(column_name, table.attributes)) for table in wanted if table.margin is None]
    not_lost = f"{len(wanted) - len(lost):,} of {len(wanted):,} named questions are answered by a table"
    return f"Named: {not_lost}{f'; not {first_few(lost, 6)}' if lost else ''}."


def decision_lines(decision: "Decision", name: str) -> Iterator[str]:
    """Yield the decision in at most four lines. name: what the first begins with, such as "Published release"."""
    rows = rows_in_words(decision.rows, decision.content.rows_per_person)
    where = f" where {decision.content.where}" if decision.content.where else ""
    yield f"{name}: {number_of(len(decision.tables), 'table')} of {rows}{where}. {verdict_line(decision)}"
    counts = " ".join(filter(None, [_person_line(decision), _counts_line(decision), _smallest_line(decision)]))
    yield from filter(None, [counts, _revealing_line(decision), useful_line(decision)])


def approval_lines(approval: "Approval", name: str) -> Iterator[str]:
    """Yield what a steward approved, for the steward alone. name: of the release."""
    yield from decision_lines(approval.decision, name)
    yield f"Digest of settings, rows and program: {approval.digest}"
    yield from (f"{office}: {who or 'not named'}" for office, who in approval.names.items())
    yield f"[x] {approval.statement}"
    who = next(filter(None, approval.names.values()), "somebody who is not named")
    yield f"Roles, confirmed by {who}:" if approval.is_reviewed else "Roles, which nobody has confirmed:"
    yield from (f"    {column_name(column)}: {role}" for column, role in approval.roles.items())


# The decision on a page: at most one printed sheet, whatever a release holds.

_DRAWN, _COMPARED = 7, 6  # values and attributes of the page; more stand further down in the report


def decision_words(decision: "Decision") -> dict[str, Any]:
    """Return the decision for a page."""
    content, failing = decision.content, decision.promised(Verdict.FAILS)
    smallest = min(content.smallest_sensitive.values(), default=inf)
    state = "holds" if decision.is_kept else "fails" if failing else "undecided" if decision.promises else "none"
    nearest = next((one for one in decision.learned if one.surest.bound and one.surest.largest), None)
    learned, tables = decision.learned[:_DRAWN], sorted(decision.tables, key=lambda table: not table.sensitive)
    findings = content.codebook.worded([promise.finding for promise in decision.promises])
    return {
        "state": state,
        "rows": rows_in_words(decision.rows, content.rows_per_person),
        "verdict": verdict_line(decision),
        "person": _person_line(decision),
        "counts": _counts_line(decision),
        "smallest": _smallest_line(decision).replace("`", ""),
        "is_small": smallest < small_below(content),
        "learned": [_learned_row(decision, one) for one in learned],
        "nearest": nearest and (_group_in_words(decision, nearest), _values_in_words(decision, nearest)),
        "more_learned": len(decision.learned) - len(learned),
        "promises": finding_sentences(findings, content.harmful, apart=1),
        "useful": useful_line(decision),
        "compared": _compared(decision)[:_COMPARED],
        "tables": [_table_row(decision, table) for table in tables],
        "table_count": len(tables),
        "number_count": sum(table.numbers for table in tables),
    }


def _learned_row(decision: "Decision", learned: "Learned") -> dict[str, Any]:
    surest = learned.surest
    largest = "" if surest.largest is None else in_hundred(surest.largest, is_at_most=True)
    shares = {"all": surest.overall, "worst": surest.largest, "limit": surest.bound}
    change = f"{in_hundred(surest.overall)} \u2192 {largest}" if largest else "not examined"
    limit = "" if surest.bound is None else f" of {in_hundred(surest.bound)}"
    return {
        "sensitive": learned.sensitive,
        "value": _values_in_words(decision, learned),
        "group": _group_in_words(decision, learned) if largest else "",
        "told": change + limit,
        "places": {name: None if share is None else round(100 * share, 2) for name, share in shares.items()},
    }


def _compared(decision: "Decision") -> list[tuple[str, Mapping[str, str]]]:
    # of each sensitive attribute, or of each where none is, the others by what a release tells of the pair
    kinds, rows = decision.pairs.kinds, list[tuple[str, Mapping[str, str]]]()
    published = [name for name in decision.pairs.attributes if name not in decision.content.unpublished]
    for name in [name for name in decision.content.sensitive if name in published] or published:
        by_kind: dict[str, list[str]] = {}
        for other in published:
            if other != name and (kind := kinds.get((name, other))):
                by_kind.setdefault(kind, []).append(column_name(other))
        rows.append((column_name(name), {kind: first_few(names, 6) for kind, names in by_kind.items()}))
    return rows


def _table_row(decision: "Decision", table: "DecidedTable") -> dict[str, Any]:
    words = decision.content.codebook
    labels = [[words.word(name, label) for label in of] for name, of in table.labels.items()]
    return {
        "names": [(column_name(name), name in table.sensitive) for name in table.labels],
        "labels": " | ".join(" \u00b7 ".join(of if len(of) <= 3 else [*of[:2], "\u2026", of[-1]]) for of in labels),
        "numbers": table.numbers,
        "smallest": table.smallest,
    }
