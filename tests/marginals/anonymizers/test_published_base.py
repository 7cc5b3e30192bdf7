"""A table that others published as the base: found in the lattice by labels and counts, and judged with what is added."""

import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import marginals
from marginals import Attribute, InputError, NothingPublishableError, Policy, Role, read_table
from marginals.anonymizers.recoded_file import published_base
from marginals.example import frame, table
from models import Hierarchy

LEVELS = {"age": range(4), "sex": range(2), "diagnosis": range(2)}


def generalized(levels):
    """The rows with each attribute at a level, one left out where there is none."""
    columns = {}
    for name, level in levels.items():
        hierarchy = table.domain.hierarchy(name)
        labels = hierarchy.labels[level]
        columns[name] = [labels[hierarchy.lift(0, level)[hierarchy.code(value, 0)]] for value in frame[name]]
    return pd.DataFrame(columns)


@pytest.fixture
def file(tmp_path):
    return tmp_path / "published.csv"


@settings(max_examples=20)
@given(st.fixed_dictionaries({}, optional={name: st.sampled_from(levels) for name, levels in LEVELS.items()}))
def test_every_generalization_is_found_by_its_labels_and_counts(tmp_path_factory, levels):
    path = tmp_path_factory.mktemp("published") / "published.csv"
    heights = {name: table.domain.hierarchy(name).height for name in levels}
    levels = {name: min(level, heights[name]) for name, level in levels.items()}
    if not levels:
        return
    rows = generalized(levels)
    rows.sample(frac=1, random_state=1).to_csv(path, index=False)
    assert published_base(table, path) == table.domain.mask(levels)
    rows.value_counts().rename("count").reset_index().to_csv(path, index=False)
    assert published_base(table, path) == table.domain.mask(levels)


def test_marginals_are_injected_into_it_and_the_claims_cover_both(file):
    levels = {"age": 2, "sex": 0, "diagnosis": 0}
    generalized(levels).to_csv(file, index=False)
    policy = Policy(k_link=3, base=str(file), diversity="none")
    release = marginals.publish(table, policy).release
    again = marginals.publish(table, Policy(k_link=3, base={"age": 2, "sex": 0}, diversity="none")).release
    assert release.margins == again.margins
    assert release.verify().ok
    assert release.supports({"age": release.model.finest_levels["age"]}).kind == "published"
    assert release.supports(["sex", "diagnosis"]).kind == "published"
    with pytest.raises(NothingPublishableError, match="base table cannot be published"):
        marginals.publish(table, Policy(k_link=30, base=str(file), diversity="none"))


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (lambda rows: rows.assign(town="x"), "column 'town', which is no attribute"),
        (lambda rows: rows.iloc[1:], "47 rows where the table has 48"),
        (lambda rows: rows.assign(age=["*", *rows["age"][1:]]), "suppresses some rows only, in the column 'age'"),
        (lambda rows: rows.assign(age=[frame["age"][0], *rows["age"][1:]]), "shows the column 'age' at several levels"),
        (lambda rows: rows.assign(age=["18-29", *rows["age"][1:]]), "'age' no level of its hierarchy"),
        (lambda rows: rows.assign(sex=list(reversed(rows["sex"]))), "counts some class otherwise"),
        (lambda rows: rows.assign(count="many"), "the count in row 2 is no whole number"),
    ],
)
def test_what_is_no_generalization_of_these_rows_is_refused(file, change, said):
    change(generalized({"age": 2, "sex": 0})).to_csv(file, index=False)
    with pytest.raises(InputError, match=said):
        published_base(table, file)


def test_files_that_are_no_tables_are_refused(file):
    with pytest.raises(InputError, match="there is no published table"):
        published_base(table, file)
    file.write_text("")
    with pytest.raises(InputError, match="0 rows"):
        published_base(table, file)
    file.write_text("age,age\n20,20\n")
    with pytest.raises(InputError, match="each named once"):
        published_base(table, file)
    with pytest.raises(InputError, match="a CSV file"):
        Policy(base="published.txt")


PEOPLE = pd.DataFrame(
    [row for row in [("F", "N"), ("F", "S"), ("F", "W"), ("M", "N")] for _ in range(3)] + [("M", "S"), ("M", "W")],
    columns=["sex", "region"],
)
"""Fourteen people: three in each class, but for one man in the south and one in the west."""

PARTLY = {
    "two rows suppressed": PEOPLE.mask(PEOPLE.groupby(["sex", "region"])["sex"].transform("size") < 2, "*"),
    "two rows recoded by themselves": PEOPLE.assign(region=[*PEOPLE["region"][:-2], "south or west", "south or west"]),
}
REGIONS = Hierarchy.from_rows([("N", "north", "*"), ("S", "south or west", "*"), ("W", "south or west", "*")])


@pytest.mark.parametrize("published", PARTLY.values(), ids=PARTLY)
def test_beside_marginals_a_table_of_some_rows_may_give_a_person_away(file, published):
    """Every class of the table has two rows or more, and every cell of the marginal, which together leave one man."""
    classes, regions = published.value_counts(), PEOPLE["region"].value_counts()
    assert classes.min() >= 2
    assert regions.min() >= 2
    left = regions["S"] - classes["F", "S"]
    assert left == ((PEOPLE["sex"] == "M") & (PEOPLE["region"] == "S")).sum() == 1
    published.to_csv(file, index=False)
    attributes = {
        "sex": Attribute(Role.QUASI_IDENTIFIER),
        "region": Attribute(Role.QUASI_IDENTIFIER, REGIONS),
    }
    with pytest.raises(InputError, match="cannot be judged by the release's claims"):
        marginals.publish(read_table(PEOPLE, attributes), Policy(k_link=2, base=str(file), diversity="none"))


def test_a_table_of_sweep_that_shows_each_column_at_one_level_is_a_base(file):
    coarse = read_table(
        generalized({"age": 2, "sex": 0, "diagnosis": 0}),
        {
            "age": Attribute(Role.QUASI_IDENTIFIER),
            "sex": Attribute(Role.QUASI_IDENTIFIER),
            "diagnosis": Attribute(Role.SENSITIVE),
        },
    )
    swept = marginals.sweep(coarse, k=3)
    swept.frame().to_csv(file, index=False)
    assert published_base(coarse, file) == coarse.domain.mask({"age": 0, "sex": 0, "diagnosis": 0})
    release = marginals.publish(coarse, Policy(k_link=3, base=str(file), diversity="none")).release
    assert release.verify().ok
    assert release.supports(["age", "sex", "diagnosis"]).kind == "published"
