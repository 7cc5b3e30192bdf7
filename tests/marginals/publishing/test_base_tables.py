"""The base of a collection: one table, or one for each of several sensitive attributes; or none."""

import itertools
from itertools import product

import numpy as np
import pandas as pd
import pytest

from checks import Requirements
from marginals import Attribute, InputError, Policy, Release, Role, Table, publish, read_table
from marginals.errors import NothingPublishableError
from models import Collection, ContingencyTable, Domain, Hierarchy, MaximumEntropy

AGES = Hierarchy.from_rows([(str(age), f"{age // 20 * 20}-{age // 20 * 20 + 19}", "*") for age in range(20, 60, 5)])


def table_of(sensitive: int, seed: int = 0, rows: int = 400) -> Table:
    """People by age, sex and some sensitive attributes of four values each, which go together."""
    rng = np.random.default_rng(seed)
    names = ["job", "diagnosis", "income"][:sensitive]
    domain = Domain.of(
        {"age": AGES, "sex": Hierarchy.flat("fm"), **{name: Hierarchy.flat(["s0", "s1", "s2", "s3"]) for name in names}}
    )
    codes = {"age": rng.integers(0, 8, rows), "sex": rng.integers(0, 2, rows)}
    for name in names:
        first = codes.get("job", codes["age"] // 2)
        codes[name] = (first + rng.choice([0, 0, 1, 2], rows)) % 4
    counts = ContingencyTable.from_cells(domain, dict.fromkeys(codes, 0), codes, np.ones(rows, dtype=int))
    roles = {a: Role.SENSITIVE if a in names else Role.QUASI_IDENTIFIER for a in domain.attributes}
    return Table(counts, roles)


def brute_force(table: Table, requirements: Requirements, price: float) -> list[tuple[float, list[int]]]:
    """Objectives, ascending, with masks, of the minimal levels at which each sensitive attribute passes."""
    domain, names = table.domain, table.quasi_identifiers
    nodes = list(product(*(range(domain.hierarchy(name).height + 1) for name in names)))

    def masks(node: tuple[int, ...]) -> list[int]:
        return [domain.mask({**dict(zip(names, node)), attribute: 0}) for attribute in table.sensitive]

    def passes(node: tuple[int, ...]) -> bool:
        return all(
            finding.holds
            for mask, attribute in zip(masks(node), table.sensitive)
            for finding in requirements.about(attribute).of_table(table.cube.table(mask))
        )

    passing = [node for node in nodes if passes(node)]
    minimal = [n for n in passing if not any(o != n and all(map(int.__le__, o, n)) for o in passing)]
    models = [(MaximumEntropy(Collection.of(table.cube, masks(node))), masks(node)) for node in minimal]
    return sorted((own.kl_divergence + price * own.parameter_count, each) for own, each in models)


@pytest.mark.parametrize("objective", ["kl", "bic"])
@pytest.mark.parametrize("sensitive", [1, 2, 3])
@pytest.mark.parametrize("diversity", ["distinct:3", "entropy:2.5", "recursive:3,2"])
def test_it_is_the_best_of_all_levels_at_which_each_attribute_passes(
    sensitive: int, diversity: str, objective: str
) -> None:
    for seed in range(3):
        table = table_of(sensitive, seed)
        policy = Policy(
            k_link=5, diversity=diversity, base="best", objective=objective, strategy="forward", time_limit=0
        )
        requirements = policy.requirements(table.sensitive)
        if not brute_force(table, requirements, 0):
            with pytest.raises(NothingPublishableError):
                publish(table, policy)
            continue
        publication = publish(table, policy)
        (_, masks), *_ = brute_force(table, requirements, publication.steward.price)
        joint = [mask for mask in publication.steward.search.cliques if len(table.domain.margin(mask)) > 1]
        assert joint == sorted(mask for mask in masks if len(table.domain.margin(mask)) > 1), "no time for more"
        assert publication.steward.has_base
        assert publication.release.verify().ok
        for attribute in table.sensitive:
            assert any(attribute in margin for margin in publication.release.published.everything.margins)


def test_levels_that_somebody_chose_are_those_of_each_table() -> None:
    table = table_of(2)
    release = publish(table, Policy(k_link=5, diversity="distinct:2", base={"age": 1, "sex": 0})).release
    for attribute in table.sensitive:
        assert any({"age", "sex", attribute} <= {*margin} for margin in release.published.collection.margins)
    with pytest.raises(InputError, match="'job'"):
        publish(table, Policy(k_link=5, diversity="distinct:2", base={"job": 0}))
    with pytest.raises(NothingPublishableError, match=r"\{ age = 0, sex = 0 \} with job"):
        publish(table, Policy(k_link=300, base={"age": 0, "sex": 0}, diversity="none"))


def test_without_a_sensitive_attribute_it_is_the_quasi_identifiers() -> None:
    publication = publish(table_of(0), Policy(k_link=5, base="best", objective="kl", time_limit=0))
    assert {"age", "sex"} in [{*margin} for margin in publication.release.published.everything.margins]


def test_so_many_margins_of_each_sensitive_attribute_may_be_published() -> None:
    """Not of all of them together, or four sensitive attributes could not be published at all."""
    table = table_of(3)
    release = publish(table, Policy(k_link=5, base="none", max_sensitive_margins=1, diversity="none")).release
    for attribute in table.sensitive:
        assert sum(attribute in margin for margin in release.model.junction_tree().nodes) == 1


def finest_labels(release: Release, name: str) -> set[str]:
    return {*release.domain.hierarchy(name).labels[release.published.collection.finest_level(name)]}


ILLNESSES = {"flu": 400, "cold": 300, "gout": 150, "cough": 40, "burn": 2, "cut": 1}
KINDS = {name: "common" if count > 100 else "other" for name, count in ILLNESSES.items()}


def ill() -> Table:
    """People by sex and illness; illnesses are grouped into common ones and others."""
    rows = [(name, kind, "*") for name, kind in KINDS.items()]
    domain = Domain.of({"sex": Hierarchy.flat("fm"), "ill": Hierarchy.from_rows(rows)})
    codes = {"ill": np.repeat(range(len(ILLNESSES)), list(ILLNESSES.values()))}
    codes["sex"] = np.arange(len(codes["ill"])) % 2
    counts = ContingencyTable.from_cells(domain, dict.fromkeys(codes, 0), codes, np.ones(len(codes["sex"]), dtype=int))
    return Table(counts, {"sex": Role.QUASI_IDENTIFIER, "ill": Role.SENSITIVE})


@pytest.mark.parametrize("diversity", ["none", "recursive:3,4", "recursive:3,3", "recursive:3,2", "distinct:2"])
@pytest.mark.parametrize("min_cell", [None, 2, 3, 44])
def test_a_sensitive_attribute_stands_at_the_finest_level_that_all_rows_may_be_shown_at(
    diversity: str, min_cell: int | None
) -> None:
    """By looking at all levels; where none passes, nothing could be shown of it in any release."""
    table = ill()
    policy = Policy(k_link=5, diversity=diversity, min_cell=min_cell, base={"sex": 1})
    requirements = policy.requirements_of(table)
    passing = [
        level
        for level in (0, 1)
        if all(f.holds for f in requirements.of_table(table.cube.table(table.domain.mask({"ill": level}))))
    ]
    if not passing:
        with pytest.raises(NothingPublishableError):
            publish(table, policy)
        return
    release = publish(table, policy).release
    assert finest_labels(release, "ill") == ({*KINDS} if passing[0] == 0 else {"common", "other"})
    assert release.verify().ok


def people(seed: int, rows: int = 300) -> Table:
    rng = np.random.default_rng(seed)
    age, sex = rng.integers(20, 60, rows), rng.choice(["f", "m"], rows)
    town = rng.choice(list("abcd"), rows, p=[0.5, 0.3, 0.15, 0.05])
    ills = rng.choice(["flu", "gout", "mumps"], rows)
    illness = np.where(rng.random(rows) < 0.6, ills, np.where(age < 40, "flu", "gout"))
    attributes = {
        "age": Attribute("quasi-identifier", intervals=[10, 20]),
        "sex": Attribute("quasi-identifier"),
        "town": Attribute("quasi-identifier"),
        "ill": Attribute("sensitive"),
    }
    return read_table(pd.DataFrame({"age": age, "sex": sex, "town": town, "ill": illness}), attributes)


def test_a_best_base_table_of_many_attributes_is_refused() -> None:
    """A lattice over them would have more dimensions than an array can have."""
    rng = np.random.default_rng(0)
    frame = pd.DataFrame({f"a{i}": rng.choice(["x", "y"], 200) for i in range(70)})
    table = read_table(frame, dict.fromkeys(frame, "quasi-identifier"))
    with pytest.raises(InputError, match=r'70 quasi-identifiers.*\(base "none"\)'):
        publish(table, Policy(k_link=4, max_attributes=2, time_limit=0.2, base="best"))


@pytest.mark.parametrize("strategy", ["forward", "local", "exact"])
def test_the_time_limit_is_that_of_the_search(strategy: str, monkeypatch: pytest.MonkeyPatch) -> None:
    looks = itertools.count(1)
    monkeypatch.setattr("marginals.publishing.searching.SEARCH_CLOCK", lambda: next(looks) / 100)
    policy = Policy(k_link=4, diversity="entropy:2", objective="kl", strategy=strategy, time_limit=2.0)
    search = publish(people(2), policy).steward.search
    assert next(looks) <= 200 + 50 + 10, "half a second more for the bound"
    assert search.cliques
