"""A label answers for numbers only where it holds what its hierarchy puts under it; codes are no numbers."""

import json
from decimal import Decimal
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

import marginals
from marginals import Attribute, InputError, Policy
from marginals.bundle.reading import read_bundle, union
from marginals.tables.intervals import are_names, check_intervals, misplaced, numbers_of
from marginals.tables.scales import whole_numbers
from models import Hierarchy

ARX = [("64", "60-64", "60-69", "*"), ("65", "60-64", "60-69", "*"), ("66", "65-69", "60-69", "*")]
"""Three rows of the hierarchy of ages that ARX has for Adult."""


@st.composite
def banded(draw: st.DrawFn) -> tuple[Hierarchy, list[tuple[int, int]]]:
    """Numbers under bands of neighbours, whose labels may be wrong by a little; and the ends that the labels state."""
    numbers = sorted(draw(st.sets(st.integers(-5, 30), min_size=2, max_size=8)))
    cuts = sorted(draw(st.sets(st.integers(1, len(numbers) - 1), max_size=3)))
    groups = np.split(np.array(numbers), cuts)
    slips = st.sampled_from([0, 0, 0, 0, 1, -1])
    ends = [(int(own[0]) + draw(slips), int(own[-1]) + draw(slips)) for own in groups]
    assume(all(low < high for low, high in ends))
    assume(len(set(ends)) == len(ends))
    rows = [(str(n), f"{low}..{high}", "*") for own, (low, high) in zip(groups, ends) for n in own.tolist()]
    return Hierarchy.from_rows(draw(st.permutations(rows))), ends


@given(banded())
def test_labels_read_as_numbers_exactly_where_all_of_them_hold_what_is_under_them(
    drawn: tuple[Hierarchy, list[tuple[int, int]]],
) -> None:
    hierarchy, _ = drawn
    outside = []
    for row, (number, label, _) in enumerate(hierarchy.rows()):
        low, high = map(int, label.split(".."))
        if not low <= int(number) <= high:
            outside.append((row, 1, label))
    assert misplaced(hierarchy) == outside
    assert are_names(hierarchy) is bool(outside)
    for level in (0, 1):
        assert all(own is None for own in numbers_of(hierarchy, level)) is bool(outside)
    if not outside:
        check_intervals(hierarchy)
        return
    with pytest.raises(InputError, match=rf"row {outside[0][0] + 1} under .* at level 1"):
        Attribute("quasi-identifier", hierarchy)
    assert Attribute("quasi-identifier", hierarchy, label_form="names").hierarchy_of([]).has_names


@given(banded(), st.integers(-6, 31), st.data())
def test_a_range_over_published_bands_is_exact_or_refused(
    drawn: tuple[Hierarchy, list[tuple[int, int]]], least: int, data: st.DataObject
) -> None:
    hierarchy, _ = drawn
    rows = data.draw(st.lists(st.sampled_from(hierarchy.labels[0]), min_size=30, max_size=40))
    frame = pd.DataFrame({"age": rows, "ill": ["a", "b"] * (len(rows) // 2) + ["a"] * (len(rows) % 2)})
    form = "names" if are_names(hierarchy) else "numbers"
    attributes = {"age": Attribute("quasi-identifier", hierarchy, label_form=form), "ill": "sensitive"}
    table = marginals.read_table(frame, attributes)
    policy = Policy(k_link=1, diversity="none", base="none", must_not_publish=[{"age": 0}])
    release = marginals.publish(table, policy).release
    try:
        counted = release.count(f"age >= {least}")
    except InputError:
        return
    true = int((frame["age"].astype(int) >= least).sum())
    assert form == "numbers"
    assert counted.lower <= true <= counted.upper


CODES = {
    "ZIP+4": ["98102-5783", "98102-0001", "30301-1234", "98102"],
    "phone": ["555-1234", "555-9876", "555-2001"],
    "month": ["2023-11", "2023-12", "2024-01"],
    "range in a range": ["0-9", "5-14", "20-29"],
}


@pytest.mark.parametrize("kind", CODES)
def test_codes_with_a_hyphen_are_no_intervals(kind: str) -> None:
    values = CODES[kind]
    assert numbers_of(Hierarchy.flat(values)) == [None] * len(values)
    assert whole_numbers(values) is None
    frame = pd.DataFrame({"code": np.repeat(values, 10), "ill": ["a", "b"] * (5 * len(values))})
    for ladder in ("given", "fitted"):
        attributes = {"code": Attribute("quasi-identifier", ladder=ladder), "ill": "sensitive"}
        table = marginals.read_table(frame, attributes, k=10)
        release = marginals.publish(table, Policy(k_link=10, diversity="none", base="none")).release
        for question in ("code >= 1", "code=1-600000"):
            with pytest.raises(InputError, match=r"labels are names|ranges are of numbers|no published value"):
                release.count(question)
        assert release.count(f"code={values[0]}").lower == 10


def test_a_rare_code_does_not_name_a_stretch_of_others() -> None:
    """`98102-5783` was the lower and the upper end of bands: one owner's code came to stand for hundreds of rows."""
    codes = ["98102-5783", *["97000-1000"] * 30, *["98050-2000"] * 30, *["98103-3000"] * 4, *["99000-6000"] * 5]
    frame = pd.DataFrame({"zip": codes, "ill": (["a", "b"] * len(codes))[: len(codes)]})
    attributes = {"zip": Attribute("quasi-identifier", ladder="fitted"), "ill": "sensitive"}
    table = marginals.read_table(frame, attributes, k=10)
    release = marginals.publish(table, Policy(k_link=10, diversity="none", base="none")).release
    assert not any("5783" in label for own in release.domain.hierarchy("zip").labels for label in own)


def test_arx_ages_are_refused_or_names_and_no_range_is_answered_from_them(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"row 2 under '60-64' at level 1. A range .* label_form = \"names\""):
        Attribute("quasi-identifier", Hierarchy.from_rows(ARX))
    for labels in ("private", "public"):
        frame = pd.DataFrame({"age": ["64", "65", "65", "66"] * 10, "ill": ["a", "b"] * 20})
        ages = Attribute("quasi-identifier", Hierarchy.from_rows(ARX), labels=labels, label_form="names")
        table = marginals.read_table(frame, {"age": ages, "ill": "sensitive"})
        policy = Policy(k_link=5, diversity="none", base="none", must_not_publish=[{"age": 0}])
        folder = tmp_path / labels
        marginals.publish(table, policy).write(folder)
        release = marginals.open_release(folder)
        assert release.domain.hierarchy("age").has_names
        assert release.count("age=60-64").lower == 30
        for where in ("age >= 65", "age=66-69 | 70-80", "age > 64"):
            with pytest.raises(InputError, match="labels are names"):
                release.count(where)
            with pytest.raises(InputError, match="labels are names"):
                release.expected_count(where)
        for summary in (release.mean, release.quantile):
            with pytest.raises(InputError, match="are no numbers"):
                summary("age")
        assert not marginals.verify(folder).warnings


def test_a_part_of_a_table_is_told_by_its_values_whatever_labels_are_above_them() -> None:
    frame = pd.DataFrame({"age": ["64", "65", "65", "66"] * 10, "ill": ["a", "b"] * 20})
    ages = Attribute("quasi-identifier", Hierarchy.from_rows(ARX), label_form="names")
    part = marginals.Part("age >= 65")
    assert marginals.read_table(frame, {"age": ages, "ill": "sensitive"}, where=part).rows == 30


def test_two_releases_have_names_where_one_has(tmp_path: Path) -> None:
    """Together they are over one hierarchy, of which neither label is believed that one of them calls a name."""
    frame = pd.DataFrame({"age": ["64", "65", "65", "66"] * 10, "sex": ["f", "m"] * 20, "ill": ["a", "b"] * 20})
    ages = Attribute("quasi-identifier", Hierarchy.from_rows(ARX), label_form="names")
    for name, other in (("one", "sex"), ("two", "ill")):
        roles = {"age": ages, other: "sensitive" if other == "ill" else "quasi-identifier"}
        table = marginals.read_table(frame, roles)
        policy = Policy(k_link=5, diversity="none", base="none", must_not_publish=[{"age": 0}])
        marginals.publish(table, policy).write(tmp_path / name)
    mixed = marginals.mixture([marginals.open_release(tmp_path / name) for name in ("one", "two")])
    with pytest.raises(InputError, match="labels are names"):
        mixed.expected_count("age >= 65")
    both = union([(name, read_bundle(tmp_path / name)) for name in ("one", "two")])
    assert both.domain.hierarchy("age").has_names


def test_a_bundle_whose_labels_do_not_hold_what_is_under_them_is_read_as_names_and_says_so(tmp_path: Path) -> None:
    """Nothing in it says that its labels are names."""
    ages = Attribute("quasi-identifier", Hierarchy.from_rows(ARX), labels="public", label_form="names")
    frame = pd.DataFrame({"age": ["64", "65", "65", "66"] * 10, "ill": ["a", "b"] * 20})
    table = marginals.read_table(frame, {"age": ages, "ill": "sensitive"})
    policy = Policy(k_link=5, diversity="none", base="none", must_not_publish=[{"age": 0}])
    folder = tmp_path / "release"
    marginals.publish(table, policy).write(folder)
    descriptor = folder / "datapackage.json"
    package = json.loads(descriptor.read_text())
    assert package["release"]["attributes"]["age"].pop("label_form") == "names"
    descriptor.write_text(json.dumps(package))
    for other in folder.iterdir():
        if other.is_file() and other.name not in ("datapackage.json", "report.html"):
            other.unlink()  # the seal
    with pytest.raises(InputError, match="labels are names"):
        marginals.open_release(folder).count("age >= 65")
    (warning,) = (each for each in marginals.verify(folder).warnings if "interval" in each)
    assert "puts the value of row 2 under '60-64' at level 1" in warning


@pytest.mark.parametrize("said", ["bands", 1, None])
def test_a_bundle_with_another_form_of_labels_is_refused(tmp_path: Path, said: object) -> None:
    from marginals.example import release

    release.write(tmp_path / "release")
    descriptor = tmp_path / "release" / "datapackage.json"
    package = json.loads(descriptor.read_text())
    package["release"]["attributes"]["age"]["label_form"] = said
    descriptor.write_text(json.dumps(package))
    with pytest.raises(marginals.BundleError, match="label_form must be numbers or names"):
        marginals.open_release(tmp_path / "release")


def test_numbers_of_a_level_that_groups_codes_by_other_codes_are_names() -> None:
    """Occupations 112 and 113 under 11: a range of numbers means neither."""
    jobs = Hierarchy.from_rows([("112", "11", "1", "*"), ("113", "11", "1", "*"), ("250", "25", "2", "*")])
    assert misplaced(jobs) == []
    frame = pd.DataFrame({"job": ["112", "113", "250"] * 10, "ill": ["a", "b"] * 15})
    table = marginals.read_table(frame, {"job": Attribute("quasi-identifier", jobs), "ill": "sensitive"})
    policy = Policy(k_link=10, diversity="none", base="none", must_not_publish=[{"job": 0}])
    release = marginals.publish(table, policy).release
    with pytest.raises(InputError, match="labels are names"):
        release.count("job >= 100")


def test_the_numbers_of_a_label_are_those_that_it_states() -> None:
    rows = [("3", "under 5", "*"), ("7", "5-9", "*"), ("18.75", "10-<25", "*"), ("80", "25+", "*"), ("?", "?", "*")]
    low, *_, high, unknown = numbers_of(Hierarchy.from_rows(rows), 1)
    assert low is not None
    assert high is not None
    assert (low.high, low.with_high) == (Decimal(5), False)
    assert (high.low, high.with_low) == (Decimal(25), True)
    assert unknown is None
