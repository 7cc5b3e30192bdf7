"""A published table is judged from its file alone: against the fractions of TZ09 Def. 4 for all values that may occur."""

from collections.abc import Iterator
from fractions import Fraction
from itertools import chain, combinations
from pathlib import Path

import pandas as pd
import pytest
from hypothesis import given

from checks import Functional, Verdict, parse_diversity
from marginals import Attribute, InputError, Policy, Role, Table
from marginals.errors import NothingPublishableError
from marginals.example import attributes, table
from marginals.recoding import hilbert, sweep, verify_recoded
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
