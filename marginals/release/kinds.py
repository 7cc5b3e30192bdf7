"""Which kind an answer is: made of published counts, backed by coarser ones, or resting on an assumption of the model.

`models.graphs.basis` defines the kinds. Numbers and objects carry theirs as `basis`, frames and series of pandas in `attrs`,
under "kind", "assumed" and "shown"; analyses that rest on an assumption warn of it.
"""

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Protocol, TypeVar
from warnings import warn

import numpy as np

from marginals.errors import AssumptionWarning
from models.arrays import BoolArray
from models.graphs.basis import NO_LEVEL, NOT_ASKED, Basis, Distinction, Kind, bases_of_pairs, basis_of
from models.inference.marginal_model import MarginalModel

if TYPE_CHECKING:
    import pandas as pd

_NAMED = 5
"""Groups of attributes that a warning names at most."""

_MODEL, _INDEPENDENT = "so the model takes", "to be independent, given what its tables share"

Frame = TypeVar("Frame", bound="pd.DataFrame | pd.Series[Any]")


class HasBasis(Protocol):
    """What says of itself what it rests on."""

    @property
    def basis(self) -> Basis:
        """What it rests on."""
        ...


Answer = TypeVar("Answer", bound="pd.DataFrame | pd.Series[Any] | HasBasis")


class Quantity(float):
    """A number that says which kind of answer it is: `kind`, and the whole of what it rests on, `basis`.

    >>> from marginals.example import release
    >>> release.mean("age", where="diagnosis=Gout").kind
    'supported'
    """

    basis: Basis

    def __new__(cls, value: float, basis: Basis) -> "Quantity":
        """The number with its basis."""
        quantity = super().__new__(cls, value)
        quantity.basis = basis
        return quantity

    def __getnewargs__(self) -> tuple[float, Basis]:  # type: ignore[override]
        return float(self), self.basis

    @property
    def kind(self) -> Kind:
        """How far published tables back it."""
        return self.basis.kind


def distinctions(
    model: MarginalModel, levels: Mapping[str, int], meant: Mapping[str, BoolArray] | None = None
) -> dict[str, Distinction]:
    """What an answer tells apart: the values of some levels, among the rows whose base values are meant.

    An attribute that is asked for and that no table shows is told apart by none, at whatever level. Without any row that is
    meant, nothing is asked: the answer is 0 in any table.
    """
    meant = meant or {}
    if not all(inside.any() for inside in meant.values()):
        return {}
    made: dict[str, Distinction | None] = {}
    for attribute in {**levels, **meant}:
        hierarchy, finest = model.domain.hierarchy(attribute), model.finest_levels[attribute]
        if attribute in levels and finest == hierarchy.height:
            made[attribute] = Distinction(NO_LEVEL, NO_LEVEL)
        elif attribute not in meant:
            made[attribute] = Distinction.of_level(hierarchy, levels[attribute])
        else:
            values = hierarchy.lift(0, levels.get(attribute, hierarchy.height)).astype(np.intp)
            made[attribute] = Distinction.of_groups(hierarchy, finest, np.where(meant[attribute], values, NOT_ASKED))
    return {attribute: distinction for attribute, distinction in made.items() if distinction is not None}


def basis_in(model: MarginalModel, asked: Mapping[str, Distinction]) -> Basis:
    """What an answer rests on among the published margins of a model."""
    return basis_of(model.collection.margins, {a: asked[a] for a in model.domain.attributes if a in asked})


def pairs_in(model: MarginalModel, levels: Mapping[str, int]) -> Iterator[tuple[tuple[str, str], Basis]]:
    """For each two attributes that levels are given of what a cross table of them rests on."""
    return bases_of_pairs(model.collection.margins, distinctions(model, levels))


def weakest(bases: Sequence[Basis]) -> Basis:
    """What an answer rests on that is made of several: on all that one of them takes for granted, else on the weakest.

    >>> weakest([Basis(Kind.PUBLISHED), Basis(Kind.ASSUMED, (), (("a", "b"),)), Basis(Kind.ASSUMED, (), (("a", "b"),))])
    Basis(assumed; a and b)
    >>> weakest([Basis(Kind.PUBLISHED), Basis(Kind.SUPPORTED)]).kind
    'supported'
    """
    assumed = tuple(dict.fromkeys(group for basis in bases for group in basis.assumed))
    if assumed:
        return Basis(Kind.ASSUMED, (), assumed)
    return next((basis for basis in bases if basis.kind is Kind.SUPPORTED), bases[0])


def marked(frame: Frame, basis: Basis) -> Frame:
    """The same frame or series, which now says in `attrs` which kind of answer it is."""
    frame.attrs.update(basis.as_json())
    return frame


def assumption(assumed: tuple[tuple[str, ...], ...]) -> str:
    """What an answer takes for granted, as a sentence without its full stop.

    >>> assumption((("age", "sex"),))
    'no published table shows what is asked of age and sex together, so the model takes them to be independent, given what \
its tables share'
    >>> assumption((("shoe",),))
    'no published table tells the values of shoe apart as asked, so the model takes them to be equally likely'
    """
    alone = [group[0] for group in assumed if len(group) == 1]
    together = [group for group in assumed if len(group) > 1]
    parts = []
    if alone:
        parts.append(
            f"no published table tells the values of {listed(alone)} apart as asked, so the model takes them to be equally "
            "likely"
        )
    names = [f"{', '.join(group[:-1])} and {group[-1]}" for group in together]
    if len(names) == 1:
        parts.append(f"no published table shows what is asked of {names[0]} together, {_MODEL} them {_INDEPENDENT}")
    elif names:
        parts.append(
            f"no published table shows together what is asked of each of these: {listed(names, '; ')}; {_MODEL} each "
            f"{_INDEPENDENT}"
        )
    return "; and ".join(parts)


def listed(names: Sequence[str], between: str = ", ") -> str:
    """The first names, and how many more there are."""
    rest = len(names) - _NAMED
    return between.join(names[:_NAMED]) + (f"{between}{rest} more" if rest > 0 else "")


def told(answer: Answer) -> Answer:
    """The same answer; of one that rests on an assumption, the line is warned that asked the method which calls this."""
    import pandas as pd

    assumed = answer.attrs["assumed"] if isinstance(answer, pd.DataFrame | pd.Series) else answer.basis.assumed
    if assumed:
        warn(f"{assumption(assumed)}: that is no finding about the data", AssumptionWarning, stacklevel=3)
    return answer
