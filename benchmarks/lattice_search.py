"""All minimal full-domain tables under k-anonymity, l-diversity, or both, in process, reading excluded.

Adult over three to eight quasi-identifiers (4,320 nodes), where it is here (../shared/data, or the folder that
MARGINALS_DATA names), and a simulated census of rows by decades. The yardstick is one bincount of as many random keys as
the table has cells into as many bins as it has classes at the finest node: how many such counts the whole search takes.

Where a clone of ARX is named, it takes turns with ours under k-anonymity, in a JVM that is warm. Its runs encode the table
of rows, ours count its cells' quasi-identifiers; `its_search` is the part of its seconds in which it searches alone. Then
whole processes take turns, from their start to their end, that read the same files: a cold JVM, and `marginals anonymize`.
"""

import os
import subprocess
import sys
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import arx
import numpy as np
from measurement import Measurement, fastest, interleaved, of_children, options, peak_megabytes, skipped
from peer_program import started

from checks import Requirements, parse_diversity
from marginals import Attribute, Hierarchy, Table, read_hierarchy, read_table
from marginals.anonymizers.lattice import LatticeResult, minimal_tables
from marginals.demo import census_hierarchies, simulate_census
from models import DataCube

DATA = Path(os.environ.get("MARGINALS_DATA", Path(__file__).parents[2] / "shared" / "data")) / "adult"
NAMES = ("age", "sex", "race", "marital-status", "education", "native-country", "workclass", "salary-class")
FEWEST = 3
DECADES = (1_000, 10_000, 100_000, 1_000_000)


def adult(names: tuple[str, ...]) -> Table:
    """Adult with these quasi-identifiers and the occupation as the sensitive attribute."""
    attributes: dict[str, Attribute | str] = {
        name: Attribute(
            "quasi-identifier",
            read_hierarchy(DATA / "hierarchies" / f"{name}.csv"),
            label_form="names" if name == "age" else "numbers",
        )
        for name in names
    }
    return read_table(DATA / "adult.csv", attributes | {"occupation": "sensitive"}, missing=["?", ""])


def census(rows: int) -> Table:
    """The simulated census, six quasi-identifiers, the diagnosis sensitive."""
    frame = simulate_census(np.random.default_rng(0), rows)
    trees = {name: Hierarchy.from_rows(lines) for name, lines in census_hierarchies().items()}
    attributes: dict[str, Attribute | str] = {
        "age": Attribute("quasi-identifier", intervals=[5, 10, 20]),
        "postcode": Attribute("quasi-identifier", prefixes=[3, 2, 1]),
        "sex": "quasi-identifier",
        "diagnosis": "sensitive",
    }
    attributes |= {name: Attribute("quasi-identifier", tree) for name, tree in trees.items()}
    return read_table(frame, attributes, missing=["?", ""], domain="observed")


def search(case: str, table: Table, sizes: dict[str, int], requirements: Requirements) -> None:
    finest = table.domain.mask(dict.fromkeys(table.quasi_identifiers, 0))
    classes = len(DataCube([table.counts]).counts(finest))
    keys = np.random.default_rng(0).integers(0, classes, len(table.counts))
    bincount, _ = fastest(lambda: np.bincount(keys, table.counts.counts, minlength=classes), runs=20)

    def run() -> LatticeResult:
        return minimal_tables(DataCube([table.counts]), table.quasi_identifiers, requirements)

    seconds, result = fastest(run)
    facts = {"cells": len(table.counts), "nodes": result.nodes, "evaluated": result.evaluated}
    facts |= {"minimal": len(result.minimal)}
    Measurement(
        "lattice_search", case, sizes, seconds, peak_megabytes(run), "bincount of the cells", bincount, facts
    ).print()


def beside_arx(case: str, table: Table, sizes: dict[str, int], clone: Path) -> None:
    """6-anonymity by both in turns; what it takes for the best must be one of our minimal tables."""
    requirements = Requirements((), k_link=6)

    def run() -> LatticeResult:
        return minimal_tables(DataCube([table.counts]), table.quasi_identifiers, requirements)

    with arx.built(clone, table, 6) as peer:
        runs: dict[str, Callable[[], Any]] = {"ours": run}
        with started(peer.command, warm_up=3) as program:
            seconds, result = interleaved(runs | {"ARX": program.run}, runs=7, enough=20)["ours"]
        best = dict(zip(table.quasi_identifiers, program.told[-1]["levels"]))
        facts: dict[str, Any] = {"nodes": result.nodes, "minimal": len(result.minimal)}
        facts["its_search"] = min(told["search"] for told in program.told)
        facts["same"] = any(dict(minimal.levels) == best for minimal in result.minimal)
        case = f"{case} 6-anonymous beside ARX"
        Measurement("lattice_search", case, sizes, seconds, None, "ARX", program.seconds, facts).print()
        commands = {"ours": anonymize(peer), "ARX": peer.command}
        turns = interleaved({name: partial(whole, command) for name, command in commands.items()}, worked=of_children)
        Measurement(
            "lattice_search", f"{case}, whole processes", sizes, turns["ours"][0], None, "ARX", turns["ARX"][0]
        ).print()


def anonymize(peer: arx.Built) -> tuple[str, ...]:
    """Our command on the files that the peer reads."""
    lines = [f"[data]\npath = '{peer.rows}'\ndomain = 'observed'\nrows_per_person = 1"]
    for name, path in peer.hierarchies.items():
        lines.append(f"[attributes.{name}]\nrole = 'quasi-identifier'\nhierarchy = '{path}'")
    lines.append("[privacy]\nk_link = 6")
    config = peer.rows.with_suffix(".toml")
    config.write_text("\n".join(lines))
    return (sys.executable, "-c", "from marginals.commands.main import main; main()", "anonymize", str(config))


def whole(command: Sequence[str]) -> None:
    """A process from its start to its end, asked once."""
    subprocess.run(command, input="again\n", check=True, capture_output=True, text=True)


def main() -> None:
    parser = options(__file__, __doc__)
    arx.CLONE.add_to(parser)
    chosen = parser.parse_args()
    if reason := arx.CLONE.missing(chosen.arx):
        skipped("lattice_search", f"ARX: {reason}")
    else:
        if DATA.is_dir():
            beside_arx("Adult", adult(NAMES), {"attributes": len(NAMES)}, chosen.arx)
        beside_arx("census", census(DECADES[-1]), {"rows": DECADES[-1]}, chosen.arx)
    diversity = parse_diversity("entropy:6")
    if DATA.is_dir():
        for number in range(FEWEST, len(NAMES) + 1):
            table = adult(NAMES[:number])
            for case, requirements in (
                ("Adult 6-anonymous", Requirements(("occupation",), k_link=6)),
                ("Adult entropy 6-diverse", Requirements(("occupation",), diversity=diversity)),
                ("Adult both", Requirements(("occupation",), k_link=6, diversity=diversity)),
            ):
                search(case, table, {"attributes": number}, requirements)
    else:
        skipped("lattice_search", "the Adult table is not here")
    for rows in DECADES:
        search("census 6-anonymous", census(rows), {"rows": rows}, Requirements(("diagnosis",), k_link=6))


if __name__ == "__main__":
    main()
