"""A label answers for numbers only where it holds what its hierarchy puts under it; codes are no numbers."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

import marginals
from marginals import Attribute, InputError, Policy, Release
from models import Hierarchy

ARX = Hierarchy.from_rows([("64", "60-64", "60-69", "*"), ("65", "60-64", "60-69", "*"), ("66", "65-69", "60-69", "*")])
"""Three rows of the hierarchy of ages that ARX has for Adult."""

FORTY = ["64", "65", "65", "66"] * 10


def release_of(values: list[str], attribute: Attribute, k: int = 5, above: bool = True, **others: Any) -> Release:
    """A release of a column beside a sensitive one. above: its values themselves are not published."""
    frame = pd.DataFrame({"age": values, "ill": (["a", "b"] * len(values))[: len(values)]} | others)
    roles = {"age": attribute, "ill": "sensitive"} | dict.fromkeys(others, "quasi-identifier")
    fine = [{"age": 0}] if above else []
    policy = Policy(k_link=k, diversity="none", base="none", must_not_publish=fine)
    return marginals.publish(marginals.read_table(frame, roles, k=k), policy).release


@st.composite
def banded(draw: st.DrawFn) -> Hierarchy:
    """Numbers under bands of neighbours, whose labels may be wrong by a little."""
    numbers = sorted(draw(st.sets(st.integers(-5, 30), min_size=2, max_size=8)))
    cuts = sorted(draw(st.sets(st.integers(1, len(numbers) - 1), max_size=3)))
    groups = np.split(np.array(numbers), cuts)
    slips = st.sampled_from([0, 0, 0, 0, 1, -1])
    ends = [(int(own[0]) + draw(slips), int(own[-1]) + draw(slips)) for own in groups]
    assume(all(low < high for low, high in ends))
    assume(len(set(ends)) == len(ends))
    rows = [(str(n), f"{low}..{high}", "*") for own, (low, high) in zip(groups, ends) for n in own.tolist()]
    return Hierarchy.from_rows(draw(st.permutations(rows)))


@given(banded(), st.integers(-6, 31), st.data())
def test_ranges_are_answered_exactly_where_all_labels_hold_what_is_under_them(
    hierarchy: Hierarchy, least: int, data: st.DataObject
) -> None:
    outside = []
    for row, (number, label, _) in enumerate(hierarchy.rows(), 1):
        low, high = map(int, label.split(".."))
        if not low <= int(number) <= high:
            outside.append(row)
    values = data.draw(st.lists(st.sampled_from(hierarchy.labels[0]), min_size=30, max_size=40))
    if outside:
        with pytest.raises(InputError, match=rf"row {outside[0]} under .* at level 1"):
            Attribute("quasi-identifier", hierarchy)
        names = Attribute("quasi-identifier", hierarchy, label_form="names")
        assert names.hierarchy_of([]).has_names
        with pytest.raises(InputError):
            release_of(values, names, 2).count(f"age >= {least}")
        return
    assert not Attribute("quasi-identifier", hierarchy).hierarchy_of([]).has_names
    release = release_of(values, Attribute("quasi-identifier", hierarchy), 2)
    true = sum(int(value) >= least for value in values)
    try:
        counted = release.count(f"age >= {least}")
    except InputError:  # the limit lies within a published label
        return
    assert counted.lower <= true <= counted.upper


CODES = {
    "ZIP+4": ["98102-5783", "98102-0001", "30301-1234", "98102"],
    "phone": ["555-1234", "555-9876", "555-2001"],
    "month": ["2023-11", "2023-12", "2024-01"],
    "range in a range": ["0-9", "5-14", "20-29"],
}


@pytest.mark.parametrize("kind", CODES)
@pytest.mark.parametrize("ladder", ["given", "fitted"])
def test_codes_with_a_hyphen_are_no_intervals(kind: str, ladder: str) -> None:
    values = [value for value in CODES[kind] for _ in range(10)]
    release = release_of(values, Attribute("quasi-identifier", ladder=ladder), 10, above=False)
    for question in ("age >= 1", "age=1-600000"):
        with pytest.raises(InputError, match=r"labels are names|ranges are of numbers|no published value"):
            release.count(question)
    assert release.count(f"age={values[0]}").lower == 10


def test_a_rare_code_does_not_name_a_stretch_of_others() -> None:
    """`98102-5783` was the lower and the upper end of bands: one owner's code came to stand for hundreds of rows."""
    codes = ["98102-5783", *["97000-1000"] * 30, *["98050-2000"] * 30, *["98103-3000"] * 4, *["99000-6000"] * 5]
    release = release_of(codes, Attribute("quasi-identifier", ladder="fitted"), 10, above=False)
    assert not any("5783" in label for own in release.domain.hierarchy("age").labels for label in own)


@pytest.mark.parametrize("labels", ["private", "public"])
def test_arx_ages_are_refused_or_names_and_no_range_is_answered_from_them(tmp_path: Path, labels: str) -> None:
    with pytest.raises(InputError, match=r"row 2 under '60-64' at level 1.* label_form = \"names\""):
        Attribute("quasi-identifier", ARX, labels=labels)
    release_of(FORTY, Attribute("quasi-identifier", ARX, labels=labels, label_form="names")).write(tmp_path / "out")
    release = marginals.open_release(tmp_path / "out")
    assert release.domain.hierarchy("age").has_names
    assert release.count("age=60-64").lower == 30
    for where in ("age >= 65", "age=66-69 | 70-80", "age > 64"):
        with pytest.raises(InputError, match="labels are names"):
            release.count(where)
    for summary in (release.mean, release.quantile):
        with pytest.raises(InputError, match="are no numbers"):
            summary("age")
    assert not marginals.verify(tmp_path / "out").warnings


def test_a_part_of_a_table_is_told_by_its_values_whatever_labels_are_above_them() -> None:
    frame = pd.DataFrame({"age": FORTY, "ill": ["a", "b"] * 20})
    ages = Attribute("quasi-identifier", ARX, label_form="names")
    part = marginals.Part("age >= 65")
    assert marginals.read_table(frame, {"age": ages, "ill": "sensitive"}, where=part).rows == 30


def test_a_bundle_whose_labels_do_not_hold_what_is_under_them_is_read_as_names_and_says_so(tmp_path: Path) -> None:
    """Nothing in it says that its labels are names; another form of labels is refused."""
    ages = Attribute("quasi-identifier", ARX, labels="public", label_form="names")
    release_of(FORTY, ages).write(tmp_path / "out")
    descriptor = tmp_path / "out" / "datapackage.json"
    descriptor.with_suffix(".json.sha256").unlink()
    package = json.loads(descriptor.read_text())
    assert package["release"]["attributes"]["age"].pop("label_form") == "names"
    descriptor.write_text(json.dumps(package))
    with pytest.raises(InputError, match="labels are names"):
        marginals.open_release(tmp_path / "out").count("age >= 65")
    (warning,) = (each for each in marginals.verify(tmp_path / "out").warnings if "interval" in each)
    assert "row 2 under '60-64' at level 1" in warning
    for form in ("bands", 1, None):
        package["release"]["attributes"]["age"]["label_form"] = form
        descriptor.write_text(json.dumps(package))
        with pytest.raises(marginals.errors.BundleError, match="label_form"):
            marginals.open_release(tmp_path / "out")


def test_numbers_of_a_level_that_groups_codes_by_other_codes_are_names() -> None:
    """Occupations 112 and 113 under 11: a range of numbers means neither."""
    jobs = Hierarchy.from_rows([("112", "11", "1", "*"), ("113", "11", "1", "*"), ("250", "25", "2", "*")])
    release = release_of(["112", "113", "250"] * 10, Attribute("quasi-identifier", jobs), 10)
    with pytest.raises(InputError, match="labels are names"):
        release.count("age >= 100")


def test_the_numbers_of_a_label_are_those_that_it_states() -> None:
    rows = [("3", "under 5", "*"), ("7", "5-9", "*"), ("18.75", "10-<25", "*"), ("80", "25+", "*"), ("?", "?", "*")]
    values = ["3"] * 5 + ["7"] * 6 + ["18.75"] * 7 + ["80"] * 8 + ["?"] * 9
    release = release_of(values, Attribute("quasi-identifier", Hierarchy.from_rows(rows)))
    for where, lower, upper in (
        ("age < 5", 5, 5),
        ("age >= 25", 8, 8),
        ("age > 25", 0, 8),
        ("age <= 5", 5, 11),
        ("age < 10", 11, 11),
        ("age >= 5 and age < 25", 13, 13),
    ):
        counted = release.count(where)
        assert (counted.lower, counted.upper) == (lower, upper + 9), where  # of "?" nothing is known


CLOSED = [
    "{}-{}", "{}\u2013{}", "{}\u2014{}", "{}\u2212{}", "{}\u2012{}", "{} - {}", "{} to {}", "{} bis {}", "{} a {}",
    "{} \xe0 {}", "{} until {}", "{}..{}", "[{}, {}]", "[{};{}]", "{}-{};", "{} - {} years", "aged {} to {}", "Y{}-{}",
    "Y{}T{}", "{}~{}", "de {} a {} a\xf1os", "von {} bis {} Jahren", "entre {} et {} ans", "between {} and {}",
    "da {} a {} anni", "{} t/m {} jaar",
]  # fmt: skip
HALF_OPEN = [
    "[{}, {}[", "[{},{})", "{}-<{}", "{} bis unter {}", "{} to under {}", "[{};{}[", ">={} and <{}",
    "{} \xe0 moins de {} ans",
]  # fmt: skip
LAST = [
    "75+", "75 +", ">=75", "\u2265 75", "75 and over", "75 or more", "75 years and older", "75 ans et plus", "ab 75",
    "75 plus", "75 anni e pi\xf9", "75 a\xf1os y m\xe1s", "75 Jahre und \xe4lter", "Y_GE75", "[75, inf)", "[75, 90[",
    "at least 75",
]  # fmt: skip
FIRST = ["<18", "under 18", "less than 18", "unter 18 Jahren", "moins de 18 ans", "Y_LT18", "menos de 18 a\xf1os"]


@pytest.mark.parametrize("form", [*CLOSED, *HALF_OPEN])
def test_bands_are_read_as_people_write_them(form: str) -> None:
    """A range that held 702 published rows was answered by "about 0 rows": no label was read."""
    place = [*CLOSED, *HALF_OPEN].index(form)
    step = 1 if form in CLOSED else 0
    bands = [form.format(low, high - step) for low, high in ((18, 25), (25, 35), (35, 45))]
    labels = [FIRST[place % len(FIRST)], *bands, LAST[place % len(LAST)]]
    values = [label for label, rows in zip(labels, (10, 20, 30, 40, 50)) for _ in range(rows)]
    release = release_of(values, Attribute("quasi-identifier"), above=False)
    asked = {
        "age=25-44": 70,
        "age >= 75": 50,
        "age < 25": 30,
        "age < 75": 100,
        "age=18\u201334": 50,
        "age = 18 bis unter 45": 90,
    }
    for where, rows in asked.items():
        counted = release.count(where)
        is_cut = not step and where[-2:] in ("34", "44")  # 44.5 lies in [35, 45[, and not in 25-44
        assert counted.upper == rows, where
        assert counted.exact or is_cut, where
        assert counted.kind != "none"
        assert not counted.unjudged
    assert release.mean("age", where="age >= 18 and age < 75").lower == pytest.approx(
        (18 * 20 + 25 * 30 + 35 * 40) / 90
    )
    attribute = Attribute("quasi-identifier", ladder="fitted")
    ladder = marginals.read_table(pd.DataFrame({"age": values}), {"age": attribute}, k=25).domain.hierarchy("age")
    assert ladder.labels[0] == tuple(labels)
    for level in range(ladder.height):  # neighbours are merged
        assert list(ladder.lift(0, level)) == sorted(ladder.lift(0, level))


@pytest.mark.parametrize(
    ("labels", "where", "bounds"),
    [
        (["$10,000-$19,999", "$20,000-$29,999", "$30,000 or more"], "age >= 20000", (20, 20)),
        (["10k-20k", "20k-30k", ">30k"], "age > 30000", (10, 10)),
        (["< 5 000 \u20ac", "5 000 \u2013 9 999 \u20ac", "10.000 \u20ac et plus"], "age < 10000", (20, 20)),
        (["0-5 months", "6-11 months", "12+ months"], "age >= 6", (20, 20)),
        (["0-11 months", "1-4 years", "5 years and over"], "age < 1", (10, 10)),
        (["10-19", "20-29", "75 plus?"], "age >= 20", (10, 20)),
        (["10-19", "20-29", "10.000-19.999"], "age >= 20", (10, 20)),
        (["(0, 10]", "(10, 20]", ">20"], "age <= 10", (10, 10)),
        (["<10", "10-19", "other"], "age < 10", (10, 20)),
        (["0-9", "10-19", "n/a"], "age=14", (0, 20)),
    ],
)
def test_amounts_months_and_what_cannot_be_read(labels: list[str], where: str, bounds: tuple[int, int]) -> None:
    values = [label for label in labels for _ in range(10)]
    counted = release_of(values, Attribute("quasi-identifier"), above=False).count(where)
    assert (counted.lower, counted.upper) == bounds
    assert counted.exact == (bounds[0] == bounds[1])
    assert (counted.kind == "none") == bool(counted.unjudged)


def counted_possible(release: Release, where: str) -> bool:
    try:
        return release.count(where).upper >= 0
    except InputError:
        return False


@given(st.data())
def test_certain_bounds_hold_whatever_the_labels_hide(data: st.DataObject) -> None:
    """The true ages behind each label are known here; some hide behind a label that is no number."""
    cuts = sorted(data.draw(st.sets(st.integers(5, 60), min_size=2, max_size=4)))
    forms = data.draw(st.sampled_from([*CLOSED, *HALF_OPEN]))
    names = {
        (low, high): forms.format(low, high - (forms in CLOSED)) for low, high in zip(cuts, cuts[1:]) if high - low > 1
    }
    names |= {(0, cuts[0]): f"under {cuts[0]}", (cuts[-1], 99): f"{cuts[-1]}+"}
    names |= {(low, high): str(low) for low, high in zip(cuts, cuts[1:]) if high - low == 1}
    ages = data.draw(st.lists(st.integers(0, 70), min_size=10, max_size=20)) * 2
    hidden = data.draw(st.lists(st.booleans(), min_size=len(ages) // 2, max_size=len(ages) // 2)) * 2
    labels = [
        "other" if hides else next(name for (low, high), name in names.items() if low <= age < high)
        for age, hides in zip(ages, hidden)
    ]
    release = release_of(labels, Attribute("quasi-identifier"), 2, above=False)
    low, high = sorted(data.draw(st.tuples(*[st.sampled_from([*cuts, 3, 30])] * 2)))
    for where, true in (
        (f"age >= {low} and age < {high + 1}", [age for age in ages if low <= age <= high]),
        (f"age < {high}", [age for age in ages if age < high]),
        (f"not age <= {low}", [age for age in ages if age > low]),
    ):
        if not counted_possible(release, where):
            assert not true
            continue
        counted = release.count(where)
        assert counted.lower <= len(true) <= counted.upper, where
        assert not (counted.unjudged and (counted.exact or counted.kind != "none"))
        if not counted.unjudged and true:
            share, mean = release.share(where), release.mean("age", where=where, limits=(0, 99))
            assert share.lower <= len(true) / len(ages) <= share.upper
            assert mean.lower - 1e-9 <= sum(true) / len(true) <= mean.upper + 1e-9


def test_an_estimate_never_leaves_out_labels_that_it_cannot_read() -> None:
    values = ["18-24"] * 20 + ["25-34"] * 30 + ["mid40s"] * 40 + ["refused"] * 50
    release = release_of(values, Attribute("quasi-identifier"), above=False)
    counted = release.count("age >= 25")
    assert (counted.kind, counted.lower, counted.upper) == ("none", 30, 120)
    assert [each.values for each in counted.unjudged] == [("mid40s", "refused")]
    for ask in (
        lambda: release.share("ill=a", where="age >= 25"),
        lambda: release.table("age", "ill", where="age >= 25"),
        lambda: release.mean("age"),
        lambda: release.total("age"),
        lambda: release.quantile("age", [0.5]),
        lambda: release.mean("age", by="ill"),
    ):
        with pytest.raises(InputError, match="'mid40s', 'refused'"):
            ask()
    assert release.count("age >= 25 and age not in mid40s|refused").exact
    assert release.mean("age", where="age not in mid40s|refused").upper < 34


@given(st.lists(st.integers(0, 7), min_size=1, max_size=6))
def test_a_number_names_one_set_of_values_at_all_levels(groups: list[int]) -> None:
    hierarchy = Hierarchy.from_rows([(str(n), str(group), "*") for n, group in enumerate(groups)])
    members = {str(group): {str(n) for n, other in enumerate(groups) if other == group} for group in groups}
    base = {*hierarchy.labels[0]}
    if any(label in base and members[label] != {label} for label in members):
        with pytest.raises(InputError, match=r"at two levels for different values.*Give one of them another name$"):
            Attribute("quasi-identifier", hierarchy=hierarchy)
        assert Attribute("quasi-identifier", hierarchy=hierarchy, label_form="names").has_names
    else:
        assert Attribute("quasi-identifier", hierarchy=hierarchy).hierarchy == hierarchy
