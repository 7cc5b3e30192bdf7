"""A table of the shape of MKGV07 Fig. 8 (Lands End), simulated with skew, through `anonymize` and `publish`.

4,591,581 rows; 31,953 postcodes, 320 dates, 2 sexes, 1,509 styles, 346 prices, 1 and 2 further values; 147 costs are
sensitive. Hierarchies have the heights of that figure: rounding for postcodes and prices, a taxonomy for dates,
suppression for the rest. The yardstick is the distinct rows of the same codes by NumPy alone: packed, sorted, counted.
Rows grow by decades up to that number, or to the one given; memory is the peak of the process so far.
"""

import resource
import time

import numpy as np
import pandas as pd
from measurement import Measurement, options

from marginals import Attribute, Policy, anonymize, publish, read_table

ROWS = 4_591_581
VALUES = {"zipcode": 31_953, "date": 320, "gender": 2, "style": 1_509, "price": 346, "quantity": 1, "shipment": 2}
COSTS = 147


def drawn(rng: np.random.Generator, rows: int, values: int, skew: float) -> np.ndarray:
    """Codes whose frequencies fall as a power of their rank."""
    weights = 1 / np.arange(1, values + 1) ** skew
    return np.searchsorted(np.cumsum(weights / weights.sum())[:-1], rng.random(rows))


def codes(rng: np.random.Generator, rows: int) -> dict[str, np.ndarray]:
    """Prices go with styles, costs with prices; the rest is as it comes."""
    table = {name: drawn(rng, rows, values, 0.7) for name, values in VALUES.items()}
    table["price"] = (table["style"] * 7 + drawn(rng, rows, 20, 1.0)) % VALUES["price"]
    table["cost"] = (table["price"] // 3 + drawn(rng, rows, 40, 0.8)) % COSTS
    return table


def frame(table: dict[str, np.ndarray]) -> pd.DataFrame:
    columns = {}
    for name, column in table.items():
        size = COSTS if name == "cost" else VALUES[name]
        texts = [f"{i:05}" if name == "zipcode" else str(i) for i in range(size)]
        columns[name] = pd.Categorical.from_codes(column, texts)
    return pd.DataFrame(columns)


ATTRIBUTES: dict[str, Attribute | str] = {
    "zipcode": Attribute("quasi-identifier", prefixes=[4, 3, 2, 1]),
    "date": Attribute("quasi-identifier", intervals=[7, 28]),
    "gender": "quasi-identifier",
    "style": "quasi-identifier",
    "price": Attribute("quasi-identifier", intervals=[10, 50, 100]),
    "quantity": "quasi-identifier",
    "shipment": "quasi-identifier",
    "cost": Attribute("sensitive", single_values=True),
}


def measure(rows: int) -> None:
    table = codes(np.random.default_rng(0), rows)
    people = frame(table)
    marks = [(time.perf_counter(), time.process_time())]

    def lap() -> tuple[float, float]:
        """Wall and processor seconds since the last."""
        marks.append((time.perf_counter(), time.process_time()))
        wall, processor = (b - a for a, b in zip(*marks[-2:]))
        return wall, processor

    keys = np.zeros(rows, dtype=np.int64)
    for name, column in table.items():
        keys = keys * (COSTS if name == "cost" else VALUES[name]) + column
    np.unique(keys, return_counts=True)
    yardstick, _ = lap()

    def tell(case: str, **facts: object) -> None:
        seconds, processor = lap()
        peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e3
        facts = {"processor": round(processor, 3), **facts}
        Measurement(
            "lands_end", case, {"rows": rows}, seconds, peak, "distinct rows by NumPy", yardstick, facts
        ).print()

    counted = read_table(people, ATTRIBUTES)
    tell("read", cells=len(counted.counts))
    policy = Policy(k_link=6, k_combinatorial=6, diversity="entropy:3", time_limit=60)
    found = anonymize(counted, policy)
    tell("anonymize", nodes=found.nodes, evaluated=found.evaluated, minimal=len(found.minimal))
    release = publish(counted, policy).release
    tell("publish", margins=len(release.margins))


def main() -> None:
    parser = options(__file__, __doc__)
    parser.add_argument("rows", nargs="?", type=float, default=ROWS, help=f"default: {ROWS:,}")
    largest = int(parser.parse_args().rows)
    for shrunk in (100, 10, 1):
        measure(max(1, largest // shrunk))


if __name__ == "__main__":
    main()
