"""A single table that is refined step by step: a minimal one, where looking for all of them would take too long."""

from collections.abc import Callable

from checks.claims.requirements import Requirements
from marginals.anonymizers.lattice import table_satisfies
from models.tables.data_cube import DataCube
from models.tables.domain import Mask


def stepwise_table(
    cube: DataCube, attributes: tuple[str, ...], sensitive: Mask, requirements: Requirements, stop: Callable[[], bool]
) -> Mask | None:
    """The margin of a single table that satisfies the requirements; None where not even the coarsest does.

    sensitive: the sensitive attributes as finely as they are shown.
    Beginning with every quasi-identifier at `*`, each in turn is made finer by one level as long as that is allowed. What
    is refused once is refused of every finer table too, so at most as many tables are looked at as there are levels. When it
    is time to stop, the table reached by then is taken; otherwise none that is finer satisfies the requirements.
    """
    levels = {attribute: cube.domain.hierarchy(attribute).height for attribute in attributes}
    if not table_satisfies(cube, cube.domain.mask(levels) | sensitive, requirements):
        return None
    turns = [attribute for attribute in attributes if levels[attribute]]
    while turns and not stop():
        attribute = turns.pop(0)
        finer = {**levels, attribute: levels[attribute] - 1}
        if table_satisfies(cube, cube.domain.mask(finer) | sensitive, requirements):
            levels = finer
            if finer[attribute]:
                turns.append(attribute)
    return cube.domain.mask(levels) | sensitive
