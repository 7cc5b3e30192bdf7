"""Analyses that a release is wanted for: read strictly, and told of whether a table shows them."""

import json
from collections.abc import Collection as CollectionOf
from collections.abc import Sequence
from itertools import chain, combinations, count, product
from math import inf
from pathlib import Path
from typing import Any

import pandas as pd
from hypothesis import given
from hypothesis import strategies as st

import marginals
from command_line import run
from marginals import Policy
from marginals.example import table
from marginals.publishing.wanted import Wanted, finest_passing, needed, wanted_tables
from models import Collection, DataCube, Refusal, RefusalScope
from models.deadline import Deadline
from small_release import write_config


def config(folder: Path, section: str) -> Path:
    path = write_config(folder)
    path.write_text(path.read_text() + section)
    return path


def test_publish_says_which_wanted_analyses_have_a_table(tmp_path: Path) -> None:
    sections = "[base]\ntable = 'none'\n[search]\nmax_attributes = 2\n"
    sections += "[[search.wanted]]\nattributes = ['age', 'disease']\nweight = 2.5\n"
    sections += "[[search.wanted]]\nattributes = ['age', 'sex', 'town']\n"
    path = config(tmp_path, sections)
    printed = run("publish", path, "--out", tmp_path / "out", status=0)
    assert "Named: 1 of 2 named questions are answered by a table; not age by sex by town." in printed.output
    answer = json.loads(run("publish", path, "--out", tmp_path / "out", "--json").stdout)
    margins = marginals.open_release(tmp_path / "out").published.everything.margins
    for told in answer["wanted"]:
        names = told["attributes"]
        together = [dict(margin) for margin in margins if set(names) <= set(margin)]
        assert told["margin"] in (together or [None])
        assert not any(own != told["margin"] and all(own[n] <= told["margin"][n] for n in names) for own in together)
        assert told["kl_divergence"] >= 0
        assert told["would_pass"] is None or set(told["would_pass"]) == set(told["attributes"])
    assert "Wanted age, sex, town: " in (tmp_path / "out-steward.html").read_text(encoding="utf-8")
    assert [told["weight"] for told in answer["wanted"]] == [2.5, 100.0]
    path = config(tmp_path, "")
    assert "wanted" not in json.loads(run("publish", path, "--out", tmp_path / "out", "--json").stdout)


def published(**wanted: object) -> Any:
    policy = Policy(k_link=4, diversity="distinct:2", base="none", max_attributes=2, wanted=[wanted])
    return marginals.publish(table, policy)


def test_what_the_search_weighs_comes_nearer_to_the_data() -> None:
    plain, heavy = (published(attributes=["age", "sex"], weight=weight) for weight in (1e-9, 1e3))
    (unweighed,), (weighed,) = plain.steward.wanted, heavy.steward.wanted
    assert weighed.margin is not None
    assert weighed.kl_divergence < unweighed.kl_divergence
    assert weighed.obstacle is None
    assert heavy.steward.kl_divergence >= plain.steward.kl_divergence


@given(st.data())
def test_no_level_passes_is_true_where_finer_levels_can_pass_and_coarser_ones_not(data: st.DataObject) -> None:
    """A refusal that is not for good says nothing of finer margins, so all that may pass are put to the constraint."""
    domain, names = table.domain, data.draw(st.sampled_from([("age", "sex"), ("age", "diagnosis")]))
    levels = product(*(range(domain.hierarchy(name).height) for name in names))
    masks = sorted(domain.mask(dict(zip(names, node))) for node in levels)
    for_good = data.draw(st.sets(st.sampled_from(masks), max_size=2))
    refused_alone = data.draw(st.sets(st.sampled_from(masks)))

    def allows(cliques: CollectionOf[int], _new: int, /) -> Refusal | None:
        (mask,) = cliques
        if any(not coarser & ~mask for coarser in for_good):
            return Refusal("for good", RefusalScope.FINER)
        return Refusal("as it is") if mask in refused_alone else None

    possible = {mask for mask in masks if allows([mask], 0) is None}
    passing = finest_passing(table.cube, names, allows)
    assert passing in possible if possible else passing is None
    assert not any(
        passing is not None and not passing & ~finer and (finer ^ passing).bit_count() == 1 for finer in possible
    )


def four_pairs(k: int) -> tuple[DataCube, dict[str, int]]:
    """Four attributes with two values each, in sixteen rows, and the masks of all pairs."""
    rows = list(product("01", repeat=4))
    frame = pd.DataFrame(rows * k, columns=list("abcd"))
    cube = marginals.read_table(frame, dict.fromkeys("abcd", "quasi-identifier")).cube
    return cube, {x + y: cube.domain.mask({x: 0, y: 0}) for x, y in combinations("abcd", 2)}


def test_the_tables_that_close_a_circle_with_a_wanted_one_are_named() -> None:
    cube, pairs = four_pairs(1)
    published = [pairs["ab"], pairs["bc"], pairs["cd"]]
    for names, blockers in [
        ("ad", "(a, b), (b, c) and (c, d)"),
        ("ac", "(a, b) and (b, c)"),
        ("bd", "(b, c) and (c, d)"),
    ]:
        (told,) = wanted_tables(
            cube, [Wanted(tuple(names))], published, Collection.of(cube, published), lambda *_: None
        )
        assert told.obstacle == f"beside {blockers} it would close a circle, so that they have no junction tree"


def test_the_tables_beside_which_a_wanted_one_is_refused_are_named() -> None:
    """No more than two tables may show d: of those published that do not show it none keeps the wanted one out."""
    cube, pairs = four_pairs(1)
    shows_d = cube.domain.mask({"d": 0})

    def allows(masks: CollectionOf[int], _new: int, /) -> Refusal | None:
        return Refusal("too many tables with d") if sum(bool(mask & shows_d) for mask in masks) > 2 else None

    published = [pairs["ab"], pairs["bd"], pairs["cd"]]
    (told,) = wanted_tables(cube, [Wanted(("a", "d"))], [pairs["ab"]], Collection.of(cube, [pairs["ab"]]), allows)
    assert told.obstacle is not None
    assert "the search did not get there" in told.obstacle
    cube_masks = [cube.domain.mask({"b": 0}), pairs["cd"], cube.domain.mask({"b": 0, "d": 0})]
    (told,) = wanted_tables(cube, [Wanted(("a", "d"))], cube_masks, Collection.of(cube, cube_masks[1:]), allows)
    assert told.obstacle == "beside (c, d) and (b, d) it is refused: too many tables with d"
    (told,) = wanted_tables(cube, [Wanted(("b", "d"))], published, Collection.of(cube, published), allows)
    assert told.obstacle is None


def test_what_other_tables_tell_exactly_is_not_kept_out() -> None:
    """Who is alive has no cause of death, so the causes alone tell all that a finer table of both would."""
    frame = pd.DataFrame({"dead": [False] * 9 + [True] * 9, "cause": ["none"] * 9 + ["flu"] * 5 + ["fall"] * 4})
    causes = marginals.Hierarchy.from_rows(
        [(cause, cause if cause == "none" else "some", "*") for cause in ("none", "flu", "fall")]
    )
    read = marginals.read_table(
        frame, {"dead": "quasi-identifier", "cause": marginals.Attribute("quasi-identifier", causes)}
    )
    cube = read.cube
    published = [cube.domain.mask({"dead": 0, "cause": 1}), cube.domain.mask({"cause": 0})]
    for cliques, is_told in ((published, True), (published[:1], False)):
        (told,) = wanted_tables(
            cube, [Wanted(("dead", "cause"))], cliques, Collection.of(cube, cliques), lambda *_: None
        )
        assert told.would_pass == cube.domain.margin(cube.domain.mask({"dead": 0, "cause": 0}))
        assert (told.obstacle is None) is is_told


@given(st.data())
def test_the_tables_that_are_needed_are_all_needed(data: st.DataObject) -> None:
    """Of monotone conditions and others, beside the search that leaves out one by one until none can be left out."""
    masks = data.draw(st.lists(st.integers(1, 1 << 12), unique=True, max_size=12))
    subsets = st.sets(st.sampled_from(masks)) if masks else st.just(set[int]())
    of_part, only_of = (data.draw(st.lists(subsets.map(frozenset), max_size=4)) for _ in range(2))

    def holds(some: Sequence[int]) -> bool:
        return some == masks or any(part <= {*some} for part in of_part) or frozenset(some) in only_of

    def one_by_one(some: Sequence[int]) -> set[frozenset[int]]:
        fewer = [part for i in range(len(some)) if holds(part := [*some[:i], *some[i + 1 :]])]
        return {*chain.from_iterable(map(one_by_one, fewer))} if fewer else {frozenset(some)}

    kept = needed(masks, holds)
    assert kept == [mask for mask in masks if mask in kept]
    assert holds(kept)
    assert not any(holds([mask for mask in kept if mask != other]) for other in kept)
    if not only_of and len(masks) <= 6:
        assert frozenset(kept) in one_by_one(masks)


def test_obstacles_are_left_open_once_the_time_is_over() -> None:
    """A clock that goes on by one each time that it is asked; the last one lets all be found."""
    cube, pairs = four_pairs(1)
    published = [pairs["ab"], pairs["bc"], pairs["cd"]]
    wanted = [Wanted(tuple(names)) for names in ("ad", "ac", "bc")]

    def obstacles(looks: float) -> list[str | None]:
        clock = count()
        stop = Deadline(looks, lambda: next(clock))
        told = wanted_tables(cube, wanted, published, Collection.of(cube, published), lambda *_: None, stop)
        return [table.obstacle for table in told]

    is_open = [
        [text is not None and "the time limit was reached" in text for text in obstacles(at)] for at in range(90)
    ]
    assert is_open[0] == [True, True, False]  # what is published exactly is never open
    assert is_open == sorted(is_open, reverse=True)
    assert not any(is_open[-1])
    assert obstacles(89) == obstacles(inf)


def test_few_looks_find_the_few_tables_that_are_needed_of_many() -> None:
    masks, looks = list(range(1, 1001)), count()

    def holds(some: Sequence[int]) -> bool:
        next(looks)
        return {300, 700, 701} <= {*some}

    assert needed(masks, holds) == [300, 700, 701]
    assert next(looks) < 100
