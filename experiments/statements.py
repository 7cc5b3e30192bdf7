"""What the five papers say of their figures, each sentence judged on the numbers that the experiments print.

A statement reads the CSV files of a script and says what came out, and whether that agrees; what counts as agreeing stands
in its own words. No verdict is typed: `papers_page.py` shows them, and tests compare them with the page.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path

import explanations
from explanations import Reason
from figures import Rows, read_figure

Judge = Callable[..., tuple[str, bool]]
"""From CSV files, what came out and whether it agrees."""


@dataclass(frozen=True)
class Statement:
    """What a paper says of a figure, and how that is judged.

    says: with what counts as agreeing, where the paper does not say. tables: the CSV files that `judge` reads. why: what
    explains a "no".
    """

    figure: str
    says: str
    script: str
    tables: tuple[str, ...]
    judge: Judge
    why: Reason | None = None

    def line(self, folder: Path) -> str:
        """As a row of a table in Markdown. folder: that of the script's CSV files."""
        came_out, agrees = self.judged(folder)
        return f"| {self.figure} | {self.says} | {came_out} | {'yes' if agrees else 'no'} |"

    def judged(self, folder: Path) -> tuple[str, bool]:
        """What came out, and whether it agrees."""
        return self.judge(*(read_figure(folder / f"{name}.csv") for name in self.tables))

    def why_not(self, folder: Path) -> str | None:
        """As a row of a table in Markdown, the reason of a "no"; None where it agrees. folder: that of all scripts.

        Raises LookupError for a "no" that nothing explains.
        """
        if self.judged(folder / self.script)[1]:
            return None
        if self.why is None:
            raise LookupError(f"{self.figure}, {self.says}: it does not agree, and no reason is known")
        return f"| {self.figure} | {self.says} | {self.why.sentence(folder)} |"


@dataclass(frozen=True)
class Timing:
    """What a paper says of times, and the times of one run, which are others each time and no verdict."""

    figure: str
    says: str
    measured: Reason

    def line(self, folder: Path) -> str:
        """As a row of a table in Markdown. folder: that of all scripts."""
        return f"| {self.figure} | {self.says} | {self.measured.sentence(folder)} |"


def _share(holds: Sequence[bool], of_what: str, least: float = 1.0) -> tuple[str, bool]:
    """In how many cases something holds, and whether in enough of them."""
    return f"{sum(holds)} of {len(holds)} {of_what}", bool(holds) and sum(holds) >= least * len(holds)


def _numbers(rows: Rows, column: str) -> list[float]:
    return [float(row[column]) for row in rows]


def _rises(values: Sequence[float]) -> bool:
    return all(before <= after for before, after in pairwise(values))


def _agreeing(rows: Rows) -> tuple[str, bool]:
    return _share([row["agree"] == "yes" for row in rows], "rows")


def _text(rows: Rows) -> tuple[str, bool]:
    def same(ours: str, paper: str) -> bool:
        if paper.startswith("over "):
            return float(ours) > float(paper.split()[1])
        if paper.startswith("under "):
            return float(ours) < float(paper.split()[1])
        decimals = len(paper.partition(".")[2])
        if not paper.removeprefix("-").replace(".", "").isdigit():
            return ours == paper
        return f"{float(ours):.{decimals}f}" == paper

    return _share([same(row["ours"], row["in the paper"]) for row in rows], "numbers")


def _affected(rows: Rows) -> tuple[str, bool]:
    return _share([not row["tables"].startswith("0/") for row in rows], "values of k")


def _more_affected(wholly: Rows, nearly: Rows) -> tuple[str, bool]:
    pairs = zip(_numbers(wholly, "classes"), _numbers(nearly, "classes"))
    return _share([one < other for one, other in pairs], "values of k")


_DIVERSE = ("entropy", "recursive (3, l)")


def _near_anonymity(rows: Rows) -> tuple[str, bool]:
    near = [
        float(row[c]) <= 1.1 * float(row["k-anonymity"]) for row in rows if int(row["k = l"]) <= 6 for c in _DIVERSE
    ]
    return _share(near, "tables")


def _larger_l_costs(rows: Rows) -> tuple[str, bool]:
    by_size: dict[str, dict[int, Mapping[str, str]]] = {}
    for row in rows:
        by_size.setdefault(row["attributes"], {})[int(row["k = l"])] = row
    costs = [float(size[10][c]) > float(size[6][c]) for size in by_size.values() for c in _DIVERSE]
    return _share(costs, "cases")


def _variants_alike(rows: Rows) -> tuple[str, bool]:
    one, other = _DIVERSE
    alike = [abs(float(row[one]) / float(row[other]) - 1) <= 0.01 for row in rows if row[one] and row[other]]
    return _share(alike, "cases", 0.5)


def _near_base(rows: Rows) -> tuple[str, bool]:
    cases = [(row, c) for row in rows if int(row["k = l"]) >= 8 for c in _DIVERSE]
    return _share([bool(row[c]) and float(row[c]) >= 0.9 * float(row["base"]) for row, c in cases], "cases")


def _recursive_at_six(rows: Rows) -> tuple[str, bool]:
    at_six = [row for row in rows if row["k = l"] == "6"]
    return _share([float(row[_DIVERSE[1]] or "inf") < float(row[_DIVERSE[0]] or "inf") for row in at_six], "cases", 0.5)


def _heights_alike(*tables: Rows) -> tuple[str, bool]:
    rows = [row for rows in tables for row in rows if row["least"] == "height"]
    return _share([row[c] == row["k-anonymity"] for row in rows for c in _DIVERSE], "cases", 0.5)


def _recursive_keeps_more(*tables: Rows) -> tuple[str, bool]:
    rows = [row for rows in tables for row in rows if row["least"] != "height" and row[_DIVERSE[0]]]
    return _share([float(row[_DIVERSE[1]] or "inf") <= float(row[_DIVERSE[0]] or "inf") for row in rows], "cases")


def _heights(rows: Rows) -> dict[str, float]:
    return {row["bar"]: float(row["KL divergence"]) for row in rows}


def _three_tables(rows: Rows) -> tuple[str, bool]:
    number = sum(row["kind"] == "table" for row in rows)
    return f"{number} tables", number == 3


def _far_tables(rows: Rows) -> tuple[str, bool]:
    kl = _heights(rows)
    nearest = min(kl[letter] for letter in "ABC")
    return f"the nearest has {nearest / kl['0']:.2f} of it", nearest >= kl["0"] / 2


def _best_is_b(rows: Rows) -> tuple[str, bool]:
    kl = _heights(rows)
    listed = ", ".join(f"{bar} {kl[bar]:.4g}" for bar in ("A+", "B+", "C+", "opt"))
    return listed, abs(kl["B+"] - kl["opt"]) < 1e-6 and kl["opt"] < min(kl["A+"], kl["C+"])


def _order(rows: Rows) -> tuple[str, bool]:
    order = [row["bar"].split()[1] for row in rows if " " in row["bar"]]
    return ", ".join(order), order == ["race", "marital-status", "sex", "age"]


def _five_years(rows: Rows) -> tuple[str, bool]:
    (margins,) = (row["margins"] for row in rows if row["bar"] == "C4 age")
    (level,) = (margin for margin in margins.split("; ") if margin.startswith("age:") and "," not in margin)
    return f"{level}, the hierarchy's bands of 5 years", level == "age:1"


def _enormous(rows: Rows) -> tuple[str, bool]:
    kl = _heights(rows)
    won = (kl["C"] - kl["C4 age"]) / (kl["C"] - kl["C+"])
    return f"{won:.0%} of it", won >= 0.5


def _noticeable(rows: Rows) -> tuple[str, bool]:
    kl = _heights(rows)
    less = [1 - kl[bar] / kl["C4 age"] for bar in ("C+", "opt")]
    return f"{less[0]:.0%} and {less[1]:.0%} less", min(less) >= 0.1


def _risk_rises(rows: Rows) -> tuple[str, bool]:
    return _share([_rises([float(row[str(c)]) for c in range(11)]) for row in rows], "curves")


def _risk_falls(rows: Rows) -> tuple[str, bool]:
    by_kind: dict[str, list[float]] = {}
    for row in rows:
        by_kind.setdefault(row["sensitivity"], []).append(-float(row["8"]))
    return _share([_rises(risks) for risks in by_kind.values()], "kinds of sensitivity")


def _multiplicative(rows: Rows) -> tuple[str, bool]:
    linear, other = ([row for row in rows if row["sensitivity"] == s] for s in ("linear", "multiplicative"))
    return _share([float(a[str(c)]) < float(b[str(c)]) for a, b in zip(linear, other) for c in range(11)], "points")


def _beats_anonymity(rows: Rows) -> tuple[str, bool]:
    better = [
        float(row["optimal_risk"]) < float(row["risk"]) and float(row["optimal_utility"]) >= float(row["utility"])
        for row in rows
    ]
    return _share(better, "values of k")


def _difference_rises(rows: Rows) -> tuple[str, bool]:
    gaps = [float(row["risk"]) - float(row["optimal_risk"]) for row in rows]
    told = f"from {gaps[0]:.2g} at k = {rows[0]['k']} to {gaps[-1]:.2g} at k = {rows[-1]['k']}"
    return told, gaps[0] < gaps[-1]


def _above_truth(rows: Rows) -> tuple[str, bool]:
    return _share([float(row["estimated"]) >= float(row["true"]) for row in rows], "points")


def _correlated(rows: Rows) -> tuple[str, bool]:
    (value,) = (float(row["value"]) for row in rows if row["correlation"] == "of risk and utility")
    return f"{value:.3f}", abs(value - 0.858) <= 0.1


def _optimum_rises(*tables: Rows) -> tuple[str, bool]:
    return _share([_rises(_numbers(t, c)) for t in tables for c in ("on average", "for each record")], "curves")


def _more_as_they_are(rows: Rows) -> tuple[str, bool]:
    shares = [float(row["all"]) for row in rows]
    return f"from {shares[0]:.0%} at c = {rows[0]['c']} to {shares[-1]:.0%} at c = {rows[-1]['c']}", _rises(shares)


def _salary_needs_four(rows: Rows) -> tuple[str, bool]:
    (salary,) = (row for row in rows if row["sensitive"] == "Adult, salary")
    least = salary["least whole c, l = 2"]
    return f"{least} or more at l = 2, the only l that it can have", least == "4"


def _same_risk(rows: Rows) -> tuple[str, bool]:
    return _share([row["risk walk"] == row["risk brute force"] for row in rows], "values of c")


def _faster(rows: Rows) -> tuple[str, bool]:
    return _share([float(r["seconds walk"]) < float(r["seconds brute force"]) for r in rows], "values of c")


def _answered_by_all(rows: Rows) -> Rows:
    return [row for row in rows if row["1dld"] and row["cld"]]


def _only_sweep(rows: Rows) -> tuple[str, bool]:
    told = f"{len(rows) - len(_answered_by_all(rows))} of {len(rows)} requirements"
    return told, all(row["sweep"] for row in rows) and len(_answered_by_all(rows)) < len(rows)


def _best_of_all(least: bool, share: float) -> Judge:
    def judge(rows: Rows) -> tuple[str, bool]:
        sign = -1 if least else 1
        kept = _answered_by_all(rows)
        best = [sign * float(r["sweep"]) > max(sign * float(r["1dld"]), sign * float(r["cld"])) for r in kept]
        return _share(best, "requirements", share)

    return judge


def _mapping_beats_full_domain(rows: Rows) -> tuple[str, bool]:
    return _share([float(r["1dld"]) > float(r["cld"]) for r in _answered_by_all(rows)], "requirements", 0.5)


def _small_errors(rows: Rows) -> tuple[str, bool]:
    worst = {method: max(float(row[method]) for row in rows if row[method]) for method in ("sweep", "1dld", "cld")}
    return ", ".join(f"{method} {error:.3f}" for method, error in worst.items()) + " at most", max(
        worst.values()
    ) <= 0.1


MKGV07 = "l_diversity_mkgv07"
LANDS_END = "lands_end_mkgv07"
KG06 = "injecting_utility_kg06"
LSFB09 = "disclosure_risk_lsfb09"
TZ09 = "sweep_tz09"
TZ11 = "eligible_tz11"

_SAMPLED = ("fig15", "fig16", "fig17", "fig18")


def _sweeping(name: str) -> tuple[Statement, ...]:
    """What TZ09 says of its figures, on one of its two tables."""
    of = f", {name.title()}"
    protection, information, accuracy = (f"fig{number}_{name}" for number in (5, 6, 7))
    return (
        Statement(f"Fig. 5{of}", "some requirements only SWEEP can serve", TZ09, (protection,), _only_sweep),
        Statement(
            f"Fig. 5{of}",
            "where all can, SWEEP exceeds least",
            TZ09,
            (protection,),
            _best_of_all(least=True, share=1.0),
            why=explanations.TIES[name],
        ),
        Statement(
            f"Fig. 6{of}",
            "SWEEP often retains most (at least half)",
            TZ09,
            (information,),
            _best_of_all(least=False, share=0.5),
        ),
        Statement(
            f"Fig. 6{of}",
            "1dld retains more than cld (at least half)",
            TZ09,
            (information,),
            _mapping_beats_full_domain,
            why=explanations.ALL_COMBINATIONS,
        ),
        Statement(
            f"Fig. 7{of}",
            "trees learnt from tables of SWEEP are the most accurate",
            TZ09,
            (accuracy,),
            _best_of_all(least=False, share=1.0),
            why=explanations.GUESSES,
        ),
    )


STATEMENTS: Mapping[str, tuple[Statement, ...]] = {
    "MKGV07": (
        Statement("Figs. 5 and 6", "the numbers of the counterexample", MKGV07, ("fig6",), _text),
        Statement("Fig. 9", "every number of the table, to its last decimal", MKGV07, ("fig9",), _agreeing),
        Statement("Fig. 11", "every number of the table, to its last decimal", MKGV07, ("fig11",), _agreeing),
        Statement("Section 6, text", "the numbers of the text", MKGV07, ("text",), _text),
        Statement("Fig. 10", "at every k some minimal table has homogeneous classes", LANDS_END, ("fig10",), _affected),
        Statement(
            "Fig. 12",
            "more classes are nearly homogeneous than homogeneous",
            LANDS_END,
            ("fig10", "fig12"),
            _more_affected,
            why=explanations.ONE_COST,
        ),
        Statement(
            "Figs. 15 to 18",
            "the least height for k = l is usually the same (at least half)",
            MKGV07,
            _SAMPLED,
            _heights_alike,
            why=explanations.LEAST_HEIGHTS,
        ),
        Statement(
            "Figs. 15 to 18",
            "recursive diversity permits tables as useful as entropy, or more",
            MKGV07,
            _SAMPLED,
            _recursive_keeps_more,
        ),
        Statement(
            "Fig. 19",
            "for l = 8 and 10 the best tables are very close to the base (within 10 percent)",
            MKGV07,
            ("fig19",),
            _near_base,
        ),
        Statement(
            "Fig. 19",
            "for l = 6 recursive diversity keeps more than entropy (at least half)",
            MKGV07,
            ("fig19",),
            _recursive_at_six,
            why=explanations.SAME_TABLES,
        ),
        Statement(
            "Fig. 20",
            "for l up to 6 the best diverse tables are very close to the k-anonymous ones (within 10 percent)",
            MKGV07,
            ("fig20",),
            _near_anonymity,
        ),
        Statement("Fig. 20", "for larger l they keep less (l = 10 than 6)", MKGV07, ("fig20",), _larger_l_costs),
        Statement(
            "Fig. 20",
            "entropy and recursive diversity are often alike (within 1 percent, at least half)",
            MKGV07,
            ("fig20",),
            _variants_alike,
        ),
    ),
    "KG06": (
        Statement("Fig. 1", "the counts of its tables, and the numbers of the text", KG06, ("fig1",), _text),
        Statement("Fig. 7", "three tables are minimal", KG06, ("fig7_incognito",), _three_tables),
        Statement(
            "Fig. 7",
            "none is near the data (at least half of the divergence with all suppressed)",
            KG06,
            ("fig7_incognito",),
            _far_tables,
        ),
        Statement("Fig. 8", "the best collection with B is the best of all", KG06, ("fig8_incognito",), _best_is_b),
        Statement(
            "Fig. 9",
            "single attributes help C in this order: race, marital status, gender, age",
            KG06,
            ("fig9_incognito",),
            _order,
        ),
        Statement("Fig. 9", "the age is added in ranges of 5 years", KG06, ("fig9_incognito",), _five_years),
        Statement(
            "Fig. 9",
            "they are an enormous improvement (at least half of what is possible with C)",
            KG06,
            ("fig9_incognito",),
            _enormous,
        ),
        Statement(
            "Fig. 9",
            "the best with C and the best of all are noticeably better (by a tenth)",
            KG06,
            ("fig9_incognito",),
            _noticeable,
        ),
    ),
    "LSFB09": (
        Statement("Fig. 7(a)", "the risk rises with c", LSFB09, ("fig7a",), _risk_rises),
        Statement("Fig. 7(a)", "it falls as the dictionary grows, at c = 8", LSFB09, ("fig7a",), _risk_falls),
        Statement("Fig. 7(a)", "multiplicative sensitivity has the higher risk", LSFB09, ("fig7a",), _multiplicative),
        Statement(
            "Fig. 7(b)", "optimal rules beat k-anonymous ones of their utility", LSFB09, ("fig7b",), _beats_anonymity
        ),
        Statement(
            "Fig. 7(b)",
            "by more as k increases (last and first k)",
            LSFB09,
            ("fig7b",),
            _difference_rises,
            why=explanations.BOUNDED_RISK,
        ),
        Statement("Fig. 7(c)", "the estimated risk is at least the true one", LSFB09, ("fig7c",), _above_truth),
        Statement(
            "Fig. 9",
            "risk and utility of random rules are correlated by 0.858 (within 0.1)",
            LSFB09,
            ("fig9_correlation",),
            _correlated,
        ),
        Statement(
            "Fig. 10",
            "the least risk rises with the utility demanded, and the best utility with the risk allowed",
            LSFB09,
            ("fig10a", "fig10b"),
            _optimum_rises,
        ),
        Statement(
            "Fig. 11",
            "the more utility is asked for, the more values are shown as they are",
            LSFB09,
            ("fig11",),
            _more_as_they_are,
        ),
        Statement(
            "Fig. 12",
            "branch and bound (here a walk) has no higher risk than brute force",
            LSFB09,
            ("fig12",),
            _same_risk,
        ),
        Statement(
            "Fig. 12",
            "it is faster (times differ by machine)",
            LSFB09,
            ("fig12",),
            _faster,
        ),
    ),
    "TZ09": tuple(statement for name in ("adult", "nursery") for statement in _sweeping(name)),
    "TZ11": (
        Statement(
            "Section 1.1, text",
            "with the salary of Adult as the sensitive attribute, c must be 4 or more",
            TZ11,
            ("table1",),
            _salary_needs_four,
        ),
        Statement("Section 5.3.2, text", "a rule on Nursery covers 4320 tuples", TZ11, ("rule",), _text),
        *(
            Statement(
                f"Figs. 19 and 20, {name.title()}",
                "errors of counts with one condition are very small (at most a tenth)",
                TZ09,
                (f"queries1_{name}",),
                _small_errors,
                why=explanations.GENERALIZED if name == "adult" else None,
            )
            for name in ("adult", "nursery")
        ),
    ),
}
"""By paper, in the order of its figures."""

TIMINGS: Mapping[str, tuple[Timing, ...]] = {
    "TZ09": tuple(
        Timing(
            f"Fig. 8, {name.title()}",
            "SWEEP takes less than three times as long as 1dld, and always less than cld",
            explanations.STEPS[name],
        )
        for name in ("adult", "nursery")
    )
}
"""By paper. Times stand apart from results."""
