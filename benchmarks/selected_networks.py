"""Whether `select` finds by itself what each single strategy finds in the same time, on samples of known networks.

Samples of the networks child, alarm and insurance (Bayesian networks of the literature), 10,000 rows by 20 columns; models
are selected by BIC. "auto" runs until it ends by itself, or LIMIT seconds of the processor are over; every other strategy
has as many seconds as it took. Lower is better: BIC divided by twice the number of rows, in nats.

`--networks` is a folder with child.bif.gz, alarm.bif.gz and insurance.bif.gz (the package `pgmpy` 0.1.26 has them). What is
not here is skipped.

    python benchmarks/selected_networks.py --networks FOLDER [--limit SECONDS]
"""

import gzip
import re
import time
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from measurement import options, say, skipped

from models import STRATEGIES, CodeArray, ContingencyTable, Deadline, Domain, Hierarchy, select
from models.search.problem import LEAST_GAIN
from models.search.selection import SelectedModel

NETWORKS = ("child", "alarm", "insurance")
ROWS, COLUMNS = 10_000, 20
LIMIT = 60.0

_VARIABLE = re.compile(r"variable\s+(\S+)\s*\{[^{]*\{([^}]*)\}")
_PROBABILITY = re.compile(r"probability\s*\(\s*([^|)]+?)\s*(?:\|\s*([^)]*))?\)\s*\{([^}]*)\}")
_ROW = re.compile(r"\(([^)]*)\)\s*([^;]*);")


@dataclass(frozen=True)
class Network:
    """A Bayesian network. values: of each variable. parents: of each variable, in an order in which parents come first.

    shares: of the values of a variable by those of its parents, shape (values of each parent ..., values).
    """

    values: Mapping[str, tuple[str, ...]]
    parents: Mapping[str, tuple[str, ...]]
    shares: Mapping[str, np.ndarray]

    @classmethod
    def read(cls, path: Path) -> "Network":
        """From a file in the interchange format BIF."""
        text = gzip.decompress(path.read_bytes()).decode()
        values = {name: tuple(map(str.strip, listed.split(","))) for name, listed in _VARIABLE.findall(text)}
        parents, shares = {}, {}
        for name, given, body in _PROBABILITY.findall(text):
            parents[name] = tuple(part.strip() for part in given.split(",")) if given else ()
            table = np.zeros([len(values[other]) for other in (*parents[name], name)])
            if not given:
                table[:] = _numbers(body.split("table")[1].strip(" \n;"))
            for chosen, numbers in _ROW.findall(body):
                place = tuple(values[other].index(v.strip()) for other, v in zip(parents[name], chosen.split(",")))
                table[place] = _numbers(numbers)
            shares[name] = table / table.sum(axis=-1, keepdims=True)
        return cls(values, _parents_first(parents), shares)

    def sample(self, rows: int, rng: np.random.Generator) -> dict[str, CodeArray]:
        """Codes of the values of all variables, each of shape (rows,)."""
        codes: dict[str, CodeArray] = {}
        for name, parents in self.parents.items():
            given = self.shares[name][tuple(codes[other] for other in parents)]
            ends = np.broadcast_to(given, (rows, len(self.values[name]))).cumsum(axis=1)
            codes[name] = np.minimum((rng.random(rows)[:, None] > ends).sum(axis=1), len(self.values[name]) - 1)
        return codes


def _numbers(text: str) -> list[float]:
    return [float(number) for number in text.split(",")]


def _parents_first(parents: Mapping[str, tuple[str, ...]]) -> dict[str, tuple[str, ...]]:
    ordered: dict[str, tuple[str, ...]] = {}
    while len(ordered) < len(parents):
        ordered |= {name: own for name, own in parents.items() if name not in ordered and set(own) <= ordered.keys()}
    return ordered


def table(network: Network) -> ContingencyTable:
    """A sample of the first columns of a network, in the order in which parents come first."""
    codes = network.sample(ROWS, np.random.default_rng(0))
    chosen = {name: codes[name] for name in list(network.parents)[:COLUMNS]}
    domain = Domain.of({name: Hierarchy.flat(network.values[name]) for name in chosen})
    return ContingencyTable.from_cells(domain, dict.fromkeys(chosen, 0), chosen, np.ones(ROWS, dtype=np.int64))


def selected(sample: ContingencyTable, strategy: str, limit: float) -> tuple[SelectedModel, float]:
    """The model by BIC, and seconds of the processor."""
    begin = time.process_time()
    found = select(sample, "bic", strategy, deadline=Deadline.after(limit, time.process_time))
    return found, time.process_time() - begin


def main() -> None:
    parser = options(__file__, __doc__)
    parser.add_argument("--networks", type=Path, metavar="FOLDER")
    parser.add_argument("--limit", type=float, default=LIMIT, help="seconds of auto")
    chosen = parser.parse_args()
    for name in NETWORKS:
        path = None if chosen.networks is None else chosen.networks / f"{name}.bif.gz"
        if path is None or not path.is_file():
            skipped("selected_networks", f"{name}.bif.gz is not in the folder of --networks")
            continue
        sample = table(Network.read(path))
        auto, seconds = selected(sample, "auto", chosen.limit)
        assert auto.search.value is not None
        say(network=name, strategy="auto", bic=round(auto.search.value, 6), seconds=round(seconds, 2), gap=auto.gap)
        worse = []
        for strategy in STRATEGIES:
            if strategy == "auto":
                continue
            found, spent = selected(sample, strategy, seconds)
            assert found.search.value is not None
            say(network=name, strategy=strategy, bic=round(found.search.value, 6), seconds=round(spent, 2))
            if found.search.value < auto.search.value - LEAST_GAIN:
                worse.append(strategy)
        say(target=f"{name}: auto is at least as good as each strategy in the same time", met=not worse, worse=worse)


if __name__ == "__main__":
    main()
