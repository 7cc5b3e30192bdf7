"""Names that were taken out: keys, commands, options, arguments and members, each refused with its replacement."""

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

_CORRECTED = "release.title of the new release says what it corrects; marginals verify OLD NEW checks both together"

# Keys stand without the name of an attribute or a file.
REPLACED: Mapping[str, str] = {
    "search.start": "leave it out; in Python, a strategy of your own can begin anywhere",
    "search.wanted.measure": "analyses are judged by the KL divergence; leave it out",
    "search.max_cells": "search.max_attributes bounds a margin",
    "attributes.population": "give the attribute a hierarchy, made of these counts",
    "tables.scope": "write the value into a column of the table",
    "tables.absent": "write complete = true for a table that leaves out only cells without people",
    "rules of a file": "write its demands as keys of [privacy], or check them by verify --check",
    "data.engine": "data.memory decides, and every reader gives the same table; leave it out",
    "sweep": "quasi-identifiers matter in the order of [attributes], and base values that occur weigh alike; leave it out",
    "risk.similar": "entries fit by equal values; spell the values of the dictionaries as the table does",
    "risk.threshold": "entries fit by equal values; leave it out",
    "population.bayes_optimal": 'diversity = "bayes-optimal:rho1,rho2" bounds beliefs by the shares among all rows',
    "risk.clusters": "risk --utility finds the best disclosure whatever attributes depend on; leave it out",
    "risk.step_utility": "every level below * is worth 1; leave it out",
    "marginals report": "marginals verify RELEASE --report FILE",
    "marginals replace": _CORRECTED,
    "--replaces": _CORRECTED,
    "marginals compare": "the steward's page of publish says it; in Python marginals.compare(release, table)",
    "--plot": "marginals risk CONFIG --frontier --json lists the frontier",
    "risk --report": "marginals risk CONFIG prints all of it, with --json for programs",
    "--attributes": "marginals risk CONFIG --utility STEPS finds the best disclosure exactly",
    "anonymize --all": "--json lists all tables",
    "--jobs": "two processes work at once; in Python marginals.audit(..., jobs=1)",
    "--port": "a free port is taken, and its address printed",
    "--no-browser": "the address is printed; BROWSER=true marginals open opens none",
    "--leave-out": "--suppression shows rows of failing classes with * instead, and readers can count them",
    "--months": "publish each month's table with the same --ledger DIR",
    "--retract": f"what was out counts for good; {_CORRECTED}",
    "--protection": "--bounds FILE lists the range that is left; protection in the spec sets a limit",
    "risk of a release": "marginals attack RELEASE --truth CONFIG says what its readers can conclude",
    "--keep-order": "in Python marginals.risk.disclose(rows, rules).frame(keep_order=True) keeps it",
    "disclose --seed": "in Python marginals.risk.disclose(rows, rules).frame(seed=...) takes one",
    "--seconds": "end it by Ctrl-C, or begin it with: timeout 60 marginals ...",
    "argument values": 'release.estimate(lambda rows: rows["grade"].map({"low": 1, "high": 2}).mean()) gives labels numbers',
    "criteria.implies": "assess --eligible lists what implies a functional diversity",
    "Attacks.compositions": "attack each folder, and all together",
    "Attacks.thresholds": "the smallest counts stand in the checks of marginals.verify",
    "Comparison.each": "candidates has the release and its yardsticks",
    "Comparison.furthest_odds": "most_lost() lists the pairs by what is lost",
    "Comparison.pairs": "pandas.DataFrame(comparison.most_lost()) has a row for each pair",
    "StewardReport.base": "has_base says whether the policy demands a base table",
    "StewardReport.beside": "further has the further tables",
    "StewardReport.kl_best_table": "marginals.anonymize(table, policy).best().kl_divergence is it",
    "StewardReport.removed": "1 - kl_divergence / kl_suppressed is this share",
    "StewardReport.suggestions": "comparison.most_lost() lists the pairs to want",
    "Selection.junction_tree": "model.junction_tree() is it",
    "Selection.average": "bootstrap(100) says how sure each edge is",
    "Selection.plot": "networkx.draw_networkx(selected.graph) draws it",
    "Selection.to_release": "marginals.publish(table, marginals.Policy(must_publish=[{'a': 0, 'b': 0}])) demands cliques",
    "Release.cells": "table(attributes).reset_index()",
    "Release.collection": "published.collection",
    "Release.conditional": 'table(given, attributes, normalize="rows")',
    "Release.counts": "table(attributes, bounds=True)",
    "Release.crosstab": 'table(rows, columns).value.unstack("column")',
    "Release.crosstab_bounds": "table(rows, columns, bounds=True)",
    "Release.everything": "published.everything",
    "Release.exact_rows": "rows(exact=True)",
    "Release.expected_count": "count(where).value",
    "Release.further": "published.further",
    "Release.independences": "model.independences()",
    "Release.information": "model.information",
    "Release.interaction_graph": "model.interaction_graph()",
    "Release.junction_tree": "model.junction_tree()",
    "Release.least_count": "published.least_count",
    "Release.marginal": "table(levels)",
    "Release.margins": "published.everything.margins",
    "Release.means": "mean(attribute, by=attributes)",
    "Release.mutual_information": "model.mutual_information(first, second)",
    "Release.odds_ratio": 'effect(outcome, group).loc["odds ratio"]',
    "Release.plausible_interval": "estimate(function), or the interval() of an answer",
    "Release.plausible_tables": "estimate(function)",
    "Release.quantile_bounds": "quantile(attribute, probabilities)",
    "Release.risk_difference": 'effect(outcome, group).loc["risk difference"]',
    "Release.risk_ratio": 'effect(outcome, group).loc["risk ratio"]',
    "Release.sample": "rows(n, seed=seed)",
    "Release.sample_base_values": "rows(n, seed=seed, base_values=True)",
    "Release.u_terms": "model.u_terms(prior_rows)",
    "Release.write_report": "report(path)",
}


def instead_of(name: str) -> str:
    """Return the end of a message about a name: what replaces it if it was taken out, else nothing."""
    return f" any more: {REPLACED[name]}" if name in REPLACED else ""


class Renewed:
    """Base of results that name the replacement of a removed member."""

    if not TYPE_CHECKING:  # types know the members that there are

        def __getattr__(self, name: str) -> Any:
            kinds = [kind.__name__ for kind in type(self).__mro__]
            instead = next(filter(None, (instead_of(f"{kind}.{name}") for kind in kinds)), "")
            raise AttributeError(f"{kinds[0]} has no {name!r}{instead}")
