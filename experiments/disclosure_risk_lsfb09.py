"""Disclosure risk and utility: what is behind LSFB09 Figs. 7 and 9 to 12, on Adult as disclosed table and dictionary.

    python experiments/disclosure_risk_lsfb09.py [--figure 7] [--rows 2000] [--csv FOLDER] [--plots FOLDER] [--seed 0]

The paper's tables (Wal-Mart, and an Adult of 9.8 million rows) are not public. Here the disclosed records are a sample of
Adult and dictionaries are Adult or larger samples of it, over age, race, education and native country, whose hierarchies
are 10 steps high together. Everybody has random weights, uniform as in the paper, generalized by the harmonic mean.
Consistency is exact, by the hierarchies. So the figures agree with the paper's in shape, not in numbers:

- Fig. 7a: the least risk with a utility of at least c for each record, by c and dictionary size, for both sensitivities.
- Fig. 7b: random k-anonymous rules (10 for each k) against optimal ones of the same mean utility.
- Fig. 7c: estimated against true risk of random rules; the true dictionary is more general and larger (Proposition 1).
- Fig. 9: risk and utility of random rules, and their correlation (0.858 in the paper).
- Fig. 10: the frontier: least risk by utility, most utility by risk.
- Fig. 11: the share of records that show each attribute as it is, by the utility that is asked of each record.
- Fig. 12: the walk over all level vectors against brute force: risk, time, and losses computed.
"""

import argparse
import os
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from figures import Figure

from checks import (
    DecisionProblem,
    Dictionary,
    Harm,
    LeastRisk,
    Linear,
    MostUtility,
    Multiplicative,
    Records,
    RecordSpace,
    Weights,
    consistent_counts,
)
from checks.risk.attackers import distance_from_root
from checks.risk.disclosure import best_of_each, frontier, precedes, require_bound
from checks.risk.harm import harmonic_shares, risk
from marginals import Attribute, Role, read_hierarchy, read_rows
from models import CountArray, IndexArray

DATA = Path(os.environ.get("MARGINALS_DATA") or Path(__file__).parents[2] / "shared" / "data")

ATTRIBUTES = ("age", "race", "education", "native-country")
SIZES = (0.1, 0.25, 0.5, 1.0)
"""Dictionaries, as shares of Adult."""

ANONYMITY = (2, 5, 10, 20, 40, 60, 80, 100)
RULES = 10
"""Random k-anonymous rules for each k, as in the paper."""

RANDOM_RULES = 60


@dataclass(frozen=True)
class Experiment:
    """Adult, the records to disclose, and the harm of each by both sensitivities. order: of the people, disclosed first."""

    people: Records
    disclosed: int
    linear: Harm
    multiplicative: Harm
    seed: int

    @property
    def originals(self) -> Records:
        """The records to disclose."""
        return self.people[np.arange(self.disclosed)]

    def dictionary(self, size: int) -> Dictionary:
        """The first so many people, at least the disclosed ones."""
        size = max(size, self.disclosed)
        return Dictionary(self.people[np.arange(size)], np.arange(size))

    def problem(self, harm: Harm | None = None, dictionary: Dictionary | None = None) -> DecisionProblem:
        """Which disclosure to choose, against all of Adult where nothing else is said."""
        known = self.dictionary(len(self.people)) if dictionary is None else dictionary
        return DecisionProblem(self.originals, (known,), harm or self.multiplicative)


def adult(rows: int, seed: int) -> Experiment:
    """Adult in random order, with the weights of the people to disclose."""
    folder = DATA / "adult" / "hierarchies"
    attributes = {
        a: Attribute(
            Role.QUASI_IDENTIFIER, read_hierarchy(folder / f"{a}.csv"), label_form="names" if a == "age" else "numbers"
        )
        for a in ATTRIBUTES
    }
    table = read_rows(DATA / "adult" / "adult.csv", attributes, ["?", ""])
    rng = np.random.default_rng(seed)
    space = RecordSpace(table.domain)
    people = Records.from_codes(space, table.codes)[rng.permutation(len(table))]
    rows = min(rows, len(people))
    weights = Weights.linear(map(harmonic_shares, space.taxonomies), rng.uniform(size=(rows, len(space))))
    return Experiment(people, rows, Harm(Linear(weights)), Harm(Multiplicative(weights)), seed)


def random_rule(experiment: Experiment, rng: np.random.Generator) -> Records:
    """The disclosed records, each value some random steps up; how far on average, the rule draws by attribute."""
    heights = experiment.people.space.heights
    shares = rng.uniform(size=len(heights))
    return experiment.originals.generalized(rng.binomial(heights, shares, (experiment.disclosed, len(heights))))


def figure_7a(experiment: Experiment) -> Iterator[Figure]:
    top = int(experiment.people.space.heights.sum())
    rows = []
    for share in SIZES:
        dictionary = experiment.dictionary(int(share * len(experiment.people)))
        for name, harm in (("linear", experiment.linear), ("multiplicative", experiment.multiplicative)):
            problem = experiment.problem(harm, dictionary)
            risks = [best_of_each(problem, LeastRisk(c)).risk for c in range(top + 1)]
            rows.append([name, len(dictionary), *risks])
    yield Figure(
        "fig7a", "Fig. 7a, least risk by c and dictionary", ["sensitivity", "entries", *map(str, range(top + 1))], rows
    )


def random_k_anonymous(counts: CountArray, k: int, rng: np.random.Generator) -> IndexArray:
    """For each record a random one of its level vectors that k or more people agree with. counts: by vector, record."""
    return np.argmax(np.where(counts >= k, rng.uniform(size=counts.shape), -1.0), axis=0)


def figure_7b(experiment: Experiment) -> Iterator[Figure]:
    rng = np.random.default_rng(experiment.seed)
    edge = frontier(experiment.problem())
    dictionary = experiment.dictionary(len(experiment.people))
    vectors = experiment.people.space.level_vectors()
    counts = np.stack([consistent_counts(experiment.originals.generalized(levels), dictionary) for levels in vectors])
    rows = []
    for k in ANONYMITY:
        for _ in range(RULES):
            rule = experiment.originals.generalized(vectors[random_k_anonymous(counts, k, rng)])
            utility = float(distance_from_root(rule).mean())
            # The first rule on the frontier that is no less useful: a disclosure, not just a bound.
            optimal = int(np.searchsorted(edge.utility, utility))
            rows.append(
                [
                    k,
                    utility,
                    risk(rule, dictionary, experiment.multiplicative),
                    float(edge.utility[optimal]),
                    float(edge.risk[optimal]),
                ]
            )
    header = ["k", "utility", "risk", "optimal_utility", "optimal_risk"]
    yield Figure(
        "fig7b_rules", "Fig. 7b, each random k-anonymous rule, and an optimal one of its utility", header, rows
    )
    means = [[k, *np.mean([row[1:] for row in rows if row[0] == k], axis=0).tolist()] for k in ANONYMITY]
    yield Figure("fig7b", "Fig. 7b, means over the rules of each k", header, means)


def figure_7c(experiment: Experiment) -> Iterator[Figure]:
    rng = np.random.default_rng(experiment.seed)
    estimated, identifiers = experiment.dictionary(experiment.disclosed), np.arange(experiment.disclosed)
    rows = []
    for share in SIZES:
        known = experiment.dictionary(int(share * len(experiment.people)))
        heights = experiment.people.space.heights
        up = rng.binomial(heights, 0.1, known.entries.nodes.shape)
        true = Dictionary(known.entries.generalized(up), known.identifiers)
        if not precedes(estimated, true):
            raise AssertionError("the true dictionary is more general and larger by construction")
        for _ in range(RANDOM_RULES // 4):
            rule, harm = random_rule(experiment, rng), experiment.multiplicative
            require_bound(rule, experiment.originals, identifiers, estimated, harm)
            rows.append([len(true), risk(rule, true, harm), risk(rule, estimated, harm)])
    yield Figure("fig7c", "Fig. 7c, true and estimated risk of random rules", ["entries", "true", "estimated"], rows)


def figure_9(experiment: Experiment) -> Iterator[Figure]:
    rng = np.random.default_rng(experiment.seed)
    dictionary = experiment.dictionary(len(experiment.people))
    rules = [random_rule(experiment, rng) for _ in range(RANDOM_RULES)]
    pairs = sorted((risk(r, dictionary, experiment.multiplicative), float(distance_from_root(r).mean())) for r in rules)
    rows = [[number, *pair] for number, pair in enumerate(pairs, 1)]
    yield Figure("fig9", "Fig. 9, random rules by risk", ["rule", "risk", "utility"], rows)
    risks, utilities = map(np.array, zip(*pairs))
    found = [
        ["of risk and utility", float(np.corrcoef(risks, utilities)[0, 1])],
        ["of ln risk and utility", float(np.corrcoef(np.log(risks), utilities)[0, 1])],
    ]
    yield Figure("fig9_correlation", "Fig. 9c, correlation over random rules", ["correlation", "value"], found)


def figure_10(experiment: Experiment) -> Iterator[Figure]:
    problem, top = experiment.problem(), int(experiment.people.space.heights.sum())
    edge = frontier(problem)
    each = [best_of_each(problem, LeastRisk(c)) for c in range(top + 1)]
    rows = [[c, float(np.interp(c, edge.utility, edge.risk)), best.risk] for c, best in enumerate(each)]
    yield Figure("fig10a", "Fig. 10a, least risk with utility >= c", ["c", "on average", "for each record"], rows)
    limits = np.geomspace(max(edge.risk[0], 1e-6), edge.risk[-1], 12)
    rows = [
        [
            float(limit),
            float(np.interp(limit, edge.risk, edge.utility)),
            best_of_each(problem, MostUtility(limit)).mean_utility,
        ]
        for limit in limits
    ]
    yield Figure("fig10b", "Fig. 10b, most utility with risk <= c", ["c", "on average", "for each record"], rows)


def figure_11(experiment: Experiment) -> Iterator[Figure]:
    problem = experiment.problem()
    rows: list[list[int | float]] = []
    for c in range(int(experiment.people.space.heights.sum()) + 1):
        levels = best_of_each(problem, LeastRisk(c)).disclosure.levels
        as_they_are = (levels == 0).mean(axis=0)
        rows.append([c, *as_they_are.tolist(), float(as_they_are.mean())])
    title = "Fig. 11, share of records that show an attribute as it is, for utility >= c of each record"
    yield Figure("fig11", title, ["c", *ATTRIBUTES, "all"], rows)


def brute_force(problem: DecisionProblem, objective: LeastRisk) -> tuple[float, int]:
    """The risk of the best level vector of each record, each looked up by itself, and how many losses were computed."""
    rows, vectors = np.arange(len(problem.originals)), problem.originals.space.level_vectors()
    utility = np.stack([problem.utility(rows, levels) for levels in vectors])
    loss = np.stack([problem.loss(rows, levels) for levels in vectors])
    return float(np.where(utility >= objective.utility, loss, np.inf).min(axis=0).mean()), loss.size


def walk(problem: DecisionProblem, objective: LeastRisk) -> tuple[float, int]:
    """The same by the product's search."""
    found = best_of_each(problem, objective)
    return found.risk, found.evaluated


def figure_12(experiment: Experiment) -> Iterator[Figure]:
    problem, rows = experiment.problem(), []
    for c in range(int(experiment.people.space.heights.sum()) + 1):
        row: list[int | float] = [c]
        found = []
        for search in (brute_force, walk):
            begin = time.perf_counter()
            found.append(search(problem, LeastRisk(c)))
            row.append(time.perf_counter() - begin)
        rows.append([*row, *(risk for risk, _ in found), *(losses for _, losses in found)])
    names = ("brute force", "walk")
    header = ["c", *(f"{what} {name}" for what in ("seconds", "risk", "losses") for name in names)]
    yield Figure("fig12", "Fig. 12, brute force against a walk over all level vectors", header, rows)


FIGURES: dict[int, Sequence[Callable[[Experiment], Iterator[Figure]]]] = {
    7: (figure_7a, figure_7b, figure_7c),
    9: (figure_9,),
    10: (figure_10,),
    11: (figure_11,),
    12: (figure_12,),
}


def plot(figures: Sequence[Figure], folder: Path) -> None:
    """One picture for each table that has one in the paper."""
    folder.mkdir(parents=True, exist_ok=True)
    import matplotlib as mpl

    mpl.use("agg")
    from matplotlib import pyplot as plt

    for figure in figures:
        if figure.name not in PLOTS:
            continue
        canvas, axes = plt.subplots(figsize=(6, 4), layout="constrained")
        PLOTS[figure.name](figure, axes)
        axes.set_title(figure.title)
        canvas.savefig(folder / f"{figure.name}.svg", metadata={"Date": None})
        plt.close(canvas)


def _column(figure: Figure, name: str) -> list[float]:
    place = list(figure.header).index(name)
    return [float(row[place] or 0) for row in figure.rows]


def _curves(x: str, y: Sequence[str], labels: tuple[str, str], scale: str = "linear") -> Callable[..., None]:
    def draw(figure: Figure, axes: object) -> None:
        for name in y:
            axes.plot(_column(figure, x), _column(figure, name), "o-", markersize=3, label=name)  # type: ignore[attr-defined]
        axes.set(xlabel=labels[0], ylabel=labels[1], yscale=scale)  # type: ignore[attr-defined]
        axes.legend()  # type: ignore[attr-defined]

    return draw


def _draw_7a(figure: Figure, axes: object) -> None:
    for name, entries, *risks in figure.rows:
        axes.plot(range(len(risks)), risks, label=f"{name}, {entries} entries")  # type: ignore[attr-defined]
    axes.set(xlabel="c", ylabel="least risk", yscale="log")  # type: ignore[attr-defined]
    axes.legend(fontsize="small")  # type: ignore[attr-defined]


def _draw_7b(figure: Figure, axes: object) -> None:
    for name, utility, loss in (
        ("random k-anonymous", "utility", "risk"),
        ("optimal", "optimal_utility", "optimal_risk"),
    ):
        axes.plot(_column(figure, utility), _column(figure, loss), "o-", label=name)  # type: ignore[attr-defined]
    axes.set(xlabel="utility", ylabel="risk", yscale="log")  # type: ignore[attr-defined]
    axes.legend()  # type: ignore[attr-defined]


def _draw_7c(figure: Figure, axes: object) -> None:
    true, estimated = _column(figure, "true"), _column(figure, "estimated")
    axes.scatter(true, estimated, c=_column(figure, "entries"), s=12)  # type: ignore[attr-defined]
    axes.axline((0, 0), slope=1, linewidth=0.8)  # type: ignore[attr-defined]
    axes.set(xlabel="true risk", ylabel="estimated risk")  # type: ignore[attr-defined]


def _draw_9(figure: Figure, axes: object) -> None:
    axes.scatter(_column(figure, "risk"), _column(figure, "utility"), s=12)  # type: ignore[attr-defined]
    axes.set(xlabel="risk", ylabel="utility", xscale="log")  # type: ignore[attr-defined]


PLOTS: dict[str, Callable[..., None]] = {
    "fig7a": _draw_7a,
    "fig7b": _draw_7b,
    "fig7c": _draw_7c,
    "fig9": _draw_9,
    "fig10a": _curves("c", ("on average", "for each record"), ("c", "risk"), "log"),
    "fig10b": _curves("c", ("on average", "for each record"), ("c", "utility")),
    "fig11": _curves("c", (*ATTRIBUTES, "all"), ("c", "share as it is")),
    "fig12": _curves("c", ("seconds brute force", "seconds walk"), ("c", "seconds")),
}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--figure", type=int, choices=sorted(FIGURES), help="this one only")
    parser.add_argument("--rows", type=int, default=2000, help="records to disclose, drawn from Adult")
    parser.add_argument("--csv", type=Path, metavar="FOLDER", help="write the tables there, too")
    parser.add_argument("--plots", type=Path, metavar="FOLDER", help="draw them there (needs matplotlib)")
    parser.add_argument("--seed", type=int, default=0, help="of samples, weights and random rules")
    chosen = parser.parse_args()
    if not DATA.is_dir():
        print(f"The table Adult is not here: {DATA} is no folder; set MARGINALS_DATA to it.")
        return
    experiment = adult(chosen.rows, chosen.seed)
    for number in [chosen.figure] if chosen.figure else sorted(FIGURES):
        for make in FIGURES[number]:
            made = list(make(experiment))
            for figure in made:
                print(figure)
                if chosen.csv:
                    figure.write(chosen.csv)
            if chosen.plots:
                plot(made, chosen.plots)


if __name__ == "__main__":
    main()
