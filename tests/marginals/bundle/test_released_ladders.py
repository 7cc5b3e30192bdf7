"""A second release can take the levels of the first: then what both publish is counted by the same values."""

from pathlib import Path

import pandas as pd
import pytest
from click.testing import CliRunner
from hypothesis import given
from hypothesis import strategies as st

import marginals
from command_line import main
from dice import Dice, Thrown
from marginals import Role, open_release
from marginals.bundle.together import ReleasedLadder, released_ladders
from marginals.example import release
from marginals.publishing.publishing import releasable
from models import Collection, ContingencyTable, DataCube, Hierarchy
from strategies import contingency_tables, domains, margins
from written_bundles import bundle_content


@Thrown
def releases(dice: Dice) -> tuple[ContingencyTable, Collection]:
    """A table, and what is published of it."""
    domain = domains.of(dice, 1, 3)
    table = contingency_tables.of(dice, domain)
    masks = [domain.mask(margins.of(dice, domain)) for _ in range(dice.between(1, 3))]
    return table, Collection.of(DataCube([table]), masks)


@given(releases())
def test_the_same_table_with_the_levels_of_its_release_has_the_same_marginals(
    of_table: tuple[ContingencyTable, Collection],
) -> None:
    table, collection = of_table
    if not collection.masks:
        return
    published = releasable(collection, ())
    content = bundle_content(published, dict.fromkeys(table.attributes, Role.QUASI_IDENTIFIER))
    for name, ladder in released_ladders(content).items():
        given_before = table.domain.hierarchy(name)
        taken = ladder(given_before)
        assert taken.labels[0] == given_before.labels[0]
        released = published.domain.hierarchy(name)
        finest = published.finest_level(name)
        occurring = set(table.rolled_up({name: 0}).codes[0].tolist())
        for code, (value, *above) in enumerate(taken.rows()):
            if code in occurring:
                path = next(row for row in released.rows() if row[0] in (value, *given_before.rows()[code]))
                assert (value, *above)[-len(path[finest:]) :] == tuple(path[finest:])


def taken(released: str, values: str) -> list[tuple[str, ...]]:
    """Rows of the hierarchy that values have with a ladder of one level."""
    return ReleasedLadder(Hierarchy.flat(released.split("; ")))(Hierarchy.flat(values.split("; "))).rows()


@pytest.mark.parametrize(
    ("released", "values", "levels"),
    [
        ("under 20; 20-29; 30 and over", "17; 25; 99", "under 20; 20-29; 30 and over"),
        ("clerk; cook and others", "clerk; nurse", "clerk; cook and others"),
        ("clerk; cook; other", "clerk; nurse", "clerk; other"),
        ("Cambodia, Laos; Italy", "Laos; Italy; Cambodia", "Cambodia, Laos; Italy; Cambodia, Laos"),
        ("clerk; cook", "clerk; nurse", "clerk; nurse"),
        ("20-29; 30-39", "25; 41", "20-29; 41"),
        ("cook and others; clerk and others", "cook; baker", "cook; baker"),
    ],
)
def test_a_value_is_part_of_what_the_release_calls_it(released: str, values: str, levels: str) -> None:
    rows = taken(released, values)
    assert [row[-2] for row in rows] == levels.split("; ")


def config(folder: Path, more: str = "", role: str = "sensitive") -> Path:
    folder.mkdir(exist_ok=True)
    rows = "".join(f"{age},{'flu' if age % 3 else 'gout'}\n" * (age % 4 + 1) for age in range(20, 80))
    (folder / "people.csv").write_text("age,illness\n" + rows)
    (folder / "release.toml").write_text(
        f'[data]\npath = "people.csv"\n{more}\n[attributes.age]\nrole = "quasi-identifier"\nladder = "fitted"\n'
        f'[attributes.illness]\nrole = "{role}"\n[privacy]\nk_link = 9\n[base]\ntable = "none"\n'
    )
    return folder / "release.toml"


def test_a_config_takes_the_levels_of_a_release(tmp_path: Path) -> None:
    first = marginals.publish(
        marginals.read_config(config(tmp_path / "first")).read_table(), marginals.Policy(k_link=9, diversity="none")
    ).release
    first.write(tmp_path / "out")
    own = marginals.read_config(config(tmp_path / "first")).read_table()
    second = marginals.read_config(config(tmp_path / "second", 'ladders = "../out"'))
    table = second.read_table()
    published = open_release(tmp_path / "out").published.domain.hierarchy("age")
    assert set(published.labels) <= set(table.domain.hierarchy("age").labels)
    assert table.domain.hierarchy("age").labels != own.domain.hierarchy("age").labels
    assert "age" in own.ladders
    assert "age" not in table.ladders, "it is fitted to no row of this table"
    assert tmp_path / "second" / "../out" in second.reads
    answer = CliRunner().invoke(main, ["publish", str(second.path), "--out", str(tmp_path / "out")])
    assert answer.exit_code == 2
    assert "would replace" in answer.output


@pytest.mark.parametrize(
    ("more", "said"),
    [
        ('ladders = "nowhere"', "nowhere"),
        ("ladders = 5", "the key data.ladders must name the folder of a release"),
        ('ladders = "../damaged"', "the release damaged is damaged"),
        ('ladders = "../other"', "shows none of the attributes"),
    ],
)
def test_what_has_no_ladders_is_said(tmp_path: Path, more: str, said: str) -> None:
    release.write(tmp_path / "damaged")
    next((tmp_path / "damaged" / "marginals").glob("*.csv")).write_text("age,count\n")
    towns = marginals.read_table(pd.DataFrame({"town": ["Ulm"] * 9 + ["Jena"] * 9}), {"town": "quasi-identifier"})
    marginals.publish(towns, marginals.Policy(k_link=2, base="none", diversity="none")).write(tmp_path / "other")
    with pytest.raises(marginals.InputError, match=rf"release\.toml: .*{said}"):
        marginals.read_config(config(tmp_path / "here", more))


def test_another_role_is_refused(tmp_path: Path) -> None:
    table = marginals.read_config(config(tmp_path / "first")).read_table()
    marginals.publish(table, marginals.Policy(k_link=9, base="none", diversity="none")).write(tmp_path / "out")
    with pytest.raises(marginals.InputError, match="out calls 'illness' sensitive, and here it is quasi-"):
        marginals.read_config(config(tmp_path / "second", 'ladders = "../out"', "quasi-identifier"))


@given(st.lists(st.sampled_from("abcdef"), min_size=1, unique=True))
def test_values_stay_in_their_order(values: list[str]) -> None:
    ladder = ReleasedLadder(Hierarchy.from_rows([("a", "a or b", "*"), ("b", "a or b", "*"), ("c", "c", "*")]))
    assert ladder(Hierarchy.flat(values)).labels[0] == tuple(values)
