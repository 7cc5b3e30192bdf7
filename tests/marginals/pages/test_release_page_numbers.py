"""The numbers of the report are those counted by hand or with pandas, each in the place that says what it is."""

import re
from collections.abc import Mapping, Sequence

import numpy as np
import pandas as pd
import pytest

import marginals
from checks import Claim, KCombinatorial, KLink, MaxentDiversity, parse_diversity
from html_pages import Page
from marginals import Role
from models import ContingencyTable, Domain, Hierarchy
from written_bundles import Content, report_of, tables_content

VALUES = {"town": ["oak", "elm", "bay"], "sex": ["f", "m"], "job": ["x", "y"], "ill": ["flu", "cold", "gout"]}
DOMAIN = Domain.of({name: Hierarchy.flat(values) for name, values in VALUES.items()})
ROLES = dict.fromkeys(VALUES, Role.QUASI_IDENTIFIER) | {"ill": Role.SENSITIVE}

TABLES = {
    ("town", "ill"): [[6, 3, 1], [5, 5, 5], [4, 9, 2]],
    ("sex", "ill"): [[8, 7, 2], [7, 10, 6]],
    ("town", "job"): [[10, 0], [8, 7], [3, 12]],
}
"""Rows of 40 people, counted in three tables. Classes have 10, 15 and 15 rows in the first, 17 and 23 in the second, and
in the third, where nothing is set aside, each cell that is not empty is a class."""


def counted(names: tuple[str, str], counts: Sequence[Sequence[int]]) -> ContingencyTable:
    array = np.array(counts)
    places = np.nonzero(array)
    return ContingencyTable.from_cells(DOMAIN, dict.fromkeys(names, 0), dict(zip(names, places)), array[places])


def published(
    *claims: Claim,
    tables: Mapping[tuple[str, str], Sequence[Sequence[int]]] = TABLES,
    roles: Mapping[str, Role] = ROLES,
) -> Content:
    return tables_content([counted(names, counts) for names, counts in tables.items()], roles, claims)


def diverse(text: str) -> MaxentDiversity:
    return MaxentDiversity(parse_diversity(text), "ill")


def page_of(*claims: Claim) -> Page:
    return Page(report_of(published(*claims)))


def article(page: Page, term: str) -> str:
    (text,) = (text for text in page.texts("article") if f". {term} " in text)
    return text


def test_the_first_page_tells_promises_the_smallest_sensitive_count_pairs_and_tables() -> None:
    """Only what a board must look at has a colour: a claim that fails, and a sensitive count below the claims' k."""
    claims = (KLink(3), KLink(4), diverse("distinct:3"))
    failing, holding, nothing = page_of(*claims), page_of(*claims[::2]), page_of()
    assert failing.texts("p", class_="big") == ["2 of 3 promises proven, 1 fails."]
    assert failing.texts("div", class_="verdict fails") != []
    (small,) = failing.texts("span", class_="warn")
    assert small.startswith("k-link sets ill aside: counts that include it are as small as 1.")
    assert holding.texts("p", class_="big") == ["All 2 promises hold; anybody can check them."]
    assert nothing.texts("p", class_="big") == ["It makes no promise about privacy."]
    useful = "Useful for: 3 of 6 pairs of columns, 3 of them exactly."
    assert all(useful in page.texts("p") for page in (failing, nothing))
    assert "What is published: 3 tables, 20 numbers" in failing.texts("h2")
    unlinked = Page(report_of(published(roles=dict.fromkeys(VALUES, Role.QUASI_IDENTIFIER))))
    assert unlinked.texts("span", class_="warn") == []
    (verdict,) = unlinked.texts("div", class_="verdict none")
    assert "The table itself is not published. The smallest number is 1." in verdict


def test_each_table_tells_its_cells_and_its_smallest_class_which_is_no_cell_where_something_is_sensitive() -> None:
    assert sorted(page_of().rows("The tables.")) == [
        ["sex ill", "6", "17"],
        ["town ill", "9", "10"],
        ["town job", "5", "3"],
    ]
    nothing_sensitive = published(roles=dict.fromkeys(VALUES, Role.QUASI_IDENTIFIER))
    assert sorted(Page(report_of(nothing_sensitive)).rows("The tables.")) == [
        ["sex ill", "6", "2"],
        ["town ill", "9", "1"],
        ["town job", "5", "3"],
    ]


@pytest.mark.parametrize(
    ("attribute", "rows"), [("town", [10, 15, 15]), ("sex", [17, 23]), ("job", [21, 19]), ("ill", [15, 17, 8])]
)
def test_a_distribution_tells_rows_their_share_of_all_and_draws_them_beside_the_most_frequent(
    attribute: str, rows: list[int]
) -> None:
    content = report_of(published())
    heading = "ill <span" if attribute == "ill" else attribute
    (table,) = (cells for _, cells in Page(content).tables if [row[0] for row in cells[1:]] == VALUES[attribute])
    assert table[0] == ["Value", "Rows", "Share", ""]
    assert table[1:] == [[v, str(n), f"{n / 40:.1%}".replace("%", " %"), ""] for v, n in zip(VALUES[attribute], rows)]
    figure = (
        content.decode().partition("Distributions</h2>")[2].partition(f"<h3>{heading}")[2].partition("</figure>")[0]
    )
    lengths = [float(width) for width in re.findall(r'<rect class="fill" width="([\d.]+)"', figure)]
    assert lengths == pytest.approx([100 * n / max(rows) for n in rows], abs=0.01)


def test_the_claims_tell_their_own_numbers_and_the_class_nearest_to_failing() -> None:
    """Nowhere are fewer than the three of bay in job x, whatever is asked; two may be claimed of all tables together."""
    page = page_of(KLink(3), KCombinatorial(2), KCombinatorial(1), KLink(4))
    for claim, verdict, limit in (
        ("k-link k = 3", "holds", 3),
        ("k-combinatorial k = 2", "holds", 2),
        ("k-combinatorial k = 1", "holds", 1),
        ("k-link k = 4", "fails", 4),
    ):
        text = article(page, claim)
        assert f" {verdict} " in text
        assert f"at least {limit} row" in text
        assert f"case: town=bay, job=x: 3 rows (limit: at least {limit})" in text


def expected_shares() -> pd.DataFrame:
    """Shares of the illness in each town and sex by maximum entropy: n(town, ill) n(sex, ill) / n(ill)."""
    town, sex = (
        pd.DataFrame(TABLES[name, "ill"], index=VALUES[name], columns=VALUES["ill"]) for name in ("town", "sex")
    )
    rows = {(t, s): town.loc[t] * sex.loc[s] / town.sum() for t in town.index for s in sex.index}
    frame = pd.DataFrame(rows).T
    return frame.div(frame.sum(axis=1), axis=0)


def test_the_worst_class_of_a_diversity_is_told_with_what_it_reaches() -> None:
    shares = expected_shares()
    ratio = shares.max(axis=1) / (1 - shares.max(axis=1))
    town, sex = ratio.idxmax()
    assert (town, sex) == ("oak", "f")
    content = report_of(published(diverse("recursive:3,2")))
    text = article(Page(content), "maxent-diversity diversity = recursive:3,2, sensitive = ill")
    assert f"town=oak, sex=f: {ratio.max():.4g} times as probable (limit: less than 3 times)" in text


@pytest.mark.parametrize(
    ("claimed", "facts"),
    [
        (["distinct:2", "distinct:3"], "1 fact"), (["distinct:3", "distinct:2"], "1 fact"),
        (["recursive:9,3", "distinct:3"], "2 facts"), (["distinct:1", "distinct:3"], ""), ([], ""),
        (["at-most:95 of flu", "distinct:3"], ""),
    ],
)  # fmt: skip
def test_as_many_facts_protect_as_the_weakest_diversity_claimed_bears(claimed: list[str], facts: str) -> None:
    """None are promised if several tables show ill, whose joint classes are not published."""
    one_table = {names: counts for names, counts in TABLES.items() if names != ("sex", "ill")}
    for tables, promised in ((one_table, facts), (TABLES, "")):
        page = Page(report_of(published(*map(diverse, claimed), tables=tables)))
        told = dict(zip(page.texts("dt"), page.texts("dd")))["People who know a lot already"]
        assert re.findall(r"= (\d+ facts?) of the kind", told) == [promised] * bool(promised)


def test_the_information_is_what_the_entropies_of_the_published_counts_say() -> None:
    """Together: the entropies of the attributes, less those of the tables, and those of what tables share (ill and town)."""

    def entropy(counts: object) -> float:
        shares = np.ravel(counts)[np.ravel(counts) > 0] / 40
        return float(-(shares * np.log(shares)).sum())

    alone = {"town": [10, 15, 15], "sex": [17, 23], "job": [21, 19], "ill": [15, 17, 8]}
    by_itself = sum(np.log(len(counts)) - entropy(counts) for counts in alone.values())
    together = sum(map(entropy, alone.values())) - sum(map(entropy, TABLES.values()))
    together += entropy(alone["town"]) + entropy(alone["ill"])
    content = report_of(published())
    (told,) = (rows for name, rows in Page(content).tables if name == "Information in nats")
    assert [nats for _, nats, _ in told] == [f"{by_itself:.3f}", f"{together:.3f}"]
    assert f"{np.exp(together):.3g} times as likely" in " ".join(content.decode().split())
    section = content.decode().partition("Information in nats")[2].partition("</table>")[0]
    lengths = [float(width) for width in re.findall(r'<rect class="\w+" width="([\d.]+)"', section)]
    assert lengths == pytest.approx([100 * n / max(by_itself, together) for n in (by_itself, together)], abs=0.01)


def many(values: int) -> tuple[Content, dict[str, int]]:
    """So many values, of which the n-th has n rows, in an order that is none of their frequency."""
    rows = {f"v{n:03}": n for n in range(1, values + 1)}
    order = sorted(rows, key=lambda label: (int(label[1:]) * 37 % 101, label))
    frame = pd.DataFrame({"word": [label for label in order for _ in range(rows[label])]})
    table = marginals.read_table(frame, {"word": "quasi-identifier"})
    return tables_content([table.cube.table(table.domain.mask({"word": 0}))], table.roles), rows


def test_of_very_many_values_the_most_frequent_are_told_and_how_many_rows_the_others_have() -> None:
    content, rows = many(130)
    total = sum(rows.values())
    told = Page(report_of(content)).rows("130 values; the 16 most frequent values")
    most = sorted(rows, key=lambda label: -rows[label])[:16]
    assert told[:-1] == [[label, f"{rows[label]}", f"{100 * rows[label] / total:.1f} %", ""] for label in most]
    others = total - sum(rows[label] for label in most)
    assert told[-1] == ["114 other values", f"{others:,}", f"{100 * others / total:.1f} %", ""]


def test_each_of_some_values_is_told_in_their_order() -> None:
    content, rows = many(40)
    told = Page(report_of(content)).rows("40 values")
    assert [(label, int(count)) for label, count, *_ in told] == [
        (label, rows[label]) for label in content.domain.hierarchy("word").labels[0]
    ]


def test_the_junction_tree_lists_each_table_below_one_that_it_shares_something_with() -> None:
    content = published()
    page = report_of(content).decode()
    listed = re.findall(r'<li class="d(\d)">([^<]*?)(?: <span class="soft">through ([^<]*)</span>)?</li>', page)
    names = [set(table.split(", ")) for _, table, _ in listed]
    assert sorted(map(sorted, names)) == sorted(sorted(clique) for clique in TABLES)
    for place, (depth, _, shared) in enumerate(listed):
        above = next((names[n] for n in range(place - 1, -1, -1) if int(listed[n][0]) < int(depth)), set())
        assert names[place] & above == ({shared} if shared else set())
