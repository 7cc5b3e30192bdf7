"""The report of a disclosure risk: one HTML page for the steward of a table. It is made from the table, so not to publish.

It holds numbers over people and what the config says, never a value of a row.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from importlib import import_module
from io import BytesIO
from math import floor, isfinite, log10
from pathlib import Path
from typing import Any

import numpy as np

from checks.risk.disclosure import Disclosure, Frontier, Optimum
from checks.risk.harm import LeastRisk, MostUtility, Multiplicative, Objective, TradeOff
from marginals.errors import InputError
from marginals.names import level_name, name_or_star, number_of
from marginals.output import OutputFile
from marginals.pages.release_page import WIDTH, page, text_width
from marginals.results import plain
from marginals.risk.assessment import BundleRisk, RiskAssessment, TableRisk, are_comparable
from marginals.risk.rules import selected
from models.arrays import CountArray, FloatArray

# Geometry of the pictures of a risk: a histogram of people by loss, and points and a line of risk against utility.
#
# Positions are in the pixels of a drawing `WIDTH` wide; the same numbers are always drawn the same way.


_LEFT, _RIGHT, _TOP, _BOTTOM = 56.0, WIDTH - 12, 14.0, 210.0
"""The field inside the axes."""

_COLUMNS = 24
_TICKS = 5

_VERTICES = 1000
"""Points that the line of a frontier is drawn with; one with more is drawn a little below itself, never above."""


@dataclass(frozen=True)
class Tick:
    """A number on an axis."""

    place: float
    text: str


@dataclass(frozen=True)
class Dot:
    """A named point; its name stands where the anchor says."""

    x: float
    y: float
    name: str
    name_x: float
    name_y: float
    anchor: str
    colour: int


@dataclass(frozen=True)
class Column:
    """A column of a histogram, and what it says."""

    x: float
    y: float
    width: float
    height: float
    description: str


@dataclass(frozen=True)
class Plot:
    """Columns, a line and dots between two axes. x_title, y_title: what is on the axes, with its unit."""

    name: str
    description: str
    x_title: str
    y_title: str
    x_ticks: tuple[Tick, ...]
    y_ticks: tuple[Tick, ...]
    columns: tuple[Column, ...] = ()
    line: tuple[tuple[float, float], ...] = ()
    dots: tuple[Dot, ...] = ()
    left: float = _LEFT
    right: float = _RIGHT
    top: float = _TOP
    bottom: float = _BOTTOM
    height: float = _BOTTOM + 42


@dataclass(frozen=True)
class Axis:
    """Numbers from low to high along the pixels from begin to end; the higher one first where they fall."""

    low: float
    high: float
    begin: float
    end: float

    def place(self, value: float) -> float:
        """Where a number is drawn."""
        return round(self.begin + (value - self.low) / (self.high - self.low) * (self.end - self.begin), 2)

    def ticks(self) -> tuple[Tick, ...]:
        """Round numbers inside the axis, about `_TICKS` of them."""
        low, high = sorted((self.low, self.high))
        rough = (high - low) / _TICKS
        power = 10.0 ** floor(log10(rough))
        step = next(m * power for m in (1, 2, 5, 10) if m * power >= rough * (1 - 1e-9))
        first, last = int(np.ceil(low / step - 1e-9)), int(np.floor(high / step + 1e-9))
        return tuple(Tick(self.place(n * step), f"{n * step:.6g}") for n in range(first, last + 1))


def loss_histogram(losses: FloatArray) -> Plot | None:
    """How many people have which expected loss; None where nobody has a finite one above 0. losses: shape (people,)."""
    finite = losses[np.isfinite(losses)]
    if not len(finite) or not finite.max() > 0:
        return None
    top = float(finite.max())
    counts, edges = np.histogram(finite, bins=_COLUMNS, range=(0.0, top))
    x = Axis(0.0, top, _LEFT, _RIGHT)
    y = Axis(0.0, float(counts.max()), _BOTTOM, _TOP)
    columns = tuple(
        Column(
            x.place(low),
            y.place(count),
            round(x.place(high) - x.place(low) - 1, 2),
            round(_BOTTOM - y.place(count), 2),
            f"{count:,} people with a loss from {low:.3g} to {high:.3g}",
        )
        for low, high, count in zip(edges, edges[1:], counts.tolist())
        if count
    )
    description = (
        f"{len(finite):,} people by their loss, from 0 to {top:.3g}; half of them have {np.median(finite):.3g} or less"
    )
    y_ticks = tuple(tick for tick in y.ticks() if float(tick.text).is_integer())
    return Plot(
        "People by loss", description, "loss (harm expected over guesses)", "people", x.ticks(), y_ticks, columns
    )


def frontier_picture(edge: Frontier, points: Sequence[tuple[str, float, float]]) -> Plot | None:
    """The frontier, and points of a name, a utility and a risk beside it; None where no risk is finite."""
    edge_points = _finite(edge)
    finite = [(name, u, r) for name, u, r in points if isfinite(r)]
    if not edge_points:
        return None
    x = Axis(*_ends([u for u, _ in edge_points] + [u for _, u, _ in finite]), _LEFT, _RIGHT)
    highest = max([r for _, r in edge_points] + [r for _, _, r in finite])
    y = Axis(0.0, highest * 1.05 or 1.0, _BOTTOM, _TOP)
    dots = _dots(finite, x, y)
    description = "least risk by mean utility: " + "; ".join(
        f"{u:.3g} with {r:.3g}" for u, r in edge_points[:: len(edge_points) // 8 + 1]
    )
    description += "".join(f"; {name}: utility {u:.3g}, risk {r:.3g}" for name, u, r in finite)
    line = tuple((x.place(u), y.place(r)) for u, r in _finite(edge.outlined(_VERTICES)))
    titles = "mean utility (steps down from *)", "risk (mean loss)"
    return Plot("Frontier of risk against utility", description, *titles, x.ticks(), y.ticks(), line=line, dots=dots)


def _finite(edge: Frontier) -> list[tuple[float, float]]:
    return [(u, r) for u, r in zip(edge.utility.tolist(), edge.risk.tolist()) if isfinite(r)]


def releases_picture(releases: Sequence[BundleRisk]) -> Plot | None:
    """Releases by number, the more useful to the right.

    None where it is known of fewer than two how much they tell, or where their base values differ.
    """
    comparable = [
        (str(number), release.total_information, release.risk)
        for number, release in enumerate(releases, 1)
        if release.total_information is not None and isfinite(release.risk)
    ]
    if len(comparable) < 2 or not are_comparable(releases):
        return None
    x, y = (
        Axis(*_around([told for _, told, _ in comparable]), _LEFT, _RIGHT),
        Axis(*_around([r for _, _, r in comparable]), _BOTTOM, _TOP),
    )
    description = "; ".join(f"release {name}: {told:.3g} nats, risk {r:.3g}" for name, told, r in comparable)
    titles = "information (nats); right: tells more", "risk (mean loss)"
    return Plot(
        "Releases by risk and utility", description, *titles, x.ticks(), y.ticks(), dots=_dots(comparable, x, y)
    )


def _dots(points: Sequence[tuple[str, float, float]], x: Axis, y: Axis) -> tuple[Dot, ...]:
    """Points with their names beside them, inside the picture and not on each other."""
    dots: list[Dot] = []
    for number, (name, across, up) in enumerate(points):
        place = x.place(across), y.place(up)
        fits = place[0] + 12 + text_width(name) < _RIGHT
        name_y = place[1] - 6
        while any(abs(name_y - d.name_y) < 13 and abs(place[0] - d.x) < 24 + text_width(name) for d in dots):
            name_y += 14
        beside = place[0] + 8 if fits else place[0] - 8
        dots.append(Dot(*place, name, round(beside, 2), round(name_y, 2), "start" if fits else "end", number % 10))
    return tuple(dots)


def _ends(values: Iterable[float]) -> tuple[float, float]:
    numbers = list(values)
    low, high = min(numbers), max(numbers)
    return (low, high) if high > low else (low - 0.5, high + 0.5)


def _around(values: Iterable[float]) -> tuple[float, float]:
    """From a little below the least of some numbers to a little above the largest, but not below 0."""
    low, high = _ends(values)
    return max(0.0, low - (high - low) / 8), high + (high - low) / 8


_PRINTED = 11
"""Points of a frontier that are printed."""

_WRITTEN = 100
"""Points of a frontier that programs get."""


@dataclass(frozen=True, eq=False)
class RiskReport:
    """The risk of a table, the best disclosure and the frontier where they were asked for, and the risks of releases.

    warnings: of what the config says, if it cannot be meant. on_average: what was asked of the means, if the best disclosure
    is the best on average. minimax: whether the best disclosure is chosen against the
    worst dictionary. attributes: where the best disclosure shows so many attributes of
    each row, how many.
    """

    table: TableRisk
    optimum: Optimum | None = None
    frontier: Frontier | None = None
    releases: Sequence[BundleRisk] = field(default_factory=tuple)
    warnings: Sequence[str] = ()
    on_average: LeastRisk | MostUtility | None = None
    minimax: bool = False
    attributes: int | None = None

    @property
    def how(self) -> str:
        """How the best disclosure was chosen."""
        worst = ", against the worst dictionary" if self.minimax else ""
        if self.attributes is not None:
            return f"row by row, {self.attributes} attributes of each as if they were independent"
        return f"{'row by row' if self.on_average is None else 'on average over the rows'}{worst}"

    @property
    def points(self) -> dict[str, tuple[float, float]]:
        """Pairs of utility and finite risk to be drawn beside the frontier."""
        name = "as disclosed" if self.optimum is None else "without the choice"
        pairs = {name: (self.table.mean_utility, self.table.bayes_risk)}
        if self.optimum is not None:
            pairs["best"] = (self.optimum.mean_utility, self.optimum.risk)
        return {name: pair for name, pair in pairs.items() if isfinite(pair[1])}

    def as_json(self) -> dict[str, Any]:
        """As plain values; null stands for infinite, and for what was not asked for."""
        best, frontier = self.optimum, self.frontier
        optimum = None if best is None else _optimum(best) | {"bound": best.bound, "how": self.how}
        told = {"table": self.table, "optimum": optimum, "frontier": None if frontier is None else _frontier(frontier)}
        return {**plain({**told, "releases": self.releases, "warnings": self.warnings})}

    def __str__(self) -> str:
        return "\n".join(self._lines())

    def _lines(self) -> Iterator[str]:
        table = self.table
        yield f"{number_of(len(table.utility), 'record')} disclosed, mean utility {table.mean_utility:.3f}, against"
        probabilities = table.mean_probabilities
        numbers = (table.names, table.risks, table.losses, probabilities, table.single_fits, table.right_fits)
        for name, risk, loss, probability, single, right in zip(*numbers):
            whose = "" if right is None else f", their own for {right:,}"
            yield (
                f"  {name}: risk {risk:.4g}, largest loss {loss.max():.4g}, "
                f"identified {100 * probability:.2f}% on average if they are in it, one entry fits {single:,}{whose}"
            )
        if table.linked_risks is not None:
            for name, risk in zip(table.names, table.linked_risks):
                yield f"  {name}, after linkage with public records: risk {risk:.4g}"
        linkage = "" if table.linked is None else " without linkage"
        for name, bound in zip(table.names, table.bounds):
            if bound:
                more = "no dictionary of the same people and more, in no finer values, gives a larger risk"
                yield f"  {name}: {more}{linkage}"
        if len(table.names) > 1:
            worst = table.worst_case_risk
            yield f"  all of these{linkage and f',{linkage}'}: Bayes risk {table.bayes_risk:.4g}, worst case {worst:.4g}"
        if self.optimum is not None:
            means = f"risk {self.optimum.risk:.4g}, mean utility {self.optimum.mean_utility:.3f}"
            yield f"Best disclosure{linkage}, {self.how}: {means}"
            yield from _optimum_lines(self.optimum, self.on_average)
        if self.frontier is not None:
            yield f"Least risk{linkage} for each mean utility:"
            few = self.frontier.thinned(_PRINTED)
            yield "   utility  risk        price of more"
            for utility, risk, price in zip(few.utility, few.risk, few.price):
                yield f"  {utility:8.3f}  {risk:<10.4g}  {f'{price:.4g}' if np.isfinite(price) else '-'}"
            yield "  The price is the risk that one more step of utility costs: what --price takes."
        if self.releases:
            yield "Releases, the least risk first:"
        if not are_comparable(self.releases):
            yield "  (their information does not compare, since they have different base values)"
        for release in self.releases:
            told = release.total_information
            informs = "" if told is None else f", information {told:.4f} nats"
            yield (
                f"  {release.release}: risk {release.risk:.4g}, at least {release.bounds[0]:.4g} and at most "
                f"{release.bounds[1]:.4g}, identified {100 * release.identification_probability:.2f}% on average{informs}"
            )


def _optimum(optimum: Optimum) -> dict[str, Any]:
    return {
        "risk": optimum.risk,
        "utility": optimum.mean_utility,
        "impossible": (~optimum.allowed).sum(),
        "levels": optimum.disclosure.level_counts(),
        "evaluated": optimum.evaluated,
    }


def _optimum_lines(optimum: Optimum, on_average: LeastRisk | MostUtility | None) -> Iterator[str]:
    match on_average:
        case LeastRisk(utility):
            yield f"  no disclosure with a mean utility of {utility:g} or more has a risk below {optimum.bound:.4g}"
        case MostUtility(loss):
            yield f"  no disclosure with a risk of {loss:g} or less has a mean utility above {optimum.bound:.3f}"
        case None if optimum.bound is not None:
            yield f"  it may not be the best: what is minimized cannot be below {optimum.bound:.4g}"
    domain = optimum.disclosure.records.space.domain
    for attribute, counts in optimum.disclosure.level_counts().items():
        hierarchy = domain.hierarchy(attribute)
        named = ((name_or_star(attribute, hierarchy, level), count) for level, count in enumerate(counts) if count)
        yield f"  {attribute}: " + ", ".join(f"{name} {count:,}" for name, count in named)
    if not optimum.allowed.all():
        suppressed = int((~optimum.allowed).sum())
        they = "it is" if suppressed == 1 else "they are"
        yield f"  {number_of(suppressed, 'record')} cannot be disclosed so; {they} suppressed."


def _frontier(frontier: Frontier) -> list[dict[str, float]]:
    few = frontier.thinned(_WRITTEN)
    points = zip(few.utility.tolist(), few.risk.tolist(), few.price.tolist())
    return [{"utility": utility, "risk": risk, "price": price} for utility, risk, price in points]


_FITTING = ((0, 0), (1, 1), (2, 4), (5, 9), (10, 19), (20, 99), (100, None))
"""Ranges of how many entries fit a record."""


@dataclass(frozen=True)
class DictionaryRow:
    """A dictionary that attackers may hold, and what it does. shared: columns of it that the table has."""

    name: str
    entries: int
    shared: tuple[str, ...]
    probability: float
    risk: float
    largest: float
    identified: float
    single: int
    right: int | None
    fewest: int
    is_bound: bool
    linked: float | None
    fitting: tuple[tuple[str, int], ...]


@dataclass(frozen=True)
class WeightRow:
    """What it weighs to disclose an attribute: by level its name, and the least and the most of a value."""

    name: str
    by_level: tuple[tuple[str, float, float], ...]


@dataclass(frozen=True)
class RuleRow:
    """A rule of the config: the name of the finest level that it allows, and how many records it is about."""

    attribute: str
    level: str
    records: int


def risk_html(assessment: RiskAssessment, report: RiskReport, objective: Objective | None = None) -> bytes:
    """The page in UTF-8. report: what was found of the same risk; objective: what the best disclosure was chosen by.

    What is disclosed is the best disclosure where there is one, else the table under its rules.
    """
    optimum, unchosen = report.optimum, report.table
    table = unchosen if optimum is None else assessment.of_table(optimum.disclosure.records)
    disclosure = assessment.table.disclosure if optimum is None else optimum.disclosure
    losses = table.expected_losses
    few = None if report.frontier is None else report.frontier.thinned(11)
    points = [(name, *pair) for name, pair in report.points.items()]
    return page(
        "risk.html",
        number=_number,
        records=len(table.utility),
        utility=table.mean_utility,
        most_utility=assessment.most_utility,
        risk=table.bayes_risk,
        worst=table.worst_case_risk,
        linked=table.linked_bayes_risk,
        linked_worst=None if table.linked_risks is None else float(table.linked_risks.max()),
        unchosen=unchosen,
        dictionaries=[
            _dictionary(assessment, table, number, probability) for number, probability in enumerate(table.prior)
        ],
        tells_own=any(right is not None for right in table.right_fits),
        own=any(dictionary.is_row_by_row for dictionary in assessment.attackers.dictionaries),
        similar=assessment.attackers.similarity.attributes,
        threshold=assessment.attackers.similarity.threshold,
        linkage=_linkage(assessment),
        multiplicative=assessment.harm.family is Multiplicative,
        weights=list(_weights(assessment)) if assessment.harm.weights is not None else None,
        personal=assessment.harm.personal is not None,
        interactions=assessment.harm.interactions,
        missed=assessment.harm.missed,
        rules=list(_rules(assessment)),
        histogram=loss_histogram(losses),
        infinite=int(np.isinf(losses).sum()),
        quantiles=_quantiles(losses),
        how=report.how,
        objective=None if objective is None else in_words(objective),
        row_weight=assessment.row_weight,
        optimum=optimum,
        impossible=0 if optimum is None else int((~optimum.allowed).sum()),
        levels=_level_counts(disclosure),
        frontier=None if report.frontier is None else frontier_picture(report.frontier, points),
        frontier_rows=[] if few is None else list(zip(few.utility.tolist(), few.risk.tolist(), few.price.tolist())),
        no_frontier=assessment.no_frontier,
        releases=report.releases,
        releases_plot=releases_picture(report.releases),
        comparable=are_comparable(report.releases),
    )


def in_words(objective: Objective) -> str:
    """What was asked of each record."""
    match objective:
        case LeastRisk(utility):
            return f"the least loss with a utility of at least {utility:g}"
        case MostUtility(loss):
            return f"the most utility with a loss of at most {loss:g}"
        case TradeOff(price):
            return f"the least of loss - {price:g} times utility"
    return str(objective)


def _number(value: float | None) -> str:
    return "infinite" if value is None or np.isinf(value) else f"{value:.4g}"


def _dictionary(assessment: RiskAssessment, table: TableRisk, number: int, probability: float) -> DictionaryRow:
    dictionary, counts = assessment.attackers.dictionaries[number], table.counts[number]
    linked = table.linked_risks
    return DictionaryRow(
        dictionary.name,
        len(dictionary),
        dictionary.shared_columns(assessment.table.rows.domain.attributes),
        float(probability),
        float(table.risks[number]),
        float(table.losses[number].max()),
        float(table.mean_probabilities[number]),
        table.single_fits[number],
        table.right_fits[number],
        int(counts.min()),
        table.bounds[number],
        None if linked is None else float(linked[number]),
        tuple(_fitting(counts)),
    )


def _fitting(counts: CountArray) -> Iterator[tuple[str, int]]:
    for low, high in _FITTING:
        inside = (counts >= low) if high is None else (counts >= low) & (counts <= high)
        named = (
            f"{low} or more" if high is None else "none" if high == 0 else f"{low}" if low == high else f"{low}-{high}"
        )
        yield named, int(inside.sum())


def _linkage(assessment: RiskAssessment) -> tuple[str, int, Sequence[str]] | None:
    linkage = assessment.attackers.linkage
    return None if linkage is None else (linkage.public.name, len(linkage.public), linkage.columns)


def _weights(assessment: RiskAssessment) -> Iterator[WeightRow]:
    space, harm = assessment.originals.space, assessment.harm
    for name, taxonomy in zip(space.domain.attributes, space.taxonomies):
        weight, shares = harm.weight_of(name), harm.shares_of(name, taxonomy)
        of_level = [shares[taxonomy.levels == level] for level in range(taxonomy.hierarchy.height + 1)]
        if weight:
            names = (name_or_star(name, taxonomy.hierarchy, level) for level in range(len(of_level)))
            ends = ((_times(weight, float(s.min())), _times(weight, float(s.max()))) for s in of_level)
            yield WeightRow(name, tuple((level, low, high) for level, (low, high) in zip(names, ends)))
    for name in assessment.attackers.added_columns:
        by_value = (harm.weights or {}).get(name, 0.0)
        weights = [0.0, *by_value.values()] if isinstance(by_value, Mapping) else [by_value]
        if any(weights):
            yield WeightRow(name, (("as it is", min(weights), max(weights)), ("*", 0.0, 0.0)))


def _times(weight: float, share: float) -> float:
    return weight * share if share else 0.0


def _rules(assessment: RiskAssessment) -> Iterator[RuleRow]:
    for rule in assessment.rules:
        hierarchy = assessment.table.rows.domain.hierarchy(rule.attribute)
        records = int(selected(assessment.table, rule.condition).sum())
        level = hierarchy.height if rule.level is None else rule.level
        name = "hidden" if level == hierarchy.height else level_name(rule.attribute, hierarchy, level)
        yield RuleRow(rule.attribute, name, records)


def _level_counts(disclosure: Disclosure) -> dict[str, list[tuple[str, int]]]:
    """For each attribute the names of its levels, the finest first, and how many records show it at each."""
    domain = disclosure.records.space.domain
    return {
        attribute: [(name_or_star(attribute, domain.hierarchy(attribute), level), n) for level, n in enumerate(counts)]
        for attribute, counts in disclosure.level_counts().items()
    }


def _quantiles(losses: np.ndarray[tuple[int, ...], np.dtype[np.float64]]) -> list[tuple[str, float | None]]:
    """For some shares of the people, the loss that they do not exceed."""
    ordered = np.sort(losses)
    shares = ((0.5, "half of the people"), (0.9, "90 %"), (0.99, "99 %"), (1.0, "everybody"))
    return [(name, plain(ordered[int(np.ceil(share * len(ordered))) - 1])) for share, name in shares]


FORMATS = ("svg", "png", "pdf")


def pyplot() -> Any:
    """Matplotlib's figures, drawn without a screen. Raises InputError where it is not installed."""
    try:
        import_module("matplotlib").use("agg")
        return import_module("matplotlib.pyplot")
    except ImportError:
        raise InputError("plots need matplotlib: pip install matplotlib") from None


def frontier_plot(edge: Frontier, points: Mapping[str, tuple[float, float]], format: str = "svg") -> bytes:  # noqa: A002
    """The picture of a frontier as a file of a format. points: pairs of utility and risk by name.

    Raises InputError without matplotlib.
    """
    plt = pyplot()
    figure, axes = plt.subplots(figsize=(6, 4), layout="constrained")
    axes.plot(edge.utility, edge.risk, label="least risk")
    axes.fill_between(edge.utility, edge.risk, max(edge.risk[-1], *(r for _, r in points.values()), 0), alpha=0.15)
    for name, (utility, risk) in points.items():
        axes.plot(utility, risk, "o", label=name)
    axes.set_xlabel("mean utility (steps down from *)")
    axes.set_ylabel("risk (mean loss)")
    axes.legend()
    content = BytesIO()
    # Without a date, the same frontier gives the same file.
    figure.savefig(content, format=format, metadata={"Date": None} if format == "svg" else None)
    plt.close(figure)
    return content.getvalue()


def plot_format(path: Path) -> str:
    """The format that the name of a file ends in. Raises InputError for another ending, or without matplotlib."""
    ending = path.suffix.removeprefix(".").lower()
    if ending not in FORMATS:
        raise InputError(f"a plot is written as {', '.join(FORMATS)}, which the name {path.name} must end in")
    _ = pyplot()
    return ending


def write_plot(file: OutputFile, edge: Frontier, points: Mapping[str, tuple[float, float]]) -> None:
    """Write the picture in the format that the name of the file ends in. Raises InputError."""
    file.write(frontier_plot(edge, points, plot_format(file.path)))
