"""Ladders that are fitted to public counts: a function of these alone, whatever the table holds."""

from pathlib import Path

import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

import marginals
from marginals import Attribute, InputError, read_config, read_population
from models import Hierarchy

TOWNS = Hierarchy.from_rows([(town, country, "*") for town, country in zip("abcdef", ["north"] * 4 + ["south"] * 2)])
KINDS = {
    "towns": ({"hierarchy": TOWNS}, list("abcdef")),
    "jobs": ({}, ["cook", "clerk", "nun", "smith"]),
    "ages": ({}, [str(age) for age in range(3, 12)]),
    "codes": ({"prefixes": [1]}, ["a1", "a2", "b1", "b2"]),
    "bmi": ({"intervals": [0.5, 1.0]}, ["18.2", "18.4", "18.9", "19.6", "21.1"]),
    "days": ({"dates": ["month", "year"]}, ["2020-01-05", "2020-01-09", "2020-04-02", "2021-02-01"]),
}


def ladder(column: list[str], k: int = 3, **settings: object) -> Hierarchy:
    frame = pd.DataFrame({"column": column, "ill": ["no"] * len(column)})
    attribute = Attribute("quasi-identifier", ladder="fitted", **settings)  # type: ignore[arg-type]
    return marginals.read_table(frame, {"column": attribute, "ill": "sensitive"}, k=k).domain.hierarchy("column")


def groups(hierarchy: Hierarchy, level: int) -> set[frozenset[str]]:
    """The base values of each group of a level."""
    by_label: dict[str, set[str]] = {}
    for row in hierarchy.rows():
        by_label.setdefault(row[level], set()).add(row[0])
    return set(map(frozenset, by_label.values()))


@st.composite
def populations(draw: st.DrawFn) -> tuple[dict[str, object], dict[str, int], list[str], list[str]]:
    """What is given of a column, its population, and two columns of values that the population counts."""
    settings, values = KINDS[draw(st.sampled_from(sorted(KINDS)))]
    counts = {value: draw(st.integers(0, 20)) for value in values}
    counts[values[0]] += 1
    columns = [draw(st.lists(st.sampled_from(values), min_size=1, max_size=30)) for _ in range(2)]
    return settings, counts, columns[0], columns[1]


@given(populations(), st.integers(1, 6))
def test_the_ladder_is_the_same_whatever_the_table_holds(drawn: tuple, k: int) -> None:
    """And that of a table whose rows are the population."""
    settings, counts, one, other = drawn
    fitted = [ladder(column, k, population=counts, **settings) for column in (one, other)]
    assert fitted[0].labels == fitted[1].labels
    assert fitted[0].parents == fitted[1].parents
    everybody = ladder([value for value, count in counts.items() for _ in range(count)], k, **settings)
    if all(counts.values()):
        assert everybody.height == fitted[0].height
        for level in range(everybody.height + 1):
            assert groups(everybody, level) == groups(fitted[0], level)


def test_numbers_between_those_counted_need_no_count_of_their_own_for_the_bands() -> None:
    """A measurement lies in a band that the population counts; the bands that are published depend on nothing else."""
    counts = {"18.2": 40, "18.9": 3, "19.6": 30}
    fitted = ladder(["18.44", "19.71", "18.9"], 10, population=counts, intervals=[0.5])
    assert fitted.labels[2] == ladder(["18.2"], 10, population=counts, intervals=[0.5]).labels[2]
    with pytest.raises(InputError, match="is none that its population counts; give it a count there"):
        ladder(["18.2", "20.3"], 10, population=counts, intervals=[0.5])


def test_groups_name_all_that_everybody_knows() -> None:
    jobs = ladder(["cook"], 10, population={"cook": 40, "nun": 2, "smith": 9})
    assert jobs.labels[1] == ("cook", "nun, smith")


def test_rows_without_a_value_need_no_count() -> None:
    fitted = ladder(["3", "", "4"], 5, population={"3": 9, "4": 2, "5": 8}, missing="as a value")
    assert fitted.labels[:2] == (("3", "4", "5", "missing"), ("3", "4 and over", "missing"))


def test_what_a_population_does_not_count_is_refused() -> None:
    with pytest.raises(InputError, match=r"column 'column'.* row 2 is none that its population counts"):
        ladder(["3", "7"], population={"3": 9, "4": 2})
    with pytest.raises(
        InputError, match="its population lacks 2 of the 6 base values of its hierarchy; give each a count"
    ):
        ladder(["a"], population=dict.fromkeys("abcd", 5), hierarchy=TOWNS)
    with pytest.raises(InputError, match="its population counts 1 values that are not among the base values"):
        ladder(["a"], population=dict.fromkeys("abcdefg", 5), hierarchy=TOWNS)
    with pytest.raises(InputError, match="counts a value that its intervals or dates cannot hold"):
        ladder(["20"], population={"20": 5, "young": 2}, intervals=[5])
    with pytest.raises(InputError, match='needs ladder = "fitted"'):
        Attribute("quasi-identifier", population={"a": 1})
    for counts, problem in (
        ({"a": -1}, "from 0 on"),
        ({"a": 0}, "counts nobody"),
        ({1: 1}, "are texts"),
        ({}, "nobody"),
    ):
        with pytest.raises(InputError, match=problem):
            Attribute("quasi-identifier", ladder="fitted", population=counts)  # type: ignore[arg-type]
    attribute = Attribute("quasi-identifier", ladder="fitted", population={"a": 1})
    with pytest.raises(InputError, match='set it to "declared"'):
        marginals.read_table(pd.DataFrame({"town": ["a"]}), {"town": attribute}, domain="observed")


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("a,1\nb\n", "row 2 is not a value, a comma and a count"),
        ("a,1\nb,many\n", "the count in row 2 is no whole number from 0 on"),
        ("a,1\na,2\n", "the value in row 2 has a count already"),
        ("town,people\n", "counts nobody"),
        ("a,1\nb,-2\n", "row 2"),
    ],
)
def test_a_file_that_holds_no_counts_is_refused(tmp_path: Path, text: str, problem: str) -> None:
    file = tmp_path / "town.csv"
    file.write_text(text)
    with pytest.raises(InputError, match=f"population file town.csv.*{problem}"):
        read_population(file)
    file.write_bytes(b"\xff\xfe\x00")
    with pytest.raises(InputError, match="cannot be read as UTF-8"):
        read_population(file)
    with pytest.raises(InputError, match="there is no population file"):
        read_population(tmp_path / "none.csv")
    with pytest.raises(InputError, match="cannot be read: it is not a file but a folder"):
        read_population(tmp_path)


def test_a_config_names_the_file(tmp_path: Path) -> None:
    (tmp_path / "t.csv").write_text("town,ill\n" + "a,no\n" * 20 + "b,yes\n" * 12 + "c,no\n" * 13)
    (tmp_path / "people.csv").write_text("town,people\na,900\nb,3\nc,800\nd,2\n\n")
    config = tmp_path / "release.toml"
    config.write_text(
        'data.path = "t.csv"\nattributes.ill.role = "sensitive"\nprivacy.k_link = 4\nprivacy.diversity = "none"\n'
        'base.table = "none"\n'
        '[attributes.town]\nrole = "quasi-identifier"\nladder = "fitted"\npopulation = "people.csv"\n'
    )
    read = read_config(config)
    assert tmp_path / "people.csv" in read.reads
    table = read.read_table()
    assert table.domain.hierarchy("town").labels[1] == ("a", "b, d", "c")
    assert marginals.publish(table, read.policy).release.verify().ok
    config.write_text(config.read_text().replace('"people.csv"', "3"))
    with pytest.raises(InputError, match=r"the key attributes\.town\.population must name a file"):
        read_config(config)
