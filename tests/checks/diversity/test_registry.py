"""The registry of criteria: every name leads to the class of that name, and every text reads back as itself."""

import pytest
from hypothesis import given

from checks import CriterionError, Diversity, parse_diversity, spellings
from privacy_strategies import diversities, functionals


@given(diversities() | functionals())
def test_a_text_reads_back_as_the_criterion_that_wrote_it(diversity: Diversity) -> None:
    assert parse_diversity(str(diversity)) == diversity


EXAMPLES = (
    "distinct:2",
    "simple:2.5",
    "entropy:2.5",
    "recursive:3,2 or equal",
    "functional:0.5,2",
    "pd-recursive:3,2 or equal may disclose flu",
    "npd-recursive:3,5,2 may disclose flu must protect HIV",
    "negative-disclosure:5 must protect HIV",
    "adjusted-entropy:2.5 may disclose flu",
    'alpha:0.25 of HIV, "of age"',
    "beta-likeness:0.5",
    "bayes-optimal:0.1,0.6",
    "t-closeness:0.2 ordered",
)
"""A text of each criterion, in their order."""


def test_every_form_is_that_of_the_class_of_its_name() -> None:
    assert len(spellings()) == len(EXAMPLES)
    for form, example in zip(spellings(), EXAMPLES):
        name, _, parameters = form.partition(":")
        criterion = parse_diversity(example)
        assert (criterion.name, criterion.parameters, str(criterion)) == (name, parameters, example)


def test_a_text_longer_than_any_criterion_is_refused() -> None:
    with pytest.raises(CriterionError, match="10,000 characters"):
        parse_diversity('recursive:3,2 may disclose "' + '"a' * 10_000)


@pytest.mark.parametrize(
    "text",
    [
        "",
        ":",
        "entropy",
        "entropy:",
        "entropy:x",
        "entropy:1e3",
        "entropy:1/0",
        "entropy:2,3",
        "distinct:2.5",
        "3",
        "npd:2",
        "recursive:3,2 or",
        "recursive:3,2 or equal or equal",
        "recursive:3,2 or equal flu",
        "recursive:or equal 3,2",
        "recursive:3,2 of flu",
    ],
)
def test_a_text_of_no_form_is_refused_with_all_forms(text: str) -> None:
    with pytest.raises(
        CriterionError,
        match=r"distinct:l, simple:l, entropy:l, recursive:c,l \[or equal\], functional:tau,l, pd-recursive",
    ):
        parse_diversity(text)
