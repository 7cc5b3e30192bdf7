"""Criteria that name values, compare with the whole table or count people, by their definitions."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from fractions import Fraction
from itertools import permutations, product
from typing import NamedTuple

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from checks import (
    CriterionError,
    Diversity,
    DontCareEntropy,
    MaxentDiversity,
    Question,
    Verdict,
    by_hull,
    by_join,
    maxent_diversity,
    parse_diversity,
    satisfies,
    spelled,
)
from filled_tables import filled, flat_domain, published
from judged_classes import judged, judged_on, stated
from models import Collection, Domain, Hierarchy
from privacy_oracles import conditionals, is_diverse, keeps_odds
from privacy_strategies import classes, diversities, sensitive_collections, tree_of

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
UNDER = {label: {row[0] for row in HIERARCHY.rows() if label in row} for label in LABELS}
"""The base values under each label."""

Rows = Mapping[str, int]


class Criterion(NamedTuple):
    """A text, and its definition on one class by rows of published labels; None where it has a test of its own.

    passes: of the rows of a class and of the whole table. touching: labels of which a release must show a value.
    """

    text: str
    passes: Callable[[Rows, Rows], bool] | None
    touching: tuple[str, ...] = ()


named = st.sets(st.sampled_from(LABELS), min_size=1, max_size=3).map(lambda drawn: tuple(sorted(drawn)))
fractions = st.fractions(Fraction(1, 4), 4, max_denominator=4)
shares = st.fractions(Fraction(1, 12), Fraction(11, 12), max_denominator=12)


def within(labels: tuple[str, ...]) -> set[str]:
    return set().union(*(UNDER[label] for label in labels))


def recursive(c: Fraction, l: int, strict: bool, free: tuple[str, ...]) -> Callable[[Rows, Rows], bool]:
    """Another value that is as frequent and may not be disclosed has no larger tail."""

    def passes(rows: Rows, _whole: Rows) -> bool:
        for head in (v for v in rows if not UNDER[v] <= within(free)):
            tail = sum(sorted(n for v, n in rows.items() if v != head)[: max(len(rows) - l + 1, 0)])
            if not (rows[head] == 0 or rows[head] < c * tail or (not strict and rows[head] == c * tail)):
                return False
        return True

    return passes


def protected(percent: Fraction, labels: tuple[str, ...]) -> Callable[[Rows, Rows], bool]:
    return lambda rows, _: all(
        100 * n >= percent * sum(rows.values()) for v, n in rows.items() if UNDER[v] & within(labels)
    )


def bayes_optimal(low: Fraction, high: Fraction) -> Callable[[Rows, Rows], bool]:
    def passes(rows: Rows, whole: Rows) -> bool:
        beliefs = [(Fraction(whole[v], sum(whole.values())), Fraction(n, sum(rows.values()))) for v, n in rows.items()]
        return not any((p < low and q > high) or (p > 1 - low and q < 1 - high) for p, q in beliefs)

    return passes


@st.composite
def criteria(draw: st.DrawFn, labels: st.SearchStrategy[tuple[str, ...]] = named) -> Criterion:
    kinds = ["pd", "protected", "npd", "adjusted", "alpha", "most", "odds", "beta", "bayes", "difference", "closeness"]
    kind = draw(st.sampled_from(kinds))
    of, kept, share = draw(labels), draw(labels), draw(shares)
    quoted, quoted_kept = (", ".join(f'"{label}"' for label in some) for some in (of, kept))
    c, l, strict, percent = draw(fractions), draw(st.integers(2, 4)), draw(st.booleans()), 50 * share
    equal = "" if strict else " or equal"
    if kind == "pd":
        text = f"pd-recursive:{spelled(c)},{l}{equal} may disclose {quoted}"
        return Criterion(text, recursive(c, l, strict, of))
    if kind == "protected":
        text = f"negative-disclosure:{spelled(percent)} must protect {quoted}"
        return Criterion(text, protected(percent, of), of)
    if kind == "npd":
        free = of if draw(st.booleans()) else ()
        clause = f" may disclose {quoted}" if free else ""
        text = f"npd-recursive:{spelled(c)},{spelled(percent)},{l}{equal}{clause} must protect {quoted_kept}"
        halves = recursive(c, l, strict, free), protected(percent, kept)
        return Criterion(text, lambda rows, whole: all(half(rows, whole) for half in halves), kept)
    if kind == "adjusted":
        effective = draw(st.fractions(1, 3, max_denominator=3))

        def passes(rows: Rows, _whole: Rows) -> bool:
            free = frozenset(code for code, v in enumerate(rows) if UNDER[v] <= within(of))
            return DontCareEntropy(effective, free).decide(list(rows.values()))

        return Criterion(f"adjusted-entropy:{spelled(effective)} may disclose {quoted}", passes)
    if kind == "alpha":
        at_most = lambda rows, _: all(n <= share * sum(rows.values()) for v, n in rows.items() if UNDER[v] & within(of))  # noqa: E731
        return Criterion(f"alpha:{spelled(share)} of {quoted}", at_most, of)
    if kind == "most":
        together = lambda rows, _: (  # noqa: E731
            100 * sum(n for v, n in rows.items() if UNDER[v] & within(of)) <= percent * sum(rows.values())
        )
        return Criterion(f"at-most:{spelled(percent)} of {quoted}", together, of)
    if kind == "odds":
        some = of if draw(st.booleans()) else ()

        def no_surer(rows: Rows, whole: Rows) -> bool:
            harmful = [v for v in whole if not UNDER[v] <= within(some)]
            above = [[v for v in whole if UNDER[v] <= UNDER[label]] for label in LABELS]
            groups = [*([v] for v in harmful), harmful, *(part for part in above if part and {*part} <= {*harmful})]
            return keeps_odds(1 + c, percent, groups, whole, rows)

        clause = f" may disclose {quoted}" if some else ""
        return Criterion(f"odds:{spelled(1 + c)},{spelled(percent)}{clause}", no_surer)
    if kind == "beta":

        def alike(rows: Rows, whole: Rows) -> bool:
            overall = {v: Fraction(n, sum(whole.values())) for v, n in whole.items()}
            return all(Fraction(n, sum(rows.values())) - overall[v] <= c * overall[v] for v, n in rows.items())

        return Criterion(f"beta-likeness:{spelled(c)}", alike)
    if kind == "difference":

        def near(rows: Rows, whole: Rows) -> bool:
            beliefs = [
                (Fraction(whole[v], sum(whole.values())), Fraction(n, sum(rows.values()))) for v, n in rows.items()
            ]
            return all(abs(posterior - prior) <= share for prior, posterior in beliefs)

        return Criterion(f"belief-difference:{spelled(share)}", near)
    if kind == "bayes":
        low, high = draw(st.tuples(shares, shares).filter(lambda pair: pair[0] < pair[1]))
        return Criterion(f"bayes-optimal:{spelled(low)},{spelled(high)}", bayes_optimal(low, high))
    return Criterion(f"t-closeness:{spelled(share)}{draw(st.sampled_from(['', ' ordered', ' hierarchical']))}", None)


class Classes(NamedTuple):
    """A level, the rows of the whole table by its values, and classes counted by these, each with a row at least."""

    level: int
    whole: tuple[int, ...]
    rows: np.ndarray


@st.composite
def tables(draw: st.DrawFn) -> Classes:
    level = draw(st.integers(0, 1))
    size = HIERARCHY.size(level)
    row = st.lists(st.sampled_from([0, 0, 1, 2, 3, 5, 8]), min_size=size, max_size=size).filter(any)
    classes = np.array(draw(st.lists(row, min_size=1, max_size=4)))
    return Classes(level, tuple(classes.sum(axis=0).tolist()), classes)


@given(criteria(), tables())
def test_the_verdict_on_each_class_is_that_of_the_definition(criterion: Criterion, drawn: Classes) -> None:
    assume(criterion.passes is not None)
    assert criterion.passes is not None
    labels = HIERARCHY.labels[drawn.level]
    whole = dict(zip(labels, drawn.whole))
    expected = [criterion.passes(dict(zip(labels, row)), whole) for row in drawn.rows.tolist()]
    found = judged(criterion.text, HIERARCHY, drawn.whole, drawn.level)
    assert satisfies(found, drawn.rows).tolist() == expected
    assert [found.decide(row) for row in drawn.rows.tolist()] == expected


@given(criteria(), tables())
def test_stated_by_the_labels_that_are_published_it_is_the_same(criterion: Criterion, drawn: Classes) -> None:
    """What a reader has is a hierarchy without what is below, and without values that have no rows."""
    assume(not criterion.text.endswith(("ordered", "hierarchical")))  # depends on the other levels
    labels = HIERARCHY.labels[drawn.level]
    touched = [code for code, v in enumerate(labels) if UNDER[v] & within(criterion.touching)]
    assume(all(drawn.whole[code] for code in touched))
    seen = [code for code, count in enumerate(drawn.whole) if count]
    own = stated(criterion.text, HIERARCHY, drawn.whole, drawn.level)
    assert parse_diversity(str(own)) == own
    before = judged(criterion.text, HIERARCHY, drawn.whole, drawn.level)
    readers = [labels[code] for code in seen] if drawn.level else HIERARCHY.restricted_to(seen)
    after = judged(own, readers, [drawn.whole[code] for code in seen])
    assert satisfies(after, drawn.rows[:, seen]).tolist() == satisfies(before, drawn.rows).tolist()


@given(sensitive_collections(), st.data())
def test_a_collection_is_judged_as_every_combination_of_its_classes(
    drawn: tuple[Collection, str], data: st.DataObject
) -> None:
    """By whatever algorithm, exactly."""
    collection, sensitive = drawn
    tree = tree_of(collection, sensitive)
    labels = [label for at in tree.domain.hierarchy(sensitive).labels for label in at]
    chosen = st.sets(st.sampled_from(labels), min_size=1, max_size=2).map(lambda own: tuple(sorted(own)))
    criterion = parse_diversity(data.draw(criteria(chosen)).text)
    # Levels may put values together that others lie between.
    assume(not str(criterion).endswith("ordered") or tree.values.order is not None)
    on_classes = judged_on(tree, criterion)
    expected = all(on_classes.decide(vector) for vector in conditionals(collection, sensitive).values())
    finding = maxent_diversity(collection, sensitive, criterion)
    assert finding.verdict is (Verdict.HOLDS if expected else Verdict.FAILS)
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr("checks.maxent.maxent_diversity.SMALL_JOIN", 0)
        for multiplied in (4_000_000, 0):
            patched.setattr("checks.maxent.maxent_diversity.MULTIPLIED", multiplied)
            assert maxent_diversity(collection, sensitive, criterion).verdict is finding.verdict


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("pd-recursive:3,2 may disclose flu", "recursive:3,2"),
        ("adjusted-entropy:2 may disclose flu", "entropy:2"),
        ("npd-recursive:3,5,2 may disclose flu must protect ok", "npd-recursive:3,5,2 must protect ok"),
    ],
)
def test_without_rows_of_what_may_be_disclosed_it_is_stated_of_all_values(text: str, said: str) -> None:
    """A declared value may have no rows; a bundle then says a criterion that readers can read."""
    own = stated(text, ["cold", "flu", "ok"], (3, 0, 4))
    assert (str(own), parse_diversity(str(own))) == (said, own)


def test_a_label_that_names_no_value_is_refused() -> None:
    for text in ("alpha:0.5 of Flu", "pd-recursive:3,2 may disclose Flu", "negative-disclosure:5 must protect Flu"):
        with pytest.raises(CriterionError, match="'Flu'"):
            judged(text, HIERARCHY, (1, 1, 1, 1, 1))


def test_of_a_table_without_rows_nothing_is_judged() -> None:
    with pytest.raises(CriterionError):
        judged("t-closeness:1/2 hierarchical", HIERARCHY, (0,) * 5)


def test_the_salaries_of_the_paper() -> None:
    """Li, Li, Venkatasubramanian, section 5: of nine salaries 3k to 11k, {3, 4, 5} is 0.375 away, {6, 8, 11} 0.167."""
    criterion = judged("t-closeness:3/8 ordered", [f"{n}k" for n in range(3, 12)], (1,) * 9)
    low, spread = [1, 1, 1, 0, 0, 0, 0, 0, 0], [0, 0, 0, 1, 0, 1, 0, 0, 1]
    assert criterion.reached(np.array([low, spread])) == pytest.approx([0.375, 1 / 6])


# Among those whose sensitive value is known: as the criterion judges vectors without the other columns.

KNOWN = ("distinct:2", "simple:2", "entropy:2", "recursive:3,2", "recursive:2,3", "functional:0.6,2")
VALUES = ("asthma", "flu", "gout", "missing")


def passes_where_known(text: str, known: list[int] | list[Fraction]) -> bool:
    """Nobody's value is known, or the criterion holds of the counts of the known ones alone."""
    return not any(known) or judged(text, VALUES[:3], (1, 1, 1)).decide(known)


def leaving_out(text: str) -> str:
    return f"{text} leaving out missing"


@given(st.sampled_from(KNOWN), st.lists(st.integers(0, 9), min_size=4, max_size=4).filter(any))
def test_a_class_is_judged_by_those_whose_value_is_known(text: str, counts: list[int]) -> None:
    criterion = judged(leaving_out(text), VALUES, (1, 1, 1, 1))
    assert criterion.decide(counts) == passes_where_known(text, counts[:3])
    assert satisfies(criterion, np.array([counts])).tolist() == [passes_where_known(text, counts[:3])]


@given(
    st.sampled_from(KNOWN),
    st.lists(st.integers(0, 4), min_size=16, max_size=16).filter(any),
    st.lists(st.integers(0, 4), min_size=16, max_size=16).filter(any),
    st.sampled_from([20_000, 0]),
)
def test_two_tables_together_are_judged_by_the_known_values_of_each_combination(
    text: str, first: list[int], second: list[int], small_join: int
) -> None:
    """v_s is proportional to T1(a, s) T2(b, s) / T(s); by brute force over all a and b, whichever algorithm is taken."""
    joint = np.einsum("as,bs->abs", np.array(first).reshape(4, 4), np.array(second).reshape(4, 4))
    if not joint.any():
        return
    domain = Domain.of({**dict(flat_domain(a=4, b=4).items()), "s": Hierarchy.flat(VALUES)})
    one, other, total = joint.sum(axis=1), joint.sum(axis=0), joint.sum(axis=(0, 1))
    vectors = [
        [Fraction(int(one[a, s] * other[b, s]), int(total[s])) if total[s] else Fraction(0) for s in range(4)]
        for a, b in product(range(4), repeat=2)
    ]
    expected = all(passes_where_known(text, vector[:3]) for vector in vectors if any(vector))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("checks.maxent.maxent_diversity.SMALL_JOIN", small_join)
        claim = MaxentDiversity(parse_diversity(leaving_out(text)), "s")
        for multiplied, joined in ((4_000_000, 0.4), (0, 0.4), (0, 0)):
            patch.setattr("checks.maxent.maxent_diversity.MULTIPLIED", multiplied)
            patch.setattr("checks.maxent.maxent_diversity.JOINED", joined)
            finding = claim.check(Question(published(filled(domain, joint), "as", "bs"), ("s",)))
            assert finding.verdict is (Verdict.HOLDS if expected else Verdict.FAILS)


def test_what_stands_for_no_value_is_left_out_only_once() -> None:
    claim = MaxentDiversity(parse_diversity("entropy:3"), "s").leaving_out("missing")
    assert str(claim.diversity) == "entropy:3 leaving out missing"
    assert claim.leaving_out("missing") == claim
    named_already = MaxentDiversity(parse_diversity("pd-recursive:3,2 may disclose missing"), "s")
    assert named_already.leaving_out("missing") == named_already


# What harms (design 4.23), with what was wrong in earlier versions of its criterion.

TEN = {"none": 500, **{f"d{n}": 5 for n in range(10)}}
MOST_MISSING = {"HIV": 10, "ok": 90, "missing": 900}
FEW_ILL = {"healthy": 600, "HIV": 5, "other": 1}


@pytest.mark.parametrize(
    ("text", "most", "whole", "fails", "holds"),
    [
        # Each of ten values has its bound of 10 percent in a class where somebody has one of them for certain.
        ("odds:3,10 may disclose none", 1, TEN, [0, *[1] * 10], [90, *[1] * 10]),
        (f"at-most:90 of {', '.join([*TEN][1:])}", 1, TEN, [0, *[1] * 10], [90, *[1] * 10]),
        # All whose value is known have HIV, so that nothing is left to bound.
        ("odds:3,10 may disclose ok", 1, MOST_MISSING, [10, 0, 90], [0, 0, 90]),
        ("at-most:10 of HIV", 1, MOST_MISSING, [10, 0, 90], [0, 0, 90]),
        # 12 rows of people with at most two each: 5 of 6 people can have HIV, though the healthy have more rows.
        ("at-most:50 of HIV", 2, FEW_ILL, [6, 5, 1], [10, 2, 0]),
        ("odds:1,50 may disclose healthy, other", 2, FEW_ILL, [6, 5, 1], [10, 2, 0]),
        ("at-most:50 of HIV, other", 2, FEW_ILL, [6, 5, 1], [10, 2, 0]),
        ("at-most:50 of no", 1, {"no": 3, "yes": 97}, [3, 2], [2, 3]),  # of who is insured
        ("distinct:2", 3, dict.fromkeys([*VALUES, "cough"], 1), [3, 3, 3, 90, 0], [3, 3, 3, 90, 3]),
    ],
)
def test_what_harms_is_judged_of_people_whose_value_is_known(
    text: str, most: int, whole: Rows, fails: list[int], holds: list[int]
) -> None:
    claim = MaxentDiversity(parse_diversity(text), "s", rows_per_person=most)
    claim = claim.leaving_out("missing") if "missing" in whole else claim
    assert claim.class_diversity is not None
    criterion = judged(claim.class_diversity, [*whole], [*whole.values()])
    assert [criterion.decide(fails), criterion.decide(holds)] == [False, True]
    assert satisfies(criterion, np.array([fails, holds])).tolist() == [False, True]


def test_where_nobody_has_a_known_value_nothing_is_bounded() -> None:
    everybody = MaxentDiversity(parse_diversity("odds:3,10"), "s").leaving_out("missing").class_diversity
    assert everybody is not None
    assert judged(everybody, ["missing", "HIV"], [5, 0]).decide([5, 0])


@pytest.mark.parametrize(("whole", "bounds"), [((98, 2), {1: 6}), ((97, 3), {0: 99, 1: 9}), ((5, 0), {})])
def test_a_bound_of_all_rows_is_none(whole: tuple[int, int], bounds: dict[int, int]) -> None:
    criterion = judged("odds:3,5", ["no", "yes"], whole)
    assert {min(codes): int(100 * share) for share, codes in vars(criterion)["bounds"]} == bounds
    assert criterion.decide([1, 0]) is (0 not in bounds)
    assert satisfies(criterion, np.array([[1, 0], [100, 1]])).tolist() == [0 not in bounds] * 2


def test_stated_of_a_label_over_rows_without_a_value_it_names_those_with_one() -> None:
    claim = MaxentDiversity(parse_diversity('at-most:60 of "*"'), "s").leaving_out("missing")
    own = stated(claim.diversity, ["HIV", "missing", "ok"], [1, 2, 3])
    assert str(own) == "at-most:60 of HIV, ok leaving out missing"


distributions = st.lists(st.sampled_from([0, 1, 1, 2, 5, 20, 500]), min_size=2, max_size=5).filter(any)


@given(distributions, st.data(), st.integers(1, 3))
def test_a_stricter_preset_never_allows_what_a_looser_one_refuses(
    whole: list[int], data: st.DataObject, most: int
) -> None:
    """Nor does any of its bounds exceed the looser one."""
    labels = [f"v{code}" for code in range(len(whole))]
    free = data.draw(st.sets(st.sampled_from(labels)).map(lambda drawn: tuple(sorted(drawn))))
    parts = data.draw(st.lists(st.tuples(*(st.integers(0, count) for count in whole)).filter(any), max_size=4))
    last, bounds = None, dict[frozenset[int], Fraction]()
    for preset in ("research", "public", "strict"):
        of_others = replace(parse_diversity(preset), may_disclose=free)
        criterion = judged(demanded_of_people(of_others, most), labels, whole)
        own = {codes: share for share, codes in vars(criterion)["bounds"]}
        assert all(own[codes] <= share for codes, share in bounds.items())
        assert last is None or all(last.decide(rows) or not criterion.decide(rows) for rows in parts)
        last, bounds = criterion, own


# Diversity of people with several rows: it holds exactly where it holds however the rows are shared among people.


def of_people(diversity: Diversity, most: int) -> Diversity | None:
    """The criterion on rows that holds where it holds of people of at most so many rows each."""
    return MaxentDiversity(diversity, "s", rows_per_person=most).class_diversity


def demanded_of_people(diversity: Diversity, most: int) -> Diversity:
    criterion = of_people(diversity, most)
    assert criterion is not None
    return criterion


bounded = diversities(4).filter(lambda diversity: of_people(diversity, 2) is not None)


def largest_first(counts: Sequence[int], people: Fraction) -> list[Fraction]:
    """So many people, each value that of as many as it has rows, the first values first."""
    filled = []
    for count in counts:
        filled.append(min(Fraction(count), people))
        people -= filled[-1]
    return filled


@given(bounded, classes(5, 8), st.integers(2, 4))
def test_it_holds_exactly_where_no_shares_within_r_times_those_of_the_rows_break_it(
    diversity: Diversity, rows: list[int], most: int
) -> None:
    """The shares that people can have are a polytope, whose corners fill the values in some order."""
    people, criterion = Fraction(sum(rows), most), demanded_of_people(diversity, most)
    corners = (largest_first(order, people) for order in set(permutations(rows)))
    expected = all(is_diverse(diversity, corner) for corner in corners)
    assert criterion.decide(rows) is expected
    assert satisfies(criterion, np.array([rows, rows])).tolist() == [expected] * 2
    worst = np.array([largest_first(sorted(rows, reverse=True), people)], dtype=float)
    np.testing.assert_allclose(criterion.reached(np.array([rows])), diversity.reached(worst), rtol=1e-9)


@pytest.mark.parametrize("text", ["entropy:2", "functional:1/2,3"])
def test_what_is_no_bound_on_shares_cannot_be_demanded_of_people(text: str) -> None:
    diversity = parse_diversity(text)
    assert of_people(diversity, 2) is None
    assert of_people(diversity, 1) is diversity


@given(sensitive_collections(), bounded, st.integers(2, 3))
def test_all_algorithms_for_maxent_diversity_agree_of_people(
    drawn: tuple[Collection, str], diversity: Diversity, most: int
) -> None:
    collection, sensitive = drawn
    tree, criterion = tree_of(collection, sensitive), demanded_of_people(diversity, most)
    verdict = by_join(tree, criterion).verdict
    assert by_hull(tree, criterion).verdict is verdict
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr("checks.maxent.maxent_diversity.SMALL_JOIN", 0)
        patched.setattr("checks.maxent.maxent_diversity.MULTIPLIED", 0)
        assert maxent_diversity(collection, sensitive, criterion).verdict is verdict
