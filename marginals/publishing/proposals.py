"""What is demanded where nobody has said what: the diversity of a sensitive attribute, and the weight of an analysis."""

from checks.claims import MaxentDiversity
from checks.diversity.registry import parse_diversity
from checks.errors import CriterionError
from checks.requirements import Requirements
from marginals.recoding.lattice import finest_level
from marginals.tables.attribute import MISSING
from marginals.tables.table import Table

WEIGHT = 100.0
"""Of an analysis whose weight is not given: what a reader was promised comes first, and costs the whole next to nothing."""

SENSITIVE_MARGINS = 3
"""Tables, at most, that show one sensitive attribute, where nobody has said how many."""

PAIRS = "pairs"
"""Further tables of all pairs of nonsensitive attributes that tell something more."""

NO_DIVERSITY = "none"
"""In place of a diversity: none is demanded, on purpose."""

PROPOSED = "recursive:3,4"
"""The diversity that is proposed where nobody has demanded one."""

WEAKER = (PROPOSED, "recursive:3,3", "recursive:3,2", "recursive:10,2", "recursive:30,2", "distinct:2")
"""That, and weaker ones for attributes that do not satisfy it, the strongest first: whoever keeps one keeps all after it."""


WITH_ROOM = dict(
    zip(WEAKER, ("recursive:1.5,4", "recursive:1.5,3", "recursive:1.5,2", "recursive:5,2", "recursive:15,2"))
)
"""What all rows together satisfy where classes may differ from them: of each demand one that is twice as strong."""


def proposed_diversity(
    table: Table, attribute: str, min_cell: int | None = None, *, with_room: bool = False
) -> str | None:
    """The strongest diversity, of some, that all rows together satisfy in a sensitive attribute; None where none is.

    Of people, where these can have several rows each. min_cell: the level at which they satisfy it has no rarer value.
    with_room: the strongest that they satisfy twice over, where there is one; a demand that they only just satisfy allows no
    class in which the most frequent value is more frequent than among all rows, and so hardly any association.

    >>> from marginals.example import table
    >>> proposed_diversity(table, "diagnosis")
    'recursive:3,3'
    """
    rows = table.rows_per_person if isinstance(table.rows_per_person, int) else None

    def can_be_shown(diversity: str) -> bool:
        claim = MaxentDiversity(parse_diversity(diversity), attribute)
        known = claim.leaving_out(MISSING) if attribute in table.counts_missing else claim
        try:
            demanded = Requirements(
                table.sensitive, rows_per_person=rows, min_cell=min_cell, diversities=(known,), at_every_level=True
            )
        except CriterionError:  # nobody could promise it of people of several rows
            return False
        return finest_level(table.cube, attribute, demanded.about(attribute)) is not None

    roomy = (demand for demand, twice in WITH_ROOM.items() if with_room and can_be_shown(twice))
    return next(roomy, None) or next(filter(can_be_shown, WEAKER), None)
