"""Names of groups: all members or none, made for the finest published level, and each with one meaning."""

import numpy as np
import pytest

from marginals import Attribute
from marginals.tables.group_names import GroupNaming, KeptNames, NamedLevels
from models import Hierarchy

FITTED = Attribute("quasi-identifier", ladder="fitted")
COUNTRIES = Hierarchy.from_rows(
    [(country, "Europe" if country in "FIS" else "Asia", "*") for country in ("F", "I", "S", "J", "K")]
)


def named(groups, counts, least, coarser=(), attribute=FITTED, given=None) -> NamedLevels:
    """The names of groups of values, and of those that coarser levels make of these, each given by its groups' numbers.

    counts: rows of each group, all but one of each other value those of the first; or of each of its values.
    """
    values = [value for group in groups for value in group]
    given = attribute.hierarchy_of(values) if given is None else given
    group_of = {value: number for number, group in enumerate(groups) for value in group}
    rows = [
        (value, f"g{group_of[value]}", *(f"{level}.{own[group_of[value]]}" for level, own in enumerate(coarser)), "*")
        for value in given.labels[0]
    ]
    ladder = Hierarchy.from_rows(rows)
    shared = [
        [own - len(group) + 1] + [1] * (len(group) - 1) if isinstance(own, int) else own
        for group, own in zip(groups, counts)
    ]
    rows_of = {value: count for group, own in zip(groups, shared) for value, count in zip(group, own)}
    by_value = np.array([rows_of[value] for value in ladder.labels[0]])
    return GroupNaming.of("job", attribute, given).named(ladder, 1, by_value, least)


def labels(found: NamedLevels, level: int = 1) -> list[str]:
    return sorted(found.hierarchy.labels[level])


JOBS = Attribute("quasi-identifier", ladder="fitted", missing="as a value")
PLACES = Attribute("quasi-identifier", hierarchy=COUNTRIES, ladder="fitted")
PUBLIC = Attribute("quasi-identifier", hierarchy=COUNTRIES, ladder="fitted", labels="public")
CREW = [("clerk",), ("cook", "baker", "nun", "miner", "poet"), ("driver",), ("smith", "tailor", "actor")]
FIVES = [tuple("abcde"), tuple("fghij"), tuple("klmno"), tuple("pqrst"), tuple("uvwxy"), ("z",)]


@pytest.mark.parametrize(
    ("attribute", "groups", "counts", "least", "names"),
    [  # all members are named where each has enough rows, and else none
        (FITTED, [("clerk",), ("cook", "driver", "nun")], [50, [11, 11, 30]], 11, ["clerk", "cook, driver, nun"]),
        (FITTED, [("clerk",), ("cook", "driver", "nun")], [50, [11, 10, 30]], 11, ["clerk", "other job"]),
        (FITTED, [("a",), tuple("bcdef")], [50, [90] * 5], 11, ["a", "other job"]),
        # a node of the given hierarchy has its label, and what is left of it is called after it
        (PLACES, [("F", "I", "S"), ("J",), ("K",)], [4, 9, 9], 4, ["Europe", "J", "K"]),
        (PLACES, [("F", "I"), ("S",), ("J", "K")], [4, 9, 9], 4, ["Asia", "S", "other Europe"]),
        # what a hierarchy lists beside other nodes is named where each value has no rows or enough
        (PLACES, [("F",), ("I", "J"), ("S", "K")], [9, [5, 0], [8, 3]], 4, ["F", "I, J", "other job"]),
        (PUBLIC, [("F",), ("I", "J"), ("S", "K")], [9, [5, 0], [8, 3]], 4, ["F", "I, J", "S, K"]),
        # missing values occur and are named with all others or not at all
        (JOBS, [("clerk",), ("cook", "missing")], [50, [11, 11]], 11, ["clerk", "cook or missing"]),
        (JOBS, [("clerk",), ("cook", "missing")], [50, [90, 10]], 11, ["clerk", "other job"]),
        (JOBS, [("20", "21"), ("missing",)], [50, 11], 11, ["missing", "not missing"]),
        # a value that is called like a group leaves the group another name
        (FITTED, [("cook, driver",), ("cook", "driver"), ("other job",), tuple("abcde")], [20, [15, 15], 25, 9], 5,
         ["cook, driver", "cook, driver (2)", "other job", "other job 2"]),
        # groups without rows take no name from those that have some
        (PLACES, [("F", "J"), ("S", "K"), ("I",)], [[0, 0], 4, 9], 4, ["I", "other job", "other job, without rows (1)"]),
        # a value that few have is named nowhere, however many rows it shares its group with
        (FITTED, [("clerk",), ("cook", "pope")], [50, [50, 1]], 5, ["clerk", "other job"]),
        (FITTED, [("20.5",), ("61.24", "70.1")], [50, [1, 50]], 5, ["20.5", "60 and over"]),
        (JOBS, [("20.5", "30"), ("61.24", "missing"), ("70",)], [[50, 50], [1, 50], 50], 5,
         ["60-<70 or missing", "70", "under 60"]),
    ],
)  # fmt: skip
def test_names_of_one_level(attribute, groups, counts, least, names) -> None:
    assert labels(named(groups, counts, least, attribute=attribute)) == names


@pytest.mark.parametrize(
    ("attribute", "groups", "counts", "least", "coarser", "names", "above"),
    [  # design 4.17, where two levels that were named apart gave away 11 drivers and a rest of 1
        (FITTED, CREW, [60, 27, 11, 12], 11, (0, 1, 1, 1), ["clerk", "driver", "other job", "other job 2"],
         ["clerk", "driver, other job and other job 2"]),
        (FITTED, CREW, [60, 27, 11, 12], 11, (0, 1, 1, 2), ["clerk", "driver", "other job", "other job 2"],
         ["clerk", "driver and other job", "other job 2"]),
        # a name without members stands for one group on all levels
        (FITTED, FIVES, [20, 19, 18, 17, 16, 99], 5, (0, 0, 0, 0, 0, 1),
         ["other job", "other job 2", "other job 3", "other job 4", "other job 5", "z"], ["other job 6", "z"]),
        (PLACES, [("F", "I"), ("S",), ("J", "K")], [4, 9, 9], 4, (0, 0, 1), ["Asia", "S", "other Europe"],
         ["Asia", "Europe"]),
        (JOBS, [("20",), ("21", "22", "missing"), ("23",)], [50, 11, 30], 11, (0, 1, 1), ["20", "21-22 or missing", "23"],
         ["20", "21 and over or missing"]),
    ],
)  # fmt: skip
def test_a_coarser_name_is_made_of_the_published_names_below_it(
    attribute, groups, counts, least, coarser, names, above
) -> None:
    found = named(groups, counts, least, [coarser], attribute=attribute)
    assert (labels(found), labels(found, 2)) == (names, above)


def test_what_names_tell_to_occur_is_said() -> None:
    found = named([("clerk",), ("cook", "driver"), ("nun", "smith", "tailor")], [50, [12, 11], 12], 11)
    assert found.occurring == {"cook, driver": 2, "other job": 0}
    found = named([("20",), ("21", "22", "missing"), ("23",)], [50, 11, 30], 11, attribute=JOBS)
    assert found.occurring == {"21-22 or missing": 1}


@pytest.mark.parametrize(
    ("values", "name", "occurring"),
    [
        (("20", "21", "22", "23"), "21-22", {}),
        (("20-24", "25-29", "35-39", "40-44"), "25-39", {"25-39": 2}),
        (("20.0", "21.0", "22.0", "23.0"), "21-22", {"21-22": 2}),
        (("0.5", "0.61", "0.7", "0.95"), "0.6-<0.9", {"0.6-<0.9": 2}),
        (("5", "40000", "41000", "90000"), "40000-<90000", {"40000-<90000": 2}),
        (("<18", "18-24", "25-64", "65+"), "18-24, 25-64", {"18-24, 25-64": 2}),
    ],
)
def test_ends_of_stretches_lie_on_a_fixed_grid_or_are_told_to_occur(values, name, occurring) -> None:
    rows = [11, 11] if name.startswith("18") else 12
    found = named([(values[0],), (values[1], values[2]), (values[3],)], [20, rows, 30], 11)
    assert name in labels(found)
    assert found.occurring == occurring


def test_values_of_a_domain_that_rows_decide_are_told_to_occur() -> None:
    given = FITTED.hierarchy_of(["20", "23"])
    ladder = Hierarchy.from_rows([("20", "g0", "*"), ("21", "g1", "*"), ("22", "g1", "*"), ("23", "g2", "*")])
    counts = np.array([20, 11, 1, 30])
    for is_observed, told in ((False, {}), (True, {"21-22": 2})):
        naming = GroupNaming.of("age", FITTED, given, is_observed=is_observed)
        assert naming.named(ladder, 1, counts, 11).occurring == told


def test_kept_names_stay_and_tell_of_no_value_that_it_occurs() -> None:
    ladder = Hierarchy.flat(["other job", "clerk", "cook, driver"])
    found = KeptNames().named(ladder, 0, np.array([1, 2, 3]), 2)
    assert found.hierarchy == ladder
    assert [ladder.labels[0][code] for code in found.order] == ["clerk", "cook, driver", "other job"]
    assert found.occurring == {}
