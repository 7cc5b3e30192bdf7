"""Parts of a table as releases: by themselves, and in the ledger of the whole."""

import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import marginals
from command_line import run
from marginals import InputError

POLICY = marginals.Policy(k_link=5, k_combinatorial=5, diversity="distinct:2", base="none", max_waiting=1)
ATTRIBUTES = {
    "age": marginals.Attribute("quasi-identifier", intervals=[5, 15, 45]),
    "sex": marginals.Attribute("quasi-identifier"),
    "ward": marginals.Attribute("quasi-identifier"),
    "ill": marginals.Attribute("sensitive"),
}


def people(number: int, seed: int = 1) -> pd.DataFrame:
    rng = np.random.default_rng(seed)
    columns = {"age": rng.integers(15, 75, number), "sex": rng.choice(["f", "m"], number)}
    return pd.DataFrame(
        {**columns, "ward": rng.choice(list("abcd"), number), "ill": rng.choice(["flu", "gout", "none"], number)}
    )


def table(frame: pd.DataFrame, where: str | None = None, **options: object) -> marginals.Table:
    part = None if where is None else marginals.Part(where)
    return marginals.read_table(frame, ATTRIBUTES, where=part, **options)  # type: ignore[arg-type]


def listed(ledger: Path) -> list[dict[str, object]]:
    return list(json.loads(run("ledger", ledger, "--json").stdout)["releases"])


def cells(folder: Path) -> list[tuple[dict[str, int], pd.DataFrame]]:
    package = json.loads((folder / "datapackage.json").read_text())
    marginal = [each for each in package["resources"] if "marginal" in each]
    return [(each["marginal"]["levels"], pd.read_csv(folder / each["path"], dtype=str)) for each in marginal]


def test_without_a_ledger_a_part_is_the_table_of_its_rows(tmp_path: Path) -> None:
    frame = people(400)
    part = table(frame, "age >= 30 and sex == 'f'")
    alone = table(frame[(frame.age >= 30) & (frame.sex == "f")])
    assert list(part.counts.cells()) == list(alone.counts.cells())
    assert part.whole.rows == 400
    release = marginals.publish(part, POLICY).release
    assert release.published.everything.margins == marginals.publish(alone, POLICY).release.published.everything.margins
    release.write(tmp_path / "part")
    stated = json.loads((tmp_path / "part/datapackage.json").read_text())["release"]
    assert stated["where"] == "age >= 30 and sex == 'f'"
    assert marginals.verify(tmp_path / "part").ok
    assert "age &gt;= 30 and sex == " in (tmp_path / "part/report.html").read_text()
    assert "where age >= 30" in repr(marginals.open_release(tmp_path / "part"))


@pytest.mark.parametrize("fitted", [False, True])
def test_beside_a_ledger_a_part_is_some_cells_of_a_release_of_everybody(fitted: bool, tmp_path: Path) -> None:
    frame = people(600)
    attributes = (
        ATTRIBUTES | {"age": marginals.Attribute("quasi-identifier", ladder="fitted")} if fitted else ATTRIBUTES
    )
    of_part = marginals.read_table(frame, attributes, where=marginals.Part("age >= 30"), k=5)
    marginals.publish(of_part, POLICY, ledger=tmp_path / "ledger").write(tmp_path / "part")
    (entry,) = listed(tmp_path / "ledger")
    assert entry["where"] == "age >= 30"
    assert entry["rows"] == (frame.age >= 30).sum()
    assert all("age" in levels for levels, _ in cells(tmp_path / "part"))
    marginals.publish(marginals.read_table(frame, attributes, k=5), POLICY, ledger=tmp_path / "ledger").write(
        tmp_path / "all"
    )
    whole = [rows for _, rows in cells(tmp_path / "all")]
    for _, rows in cells(tmp_path / "part"):
        same = next(each for each in whole if set(each) == set(rows))
        merged = rows.merge(same, how="left", on=[name for name in rows if name != "count"])
        assert (merged.count_x == merged.count_y).all()
    for folder in ("part", "all"):
        assert marginals.verify(tmp_path / folder).ok
    assert marginals.verify(tmp_path / "part", tmp_path / "all").ok


def test_two_parts_without_a_ledger_are_judged_by_their_difference(tmp_path: Path) -> None:
    frame = pd.DataFrame(
        {"sex": ["f"] * 30 + ["m"] * 22, "ill": ["gout"] * 10 + ["flu"] * 20 + ["gout"] * 2 + ["flu"] * 20}
    )
    attributes = dict.fromkeys(frame, "quasi-identifier")
    policy = marginals.Policy(k_link=5, base="none", must_not_publish=[{"sex": 0}], diversity="none")
    for name, where in (("all", None), ("women", marginals.Part("sex == 'f'"))):
        marginals.publish(marginals.read_table(frame, attributes, where=where), policy).write(tmp_path / name)
    found = marginals.verify(tmp_path / "all", tmp_path / "women").checks[-1]
    assert (found.criterion, found.verdict.value) == ("difference", "fails")
    assert "(all; sex == 'f')" in found.note
    (change,) = marginals.attack(tmp_path / "all", tmp_path / "women").changes
    assert change.parts


def test_parts_of_the_same_size_are_not_taken_for_one_table(tmp_path: Path) -> None:
    frame = pd.DataFrame({"sex": list("fm") * 20, "ward": ["a", "a", "b", "b"] * 10})
    policy = marginals.Policy(k_link=5, base="none", diversity="none")
    for name, where in (("women", "sex == 'f'"), ("a", "ward == 'a'")):
        read = marginals.read_table(frame, dict.fromkeys(frame, "quasi-identifier"), where=marginals.Part(where))
        marginals.publish(read, policy).write(tmp_path / name)
    assert marginals.verify(tmp_path / "women", tmp_path / "a").checks[-1].criterion == "difference"


def test_a_part_that_no_margin_of_the_ledger_tells_is_refused(tmp_path: Path) -> None:
    policy = replace(POLICY, must_not_publish=[{"sex": 0}])
    marginals.publish(table(people(300)), policy, ledger=tmp_path / "ledger").write(tmp_path / "all")
    with pytest.raises(InputError, match="sex:0"):
        marginals.publish(table(people(300), "sex == 'f'"), policy, ledger=tmp_path / "ledger")


def test_missing_values_and_people_are_settled_before_the_part() -> None:
    frame = pd.DataFrame(
        {
            "id": ["1", "1", "2", "3", "3", "4"],
            "age": ["20", "40", "40", "40", "40", ""],
            "sex": ["f"] * 6,
            "ward": ["a"] * 6,
            "ill": ["flu"] * 6,
        }
    )
    first = table(frame, "age >= 30", person="id", one_row="first")
    assert (first.rows, first.missing, first.whole.rows, first.whole.most_rows_of_a_person) == (2, 1, 3, 1)
    several = table(frame, "age >= 30", person="id", rows_per_person=2)
    assert (several.rows, several.whole.rows, several.most_rows_of_a_person) == (4, 5, 2)


def test_rows_one_by_one_are_refused() -> None:
    source = marginals.TableSource(origin=people(50), attributes=ATTRIBUTES, where=marginals.Part("sex=f"))
    with pytest.raises(InputError, match=r"data\.where is for tables of counts"):
        source.rows()
