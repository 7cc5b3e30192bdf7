"""Numbers in sentences are rounded so that the sentence holds; levels have names that their labels bear out."""

import re

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from marginals.auditing.spec import ATTRIBUTE_KEYS, SPEC_KEYS, TABLE_KEYS
from marginals.names import (
    assumed_independences,
    independences_in_words,
    level_name,
    margin_in_words,
    shown_at,
    with_level_names,
)
from marginals.say.steward import search_line
from models import Collection, Domain, Hierarchy, MarginalModel, SearchResult, mutual_information
from models.graphs.junction_tree import independences, triangulated_tree
from project import ROOT
from strategies import NOT_DECOMPOSABLE, SHAPE_DOMAIN, SHAPES, domains, shape_cube

TOWNS = Hierarchy.from_rows([("Ulm", "south", "*"), ("Jena", "east", "*"), ("Bonn", "west", "*")])
AGES = Hierarchy.from_intervals(["17", "95"], [5, 10, 20])


def leveled(*labels: str) -> Hierarchy:
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
        ("day", Hierarchy.from_rows([("2023-11", "2023", "2020s", "*")]), 1, "years"),
        ("day", Hierarchy.from_rows([("2023-11", "2023", "2020s", "*")]), 2, "decades"),
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


@pytest.mark.parametrize("shape", sorted(NOT_DECOMPOSABLE))
def test_what_is_said_without_a_junction_tree_is_true_of_the_fitted_distribution(shape):
    collection = Collection.of(shape_cube(), map(SHAPE_DOMAIN.mask, SHAPES[shape]))
    tree = triangulated_tree(collection)
    assert assumed_independences(collection) == independences_in_words(tree)
    model, domain = MarginalModel(collection), collection.domain
    for statement in independences(tree):
        given = domain.margin(statement.condition)
        first, second = (domain.margin(part) for part in statement.parts[:2])
        joint = model.expected({**given, **first, **second})
        shape_of = [int(np.prod([domain.hierarchy(a).size(m[a]) for a in m])) for m in (given, first, second)]
        slices = joint.reshape(shape_of)
        assert sum(part.sum() * mutual_information(part) for part in slices if part.sum()) == pytest.approx(0, abs=1e-4)


@pytest.mark.parametrize(
    ("bound", "optimal", "said"),
    [
        (0.5, True, []),
        (None, False, []),
        (0.3, False, []),  # below half of what was found: it says nothing
        (0.5004, False, ["0.500", "0.251"]),
        (0.5009, False, ["0.500", "0.251"]),
    ],
)
def test_the_bound_of_a_search_is_rounded_down_and_its_distance_up(
    bound: float | None, optimal: bool, said: list[str]
) -> None:
    search = SearchResult("forward", (), 0.7501, 9, optimal, (), value=0.7501, bound=bound)
    assert re.findall(r"\d\.\d+", search_line(search, has_base=False)) == said


def test_the_how_to_explains_every_key() -> None:
    page = (ROOT / "docs" / "how_to" / "audit.md").read_text(encoding="utf-8")
    keys = [*(k for k in SPEC_KEYS if k not in ("markers", "attributes", "tables")), "markers.TEXT"]
    keys += [f"attributes.NAME.{key}" for key in ATTRIBUTE_KEYS] + [f"tables.FILE.{key}" for key in TABLE_KEYS]
    for key in keys:
        assert f"| `{key}` |" in page, key
