"""Texts of criteria read back as themselves; `check_criterion` passes each, and finds what is wrong with a broken one."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

import marginals
from checks import (
    CriterionError,
    Distinct,
    Diversity,
    Entropy,
    MaxentDiversity,
    Recursive,
    Register,
    Simple,
    Verdict,
    parse_claim,
    parse_diversity,
    satisfies,
    spelled,
    spellings,
)
from marginals import Release
from marginals.example import release
from privacy_oracles import is_diverse
from privacy_strategies import diversities, functionals

EXAMPLES = (
    "distinct:2", "simple:2.5", "entropy:2.5", "recursive:3,2 or equal", "functional:0.5,2",
    "pd-recursive:3,2 or equal may disclose flu", "npd-recursive:3,5,2 may disclose flu must protect HIV",
    "negative-disclosure:5 must protect HIV", "adjusted-entropy:2.5 may disclose flu", 'alpha:0.25 of HIV, "of age"',
    'at-most:20 of HIV, "of age"', 'odds:2,5 may disclose HIV, "of age"', "beta-likeness:0.5", "bayes-optimal:0.1,0.6",
    "belief-difference:0.2", "t-closeness:0.2 ordered",
)  # fmt: skip
"""A text of each criterion, in their order."""


def test_every_form_is_that_of_the_class_of_its_name() -> None:
    assert len(spellings()) == len(EXAMPLES)
    for form, example in zip(spellings(), EXAMPLES):
        name, _, parameters = form.partition(":")
        criterion = parse_diversity(example)
        assert (criterion.name, criterion.parameters, str(criterion)) == (name, parameters, example)
        for behind in (" leaving out missing", ' leaving out missing, "n/a, or so"'):
            further = parse_diversity(example + behind)
            assert parse_diversity(str(further)) == further
            assert str(further).startswith(example)
            assert further.about_base_values is criterion.about_base_values


@given(diversities() | functionals())
def test_a_printed_criterion_reads_back_as_itself(diversity: Diversity) -> None:
    assert parse_diversity(str(diversity)) == diversity
    assert str(diversity).startswith(diversity.name + ":")


@given(st.fractions() | st.decimals(allow_nan=False, allow_infinity=False, places=4).map(Fraction) | st.integers())
def test_reading_a_number_back_gives_the_number(value: Fraction | int) -> None:
    assert Fraction(spelled(value)) == value


@pytest.mark.parametrize(
    ("value", "text"), [("3", "3"), ("0.05", "0.05"), ("-5/4", "-1.25"), ("1/8", "0.125"), ("1/3", "1/3"), ("0", "0")]
)
def test_decimals_where_they_are_exact(value: str, text: str) -> None:
    assert spelled(Fraction(value)) == text


@pytest.mark.parametrize(
    ("text", "diversity"),
    [
        ("distinct:3.0", Distinct(3)),
        ("entropy:14/5", Entropy(Fraction(14, 5))),
        ("simple:10/3", Simple(Fraction(10, 3))),
        ("entropy:123456789.123456789123", Entropy(Fraction("123456789.123456789123"))),
        (" recursive : 0.5 , 2 ", Recursive(Fraction(1, 2), 2)),
    ],
)
def test_numbers_are_taken_exactly_however_they_are_written(text: str, diversity: Diversity) -> None:
    assert parse_diversity(text) == diversity
    assert parse_diversity(str(diversity)) == diversity


CONFUSING = ["of", "may disclose", "or equal", 'a "b"', "flu, cold", " ", '"', "\\", "a of b", "must protect x"]
"""Labels that read like something else."""

labels = st.sets(st.text(st.characters(codec="utf-8"), min_size=1) | st.sampled_from(CONFUSING), min_size=1)


@given(labels, labels, st.booleans())
def test_labels_read_back_as_they_are_whatever_stands_in_them(free: set[str], kept: set[str], equal: bool) -> None:
    plain = parse_diversity(f"npd-recursive:2,3,4{' or equal' if equal else ''} may disclose a must protect b")
    criterion = replace(plain, may_disclose=tuple(sorted(free)), must_protect=tuple(sorted(kept)))
    assert parse_diversity(str(criterion)) == criterion


NO_FORM = """
entropy  entropy:  entropy:x  entropy:1,2  entropy:nan  entropy:inf  entropy:1/0  entropy:1e3  :  :3  3  npd:2  t:1,2
Entropy:2  distinct:2.5  recursive:3  recursive:3,  recursive:3,2.5  recursive:3,2,1
"""
NO_CLAUSE = (
    "recursive:3,2 or",
    "recursive:3,2 or equal or equal",
    "recursive:3,2 or equal flu",
    "recursive:3,2 or equal ,",
    "recursive:or equal 3,2",
    "recursive:3,2 of flu",
    "adjusted-entropy:2 may disclose",
    "adjusted-entropy:2 may disclose ,",
    "adjusted-entropy:2 may disclose a,,b",
    'adjusted-entropy:2 may disclose "a',
    'adjusted-entropy:2 may disclose a"b',
    'adjusted-entropy:2 may disclose ""',
    'adjusted-entropy:2 may disclose "a" b',
    "adjusted-entropy:2 may disclose \ud800",
    "adjusted-entropy:2 may disclose a may disclose b",
    "at odds 2",
    "entropy:2 at odds 1.2",
    "alpha:0.5 of flu at odds 1.2",
    "recursive:3,2 leaving out missing at odds 1.2",
)


@pytest.mark.parametrize("text", ["", *NO_FORM.split(), *NO_CLAUSE])
def test_a_text_that_is_no_criterion_is_refused_with_the_forms_there_are(text: str) -> None:
    with pytest.raises(
        CriterionError, match=r"distinct:l, .*recursive:c,l \[or equal\], functional:tau,l, pd-recursive"
    ):
        parse_diversity(text)


@pytest.mark.parametrize("text", ["entropy:1e400", "simple:1e400", "recursive:1e400,2", "recursive:1e-400,2"])
def test_a_number_beyond_floating_point_is_refused_or_decided(text: str) -> None:
    """Never accepted to fail later with an OverflowError."""
    try:
        diversity = parse_diversity(text)
    except CriterionError:
        return
    row = [3, 1, 1]
    assert satisfies(diversity, np.array([row])).tolist() == [is_diverse(diversity, row)]
    assert parse_diversity(str(diversity)) == diversity


UNINSTALLED = ["somebodys", "somebodys:3,x", "somebodys:4 at odds 2", "somebodys:4 leaving out missing"]
"""Of a criterion that a bundle names and nothing here knows."""


def claimed(text: str) -> MaxentDiversity:
    claim = parse_claim({"criterion": "maxent-diversity", "diversity": text, "sensitive": "diagnosis"})
    assert isinstance(claim, MaxentDiversity)
    return claim


@pytest.mark.parametrize("text", UNINSTALLED)
def test_a_criterion_that_is_not_installed_is_read_back_in_bundles_only_and_judges_nothing(text: str) -> None:
    criterion = claimed(text).diversity
    assert str(criterion) == text
    with pytest.raises(CriterionError, match="install"):
        parse_diversity(text)
    for judge in (criterion.slack, criterion.reached, criterion.decide):
        with pytest.raises(CriterionError):
            judge(np.array([[5, 5]]))


@pytest.mark.parametrize(
    "text", ["", "Some Body's", "somebodys:\x1b[2J", "somebodys:3\n", f"somebodys:{'1' * 300}", "entropy:x"]
)
def test_what_cannot_be_told_as_it_stands_is_no_criterion(text: str) -> None:
    with pytest.raises(CriterionError):
        claimed(text)


@pytest.mark.parametrize("text", UNINSTALLED[1:])
def test_a_bundle_that_claims_it_is_undecided_with_what_to_install(text: str, tmp_path: Path) -> None:
    of = claimed(text)
    others = tuple(claim for claim in release.claims if not isinstance(claim, MaxentDiversity))
    Release(replace(release.published, claims=(*others, of, Register(of.diversity, of.sensitive)))).write(
        tmp_path / "release"
    )
    verification = marginals.verify(tmp_path / "release")
    assert not verification.ok
    found = {check.criterion: check for check in verification.checks}
    for criterion in ("maxent-diversity", "register"):
        assert found[criterion].verdict is Verdict.UNDECIDED
        assert "install" in found[criterion].note
    assert found["integrity"].holds
    assert found["k-link"].holds


# `check_criterion` passes every criterion of the project, and finds what is wrong with one that is broken in each way.


FURTHER = {
    "pd-recursive": ("2,2 may disclose a",), "npd-recursive": ("3,50,2 must protect a",),
    "negative-disclosure": ("40 must protect a",), "adjusted-entropy": ("2 may disclose a",), "alpha": ("1/2 of a",),
    "at-most": ("20 of a", "50 of a, b", "90 of a, b, c"),
    "odds": ("2,5", "3,10 may disclose a", "2,30 may disclose a, b", "1,0"),
}  # fmt: skip


@pytest.mark.parametrize("text", EXAMPLES)
def test_every_criterion_of_the_project_keeps_the_laws(text: str) -> None:
    marginals.criteria.check_criterion(type(parse_diversity(text)), *FURTHER.get(text.partition(":")[0], ()))


@dataclass(frozen=True)
class Capped(marginals.criteria.Diversity):
    """No sensitive value has a share above `share`. Reached: the largest share."""

    share: Fraction
    name: ClassVar[str] = "capped-by-law"
    parameters: ClassVar[str] = "share"

    def __str__(self) -> str:
        return f"{self.name}:{spelled(self.share)}"

    def slack(self, vectors: NDArray[Any]) -> NDArray[np.float64]:
        return np.asarray(float(self.share) / self.reached(vectors) - 1)

    def reached(self, vectors: NDArray[Any]) -> NDArray[np.float64]:
        return np.asarray(vectors.max(axis=1) / vectors.sum(axis=1), dtype=np.float64)

    def decide(self, vector: Sequence[Fraction | int]) -> bool:
        return max(vector) <= self.share * sum(vector)


def slack_but(share: float, where: Callable[[NDArray[Any]], NDArray[np.bool_]]) -> dict[str, Any]:
    return {"slack": lambda self, vectors: np.where(where(vectors), share, Capped.slack(self, vectors))}


BROKEN: dict[str, tuple[str, dict[str, Any]]] = {
    "its text loses its number": ("which is not the same|not read back", {"__str__": lambda self: f"{self.name}:1/2"}),
    "its slack is negative where a class passes": (
        "let it be positive where a class passes",
        {"slack": lambda self, vectors: -Capped.slack(self, vectors)},
    ),
    "its slack is NaN for a class of one value": (
        "slack is nan",
        slack_but(np.nan, lambda vectors: (vectors > 0).sum(axis=1) <= 1),
    ),
    "it decides with floating point": (
        "is not exact on the boundary",
        {"decide": lambda self, vector: float(max(vector) / sum(vector)) <= float(self.share)},
    ),
    "it judges counts, not the distribution": (
        "something else than of their shares",
        {"decide": lambda self, vector: Capped.decide(self, vector) or sum(vector) < 3}
        | slack_but(1.0, lambda vectors: vectors.sum(axis=1) < 3),
    ),
    "two classes with a value of a large share can make one that has none": (
        "is not monotone",
        {
            "decide": lambda self, vector: max(vector) >= self.share * sum(vector),
            "slack": lambda self, vectors: np.asarray(self.reached(vectors) / float(self.share) - 1),
        },
    ),
    "it says that nothing violates it": (
        "is not pruned soundly: ",
        {"violations": lambda _self, _bounds: []},
    ),
    "it judges products by their sum": (
        "is not pruned soundly: ",
        {"slack_of_products": lambda _self, one, other: np.where((one @ other.T) > 0, 1.0, np.inf)},
    ),
    "it answers with a number": ("True or False", {"decide": lambda self, vector: int(Capped.decide(self, vector))}),
}


def test_a_sound_criterion_passes_and_is_unknown_again() -> None:
    marginals.criteria.check_criterion(Capped, "1/2", "2/3")
    with pytest.raises(CriterionError, match="not of the form"):
        parse_diversity("capped-by-law:1/2")


@pytest.mark.parametrize("what", BROKEN)
def test_what_is_broken_is_found(what: str) -> None:
    words, methods = BROKEN[what]
    with pytest.raises(CriterionError, match=words):
        marginals.criteria.check_criterion(type("Broken", (Capped,), {"__doc__": what, **methods}), "2/3")
    with pytest.raises(CriterionError, match="not of the form"):
        parse_diversity("capped-by-law:2/3")


@pytest.mark.parametrize("text", ["simple:2", "entropy:2", "recursive:3,2", "functional:0.5,2"])
def test_a_criterion_with_half_of_its_cases_is_refused(text: str) -> None:
    kind = type(parse_diversity(text))

    def half(self: Diversity, bounds: Any) -> Any:
        kinds = kind.violations(self, bounds)
        return kinds and [cases.selected(np.arange(len(cases.heads)) < (len(cases.heads) + 1) // 2) for cases in kinds]

    with pytest.raises(CriterionError, match=r"no case of violations\(\) has cuts"):
        marginals.criteria.check_criterion(
            type("Half", (kind,), {"violations": half, "name": "half"}), text.partition(":")[2]
        )


def test_a_criterion_without_an_example_that_can_be_read_says_so() -> None:
    class Worded(Capped):
        @classmethod
        def parsed(cls, text: str) -> "Worded | None":
            return cls(Fraction(text.removeprefix("at most "))) if text.startswith("at most ") else None

    with pytest.raises(CriterionError, match="give an example"):
        marginals.criteria.check_criterion(Worded)
    with pytest.raises(CriterionError, match="does not take the example"):
        marginals.criteria.check_criterion(Worded, "few")
