"""Criteria among the sensitive values of a table, as classes are judged by them."""

from collections.abc import Sequence

from checks import Diversity, SensitiveTree, parse_diversity
from checks.diversity.criterion import SensitiveValues
from models import Hierarchy


def judged(
    criterion: Diversity | str, labels: Hierarchy | Sequence[str], rows: Sequence[int], level: int = 0
) -> Diversity:
    """The criterion for classes that are counted by the values of a level. rows: of the whole table, by value."""
    return _read(criterion).among(SensitiveValues(_hierarchy(labels), level, tuple(rows)))


def judged_on(tree: SensitiveTree, criterion: Diversity | str) -> Diversity:
    return _read(criterion).among(tree.values)


def stated(
    criterion: Diversity | str, labels: Hierarchy | Sequence[str], rows: Sequence[int], level: int = 0
) -> Diversity:
    return _read(criterion).stated_among(SensitiveValues(_hierarchy(labels), level, tuple(rows)))


def _read(criterion: Diversity | str) -> Diversity:
    return parse_diversity(criterion) if isinstance(criterion, str) else criterion


def _hierarchy(labels: Hierarchy | Sequence[str]) -> Hierarchy:
    return labels if isinstance(labels, Hierarchy) else Hierarchy.flat(labels).ordered_by(list(labels))
