"""Claims: what a bundle states reads back as itself, and is checked by the check of its name."""

import json
from fractions import Fraction

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from checks import (
    Claim,
    CriterionError,
    Diversity,
    Entropy,
    KCombinatorial,
    KLink,
    MaxentDiversity,
    MinCell,
    Question,
    Recursive,
    k_combinatorial,
    k_link,
    maxent_diversity,
    min_cell,
    parse_claim,
    parse_diversity,
)
from checks.claims import RelaxedDiversity
from checks.maxent.maxent_diversity import relaxed_maxent_diversity
from models import Collection
from privacy_strategies import diversities, functionals, sensitive_collections


def has_text(diversity: Diversity) -> bool:
    """Recursive diversity that lets the head equal the tail has no text that can be read back."""
    return not isinstance(diversity, Recursive) or diversity.strict


claims = st.one_of(
    st.builds(KLink, st.integers(1, 9)),
    st.builds(KCombinatorial, st.integers(1, 9)),
    st.builds(MinCell, st.integers(1, 9)),
    st.builds(RelaxedDiversity, st.fractions(0, Fraction(9, 10), max_denominator=10), st.integers(2, 5), st.just("s")),
    st.builds(
        MaxentDiversity, (diversities() | functionals()).filter(has_text).map(str).map(parse_diversity), st.just("s")
    ),
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
        case RelaxedDiversity(epsilon, l, attribute):
            expected = relaxed_maxent_diversity(collection, attribute, l, epsilon)
        case MaxentDiversity(diversity, attribute):
            expected = maxent_diversity(collection, attribute, diversity)
    assert finding == expected


@given(sensitive_collections(), claims)
def test_every_finding_is_plain_json(drawn: tuple[Collection, str], claim: Claim) -> None:
    """Python numbers and no infinities, so that a report can be written."""
    plain = claim.check(Question(drawn[0], [drawn[1]])).as_json()
    assert json.loads(json.dumps(plain, allow_nan=False)) == plain


def test_what_a_bundle_states_is_taken_as_written() -> None:
    """The three claims."""
    assert parse_claim({"criterion": "k-link", "k": 6}) == KLink(6)
    assert parse_claim({"criterion": "k-combinatorial", "k": 6}) == KCombinatorial(6)
    stated = {"criterion": "maxent-diversity", "diversity": "entropy:6", "sensitive": "occupation"}
    assert parse_claim(stated) == MaxentDiversity(Entropy(6), "occupation")


@pytest.mark.parametrize(
    "stated",
    [
        {},
        {"criterion": "k-link"},
        {"criterion": "k-anonymity", "k": 6},
        {"k": 6},
        {"criterion": "maxent-diversity", "diversity": "entropy:6"},
        {"criterion": "maxent-diversity", "diversity": 6, "sensitive": "occupation"},
        {"criterion": "maxent-diversity", "diversity": "entropy:6", "sensitive": 3},
        {"criterion": "maxent-diversity", "diversity": "entropy", "sensitive": "occupation"},
        {"criterion": ["k-link"], "k": 6},
    ],
)
def test_what_is_no_claim_is_refused(stated: dict[str, object]) -> None:
    with pytest.raises(CriterionError):
        parse_claim(stated)


@pytest.mark.parametrize("k", [0, -3, 2.0, True, "6", None, [6]])
@pytest.mark.parametrize("criterion", ["k-link", "k-combinatorial"])
def test_a_k_that_is_no_whole_number_of_at_least_1_is_refused(criterion: str, k: object) -> None:
    with pytest.raises(CriterionError, match=f"{criterion} needs a whole number"):
        parse_claim({"criterion": criterion, "k": k})
