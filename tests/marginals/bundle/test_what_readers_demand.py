"""What a reader demands with `verify` is judged by what the reader says: a bundle cannot make the demand weaker."""

from collections.abc import Sequence
from pathlib import Path

import pandas as pd
import pytest

import marginals
from checks import Claim, Finding, MaxentDiversity, Register, Verdict, parse_diversity
from marginals import Attribute, InputError
from models import Collection, DataCube, Hierarchy
from written_bundles import bundle_content, write_bundle

KINDS = ("diversity", "register")
PLAIN = Hierarchy.flat(["flu", "cold", "cancer", "missing"])
NODE = Hierarchy.from_rows([("flu", "flu", "*"), ("cold", "cold", "*"), ("cancer", "missing", "*")])
"""A hostile one, that calls a group missing."""


def bundle(
    folder: Path, values: dict[str, Sequence[str]], text: str, hierarchy: Hierarchy = PLAIN, role: str = "sensitive"
) -> Path:
    """Ten rows of each value of each town, with one table of both. text: the diversity that is claimed."""
    rows = [(town, value) for town, inside in values.items() for value in inside for _ in range(10)]
    frame = pd.DataFrame(rows, columns=["town", "ill"])
    table = marginals.read_table(frame, {"town": "quasi-identifier", "ill": Attribute(role, hierarchy=hierarchy)})
    mask = table.domain.mask({"town": 0, "ill": 0})
    of = MaxentDiversity(parse_diversity(text), "ill")
    claims: tuple[Claim, ...] = (of, Register(of)) if role == "sensitive" else ()
    collection = Collection.of(DataCube([table.cube.table(mask)]), [mask])
    write_bundle(bundle_content(collection, table.roles, claims), folder)
    return folder


def demanded(folder: Path, demand: str | Claim) -> Finding:
    return marginals.verify(folder, claims=[demand]).checks[-1]


@pytest.mark.parametrize("kind", KINDS)
def test_a_bundle_that_leaves_out_a_value_is_judged_over_all_of_them(kind: str, tmp_path: Path) -> None:
    """Everybody in a town has cancer, which the bundle leaves out of what it claims."""
    folder = bundle(tmp_path / "out", {"a": ["cancer"], "b": ["flu", "cold"]}, "distinct:2 leaving out cancer")
    assert marginals.verify(folder).ok
    found = demanded(folder, f"{kind}=distinct:2")
    assert found.verdict is Verdict.FAILS
    assert "'cancer'" in found.note
    own = demanded(folder, f"{kind}=distinct:2 leaving out cancer")
    assert (own.verdict, own.note) == (Verdict.HOLDS, "")


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("text", ["distinct:2", "distinct:2 leaving out missing"])
def test_a_value_that_is_missing_is_left_out_whatever_the_bundle_claims(text: str, kind: str, tmp_path: Path) -> None:
    """Beside missing ones it makes no class diverse; where nothing else is, there is none to tell."""
    folder = bundle(tmp_path / "out", {"a": ["flu", "missing"], "b": ["flu", "cold"]}, text)
    assert demanded(folder, f"{kind}=distinct:2").verdict is Verdict.FAILS
    folder = bundle(tmp_path / "empty", {"a": ["missing"], "b": ["flu", "cold"]}, text)
    found = demanded(folder, f"{kind}=distinct:2")
    assert (found.verdict, found.note) == (Verdict.HOLDS, "")


@pytest.mark.parametrize("kind", KINDS)
def test_a_group_that_a_bundle_calls_missing_is_not_left_out(kind: str, tmp_path: Path) -> None:
    text = "distinct:2 leaving out missing"
    folder = bundle(tmp_path / "out", {"a": ["cancer"], "b": ["flu", "cold"]}, text, NODE)
    assert demanded(folder, f"{kind}=distinct:2").verdict is Verdict.FAILS
    assert not marginals.verify(folder).ok


def test_an_attribute_that_a_bundle_calls_not_sensitive_is_judged_where_a_reader_names_it(tmp_path: Path) -> None:
    folder = bundle(tmp_path / "out", {"a": ["cancer"], "b": ["flu", "cold"]}, "distinct:2", role="quasi-identifier")
    found = demanded(folder, MaxentDiversity(parse_diversity("distinct:2"), "ill"))
    assert (found.criterion, found.verdict) == ("maxent-diversity", Verdict.FAILS)


def test_a_demand_is_made_of_each_way_in_which_bundles_generalize_an_attribute(tmp_path: Path) -> None:
    """Of two groupings of the illnesses one shows a town with a single group."""
    groups = [Hierarchy.from_rows([(ill, group, "*") for ill, group in zip(("1", "2", "3", "4"), names)])
              for names in (("1-2", "1-2", "3-4", "3-4"), ("1", "2-4", "2-4", "2-4"))]  # fmt: skip
    values = {"a": ["1", "2"], "b": ["1", "2", "3", "4"]}
    folders = []
    for number, hierarchy in enumerate(groups):
        coarse = {
            town: [hierarchy.labels[1][hierarchy.lift(0, 1)[int(each) - 1]] for each in ill]
            for town, ill in values.items()
        }
        folders.append(bundle(tmp_path / f"{number}", coarse, "distinct:1", Hierarchy.flat(hierarchy.labels[1])))
    found = marginals.verify(*folders, claims=[MaxentDiversity(parse_diversity("distinct:2"), "ill")]).checks[1:]
    assert Verdict.FAILS in [finding.verdict for finding in found]


def test_a_demand_on_an_attribute_that_no_bundle_has_is_refused(tmp_path: Path) -> None:
    """Else it would go unchecked, and a bundle could call the attribute something else."""
    folder = bundle(tmp_path / "out", {"a": ["cancer"], "b": ["flu", "cold"]}, "distinct:2")
    with pytest.raises(
        InputError, match="maxent-diversity is asked of 'illness', which is no attribute of the release"
    ):
        demanded(folder, MaxentDiversity(parse_diversity("distinct:2"), "illness"))


def test_two_bundles_together_are_judged_over_all_values_too(tmp_path: Path) -> None:
    values = {"a": ["cancer"], "b": ["flu", "cold"]}
    folders = [bundle(tmp_path / name, values, "distinct:2 leaving out cancer") for name in ("one", "two")]
    for kind in KINDS:
        found = marginals.verify(*folders, claims=[f"{kind}=distinct:2"]).checks[-1]
        assert found.verdict is Verdict.FAILS
