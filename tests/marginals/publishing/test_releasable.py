"""What a release tells beside its marginals: nothing; and what it leaves out changes no conclusion."""

from collections import defaultdict
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

import marginals
from checks import Claim, KCombinatorial, KLink, MaxentDiversity, Question, Verdict, parse_diversity
from marginals import Attribute, Policy
from marginals.errors import NothingPublishableError
from marginals.publishing.publishing import releasable
from models import Collection, ContingencyTable, DataCube, Domain, Hierarchy, MarginalModel
from small_release import contents
from strategies import hierarchies

DIVERSITIES = ("distinct:2", "simple:2", "entropy:2", "recursive:2,2", "recursive:1,3")


@st.composite
def collections(draw: st.DrawFn) -> Collection:
    """Any margins of a few rows over three attributes, many of whose values nobody has."""
    domain = Domain.of({name: draw(hierarchies(max_values=4)) for name in ("A", "B", "C")})
    cell = st.tuples(*(st.integers(0, hierarchy.size(0) - 1) for hierarchy in domain.hierarchies))
    cells = draw(st.lists(cell, min_size=1, max_size=8))
    counts = draw(st.lists(st.integers(1, 6), min_size=len(cells), max_size=len(cells)))
    codes = dict(zip(domain.attributes, np.array(cells).T))
    table = ContingencyTable.from_cells(domain, dict.fromkeys(domain.attributes, 0), codes, counts)
    levels = st.tuples(*(st.integers(0, hierarchy.height) for hierarchy in domain.hierarchies))
    margins = [dict(zip(domain.attributes, chosen)) for chosen in draw(st.lists(levels, min_size=1, max_size=3))]
    masks = [mask for mask in map(domain.mask, margins) if mask] or [domain.mask({"A": 0})]
    cube = DataCube([table])
    return Collection.of(DataCube([cube.table(mask) for mask in masks]), masks)


def labelled(collection: Collection) -> list[list[str]]:
    """The marginals by their labels, whatever the numbers of levels and values."""
    tables = [
        sorted(f"{sorted(zip(table.attributes, labels))} {count}" for labels, count in table.cells())
        for table in collection.tables
    ]
    return sorted(tables)


@given(collections(), st.sampled_from(["", "A", "C"]))
def test_the_marginals_stay_and_nothing_else_is_named(collection: Collection, public: str) -> None:
    """The definition, written out: of a private attribute those labels are told that some marginal counts."""
    told = releasable(collection, {public})
    assert labelled(told) == labelled(collection)
    for attribute, hierarchy in told.domain.items():
        if attribute == public:
            assert hierarchy == collection.domain.hierarchy(attribute)
            continue
        counted: dict[int, set[str]] = defaultdict(set)
        for table in collection.tables:
            for cell in range(len(table)):
                if attribute in table.margin:
                    counted[table.margin[attribute]].add(table.labels(cell)[attribute])
        assert [set(labels) for labels in hierarchy.labels[:-1]] == [counted[level] for level in sorted(counted)]
        assert told.finest_level(attribute) == 0


@given(collections(), st.integers(2, 5), st.sampled_from(DIVERSITIES))
def test_no_verdict_changes_by_what_is_left_out(collection: Collection, k: int, diversity: str) -> None:
    """Values that nobody has are empty in every table with these marginals, and levels that no margin shows decide
    nothing (KG06 Prop. 7.1). Fitting can stay undecided.
    """
    told = releasable(collection, ())
    claims: list[Claim] = [KLink(k), KCombinatorial(k), MaxentDiversity(parse_diversity(diversity), "C")]
    for claim in claims:
        verdicts = {claim.check(Question(each, {"C"})).verdict for each in (collection, told)}
        assert len(verdicts) == 1 or (Verdict.UNDECIDED in verdicts and not collection.is_decomposable)


@given(collections())
def test_no_expectation_and_no_bound_changes_by_what_is_left_out(collection: Collection) -> None:
    told = releasable(collection, ())
    if not collection.is_decomposable:
        return
    before, after = MarginalModel(collection), MarginalModel(told)
    levels = [{a: model.finest_levels[a] for a in model.domain.attributes} for model in (before, after)]
    expected = {}
    for model, margin in zip((before, after), levels):
        bounds = model.frechet_bounds.of_margin(margin)
        labels = [model.domain.hierarchy(a).labels[level] for a, level in margin.items()]
        for place in np.ndindex(*bounds.lower.shape):
            cell = tuple(own[code] for own, code in zip(labels, place))
            numbers = float(model.expected(margin)[place]), int(bounds.lower[place]), int(bounds.upper[place])
            assert expected.setdefault(cell, numbers) == pytest.approx(numbers, abs=1e-9)
            assert numbers == (0, 0, 0) or model is before or cell in expected
    shape = [told.domain.hierarchy(a).size(0) for a in told.domain.attributes]
    assert sum(numbers != (0, 0, 0) for numbers in expected.values()) <= np.prod(shape)


@pytest.mark.parametrize("domain", ["declared", "observed"])
@pytest.mark.parametrize("of_file", [False, True])
def test_of_eleven_people_nobody_learns_how_their_ages_differ(domain: str, of_file: bool, tmp_path: Path) -> None:
    """Eleven ages, one person each, make the same release as eleven people of one age."""
    ways = {"intervals": [20]}
    if of_file:
        labels = [(str(age), "80-99" if age > 79 else "60-79", "*") for age in range(60, 100)]
        ways = {"hierarchy": Hierarchy.from_rows(labels)}  # type: ignore[dict-item]
    attributes = {"age": Attribute("quasi-identifier", **ways), "ill": "sensitive"}  # type: ignore[arg-type]
    policy = Policy(k_link=11, base="none", must_publish=[{"age": 1}], must_not_publish=[{"age": 0}], diversity="none")
    written = []
    for name, ages in (("different", list(range(80, 91))), ("alike", [85] * 11)):
        frame = pd.DataFrame({"age": [*ages, *[70] * 11], "ill": ["flu", "gout"] * 11})
        marginals.publish(marginals.read_table(frame, attributes, domain=domain), policy).write(tmp_path / name)
        written.append(
            {p: c for p, c in contents(tmp_path / name).items() if p.split("/")[0] in ("hierarchies", "marginals")}
        )
    assert written[0] == written[1]
    assert written[0]["hierarchies/age.csv"].decode().splitlines() == ["level0,level1", "60-79,*", "80-99,*"]


ONE_KIND = Policy(k_link=5, base="none", must_publish=[{"code": 1}], must_not_publish=[{"code": 0}], diversity="none")
CODES = Hierarchy.from_rows([("a1", "a", "*"), ("b1", "b", "*"), ("a2", "a", "*")])


@pytest.mark.parametrize(
    ("code", "domain", "values", "labels"),
    [
        # Of several lengths: which prefix a longer one stands before depends on what was cut off both.
        (
            Attribute("quasi-identifier", prefixes=[3]), "declared", (["1480", "14811"], ["14801", "1481"]),
            ("148*", "148**"),
        ),
        # As in the file.
        (Attribute("quasi-identifier", CODES), "observed", (["a1", "b1"], ["a2", "b1"]), ("a", "b")),
    ],
)  # fmt: skip
def test_the_order_of_labels_tells_nothing_of_those_below(
    code: Attribute, domain: Any, values: tuple[list[str], list[str]], labels: tuple[str, ...]
) -> None:
    for codes in values:
        frame = pd.DataFrame({"code": codes * 10, "ill": ["flu", "gout"] * 10})
        table = marginals.read_table(frame, {"code": code, "ill": "sensitive"}, domain=domain)
        assert marginals.publish(table, ONE_KIND).release.domain.hierarchy("code").labels[0] == labels


def test_diversity_of_coarse_sensitive_values_is_judged_by_what_is_published(tmp_path: Path) -> None:
    """Two kinds of illness, five illnesses each: with public labels each counts for five, else for itself."""
    ills = [(f"{kind}{number}", kind, "*") for kind in ("cold", "heart") for number in range(5)]
    frame = pd.DataFrame({"sex": ["f", "m"] * 50, "ill": [ills[number % 10][0] for number in range(100)]})
    policy = Policy(diversity="functional:0.2,4", base="none", must_publish=[{"ill": 1}], must_not_publish=[{"ill": 0}])

    def published(labels: str) -> marginals.Release:
        attributes = {
            "sex": "quasi-identifier",
            "ill": Attribute("sensitive", Hierarchy.from_rows(ills), labels=labels),
        }
        return marginals.publish(marginals.read_table(frame, attributes), policy).release

    published("public").write(tmp_path / "release")
    assert marginals.verify(tmp_path / "release").ok
    with pytest.raises(NothingPublishableError, match="'ill'"):
        published("private")
