"""Levels have names that their labels bear out, and no two different levels of an attribute have the same."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from marginals.names import level_name, margin_in_words, shown_at, with_level_names
from models import Domain, Hierarchy
from strategies import domains

TOWNS = Hierarchy.from_rows([("Ulm", "south", "*"), ("Jena", "east", "*"), ("Bonn", "west", "*")])
AGES = Hierarchy.from_intervals(["17", "95"], [5, 10, 20])


def leveled(*labels: str) -> Hierarchy:
    """Base values under these labels, one each."""
    return Hierarchy.from_rows([(f"v{number}", label, "*") for number, label in enumerate(labels)])


@pytest.mark.parametrize(
    ("attribute", "hierarchy", "level", "name"),
    [
        ("age", AGES, 0, "single years"),
        ("age", AGES, 3, "20-year bands"),
        ("Age of mother", AGES, 1, "5-year bands"),
        ("age_in_months", AGES, 1, "bands of 5"),
        ("age", Hierarchy.from_intervals(["17", "950"], [50]), 1, "bands of 50"),
        ("income", AGES, 3, "bands of 20"),
        ("income", AGES, 0, "100 values"),
        ("age", AGES, 4, "nothing"),
        ("age", leveled("17-19", "20-24", "85 and over"), 1, "3 bands"),
        ("age", leveled("<18", "18-24", "65+"), 1, "3 bands"),
        ("bmi", leveled("18.5-19.0", "19.0-19.5"), 1, "bands of 0.5"),
        ("day", leveled("2024-05", "2024-11"), 1, "months"),
        ("day", leveled("2024-Q1", "2024-Q2"), 1, "quarters"),
        ("code", Hierarchy.from_prefixes(["14850", "13063"], [3, 1]), 1, "first 3 characters"),
        ("code", Hierarchy.from_prefixes(["14850", "13063"], [3, 1]), 2, "first 1 character"),
        ("code", Hierarchy.from_prefixes(["148", "13063"], [4]), 1, "first 4 characters"),
        ("code", Hierarchy.from_rows([("cook", "a*", "*"), ("smith", "b*", "*")]), 1, "2 groups"),
        ("town", TOWNS, 0, "3 values"),
        ("town", TOWNS, 1, "3 groups"),
        ("town", leveled("all"), 1, "1 group"),
        ("phone", leveled("5550-1234", "5551-1234"), 1, "2 groups"),
    ],
)
def test_the_name_of_a_level(attribute: str, hierarchy: Hierarchy, level: int, name: str) -> None:
    assert level_name(attribute, hierarchy, level) == name


def test_margins_and_moves_are_told_by_the_names_of_their_levels() -> None:
    domain = Domain.of({"age": AGES, "a": AGES, "sex": Hierarchy.flat(["f", "m"]), "town": TOWNS})
    assert margin_in_words({"age": 3, "sex": 0, "town": 1}, domain) == "age in 20-year bands, sex, town in 3 groups"
    assert margin_in_words({}, domain) == "the number of rows"
    assert shown_at("code", Hierarchy.from_prefixes(["14850"], [3]), 1) == "code by its first 3 characters"
    sentence = "show age at level 1 with sex at level 0: a margin of more than 3 cells"
    told = "show age in 5-year bands with sex: a margin of more than 3 cells"
    assert with_level_names(sentence, domain) == told


@given(domains(), st.sampled_from(["age", "income"]))
def test_two_levels_of_one_name_group_the_values_alike(domain: Domain, attribute: str) -> None:
    for hierarchy in domain.hierarchies:
        size_of: dict[str, int] = {}
        for level in range(hierarchy.height):
            name = level_name(attribute, hierarchy, level)
            assert size_of.setdefault(name, hierarchy.size(level)) == hierarchy.size(level)
