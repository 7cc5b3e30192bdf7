"""Predicates mean the base values that their labels, sets and ranges say; several releases have one hierarchy in common."""

from decimal import Decimal
from itertools import pairwise
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

import marginals
from command_line import output
from marginals import InputError
from marginals.bundle.overlaps import CountedHierarchy, matched_levels
from marginals.conditions import Where
from marginals.published_values import Part, meanings
from models import CountArray, Domain, Hierarchy
from strategies import hierarchies

DOMAIN = Domain.of(
    {
        "age": Hierarchy.from_intervals([str(n) for n in range(20, 60)], [5, 10, 20]),
        "sex": Hierarchy.flat(["Female", "Male"]),
        "income": Hierarchy.flat(["<=50K", ">50K"]),
        "region": Hierarchy.from_rows([("north", "top", "*"), ("top", "middle", "*"), ("south", "middle", "*")]),
        "years": Hierarchy.flat(["1", "7"]),
        "born in": Hierarchy.flat(["A|B", "A", "B"]),
        "wage": Hierarchy.from_rows(
            [("0-9", "low", "*"), ("10-19", "low", "*"), ("20+", "high", "*"), ("?", "?", "*")]
        ),
    }
)
PUBLISHED = {"years": 0, "age": 1, "sex": 0, "income": 0, "region": 1, "born in": 0, "wage": 0}


def meant(where: Where) -> dict[str, list[str]]:
    """The values that are surely meant; of a wage of ? no range can be judged."""
    found = meanings(DOMAIN, PUBLISHED, where)
    return {a: list(np.array(DOMAIN.hierarchy(a).labels[0])[meaning.surely]) for a, meaning in found.items()}


def unjudged(where: Where) -> list[str]:
    labels = np.array(DOMAIN.hierarchy("wage").labels[0])
    return list(labels[meanings(DOMAIN, PUBLISHED, where)["wage"].unjudged])


CODES = Domain.of({"sex": Hierarchy.from_rows([("1", "known", "*"), ("2", "known", "*"), ("9", "9", "*")])})


@given(st.dictionaries(st.sampled_from(["1", "2", "9", "known"]), st.sampled_from(["1", "2", "a b", "c", "known"])))
def test_a_meaning_stands_for_its_one_label_and_is_refused_if_it_could_mean_another(words: dict[str, str]) -> None:
    hierarchy = CODES.hierarchy("sex")
    for text in ("1", "2", "9", "known", "a b", "c"):
        own = {text} & {label for level in hierarchy.labels for label in level}
        called = {label for label, word in words.items() if word == text} | own
        for condition in (f"sex={text}", {"sex": text}, f"sex in [{text!r}]", f"sex in {text}|{text} and sex={text}"):
            if len(called) != 1:
                with pytest.raises(InputError, match="does not name one value" if called else "no published value"):
                    meanings(CODES, {"sex": 0}, condition, words={"sex": words})
                continue
            [label] = called
            inside = [label in row for row in hierarchy.rows()]
            found = meanings(CODES, {"sex": 0}, condition, words={"sex": words})
            assert found["sex"].surely.tolist() == inside
            assert meanings(CODES, {"sex": 0}, found) is not None
    assert meanings(CODES, {"sex": 0}, "sex=9@0", words={"sex": words})["sex"].surely.tolist() == [False, False, True]


def test_labels_of_a_survey_file_are_words_in_questions_and_in_the_report(tmp_path: Path) -> None:
    codes = {"sex": ("1", "2"), "ill": ("0", "1")}
    called = {"sex": {"1": "Male", "2": "Female"}, "ill": {"0": "healthy", "1": "poorly"}}
    rows = [
        (sex, ill) for sex, ill, n in (("1", "0", 30), ("1", "1", 12), ("2", "0", 40), ("2", "1", 18)) for _ in range(n)
    ]
    roles = dict(zip(codes, ("quasi-identifier", "sensitive")))
    attributes = {name: marginals.Attribute(roles[name], values=called[name]) for name in codes}
    table = marginals.read_table(pd.DataFrame(rows, columns=list(codes)), attributes)
    marginals.publish(table, marginals.Policy(k_link=5, diversity="odds:6,20")).write(tmp_path / "out")
    release = marginals.open_release(tmp_path / "out")
    for where in ("sex=Female", {"sex": "Female"}, "sex=2", ["sex == 'Female'"]):
        assert release.count(where).value == 58
        assert repr(release.share("ill=poorly", where=where)) == repr(release.share("ill=1", where="sex=2"))
    assert output("query", tmp_path / "out", "sex=Female").startswith("58 rows, exactly")
    page = release.report(tmp_path / "page.html") or (tmp_path / "page.html").read_text()
    sheet = page.partition('class="sheet">')[2].partition("<nav")[0]
    assert all(word in sheet for words in called.values() for word in words.values())
    assert "sex=2" not in page
    assert "sex=1" not in page


@pytest.mark.parametrize(
    ("condition", "open_values"),
    [
        ("wage>=10", ["?"]), ("not wage >= 10", ["?"]), ("wage>=10 and wage < 20", ["?"]),
        ("wage>=10 or wage=?", []), ("wage>=10|?", []), ("wage>=10 and wage=10-19", []),
        ("wage>=10 and wage in high", []), ("wage=high", []), ("wage not in high", []),
    ],
)  # fmt: skip
def test_of_a_value_that_is_no_number_a_range_cannot_be_judged(condition: str, open_values: list[str]) -> None:
    assert unjudged(condition) == open_values
    if open_values:
        with pytest.raises(InputError, match="cannot be judged of some values of 'wage'"):
            Part(condition).values(DOMAIN)


def numbers(low: int, high: int) -> list[str]:
    return [str(n) for n in range(low, high + 1)]


@pytest.mark.parametrize(
    ("condition", "wanted"),
    [
        ("age=20-24|25-29", {"age": numbers(20, 29)}),
        ("age=*", {"age": numbers(20, 59)}),
        (["age=22..41", "sex=Female"], {"age": numbers(22, 41), "sex": ["Female"]}),
        (["age>=30", "age<33"], {"age": numbers(30, 32)}),
        ("(age=20-24) | (age=58..59)", {"age": [*numbers(20, 24), "58", "59"]}),
        ("not (sex == 'Female' or age > 21)", {"sex": ["Male"], "age": ["20", "21"]}),
        ("born in == 'A|B'", {"born in": ["A|B"]}),
        ("`born in` in ['A', 'B'] and income=<=50K", {"born in": ["A", "B"], "income": ["<=50K"]}),
        ("born in='A|B'|A and sex=Male", {"born in": ["A|B", "A"], "sex": ["Male"]}),
        ("born in=A|B", {"born in": ["A|B"]}),
        ("income=>50K", {"income": [">50K"]}),
        ({"sex": ["Female", "Male"], "age": "50-59"}, {"sex": ["Female", "Male"], "age": numbers(50, 59)}),
        ({}, {}),
        ({"sex": []}, {"sex": []}),
        ({"age": [np.int64(35), "40-44"]}, {"age": ["35", *numbers(40, 44)]}),
        ({"age": 35.0}, {"age": ["35"]}),
        # A label of two levels has its own named; one finer than all published is a value, too.
        ("region=top@0", {"region": ["top"]}),
        ("region=top@1", {"region": ["north"]}),
        ("region=south", {"region": ["south"]}),
        # An "and" before another attribute belongs to no range, whatever that is called.
        ("age>=30 and years<5", {"age": numbers(30, 59), "years": ["1"]}),
        ("age=30 and years<5", {"age": ["30"], "years": ["1"]}),
        # Base values that are intervals are taken whole.
        ("wage >= 10 and wage=0-19", {"wage": ["10-19"]}),
        ("wage=0-19", {"wage": ["0-9", "10-19"]}),
        ("wage>=10", {"wage": ["10-19", "20+"]}),
    ],
)
def test_conditions_mean_base_values(condition: Where, wanted: dict[str, list[str]]) -> None:
    assert meant(condition) == wanted


@given(st.lists(st.tuples(st.sampled_from("abcd"), st.sampled_from("abxy")), min_size=4, max_size=4), st.integers(0, 2))
def test_a_label_of_different_values_at_two_levels_is_refused_with_what_to_type(
    above: list[tuple[str, str]], finest: int
) -> None:
    rows = [(value, *levels, "*") for value, levels in zip("abcd", above)]
    assume(all(one[2] == other[2] for one in rows for other in rows if one[1] == other[1]))
    domain = Domain.of({"place": Hierarchy.from_rows(rows)})

    def asked(where: Where) -> list[bool]:
        return meanings(domain, {"place": finest}, where)["place"].surely.tolist()

    for label in {label for row in rows for label in row}:
        inside = {level: [row[level] == label for row in rows] for level in range(4)}
        meant = {level: values for level, values in inside.items() if any(values)}
        for level, values in meant.items():
            assert asked(f"place={label}@{level}") == values
        for where in (f"place={label}", {"place": label}, f"place == '{label}'", f"not place in {label}"):
            if len({*map(tuple, meant.values())}) > 1:
                with pytest.raises(InputError, match=rf"write '{label}@\d' or '{label}@\d'"):
                    asked(where)
            else:
                assert asked(where) == [is_in != str(where).startswith("not") for is_in in meant[min(meant)]]


@pytest.mark.parametrize(
    ("condition", "surely", "cut", "shares"),
    [
        ("wage=5-19", ["10-19"], ["0-9"], [0.5]),
        ("wage=2-3", [], ["0-9"], [0.2]),
        ("wage=10-25", ["10-19"], ["20+"], [0.5]),
        ("not wage=5-19", ["20+"], ["0-9"], [0.5]),
        ("wage>=5 and wage<=7", [], ["0-9"], [0.4]),
        ("wage=0-3 or wage=10-25", ["10-19"], ["0-9", "20+"], [0.4, 0.5]),
    ],
)
def test_a_range_that_cuts_a_published_value_means_it_possibly(
    condition: str, surely: list[str], cut: list[str], shares: list[float]
) -> None:
    labels = np.array(DOMAIN.hierarchy("wage").labels[0])
    found = meanings(DOMAIN, PUBLISHED, condition)["wage"]
    assert list(labels[found.surely]) == surely
    assert list(labels[found.cut]) == cut
    if " and " not in condition:
        assert found.shares[found.cut] == pytest.approx(shares)
        with pytest.raises(InputError, match="cuts through the value"):
            Part(condition).values(DOMAIN)


BMI = Hierarchy.from_decimal_intervals(
    [Decimal("18.5"), Decimal("33")], [Decimal("2.5"), Decimal("5")], Decimal("18.5")
)
BANDS = Hierarchy.flat(["<30", "30-<45.5", "45.5-<65", "65+"])


def bands_meant(where: str) -> list[str]:
    """Of body mass indices published in intervals of 2.5, and of ages in bands."""
    domain = Domain.of({"bmi": BMI.over_levels([1, 2], range(BMI.size(1))), "age": BANDS})
    [(attribute, inside)] = Part(where).values(domain).items()
    return list(np.array(domain.hierarchy(attribute).labels[0])[inside])


@pytest.mark.parametrize(
    ("condition", "labels"),
    [
        ("bmi=18.5-<21", ["18.5-<21"]), ("bmi=18.5..<23.5", ["18.5-<21", "21-<23.5"]),
        ("bmi = 18.5-<23.5", ["18.5-<21", "21-<23.5"]), ("bmi in 18.5 ..< 23.50", ["18.5-<21", "21-<23.5"]),
        ("bmi>=28.5 and bmi < 31", ["28.5-<31"]), ("bmi<21", ["18.5-<21"]), ("bmi >= 31", ["31-<33.5"]),
        ("bmi=18.5-<21|31-<33.5", ["18.5-<21", "31-<33.5"]), ("bmi=18..20.999999999999999999999999|21..<26", None),
        ("age<45.5", ["<30", "30-<45.5"]), ("age<30", ["<30"]), ("age=30..<65", ["30-<45.5", "45.5-<65"]),
        ("age>=65", ["65+"]), ("age=65+", ["65+"]), ("age>=45.5", ["45.5-<65", "65+"]), ("age<40", None),
        ("age>65", None), ("age<=65", None), ("bmi=18.5..21", None), ("bmi=18.5-20.9", None), ("bmi>21", None),
        ("bmi<=18.5", None), ("bmi=18.6..<21", None),
    ],
)  # fmt: skip
def test_ranges_of_numbers_with_decimals_are_exact(condition: str, labels: list[str] | None) -> None:
    """None: the range cuts through a value."""
    if labels is None:
        with pytest.raises(InputError, match="cuts through the value"):
            bands_meant(condition)
    else:
        assert bands_meant(condition) == labels


def cut(hierarchy: Hierarchy, counts: CountArray, levels: list[int]) -> CountedHierarchy:
    """What a release tells of a hierarchy whose base values have so many rows, if its margins show these levels."""
    if not levels:
        return CountedHierarchy(hierarchy.over_levels([], []), 0, np.array([counts.sum()]))
    rows = np.bincount(hierarchy.lift(0, levels[0]), counts, minlength=hierarchy.size(levels[0])).astype(np.int64)
    occurring = np.flatnonzero(rows)
    return CountedHierarchy(hierarchy.over_levels(levels, occurring.tolist()), 0, rows[occurring])


@st.composite
def counted(draw: st.DrawFn, hierarchy: Hierarchy) -> CountArray:
    size = hierarchy.size(0)
    counts = np.array(draw(st.lists(st.integers(0, 5), min_size=size, max_size=size)), dtype=np.int64)
    assume(counts.any())
    return counts


def groups(part: Hierarchy, whole: Hierarchy, levels: tuple[int, ...]) -> None:
    """Assert that the values of these levels of the whole merge as those of the part do, label by label."""
    for level, place in enumerate(levels):
        assert set(part.labels[level]) <= set(whole.labels[place])
    for (level, place), (above, place_above) in pairwise(enumerate(levels)):
        for code, label in enumerate(part.labels[level]):
            over = whole.labels[place_above][whole.lift(place, place_above)[whole.code(label, place)]]
            assert over == part.labels[above][part.lift(level, above)[code]]


@pytest.mark.parametrize(
    "hierarchy",
    [
        Hierarchy.from_intervals(["0", "39"], [5, 10, 20]),
        Hierarchy.from_prefixes([f"{n:03}" for n in range(0, 1000, 37)], [2, 1]),
    ],
    ids=["numbers", "codes"],
)
@given(data=st.data())
def test_levels_of_two_releases_whose_labels_say_what_they_stand_for_are_brought_together(
    hierarchy: Hierarchy, data: st.DataObject
) -> None:
    counts = data.draw(counted(hierarchy))
    chosen = st.sets(st.integers(0, hierarchy.height - 1)).map(sorted)
    levels = data.draw(chosen), data.draw(chosen)
    one, other = (cut(hierarchy, counts, own) for own in levels)
    together = one.merged(other)
    assert together is not None
    for part in (one, other):
        places = part.levels_in(together)
        assert places is not None
        groups(part.hierarchy, together.hierarchy, places)
    union = cut(hierarchy, counts, sorted({*levels[0], *levels[1]}))
    assert {frozenset(own) for own in together.hierarchy.labels} == {frozenset(own) for own in union.hierarchy.labels}
    assert together.counts_at(together.finest) == union.counts_at(union.finest)


@given(st.data())
def test_a_published_part_of_a_hierarchy_is_found_again(data: st.DataObject) -> None:
    """By labels and counts together, also where levels repeat labels; then what it counts is what the whole counts."""
    hierarchy = data.draw(hierarchies())
    counts = data.draw(counted(hierarchy))
    levels = data.draw(st.sets(st.integers(0, hierarchy.height - 1)).map(sorted))
    part, whole = cut(hierarchy, counts, levels), CountedHierarchy(hierarchy, 0, counts)
    places = part.levels_in(whole)
    assert places is not None
    assert places[-1] == hierarchy.height
    groups(part.hierarchy, hierarchy, places)
    for level, place in enumerate(places):
        assert part.counts_at(level) == whole.counts_at(place)
    assert part.merged(whole) is not None
    assert whole.merged(part) is not None


def test_what_counts_contradict_or_labels_do_not_say_stays_apart() -> None:
    fine = CountedHierarchy(Hierarchy.flat(["20-24", "25-29", "30-34"]), 0, np.array([3, 4, 5]))
    coarse = CountedHierarchy(Hierarchy.flat(["20-29", "30-39"]), 0, np.array([7, 5]))
    both = fine.merged(coarse)
    assert both is not None
    assert both.hierarchy.rows() == [("20-24", "20-29", "*"), ("25-29", "20-29", "*"), ("30-34", "30-39", "*")]
    assert fine.merged(CountedHierarchy(coarse.hierarchy, 0, np.array([8, 4]))) is None, "other counts"
    across = CountedHierarchy(Hierarchy.flat(["20-26", "27-39"]), 0, np.array([4, 8]))
    assert fine.merged(across) is None
    assert across.merged(fine) is None
    named = CountedHierarchy(Hierarchy.flat(["young", "old"]), 0, np.array([7, 5]))
    assert fine.merged(named) is None


def test_a_label_that_stands_for_itself_and_for_more_is_told_by_its_count() -> None:
    jobs = Hierarchy.from_rows([("cook", "cook", "*"), ("chef", "cook", "*"), ("clerk", "clerk", "*")])
    whole = CountedHierarchy(jobs, 0, np.array([30, 20, 30]))
    for counts, levels in (([50, 30], (1, 2)), ([30, 50], (0, 2))):
        part = CountedHierarchy(Hierarchy.flat(["cook", "clerk"]), 0, np.array(counts))
        assert part.levels_in(whole) == levels
    assert matched_levels(Hierarchy.flat(["cook", "tailor"]), jobs) is None
