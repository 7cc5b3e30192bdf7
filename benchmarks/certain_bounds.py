"""Random questions of every kind to releases of real tables: the truth is never outside bounds that are called certain.

Counts, means, totals, quantiles, shares, risk ratios and differences, odds ratios and cross tables, under conditions that
name published values or ranges of numbers, which may cut through these. Each release is asked the same number of questions.
A line tells, by kind, how many there were, how often the truth was outside (never), and how often the bounds left one
number. The last line measures the bounds of a mean where forty attributes are published.
"""

import argparse
import time
import warnings
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from math import inf, isnan, nan

import numpy as np
import pandas as pd
from measurement import say
from real_tables import RealTable, real_tables

from marginals import InputError, Release
from marginals.tables.intervals import named_numbers

Condition = dict[str, str | list[str]]
"""Values by attribute."""
BoolArray = np.ndarray
Asked = Iterator[tuple[float, float, float]]
"""The truth with its bounds."""


@dataclass(frozen=True, eq=False)
class Questions:
    """A release, and the table that it was made of."""

    table: RealTable
    release: Release
    rng: np.random.Generator
    _places: dict[str, np.ndarray] = field(default_factory=dict)

    def condition(self, among: list[str]) -> tuple[str, Condition, BoolArray]:
        """One of some attributes, a random condition on it, and which rows it holds for."""
        attribute = str(self.rng.choice(among))
        is_range = attribute in self.table.numbers and self.rng.random() < 0.7
        return (attribute, *(self.range(attribute) if is_range else self.labels(attribute)))

    def range(self, attribute: str) -> tuple[Condition, BoolArray]:
        """A range between numbers that occur, or beyond one."""
        column = self.table.frame[attribute].to_numpy(dtype=float)
        texts = [f"{end:g}" for end in np.sort(self.rng.choice(column, 2))]
        low, high = map(float, texts)
        text, held = (
            (f">={texts[0]}", column >= low),
            (f"<{texts[1]}", column < high),
            (f"{texts[0]}..{texts[1]}", (column >= low) & (column <= high)),
        )[int(self.rng.integers(3))]
        return {attribute: text}, held

    def labels(self, attribute: str) -> tuple[Condition, BoolArray]:
        """Some published values of a random level."""
        hierarchy = self.release.domain.hierarchy(attribute)
        finest = self.release.model.finest_levels[attribute]
        level = int(self.rng.integers(finest, max(hierarchy.height, finest + 1)))
        labels = hierarchy.labels[level]
        chosen = {labels[i] for i in self.rng.choice(len(labels), int(self.rng.integers(1, len(labels) // 2 + 2)))}
        held = np.logical_or.reduce([self.under(attribute, level, label) for label in sorted(chosen)])
        return {attribute: [f"{label}@{level}" for label in sorted(chosen)]}, held

    def under(self, attribute: str, level: int, label: str) -> np.ndarray:
        """Which rows a published label counts."""
        column = self.table.frame[attribute]
        if attribute in self.table.numbers:
            numbers = named_numbers(label)
            if numbers is None:
                raise InputError("a label without numbers is not asked for")
            inside = column >= float(numbers.low) if numbers.with_low else column > float(numbers.low)
            return (
                inside & (column <= float(numbers.high) if numbers.with_high else column < float(numbers.high))
            ).to_numpy()
        hierarchy = self.release.domain.hierarchy(attribute)
        above = {row[0]: row[level] for row in hierarchy.rows()}
        return column.astype(str).map(above).to_numpy() == label

    def places(self, attribute: str) -> np.ndarray:
        """Of each row the number of its published value."""
        if attribute not in self._places:
            level = self.release.model.finest_levels[attribute]
            labels = self.release.domain.hierarchy(attribute).labels[level]
            self._places[attribute] = np.argmax([self.under(attribute, level, label) for label in labels], axis=0)
        return self._places[attribute]

    def where(self, without: list[str]) -> tuple[Condition, BoolArray]:
        """A random condition on none, one or two of the other attributes."""
        where, held = {}, np.ones(len(self.table.frame), dtype=bool)
        left = [a for a in self.table.frame.columns if a not in without]
        for _ in range(int(self.rng.integers(3))):
            attribute, condition, own = self.condition(left)
            left.remove(attribute)
            where |= condition
            held &= own
        return where, held

    def ask(self, kind: str) -> Asked:
        """A question of a kind, its answers beside the truth."""
        yield from _KINDS[kind](self)


def _count(q: Questions) -> Asked:
    where, held = q.where([])
    found = q.release.count(where)
    yield float(held.sum()), found.lower, found.upper


def _amount(q: Questions) -> tuple[str, Condition, np.ndarray]:
    attribute = str(q.rng.choice(q.table.numbers))
    where, held = q.where([attribute] if q.rng.random() < 0.6 else [])
    return attribute, where, q.table.frame[attribute].to_numpy(dtype=float)[held]


def _mean(q: Questions) -> Asked:
    attribute, where, numbers = _amount(q)
    found = q.release.mean(attribute, where)
    if len(numbers):
        yield float(numbers.mean()), found.lower, found.upper


def _total(q: Questions) -> Asked:
    attribute, where, numbers = _amount(q)
    found = q.release.total(attribute, where)
    yield float(numbers.sum()), found.lower, found.upper


def _quantile(q: Questions) -> Asked:
    attribute, where, numbers = _amount(q)
    probability = float(np.round(q.rng.random(), 2))
    found = q.release.quantile_bounds(attribute, [probability], where)
    if len(numbers):
        yield float(np.quantile(numbers, probability, method="inverted_cdf")), *found.iloc[0]


def _ratio(above: float, below: float) -> float:
    return above / below if below else (inf if above > 0 else nan)


def _two(q: Questions) -> tuple[Condition, Condition, Condition, list[float]]:
    columns = list(q.table.frame.columns)
    one, group, in_group = q.condition(columns)
    other, outcome, has_outcome = q.condition([c for c in columns if c != one])
    where, held = q.where([one, other])
    counts = [float((held & g & o).sum()) for g in (in_group, ~in_group) for o in (has_outcome, ~has_outcome)]
    return group, outcome, where, counts


def _share(q: Questions) -> Asked:
    _, outcome, where, (a, b, c, d) = _two(q)
    found = q.release.share(outcome, where)
    yield _ratio(a + c, a + b + c + d), found.lower, found.upper


def _risk_ratio(q: Questions) -> Asked:
    group, outcome, where, (a, b, c, d) = _two(q)
    found = q.release.risk_ratio(outcome, group, where)
    risks = _ratio(a, a + b), _ratio(c, c + d)
    if not any(map(isnan, risks)):
        yield _ratio(*risks), found.lower, found.upper


def _risk_difference(q: Questions) -> Asked:
    group, outcome, where, (a, b, c, d) = _two(q)
    found = q.release.risk_difference(outcome, group, where)
    yield _ratio(a, a + b) - _ratio(c, c + d), found.lower, found.upper


def _odds_ratio(q: Questions) -> Asked:
    group, outcome, where, (a, b, c, d) = _two(q)
    found = q.release.odds_ratio(group, outcome, where)
    yield _ratio(a * d, b * c), found.lower, found.upper


def _crosstab(q: Questions) -> Asked:
    rows, columns = (str(name) for name in q.rng.choice(list(q.table.frame.columns), 2, replace=False))
    where, held = q.where([rows, columns])
    normalize = [None, "rows", "columns", "all"][int(q.rng.integers(4))]
    lower, upper, _ = q.release.crosstab_bounds(rows, columns, where, normalize=normalize)
    truth = np.zeros(lower.shape)
    places = [q.places(rows), q.places(columns)]
    np.add.at(truth, tuple(place[held] for place in places), 1)
    if normalize is not None:
        axis = {"rows": 1, "columns": 0, "all": None}[normalize]
        whole = truth.sum(axis=axis, keepdims=True)
        truth = np.divide(truth, whole, out=np.full(truth.shape, nan), where=np.broadcast_to(whole > 0, truth.shape))
    yield from zip(truth.ravel(), lower.to_numpy(dtype=float).ravel(), upper.to_numpy(dtype=float).ravel())


_KINDS: Mapping[str, Callable[[Questions], Asked]] = {
    "count": _count,
    "mean": _mean,
    "total": _total,
    "quantile": _quantile,
    "share": _share,
    "risk ratio": _risk_ratio,
    "risk difference": _risk_difference,
    "odds ratio": _odds_ratio,
    "cross table": _crosstab,
}
_NEED_NUMBERS = ("mean", "total", "quantile")


def is_outside(truth: float, lower: float, upper: float) -> bool:
    """Whether a true number lies outside bounds, beyond what rounding explains."""
    slack = 1e-9 * max(1.0, abs(truth)) if np.isfinite(truth) else 0.0
    return bool(not isnan(truth) and (truth < lower - slack or truth > upper + slack))


def asked(questions: Questions, number: int) -> Iterator[dict[str, object]]:
    """By kind: questions, refusals, numbers compared, those outside, and those that the bounds leave one value."""
    kinds = [kind for kind in _KINDS if questions.table.numbers or kind not in _NEED_NUMBERS]
    for place, kind in enumerate(kinds):
        count = number // len(kinds) + (place < number % len(kinds))
        refused = compared = outside = exact = 0
        began = time.process_time()
        for _ in range(count):
            try:
                answers = list(questions.ask(kind))
            except InputError:
                refused += 1
                continue
            compared += len(answers)
            outside += sum(is_outside(*answer) for answer in answers)
            exact += sum(bool(lower == upper) for _, lower, upper in answers)
        yield {
            "kind": kind,
            "questions": count,
            "refused": refused,
            "compared": compared,
            "outside": outside,
            "exact": exact,
            "processor_seconds": round(time.process_time() - began, 2),
        }


def mean_of_forty() -> float:
    """Processor seconds of the bounds of a mean, the first question that is asked, where forty attributes are published."""
    rng = np.random.default_rng(0)
    hidden = rng.normal(size=4000)
    frame = pd.DataFrame(
        {
            "age": np.clip(50 + 15 * hidden + 8 * rng.normal(size=4000), 0, 99).astype(int),
            **{f"x{i}": (hidden + rng.normal(size=4000) > rng.normal()).astype(int) for i in range(39)},
        }
    )
    release = RealTable("forty", frame, ("age",)).published(5, 30)
    began = time.process_time()
    release.mean("age", ["x1=1", "x30=0"])
    return time.process_time() - began


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--questions", type=int, default=600, help="of all releases together")
    parser.add_argument("--seconds", type=float, default=5.0, help="for each search")
    arguments = parser.parse_args()
    warnings.simplefilter("ignore")
    tables = list(real_tables(most_rows=10_000))
    for table in tables:
        release = table.published(5, arguments.seconds)
        questions = Questions(table, release, np.random.default_rng(7))
        for line in asked(questions, arguments.questions // len(tables)):
            say(benchmark="certain_bounds", table=table.name, **line)
    say(benchmark="certain_bounds", attributes=40, processor_seconds_of_a_mean=round(mean_of_forty(), 3))


if __name__ == "__main__":
    main()
