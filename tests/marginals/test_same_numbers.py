"""What programs write numbers as, from the file to the answer: R, pandas, spreadsheets, and commas before fractions."""

import json
import tomllib
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import marginals
from command_line import output
from marginals import Attribute, Policy, publish, read_table

CROSSED = "ward,f,m\nE,{},6\nN,{},16\nS,,20\nAll,{},42\n"


def test_r_writes_large_round_numbers_in_its_own_way(tmp_path: Path) -> None:
    """A query for >= 60000 once left out the rows with 1e+05 and 2e+05, and called the rest exact."""
    rng = np.random.default_rng(4)
    pay = rng.choice(["50000", "75000", "1e+05", "120000", "2e+05"], 400)
    frame = pd.DataFrame({"pay": pay, "sex": rng.choice(["f", "m"], 400), "dx": rng.choice(["flu", "acne"], 400)})
    frame.to_csv(tmp_path / "people.csv", index=False)
    wanted = int((frame["pay"].astype(float) >= 60000).sum())
    (tmp_path / "release.toml").write_text(
        '[data]\npath = "people.csv"\nreviewed = true\n[attributes.pay]\nrole = "quasi-identifier"\nladder = "fitted"\n'
        '[attributes.sex]\nrole = "quasi-identifier"\n[attributes.dx]\nrole = "sensitive"\n'
        '[privacy]\nk_link = 5\ndiversity = "none"\n',
        encoding="utf-8",
    )
    output("publish", tmp_path / "release.toml", "--out", tmp_path / "out")
    for query, rows in (("pay>=60000", wanted), ("pay=1e+05", int((frame["pay"] == "1e+05").sum()))):
        answer = json.loads(output("query", tmp_path / "out", query, "--json"))
        assert (answer["lower"], answer["upper"]) == (rows, rows)
    text = (tmp_path / "release.toml").read_text(encoding="utf-8")
    (tmp_path / "part.toml").write_text(text.replace("[data]", '[data]\nwhere = "pay >= 60000"', 1), encoding="utf-8")
    assert f"of {wanted} rows where pay >= 60000" in output(
        "publish", tmp_path / "part.toml", "--out", tmp_path / "part"
    )


def test_what_cannot_be_judged_is_said_with_bounds(tmp_path: Path) -> None:
    pay = ["50000"] * 40 + ["1e+05"] * 30 + ["refused"] * 20 + ["unknown"] * 10
    frame = pd.DataFrame({"pay": pay, "dx": ["flu", "acne"] * 50})
    table = read_table(frame, {"pay": "quasi-identifier", "dx": "sensitive"})
    publish(table, Policy(k_link=5, diversity="none")).write(tmp_path / "out")
    answer = json.loads(output("query", tmp_path / "out", "pay>=60000", "--json"))
    assert (answer["lower"], answer["upper"], answer["exact"]) == (30, 60, False)
    assert answer["unjudged"] == [{"attribute": "pay", "values": ["refused", "unknown"], "rows": 30}]


def test_thousands_with_commas_are_numbers_and_nobody_is_left_out(tmp_path: Path) -> None:
    """Numbers such as 1,234 were once taken for the key of a person, and 31 people were left out."""
    rng = np.random.default_rng(5)
    pay = np.where(rng.random(400) < 0.4, rng.integers(600, 999, 400), rng.integers(1000, 20000, 400))
    frame = pd.DataFrame({"pay": [f"{n:,}" for n in pay], "sex": rng.choice(["f", "m"], 400)})
    frame = frame.assign(dx=rng.choice(["flu", "cold"], 400), age=rng.choice(["31", "45", "NA", ""], 400))
    frame.to_csv(tmp_path / "people.csv", index=False)
    path = tmp_path / "release.toml"
    shown = output("init", tmp_path / "people.csv", "--out", path)
    config = tomllib.loads(path.read_text())
    assert "person" not in config["data"]
    assert config["attributes"]["pay"]["intervals"]
    assert "0 rows are left out" in path.read_text()
    empty, na = (int((frame["age"] == mark).sum()) for mark in ("", "NA"))
    for text in (shown, path.read_text()):
        assert f"{empty} empty, {na} 'NA'" in text
        assert "The numbers of pay are read with a decimal point, a comma between thousands" in text


def test_groups_of_numbers_with_a_decimal_comma_are_called_as_those_with_a_point() -> None:
    """They were once called after the values in them, `4488,81, 3076,93 and others`, for the comma was read as none."""
    rng = np.random.default_rng(6)
    pay = np.round(rng.normal(9000, 2500, 500), 2)
    plain = pd.DataFrame({"pay": pay, "dx": rng.choice(["flu", "cold"], 500)})
    german = plain.assign(pay=[f"{n:.2f}".replace(".", ",") for n in pay])
    attributes = {"pay": Attribute("quasi-identifier", ladder="fitted"), "dx": Attribute("sensitive")}
    policy = Policy(k_link=20, diversity="none")
    tables = [read_table(plain, attributes, k=20), read_table(german, attributes, k=20, decimal=",")]
    releases = [publish(table, policy).release for table in tables]
    labels = [release.domain.hierarchy("pay").labels for release in releases]
    assert labels[0] == labels[1]
    assert labels[0][0][0].startswith("under ")
    assert not any("," in label for label in labels[1][0])


@pytest.mark.parametrize("texts", [("6.0", "15.0", "23.0"), ("6", "15", "23"), ("6,0", "15,0", "23,0")])
def test_counts_that_pandas_made_floats_are_counts(texts: tuple[str, ...], tmp_path: Path) -> None:
    """A gap among whole numbers makes them floats; such a column was once left out as one of percentages."""
    crossed = CROSSED.format(*texts) if "," not in texts[0] else CROSSED.replace(",", ";").format(*texts)
    (tmp_path / "t.csv").write_text(crossed, encoding="utf-8")
    found = marginals.audit(tmp_path / "t.csv")
    [part] = found.parts
    [fact] = part.facts
    assert (part.linked.named(fact.cell), fact.proven) == ({"ward": "S", "sex": "f"}, (2, 2))
    assert not any("column" in each.sentence for each in found.not_examined)


def test_a_column_that_is_left_out_of_an_audit_is_named_with_the_reason(tmp_path: Path) -> None:
    table = "area,f,m,share\nA,12,8,60.5\nB,8,*,44.4\nAll,20,18,52.6\n"
    (tmp_path / "t.csv").write_text(table, encoding="utf-8")
    found = marginals.audit(tmp_path / "t.csv")
    (sentence,) = (each.sentence for each in found.not_examined if each.key == "share")
    assert sentence in output("audit", tmp_path / "t.csv", status=0 if found.ok else 1)


@pytest.mark.parametrize("mark", ["*", "-", "<5", "c", "..", "n/a", "\u2013", ""])
@pytest.mark.parametrize("total", ["1,234", "1 234", "1'234", "1.234.000", "1234.0", "1\u00a0234"])
def test_suppressed_cells_and_thousands_stand_together(mark: str, total: str, tmp_path: Path) -> None:
    (tmp_path / "t.csv").write_text(f"area;f;m\nA;{total};{mark}\nB;12;14\n", encoding="utf-8")
    [part] = marginals.audit(tmp_path / "t.csv").parts
    count = 1_234_000 if total.count(".") > 1 else 1234
    assert count in part.linked.lower[part.linked.is_published].tolist()


def test_publish_says_how_numbers_are_read_and_how_many_values_are_none(tmp_path: Path) -> None:
    pay = ["1,000"] * 20 + ["2,500"] * 20 + ["refused"] * 9
    frame = pd.DataFrame({"pay": pay, "age": ["31.0"] * 49, "dx": ["flu", "acne"] * 24 + ["flu"]})
    frame.to_csv(tmp_path / "people.csv", index=False)
    roles = "".join(f'{name}.role = "quasi-identifier"\n' for name in frame)
    data = f'[data]\npath = "people.csv"\nrows_per_person = 1\n[attributes]\n{roles}'
    (tmp_path / "release.toml").write_text(data + "[privacy]\nk_link = 5\n")
    said = output("publish", tmp_path / "release.toml", "--out", tmp_path / "out")
    assert "The numbers of pay are read with a decimal point" in said
    assert "pay is no number in few rows" in said
    assert "of age" not in said
