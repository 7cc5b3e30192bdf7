"""What programs write numbers as, from the file to the answer: R, pandas, spreadsheets, and commas before fractions."""

import json
import tomllib
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import marginals
from command_line import output
from marginals import Policy, publish, read_table


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
    shown = output("init", tmp_path / "people.csv", "--out", path, "--verbose")
    config = tomllib.loads(path.read_text())
    assert "person" not in config["data"]
    assert config["attributes"]["pay"]["intervals"]
    assert "0 rows are left out" in path.read_text()
    empty, na = (int((frame["age"] == mark).sum()) for mark in ("", "NA"))
    for text in (shown, path.read_text()):
        assert f"{empty} empty, {na} 'NA'" in text


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
