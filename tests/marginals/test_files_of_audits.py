"""Files, folders and frames that an audit takes, as programs write them; and the table of bounds that it gives."""

import json
from pathlib import Path

import pandas as pd
import polars as pl
import pytest

import marginals
from command_line import run
from marginals import InputError, audit

CODES = [("Total", "Total"), ("Total", "  m"), ("Total", "fem"), ("A", "Total"), ("A", "  m"), ("A", "fem")]
CODES += [("B", "Total"), ("B", "  m"), ("B", "fem"), ("C", "Total"), ("C", "  m"), ("C", "fem")]
COUNTS = dict(zip(CODES, (60, 30, 30, 20, 18, 2, 20, 5, 15, 20, 7, 13)))
HIDDEN = {("A", "  m"), ("A", "fem"), ("B", "  m"), ("B", "fem")}
LEFT = {("A", "fem"): (0, 17), ("A", "m"): (3, 20), ("B", "fem"): (0, 17), ("B", "m"): (3, 20)}


def bounds(found: marginals.auditing.Audit) -> dict[tuple[str, ...], tuple[int, int]]:
    rows = found.bounds()
    labels = [name for name in rows.columns if name not in ("published", "least", "most", "verdict", "because")]
    return {tuple(row[name] for name in labels): (row["least"], row["most"]) for row in rows.to_dict("records")}


def frame() -> pd.DataFrame:
    rows = [(a.strip(), s.strip(), None if (a, s) in HIDDEN else n) for (a, s), n in COUNTS.items()]
    return pd.DataFrame(rows, columns=["area", "sex", "people"])


def test_parquet_frames_lists_and_folders_are_the_same_table(tmp_path: Path) -> None:
    table = frame()
    crossed = table.pivot(index="area", columns="sex", values="people")
    table.to_parquet(tmp_path / "t.parquet")
    crossed.to_parquet(tmp_path / "crossed.parquet")
    (tmp_path / "folder").mkdir()
    table.to_csv(tmp_path / "folder" / "t.csv", index=False)
    (tmp_path / "folder" / "notes.json").write_text("{}")
    for tables in (
        table, crossed, table.set_index(["area", "sex"]), pl.from_pandas(table), pl.from_pandas(table).lazy(),
        [table], tmp_path / "t.parquet", str(tmp_path / "crossed.parquet"), tmp_path / "folder", [tmp_path / "folder"],
    ):  # fmt: skip
        assert bounds(audit(tables)) == LEFT
    assert len(audit([table, crossed]).parts[0].linked.names[:2]) == 2
    with pytest.raises(InputError, match="a spec names its tables by their files"):
        audit(table, spec=tmp_path / "audit.toml")
    (tmp_path / "empty").mkdir()
    with pytest.raises(InputError, match="has no tables"):
        audit(tmp_path / "empty")
    (tmp_path / "broken.parquet").write_bytes(b"PAR1 and nothing else")
    with pytest.raises(InputError, match=r"broken\.parquet"):
        audit(tmp_path / "broken.parquet")


SDMX = """DATAFLOW,FREQ,GEO,SEX,TIME_PERIOD,OBS_VALUE,OBS_STATUS,CONF_STATUS,UNIT_MULT,DECIMALS
X:F(1.0),A,_T,_T,2020,33,A,F,0,0
X:F(1.0),A,_T,F,2020,17,A,F,0,0
X:F(1.0),A,_T,M,2020,16,A,F,0,0
X:F(1.0),A,R1,_T,2020,14,A,F,0,0
X:F(1.0),A,R1,F,2020,{f},A,C,0,0
X:F(1.0),A,R1,M,2020,{m},A,D,0,0
X:F(1.0),A,R2,_T,2020,19,A,F,0,0
X:F(1.0),A,R2,F,2020,10,A,F,0,0
X:F(1.0),A,R2,M,2020,9,A,F,0,0
"""


@pytest.mark.parametrize(("f", "m"), [("", ""), ("7", "7")], ids=["withheld", "raw"])
@pytest.mark.parametrize("start", ["DATAFLOW", "STRUCTURE,STRUCTURE_ID,ACTION"])
def test_sdmx_csv_withholds_by_its_statuses(tmp_path: Path, f: str, m: str, start: str) -> None:
    text = SDMX.format(f=f, m=m)
    if start != "DATAFLOW":
        text = text.replace("DATAFLOW", start).replace("X:F(1.0)", "dataflow,X:F(1.0),I")
    (tmp_path / "t.csv").write_text(text)
    found = audit(tmp_path / "t.csv")
    (part,) = found.parts
    facts = {tuple(part.linked.named(fact.cell)[name] for name in ("GEO", "SEX")): fact.proven for fact in part.facts}
    assert facts == {("R1", "F"): (7, 7), ("R1", "M"): (7, 7)}
    assert any(each.code == "revealed" for each in found.not_examined) == bool(f)
    (tmp_path / "k.csv").write_text(text.replace(",0,0\n", ",3,0\n"))
    with pytest.raises(InputError, match="UNIT_MULT"):
        audit(tmp_path / "k.csv")


@pytest.mark.parametrize(
    ("files", "program"),
    [
        ({"t.tab": '"A";"x";9;9;9;S;1;1\n"A";"y";3;3;3;U;1;1\n'}, "tau-ARGUS"),
        ({"out.csv": "CellId,region,TotalNoise,OutStatus\n1,a,9,P\n2,b,3,X\n"}, "G-Confid"),
        ({"con.csv": "ConstraintId,CellId,Coefficient\n1,1,1\n1,2,-1\n"}, "G-Confid"),
        ({"output_0_0.csv": "area,f,m,All\nA,,12,12\nAll,,12,12\n", "results.json": "{}"}, "ACRO"),
    ],
)
def test_formats_with_names_or_sums_in_other_files_are_refused(
    tmp_path: Path, files: dict[str, str], program: str
) -> None:
    for name, text in files.items():
        (tmp_path / name).write_text(text)
    with pytest.raises(InputError, match=program):
        audit(*([tmp_path / "t.tab"] if "t.tab" in files else [tmp_path]))


def test_nothing_follows_from_the_totals_of_what_acro_suppressed(tmp_path: Path) -> None:
    (tmp_path / "output_0_0.csv").write_text("area,f,m,All\nA,,12,12\nB,,14,14\nC,11,,11\nAll,11,26,37\n")
    found = audit(tmp_path / "output_0_0.csv")
    assert found.parts[0].facts == ()
    assert not found.ok


def test_bounds_are_written_as_csv_and_json(tmp_path: Path) -> None:
    table = tmp_path / "t.csv"
    frame().to_csv(table, index=False)
    answers = [run("audit", table, "--bounds", tmp_path / name) for name in ("b.csv", "b.json")]
    assert [answer.exit_code for answer in answers] == [0, 0], answers[0].output
    listed = json.loads((tmp_path / "b.json").read_text())
    assert {(row["area"], row["sex"]): (row["least"], row["most"]) for row in listed} == LEFT
    written = pd.read_csv(tmp_path / "b.csv")
    assert written["most"].tolist() == [row["most"] for row in listed]
    assert {*written["verdict"]} == {"protected", "exists"}
    assert all("sex" in text for text in written["because"])
    assert "4 withheld" in answers[0].output
    refused = run("audit", table, "--protection", 100)
    assert (refused.exit_code, "--bounds FILE" in refused.output) == (2, True)
    again = run("audit", table, "--bounds", tmp_path / "b.csv")
    assert (again.exit_code, "--force" in again.output) == (2, True)
