"""Tables that pytauargus, G-Confid and ACRO protect are read as they write them; every bound is that of an integer program.

The programs are installed into an environment of their own: `make nightly`. What they cannot do is the reason of a skip.
"""

import json
import os
import subprocess
import venv
from pathlib import Path

import numpy as np
import pytest
from scipy.optimize import Bounds, LinearConstraint, milp

from marginals import audit

PROTECT = """
import json, os, sys
import numpy as np, pandas as pd
import statsmodels.api as sm

folder, program = sys.argv[1:]
os.makedirs(folder, exist_ok=True)
os.chdir(folder)
data = sm.datasets
fair, anes, health = (getattr(data, name).load_pandas().data for name in ("fair", "anes96", "randhie"))
tables = {
    "fair": (fair.occupation.astype(int), fair.educ.astype(int)),
    "anes": (anes.PID.astype(int), anes.educ.astype(int)),
    "health": (health.mdvis.clip(0, 14).astype(int), health.disea.clip(0, 40).floordiv(6).astype(int)),
}
truth = {}
for name, (rows, columns) in tables.items():
    frame = pd.DataFrame({"first": "r" + rows.astype(str), "second": "c" + columns.astype(str), "people": 1.0})
    if program == "pytauargus":
        from pytauargus import protect
        result = protect(frame, ["first", "second"], "people", "FREQ(5,30)", "OPT(1)", workdir=name).tables[0]
        cells = [(row["first"].strip(), row["second"].strip(), int(row["people"]), row["status"] in "UM")
                 for row in result.rows]
        result.to_parquet(f"{name}/table.parquet")
    elif program == "gconfid":
        import gconfid
        full = pd.crosstab(frame["first"], frame["second"], margins=True, margins_name="Total")
        ids = np.arange(1, full.size + 1).reshape(full.shape)
        incell = pd.DataFrame([
            {"CellId": int(ids[i, j]), "first": row, "second": column, "TotalNoise": float(full.iloc[i, j]),
             "Size": float(full.iloc[i, j]), "Sensitivity": 1.0 if 1 <= full.iloc[i, j] <= 4 else -1.0, "Type": "C",
             "Status": "S" if 1 <= full.iloc[i, j] <= 4 else "V"}
            for i, row in enumerate(full.index) for j, column in enumerate(full.columns) if full.iloc[i, j]])
        lines = [*ids, *ids.T]
        constraints = pd.DataFrame([
            {"ConstraintId": number + 1, "CellId": int(cell), "Coefficient": -1.0 if cell == line[-1] else 1.0}
            for number, line in enumerate(lines) for cell in line if cell in set(incell.CellId)])
        out = gconfid.Suppression(incell=incell, inconstraint=constraints).outsuppress.to_pandas()
        os.makedirs(name)
        out.to_csv(f"{name}/outsuppress.csv", index=False)
        constraints.to_csv(f"{name}/inconstraint.csv", index=False)
        cells = [(row["first"], row["second"], int(row["TotalNoise"]), row["OutStatus"] == "X") for _, row in out.iterrows()]
    else:
        from acro import ACRO
        acro = ACRO(suppress=True)
        acro.crosstab(frame["first"], frame["second"], margins=True)
        acro.finalise(name)
        shown = pd.read_csv(f"{name}/output_0_0.csv", index_col=0)
        full = pd.crosstab(frame["first"], frame["second"])
        cells = [(row, column, int(full.loc[row, column]), bool(pd.isna(shown.loc[row, column])))
                 for row in full.index for column in full.columns]
    truth[name] = cells
with open("truth.json", "w") as file:
    json.dump(truth, file)
"""


@pytest.fixture(scope="module")
def python(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """An interpreter that has the programs."""
    folder = tmp_path_factory.mktemp("programs")
    venv.create(folder, with_pip=True)
    found = folder / ("Scripts" if os.name == "nt" else "bin") / "python"
    packages = ["pytauargus==0.6.0", "gconfid==2.0.4", "acro==1.0.2", "pyarrow"]
    done = subprocess.run([found, "-m", "pip", "install", "-q", *packages], capture_output=True, text=True)
    if done.returncode:
        pytest.skip(f"the programs cannot be installed here: {done.stderr.strip()[-200:]}")
    return found


def extremes(cells: list[tuple[str, str, int, bool]]) -> dict[tuple[str, str], tuple[int, int | None]]:
    """The least and the largest count of each withheld cell, by an integer program over the inner cells of the table."""
    rows, columns = (sorted({cell[n] for cell in cells} - {"Total"}) for n in (0, 1))
    number = {key: n for n, key in enumerate((row, column) for row in rows for column in columns)}

    def inner(first: str, second: str) -> np.ndarray:
        weights = np.zeros(len(number))
        for row, column in number:
            weights[number[row, column]] = first in (row, "Total") and second in (column, "Total")
        return weights

    listed = {(first, second) for first, second, _, _ in cells}
    shown = [(inner(first, second), count) for first, second, count, hidden in cells if not hidden]
    shown += [(inner(*key), 0) for key in number if key not in listed]
    constraints = [LinearConstraint(np.array([w for w, _ in shown]), *[[count for _, count in shown]] * 2)]
    found: dict[tuple[str, str], tuple[int, int | None]] = {}
    for first, second, _, hidden in cells:
        if hidden:
            ends = [
                milp(
                    sign * inner(first, second),
                    constraints=constraints,
                    bounds=Bounds(0, np.inf),
                    integrality=np.ones(len(number)),
                )
                for sign in (1, -1)
            ]
            most = round(-ends[1].fun) if ends[1].x is not None else None
            found[first, second] = (round(ends[0].fun), most)
    return found


@pytest.mark.nightly
@pytest.mark.parametrize("program", ["pytauargus", "gconfid", "acro"])
def test_every_bound_of_what_other_programs_protect_is_that_of_an_integer_program(
    tmp_path: Path, python: Path, program: str
) -> None:
    done = subprocess.run([python, "-c", PROTECT, tmp_path / "all", program], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr[-2000:]
    for name, cells in json.loads((tmp_path / "all" / "truth.json").read_text()).items():
        files = sorted((tmp_path / "all" / name).glob("*.tab")) + sorted((tmp_path / "all" / name).glob("*.parquet"))
        for table in files or [tmp_path / "all" / name]:
            found = audit(table)
            expected = extremes(cells)
            got = {}
            for row in found.bounds().to_dict("records"):
                labels = row["cell"].split(", ") if "cell" in row else list(row.values())[:2]
                most = None if row["most"] is None or row["most"] != row["most"] else int(row["most"])
                got[tuple("Total" if label == "all" else label for label in labels)] = (int(row["least"]), most)
            assert got == expected, (program, name, table.name)
            is_certain = any(least == most or 1 <= least <= (most or 5) <= 4 for least, most in expected.values())
            assert not (found.ok and is_certain), (program, name)
