"""Publishing Adult end to end: seconds and peak memory of the whole command.

The yardstick is what any program must do: importing pandas and reading the CSV file into strings, as its own process.
Needs the real table: ../shared/data, or the folder that MARGINALS_DATA names.
"""

import json
import os
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from measurement import Measurement, options, say, skipped

DATA = Path(os.environ.get("MARGINALS_DATA", Path(__file__).parents[2] / "shared" / "data")) / "adult"
QUASI_IDENTIFIERS = ("race", "sex", "age", "marital-status")
RUNS = 5
ROWS = 45_222


def config() -> str:
    """The policy of KG06 section 8."""
    sections = [f"[data]\npath = '{DATA / 'adult.csv'}'\nmissing = ['?', '']\ndomain = 'observed'"]
    sections += [
        f"[attributes.{name}]\nrole = 'quasi-identifier'\nhierarchy = '{DATA / 'hierarchies' / name}.csv'"
        + ("\nlabel_form = 'names'" if name == "age" else "")
        for name in QUASI_IDENTIFIERS
    ]
    sections.append("[attributes.occupation]\nrole = 'sensitive'")
    sections.append("[privacy]\nk_link = 6\nk_combinatorial = 6\ndiversity = 'entropy:6'")
    return "\n".join(sections)


def measured(command: list[str]) -> tuple[float, float, str]:
    """Median seconds over some runs, peak resident megabytes of any of them so far, and the last run's output."""
    seconds, output = [], ""
    for _ in range(RUNS):
        begin = time.perf_counter()
        output = subprocess.run(command, check=True, capture_output=True, text=True).stdout
        seconds.append(time.perf_counter() - begin)
    peak = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss / 1e3
    return sorted(seconds)[RUNS // 2], peak, output


def main() -> None:
    options(__file__, __doc__).parse_args()
    if not DATA.is_dir():
        skipped("publish_adult", "the Adult table is not here")
        return
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "release.toml"
        path.write_text(config())
        read = f"import pandas; pandas.read_csv({str(DATA / 'adult.csv')!r}, dtype=str)"
        yardstick, _, _ = measured([sys.executable, "-c", read])
        publish = "from marginals.commands.main import main; main()"
        out = str(Path(folder) / "release")
        command = [sys.executable, "-c", publish, "publish", str(path), "--out", out, "--json"]
        seconds, peak, output = measured(command)
    published = json.loads(output)
    facts = {"kl_divergence": published["kl_divergence"], "evaluated": published["search"]["evaluated"]}
    reading = "reading by pandas"
    Measurement("publish_adult", "whole command", {"rows": ROWS}, seconds, peak, reading, yardstick, facts).print()
    say(benchmark="publish_adult", target="5 s and 400 MB", met=seconds < 5 and peak < 400)


if __name__ == "__main__":
    main()
