"""What Python hands over that is of another kind raises an error of the project, which says what to give instead."""

import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import checks
import marginals
from marginals import Attribute, Hierarchy, Policy
from marginals.example import attributes, frame, release, table

EXAMPLE: Any = table
POLICY = Policy(k_link=2, diversity="none")
ANY: Any = None

CALLS: dict[str, tuple[Callable[[], object], str]] = {
    "start": (lambda: Attribute("quasi-identifier", intervals=[5], start="x"), "intervals and start are numbers"),  # type: ignore[arg-type]
    "no start": (lambda: Attribute("quasi-identifier", intervals=[5], start=ANY), "intervals and start are numbers"),
    "a text of intervals": (lambda: Attribute("quasi-identifier", intervals="x"), "intervals cannot be a str"),  # type: ignore[arg-type]
    "one interval": (lambda: Attribute("quasi-identifier", intervals=5), "give a list of widths"),  # type: ignore[arg-type]
    "prefixes": (lambda: Attribute("quasi-identifier", prefixes=["x"]), "the length of a prefix"),  # type: ignore[list-item]
    "one prefix": (lambda: Attribute("quasi-identifier", prefixes=2), "give a list of lengths"),  # type: ignore[arg-type]
    "dates": (lambda: Attribute("quasi-identifier", dates=3), "give a list of units"),  # type: ignore[arg-type]
    "values": (lambda: Attribute("quasi-identifier", values=[1]), "something for each value"),  # type: ignore[arg-type]
    "population": (lambda: Attribute("quasi-identifier", population=[1], ladder="fitted"), "something for each value"),  # type: ignore[arg-type]
    "role": (lambda: Attribute(ANY), "none of quasi-identifier"),
    "crosstab of nothing": (lambda: release.crosstab([]), "name them: crosstab"),
    "crosstab": (lambda: release.crosstab(), "name them: crosstab"),
    "crosstab of None": (lambda: release.crosstab(ANY, "age"), "attributes cannot be None"),
    "crosstab of a number": (lambda: release.crosstab(1, "age"), "attributes cannot be 1"),  # type: ignore[arg-type]
    "negative seed": (lambda: release.sample(10, seed=-1), "seed is a whole number from 0 on, not -1"),
    "seed of text": (lambda: release.sample_base_values(10, seed="x"), "seed is a whole number from 0 on"),  # type: ignore[arg-type]
    "broken seed": (lambda: release.sample(10, seed=1.5), "seed is a whole number from 0 on"),  # type: ignore[arg-type]
    "negative rows": (lambda: release.sample(-1), "rows is a whole number from 0 to 100,000,000, not -1"),
    "no rows": (lambda: release.sample(ANY), "rows is a whole number"),
    "rows without end": (lambda: release.sample(10**15), "rows is a whole number from 0 to 100,000,000"),
    "policy None": (lambda: marginals.publish(table, ANY), r"policy cannot be None; give marginals\.Policy"),
    "policy of a dict": (lambda: marginals.publish(table, {"k_link": 2}), "policy cannot be a dict"),  # type: ignore[arg-type]
    "table None": (lambda: marginals.publish(ANY, POLICY), "give what marginals.read_table"),
    "a frame": (lambda: marginals.publish(frame, POLICY), "give what marginals.read_table"),
    "title": (lambda: marginals.publish(table, POLICY, title=3), "title cannot be 3"),  # type: ignore[arg-type]
    "ledger": (lambda: marginals.publish(table, POLICY, ledger=3), "named by a text or a pathlib.Path"),  # type: ignore[arg-type]
    "seconds": (lambda: marginals.publish(table, POLICY, seconds="x"), "seconds must be a number"),  # type: ignore[arg-type]
    "anonymize": (lambda: marginals.anonymize(ANY, ANY), "give what marginals.read_table"),
    "assess": (lambda: marginals.assess(table, ANY), "give marginals.Policy"),
    "where": (lambda: marginals.read_table(frame, attributes, where="age == 22"), r"write where=marginals\.Part\("),  # type: ignore[arg-type]
    "no attributes": (lambda: marginals.read_table(frame, ANY), "give a role for each column"),
    "attributes": (lambda: marginals.read_table(frame, ["age"]), "give a role for each column"),  # type: ignore[arg-type]
    "an attribute": (lambda: marginals.read_table(frame, {"age": {"role": "x"}}), "the role"),  # type: ignore[dict-item]
    "rows of None": (lambda: marginals.read_rows(ANY, attributes), "."),
    "missing": (lambda: marginals.read_table(frame, attributes, missing=ANY), "give a list of texts"),
    "memory": (lambda: marginals.read_table(frame, attributes, memory="1 GB"), "memory is a whole number"),  # type: ignore[arg-type]
    "no memory": (lambda: marginals.read_table(frame, attributes, memory=-1), "memory is a whole number from 0 on"),
    "k": (lambda: marginals.read_table(frame, attributes, k="x"), "k is a whole number"),  # type: ignore[arg-type]
    "count": (lambda: release.count(ANY), "a condition cannot be None"),
    "count of a number": (lambda: release.count(3), "a condition cannot be 3"),  # type: ignore[arg-type]
    "count of numbers": (lambda: release.count([3]), "a condition cannot be 3"),  # type: ignore[list-item]
    "margin": (lambda: release.marginal(ANY), "a level for each attribute"),
    "margin of text": (lambda: release.marginal("age"), "a level for each attribute"),  # type: ignore[arg-type]
    "supports": (lambda: release.supports(ANY), "attributes cannot be None"),
    "release": (lambda: marginals.open_release(ANY), "named by a text or a pathlib.Path, not by None"),
    "write": (lambda: release.write(ANY), "named by a text or a pathlib.Path"),
    "report": (lambda: release.write_report(3), "named by a text or a pathlib.Path"),  # type: ignore[arg-type]
    "verify": (lambda: marginals.verify(ANY), "named by a text or a pathlib.Path"),
    "verify nothing": (lambda: marginals.verify(), "name the folder"),
    "attack": (lambda: marginals.attack(ANY), "named by a text or a pathlib.Path"),
    "audit": (lambda: marginals.audit(ANY), "named by a text or a pathlib.Path"),
    "audit of numbers": (lambda: marginals.audit([3]), "named by a text or a pathlib.Path"),  # type: ignore[arg-type]
    "config": (lambda: marginals.read_config(ANY), "named by a text or a pathlib.Path"),
    "hierarchy file": (lambda: marginals.read_hierarchy(ANY), "named by a text or a pathlib.Path"),
    "rows of a hierarchy": (lambda: Hierarchy.from_rows(ANY), "a list of rows such as"),
    "a row of a hierarchy": (lambda: Hierarchy.from_rows([ANY]), "row 1 is no row of labels"),
    "a text for a row": (lambda: Hierarchy.from_rows(["a*"]), "row 1 is no row of labels"),
    "base": (lambda: Policy(base=3), "a level for each attribute"),  # type: ignore[arg-type]
    "no base": (lambda: Policy(base=ANY), "a level for each attribute"),
    "part": (lambda: marginals.Part(ANY), "one line"),
    "rules to disclose": (lambda: marginals.disclose(marginals.read_rows(frame, attributes), ANY), "rules"),
    "rows to disclose": (lambda: marginals.disclose(ANY, []), "what marginals.read_rows"),
    "a release to compare": (lambda: marginals.compare(ANY, table), "open_release"),
    "a table to compare": (lambda: marginals.compare(release, ANY), "read_table"),
    "no releases": (lambda: marginals.mixture(3), "releases cannot be 3"),  # type: ignore[arg-type]
    "a mixed number": (lambda: marginals.mixture([3]), "release 1 cannot be 3"),  # type: ignore[list-item]
    "mixed weights": (lambda: marginals.mixture([release], 3), "weights cannot be 3"),  # type: ignore[arg-type]
    "a mixed weight": (lambda: marginals.mixture([release], [ANY]), "numbers from 0 that sum to 1"),
    "hilbert of a number": (lambda: marginals.hilbert(3), "table cannot be 3"),  # type: ignore[arg-type]
    "sweep of a number": (lambda: marginals.sweep(3), "table cannot be 3"),  # type: ignore[arg-type]
    "what is required": (lambda: marginals.sweep(table, 3), "requirement cannot be 3"),  # type: ignore[arg-type]
    "importance": (lambda: marginals.sweep(table, k=2, importance=3), "importance cannot be 3"),  # type: ignore[arg-type]
    "hide of a number": (lambda: marginals.hide(3, "age"), "table cannot be 3"),  # type: ignore[arg-type]
    "generalize of a number": (lambda: marginals.generalize(ANY, "age", None, 1), "table cannot be None"),
    "query_error": (lambda: marginals.query_error(3, table), "anonymized cannot be 3"),  # type: ignore[arg-type]
    "prediction": (lambda: marginals.prediction_accuracy(release, ANY, "sex"), "table cannot be None"),
    "frontier": (lambda: marginals.frontier(ANY, POLICY), "table cannot be None"),
    "frontier of a policy": (lambda: marginals.frontier(table, ANY), "policy cannot be None"),
    "plot": (lambda: marginals.plot_frontier(3), "frame cannot be 3"),  # type: ignore[arg-type]
    "a config": (lambda: marginals.disclosure_risk(3), "config cannot be 3"),  # type: ignore[arg-type]
    "a recoded file": (lambda: marginals.verify_recoded("x.csv", ANY, []), "attributes cannot be None"),
    "a kind": (lambda: marginals.check_criterion(3), "a criterion is a class"),  # type: ignore[arg-type]
    "a registered kind": (lambda: marginals.register_diversity(3), "a criterion is a class"),  # type: ignore[arg-type]
    "implies": (lambda: marginals.implies(3, "simple:2", 3), "a diversity is a text"),  # type: ignore[arg-type]
    "a claim": (lambda: checks.parse_claim(3), "a claim is stated as"),  # type: ignore[arg-type]
    "a diversity": (lambda: checks.parse_diversity(3), "a diversity is a text"),  # type: ignore[arg-type]
    "required": (lambda: marginals.select(frame, required=3), "required cannot be 3"),  # type: ignore[arg-type]
    "audited sensitive": (lambda: marginals.audit("x.csv", sensitive=3), "sensitive cannot be 3"),  # type: ignore[arg-type]
    "levels": (lambda: marginals.assess(table, POLICY, levels=3), "levels cannot be 3"),  # type: ignore[arg-type]
    "people": (lambda: marginals.Population(3), "people cannot be 3"),  # type: ignore[arg-type]
    "a table to disclose": (lambda: marginals.disclose(EXAMPLE, []), "what marginals.read_rows"),
}


@pytest.mark.parametrize("name", CALLS)
def test_another_kind_of_value_is_an_error_of_the_project(name: str) -> None:
    call, said = CALLS[name]
    with pytest.raises(marginals.MarginalsError, match=said) as caught:
        call()
    assert len(str(caught.value)) < 400
    assert "\n" not in str(caught.value)


NAN, WITHOUT_END = float("nan"), float("inf")

COUNTS: dict[str, Callable[[Any], object]] = {
    "k of hilbert": lambda k: marginals.hilbert(table, k=k),
    "k of hilbert with a requirement": lambda k: marginals.hilbert(table, "functional:0.5,2", k=k),
    "k of sweep": lambda k: marginals.sweep(table, k=k),
    "k of sweep with a requirement": lambda k: marginals.sweep(table, "functional:0.5,2", k=k),
    "k of frontier": lambda k: marginals.frontier(table, POLICY, k=[k], jobs=1),
    "k of read_table": lambda k: marginals.read_table(frame, attributes, k=k),
    "k_map": lambda k: marginals.Population(table, k_map=k),
    "max_attributes": lambda most: marginals.select(frame, max_attributes=most, time_limit=1),
    "values of implies": lambda values: marginals.implies("simple:3", "simple:2", values),
    "small of audit": lambda small: marginals.audit(_tables(), small=small, jobs=1),
    **{
        f"{name} of a policy": lambda number, name=name: Policy(**{"diversity": "none", name: number})  # type: ignore[misc]
        for name in ("k_link", "k_combinatorial", "min_cell", "min_published_cell", "max_cells", "max_attributes")
    },
}
"""Public functions with a number of rows or of attributes; each begins at 1."""

SHARES: dict[str, Callable[[Any], object]] = {
    "suppression": lambda share: marginals.anonymize(table, POLICY, suppression=share),
    "thin": lambda share: marginals.thin(table, POLICY, share),
    "population": lambda share: marginals.assess(table, POLICY, population=share),
    "delta_presence": lambda share: marginals.Population(table, delta_presence=(0, share)),
    "bayes_optimal": lambda share: marginals.Population(table, bayes_optimal=(0.1, share)),
    "weight": lambda share: marginals.mixture([release], [share]),
}


def _tables() -> Path:
    file = Path(tempfile.mkdtemp(), "small.csv")
    file.write_text("age,sex,count\nyoung,f,1\nyoung,m,20\nold,f,2\nold,m,30\n")
    return file


@pytest.mark.parametrize("number", [NAN, WITHOUT_END, -1, 0, 2.5, True, "3"], ids=repr)
@pytest.mark.parametrize("name", COUNTS)
def test_no_demand_is_a_number_that_is_no_count(name: str, number: object) -> None:
    with pytest.raises(marginals.MarginalsError):
        COUNTS[name](number)


@pytest.mark.parametrize("number", [NAN, WITHOUT_END, -1, 2.5, True, "3"], ids=repr)
@pytest.mark.parametrize("name", SHARES)
def test_no_share_is_outside_of_0_to_1(name: str, number: object) -> None:
    with pytest.raises(marginals.MarginalsError):
        SHARES[name](number)


@pytest.mark.parametrize("level", [NAN, -1, 2.5, True, "1"], ids=repr)
def test_no_level_is_no_whole_number(level: Any) -> None:
    disclosed = marginals.disclose(marginals.read_rows(frame, attributes), [])
    with pytest.raises(marginals.MarginalsError, match="has the levels 0 to"):
        marginals.generalize(disclosed, "age", None, level)


@pytest.mark.parametrize("protection", [NAN, -1, 2.5, True, "1"], ids=repr)
def test_no_protection_is_no_whole_number(protection: Any) -> None:
    with pytest.raises(marginals.InputError, match="protection is a whole number from 0 on"):
        marginals.audit(_tables(), protection=protection, jobs=1)


def test_claims_and_truth_of_another_kind(tmp_path: Path) -> None:
    release.write(tmp_path / "release")
    with pytest.raises(marginals.MarginalsError, match="claims"):
        marginals.verify(tmp_path / "release", claims=[3])  # type: ignore[list-item]
    with pytest.raises(marginals.MarginalsError, match="truth"):
        marginals.attack(tmp_path / "release", truth=3)  # type: ignore[arg-type]


def test_numbers_of_numpy_are_numbers() -> None:
    import numpy as np

    assert len(release.sample(int(np.int64(3)), seed=int(np.int64(1)))) == 3
    assert release.sample(np.int64(3), seed=np.random.default_rng(1)).shape[0] == 3  # type: ignore[arg-type]
    assert Attribute("quasi-identifier", intervals=[np.float64(0.5)]).intervals
