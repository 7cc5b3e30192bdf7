"""How near a release comes to the table that it was made of, beside yardsticks. None of it follows from the release."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from math import inf, isfinite, log, nan
from statistics import fmean
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import pandas as pd


INDEPENDENT = "exact one-way tables, all else independent"
"""The yardstick of somebody who has the exact counts of each attribute, and takes attributes to be independent."""

SINGLE = "the best single table"
"""The yardstick of somebody who has the best of all single anonymized tables."""

STEPWISE = "a single table, refined step by step"
"""The same where looking for the best would take too long: one that no attribute can be finer in."""

UNPUBLISHED = "unpublished"
"""Of a pair with an attribute of which nothing is published."""

LEAST_LOST = 0.01
"""Cramer's V that is lost, from which on a pair is told of."""


@dataclass(frozen=True)
class TableErrors:
    """How far the model's tables at base values are from the data's, as total variation, from 0 to 1.

    by_table: for each table that was compared its attributes. left_out: how many were not compared, since they are too
    large, or too many.
    """

    by_table: Mapping[tuple[str, ...], float]
    left_out: int = 0

    @property
    def mean(self) -> float:
        """Their mean; 0 where none was compared."""
        return fmean(self.by_table.values()) if self.by_table else 0.0

    @property
    def worst(self) -> tuple[str, ...] | None:
        """The attributes of the first of the tables that are furthest from the data; None where none was compared."""
        return max(self.by_table, key=lambda attributes: self.by_table[attributes], default=None)

    def as_json(self) -> dict[str, Any]:
        """The errors as plain values."""
        worst = None if self.worst is None else {"attributes": list(self.worst), "error": self.by_table[self.worst]}
        return {"mean": self.mean, "worst": worst, "compared": len(self.by_table), "left_out": self.left_out}


@dataclass(frozen=True)
class CountErrors:
    """Relative errors of random counts of two and three attributes: their median, and what nine in ten do not exceed.

    number: how many counts were asked. Both errors are nan where it is 0.
    """

    median: float = nan
    ninth_decile: float = nan
    number: int = 0

    def as_json(self) -> dict[str, Any]:
        """The errors as plain values; None in place of what is not known."""
        known = self.number > 0
        return {
            "median": self.median if known else None,
            "ninth_decile": self.ninth_decile if known else None,
            "number": self.number,
        }


@dataclass(frozen=True)
class Accuracy:
    """How near one model comes to the data: its tables of one and of two attributes, random counts, and what was wanted."""

    one_way: TableErrors
    two_way: TableErrors
    counts: CountErrors
    wanted: TableErrors

    def as_json(self) -> dict[str, Any]:
        """The errors as plain values."""
        return {
            "one_way": self.one_way.as_json(),
            "two_way": self.two_way.as_json(),
            "counts": self.counts.as_json(),
            "wanted": [{"attributes": list(names), "error": error} for names, error in self.wanted.by_table.items()],
        }


@dataclass(frozen=True)
class PairCompared:
    """Two attributes in the table and in the release.

    kind: what the release says of the two: "published", "supported", "assumed" or "unpublished". total_variation: between
    their tables at base values. cramers_v: how much they go together, from 0 to 1, less what chance shows. contrast: the
    two by two groups in which they go together most in the table, as conditions, and their odds_ratio; None where no groups
    have rows enough. standard_error: of its logarithm. What is called released is that of the release's model.
    """

    attributes: tuple[str, str]
    kind: str
    total_variation: float
    cramers_v: float
    cramers_v_released: float
    contrast: tuple[str, str] | None = None
    odds_ratio: float = nan
    odds_ratio_released: float = nan
    standard_error: float = inf

    @property
    def lost(self) -> float:
        """By how much Cramer's V is less in the release than in the table."""
        return self.cramers_v - self.cramers_v_released

    @property
    def is_lost(self) -> bool:
        """Whether that is enough to be told of."""
        return self.lost >= LEAST_LOST

    @property
    def log_ratio(self) -> float:
        """How far the released odds ratio is from the true one: the absolute difference of logarithms; nan without one."""
        if self.contrast is None:
            return nan
        released = self.odds_ratio_released
        return abs(log(self.odds_ratio) - log(released)) if 0 < released < inf else inf

    def as_json(self) -> dict[str, Any]:
        """The pair as plain values; None for what is not known, or infinite."""
        return {
            "attributes": list(self.attributes),
            "kind": self.kind,
            "total_variation": self.total_variation,
            "cramers_v": self.cramers_v,
            "cramers_v_released": self.cramers_v_released,
            "contrast": list(self.contrast) if self.contrast else None,
            "odds_ratio": self.odds_ratio if isfinite(self.odds_ratio) else None,
            "odds_ratio_released": self.odds_ratio_released if isfinite(self.odds_ratio_released) else None,
        }


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

    def summary(self) -> "pd.DataFrame":
        """One row each for the release and its yardsticks; smaller is better.

        Columns: `one_way` and `two_way`, the mean total variation of the tables of one and of two attributes at base values;
        `worst`, that of the two-way table furthest from the data; `median` and `ninth_decile` of the relative errors of
        random counts; `wanted`, the mean total variation of the tables that were wanted.

        >>> from marginals.example import publication
        >>> publication.steward.comparison.summary()[["one_way", "two_way"]].round(3)  # doctest: +NORMALIZE_WHITESPACE
                                                one_way  two_way
        this release                              0.273    0.585
        exact one-way tables, all else independent      0.000    0.373
        a single table, refined step by step      0.280    0.675
        """
        import pandas as pd

        rows = {
            name: {
                "one_way": own.one_way.mean,
                "two_way": own.two_way.mean,
                "worst": own.two_way.by_table[own.two_way.worst] if own.two_way.worst else nan,
                "median": own.counts.median,
                "ninth_decile": own.counts.ninth_decile,
                "wanted": own.wanted.mean if own.wanted.by_table else nan,
            }
            for name, own in self.each.items()
        }
        return pd.DataFrame.from_dict(rows, orient="index")

    def pairs(self) -> "pd.DataFrame":
        """One row for each pair of attributes, those whose association is lost most first.

        Columns: `kind`; `total_variation` at base values, and `if_independent`, that of exact one-way tables;
        `cramers_v` in the table and `cramers_v_released`; `contrast`, the groups of values that go together most in the
        table, its `odds_ratio` and `odds_ratio_released`.

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
                "first": pair.attributes[0],
                "second": pair.attributes[1],
                "kind": pair.kind,
                "total_variation": pair.total_variation,
                "if_independent": independent.get(pair.attributes, nan),
                "cramers_v": pair.cramers_v,
                "cramers_v_released": pair.cramers_v_released,
                "contrast": " and ".join(pair.contrast) if pair.contrast else "",
                "odds_ratio": pair.odds_ratio,
                "odds_ratio_released": pair.odds_ratio_released,
            }
            for pair in self.most_lost()
        ]
        names = ["first", "second", *_COLUMNS]
        return pd.DataFrame(rows, columns=names).set_index(["first", "second"])

    def most_lost(self) -> tuple[PairCompared, ...]:
        """The pairs, those first whose association in the release is less than in the table by most."""
        return tuple(sorted(self.compared_pairs, key=lambda pair: -pair.lost))

    def furthest_odds(self) -> tuple[PairCompared, ...]:
        """The pairs with a contrast beyond chance, those first whose odds ratio in the release is furthest from the table's.

        Beyond chance: the logarithm is more than four standard errors from 0, since the strongest of many was chosen.
        """
        certain = [
            pair
            for pair in self.compared_pairs
            if pair.contrast and abs(log(pair.odds_ratio)) > 4 * pair.standard_error
        ]
        return tuple(sorted(certain, key=lambda pair: -pair.log_ratio))

    def as_json(self) -> dict[str, Any]:
        """The comparison as plain values."""
        return {
            **self.release.as_json(),
            "yardsticks": {name: own.as_json() for name, own in self.yardsticks.items()},
            "pairs": [pair.as_json() for pair in self.most_lost()],
        }


_COLUMNS = (
    "kind",
    "total_variation",
    "if_independent",
    "cramers_v",
    "cramers_v_released",
    "contrast",
    "odds_ratio",
    "odds_ratio_released",
)
