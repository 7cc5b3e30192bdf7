"""Diversity of the values of a coarser level: verdicts are those of the definition, on vectors that are added up."""

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from checks import (
    CriterionError,
    Distinct,
    Diversity,
    Entropy,
    MaxentDiversity,
    PrivacyConstraint,
    Question,
    Recursive,
    Requirements,
    Verdict,
    by_hull,
    by_join,
    parse_claim,
    sensitive_tree,
)
from checks.claims import diversities_by_attribute
from checks.diversity.criterion import among
from checks.diversity.relative import AtLevel
from checks.finding import SEARCHING
from models import Collection, ContingencyTable, DataCube, Domain, Hierarchy, RefusalScope
from privacy_oracles import conditionals, finest, is_diverse, on_boundary
from privacy_strategies import diversities, sensitive_collections

Drawn = tuple[Collection, str]

DIAGNOSES = Hierarchy.from_rows([(f"{chapter}{number}", chapter, "*") for chapter in "AB" for number in range(4)])


def coarsened(collection: Collection, sensitive: str, level: int) -> list[list[Fraction]]:
    """What the maxent distribution says of every cell, by the values of a level that is not below the published one."""
    hierarchy, shown = collection.domain.hierarchy(sensitive), finest(collection.margins)[sensitive]
    above = hierarchy.lift(shown, max(level, shown)).tolist()
    vectors = []
    for vector in conditionals(collection, sensitive).values():
        sums = [Fraction(0)] * hierarchy.size(max(level, shown))
        for place, share in zip(above, vector):
            sums[place] += share
        vectors.append(sums)
    return vectors


@given(sensitive_collections(), diversities(4), st.integers(0, 2), st.booleans())
def test_the_verdict_is_that_of_the_sums(drawn: Drawn, diversity: Diversity, level: int, close: bool) -> None:
    collection, sensitive = drawn
    if not collection.shows(sensitive) or level >= collection.domain.hierarchy(sensitive).height:
        return
    vectors = coarsened(collection, sensitive, level)
    asked = on_boundary(diversity, vectors[0]) if close else diversity
    claim = MaxentDiversity(asked, sensitive, level)
    expected = Verdict.HOLDS if all(is_diverse(asked, vector) for vector in vectors) else Verdict.FAILS
    assert claim.check(Question(collection, [sensitive])).verdict is expected
    tree = sensitive_tree(collection, sensitive)
    assert tree is not None
    if claim.class_diversity is not None:
        criterion = among(claim.class_diversity, tree.values)
        assert by_join(tree, criterion).verdict is expected
        assert by_hull(tree, criterion).verdict is expected
    requirements = Requirements((sensitive,), diversities=(claim,))
    refusal = PrivacyConstraint(collection.cube, requirements)(collection.masks, 0)
    assert (refusal is None) is (claim.check(Question(collection, [sensitive], SEARCHING)).verdict is Verdict.HOLDS)


@settings(max_examples=60)
@given(sensitive_collections(), diversities(4), st.integers(1, 2))
def test_one_table_is_judged_by_its_classes(drawn: Drawn, diversity: Diversity, level: int) -> None:
    collection, sensitive = drawn
    if not collection.shows(sensitive) or level >= collection.domain.hierarchy(sensitive).height:
        return
    table = next(table for table in collection.tables if sensitive in table.margin)
    alone = Collection.of(collection.cube, [table.mask])
    claim = MaxentDiversity(diversity, sensitive, level)
    (finding,) = Requirements((sensitive,), diversities=(claim,)).of_table(table)
    assert finding.holds is all(is_diverse(diversity, vector) for vector in coarsened(alone, sensitive, level))
    assert finding.parameters == claim.parameters


def areas(counts: list[list[int]]) -> Collection:
    """Areas by eight codes of two chapters."""
    domain = Domain.of({"area": Hierarchy.flat([f"area {n}" for n in range(len(counts))]), "diagnosis": DIAGNOSES})
    codes = dict(zip(domain.attributes, np.indices((len(counts), 8)).reshape(2, -1)))
    table = ContingencyTable.from_cells(domain, {"area": 0, "diagnosis": 0}, codes, np.ravel(counts))
    return Collection.of(DataCube([table]), [table.mask])


def test_codes_that_are_uncertain_can_have_a_certain_chapter() -> None:
    """Four codes of one chapter in each area: as uncertain as can be by code, certain by chapter."""
    collection = areas([[5, 5, 5, 5, 0, 0, 0, 0], [0, 0, 0, 0, 5, 5, 5, 5]])
    by_code, by_chapter = diversities_by_attribute({"diagnosis": ["entropy:4", "distinct:2"]}, ["diagnosis"])
    assert by_code.check(Question(collection, ["diagnosis"])).holds
    finding = by_chapter.check(Question(collection, ["diagnosis"]))
    assert finding.verdict is Verdict.FAILS
    assert finding.parameters == {"diversity": "distinct:2", "sensitive": "diagnosis", "level": 1}
    assert finding.worst_class.distribution in ({"A": 1.0}, {"B": 1.0})
    refusal = PrivacyConstraint(collection.cube, Requirements(("diagnosis",), diversities=(by_chapter,)))(
        collection.masks, 0
    )
    assert refusal is not None
    assert refusal.scope is RefusalScope.FINER
    assert "distinct:2 at level 1 in diagnosis" in refusal.reason


def test_a_level_that_there_is_not_is_refused_or_undecided() -> None:
    collection = areas([[1] * 8, [2] * 8])
    claim = MaxentDiversity(Distinct(2), "diagnosis", 2)
    with pytest.raises(CriterionError, match="no values of level 2; its levels below \\* are 0 to 1"):
        PrivacyConstraint(collection.cube, Requirements(("diagnosis",), diversities=(claim,)))
    finding = claim.check(Question(collection, ["diagnosis"]))
    assert finding.verdict is Verdict.UNDECIDED
    assert "no values of level 2" in finding.note


def test_a_claim_states_its_level_where_it_is_not_the_finest() -> None:
    stated = {"criterion": "maxent-diversity", "diversity": "entropy:3", "sensitive": "diagnosis", "level": 1}
    assert parse_claim(stated) == MaxentDiversity(Entropy(Fraction(3)), "diagnosis", 1)
    assert parse_claim(stated).as_json() == stated
    assert "level" not in MaxentDiversity(Entropy(Fraction(3)), "diagnosis").as_json()
    for level in (-1, True, "1", 1.5, None):
        with pytest.raises(CriterionError):
            parse_claim({**stated, "level": level})
    with pytest.raises(CriterionError, match="base values"):
        parse_claim({**stated, "diversity": "functional:0.5,2"})


def test_people_are_judged_by_level_too() -> None:
    """Up to two rows each: the most frequent chapter has to stay below half of what it might be of the people."""
    claim = MaxentDiversity(Distinct(2), "diagnosis", 1, rows_per_person=2)
    assert claim.check(Question(areas([[1] * 8, [1] * 8]), ["diagnosis"])).verdict is Verdict.FAILS
    assert claim.check(Question(areas([[1, 1, 0, 0, 2, 0, 0, 0]] * 2), ["diagnosis"])).verdict is Verdict.FAILS
    of_four = MaxentDiversity(Distinct(2), "diagnosis", rows_per_person=2)
    assert of_four.check(Question(areas([[1] * 8, [1] * 8]), ["diagnosis"])).holds


def test_what_is_demanded_of_single_attributes_is_read_as_it_is_written() -> None:
    demanded = diversities_by_attribute(
        {"job": "recursive:3,2", "diagnosis": ["none", "distinct:3"]}, ["diagnosis", "job"]
    )
    assert demanded == [MaxentDiversity(Recursive(Fraction(3), 2), "job"), MaxentDiversity(Distinct(3), "diagnosis", 1)]
    for wrong in ({}, [], 3, {"job": []}, {"job": 3}, {"job": [3]}, {"age": "distinct:2"}, {"job": "distinct:x"}):
        with pytest.raises(CriterionError, match="diversity"):
            diversities_by_attribute(wrong, ["job"])


def test_requirements_of_single_attributes_are_claimed_with_the_others() -> None:
    further = MaxentDiversity(Distinct(2), "t", 1)
    requirements = Requirements(("s", "t"), diversity=Distinct(3), diversities=(further, further))
    assert requirements.claims == (MaxentDiversity(Distinct(3), "s"), MaxentDiversity(Distinct(3), "t"), further)
    with pytest.raises(CriterionError, match="one diversity for all"):
        _ = requirements.common_diversity
    assert Requirements(("s", "t"), diversity=Distinct(3)).common_diversity == Distinct(3)
    assert Requirements(("s",)).common_diversity is None
    with pytest.raises(CriterionError, match="'u', which is no sensitive attribute"):
        Requirements(("s", "t"), diversities=(MaxentDiversity(Distinct(2), "u"),))


def test_a_criterion_at_a_level_cannot_be_asked_without_values() -> None:
    with pytest.raises(CriterionError):
        AtLevel(Distinct(2), 0)
    with pytest.raises(CriterionError):
        AtLevel(Distinct(2), 1).decide([1, 1])
