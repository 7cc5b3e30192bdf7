"""Tables about people: rows become records, and people are found again in other tables by their identifier."""

import numpy as np
import pandas as pd
import pytest

import marginals
from checks import RecordSpace
from marginals.risk import PeopleTable
from models import Domain, Hierarchy

SPACE = RecordSpace(
    Domain.of(
        {
            "age": Hierarchy.from_rows([["1", "low", "*"], ["2", "low", "*"], ["3", "high", "*"]]),
            "town": Hierarchy.flat(["A", "B"]),
        }
    )
)


def people(**columns: list[object]) -> PeopleTable:
    return PeopleTable("people.csv", pd.DataFrame(columns), "id" if "id" in columns else None)


def test_labels_of_any_level_and_missing_values_are_records() -> None:
    table = people(age=["1", "high", "", "*", None])
    assert table.records(SPACE).labels()["age"].tolist() == ["1", "high", "*", "*", "*"]
    assert table.records(SPACE).labels()["town"].tolist() == ["*"] * 5


def test_of_equal_labels_the_lowest_is_meant() -> None:
    space = RecordSpace(Domain.of({"x": Hierarchy.from_rows([["a", "a", "*"], ["b", "a", "*"]])}))
    assert people(x=["a"]).records(space).levels.tolist() == [[0]]


def test_a_label_of_no_level_is_named_by_its_row_alone() -> None:
    with pytest.raises(marginals.InputError, match=r"column 'age' of people\.csv: the value in row 2") as refusal:
        people(age=["1", "secret"]).records(SPACE)
    assert "secret" not in str(refusal.value)


def test_people_are_matched_by_identifier() -> None:
    here, there = people(id=["x", "y", "z"]), people(id=["z", "stranger", "x"])
    assert here.rows_about(there).tolist() == [2, -1, 0]
    assert here.rows_about(people(id=[])).tolist() == []


@pytest.mark.parametrize(
    ("here", "there", "said"),
    [
        (people(id=["x"]), people(age=["1"]), "has no column that identifies people"),
        (people(age=["1"]), people(id=["x"]), "has no column 'id', which identifies people"),
        (people(id=["x", "x"]), people(id=["x"]), "must name each person once"),
        (people(id=["x"]), people(id=["x", None]), "must name each person once"),
    ],
)
def test_people_without_an_identifier_of_their_own_are_refused(
    here: PeopleTable, there: PeopleTable, said: str
) -> None:
    with pytest.raises(marginals.InputError, match=said):
        here.rows_about(there)


def test_views_of_the_same_rows_need_no_identifier() -> None:
    rows = marginals.read_rows(pd.DataFrame({"town": ["A", "B", "A"], "ill": ["f", "g", "f"]}), ROLES)
    everything, known = PeopleTable.of_rows(rows), PeopleTable.of_quasi_identifiers(rows)
    assert known.rows_about(everything).tolist() == [0, 1, 2]
    assert list(known.frame.columns) == ["town"]
    assert np.array_equal(known.shared_columns(["ill", "town"]), ["town"])


ROLES = {"town": "quasi-identifier", "ill": "sensitive"}


def test_the_values_of_a_column() -> None:
    table = people(town=["A", "*", "", "A", "B"])
    assert table.values("town") == ("A", "B")
    assert table.values("age") == ()
