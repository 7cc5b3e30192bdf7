"""A published table is judged from its file alone: against the fractions of TZ09 Def. 4 for all values that may occur."""

from collections.abc import Iterator
from fractions import Fraction
from itertools import chain, combinations
from pathlib import Path

import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import marginals
from checks import Functional, Verdict, parse_diversity
from marginals import Attribute, InputError, Policy, Role, Table, read_table
from marginals.errors import NothingPublishableError
from marginals.example import attributes, frame, table
from marginals.recoding import hilbert, sweep, verify_recoded
from marginals.recoding.local_recoding import LocalRecoding
from marginals.recoding.recoded_file import published_base
from models import Hierarchy
from recoding_oracles import line_holds, requirements, tables


def possible(hierarchy: Hierarchy, shown: set[str]) -> Iterator[set[int]]:
    """Every set of base values that may be those of the data, given the labels that a file shows."""
    base = list(hierarchy.labels[0])
    certain = {base.index(label) for label in shown if label in base}
    for others in chain.from_iterable(combinations(range(len(base)), n) for n in range(len(base) + 1)):
        occurring = certain | set(others)
        under = [leaves_of(hierarchy, label) for label in shown]
        new = len(others) + len(certain) == len(occurring)
        if new and occurring <= set().union(*under) and all(leaves & occurring for leaves in under):
            yield occurring


def leaves_of(hierarchy: Hierarchy, label: str) -> set[int]:
    level = next(level for level, labels in enumerate(hierarchy.labels) if label in labels)
    code = hierarchy.labels[level].index(label)
    return {leaf for leaf, node in enumerate(hierarchy.lift(0, level).tolist()) if node == code}


def holds(frame: pd.DataFrame, secret: str, hierarchy: Hierarchy, requirement: Functional, occurring: set[int]) -> bool:
    """Whether each class is diverse when these base values occur."""
    public = [column for column in frame.columns if column not in (secret, "count")]
    for _, rows in frame.groupby(public) if public else [((), frame)]:
        shares = dict.fromkeys(range(hierarchy.size(0)), Fraction(0))
        for label, count in zip(rows[secret], rows["count"]):
            under = leaves_of(hierarchy, label) & occurring
            for leaf in under:
                shares[leaf] += Fraction(int(count), len(under) * int(rows["count"].sum()))
        if not line_holds(list(shares.values()), requirement):
            return False
    return True


@given(tables(), requirements(3), requirements(3))
def test_verdicts_are_those_of_every_set_of_values_that_may_occur(
    tmp_path_factory: pytest.TempPathFactory, table: Table, made: Functional, asked: Functional
) -> None:
    path = tmp_path_factory.mktemp("published") / "swept.csv"
    try:
        swept = sweep(table, made)
    except NothingPublishableError:
        return
    frame = swept.frame()
    frame.to_csv(path, index=False)
    (secret,) = table.sensitive
    hierarchy = table.domain.hierarchy(secret)
    roles = {a: Attribute(role, table.domain.hierarchy(a)) for a, role in table.roles.items()}
    for requirement in (made, asked):
        claims = Policy(diversity=str(requirement), k_link=2).requirements((secret,)).claims
        size, found = verify_recoded(path, roles, claims)
        assert size.holds == bool(swept.sizes.min() >= 2)
        verdicts = {
            holds(frame, secret, hierarchy, requirement, occurring)
            for occurring in possible(hierarchy, set(frame[secret]))
        }
        expected = {(True,): Verdict.HOLDS, (False,): Verdict.FAILS}.get(tuple(verdicts), Verdict.UNDECIDED)
        assert found.verdict is expected
        assert swept.satisfies(requirement) in verdicts


@given(tables())
def test_other_criteria_are_those_of_the_table(tmp_path_factory: pytest.TempPathFactory, table: Table) -> None:
    path = tmp_path_factory.mktemp("published") / "mapped.csv"
    mapped = hilbert(table, k=min(3, table.rows))
    mapped.frame().to_csv(path, index=False)
    roles = {a: Attribute(role, table.domain.hierarchy(a)) for a, role in table.roles.items()}
    for diversity in ("entropy:2", "distinct:2", "recursive:2,2"):
        (found,) = verify_recoded(path, roles, Policy(diversity=diversity).requirements(table.sensitive).claims)
        assert found.holds == mapped.satisfies(parse_diversity(diversity))


KNOWN = attributes | {"diagnosis": Attribute(Role.SENSITIVE, table.domain.hierarchy("diagnosis"))}


def claims(**policy: object) -> tuple[object, ...]:
    return Policy(**policy).requirements(("diagnosis",)).claims


@pytest.fixture
def swept(tmp_path: Path) -> Path:
    path = tmp_path / "swept.csv"
    sweep(table, "functional:0.5,2", k=4).frame().to_csv(path, index=False)
    return path


def test_a_changed_file_fails_and_names_the_class(swept: Path) -> None:
    frame = pd.read_csv(swept, dtype=str)
    assert all(found.holds for found in verify_recoded(swept, KNOWN, claims(k_link=4, diversity="functional:0.5,2")))
    first = frame.iloc[0]
    same = (frame["age"] == first["age"]) & (frame["sex"] == first["sex"])
    frame[~same | (frame.index == 0)].assign(count="1").to_csv(swept, index=False)
    size, diverse = verify_recoded(swept, KNOWN, claims(k_link=4, diversity="functional:0.5,2"))
    assert size.verdict is diverse.verdict is Verdict.FAILS
    assert diverse.worst_class.cell == {"age": first["age"], "sex": first["sex"]}
    (least,) = verify_recoded(swept, KNOWN, claims(min_cell=2))
    assert least.worst_class.count == 1


def test_what_lies_under_a_generalized_value_is_not_guessed(swept: Path) -> None:
    unknown = attributes | {"diagnosis": Attribute(Role.SENSITIVE, prefixes=(1,))}
    with pytest.raises(InputError, match="only the data would tell"):
        verify_recoded(swept, unknown, claims(diversity="functional:0.9,2"))


@pytest.mark.parametrize(("stars", "unlisted"), [(6, 0), (6, 3), (2, 0), (2, 1), (2, 9)])
def test_values_that_no_list_names_take_shares_from_all_others(tmp_path: Path, stars: int, unlisted: int) -> None:
    """What holds by the shown values holds however many more there are; what does not is undecided."""
    path = tmp_path / "one.csv"
    path.write_text(f"sex,diagnosis,count\nf,flu,4\nf,cold,1\nf,*,{stars}\n")
    flat = {"sex": Attribute(Role.QUASI_IDENTIFIER), "diagnosis": Attribute(Role.SENSITIVE)}
    requirement = Functional(Fraction(13, 20), 3)
    (found,) = verify_recoded(path, flat, claims(diversity="functional:0.65,3"))
    values = 2 + unlisted
    shares = [Fraction(count) + Fraction(stars, values) for count in (4, 1, *[0] * unlisted)]
    true = line_holds([share / (5 + stars) for share in shares], requirement)
    assert found.verdict in (Verdict.HOLDS, Verdict.UNDECIDED)
    assert true or not found.holds


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
    assert release.published.everything.margins == again.published.everything.margins
    assert release.verify().ok
    assert release.supports({"age": release.model.finest_levels["age"]}).kind == "published"
    assert release.supports(["sex", "diagnosis"]).kind == "published"
    with pytest.raises(NothingPublishableError, match="base table cannot be published"):
        marginals.publish(table, Policy(k_link=30, base=str(file), diversity="none"))


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
    attributes = {"sex": Attribute(Role.QUASI_IDENTIFIER), "region": Attribute(Role.QUASI_IDENTIFIER, REGIONS)}
    with pytest.raises(InputError, match="cannot be checked together with it"):
        marginals.publish(read_table(PEOPLE, attributes), Policy(k_link=2, base=str(file), diversity="none"))


def test_a_recoded_table_that_shows_each_column_at_one_level_is_a_base(file):
    coarse = read_table(
        generalized({"age": 2, "sex": 0, "diagnosis": 0}),
        {
            "age": Attribute(Role.QUASI_IDENTIFIER),
            "sex": Attribute(Role.QUASI_IDENTIFIER),
            "diagnosis": Attribute(Role.SENSITIVE),
        },
    )
    recoded = LocalRecoding.full_domain(coarse, {"age": 0, "sex": 0})
    recoded.frame().to_csv(file, index=False)
    assert published_base(coarse, file) == coarse.domain.mask({"age": 0, "sex": 0, "diagnosis": 0})
    release = marginals.publish(coarse, Policy(k_link=3, base=str(file), diversity="none")).release
    assert release.verify().ok
    assert release.supports(["age", "sex", "diagnosis"]).kind == "published"
