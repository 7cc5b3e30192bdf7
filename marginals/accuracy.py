"""Errors of a release against its table, beside yardsticks. None of it follows from the release."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from itertools import combinations
from math import comb, nan, prod
from statistics import fmean
from typing import TYPE_CHECKING, Any

import numpy as np

from marginals.arguments import published_of, require
from marginals.bundle.content import BundleContent, Released
from marginals.bundle.together import over_table
from marginals.estimates import pairs_in
from marginals.results import plain
from marginals.tables.attribute import MISSING
from marginals.tables.table import Table
from models.accuracy import (
    total_variation,
)
from models.arrays import CountArray, FloatArray, IndexArray
from models.errors import TooManyCellsError
from models.graphs.basis import CERTAIN, Basis
from models.graphs.junction_tree import Collection
from models.inference.marginal_model import MarginalModel, cramers_v, phi_squared
from models.tables.data_cube import DataCube

if TYPE_CHECKING:
    import pandas as pd


# Yardsticks: what the exact counts of each attribute tell, those that a policy would publish of each, as fine as it allows,
# and single anonymized tables. Exact counts of an attribute may be forbidden, so they are no fair yardstick. The table that
# is refined step by step, in which no attribute can be finer, stands for the best one where searching for that takes long.
INDEPENDENT = "exact one-way tables, all else independent"
ALONE = "the best one-way tables within the policy"
SINGLE = "the best single table"

_COARSE = 0.01
"""Total variation of the table of one attribute, from which on it is coarse."""

UNPUBLISHED = "unpublished"
"""The kind of a pair with an unpublished attribute."""

LEAST_LOST = 0.01
"""Cramer's V that is lost, from which on a pair is told of."""


@dataclass(frozen=True)
class TableErrors:
    """Total variations between the model's tables at base values and the data's, from 0 to 1.

    by_table: by the attributes of a table. left_out: tables that were not compared, since they are too large, or too many.
    drawn: whether the compared ones are a sample, the same for every release of the table.
    """

    by_table: Mapping[tuple[str, ...], float]
    left_out: int = 0
    drawn: bool = False

    @property
    def mean(self) -> float:
        """Their mean; 0 where none was compared."""
        return fmean(self.by_table.values()) if self.by_table else 0.0

    @property
    def worst(self) -> tuple[str, ...] | None:
        """The attributes of the first of the tables that are furthest from the data; None where none was compared."""
        return max(self.by_table, key=lambda attributes: self.by_table[attributes], default=None)

    @property
    def sample(self) -> str:
        """The sample of tables that the mean is about; empty if all were compared.

        >>> TableErrors({("age", "sex"): 0.1}, 2, drawn=True).sample
        '1 of 3 tables, drawn at random, the same for every release'
        """
        compared = len(self.by_table)
        every = f"{compared:,} of {compared + self.left_out:,} tables"
        return f"{every}, drawn at random, the same for every release" if self.drawn else ""

    def as_json(self) -> dict[str, Any]:
        """The errors as plain values."""
        worst = self.worst and {"attributes": list(self.worst), "error": self.by_table[self.worst]}
        told = {"mean": self.mean, "worst": worst, "compared": len(self.by_table)}
        return told | {"left_out": self.left_out, "drawn": self.drawn}


@dataclass(frozen=True)
class Accuracy:
    """Errors of one model: tables of one and of two attributes, and wanted tables."""

    one_way: TableErrors
    two_way: TableErrors
    wanted: TableErrors

    def as_json(self) -> dict[str, Any]:
        """The errors as plain values."""
        wanted = [{"attributes": list(names), "error": error} for names, error in self.wanted.by_table.items()]
        return {**plain(vars(self)), "wanted": wanted}


@dataclass(frozen=True)
class PairCompared:
    """Two attributes in the table and in the release.

    kind: "published", "supported", "assumed" or "unpublished". cramers_v: less what chance shows, among the rows that
    have a value of both.
    """

    attributes: tuple[str, str]
    kind: str
    total_variation: float
    cramers_v: float
    cramers_v_released: float

    @property
    def lost(self) -> float:
        """By how much Cramer's V is less in the release than in the table."""
        return self.cramers_v - self.cramers_v_released

    @property
    def is_lost(self) -> bool:
        """Whether that is enough to be told of."""
        return self.lost >= LEAST_LOST


@dataclass(frozen=True, eq=False)
class Comparison:
    """A release beside the table that it was made of. Not for publication.

    release: how near it comes. yardsticks: how near others come, by name. compared_pairs: pairs of attributes one by one,
    in their order; those too large to be laid out are left out, and some of more than a thousand.

    >>> from marginals.example import publication
    >>> comparison = publication.steward.comparison
    >>> comparison
    Comparison(mean total variation of 3 two-way tables 0.585; not for publication)
    """

    release: Accuracy
    yardsticks: Mapping[str, Accuracy]
    compared_pairs: tuple[PairCompared, ...] = field(default=())

    def __repr__(self) -> str:
        two_way = self.release.two_way
        return (
            f"Comparison(mean total variation of {len(two_way.by_table)} two-way tables {two_way.mean:.3f}; "
            "not for publication)"
        )

    @property
    def each(self) -> dict[str, Accuracy]:
        """The release, and its yardsticks, by name."""
        return {"this release": self.release, **self.yardsticks}

    @property
    def independent_mean(self) -> float | None:
        """The mean total variation of two-way tables made of exact one-way tables; None where it was not compared."""
        return self._mean_of(INDEPENDENT)

    @property
    def allowed_mean(self) -> float | None:
        """The same of the best one-way tables within the policy."""
        return self._mean_of(ALONE)

    @property
    def coarse(self) -> list[str]:
        """The attributes of which the policy allows no table that is near the exact one, those furthest off first."""
        errors = self.yardsticks[ALONE].one_way.by_table if ALONE in self.yardsticks else {}
        return [name for (name,), error in sorted(errors.items(), key=lambda each: -each[1]) if error >= _COARSE]

    def _mean_of(self, yardstick: str) -> float | None:
        errors = self.yardsticks.get(yardstick)
        return errors.two_way.mean if errors is not None and errors.two_way.by_table else None

    def summary(self) -> "pd.DataFrame":
        """One row each for the release and its yardsticks; smaller is better.

        Columns: `one_way`, `two_way` and `wanted`, the mean total variation of the tables of one and of two attributes and
        of those wanted; `worst`, that of the two-way table furthest from the data.

        >>> from marginals.example import publication
        >>> publication.steward.comparison.summary()[["one_way", "two_way"]].round(3)  # doctest: +NORMALIZE_WHITESPACE
                                                one_way  two_way
        this release                              0.273    0.585
        the best one-way tables within the policy     0.273    0.689
        exact one-way tables, all else independent      0.000    0.373
        a single table, refined step by step      0.280    0.675
        """
        import pandas as pd

        rows = {
            name: {
                "one_way": errors.one_way.mean,
                "two_way": errors.two_way.mean,
                "worst": max(errors.two_way.by_table.values(), default=nan),
                "wanted": errors.wanted.mean if errors.wanted.by_table else nan,
            }
            for name, errors in self.each.items()
        }
        return pd.DataFrame.from_dict(rows, orient="index")

    def pairs(self) -> "pd.DataFrame":
        """One row for each pair of attributes, those whose association is lost most first.

        Columns as in `PairCompared`, and `if_independent`, the total variation of exact one-way tables.

        >>> from marginals.example import publication
        >>> columns = ["kind", "cramers_v", "cramers_v_released"]
        >>> publication.steward.comparison.pairs()[columns].round(3)  # doctest: +NORMALIZE_WHITESPACE
                              kind  cramers_v  cramers_v_released
        first second
        age   sex          assumed      0.838               0.299
              diagnosis  published      0.584               0.400
        sex   diagnosis  published      0.538               0.538
        """
        import pandas as pd

        independent = self.yardsticks[INDEPENDENT].two_way.by_table if INDEPENDENT in self.yardsticks else {}
        rows = [
            {
                **vars(pair),
                **dict(zip(("first", "second"), pair.attributes)),
                "if_independent": independent.get(pair.attributes, nan),
            }
            for pair in self.most_lost()
        ]
        return pd.DataFrame(rows, columns=_COLUMNS).set_index(["first", "second"])

    def most_lost(self) -> tuple[PairCompared, ...]:
        """The pairs, those first whose association in the release is less than in the table by most."""
        return tuple(sorted(self.compared_pairs, key=lambda pair: -pair.lost))

    def as_json(self) -> dict[str, Any]:
        """The comparison as plain values."""
        return {**plain(self.release), "yardsticks": plain(self.yardsticks), "pairs": plain(self.most_lost())}

    if not TYPE_CHECKING:  # types know the members that there are

        def __getattr__(self, name: str) -> Any:
            instead = " any more: most_lost() lists the pairs by what is lost" if name == "furthest_odds" else ""
            raise AttributeError(f"a Comparison has no {name!r}{instead}")


_COLUMNS = ["first", "second", "kind", "total_variation", "if_independent", "cramers_v", "cramers_v_released"]

Stop = Callable[[], bool]
"""Whether no more time should be spent."""

_RELEASE = ""
"""The name of the release among the models that are compared."""

_SEED = 1
"""Seed of the pairs that are drawn, the same for all releases of a table."""

# Pairs that are compared, and cells of one table of them, empty ones included, and of all that are laid out. Of larger ones
# the total variation alone is known.
_PAIRS = 1000
_CELLS = 1 << 20
_ALL_CELLS = 1 << 26


def compare(release: BundleContent | Released, table: Table) -> Comparison:
    """Compare a release with the table that it was made of, beside one-way tables. Not for publication.

    Raises InputError for another table than the one that the release was made of.

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
    """A model of a cube's tables beside others. wanted: attributes of tables that are compared too.

    Left out are tables that the cube would have to count where the rows lie, and those that are too large. If `stop` says so
    before the end, nothing is said of pairs: a mean of those reached would depend on the clock.
    """
    comparing = _Comparing(cube, model, yardsticks)
    attributes = cube.domain.attributes
    for name in attributes:
        comparing.table((name,))
    every = list(combinations(attributes, 2))
    pairs = [every[place] for place in np.random.default_rng(_SEED).permutation(len(every))[:_PAIRS]]
    for pair in pairs:
        if stop():
            comparing.errors = {names: errors for names, errors in comparing.errors.items() if len(names) == 1}
            return replace(comparing, pairs={}).result([], wanted)
        comparing.table(pair)
    for names in wanted:
        comparing.table(names)
    return comparing.result(pairs, wanted)


@dataclass(eq=False)
class _Comparing:
    """Errors so far, by table and model."""

    cube: DataCube
    release: MarginalModel
    yardsticks: Mapping[str, MarginalModel]
    errors: dict[tuple[str, ...], dict[str, float]] = field(default_factory=dict)
    pairs: dict[tuple[str, ...], PairCompared] = field(default_factory=dict)
    cells: int = 0
    """Laid out so far, of tables of two attributes."""

    def __post_init__(self) -> None:
        self.models: dict[str, MarginalModel] = {_RELEASE: self.release, **self.yardsticks}
        self.bases: dict[tuple[str, str], Basis] = dict(pairs_in(self.release, self.release.finest_levels))

    def table(self, names: tuple[str, ...]) -> None:
        names = tuple(sorted(names, key=self.cube.domain.index))
        mask = self.cube.domain.mask(dict.fromkeys(names, 0))
        if names in self.errors or not self.cube.holds(mask):
            return
        cells = prod(self.cube.domain.hierarchy(name).size(0) for name in names)
        with suppress(TooManyCellsError):
            if len(names) == 2 and cells <= min(_CELLS, _ALL_CELLS - self.cells):
                self.cells += cells
                self.errors[names] = self._pair((names[0], names[1]))
            else:
                data = self.cube.table(mask)
                self.errors[names] = {name: total_variation(data, model) for name, model in self.models.items()}

    def result(self, pairs: Sequence[tuple[str, ...]], wanted: Sequence[tuple[str, ...]]) -> Comparison:
        index, attributes = self.cube.domain.index, self.cube.domain.attributes

        def errors(name: str, tables: Iterable[tuple[str, ...]], number: int, *, drawn: bool = False) -> TableErrors:
            ordered = sorted(tables, key=lambda names: tuple(map(index, names)))
            known = {table: self.errors[table][name] for table in ordered if table in self.errors}
            return TableErrors(known, number - len(known), drawn)

        every = comb(len(attributes), 2)
        asked = {tuple(sorted(names, key=index)) for names in wanted}
        accuracies = {
            name: Accuracy(
                errors(name, combinations(attributes, 1), len(attributes)),
                errors(name, pairs, every, drawn=0 < len(pairs) < every),
                errors(name, asked, len(asked)),
            )
            for name in self.models
        }
        release = accuracies.pop(_RELEASE)
        compared = sorted(self.pairs, key=lambda names: tuple(map(index, names)))
        return Comparison(release, accuracies, tuple(self.pairs[pair] for pair in compared))

    def _pair(self, names: tuple[str, str]) -> dict[str, float]:
        domain, margin = self.cube.domain, dict.fromkeys(names, 0)
        data = self.cube.table(domain.mask(margin))
        counts = data.dense()
        shares = counts / max(self.cube.total, 1)
        expected = {name: model.expected(margin) / max(model.total, 1) for name, model in self.models.items()}
        errors = {name: float(np.maximum(shares - released, 0.0).sum()) for name, released in expected.items()}
        self.pairs[names] = self._compared(names, counts, expected[_RELEASE], errors[_RELEASE])
        return errors

    def _compared(self, names: tuple[str, str], counts: CountArray, released: FloatArray, error: float) -> PairCompared:
        one, other = names
        basis = self.bases.get(names, CERTAIN)
        value_counts = (
            (self._values(one, margin[one]), self._values(other, margin[other])) for margin in basis.margins
        )
        counted = min(value_counts, key=prod, default=(1, 1))
        cells = np.ix_(*map(self._with_values, names))
        known, rows = counts[cells], int(counts[cells].sum())
        values = (int(np.count_nonzero(known.sum(axis=1))), int(np.count_nonzero(known.sum(axis=0))))
        return PairCompared(
            names,
            UNPUBLISHED if any(len(group) == 1 for group in basis.assumed) else basis.kind.value,
            error,
            cramers_v(phi_squared(known.astype(np.float64)), rows, values),
            cramers_v(phi_squared(released[cells]), rows, values, counted),
        )

    def _values(self, name: str, level: int) -> int:
        labels = self.cube.domain.hierarchy(name).labels[level]
        table = self.cube.table(self.cube.domain.mask({name: level}))
        return sum(labels[code] != MISSING for code in table.codes[0].tolist())

    def _with_values(self, name: str) -> IndexArray:
        labels = self.cube.domain.hierarchy(name).labels[0]
        return np.array([code for code, label in enumerate(labels) if label != MISSING], dtype=np.intp)
