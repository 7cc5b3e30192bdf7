"""What is concluded from additions that a release lacks, in cases small enough to be seen through."""

from functools import partial
from itertools import product

import numpy as np
import pytest

from checks import Claim, KCombinatorial, KLink, MaxentDiversity, MinCell, parse_diversity
from checks.attacks import refusals as module
from checks.attacks.refusals import Outcome, Refusals, refusals
from models import Collection, ContingencyTable, DataCube, Deadline, Domain, Hierarchy

DOMAIN = Domain.of(
    {
        "town": Hierarchy.from_rows([("oak", "wood", "*"), ("elm", "wood", "*"), ("bay", "sea", "*")]),
        "age": Hierarchy.flat(["old", "young"]),
        "ill": Hierarchy.flat(["no", "yes"]),
    }
)


def told(
    counts: dict[tuple[int, int, int], int], margins: list[dict[str, int]], claims: list[Claim], **how
) -> Refusals:
    codes = dict(zip(DOMAIN.attributes, np.array(list(counts)).T))
    table = ContingencyTable.from_cells(DOMAIN, dict.fromkeys(DOMAIN.attributes, 0), codes, list(counts.values()))
    masks = [DOMAIN.mask(margin) for margin in margins]
    published = DataCube([table.rolled_up_to(mask) for mask in masks])  # as of a release: nothing else is known
    return refusals(Collection.of(published, masks), how.pop("sensitive", ()), claims, **{"least": 3} | how)


CLAIMS = [KLink(3), KCombinatorial(3), MinCell(3)]


@pytest.mark.parametrize("most", [20_000, 4, 3])
def test_two_counts_are_1_and_2_since_else_they_would_have_been_published(most: int) -> None:
    """100 old, 100 young, 3 ill: were they 0 and 3, both attributes would stand in one table. By each way to look."""
    counts = {(0, 0, 1): 1, (0, 1, 1): 2, (0, 0, 0): 99, (0, 1, 0): 98}
    margins = [{"age": 0}, {"ill": 0}, {"town": 0}]
    found = told(counts, margins, CLAIMS, most=most)
    small = {tuple(sorted(cell.values.items())): (cell.lower, cell.upper) for cell in found.small}
    pairs = {cell: limits for cell, limits in small.items() if [name for name, _ in cell] == ["age", "ill"]}
    if most > 3:
        assert pairs == {
            (("age", "old"), ("ill", "yes")): (1, 2),
            (("age", "young"), ("ill", "yes")): (1, 2),
        }
    (edge,) = [addition for addition in found.additions if dict(addition.added) == {"age": 0, "ill": 0}]
    assert edge.outcome is (Outcome.PROVES if most > 3 else Outcome.SOME)
    assert found.as_json()["additions"]
    assert found.together == (most > 3)


def test_a_refused_attribute_has_a_value_that_few_have() -> None:
    """Nobody knows which: of 20 rows 1, 2, 18 or 19 are old, or 10, which would tell nothing of the age."""
    found = told({(0, 0, 0): 2, (2, 1, 0): 18}, [{"town": 0}, {"ill": 0}], CLAIMS)
    (age,) = [addition for addition in found.additions if dict(addition.added) == {"age": 0}]
    assert (age.outcome, age.may_gain_nothing) == (Outcome.SOME, True)
    odd = told({(0, 0, 0): 2, (2, 1, 0): 17}, [{"town": 0}, {"ill": 0}], CLAIMS)
    (age,) = [addition for addition in odd.additions if dict(addition.added) == {"age": 0}]
    assert (age.outcome, age.may_gain_nothing) == (Outcome.SOME, False)


def test_a_finer_level_is_looked_at() -> None:
    """Of 9 from the wood 1, 2, 7 or 8 are from under the oaks; the sea has one town only."""
    counts = {(0, 0, 0): 1, (1, 0, 0): 8, (2, 0, 0): 6, (2, 1, 0): 5}
    found = told(counts, [{"town": 1}, {"age": 0}, {"ill": 0}], CLAIMS)
    (town,) = [addition for addition in found.additions if dict(addition.added) == {"town": 0}]
    assert town.outcome is Outcome.SOME
    assert found.tables is not None


def test_a_refusal_for_diversity_leaves_open_which_class_is_uniform() -> None:
    """4 old and 4 young, 4 ill and 4 not: side by side they would be diverse unless all of one age are ill."""
    counts = {(0, 0, 1): 4, (0, 1, 0): 4}
    claims: list[Claim] = [KLink(2), MaxentDiversity(parse_diversity("distinct:2"), "ill")]
    found = told(counts, [{"town": 1}, {"age": 0}, {"ill": 0}], claims, sensitive=["ill"])
    (edge,) = [addition for addition in found.additions if dict(addition.added) == {"age": 0, "ill": 0}]
    assert (edge.outcome, edge.counts_only) == (Outcome.OPEN, False)  # which of the two is not told
    assert edge.may_gain_nothing


def test_what_is_not_looked_at_is_said() -> None:
    counts = {(0, 0, 1): 1, (0, 1, 1): 2, (0, 0, 0): 99, (0, 1, 0): 98}
    over = told(counts, [{"age": 0}, {"ill": 0}], CLAIMS, deadline=Deadline.after(-1.0, lambda: 0.0))
    assert over.additions
    assert all(addition.outcome is Outcome.NOT_EXAMINED for addition in over.additions)
    assert {addition.note for addition in over.additions} == {"the time was over"}
    many = told(counts, [{"age": 0}, {"ill": 0}], [*CLAIMS, MaxentDiversity(parse_diversity("distinct:2"), "ill")], most=1,
                sensitive=["ill"])  # fmt: skip
    notes = {addition.note for addition in many.of(Outcome.NOT_EXAMINED)}
    assert "more than 1 tables are possible, and not only counts of the margin decide" in notes


def test_more_tables_with_a_sensitive_attribute_than_a_search_tries_are_not_examined() -> None:
    names = [f"x{number}" for number in range(5)]
    domain = Domain.of({name: Hierarchy.flat("ab") for name in [*names, "s"]})
    rng = np.random.default_rng(0)
    codes = {name: rng.integers(0, 2, 400) for name in domain.attributes}
    table = ContingencyTable.from_cells(domain, dict.fromkeys(domain.attributes, 0), codes, np.ones(400, int))
    masks = [domain.mask({name: 0, "s": 0}) for name in names[:3]] + [domain.mask({name: 0}) for name in names[3:]]
    collection = Collection.of(DataCube([table]), masks)
    found = refusals(collection, ["s"], [KLink(3)], 3)
    limited = {frozenset(dict(addition.added)) for addition in found.additions if "no search tries" in addition.note}
    assert limited == {frozenset({"x3", "s"}), frozenset({"x4", "s"})}


MANY = Domain.of(
    {
        "zip": Hierarchy.flat([f"{number:04}" for number in range(1100)]),
        "age": Hierarchy.flat(["old", "young"]),
        "ill": Hierarchy.flat(["no", "yes"]),
    }
)


def beside_many_zips(first: dict[tuple[int, int], int], others: dict[tuple[int, int], int], **how) -> Refusals:
    """Age and illness by zip, each in a table of its own: of the first zip, and of a thousand others, all alike."""
    counts = {(0, *cell): number for cell, number in first.items()}
    counts |= {(number, *cell): rows for number, (cell, rows) in product(range(1, 1100), others.items())}
    codes = dict(zip(MANY.attributes, np.array(list(counts)).T))
    table = ContingencyTable.from_cells(MANY, dict.fromkeys(MANY.attributes, 0), codes, list(counts.values()))
    masks = [MANY.mask({"zip": 0, "age": 0}), MANY.mask({"zip": 0, "ill": 0})]
    return refusals(Collection.of(DataCube([table.rolled_up_to(mask) for mask in masks]), masks), (), CLAIMS, 3, **how)


def test_where_one_class_of_many_can_have_refused_a_pair_it_did() -> None:
    """In all other zips everybody is old, so that nothing can be small there."""
    few = {(0, 1): 1, (1, 1): 2, (0, 0): 99, (1, 0): 98}
    (edge,) = beside_many_zips(few, {(0, 0): 3, (0, 1): 3}).additions
    assert (edge.outcome, edge.candidate_classes, edge.classes) == (Outcome.PROVES, 1, 1100)
    assert [(dict(cell.values), cell.lower, cell.upper) for cell in edge.small] == [
        ({"age": "old", "ill": "yes", "zip": "0000"}, 1, 2),
        ({"age": "young", "ill": "yes", "zip": "0000"}, 1, 2),
    ]
    (edge,) = beside_many_zips(few, {(0, 0): 3, (0, 1): 3}, most=2).additions
    assert (edge.outcome, edge.small) == (Outcome.SOME, ())


def test_where_several_classes_can_have_refused_a_pair_it_is_not_told_which() -> None:
    even = {(0, 0): 5, (1, 1): 5}
    (edge,) = beside_many_zips({(0, 0): 3, (1, 1): 3}, even).additions
    assert (edge.outcome, edge.candidate_classes, edge.may_gain_nothing) == (Outcome.SOME, 1100, False)
    (edge,) = beside_many_zips({(0, 0): 4, (1, 1): 4}, {(0, 0): 4, (1, 1): 4}).additions
    assert (edge.outcome, edge.may_gain_nothing) == (Outcome.SOME, True)  # 2, 2, 2, 2 would tell nothing
    (edge,) = beside_many_zips({(0, 0): 4, (0, 1): 4}, {(0, 0): 4, (0, 1): 4}).additions
    assert edge.outcome is Outcome.UNEXPLAINED


def test_what_no_claim_can_have_refused_excludes_nothing() -> None:
    """Nothing is claimed of illness, so it could stand beside age; 3 by the sea, 1 or 2 of them old, could not."""
    counts = {(2, 0, 1): 1, (2, 1, 0): 2, (0, 0, 0): 99, (0, 1, 1): 98}
    found = told(counts, [{"town": 1}, {"age": 0}, {"ill": 0}], [KLink(3)], sensitive=["ill"])
    outcomes = {frozenset(dict(addition.added)): addition.outcome for addition in found.additions}
    assert outcomes[frozenset({"age", "ill"})] is Outcome.UNEXPLAINED
    assert outcomes[frozenset({"age", "town"})] is Outcome.PROVES
    assert not found.contradict
    assert {(*cell.values.values(), cell.lower, cell.upper) for cell in found.small} == {
        ("old", "sea", 1, 2),
        ("young", "sea", 1, 2),
    }


def test_readers_with_a_register_are_not_judged_by_the_files() -> None:
    class Register(KLink):
        criterion = "register"

    counts = {(0, 0, 1): 4, (0, 1, 0): 4}
    found = told(counts, [{"town": 1}, {"age": 0}, {"ill": 0}], [KLink(2), Register(2)], sensitive=["ill"])
    (edge,) = [addition for addition in found.additions if dict(addition.added) == {"age": 0, "ill": 0}]
    assert edge.outcome is Outcome.NOT_EXAMINED
    assert "readers with a register" in edge.note


FOUR = Domain.of({name: Hierarchy.flat([f"{name}0", f"{name}1"]) for name in "abcd"})


@pytest.mark.parametrize("most", [20_000, 4])
def test_a_margin_of_four_attributes_is_looked_at_where_it_is_what_an_addition_makes(most: int) -> None:
    """Tables abc and abd: one class of ab has 100 and 100 of c, and 3 and 197 of d; so 1 and 2 of the 3 are of each c."""
    counts = {(0, 0, 0, 0): 1, (0, 0, 1, 0): 2, (0, 0, 0, 1): 99, (0, 0, 1, 1): 98, (0, 1, 0, 0): 50, (0, 1, 1, 0): 60,
              (1, 0, 0, 0): 50, (1, 0, 1, 0): 60, (1, 1, 0, 0): 50, (1, 1, 1, 0): 60}  # fmt: skip
    table = ContingencyTable.from_cells(
        FOUR, dict.fromkeys("abcd", 0), dict(zip("abcd", np.array(list(counts)).T)), list(counts.values())
    )
    masks = [FOUR.mask(dict.fromkeys(names, 0)) for names in ("abc", "abd")]
    published = DataCube([table.rolled_up_to(mask) for mask in masks])
    found = refusals(Collection.of(published, masks), (), [MinCell(3)], 3, most=most)
    small = {"".join(cell.values[name][1] for name in "abcd"): (cell.lower, cell.upper)
             for cell in found.small if len(cell.values) == 4}  # fmt: skip
    assert small == {"0000": (1, 2), "0010": (1, 2)}
    (edge,) = [addition for addition in found.additions if dict(addition.added) == {"c": 0, "d": 0}]
    assert edge.outcome is Outcome.PROVES


def test_margins_that_were_not_looked_at_are_counted(monkeypatch: pytest.MonkeyPatch) -> None:
    """Of 11 margins of town at two levels, age and ill those that additions make, and that of all, always are."""
    counts = {(0, 0, 1): 1, (0, 1, 1): 2, (0, 0, 0): 99, (0, 1, 0): 98}
    margins = [{"age": 0}, {"ill": 0}, {"town": 0}]
    whole = told(counts, margins, CLAIMS)
    assert (whole.together, whole.unexamined) == (True, 0)
    monkeypatch.setattr(module, "_MOST_MARGINS", 0)
    cut = told(counts, margins, CLAIMS)
    always = {tuple(sorted(addition.margin.items())) for addition in cut.additions} | {
        (("age", 0), ("ill", 0), ("town", 0))
    }
    assert cut.unexamined == cut.as_json()["margins_not_examined"] == 11 - len(always)
    assert {tuple(cell.levels) for cell in cut.small} <= {tuple(name for name, _ in margin) for margin in always} | {
        tuple(DOMAIN.attributes)
    }
    assert {"age", "ill"} in [set(cell.levels) for cell in cut.small]
    monkeypatch.setattr(module, "_MOST_LAID_OUT", 0)  # each addition by its bounds
    bounded = told(counts, margins, CLAIMS)
    assert bounded.unexamined == sum(addition.unexamined for addition in bounded.additions) > 0


@pytest.mark.parametrize("limit", [{"_MOST_CELLS": 3}, {"_MOST_CHECKS": 1}, {"cells": 8}, {"checks": 1}])
def test_within_a_limit_each_addition_is_judged_as_ever_or_not_at_all(
    limit: dict[str, int], monkeypatch: pytest.MonkeyPatch
) -> None:
    counts, margins = {(0, 0, 0): 4, (0, 1, 0): 3, (0, 1, 1): 2}, [{"age": 0}, {"ill": 0}, {"town": 0}]
    claims: list[Claim] = [MaxentDiversity(parse_diversity("distinct:2"), "ill")]
    monkeypatch.setattr(module, "_MOST_LAID_OUT", 6)  # each addition by itself
    ordinary = told(counts, margins, claims, sensitive=["ill"])
    for name, most in limit.items():
        if name.startswith("_MOST"):
            monkeypatch.setattr(module, name, most)
        else:
            monkeypatch.setattr(module, "_Budget", partial(module._Budget, **limit))
    found = told(counts, margins, claims, sensitive=["ill"])
    pairs = list(zip(ordinary.additions, found.additions, strict=True))
    cut = [one.margin == other.margin and other.outcome is Outcome.NOT_EXAMINED for one, other in pairs]
    assert any(cut)
    assert all(one == other for is_cut, (one, other) in zip(cut, pairs) if not is_cut)
