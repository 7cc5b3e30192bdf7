"""Criteria that name values or compare with the whole table: verdicts are those of the definitions, by labels."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from checks import FULL, CriterionError, Diversity, Recursive, Verdict, maxent_diversity, parse_diversity, satisfies
from checks.diversity.criterion import SensitiveValues, among, stated_among
from checks.diversity.relative import (
    AdjustedEntropy,
    Alpha,
    BayesOptimal,
    BetaLikeness,
    Closeness,
    NpdRecursiveByLabel,
    PdRecursive,
    ProtectedValues,
    ShareRange,
)
from models import Collection, Hierarchy
from privacy_oracles import conditionals
from privacy_strategies import sensitive_collections, tree_of, tree_of_classes

HIERARCHY = Hierarchy.from_rows(
    [
        ("flu", "airways", "*"),
        ("asthma", "airways", "*"),
        ("HIV", "infection", "*"),
        ("measles", "infection", "*"),
        ("healthy", "healthy", "*"),
    ]
).ordered_by(["flu", "asthma", "HIV", "measles", "healthy"])
LABELS = [label for labels in HIERARCHY.labels for label in labels if label != "*"]

fractions = st.fractions(Fraction(1, 4), 4, max_denominator=4)
shares = st.fractions(Fraction(1, 12), Fraction(11, 12), max_denominator=12)
named = st.sets(st.sampled_from(LABELS), min_size=1, max_size=3).map(lambda drawn: tuple(sorted(drawn)))


def criteria(labels: st.SearchStrategy[tuple[str, ...]] = named) -> st.SearchStrategy[Diversity]:
    """Any of them, about these labels."""
    pd = st.builds(PdRecursive, fractions, st.integers(2, 4), labels, st.booleans())
    protected = st.builds(ProtectedValues, shares.map(lambda share: 50 * share), labels)
    plain = st.builds(Recursive, fractions, st.integers(2, 4), st.booleans())
    rhos = st.tuples(shares, shares).filter(lambda drawn: drawn[0] < drawn[1])
    return st.one_of(
        pd,
        protected,
        st.builds(NpdRecursiveByLabel, pd | plain, protected),
        st.builds(AdjustedEntropy, st.fractions(1, 3, max_denominator=3), labels),
        st.builds(Alpha, shares, labels),
        st.builds(BetaLikeness, fractions),
        rhos.map(lambda drawn: BayesOptimal(*drawn)),
        st.builds(Closeness, shares, st.sampled_from(["equal", "ordered", "hierarchical"])),
    )


def definition(
    criterion: Diversity, rows: Mapping[str, int], whole: Mapping[str, int], under: Mapping[str, set[str]]
) -> bool:
    """The verdict on one class by rows of published labels. under: the base labels under each."""
    total, all_rows = sum(rows.values()), sum(whole.values())
    base = {name: set.union(*(u for n, u in UNDER.items() if n == name)) for name in LABELS}

    def meant(labels: Sequence[str]) -> set[str]:
        return set.union(*(base[label] for label in labels))

    match criterion:
        case PdRecursive(c, l, labels, strict):
            free = {v for v in rows if under[v] <= meant(labels)}
            for head in (v for v in rows if v not in free):
                tail = sum(sorted(n for v, n in rows.items() if v != head)[: max(len(rows) - l + 1, 0)])
                # Another value that is as frequent and may not be disclosed has no larger tail.
                if not (rows[head] == 0 or rows[head] < c * tail or (not strict and rows[head] == c * tail)):
                    return False
            return True
        case Recursive():
            return criterion.decide(list(rows.values()))
        case ProtectedValues(percent, labels):
            return all(100 * n >= percent * total for v, n in rows.items() if under[v] & meant(labels))
        case NpdRecursiveByLabel(positive, negative):
            return definition(positive, rows, whole, under) and definition(negative, rows, whole, under)
        case Alpha(alpha, labels):
            return all(n <= alpha * total for v, n in rows.items() if under[v] & meant(labels))
        case BetaLikeness(beta):
            return all(
                Fraction(n, total) - p <= beta * p for v, n in rows.items() for p in [Fraction(whole[v], all_rows)]
            )
        case BayesOptimal(low, high):
            beliefs = [(Fraction(whole[v], all_rows), Fraction(n, total)) for v, n in rows.items()]
            return not any((p < low and q > high) or (p > 1 - low and q < 1 - high) for p, q in beliefs)
    raise AssertionError(criterion)


UNDER = {label: {row[0] for row in HIERARCHY.rows() if label in row} for label in LABELS}
UNDER["healthy"] = {"healthy"}


@st.composite
def tables(draw: st.DrawFn) -> tuple[SensitiveValues, np.ndarray]:
    """A level, and classes counted by its values, each with a row at least."""
    level = draw(st.integers(0, 1))
    size = HIERARCHY.size(level)
    row = st.lists(st.sampled_from([0, 0, 1, 2, 3, 5, 8]), min_size=size, max_size=size).filter(any)
    classes = np.array(draw(st.lists(row, min_size=1, max_size=4)))
    return SensitiveValues(HIERARCHY, level, tuple(classes.sum(axis=0).tolist())), classes


@given(criteria(), tables())
def test_the_verdict_on_each_class_is_that_of_the_definition(
    criterion: Diversity, drawn: tuple[SensitiveValues, np.ndarray]
) -> None:
    assume(not isinstance(criterion, AdjustedEntropy | Closeness))  # these have tests of their own, by codes
    values, classes = drawn
    labels = HIERARCHY.labels[values.level]
    whole = dict(zip(labels, values.rows))
    under = {label: UNDER[label] for label in labels}
    expected = [definition(criterion, dict(zip(labels, row)), whole, under) for row in classes.tolist()]
    assert satisfies(among(criterion, values), classes).tolist() == expected
    assert [among(criterion, values).decide(row) for row in classes.tolist()] == expected


@given(criteria(), tables())
def test_stated_by_the_labels_that_are_published_it_is_the_same(
    criterion: Diversity, drawn: tuple[SensitiveValues, np.ndarray]
) -> None:
    """What a reader has is a hierarchy without what is below, and without values that have no rows."""
    values, classes = drawn
    assume(not (isinstance(criterion, Closeness) and criterion.distance != "equal"))  # depends on the other levels
    touched = [] if not hasattr(criterion, "negative") else [criterion.negative]
    touched += [criterion] if isinstance(criterion, ProtectedValues | Alpha) else []
    lists = [getattr(part, "must_protect", getattr(part, "of", ())) for part in touched]
    assume(all(values.rows[code] for labels in lists for code in values.touching(labels)))
    seen = [code for code, count in enumerate(values.rows) if count]
    told = Hierarchy.flat(HIERARCHY.labels[values.level][code] for code in seen)
    told_values = SensitiveValues(told, 0, tuple(values.rows[code] for code in seen))
    stated = stated_among(criterion, values)
    assert parse_diversity(str(stated)) == stated
    order = [seen[told.labels[0].index(HIERARCHY.labels[values.level][code])] for code in seen]
    assert order == seen
    before, after = among(criterion, values), among(stated, told_values)
    assert satisfies(after, classes[:, seen]).tolist() == satisfies(before, classes).tolist()


@given(criteria())
def test_a_text_reads_back_as_the_criterion_that_wrote_it(criterion: Diversity) -> None:
    assert parse_diversity(str(criterion)) == criterion
    assert criterion.meaning()
    assert criterion.reached_in_words(0.5)
    assert criterion.facts >= 0


@given(criteria(), tables())
def test_a_class_of_two_that_pass_passes(criterion: Diversity, drawn: tuple[SensitiveValues, np.ndarray]) -> None:
    """Searches and checks leave out what follows from that."""
    values, classes = drawn
    judged = among(criterion, values)
    if satisfies(judged, classes).all():
        assert satisfies(judged, classes.sum(axis=0, keepdims=True)).all()
        assert satisfies(judged, 2 * classes[:1] + classes[-1:]).all()


@given(sensitive_collections(), st.data())
def test_a_collection_is_judged_as_every_combination_of_its_classes(
    drawn: tuple[Collection, str], data: st.DataObject
) -> None:
    """By whatever algorithm, exactly."""
    collection, sensitive = drawn
    tree = tree_of(collection, sensitive)
    labels = [label for at in tree.domain.hierarchy(sensitive).labels for label in at]
    chosen = st.sets(st.sampled_from(labels), min_size=1, max_size=2).map(lambda drawn: tuple(sorted(drawn)))
    criterion = data.draw(criteria(chosen))
    # Levels may put values together that others lie between.
    assume(not (isinstance(criterion, Closeness) and criterion.distance == "ordered" and tree.values.order is None))
    judged = among(criterion, tree.values)
    expected = all(judged.decide(vector) for vector in conditionals(collection, sensitive).values())
    finding = maxent_diversity(collection, sensitive, criterion)
    assert finding.verdict is (Verdict.HOLDS if expected else Verdict.FAILS)
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr("checks.maxent.maxent_diversity.SMALL_JOIN", 0)
        for budget in (FULL, replace(FULL, multiplied=0)):
            assert maxent_diversity(collection, sensitive, criterion, budget).verdict is finding.verdict


def test_the_whole_table_is_what_the_classes_are_together() -> None:
    tree = tree_of_classes((1, 3), (5, 1))
    assert tree.values.rows == (6, 4)
    table = tree.classes[0]
    assert table.values.shares == (Fraction(3, 5), Fraction(2, 5))


def test_healthy_people_may_be_known_to_be_so() -> None:
    """MKGV07 section 4.2: 700 of 1,000 are healthy, which may be disclosed."""
    values = SensitiveValues(Hierarchy.flat(["cancer", "healthy", "hepatitis"]), 0, (300, 1400, 300))
    men = np.array([[0, 700, 300], [300, 700, 0]])
    assert not satisfies(parse_diversity("recursive:2,2"), men).any()
    assert satisfies(among(parse_diversity("pd-recursive:2,2 may disclose healthy"), values), men).all()


def test_a_label_that_names_no_value_is_refused() -> None:
    values = SensitiveValues(HIERARCHY, 0, (1, 1, 1, 1, 1))
    for text in ("alpha:0.5 of Flu", "pd-recursive:3,2 may disclose Flu", "negative-disclosure:5 must protect Flu"):
        with pytest.raises(CriterionError, match="'Flu', which is no value"):
            among(parse_diversity(text), values)


def test_by_itself_it_judges_no_counts() -> None:
    for judged in ("slack", "reached", "decide"):
        with pytest.raises(CriterionError, match="depends on the values"):
            getattr(parse_diversity("beta-likeness:1"), judged)(np.array([[1, 2]]))


@pytest.mark.parametrize(
    "text",
    [
        "alpha:0 of flu",
        "alpha:1 of flu",
        "beta-likeness:0",
        "bayes-optimal:0.6,0.1",
        "t-closeness:2",
        "negative-disclosure:100 must protect flu",
        "pd-recursive:0,2 may disclose flu",
        "adjusted-entropy:0.5 may disclose flu",
    ],
)
def test_a_parameter_out_of_range_is_refused(text: str) -> None:
    with pytest.raises(CriterionError, match="needs"):
        parse_diversity(text)


@pytest.mark.parametrize(("lower", "upper"), [((1,), (1,)), ((0,), (-1,)), ((0, 0), (1,))])
def test_bounds_that_make_no_sense_are_refused(lower: tuple[int, ...], upper: tuple[int, ...]) -> None:
    with pytest.raises(CriterionError):
        ShareRange(tuple(map(Fraction, lower)), tuple(map(Fraction, upper)))


def test_one_table_is_judged_against_itself() -> None:
    table = tree_of_classes((1, 3), (5, 1)).classes[0]
    assert satisfies(among(parse_diversity("t-closeness:0.35"), table.values), table.counts).tolist() == [True, True]
    assert satisfies(among(parse_diversity("t-closeness:0.34"), table.values), table.counts).tolist() == [False, True]
