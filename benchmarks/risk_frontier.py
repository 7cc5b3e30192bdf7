"""The frontier of risk against utility, on the demo's table and on Adult with seven quasi-identifiers, by processor time.

    python benchmarks/risk_frontier.py [--keep FILE]

The kept lines are `benchmarks/results/risk_frontier.jsonl`: under 5 seconds are asked of the demo, under 20 of Adult.

The yardstick is what a loop over the level vectors cannot do without: for each, one bincount over the table's rows.
Needs the real table Adult for the second: ../shared/data, or the folder that MARGINALS_DATA names.
"""

import os
import time
from collections.abc import Mapping
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
from measurement import Lines, Measurement, circumstances, fastest, options, peak_megabytes

import marginals
from checks import Linear, Multiplicative
from marginals import Attribute, RiskAssessment, Role, read_hierarchy, read_rows
from marginals.demo import CENSUS_CONFIG, census_hierarchies, simulate_census
from marginals.risk import Attackers, HarmModel, PeopleTable

DATA = Path(os.environ.get("MARGINALS_DATA", Path(__file__).parents[2] / "shared" / "data")) / "adult"
WEIGHTS: Mapping[str, float] = {
    "age": 0.3, "sex": 0.1, "race": 0.2, "marital-status": 0.6, "education": 0.4, "native-country": 0.5, "workclass": 0.2,
}  # fmt: skip
"""Of the quasi-identifiers, so that every value of a record counts."""


def demo() -> RiskAssessment:
    """The demo's table and config as they are."""
    with TemporaryDirectory() as folder:
        place = Path(folder)
        (place / "hierarchies").mkdir()
        simulate_census(np.random.default_rng(0)).to_csv(place / "census.csv", index=False)
        for attribute, values in census_hierarchies().items():
            text = "".join(";".join(row) + "\n" for row in values)
            (place / "hierarchies" / f"{attribute}.csv").write_text(text, encoding="utf-8")
        (place / "release.toml").write_text(CENSUS_CONFIG, encoding="utf-8")
        return marginals.disclosure_risk(marginals.read_config(Path(folder) / "release.toml"))


def adult(harm: HarmModel) -> RiskAssessment:
    """Adult before attackers who know its quasi-identifiers."""
    attributes = {
        name: Attribute(
            Role.QUASI_IDENTIFIER,
            read_hierarchy(DATA / "hierarchies" / f"{name}.csv"),
            label_form="names" if name == "age" else "numbers",
        )
        for name in WEIGHTS
    }
    attributes["occupation"] = Attribute(Role.SENSITIVE)
    rows = read_rows(DATA / "adult.csv", attributes, ["?", ""])
    return RiskAssessment.of(rows, Attackers((PeopleTable.of_quasi_identifiers(rows),)), harm)


def measure(lines: Lines, case: str, assessment: RiskAssessment) -> None:
    """Time and memory of one frontier."""
    records, vectors = len(assessment.originals), len(assessment.originals.space.level_vectors())
    _ = assessment.problem
    seconds, edge = fastest(assessment.frontier, runs=3, enough=1, clock=time.process_time)
    codes, weights = np.arange(records) % 1000, np.ones(records)
    begin = time.process_time()
    for _ in range(vectors):
        np.bincount(codes, weights)
    yardstick = time.process_time() - begin
    facts = {"level vectors": vectors, "points": len(edge)}
    memory = peak_megabytes(assessment.frontier)
    sizes = {"rows": records}
    measured = Measurement("risk_frontier", case, sizes, seconds, memory, "a bincount a vector", yardstick, facts)
    lines.say(**measured.line())


def main() -> None:
    parser = options(__file__, __doc__)
    parser.add_argument("--keep", type=Path, help="file that all lines are written to in the end")
    given = parser.parse_args()
    lines = Lines()
    lines.say(benchmark="risk_frontier", clock="processor time", **circumstances())
    measure(lines, "demo", demo())
    if DATA.is_dir():
        measure(lines, "Adult, occupation weighs", adult(HarmModel(Linear, {"occupation": 1.0})))
        measure(lines, "Adult, all weigh", adult(HarmModel(Multiplicative, {**WEIGHTS, "occupation": 1.0})))
    else:
        lines.say(
            benchmark="risk_frontier", skipped="the real table Adult is not here: MARGINALS_DATA names its folder"
        )
    if given.keep:
        lines.write(given.keep)


if __name__ == "__main__":
    main()
