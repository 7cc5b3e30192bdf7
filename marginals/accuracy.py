"""Errors of a release against its table, beside yardsticks; they do not follow from the release."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from itertools import combinations
from math import nan, prod
from statistics import fmean
from typing import Any

import numpy as np

from marginals.arguments import published_of, require
from marginals.bundle.content import BundleContent, Released
from marginals.bundle.together import over_table
from marginals.estimates import pairs_in
from marginals.later import pd
from marginals.pairs import UNPUBLISHED
from marginals.replaced import Renewed
from marginals.results import plain
from marginals.tables.attribute import MISSING
from marginals.tables.table import Table
from models.accuracy import total_variation
from models.arrays import CountArray, FloatArray
from models.errors import TooManyCellsError
from models.frozen import frozen
from models.graphs.basis import CERTAIN, Basis
from models.graphs.junction_tree import Collection
from models.inference.marginal_model import MarginalModel, cramers_v, phi_squared
from models.tables.data_cube import DataCube

# Yardsticks: the exact counts of each attribute, and the counts of each that a policy would publish at the finest level.
# Exact counts of an attribute may be forbidden, so they are no fair yardstick.
INDEPENDENT = "exact one-way tables, all else independent"
ALONE = "the best one-way tables within the policy"

_LEAST_COARSE = 0.01  # total variation
_LEAST_LOST = 0.01  # of Cramer's V


@frozen
class TableErrors:
    """Total variations between the model's tables at base values and the data's, from 0 to 1.

    left_out: number of tables that were not compared, because they are too large, or too many. If they are too many, the
    compared ones are a sample, the same for every release of the table.
    """

    by_table: Mapping[tuple[str, ...], float]
    left_out: int = 0

    @property
    def mean(self) -> float:
        """Mean of the errors; 0 if no table was compared."""
        return fmean(self.by_table.values()) if self.by_table else 0.0

    @property
    def worst(self) -> tuple[str, ...] | None:
        """Attributes of the first table with the largest error; None if no table was compared."""
        return max(self.by_table, key=self.by_table.__getitem__, default=None)

    @property
    def sample(self) -> str:
        """The part of the tables that the mean is about; empty if all were compared.

        >>> TableErrors({("age", "sex"): 0.1}, 2).sample
        '1 of 3 tables'
        """
        compared = len(self.by_table)
        return f"{compared:,} of {compared + self.left_out:,} tables" if self.left_out else ""

    def as_json(self) -> dict[str, Any]:
        """Return plain values."""
        worst = self.worst and {"attributes": self.worst, "error": self.by_table[self.worst]}
        return {"mean": self.mean, "worst": worst, "compared": len(self.by_table), "left_out": self.left_out}


@frozen
class Accuracy:
    """Errors of one model: tables of one and of two attributes, and wanted tables."""

    one_way: TableErrors
    two_way: TableErrors
    wanted: TableErrors

    def as_json(self) -> dict[str, Any]:
        """Return plain values."""
        wanted = [{"attributes": names, "error": error} for names, error in self.wanted.by_table.items()]
        return vars(self) | {"wanted": wanted}


@frozen
class PairCompared:
    """Two attributes in the table and in the release.

    kind: "published", "supported", "assumed" or "unpublished". cramers_v: corrected for chance, among the rows that have a
    value of both.
    """

    attributes: tuple[str, str]
    kind: str
    total_variation: float
    cramers_v: float
    cramers_v_released: float

    @property
    def lost(self) -> float:
        """Difference of Cramer's V in the table and in the release."""
        return self.cramers_v - self.cramers_v_released

    @property
    def is_lost(self) -> bool:
        """True if the difference is worth a sentence."""
        return self.lost >= _LEAST_LOST


@frozen(eq=False)
class Comparison(Renewed):
    """Comparison of a release with its table. Not for publication.

    yardsticks: accuracy of other tables, by name. compared_pairs: pairs of attributes in their order, without those that are
    too large to be laid out; at most a thousand.

    >>> from marginals.example import publication
    >>> publication.steward.comparison
    Comparison(mean total variation of 3 two-way tables 0.585; not for publication)
    """

    release: Accuracy
    yardsticks: Mapping[str, Accuracy]
    compared_pairs: tuple[PairCompared, ...] = ()

    def __repr__(self) -> str:
        tables = f"{len(self.release.two_way.by_table)} two-way tables {self.release.two_way.mean:.3f}"
        return f"Comparison(mean total variation of {tables}; not for publication)"

    @property
    def candidates(self) -> dict[str, Accuracy]:
        """The release, and its yardsticks, by name."""
        return {"this release": self.release, **self.yardsticks}

    @property
    def coarse(self) -> list[str]:
        """Attributes without an allowed table that is near the exact one, the largest error first."""
        errors = self.yardsticks[ALONE].one_way.by_table if ALONE in self.yardsticks else {}
        return [name for (name,), error in sorted(errors.items(), key=lambda item: -item[1]) if error >= _LEAST_COARSE]

    def mean_of(self, yardstick: str) -> float | None:
        """Mean total variation of two-way tables made of a yardstick; None if it was not compared."""
        errors = self.yardsticks.get(yardstick)
        return errors.two_way.mean if errors is not None and errors.two_way.by_table else None

    def summary(self) -> "pd.DataFrame":
        """Return a frame with a row for the release and for each yardstick; smaller is better.

        Columns: `one_way`, `two_way` and `wanted`, the mean total variation of such tables; `worst`, the largest of a
        two-way table.

        >>> from marginals.example import publication
        >>> publication.steward.comparison.summary()[["one_way", "two_way"]].round(3)  # doctest: +NORMALIZE_WHITESPACE
                                                one_way  two_way
        this release                              0.273    0.585
        the best one-way tables within the policy     0.273    0.689
        exact one-way tables, all else independent      0.000    0.373
        """
        rows = {
            name: {
                "one_way": errors.one_way.mean,
                "two_way": errors.two_way.mean,
                "worst": max(errors.two_way.by_table.values(), default=nan),
                "wanted": errors.wanted.mean if errors.wanted.by_table else nan,
            }
            for name, errors in self.candidates.items()
        }
        return pd.DataFrame.from_dict(rows, orient="index")

    def most_lost(self) -> tuple[PairCompared, ...]:
        """Return the pairs, sorted by the association that is lost."""
        return tuple(sorted(self.compared_pairs, key=lambda pair: -pair.lost))

    def as_json(self) -> dict[str, Any]:
        """Return plain values."""
        return {**plain(self.release), "yardsticks": self.yardsticks, "pairs": self.most_lost()}


Stop = Callable[[], bool]
_RELEASE = ""

# Pairs that are compared, and cells of one table of them, empty ones included, and of all that are laid out. Larger ones
# have a total variation only.
_PAIRS = 1000
_CELLS = 1 << 20
_ALL_CELLS = 1 << 26


def compare(release: BundleContent | Released, table: Table) -> Comparison:
    """Compare a release with the table that it was made of, beside one-way tables. Not for publication.

    Raises InputError for another table.

    >>> from marginals.example import release, table
    >>> compare(release, table).release.two_way.worst
    ('age', 'sex')
    """
    published = published_of(release, "release")
    require(table, Table, "table", "what marginals.read_table(source, attributes) returns")
    over, named = over_table(published, table)
    ones = Collection.of(named.cube, named.cube.domain.attribute_masks)
    return comparison(named.cube, over.model, {INDEPENDENT: MarginalModel(ones)})


def comparison(
    cube: DataCube,
    model: MarginalModel,
    yardsticks: Mapping[str, MarginalModel],
    wanted: Sequence[tuple[str, ...]] = (),
    stop: Stop = lambda: False,
) -> Comparison:
    """Compare a model with a cube's tables, beside other models. wanted: attributes of further tables.

    Tables are left out if they are too large, or if the cube would have to count them where the rows lie. If `stop` becomes
    true before the end, all pairs are: a mean of those reached would depend on the clock.
    """
    attributes = cube.domain.attributes
    comparing = _Comparing(cube, {_RELEASE: model, **yardsticks}, dict(pairs_in(model, model.finest_levels)))
    singles, every = list(combinations(attributes, 1)), list(combinations(attributes, 2))
    # the seed, and so the sample, is the same for all releases of a table
    pairs = [every[place] for place in np.random.default_rng(1).permutation(len(every))[:_PAIRS]]
    further = [*dict.fromkeys(tuple(sorted(names, key=cube.domain.index)) for names in wanted)]
    for names in singles:
        comparing.add(names)
    for names in pairs:
        if stop():
            comparing.errors = {names: errors for names, errors in comparing.errors.items() if len(names) == 1}
            comparing.pairs, pairs = {}, []
            break
        comparing.add(names)
    else:
        for names in further:
            comparing.add(names)
    accuracies = {
        name: Accuracy(
            comparing.table_errors(name, singles, len(singles)),
            comparing.table_errors(name, pairs, len(every)),
            comparing.table_errors(name, further, len(further)),
        )
        for name in comparing.models
    }
    compared = tuple(comparing.pairs[names] for names in sorted(comparing.pairs, key=comparing.order))
    return Comparison(accuracies.pop(_RELEASE), accuracies, compared)


@dataclass(eq=False)
class _Comparing:
    """Errors so far, by table and model; `cells` of tables of two attributes were laid out."""

    cube: DataCube
    models: Mapping[str, MarginalModel]
    bases: Mapping[tuple[str, ...], Basis]
    errors: dict[tuple[str, ...], dict[str, float]] = field(default_factory=dict)
    pairs: dict[tuple[str, ...], PairCompared] = field(default_factory=dict)
    cells: int = 0

    def add(self, names: tuple[str, ...]) -> None:
        mask = self.cube.domain.mask(dict.fromkeys(names, 0))
        if names in self.errors or not self.cube.holds(mask):
            return
        cells = prod(self.cube.domain.hierarchy(name).size(0) for name in names)
        with suppress(TooManyCellsError):
            data = self.cube.table(mask)
            if len(names) == 2 and cells <= min(_CELLS, _ALL_CELLS - self.cells):
                self.cells += cells
                self._add_pair((names[0], names[1]), data.dense())
            else:
                self.errors[names] = {name: total_variation(data, model) for name, model in self.models.items()}

    def order(self, names: tuple[str, ...]) -> tuple[int, ...]:
        return tuple(map(self.cube.domain.index, names))

    def table_errors(self, model: str, tables: Iterable[tuple[str, ...]], number: int) -> TableErrors:
        compared = sorted(filter(self.errors.__contains__, tables), key=self.order)
        return TableErrors({names: self.errors[names][model] for names in compared}, number - len(compared))

    def _add_pair(self, names: tuple[str, str], counts: CountArray) -> None:
        shares, margin = counts / max(self.cube.total, 1), dict.fromkeys(names, 0)
        expected = {name: model.expected(margin) / max(model.total, 1) for name, model in self.models.items()}
        errors = {name: float(np.maximum(shares - released, 0.0).sum()) for name, released in expected.items()}
        self.pairs[names] = self._pair(names, counts, expected[_RELEASE], errors[_RELEASE])
        self.errors[names] = errors

    def _pair(self, names: tuple[str, str], counts: CountArray, released: FloatArray, error: float) -> PairCompared:
        basis = self.bases.get(names, CERTAIN)
        published = [(self._values(names[0], m[names[0]]), self._values(names[1], m[names[1]])) for m in basis.margins]
        labels = [np.array(self.cube.domain.hierarchy(name).labels[0], dtype=object) for name in names]
        cells = np.ix_(*(np.flatnonzero(of_name != MISSING) for of_name in labels))
        with_values = counts[cells]
        rows = int(with_values.sum())
        values = int(np.count_nonzero(with_values.sum(axis=1))), int(np.count_nonzero(with_values.sum(axis=0)))
        return PairCompared(
            names,
            UNPUBLISHED if any(len(group) == 1 for group in basis.assumed) else basis.kind.value,
            error,
            cramers_v(phi_squared(with_values.astype(np.float64)), rows, values),
            cramers_v(phi_squared(released[cells]), rows, values, min(published, key=prod, default=(1, 1))),
        )

    def _values(self, name: str, level: int) -> int:
        labels = self.cube.domain.hierarchy(name).labels[level]
        table = self.cube.table(self.cube.domain.mask({name: level}))
        return sum(labels[code] != MISSING for code in table.codes[0].tolist())
