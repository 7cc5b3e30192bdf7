"""A bundle is a function of its marginals: two tables with the same published marginals give the same bytes.

Otherwise whoever has the bundle can lay out all tables that fit the marginals, and strike out those whose bundle would have
been another. A divergence from the data with all its digits strikes out all but one of the small table below.
"""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import product
from random import Random
from typing import Any

import numpy as np
import pandas as pd
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

import marginals
from marginals import Attribute, Policy
from marginals.errors import NothingPublishableError
from models import Domain, Hierarchy
from search_oracles import required_only
from strategies import contingency_tables, domains
from written_bundles import release_files

Row = tuple[str, ...]
Margins = Sequence[dict[str, int]]


POLICY = Policy(k_link=10, k_combinatorial=10, diversity="distinct:3")
MARGINS = [{"diagnosis": 0, "sex": 0}, {"diagnosis": 0, "origin": 0}]
LABELS = {"diagnosis": ("Cancer", "Flu", "HIV"), "sex": ("Female", "Male"), "origin": ("abroad", "here")}


def people(counts: NDArray[np.int64]) -> pd.DataFrame:
    rows = [cell for cell, count in zip(product(*LABELS.values()), counts.ravel()) for _ in range(count)]
    return pd.DataFrame(rows, columns=list(LABELS))


def published(counts: NDArray[np.int64]) -> Any:
    """What is published of 312 people: who has what by sex, and by origin, as a search chooses for `COUNTS`."""
    roles = {"diagnosis": "sensitive", "sex": "quasi-identifier", "origin": "quasi-identifier"}
    return marginals.publish(marginals.read_table(people(counts), roles), only(POLICY, MARGINS))


def only(policy: Policy, margins: Margins) -> Policy:
    """The same policy for these margins and no others: the search takes no step, so it publishes what it must."""
    return replace(policy, base="none", must_publish=margins, max_attributes=None, strategy=required_only)


def shown(domain: Domain, margins: Margins, rows: Sequence[Row]) -> list[Counter[Row]]:
    paths = {name: {path[0]: path for path in hierarchy.rows()} for name, hierarchy in domain.items()}
    place = {name: number for number, name in enumerate(domain.attributes)}
    return [Counter(tuple(paths[a][row[place[a]]][m] for a, m in margin.items()) for row in rows) for margin in margins]


def with_the_same_marginals(domain: Domain, margins: Margins, rows: Sequence[Row], random: Random) -> list[Row]:
    """Other rows with the same marginals: values of two rows are exchanged, or one is replaced, where no marginal changes.

    Where two rows agree on a separator, all beyond it can be exchanged. Below the published levels any value will do.
    """
    wanted, found = shown(domain, margins, rows), list(rows)
    base = [[path[0] for path in hierarchy.rows()] for hierarchy in domain.hierarchies]
    for _ in range(60):
        one, other = random.randrange(len(rows)), random.randrange(len(rows))
        kept = [random.random() < 0.5 for _ in base]
        before = found[one], found[other]
        if random.random() < 0.7:
            pairs = [(a, b) if keep else (b, a) for keep, a, b in zip(kept, *before)]
            found[one], found[other] = tuple(a for a, _ in pairs), tuple(b for _, b in pairs)
        else:
            axis = random.randrange(len(base))
            found[one] = (*before[0][:axis], random.choice(base[axis]), *before[0][axis + 1 :])
        if shown(domain, margins, found) != wanted:
            found[other], found[one] = before[1], before[0]
    return found


def read(columns: "Columns", rows: Sequence[Row], dropped: int, order: Random) -> marginals.Table:
    """The table of some rows in any order, beside others that lack a value, and a column that nobody uses."""
    names = columns.domain.attributes
    frame = pd.DataFrame(
        order.sample([*rows, *[("",) * len(names)] * dropped], len(rows) + dropped), columns=list(names)
    )
    unused = {"note": Attribute("ignored"), "name": Attribute("identifier")}
    frame = frame.assign(note=[f"note {order.random()}" for _ in range(len(frame))], name=list(map(str, frame.index)))
    return marginals.read_table(frame, columns.attributes | unused, missing=[""], domain=columns.counted)


@dataclass(frozen=True)
class Columns:
    """What the columns of a table are, the last one sensitive, and all values that they can have with what these become.

    counted: which base values are in the domain.
    """

    domain: Domain
    attributes: dict[str, Attribute]
    counted: str = "declared"


@st.composite
def given_hierarchies(draw: st.DrawFn) -> Columns:
    domain = draw(domains(min_attributes=2))
    labels, counted = draw(st.sampled_from([("private", "declared"), ("public", "declared"), ("private", "observed")]))
    roles = dict.fromkeys(domain.attributes[:-1], "quasi-identifier") | {domain.attributes[-1]: "sensitive"}
    return Columns(domain, {a: Attribute(roles[a], h, labels=labels) for a, h in domain.items()}, counted)


@st.composite
def values_of_the_rows(draw: st.DrawFn) -> Columns:
    """Columns whose base values only the rows know: intervals, prefixes of codes of any length, and values as they are."""
    codes = ["a" * first + "b" * (3 - first) + rest for first in range(4) for rest in ("", "a", "b", "ab")]
    hierarchies = {
        "age": Hierarchy.from_intervals(["0", "11"], [2, 6]),
        "code": Hierarchy.from_prefixes(codes, [2, 1]),
        "sex": Hierarchy.flat(["f", "m"]),
        "ill": Hierarchy.flat(["cold", "flu", "gout"]),
    }
    attributes = {
        "age": Attribute("quasi-identifier", intervals=[2, 6]),
        "code": Attribute("quasi-identifier", prefixes=[2, 1]),
        "sex": Attribute("quasi-identifier"),
        "ill": Attribute("sensitive"),
    }
    used = [*draw(st.sampled_from([["age", "code"], ["code", "sex"], ["age", "sex"], ["age"], ["code"]])), "ill"]
    counted = draw(st.sampled_from(["declared", "observed"]))
    return Columns(Domain.of({a: hierarchies[a] for a in used}), {a: attributes[a] for a in used}, counted)


def policies() -> st.SearchStrategy[Policy]:
    return st.builds(
        Policy,
        k_link=st.integers(2, 3),
        k_combinatorial=st.none() | st.integers(2, 3),
        diversity=st.sampled_from(["none", "distinct:2", "entropy:1.2"]),
        base=st.just("none"),
        max_attributes=st.sampled_from([1, 2, 2, 2, 3]),
    )


@settings(max_examples=40)
@given(given_hierarchies() | values_of_the_rows(), st.data(), policies(), st.randoms(use_true_random=False))
def test_tables_with_the_same_published_marginals_give_the_same_bundle(
    columns: Columns, data: st.DataObject, policy: Policy, random: Random
) -> None:
    """Byte for byte, the report included, whatever rows were dropped, in whatever order rows stand, and whatever values they
    have below the published levels. The choice of the collection itself is made from the data, and not covered here.
    """
    domain = columns.domain
    sensitive = domain.attributes[-1]
    if (height := domain.hierarchy(sensitive).height) > 1 and data.draw(st.booleans()):
        by_level = [data.draw(st.sampled_from(["none", "distinct:2"])) for _ in range(height)]
        policy = replace(policy, diversity={sensitive: by_level})
    drawn = data.draw(contingency_tables(domain))
    rows = [labels for labels, count in drawn.cells() for _ in range(count)]
    try:
        first = marginals.publish(read(columns, rows, 0, random), policy)
    except NothingPublishableError:
        assume(False)
    margins = [dict(domain.margin(mask)) for mask in first.steward.search.cliques]
    others = with_the_same_marginals(domain, margins, rows, random)
    assume(Counter(others) != Counter(rows))
    second = marginals.publish(read(columns, others, 3, random), only(policy, margins)).release
    assert second.published.everything.margins == first.release.published.everything.margins
    assert release_files(second) == release_files(first.release)
