"""Attacks on bundles: what those who hold them can conclude, with the truth beside it where it is known."""

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from checks.attacks.class_table import class_table, sensitive_levels
from checks.attacks.definetti import accuracy, base_rate, definetti, published_groups
from checks.attacks.reconstruction import Reconstruction, reconstruction
from checks.attacks.skewness import skewness
from checks.claims import KCombinatorial, KLink
from checks.equivalence_classes import equivalence_classes
from marginals.bundle import read_bundle
from marginals.errors import InputError
from marginals.published import Published
from marginals.table import Table
from marginals.verification import recoded, union
from models.contingency_table import ContingencyTable, equal_cells
from models.errors import MarginalsError
from models.marginal_model import MarginalModel
from models.possible_cells import TooManyCellsError


@dataclass(frozen=True)
class Guessing:
    """Shares of the rows whose sensitive value is guessed, by attackers who know everybody's nonsensitive values.

    definetti: who learns across classes. maxent: who does not, and takes maximum entropy given what is published and
    known. base_rate: who guesses the most frequent value without a release.
    """

    definetti: float
    maxent: float
    base_rate: float


@dataclass(frozen=True)
class Attacked:
    """What is concluded about one sensitive attribute.

    skewness: largest distance of a class's maxent posterior from everybody's distribution, total variation. skewed_class:
    that class. guessing: None where the truth is not given.
    """

    sensitive: str
    reconstruction: Reconstruction
    skewness: float
    skewed_class: Mapping[str, str]
    guessing: Guessing | None

    def as_json(self) -> dict[str, Any]:
        """The measures as plain values."""
        return {
            "sensitive": self.sensitive,
            "reconstruction": {**asdict(self.reconstruction), "share": self.reconstruction.share},
            "skewness": {"distance": self.skewness, "class": dict(self.skewed_class)},
            "guessing": None if self.guessing is None else asdict(self.guessing),
        }


@dataclass(frozen=True)
class Threshold:
    """A claimed k and the smallest count that there is; binding: a slightly finer release would have broken it.

    Who knows how the release was made concludes from a binding threshold that finer ones were refused (minimality).
    """

    criterion: str
    k: int
    smallest: int

    @property
    def binding(self) -> bool:
        """Whether the threshold is met without a row to spare."""
        return self.smallest == self.k

    def as_json(self) -> dict[str, Any]:
        """The threshold as plain values."""
        return {**asdict(self), "binding": self.binding}


@dataclass(frozen=True)
class Attacks:
    """All measures, and why a sensitive attribute was left out, if one was."""

    attacked: tuple[Attacked, ...]
    thresholds: tuple[Threshold, ...]
    left_out: Mapping[str, str]

    def as_json(self) -> dict[str, Any]:
        """The measures as plain values."""
        return {
            "attacks": [attacked.as_json() for attacked in self.attacked],
            "thresholds": [threshold.as_json() for threshold in self.thresholds],
            "left_out": dict(self.left_out),
        }


def attack(*folders: str | Path, truth: Table | None = None) -> Attacks:
    """Measure attacks on one bundle, or on several put together.

    truth: the table they were made from; with it, guesses are judged. Raises InputError or BundleError.
    """
    bundles = [(str(folder), read_bundle(Path(folder))) for folder in folders]
    published = bundles[0][1] if len(bundles) == 1 else union(bundles)
    model = MarginalModel(published.collection)
    attacked, left_out = [], {}
    for sensitive in published.sensitive:
        levels = sensitive_levels(model, sensitive)
        if not levels:
            left_out[sensitive] = "no marginal shows it"
            continue
        try:
            attacked.append(_attacked(model, levels, truth))
        except TooManyCellsError as error:
            left_out[sensitive] = str(error)
    return Attacks(tuple(attacked), tuple(_thresholds(published)), left_out)


def _attacked(model: MarginalModel, levels: Mapping[str, int], truth: Table | None) -> Attacked:
    classes = class_table(model, levels)
    skewed = skewness(classes)
    return Attacked(
        classes.sensitive,
        reconstruction(model.frechet_bounds, levels),
        skewed.distance,
        classes.labels(skewed.position),
        None if truth is None else _guessing(model, classes.sensitive, classes.level, truth),
    )


def _guessing(model: MarginalModel, sensitive: str, level: int, truth: Table) -> Guessing:
    tables = _in_truth(model, truth)
    base = {a: 0 for a in truth.quasi_identifiers if a in model.domain.attributes}
    people = equivalence_classes(truth.cube.table(truth.domain.mask({**base, sensitive: level})), sensitive)
    shown = [table.rolled_up({a: v for a, v in table.margin.items() if a in (*base, sensitive)}) for table in tables]
    groups = published_groups(shown, people)
    # Both know everybody's nonsensitive values; only one learns across classes.
    learned, unlearned = definetti(people, groups), definetti(people, groups, rounds=0)
    return Guessing(accuracy(learned, people), accuracy(unlearned, people), base_rate(people))


def _in_truth(model: MarginalModel, truth: Table) -> list[ContingencyTable]:
    """The published marginals in the codes of the table, whose own they must be."""
    other = InputError("the truth is another table than the one that was published; give the config it was made from")
    if any(a not in truth.domain.attributes for table in model.collection.tables for a in table.attributes):
        raise other
    found = []
    for table in model.collection.tables:
        try:
            recoded_table = recoded(table, truth.domain)
            true = truth.cube.table(truth.domain.mask(table.margin))
        except (KeyError, IndexError, MarginalsError):
            raise other from None
        if not equal_cells([true, recoded_table]):
            raise other
        found.append(true)
    return found


def _thresholds(published: Published) -> list[Threshold]:
    found = []
    for claim in published.claims:
        if isinstance(claim, KLink | KCombinatorial):
            finding = claim.check(published.collection, published.sensitive)
            if finding.worst is not None and isinstance(count := finding.worst.get("count"), int):
                found.append(Threshold(finding.criterion, claim.k, count))
    return found
