"""Claims and findings: what a bundle states reads back as itself, and is checked by the check of its name, by level too."""

import json
from fractions import Fraction

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from checks import (
    Algorithm,
    Claim,
    CriterionError,
    Distinct,
    Diversity,
    Entropy,
    Finding,
    KCombinatorial,
    KLink,
    MaxentDiversity,
    MinCell,
    PrivacyConstraint,
    Question,
    Requirements,
    Verdict,
    WorstClass,
    by_hull,
    by_join,
    k_combinatorial,
    k_link,
    maxent_diversity,
    min_cell,
    parse_claim,
    sensitive_tree,
)
from filled_tables import filled, published
from judged_classes import judged_on
from marginals import plain
from models import Collection, Domain, Hierarchy
from privacy_oracles import conditionals, finest, is_diverse, on_boundary
from privacy_strategies import diversities, functionals, sensitive_collections

claims = st.one_of(
    st.builds(KLink, st.integers(1, 9)),
    st.builds(KCombinatorial, st.integers(1, 9)),
    st.builds(MinCell, st.integers(1, 9)),
    st.builds(MaxentDiversity, diversities() | functionals(), st.just("s")),
)


@given(claims)
def test_a_stated_claim_reads_back_as_itself(claim: Claim) -> None:
    assert parse_claim(json.loads(json.dumps(claim.as_json()))) == claim


@settings(max_examples=60)
@given(sensitive_collections(), claims)
def test_a_claim_gives_the_finding_of_its_check_under_its_own_name(drawn: tuple[Collection, str], claim: Claim) -> None:
    collection, sensitive = drawn
    finding = claim.check(Question(collection, [sensitive]))
    assert {"criterion": finding.criterion, **finding.parameters} == claim.as_json()
    match claim:
        case KLink(k):
            expected = k_link(collection, [sensitive], k)
        case KCombinatorial(k):
            expected = k_combinatorial(collection, [sensitive], k)
        case MinCell(k):
            expected = min_cell(collection, k)
        case MaxentDiversity(diversity, attribute):
            expected = maxent_diversity(collection, attribute, diversity)
        case _:
            expected = finding
    assert finding == expected
    as_json = plain(finding)
    assert json.loads(json.dumps(as_json, allow_nan=False)) == as_json, "Python numbers and no infinities"


@pytest.mark.parametrize("k", [0, -3, 2.0, True, "6", None, [6]])
@pytest.mark.parametrize("criterion", ["k-link", "k-combinatorial"])
def test_a_k_that_is_no_whole_number_of_at_least_1_is_refused(criterion: str, k: object) -> None:
    with pytest.raises(CriterionError, match=criterion):
        parse_claim({"criterion": criterion, "k": k})


# Findings: a verdict that was not reached is no pass, and what is said is plain JSON.


WORST = WorstClass({"age": "30-39"}, count=2)


def finding_of(verdict: Verdict, note: str = "") -> Finding:
    return Finding("k-link", verdict, {"k": 3}, WORST, (Algorithm.MINIMUM,), 7, note)


@pytest.mark.parametrize("verdict", Verdict)
def test_a_finding_is_plain_json_with_all_it_says(verdict: Verdict) -> None:
    assert finding_of(verdict).holds is (verdict is Verdict.HOLDS), "only what is proven holds"
    assert plain(finding_of(verdict, "half"))["note"] == "half"
    assert plain(finding_of(verdict)) == {
        "criterion": "k-link",
        "holds": verdict is Verdict.HOLDS,
        "verdict": verdict.value,
        "parameters": {"k": 3},
        "worst": {"cell": {"age": "30-39"}, "count": 2},
        "algorithm": "minimum",
        "examined": 7,
    }


def test_a_finding_reads_as_one_line() -> None:
    assert str(finding_of(Verdict.FAILS)) == "k-link (k 3): fails"
    two = Finding(
        "maxent-diversity", Verdict.UNDECIDED, {"diversity": "entropy:6", "sensitive": "s"}, None, (Algorithm.JOIN,), 0
    )
    assert str(two) == "maxent-diversity (diversity entropy:6, sensitive s): undecided"


def test_of_a_worst_class_what_is_known_is_told_and_infinite_is_null() -> None:
    everything = WorstClass({"a": "x"}, {"a": 1}, [{"a": 1}], [{"u": 2}], 2, (0, 3), {"u": 1.0}, 1.5)
    names = "margin cell margins counts count count_between distribution reached"
    assert list(everything.as_json()) == names.split()
    assert WorstClass().as_json() == {}
    assert WorstClass(cell={}, reached=float("inf")).as_json() == {"cell": {}, "reached": None}


# Diversity of the values of a coarser level: verdicts are those of the definition, on vectors that are added up.


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
        criterion = judged_on(tree, claim.class_diversity)
        assert by_join(tree, criterion).verdict is expected
        assert by_hull(tree, criterion).verdict is expected
    requirements = Requirements((sensitive,), diversities=(claim,))
    refusal = PrivacyConstraint(collection.cube, requirements)(collection.masks, 0)
    assert refusal is not None or expected is Verdict.HOLDS
    assert refusal is None or expected is Verdict.FAILS or "undecided" in refusal.reason


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
    return published(filled(domain, counts), {"area": 0, "diagnosis": 0})


def test_a_level_that_there_is_not_is_refused_or_undecided() -> None:
    collection = areas([[1] * 8, [2] * 8])
    claim = MaxentDiversity(Distinct(2), "diagnosis", 2)
    with pytest.raises(CriterionError, match="level 2"):
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
