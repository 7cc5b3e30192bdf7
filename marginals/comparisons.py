"""Shares, and comparisons of groups by them: conditional shares, risk ratios, risk differences and odds ratios, with bounds.

A comparison is a function of a two-by-two table, group by outcome. Its certain bounds are its extremes over all four counts
within their bounds (`models.inference.two_by_two`; design 4.21).
"""

from collections.abc import Mapping

import numpy as np

from marginals.answers import Answer, Bounds, Of, answer, frame_of, weakest
from marginals.conditions import Meaning, Where
from marginals.errors import InputError
from marginals.estimates import MeantRows, basis_in
from marginals.later import pd
from marginals.messages import first_few
from marginals.published_values import meanings
from marginals.tables.attribute import MISSING
from marginals.tables.intervals import names_missing
from models.arrays import FloatArray
from models.frozen import frozen
from models.graphs.basis import CERTAIN, NO_LEVEL, NOT_ASKED, Basis, Distinction
from models.inference.marginal_model import MarginalModel
from models.inference.two_by_two import (
    ODDS_RATIO,
    RISK_DIFFERENCE,
    RISK_RATIO,
    Effect,
    are_sums_known,
    extremes,
    ratio,
    share_bounds,
    tighten,
)
from models.programs.nested_counts import ValueRange


@frozen(eq=False)
class _ComparedGroups:
    """Rows, two groups of them and an outcome. against: None for everybody else. leaves_out: rows without a value."""

    rows: MeantRows
    outcome: Mapping[str, Meaning]
    group: Mapping[str, Meaning]
    against: Mapping[str, Meaning] | None = None
    leaves_out: bool = False

    @classmethod
    def of(
        cls, model: MarginalModel, outcome: Where, group: Where, against: Where | None, where: Where
    ) -> "_ComparedGroups":
        having, inside = (meanings(model.domain, model.finest_levels, condition) for condition in (outcome, group))
        other = None if against is None else meanings(model.domain, model.finest_levels, against)
        if not having or not inside or other == {}:
            raise InputError('an outcome and a group are conditions, such as "diagnosis=Flu" and "sex=Female"')
        if alike := having.keys() & inside.keys():
            raise InputError(
                f"the outcome and the group are of different attributes, not both of {first_few(sorted(alike))}"
            )
        if other is None and len(inside) != 1:
            raise InputError(
                "everybody else is told by a group of one attribute; name the other group, such as against={'sex': 'Male'}"
            )
        present = {**_with_value(model, having), **(_with_value(model, inside) if other is None else {})}
        groups = cls(MeantRows.of(model, where).and_of(present), having, inside, other, bool(present))
        _require_possible(groups.first, "of the group")
        _require_possible(groups.second, "of the other group")
        _require_possible(groups.rows.and_of(having), "with the outcome")
        return groups

    @property
    def first(self) -> MeantRows:
        return self.rows.and_of(self.group)

    @property
    def second(self) -> MeantRows:
        return self.rows.and_of(_negated(self.group) if self.against is None else self.against)

    def without(self, rows: MeantRows) -> MeantRows | None:
        return rows.and_of(_negated(self.outcome)) if len(self.outcome) == 1 else None

    def bounds(self) -> FloatArray:
        def split(rows: MeantRows, most: ValueRange | None = None) -> tuple[ValueRange, ValueRange, ValueRange]:
            total = _range(rows)
            return _range(rows.and_of(self.outcome)), _range(self.without(rows), most or total), total

        first, second = split(self.first), split(self.second)
        anything = ValueRange(0, first[-1].upper + second[-1].upper)
        both = split(self.rows, anything) if self.against is None else (anything, anything, anything)
        return np.array([first, second, both], dtype=np.float64)

    def expected(self, model: MarginalModel) -> list[float]:
        counts: list[float] = []
        for rows in (self.first, self.second):
            all_rows, with_outcome = (model.expected_in(part.estimated) for part in (rows, rows.and_of(self.outcome)))
            counts += [with_outcome, max(all_rows - with_outcome, 0.0)]
        return counts

    def is_sharp(self, bounds: FloatArray) -> bool:
        if self.leaves_out and self.rows.is_in_doubt:  # how many have no value: the ends may belong to different tables
            return False
        cell = self.first.and_of(self.outcome)
        if self.against is None and _are_shown(self.rows, self.first, self.rows.and_of(self.outcome), cell):
            return True
        return are_sums_known(tighten(bounds)) and cell.bounds().sharp

    def basis(self) -> Basis:
        against = self.against or {}
        by_attribute = self.rows.distinctions({})
        for attribute, meaning in {**self.outcome, **against, **self.group}.items():
            is_in_both = attribute in against and attribute in self.group
            among = {attribute: self.group[attribute] | against[attribute]} if is_in_both else {}
            by_attribute[attribute] = _two_groups(self.rows.and_of(among), attribute, meaning)
        basis = basis_in(self.rows.model, by_attribute)
        return weakest([basis, self.rows.basis({})]) if self.leaves_out else basis


def _negated(conditions: Mapping[str, Meaning]) -> dict[str, Meaning]:
    return {attribute: ~meaning for attribute, meaning in conditions.items()}


def _with_value(model: MarginalModel, conditions: Mapping[str, Meaning]) -> dict[str, Meaning]:
    present = {}
    for attribute, meaning in conditions.items():
        labels = model.domain.hierarchy(attribute).labels[0]
        is_missing = np.array([label == MISSING for label in labels])
        may_miss = np.array([names_missing(label) for label in labels])
        if may_miss.any() and not np.any(is_missing & meaning.possibly):
            present[attribute] = Meaning.between(~may_miss | meaning.surely, ~is_missing)
    return present


def _are_shown(*parts: MeantRows) -> bool:
    return all(rows.surely.is_shown({}) and rows.possibly.is_shown({}) for rows in parts)


def _require_possible(rows: MeantRows, which: str) -> None:
    if not all(meaning.possibly.any() for meaning in rows.meanings.values()):
        raise InputError(
            f"where excludes the rows {which}, so there is nothing to compare. where= selects rows of both groups, and "
            'against= names the other group, such as against="sex=Female"'
        )


def _two_groups(rows: MeantRows, attribute: str, meaning: Meaning) -> Distinction:
    model = rows.model
    hierarchy, finest = model.domain.hierarchy(attribute), model.finest_levels[attribute]
    inside = meaning.surely | meaning.cut
    among = rows.base_values.get(attribute, np.ones_like(inside))
    groups = np.where(among, inside.astype(np.intp), NOT_ASKED)
    distinction = Distinction.of_groups(hierarchy, finest, groups) or Distinction(NO_LEVEL, NO_LEVEL)
    return Distinction(NO_LEVEL, distinction.separating_level) if meaning.cut.any() else distinction


def _range(rows: MeantRows | None, otherwise: ValueRange | None = None) -> ValueRange:
    if rows is None:
        assert otherwise is not None
        return ValueRange(0, otherwise.upper)
    bounds = rows.bounds()
    return ValueRange(bounds.lower, bounds.upper)


def effect(model: MarginalModel, outcome: Where, group: Where, against: Where | None, where: Where) -> "pd.DataFrame":
    """Return how a group differs from another one, by default everybody else, in an outcome: three answers."""
    groups = _ComparedGroups.of(model, outcome, group, against, where)
    effects = {"odds ratio": ODDS_RATIO, "risk ratio": RISK_RATIO, "risk difference": RISK_DIFFERENCE}
    basis = groups.basis()
    return frame_of([_compared(groups, basis, of) for of in effects.values()], list(effects))


def _compared(groups: _ComparedGroups, basis: Basis, comparison: Effect) -> Answer:
    def bounds() -> Bounds:
        counts = groups.bounds()
        ends = extremes(counts, comparison)
        return Bounds(*ends, ends.is_known or (ends != comparison.within and groups.is_sharp(counts)))

    return answer(groups.rows.model, lambda table: comparison.of(*groups.expected(table)), basis, bounds)


def share(model: MarginalModel, part: Where, where: Where) -> Answer:
    """Return the share of the rows of one condition that another one holds for. Raises InputError where there are none."""
    conditions = meanings(model.domain, model.finest_levels, part)
    if not conditions:
        raise InputError('a share is that of the rows with some values, such as "diagnosis=Flu"')
    all_rows = MeantRows.of(model, where)
    rows = all_rows.and_of(present := _with_value(model, conditions))
    inside = rows.and_of(conditions)
    total, within = _range(rows), _range(inside)
    if not total.upper:
        raise InputError("no row with these values is possible, so there is nothing to take a share of")
    outside = rows.and_of(_negated(conditions)) if len(conditions) == 1 else None
    ends = ValueRange(*map(float, share_bounds(within, _range(outside, total), total)))

    def ask(table: MarginalModel) -> float:
        return ratio(table.expected_in(inside.estimated), table.expected_in(rows.estimated))

    expected = model.expected_in(rows.estimated)
    of = Of(expected, model.expected_in(all_rows.estimated) - expected if present else 0.0)
    if ends.is_known:
        return answer(model, ask, CERTAIN, lambda: Bounds(*ends, True), of=of, clips=True)
    is_decided = not (present and rows.is_in_doubt)
    is_sharp = is_decided and (_are_shown(rows, inside) or (total.is_known and inside.bounds().sharp))
    basis = weakest([inside.basis({}), rows.basis({})]) if present else inside.basis({})
    return answer(model, ask, basis, lambda: Bounds(*ends, is_sharp), of=of, clips=True)
