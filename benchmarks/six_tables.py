"""Fifteen ways to publish six real tables: how far their tables of two and three columns are from the truth.

All have the same columns; a number of more than 20 values is cut into 20 bands of about equally many people first, for
everybody. Of larger tables 13,000 people are drawn (Nursery is whole), others for each of three seeds. Ways:
- marginals: the default search under k_link, k_combinatorial 10 and distinct:3; with further tables: under k_link and
  no_small_certain 10, distinct:3;
- one full-domain table: of the minimal ones under k 10 and distinct:3 the best by KL divergence;
- Mondrian (LeFevre et al., ICDE 2006), strict, cut at medians; Hilbert (Ghinita et al., VLDB 2007); SWEEP (Tian and Zhang
  2009): k 10 and distinct:3 in each class;
- Anatomy (Xiao and Tao, VLDB 2006): the exact columns of each person, and the values of groups with 3 different ones;
  slicing (Li et al., TKDE 2012): columns in pairs by Cramer's V, the sensitive one by itself, shuffled within
  Mondrian's classes; angelization (Tao et al., TKDE 2009): Mondrian's classes of 10 for the other columns, and
  groups of 3 different sensitive values among neighbours;
- exact one-way tables: unprotected, columns independent;
- sequential trees (CART): records from the leaves of trees with five records at least, which no rule protects;
- all pairs with Gaussian noise: (epsilon, 1e-6)-differential privacy of who comes or goes, by the analytic mechanism of
  Balle and Wang (ICML 2018); the noise of a pair goes with the cube root of its cells, one-way tables are averaged over
  pairs, pairs projected on shares, tables of three columns fitted to their pairs;
- AIM of private-pgm with the same promise, 1,000 iterations of each fit and 80 MB: `--private-pgm` is a checkout of
  https://github.com/ryan112358/private-pgm and `--python` an environment with it and what
  `peer_programs/private_pgm.txt` lists. A run of more than `--seconds` is stopped.

Within a published class or group, values are taken to be equally likely, and columns independent.

`two_way` and `three_way` are mean total variations, and `counts` is the median relative error of 300 random counts, each of
people with a random half of the values of three columns. What is not here is skipped. Later lines that measure the same
count. `--page` prints the section of docs/yardsticks.md from the kept run:

    python benchmarks/six_tables.py --private-pgm CHECKOUT --python PYTHON > benchmarks/results/six_tables.jsonl
"""

import json
import os
import resource
import signal
import subprocess
import sys
import tempfile
import time
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import combinations
from math import exp, inf, sqrt
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from measurement import circumstances, options, say, skipped
from real_tables import RealTable, real_tables
from scipy.optimize import brentq
from scipy.stats import norm
from similarity_foreground import TABLES, Sensitive
from sklearn.tree import DecisionTreeClassifier

from marginals import Attribute, Policy, Table, anonymize, publish, read_table
from marginals.bundle.content import model_of
from marginals.errors import NothingPublishableError
from marginals.recoding import sweep
from marginals.recoding.hilbert_curve import eligible_l, hilbert_groups, spread_groups
from marginals.recoding.local_recoding import LocalRecoding
from models import Collection

KEPT = Path(__file__).parent / "results" / "six_tables.jsonl"
PEERS = Path(__file__).parent / "peer_programs"
MOST_ROWS, BANDS, SEEDS = 13_000, 20, (0, 1, 2)
K, L = 10, 3
DIVERSITY = f"distinct:{L}"
EPSILONS, DELTA = (1.0, 3.0), 1e-6
QUERIES = 300
SECRET = "secret"
ONE_CORE = {"XLA_FLAGS": "--xla_cpu_multi_thread_eigen=false intra_op_parallelism_threads=1", "OMP_NUM_THREADS": "1"}

Shares = Callable[[tuple[str, ...]], np.ndarray]
"""Of two or three columns the share of each combination of values: one axis for each column."""


@dataclass(frozen=True, eq=False)
class Sample:
    """Some people of a real table. codes: a column for each attribute, base values as numbers from 0."""

    name: str
    seed: int
    table: Table
    codes: pd.DataFrame

    @classmethod
    def drawn(cls, real: RealTable, sensitive: Sensitive, seed: int) -> "Sample":
        """So many people at most, the same for the same seed."""
        frame = real.frame.sample(min(MOST_ROWS, len(real.frame)), random_state=seed)
        columns = {name: in_bands(frame[name], name in real.numbers) for name in sensitive.known}
        texts = pd.DataFrame(columns | {SECRET: sensitive.texts(frame[sensitive.name])}).astype(str)
        known = {name: Attribute("quasi-identifier", ladder="fitted") for name in sensitive.known}
        table = read_table(texts, known | {SECRET: Attribute("sensitive")}, k=K, rows_per_person=1)
        cells = table.base_counts
        codes = {name: np.repeat(codes, cells.counts) for name, codes in zip(cells.attributes, cells.codes)}
        return cls(real.name, seed, table, pd.DataFrame(codes).astype(np.int64))

    @property
    def known(self) -> list[str]:
        """The columns that are not sensitive."""
        return [name for name in self.codes if name != SECRET]

    @property
    def sizes(self) -> dict[str, int]:
        """Base values of each column."""
        return {name: self.table.domain.hierarchy(name).size(0) for name in self.codes}

    def shares(self, names: tuple[str, ...]) -> np.ndarray:
        """The truth."""
        return self.shares_of(self.codes, names)

    def shares_of(self, codes: pd.DataFrame, names: tuple[str, ...]) -> np.ndarray:
        """Those of some records."""
        shape = tuple(self.sizes[name] for name in names)
        cells = np.ravel_multi_index(tuple(codes[name].to_numpy() for name in names), shape)
        return (np.bincount(cells, minlength=int(np.prod(shape))) / len(codes)).reshape(shape)


def in_bands(column: pd.Series, is_number: bool) -> pd.Series:
    """A number of many values as the number of its band."""
    if not is_number or column.nunique() <= BANDS:
        return column
    return pd.qcut(column, BANDS, labels=False, duplicates="drop")


@dataclass(frozen=True, eq=False)
class Mixture:
    """Groups of rows, within which columns are independent.

    rows: of each group, shape (groups,). spread: of each column the shares of its values in each, shape (groups, values).
    """

    rows: np.ndarray
    spread: Mapping[str, np.ndarray]

    def __call__(self, names: tuple[str, ...]) -> np.ndarray:
        """The shares of two or three columns."""
        shape = tuple(self.spread[name].shape[1] for name in names)
        *first, last = names
        sums = np.zeros((int(np.prod(shape[:-1])), shape[-1]))
        for begin in range(0, len(self.rows), 1000):
            chosen = slice(begin, begin + 1000)
            joint = self.rows[chosen, None]
            for name in first:
                joint = (joint[:, :, None] * self.spread[name][chosen, None, :]).reshape(len(joint), -1)
            sums += joint.T @ self.spread[last][chosen]
        return sums.reshape(shape) / self.rows.sum()


def one_hot(codes: pd.Series, size: int) -> np.ndarray:
    return np.eye(size)[codes]


def shares_in(group_of: np.ndarray, codes: np.ndarray, size: int) -> np.ndarray:
    """The shares of values in each group: shape (groups, values)."""
    counts = np.zeros((group_of.max() + 1, size))
    np.add.at(counts, (group_of, codes), 1)
    return counts / counts.sum(axis=1, keepdims=True)


# Ours, and single tables.


def marginals(sample: Sample, **policy: Any) -> Shares:
    """What a release tells."""
    own = {"k_link": K, "diversity": DIVERSITY, "base": "none", "seed": sample.seed} | policy
    steward = publish(sample.table, Policy(**own)).steward
    cube, cliques = sample.table.cube, steward.search.cliques
    further = () if steward.further is None else steward.further.masks
    model = model_of(Collection.of(cube, [*cliques, *further]), Collection.of(cube, cliques))

    def shares(names: tuple[str, ...]) -> np.ndarray:
        levels = {name: model.finest_levels[name] for name in names}
        expected = model.expected(levels) / model.total
        for axis, (name, level) in enumerate(levels.items()):
            hierarchy = sample.table.domain.hierarchy(name)
            above = hierarchy.lift(0, level)
            spread = expected.take(above, axis) / np.expand_dims(
                hierarchy.leaf_counts(level)[above], [place for place in range(len(names)) if place != axis]
            )
            expected = spread
        return expected

    return shares


def recoded(sample: Sample, recoding: LocalRecoding) -> Mixture:
    """One table, each class generalized in its own way."""
    spread = {}
    for place, name in enumerate(sample.table.domain.attributes):
        taxonomy = recoding.cells.taxonomies[place]
        under = np.array([taxonomy.shares_under(leaf) for leaf in range(sample.sizes[name])]).T
        spread[name] = under[recoding.cells.nodes[:, place]]
    return Mixture(recoding.cells.counts.astype(float), spread)


def full_domain(sample: Sample) -> Mixture:
    minimal = anonymize(sample.table, Policy(k_link=K, diversity=DIVERSITY)).minimal
    best = min(minimal, key=lambda single: single.kl_divergence)
    return recoded(sample, LocalRecoding.full_domain(sample.table, best.levels))


def along_hilbert(sample: Sample) -> Mixture:
    return recoded(sample, hilbert_groups(sample.table, L, k=K))


def swept(sample: Sample) -> Mixture:
    return recoded(sample, sweep(sample.table, f"functional:0.99,{L}", k=K))


def classes_of_mondrian(sample: Sample, different: int) -> np.ndarray:
    """The class of each row. different: sensitive values that each class has at least."""
    columns = {name: sample.codes[name].to_numpy() for name in sample.known}
    secret, class_of, number = sample.codes[SECRET].to_numpy(), np.zeros(len(sample.codes), dtype=np.intp), 0
    waiting = [np.arange(len(sample.codes))]
    while waiting:
        rows = waiting.pop()
        widths = {name: float(np.ptp(column[rows])) / sample.sizes[name] for name, column in columns.items()}
        for name in sorted(widths, key=widths.__getitem__, reverse=True):
            values = columns[name][rows]
            below = values <= np.sort(values)[(len(values) - 1) // 2]
            if below.all():
                below = values < values.max()
            halves = rows[below], rows[~below]
            if all(len(half) >= K and len(np.unique(secret[half])) >= different for half in halves):
                waiting.extend(halves)
                break
        else:
            class_of[rows], number = number, number + 1
    return class_of


def in_ranges(sample: Sample, class_of: np.ndarray) -> dict[str, np.ndarray]:
    """Of each column that is not sensitive the values between the least and the largest of each class, equally likely."""
    spread = {}
    for name in sample.known:
        codes = sample.codes[name].to_numpy()
        low, high = np.full(class_of.max() + 1, sample.sizes[name]), np.zeros(class_of.max() + 1, dtype=np.intp)
        np.minimum.at(low, class_of, codes)
        np.maximum.at(high, class_of, codes)
        values = np.arange(sample.sizes[name])
        inside = (low[:, None] <= values) & (values <= high[:, None])
        spread[name] = inside / inside.sum(axis=1, keepdims=True)
    return spread


def mondrian(sample: Sample) -> Mixture:
    class_of = classes_of_mondrian(sample, L)
    secret = shares_in(class_of, sample.codes[SECRET].to_numpy(), sample.sizes[SECRET])
    return Mixture(np.bincount(class_of).astype(float), in_ranges(sample, class_of) | {SECRET: secret})


def secrets_in_groups(sample: Sample, order: np.ndarray) -> np.ndarray:
    """For each row the shares of sensitive values in its group of different ones, formed along an order of the rows."""
    secret = sample.codes[SECRET].to_numpy()
    if eligible_l(secret) < L:
        raise NothingPublishableError(f"no groups of {L} different values: one has too many rows")
    group_of = np.empty(len(secret), dtype=np.intp)
    group_of[order] = spread_groups(secret[order], L)
    return shares_in(group_of, secret, sample.sizes[SECRET])[group_of]


def anatomy(sample: Sample) -> Mixture:
    order = np.random.default_rng(sample.seed).permutation(len(sample.codes))
    spread = {name: one_hot(sample.codes[name], sample.sizes[name]) for name in sample.known}
    return Mixture(np.ones(len(sample.codes)), spread | {SECRET: secrets_in_groups(sample, order)})


def angelization(sample: Sample) -> Mixture:
    class_of = classes_of_mondrian(sample, 1)
    spread = {name: ranges[class_of] for name, ranges in in_ranges(sample, class_of).items()}
    order = np.argsort(class_of, kind="stable")
    return Mixture(np.ones(len(sample.codes)), spread | {SECRET: secrets_in_groups(sample, order)})


def association(shares: np.ndarray) -> float:
    """Cramer's V."""
    independent = np.outer(shares.sum(axis=1), shares.sum(axis=0))
    held = independent > 0
    squared = ((shares - independent)[held] ** 2 / independent[held]).sum()
    return sqrt(squared / max(min(shares.shape) - 1, 1))


def slicing(sample: Sample) -> Shares:
    bucket_of = classes_of_mondrian(sample, L)
    ranked = sorted(combinations(sample.known, 2), key=lambda pair: association(sample.shares(pair)), reverse=True)
    together: list[tuple[str, str]] = []
    for pair in ranked:
        if not set(pair) & {name for other in together for name in other}:
            together.append(pair)
    spread = {name: shares_in(bucket_of, sample.codes[name].to_numpy(), sample.sizes[name]) for name in sample.codes}
    for pair in together:  # a column of its own, of which the single ones are sums
        joint = sample.codes[pair[0]] * sample.sizes[pair[1]] + sample.codes[pair[1]]
        spread["/".join(pair)] = shares_in(bucket_of, joint.to_numpy(), sample.sizes[pair[0]] * sample.sizes[pair[1]])
    mixture = Mixture(np.bincount(bucket_of).astype(float), spread)

    def shares(names: tuple[str, ...]) -> np.ndarray:
        pair = next((pair for pair in together if set(pair) <= set(names)), None)
        if pair is None:
            return mixture(names)
        if len(names) == 2:
            return sample.shares(names)
        (other,) = set(names) - set(pair)
        joint = mixture(("/".join(pair), other)).reshape([sample.sizes[name] for name in (*pair, other)])
        return joint.transpose([(*pair, other).index(name) for name in names])

    return shares


# Without a rule that anybody can check on what is published.


def one_way(sample: Sample) -> Mixture:
    return Mixture(np.ones(1), {name: np.bincount(codes)[None] / len(codes) for name, codes in sample.codes.items()})


def sequential_trees(sample: Sample) -> Shares:
    rng, names = np.random.default_rng(sample.seed), list(sample.codes)
    made = pd.DataFrame({names[0]: rng.choice(sample.codes[names[0]], len(sample.codes))})

    def features(codes: pd.DataFrame, place: int) -> np.ndarray:
        return np.hstack([one_hot(codes[name], sample.sizes[name]) for name in names[:place]])

    for place, name in enumerate(names[1:], 1):
        tree = DecisionTreeClassifier(min_samples_leaf=5, random_state=sample.seed)
        tree.fit(features(sample.codes, place), sample.codes[name])
        chances = tree.predict_proba(features(made, place)).cumsum(axis=1)
        made[name] = tree.classes_[(rng.random((len(made), 1)) > chances[:, :-1]).sum(axis=1)]
    return partial(sample.shares_of, made)


def deviation(epsilon: float) -> float:
    """Of the noise for a number that a person who comes or goes changes by 1: the least that keeps the promise."""

    def spent(sigma: float) -> float:
        above, below = 1 / (2 * sigma) - epsilon * sigma, -1 / (2 * sigma) - epsilon * sigma
        return float(norm.cdf(above) - exp(epsilon) * norm.cdf(below)) - DELTA

    return float(brentq(spent, 1e-2, 1e3))


def on_shares(counts: np.ndarray) -> np.ndarray:
    """The nearest shares: nonnegative numbers that add up to 1 (Duchi et al., ICML 2008)."""
    falling = np.sort(counts.ravel())[::-1]
    beyond = (np.cumsum(falling) - 1) / np.arange(1, len(falling) + 1)
    return np.maximum(counts - beyond[np.flatnonzero(falling > beyond)[-1]], 0.0)


def noisy_pairs(sample: Sample, epsilon: float) -> Shares:
    rng, sizes, rows = np.random.default_rng(sample.seed), sample.sizes, len(sample.codes)
    pairs = list(combinations(sample.codes, 2))
    weights = {(a, b): float(sizes[a] * sizes[b]) ** (1 / 3) for a, b in pairs}
    length = sqrt(sum(1 / weight**2 for weight in weights.values()))
    sigma = {pair: deviation(epsilon) * length * weight / rows for pair, weight in weights.items()}
    noisy = {pair: sample.shares(pair) + rng.normal(0, sigma[pair], [sizes[a] for a in pair]) for pair in pairs}
    for name in sample.codes:
        beside = {pair: 1 - pair.index(name) for pair in pairs if name in pair}
        precision = {pair: 1 / (sigma[pair] ** 2 * sizes[pair[axis]]) for pair, axis in beside.items()}
        sums = {pair: noisy[pair].sum(axis=axis) for pair, axis in beside.items()}
        mean = sum(precision[pair] * sums[pair] for pair in beside) / sum(precision.values())
        for pair, axis in beside.items():
            noisy[pair] = noisy[pair] + np.expand_dims((mean - sums[pair]) / sizes[pair[axis]], axis)
    projected = {pair: on_shares(shares) for pair, shares in noisy.items()}

    def shares(names: tuple[str, ...]) -> np.ndarray:
        if len(names) == 2:
            return projected[names]
        fitted = np.ones([sizes[name] for name in names])
        for _ in range(30):
            for missing in range(3):
                target = projected[names[:missing] + names[missing + 1 :]]
                present = fitted.sum(axis=missing)
                factor = np.divide(target, present, out=np.zeros_like(target), where=present > 0)
                fitted = fitted * np.expand_dims(factor, missing)
        return fitted / fitted.sum()

    return shares


Way = Callable[[Sample], Shares]

WAYS: Mapping[str, Way] = {
    "marginals": partial(marginals, k_combinatorial=K),
    "marginals, further tables": partial(
        marginals, no_small_certain=K, further_tables="pairs", max_sensitive_margins=1
    ),
    "one full-domain table": full_domain,
    "Mondrian": mondrian,
    "Hilbert": along_hilbert,
    "SWEEP": swept,
    "Anatomy": anatomy,
    "slicing": slicing,
    "angelization": angelization,
    "exact one-way tables": one_way,
    "sequential trees": sequential_trees,
    **{f"noisy pairs, epsilon {epsilon:g}": partial(noisy_pairs, epsilon=epsilon) for epsilon in EPSILONS},
}


def aim(sample: Sample, epsilon: float, checkout: Path, python: Path, seconds: float) -> Shares:
    """Records of AIM. Raises TimeoutError where it is not done, RuntimeError where it fails."""
    with tempfile.TemporaryDirectory() as folder:
        task = {
            "mechanisms": str(checkout / "mechanisms"),
            "codes": f"{folder}/codes.csv",
            "sizes": sample.sizes,
            "epsilon": epsilon,
            "delta": DELTA,
            "seed": sample.seed,
            "megabytes": 80.0,
            "iterations": 1000,
            "out": f"{folder}/made.csv",
        }
        sample.codes.to_csv(task["codes"], index=False)
        ran = subprocess.run(
            [str(python), str(PEERS / "private_pgm.py"), json.dumps(task)],
            capture_output=True,
            text=True,
            check=False,
            env=os.environ | ONE_CORE,
            preexec_fn=partial(resource.setrlimit, resource.RLIMIT_CPU, (int(seconds),) * 2),
        )
        if -ran.returncode in (signal.SIGXCPU, signal.SIGKILL):
            raise TimeoutError(f"not done after {seconds:g} seconds")
        if ran.returncode:
            raise RuntimeError((ran.stderr.strip().splitlines() or ["it failed"])[-1])
        return partial(sample.shares_of, pd.read_csv(task["out"]).astype(np.int64))


def judged(sample: Sample, shares: Shares) -> dict[str, float]:
    """How far the tables of a way are from the truth."""
    two, three = (
        np.mean([np.abs(sample.shares(names) - shares(names)).sum() / 2 for names in combinations(sample.codes, ways)])
        for ways in (2, 3)
    )
    rng, triples, errors = np.random.default_rng(sample.seed), list(combinations(sample.codes, 3)), []
    known: dict[tuple[str, ...], tuple[np.ndarray, np.ndarray]] = {}
    while len(errors) < QUERIES:
        names = triples[int(rng.integers(len(triples)))]
        if names not in known:
            known[names] = sample.shares(names), shares(names)
        asked = np.ix_(*(np.flatnonzero(rng.random(sample.sizes[name]) < 0.5) for name in names))
        true, told = (table[asked].sum() for table in known[names])
        if true > 0:
            errors.append(abs(told - true) / true)
    return {"two_way": float(two), "three_way": float(three), "counts": float(np.median(errors))}


def measured(ways: Mapping[str, Way], tables: Sequence[str]) -> Iterator[dict[str, Any]]:
    """A line for each table, seed and way."""
    here = {real.name: real for real in real_tables(10**6)}
    for name, sensitive in TABLES.items():
        if tables and name not in tables:
            continue
        if name not in here:
            skipped("six_tables", f"the table {name} is not here")
            continue
        for seed in SEEDS:
            sample = Sample.drawn(here[name], sensitive, seed)
            for way, publisher in ways.items():
                line = {"table": name, "people": len(sample.codes), "seed": seed, "way": way}
                begin = time.process_time() + _of_children()
                try:
                    shares = publisher(sample)
                except (NothingPublishableError, TimeoutError, RuntimeError) as error:
                    yield line | {"stopped": str(error).split("\n")[0]}
                    continue
                taken = round(time.process_time() + _of_children() - begin, 1)
                numbers = {measure: round(error, 4) for measure, error in judged(sample, shares).items()}
                yield line | numbers | {"seconds_of_way": taken}


def _of_children() -> float:
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


BEGINNING = f"""\
Fifteen ways on six tables of up to {MOST_ROWS:,} people, the mean of three seeds and half of their range. Marginals,
full-domain table, Mondrian, Hilbert and SWEEP let {K} people at least share what is shown of other columns, and {L}
different values of the sensitive one; angelization does so in two tables. Anatomy and slicing promise the {L} values
alone, and show the other columns of each person, or pairs of them, exactly. One-way tables and trees promise nothing,
noisy pairs and AIM differential privacy with delta {DELTA:g}. **Bold** is nearer to the truth than `marginals`. The
script's first lines say how each is made."""

MEASURES = {
    "two_way": "**Tables of two columns**, mean total variation",
    "three_way": "**Tables of three columns**, mean total variation",
    "counts": "**Random counts** of three columns, median relative error",
}


def page(kept: Path) -> str:
    """The kept run in Markdown. Raises OSError where there is no such file."""
    last: dict[tuple[str, str], dict[int, dict[str, Any]]] = defaultdict(dict)
    for line in map(json.loads, kept.read_text(encoding="utf-8").splitlines()):
        if "way" in line:
            last[line["way"], line["table"]][line["seed"]] = line
    tables = list(dict.fromkeys(table for _, table in last))
    ways = list(dict.fromkeys(way for way, _ in last))
    parts = [BEGINNING]
    for measure, title in MEASURES.items():
        means = {key: _mean(lines, measure) for key, lines in last.items()}
        rows = [["way", *tables], ["---"] * (len(tables) + 1)]
        for way in ways:
            shown = {table: _cell(last.get((way, table), {}), measure) for table in tables}
            nearer = {table for table in tables if means.get((way, table), inf) < means["marginals", table]}
            rows.append([way, *(f"**{cell}**" if table in nearer else cell for table, cell in shown.items())])
        parts.append("\n".join([f"{title}:", "", *(f"| {' | '.join(row)} |" for row in rows)]))
    reasons: dict[str, list[str]] = defaultdict(list)
    for (way, table), lines in last.items():
        if stopped := [line["stopped"] for line in lines.values() if "stopped" in line]:
            reasons[stopped[0]].append(f"{way} in {table} ({len(stopped)} of {len(SEEDS)} seeds)")
    parts += [f"Without a number, since {reason}: {', '.join(where)}." for reason, where in reasons.items()]
    return "\n\n".join(parts)


def _mean(lines: Mapping[int, Mapping[str, Any]], measure: str) -> float:
    numbers = [line[measure] for line in lines.values() if measure in line]
    return float(np.mean(numbers)) if len(numbers) == len(SEEDS) else inf


def _cell(lines: Mapping[int, Mapping[str, Any]], measure: str) -> str:
    """The mean of the seeds, and half of their range; a dash where one has no number."""
    numbers = [line[measure] for line in lines.values() if measure in line]
    return f"{np.mean(numbers):.3f} ± {np.ptp(numbers) / 2:.3f}" if len(numbers) == len(SEEDS) else "-"


def main() -> None:
    parser = options(__file__, __doc__)
    parser.add_argument("--private-pgm", type=Path, metavar="CHECKOUT", help="where its folder `mechanisms` is")
    parser.add_argument("--python", type=Path, help="the Python of an environment that has private-pgm")
    parser.add_argument("--seconds", type=float, default=600.0, help="of the processor, for each run of AIM")
    parser.add_argument("--way", action="append", metavar="BEGINNING", help="ways whose name begins so, such as AIM")
    parser.add_argument("--table", action="append", default=[], help="one of the six; several times for several")
    parser.add_argument("--page", action="store_true", help="print the section of the kept run instead")
    chosen = parser.parse_args()
    if chosen.page:
        sys.stdout.write(page(KEPT) + "\n")
        return
    say(benchmark="six_tables", **circumstances())
    ways = dict(WAYS)
    if chosen.private_pgm and chosen.python:
        for epsilon in EPSILONS:
            settings = {"checkout": chosen.private_pgm, "python": chosen.python, "seconds": chosen.seconds}
            ways[f"AIM, epsilon {epsilon:g}"] = partial(aim, epsilon=epsilon, **settings)
        asked = ["git", "-C", chosen.private_pgm, "rev-parse", "--short", "HEAD"]
        commit = subprocess.run(asked, capture_output=True, text=True, check=True).stdout.strip()
        say(benchmark="six_tables", settings={"private_pgm": commit, "seconds": chosen.seconds})
    else:
        skipped("six_tables", "AIM needs --private-pgm and --python")
    beginnings = tuple(chosen.way or ("",))
    for line in measured({way: run for way, run in ways.items() if way.startswith(beginnings)}, chosen.table):
        say(benchmark="six_tables", **line)


if __name__ == "__main__":
    main()
