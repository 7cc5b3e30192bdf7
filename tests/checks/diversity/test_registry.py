"""The registry of criteria: every name leads to the class of that name, and every text reads back as itself."""

import pytest
from hypothesis import given

from checks.diversity.criterion import Diversity
from checks.diversity.recursive import Recursive
from checks.diversity.registry import parse_diversity, spellings
from checks.errors import CriterionError
from privacy_strategies import diversities, functionals


@given(diversities() | functionals())
def test_a_text_reads_back_as_the_criterion_that_wrote_it(diversity: Diversity) -> None:
    """Recursive diversity that lets the head equal the tail has no text that can be read back."""
    if isinstance(diversity, Recursive) and not diversity.strict:
        with pytest.raises(CriterionError):
            parse_diversity(str(diversity))
    else:
        assert parse_diversity(str(diversity)) == diversity


def test_every_form_is_that_of_the_class_of_its_name() -> None:
    assert spellings() == ("distinct:l", "simple:l", "entropy:l", "recursive:c,l", "functional:tau,l")
    for form in spellings():
        text = form.replace("tau", "0.5").replace("c", "3").replace("l", "2") if ":" in form else form
        name, _, parameters = form.partition(":")
        criterion = parse_diversity(f"{name}:{text.partition(':')[2]}")
        assert (criterion.name, criterion.parameters) == (name, parameters)


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
    ],
)
def test_a_text_of_no_form_is_refused_with_all_forms(text: str) -> None:
    with pytest.raises(CriterionError, match=r"distinct:l, simple:l, entropy:l, recursive:c,l, functional:tau,l$"):
        parse_diversity(text)
