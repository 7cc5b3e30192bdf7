"""Two models of one table, beside each other."""

from dataclasses import dataclass

from marginals.errors import InputError
from models.search.selection import SelectedModel, p_value
from models.tables.contingency_table import equal_cells


@dataclass(frozen=True)
class ModelComparison:
    """A model beside another of the same table.

    aic, bic: of the one less the other's; below 0 the one is better. nested: whether one's graph holds the other's.
    deviance, degrees_of_freedom, adjusted_degrees_of_freedom, p_value: of the likelihood-ratio test of the smaller
    against the larger; None where neither holds the other. only_in_one, only_in_other: edges.
    """

    aic: float
    bic: float
    nested: bool
    deviance: float | None
    degrees_of_freedom: int | None
    adjusted_degrees_of_freedom: int | None
    p_value: float | None
    only_in_one: tuple[tuple[str, str], ...]
    only_in_other: tuple[tuple[str, str], ...]


def compared(one: SelectedModel, other: SelectedModel) -> ModelComparison:
    """The comparison. Raises InputError where the tables differ."""
    mine, its = (model.collection.cube.table(sum(model.collection.domain.attribute_masks)) for model in (one, other))
    if mine.domain != its.domain or len(mine) != len(its) or not equal_cells([mine, its]):
        raise InputError("the two models are of different tables, so their deviances cannot be compared")
    lacking, added = _edges_beyond(one, other), _edges_beyond(other, one)
    nested = not (lacking and added)
    aic, bic = one.aic - other.aic, one.bic - other.bic
    if not nested:
        return ModelComparison(aic, bic, nested, None, None, None, None, lacking, added)
    smaller, larger = (one, other) if added else (other, one)
    deviance = max(smaller.deviance - larger.deviance, 0.0)
    degrees = smaller.degrees_of_freedom - larger.degrees_of_freedom
    adjusted = smaller.adjusted_degrees_of_freedom - larger.adjusted_degrees_of_freedom
    return ModelComparison(aic, bic, nested, deviance, degrees, adjusted, p_value(deviance, degrees), lacking, added)


def _edges_beyond(one: SelectedModel, other: SelectedModel) -> tuple[tuple[str, str], ...]:
    """The edges of one graph that the other does not have."""
    graph = other.graph
    return tuple((a, b) for a, b in one.graph.edges if not graph.has_edge(a, b))
