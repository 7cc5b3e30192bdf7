"""What those who hold a release can conclude of it: figures that need nothing but what is published."""

from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass
from math import prod
from typing import Any

from checks.attacks.class_table import class_table, sensitive_levels
from checks.attacks.reconstruction import Reconstruction, reconstruction
from checks.attacks.skewness import skewness
from checks.finding import Verdict
from marginals.bundle.content import BundleContent
from models.errors import MarginalsError, TooManyCellsError
from models.inference.marginal_model import MarginalModel
from models.inference.tree_margins import CELL_LIMIT


@dataclass(frozen=True)
class DisclosureMeasures:
    """What readers can conclude about one sensitive attribute.

    reconstruction: of the cells of all that bears on the attribute. skewness: largest distance of a class's maxent
    posterior from everybody's distribution, total variation. skewed_class: that class.
    """

    sensitive: str
    reconstruction: Reconstruction
    skewness: float
    skewed_class: Mapping[str, str]

    def as_json(self) -> dict[str, Any]:
        """The measures as plain values."""
        return {
            "sensitive": self.sensitive,
            "reconstruction": {**asdict(self.reconstruction), "share": self.reconstruction.share},
            "skewness": {"distance": self.skewness, "class": dict(self.skewed_class)},
        }


@dataclass(frozen=True)
class Threshold:
    """A claimed k and the smallest count that there is, None where it is not known. is_missed: whether the claim fails.

    k: rows, as many as the people who are claimed can have. rows_per_person: of each at most, None where rows are claimed.
    """

    criterion: str
    k: int
    smallest: int | None
    is_missed: bool = False
    rows_per_person: int | None = None

    @property
    def claimed(self) -> int:
        """The k of the claim: rows, or people."""
        return self.k // (self.rows_per_person or 1)

    @property
    def binding(self) -> bool | None:
        """Whether the threshold is met without a row to spare; None where that is not known."""
        return None if self.smallest is None else self.smallest == self.k

    def as_json(self) -> dict[str, Any]:
        """The threshold as plain values."""
        known = {name: value for name, value in asdict(self).items() if (name, value) != ("rows_per_person", None)}
        return {**known, "binding": self.binding}


@dataclass(frozen=True)
class ReleaseMeasures:
    """For each sensitive attribute what readers can conclude, or why that is not known; and the thresholds."""

    measures: tuple[DisclosureMeasures, ...]
    thresholds: tuple[Threshold, ...]
    left_out: Mapping[str, str]


def disclosure_measures(
    published: BundleContent, model: MarginalModel, most_cells: int = CELL_LIMIT
) -> ReleaseMeasures:
    """All measures that need the release alone.

    model: that of what is published. most_cells: cells that may be laid out for an attribute; what has more is left out.
    """
    measures, left_out = [], {}
    for sensitive in published.sensitive:
        levels = sensitive_levels(model, sensitive)
        if not levels:
            left_out[sensitive] = "no marginal shows it"
            continue
        cells = prod(model.domain.hierarchy(a).size(level) for a, level in levels.items())
        try:
            if cells > most_cells:
                raise TooManyCellsError(f"{cells:,} cells bear on it, more than the {most_cells:,} that are laid out")
            measures.append(_measures(model, levels))
        except MarginalsError as error:
            left_out[sensitive] = str(error)
    return ReleaseMeasures(tuple(measures), tuple(_thresholds(published)), left_out)


def _measures(model: MarginalModel, levels: Mapping[str, int]) -> DisclosureMeasures:
    classes = class_table(model, levels)
    skewed = skewness(classes)
    determined = reconstruction(model.frechet_bounds, levels)
    return DisclosureMeasures(classes.sensitive, determined, skewed.distance, classes.labels(skewed.position))


def _thresholds(published: BundleContent) -> Iterator[Threshold]:
    """The claims of a minimum count."""
    for claim, finding in zip(published.claims, published.verify().checks):
        if claim.least_count is not None:
            count = finding.worst_class.count
            smallest = count if claim.shows_smallest(finding) else None
            failed = finding.verdict is Verdict.FAILS
            yield Threshold(finding.criterion, claim.least_count, smallest, failed, claim.rows_per_person)
