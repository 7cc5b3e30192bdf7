"""Why what a paper says does not come out here, in words made from the numbers that the experiments print.

`statements.py` judges; where it judges "no", the page docs/papers.md has one of these sentences. Each is false if its
numbers are, so they are read from the CSV files, most of them those of `reasons.py`.
"""

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from figures import Rows, read_figure

REASONS = "reasons"
"""The script whose tables give most reasons."""


@dataclass(frozen=True)
class Reason:
    """Why a statement does not come out. tables: script and name of the CSV files that `told` reads, in its order."""

    tables: tuple[tuple[str, str], ...]
    told: Callable[..., str]

    def sentence(self, folder: Path) -> str:
        """For people, with the numbers. folder: with a folder of CSV files for each script."""
        return self.told(*(read_figure(folder / script / f"{name}.csv") for script, name in self.tables))


def _numbers(rows: Rows, column: str) -> list[float]:
    return [float(row[column]) for row in rows]


def _sum(rows: Rows, *columns: str) -> int:
    return sum(int(row[column]) for row in rows for column in columns)


def _one_cost(rows: Rows) -> str:
    def more(share: str) -> tuple[int, int]:
        these = [row for row in rows if row["share of dear articles with another cost"] == share]
        larger = [float(row["nearly homogeneous"]) > float(row["homogeneous"]) for row in these]
        return sum(larger), len(larger)

    (none, all_), (some, _) = more("0.0"), more("0.02")
    return (
        "In the simulated table each dear article has one cost, so a class of them is wholly homogeneous or not at all. "
        f"That makes {none} of {all_} values of k. When 2 percent of their sales have another cost, it is {some} of {all_}."
    )


def _heights(rows: Rows) -> str:
    sampled = [row for row in rows if row["rows"] != "all rows"]
    by_l = {
        row["k = l"]: f"{_sum([row], 'entropy', 'recursive (3, l)')}/{2 * int(row['cases'])} at {row['k = l']}"
        for row in sampled
    }
    return (
        f"It hangs on l. Looked at are {sampled[0]['rows']} like the paper's. The least heights are the same in "
        f"{', '.join(by_l.values())}. The paper itself says of Fig. 19: for 8 and 10 the best diverse tables are near "
        "the one with all suppressed. No least k-anonymous table has its height. Its bars have no numbers."
    )


def _same_tables(rows: Rows) -> str:
    at_six = [row for row in rows if row["k = l"] == "6"]
    cases = _sum(at_six, "samples")
    recursive, entropy = _sum(at_six, "recursive only"), _sum(at_six, "entropy only")
    return (
        f"Entropy 6- and recursive (3, 6)-diversity are satisfied by the same tables in most samples. In {recursive} of "
        f"{cases} cases ({at_six[0]['samples']} samples) some table satisfies the recursive one only, in {entropy} the "
        "entropy one only. Which case it is hangs on the sample, and the paper's is not public."
    )


def _bounded_risk(rules: Rows, bounds: Rows) -> str:
    first, last = rules[0], rules[-1]
    gap = float(first["risk"]) - float(first["optimal_risk"])
    bound = float(bounds[-1]["harm / k"])
    verdict = (
        f"so it must shrink below that of k = {first['k']}, which is {gap:.2g}"
        if bound < gap
        else f"beside {gap:.2g} at k = {first['k']}"
    )
    return (
        "At least k people agree with each record of a k-anonymous rule, so a loss is at most its harm divided by k. Hence "
        f"at k = {last['k']} the difference is at most {bound:.2g}, {verdict}. The paper does not say of which "
        "table its rules were k-anonymous; of the dictionary, it cannot be so here."
    )


def _ties(found: Rows, classes: Rows | None = None, means: Rows | None = None) -> str:
    """classes, means: of the same requirements, where the script of reasons looks at this table."""
    served = [row for row in found if row["1dld"] and row["cld"]]
    told = []
    for row in served:
        least = min(float(row["1dld"]), float(row["cld"]))
        if float(row["sweep"]) == least:
            held = next((one for one in classes or () if one["requirement"] == row["requirement"]), None)
            why = f": both have a class of {held['sweep']} rows" if held and held["sweep"] == held["cld"] else ""
            why = ", below which nothing is" if least == 0 else why
            told.append(f"At {row['requirement']} SWEEP and another tie at {least:.4g}{why}")
        elif float(row["sweep"]) > least:
            told.append(f"At {row['requirement']} SWEEP exceeds by {float(row['sweep']):.4g}, another by {least:.4g}")
    text = "The measure is that of the one class that exceeds least (Def. 8). " + ". ".join(told) + "."
    if means is not None:
        best = [float(row["sweep"]) < min(float(row["1dld"]), float(row["cld"])) for row in means]
        text += f" By the mean over all rows SWEEP exceeds least at {sum(best)} of {len(best)}."
    return text


def _all_combinations(adult: Rows) -> str:
    served = [row for row in adult if row["1dld"] and row["cld"]]
    more = sum(float(row["1dld"]) > float(row["cld"]) for row in served)
    return (
        "Nursery holds every combination of its eight quasi-identifiers once, so no row stands out. One generalized "
        "attribute serves all classes alike, which suits full-domain tables. On Adult 1dld retains more for "
        f"{more} of {len(served)} requirements."
    )


def _guesses(rows: Rows) -> str:
    methods = ("sweep", "1dld", "cld")
    best = [max(methods, key=lambda method: float(row[method])) == "sweep" for row in rows]
    guess = float(rows[0]["commonest value"])
    strict = [row for row in rows if row["requirement"].split(", ")[1] != "2)"]
    away = max(abs(float(row[method]) - guess) for row in strict for method in methods)
    return (
        f"One tree for each table, which is chance: by the mean of ten, SWEEP's are the most accurate for {sum(best)} of "
        f"{len(best)} requirements. From {strict[0]['requirement']} on there is little to learn from any of the tables, "
        f"since diversity forbids it. No mean is further than {away:.2g} from what the commonest value for everybody gives "
        f"({guess:.3f})."
    )


def _generalized(rows: Rows) -> str:
    told = []
    for method in ("sweep", "1dld", "cld"):
        errors = _numbers([row for row in rows if row[method]], method)
        small = sum(error <= 0.1 for error in errors)
        told.append(f"With {method} it is for {small} of {len(errors)} requirements (least {min(errors):.2g}).")
    return f"{' '.join(told)} The error grows with the requirement, as the paper says."


def _steps(rows: Rows) -> str:
    served = [row for row in rows if row["1dld"] and row["cld"]]
    ours, flat = (rows[0][column] for column in ("combinations of levels as in Fig. 8", "with one step"))
    told = []
    for combinations, suffix in ((ours, " as in Fig. 8"), (flat, "")):
        sweep, mapped, full = (_numbers(served, f"{method}{suffix}") for method in ("sweep", "1dld", "cld"))
        ratios = [one / other for one, other in zip(sweep, mapped)]
        shorter = sum(one < other for one, other in zip(sweep, full))
        told.append(
            f"({int(combinations):,} combinations of levels) {min(ratios):.1f} to {max(ratios):.1f} times as long as "
            f"1dld. That is less than cld for {shorter} of {len(served)} requirements"
        )
    return f"With our hierarchies {told[0]}. With one step from each value to `*` {told[1]}."


def reasons_of(*names: str) -> tuple[tuple[str, str], ...]:
    """Tables of the script of reasons."""
    return tuple((REASONS, name) for name in names)


ONE_COST = Reason(reasons_of("why_fig12"), _one_cost)
LEAST_HEIGHTS = Reason(reasons_of("why_fig15"), _heights)
SAME_TABLES = Reason(reasons_of("why_fig19"), _same_tables)
BOUNDED_RISK = Reason((("disclosure_risk_lsfb09", "fig7b"), (REASONS, "why_fig7b")), _bounded_risk)
TIES: dict[str, Reason] = {
    "adult": Reason((("sweep_tz09", "fig5_adult"),), _ties),
    "nursery": Reason((("sweep_tz09", "fig5_nursery"), *reasons_of("why_fig5_class", "why_fig5")), _ties),
}
ALL_COMBINATIONS = Reason((("sweep_tz09", "fig6_adult"),), _all_combinations)
GENERALIZED = Reason((("sweep_tz09", "queries1_adult"),), _generalized)
GUESSES = Reason(reasons_of("why_fig7"), _guesses)
STEPS = {name: Reason(reasons_of(f"why_fig8_{name}"), _steps) for name in ("adult", "nursery")}
