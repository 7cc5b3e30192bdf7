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
RDA = (
    'area 1 1\n  <RECODEABLE>\n  <TOTCODE> "Total"\nsex 3 3\n  <RECODEABLE>\n  <TOTCODE> "Total"\nn 7 1\n  <NUMERIC>\n'
)
ARB = '<SPECIFYTABLE> "area""sex"|"n"||\n<WRITETABLE> (1,5,SO+,"C:\\work\\t.tab")\n'
LEFT = {("A", "fem"): (0, 17), ("A", "m"): (3, 20), ("B", "fem"): (0, 17), ("B", "m"): (3, 20)}


def tau(folder: Path, frequency: str = ";{n}") -> Path:
    """A table as tau-ARGUS writes it: two margins of 60 people, and 4 cells withheld."""
    lines = [
        f'"{area}";"{sex}";{n}{frequency.format(n=n)};{n};{("U" if n < 5 else "M") if (area, sex) in HIDDEN else "S"};1;1'
        for (area, sex), n in COUNTS.items()
    ]
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "t.tab").write_text("\n".join(lines) + "\n")
    return folder / "t.tab"


def bounds(found: marginals.auditing.Audit) -> dict[tuple[str, ...], tuple[int, int]]:
    rows = found.bounds()
    labels = [name for name in rows.columns if name not in ("published", "least", "most", "verdict", "because")]
    return {tuple(row[name] for name in labels): (row["least"], row["most"]) for row in rows.to_dict("records")}


@pytest.mark.parametrize("frequency", [";{n}", ""], ids=["magnitudes", "frequencies"])
@pytest.mark.parametrize("beside", [{}, {"m.rda": RDA}, {"b.arb": ARB}, {"m.rda": RDA, "b.arb": ARB}], ids=str)
def test_tables_of_tau_argus_withhold_by_their_status(tmp_path: Path, frequency: str, beside: dict[str, str]) -> None:
    table = tau(tmp_path, frequency)
    for name, text in beside.items():
        (tmp_path / name).write_text(text)
    found = audit(table)
    assert bounds(found) == LEFT
    names = [c.name for c in found.parts[0].linked.classifications]
    assert names == (["area", "sex"] if beside else ["code 1 of t", "code 2 of t"])
    assert not found.ok
    assert "must not be published" in found.not_examined[0].sentence


def test_the_hierarchy_of_tau_argus_says_which_codes_are_sums(tmp_path: Path) -> None:
    rows = [("Total", 60, "S"), ("N", 30, "S"), ("N1", 28, "M"), ("N2", 2, "U"), ("S", 30, "S"), ("S1", 11, "S")]
    (tmp_path / "t.tab").write_text(
        "".join(f'"{code}";{n};{n};{n};{s};1;1\n' for code, n, s in [*rows, ("S2", 19, "S")])
    )
    (tmp_path / "r.hrc").write_text("N\n@N1\n@N2\nS\n@S1\n@S2\n")
    rda = 'area 1 2\n  <RECODEABLE>\n  <TOTCODE> "Total"\n  <HIERARCHICAL>\n  <HIERCODELIST> "/home/x/r.hrc"\n'
    (tmp_path / "m.rda").write_text(rda + '  <HIERLEADSTRING> "@"\n')
    assert bounds(audit(tmp_path)) == {("N1",): (0, 30), ("N2",): (0, 30)}


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


def test_several_lines_of_a_header_of_pandas(tmp_path: Path) -> None:
    rows = [(area, sex, age, 9 + n) for n, (area, sex, age) in enumerate(
        (area, sex, age) for area in "ABC" for sex in "fm" for age in ("0-17", "18+"))]  # fmt: skip
    table = pd.DataFrame(rows, columns=["area", "sex", "age", "n"])
    crossed = pd.crosstab(table["area"], [table["sex"], table["age"]], table["n"], aggfunc="sum", margins=True)
    crossed.iloc[0, 0] = None
    crossed.to_csv(tmp_path / "t.csv")
    (row,) = audit(tmp_path / "t.csv").bounds().to_dict("records")
    assert (row["area"], row["sex"], row["age"], row["least"], row["most"]) == ("A", "f", "0-17", 9, 9)


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


CELLS = [("1", "a", "x", 9, "P"), ("2", "a", "y", 3, "X"), ("3", "a", "Tot_Cla", 12, "X"), ("4", "b", "x", 8, "P"),
         ("5", "b", "y", 6, "P"), ("6", "b", "Tot_Cla", 14, "P"), ("7", "Tot_Reg", "x", 17, "P"),
         ("8", "Tot_Reg", "y", 9, "P"), ("9", "Tot_Reg", "Tot_Cla", 26, "P")]  # fmt: skip
SUMS = [("1", "2", "3"), ("4", "5", "6"), ("7", "8", "9"), ("1", "4", "7"), ("2", "5", "8"), ("3", "6", "9")]


@pytest.mark.parametrize("has_labels", [True, False])
@pytest.mark.parametrize("sign", [1, -1])
def test_the_constraints_of_g_confid_say_which_cells_are_sums(tmp_path: Path, has_labels: bool, sign: int) -> None:
    names = "CellId,region,class,TotalNoise,Size,Sensitivity,Status,Type,OutStatus,NetVariation"
    cells = [(f"{i}.0", a, b, f"{n}.0", f"{n}.0", -1, "V", "C", s, 0) for i, a, b, n, s in CELLS]
    table = pd.DataFrame(cells, columns=names.split(","))
    (table if has_labels else table.drop(columns=["region", "class"])).to_csv(tmp_path / "out.csv", index=False)
    sums = [(n, cell, -sign if cell == line[-1] else sign) for n, line in enumerate(SUMS) for cell in line]
    pd.DataFrame(sums, columns=["ConstraintId", "CellId", "Coefficient"]).to_csv(tmp_path / "con.csv", index=False)
    for tables in (tmp_path, tmp_path / "out.csv"):
        labels = [("a, Tot_Cla",), ("a, y",)] if has_labels else [("no. 3",), ("no. 2",)]
        assert bounds(audit(tables)) == {labels[0]: (12, 12), labels[1]: (3, 3)}
    text = (tmp_path / "con.csv").read_text()
    (tmp_path / "con.csv").write_text(text + "9,1,1\n9,5,1\n9,7,-1\n")
    with pytest.raises(InputError, match="without common parts"):
        audit(tmp_path)
    (tmp_path / "con.csv").write_text(text.replace(f"0,1,{sign}", f"0,1,{2 * sign}"))
    with pytest.raises(InputError, match="coefficient"):
        audit(tmp_path)


def acro(folder: Path, mitigation: str) -> Path:
    """A folder as ACRO writes it: a table of counts, one of means, and a summary."""
    (folder / "output_0_0.csv").write_text("area,f,m,All\nA,,12,12\nB,,14,14\nC,11,,11\nAll,11,26,37\n")
    (folder / "output_1_0.csv").write_text("area,f,m\nA,,97.25\nB,,96.5\n")
    (folder / "session_summary.csv").write_text("uid\noutput_0\n")
    results = {
        f"output_{n}": {
            "type": kind,
            "properties": {"method": "crosstab", "mitigation": mitigation},
            "files": [{"name": name}],
        }
        for n, (kind, name) in enumerate(
            [("table", "output_0_0.csv"), ("table", "output_1_0.csv"), ("custom", "own.txt")]
        )
    }
    results["summary"] = {"type": "custom", "properties": {}, "files": [{"name": "session_summary.csv"}]}
    (folder / "own.txt").write_text("own")
    (folder / "results.json").write_text(json.dumps({"version": "1.0.2", "results": results}, indent=4))
    return folder


def test_nothing_follows_from_the_totals_of_what_acro_suppressed(tmp_path: Path) -> None:
    found = audit(acro(tmp_path, "suppress"))
    (part,) = found.parts
    assert (part.linked.names[0], part.facts) == ("output_0_0.csv", ())
    assert {each.table for each in found.not_examined if each.code == "table"} == {"output_1_0.csv", "own.txt"}
    assert not found.ok
    assert len(found.bounds()) == 3
    (tmp_path / "output_0_0.csv").unlink()
    with pytest.raises(InputError, match="not in its folder"):
        audit(tmp_path)
    (tmp_path / "results.json").write_text("[]")
    with pytest.raises(InputError, match="no list of outputs"):
        audit(tmp_path)


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
