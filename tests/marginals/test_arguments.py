"""What Python hands over that is of another kind raises an error of the project, which says what to give instead."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

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
    "a table to disclose": (lambda: marginals.disclose(EXAMPLE, []), "what marginals.read_rows"),
}


@pytest.mark.parametrize("name", CALLS)
def test_another_kind_of_value_is_an_error_of_the_project(name: str) -> None:
    call, said = CALLS[name]
    with pytest.raises(marginals.MarginalsError, match=said) as caught:
        call()
    assert len(str(caught.value)) < 400
    assert "\n" not in str(caught.value)


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
