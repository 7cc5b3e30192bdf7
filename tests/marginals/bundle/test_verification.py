"""Verifying several bundles: the union is judged as somebody sees it who holds them all."""

import hashlib
import json
from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from click.testing import CliRunner

import marginals
from checks import KCombinatorial, KLink, MaxentDiversity, Verdict, parse_diversity
from command_line import main
from marginals import Attribute, InputError, Table
from models import Collection, DataCube, Hierarchy
from written_bundles import bundle_content, report_of, write_bundle


def people(rows: int = 400, seed: int = 1) -> pd.DataFrame:
    rng = np.random.default_rng(seed)
    latent = rng.integers(0, 3, rows)
    mixed = {
        name: np.where(rng.random(rows) < 0.5, latent % size, rng.integers(0, size, rows))
        for name, size in (("job", 3), ("town", 3), ("ill", 4))
    }
    return pd.DataFrame({name: [f"{name}{code}" for code in codes] for name, codes in mixed.items()})


def table_of(frame: pd.DataFrame) -> Table:
    return marginals.read_table(frame, {"job": "quasi-identifier", "town": "quasi-identifier", "ill": "sensitive"})


def bundle(folder: Path, table: Table, margins: Sequence[dict[str, int]]) -> Path:
    masks = [table.domain.mask(margin) for margin in margins]
    cube = DataCube([table.cube.table(mask) for mask in masks])
    claims = (KLink(3), KCombinatorial(3), MaxentDiversity(parse_diversity("entropy:1.5"), "ill"))
    write_bundle(bundle_content(Collection.of(cube, masks), table.roles, claims), folder)
    return folder


def test_two_bundles_whose_union_has_no_junction_tree_are_verified_together(tmp_path: Path) -> None:
    table = table_of(people())
    one = bundle(tmp_path / "one", table, [{"job": 0, "town": 0}, {"town": 0, "ill": 0}])
    two = bundle(tmp_path / "two", table, [{"job": 0, "ill": 0}])
    verification = marginals.verify(one, two)
    assert [check.criterion for check in verification.checks] == [
        "integrity",
        "k-link",
        "k-combinatorial",
        "maxent-diversity",
    ]
    assert verification.ok
    assert verification.checks[2].algorithm == "integer programming"
    assert verification.checks[3].algorithm.startswith("iterative fitting")
    result = CliRunner().invoke(main, ["verify", str(one), str(two)])
    assert result.exit_code == 0
    result = CliRunner().invoke(main, ["verify", str(one), str(two), "--check", "diversity=entropy:3.99"])
    assert result.exit_code == 1


def test_what_two_bundles_say_together_can_fail_where_each_passes(tmp_path: Path) -> None:
    """Together they show job, town and illness in one margin's worth of detail."""
    table = table_of(people(60))
    whole = {"job": 0, "town": 0, "ill": 0}
    parts = [bundle(tmp_path / f"{i}", table, [{"job": 0, "ill": 0}, {"town": 0, "ill": 0}]) for i in range(1)]
    parts.append(bundle(tmp_path / "more", table, [whole]))
    alone = marginals.verify(parts[0], claims=["k-link=5"])
    together = marginals.verify(*parts, claims=["k-link=5"])
    assert alone.ok
    assert not together.ok


def test_bundles_of_different_tables_are_no_pass_that_names_both(tmp_path: Path) -> None:
    """Each is in order, but small changes show in both."""
    margins = [{"job": 0, "ill": 0}]
    one = bundle(tmp_path / "one", table_of(people(400)), margins)
    fewer = bundle(tmp_path / "fewer", table_of(people(300)), margins)
    other = bundle(tmp_path / "other", table_of(people(400, seed=9)), margins)
    for second in (fewer, other):
        integrity, *_, change = marginals.verify(one, second, claims=["difference=100"]).checks
        assert integrity.holds
        assert change.verdict is Verdict.FAILS
        assert (change.parameters["earlier"], change.parameters["later"]) == (str(one), str(second))


def groups_of(width: int) -> Hierarchy:
    """1 to 5, by names of a release's own, in groups whose labels do not tell what is in them."""
    return Hierarchy.from_rows([(f"{n} of {width}", f"group {'abc'[n // width]}{width}", "*") for n in range(1, 6)])


def test_bundles_that_generalize_differently_are_intact_and_not_judged_together(tmp_path: Path) -> None:
    """That no check is made of both is never a pass, though each bundle passes its own."""
    frame = pd.DataFrame({"age": ["1", "2", "3", "4"] * 5, "ill": ["a", "b"] * 10})
    folders = []
    for width in (2, 5):
        attributes = {"age": Attribute("quasi-identifier", hierarchy=groups_of(width)), "ill": "sensitive"}
        table = marginals.read_table(frame.assign(age=frame["age"] + f" of {width}"), attributes)
        folders.append(bundle(tmp_path / str(width), table, [{"age": 1}, {"ill": 0}]))
    verification = marginals.verify(*folders)
    assert not verification.ok
    integrity, composition, *own = verification.checks
    assert (integrity.criterion, integrity.verdict) == ("integrity", Verdict.HOLDS)
    assert (composition.criterion, composition.verdict) == ("composition", Verdict.UNDECIDED)
    for said in ("'age'", *map(str, folders), "intact", "publish the second again with the hierarchies"):
        assert said in composition.note
    assert [finding.parameters["release"] for finding in own] == [str(f) for f in folders for _ in range(3)]
    for folder in folders:
        alone = marginals.verify(folder).checks[1:]
        assert [f.verdict for f in alone] == [f.verdict for f in own if f.parameters["release"] == str(folder)]
    result = CliRunner().invoke(main, ["verify", *map(str, folders)])
    assert result.exit_code == 1
    assert "undecided  composition" in result.output
    demanded = marginals.verify(*folders, claims=["k-link=2", "diversity=distinct:2"])
    assert [f.criterion for f in demanded.checks[2:]] == ["k-link", "maxent-diversity"] * 2


def test_attacks_on_bundles_that_generalize_differently_are_measured_on_each_alone(tmp_path: Path) -> None:
    frame = pd.DataFrame({"age": ["1", "2", "3", "4"] * 5, "ill": ["a", "b"] * 10})
    folders = []
    for width in (2, 5):
        attributes = {"age": Attribute("quasi-identifier", hierarchy=groups_of(width)), "ill": "sensitive"}
        table = marginals.read_table(frame.assign(age=frame["age"] + f" of {width}"), attributes)  # type: ignore[arg-type]
        folders.append(bundle(tmp_path / str(width), table, [{"age": 1, "ill": 0}]))
    attacks = marginals.attack(*folders)
    assert attacks.attacked == attacks.compositions == ()
    for folder in folders:
        assert attacks.apart[str(folder)].as_json() == marginals.attack(folder).as_json()
    result = CliRunner().invoke(main, ["attack", *map(str, folders)])
    assert result.exit_code == 1
    assert result.output.count("that readers can determine") == 2
    assert "Not measured together" in result.output
    plain = json.loads(CliRunner().invoke(main, ["attack", *map(str, folders), "--json"]).stdout)
    assert list(plain["apart"]) == list(map(str, folders))
    with pytest.raises(InputError, match="one by one"):
        marginals.attack(*folders, truth=table)


def test_a_release_that_claims_nothing_says_so_until_something_is_demanded(tmp_path: Path) -> None:
    table = table_of(people())
    mask = table.domain.mask({"job": 0, "town": 0})
    write_bundle(
        bundle_content(Collection.of(DataCube([table.cube.table(mask)]), [mask]), table.roles), tmp_path / "bare"
    )
    found = marginals.verify(tmp_path / "bare").checks
    assert ["nothing is claimed of its privacy" in check.note for check in found] == [True]
    assert not any(
        "nothing is claimed" in c.note for c in marginals.verify(tmp_path / "bare", claims=["k-link=2"]).checks
    )


def test_bundles_that_differ_in_what_is_sensitive_are_not_judged_together(tmp_path: Path) -> None:
    """What fails in one must not hold of both because the other sets the attribute aside."""
    frame = pd.DataFrame({"x": ["0"] * 3 + ["1"] * 30, "b": ["u", "v", "w"] * 11, "a": ["0", "1", "1"] * 11})
    for name, shown, role in (("one", ["x", "b"], "sensitive"), ("two", ["x", "a"], "quasi-identifier")):
        table = marginals.read_table(frame[shown], {shown[0]: role, shown[1]: "quasi-identifier"})
        mask = table.domain.mask(dict.fromkeys(shown, 0))
        collection = Collection.of(DataCube([table.cube.table(mask)]), [mask])
        write_bundle(bundle_content(collection, table.roles, (KLink(10),)), tmp_path / name)
    assert not marginals.verify(tmp_path / "two").ok
    together = marginals.verify(tmp_path / "one", tmp_path / "two")
    assert not together.ok
    composed = next(check for check in together.checks if check.criterion == "composition")
    assert composed.verdict is Verdict.UNDECIDED
    assert "only one calls 'x' sensitive" in composed.note
    judged = [(c.parameters["release"], c.verdict) for c in together.checks if c.criterion == "k-link"]
    assert judged == [(str(tmp_path / "one"), Verdict.HOLDS), (str(tmp_path / "two"), Verdict.FAILS)]


def test_values_may_be_numbered_differently(tmp_path: Path) -> None:
    """The same hierarchies in another order of rows are the same hierarchies."""
    frame = people()
    one = bundle(tmp_path / "one", table_of(frame), [{"job": 0, "ill": 0}])
    attributes = {
        "job": Attribute("quasi-identifier", hierarchy=marginals.Hierarchy.flat(["job2", "job0", "job1"])),
        "town": "quasi-identifier",
        "ill": "sensitive",
    }
    two = bundle(tmp_path / "two", marginals.read_table(frame, attributes), [{"job": 0, "town": 0}])  # type: ignore[arg-type]
    assert marginals.verify(one, two).checks[0].holds


def test_degenerate_releases_have_defined_answers(tmp_path: Path) -> None:
    """One row, one sensitive value, one class."""
    frame = pd.DataFrame({"job": ["x"], "town": ["y"], "ill": ["z"]})
    folder = bundle(tmp_path / "single", table_of(frame), [{"job": 0, "ill": 0}])
    verification = marginals.verify(folder)
    assert [check.holds for check in verification.checks] == [True, False, False, False]
    claims = [
        "k-link=1",
        "k-combinatorial=1",
        "diversity=distinct:1",
        "diversity=recursive:1,1",
        "diversity=entropy:1",
    ]
    assert marginals.verify(folder, claims=claims).ok


@pytest.mark.parametrize("claim", ["k-link=0", "diversity=entropy:0.5", "k-link", "k-link=1e3", "k-lonk=2", ""])
def test_claims_that_make_no_sense_are_refused(tmp_path: Path, claim: str) -> None:
    folder = bundle(tmp_path / "one", table_of(people()), [{"job": 0, "ill": 0}])
    with pytest.raises((InputError, ValueError)):
        marginals.verify(folder, claims=[claim])
    with pytest.raises((InputError, ValueError)):
        marginals.open_release(folder).verify([claim])


def test_claims_are_asked_for_as_text_or_as_objects(tmp_path: Path) -> None:
    folder = bundle(tmp_path / "one", table_of(people()), [{"job": 0, "ill": 0}])
    release = marginals.open_release(folder)
    texts = ["k-link=20", "diversity=entropy:2"]
    objects = [KLink(20), MaxentDiversity(parse_diversity("entropy:2"), "ill")]
    expected = [finding.as_json() for finding in release.verify(objects).checks]
    assert [finding["parameters"] for finding in expected] == [
        {"k": 20},
        {"diversity": "entropy:2", "sensitive": "ill"},
    ]
    for claims in (texts, objects, [texts[0], objects[1]]):
        assert [f.as_json() for f in marginals.verify(folder, claims=claims).checks[1:]] == expected
        assert [f.as_json() for f in release.verify(claims).checks] == expected
    assert release.verify(texts[0]).as_json() == release.verify(texts[:1]).as_json(), "one text is one claim"
    assert release.verify([]).checks == ()
    assert len(release.verify().checks) == 3


def without_rows(folder: Path) -> Path:
    """A bundle made one of header lines."""
    package = json.loads((folder / "datapackage.json").read_text())
    package["release"]["rows"], package["release"]["information"] = 0, 0.0
    for resource in package["resources"]:
        if "marginal" in resource:
            header = (folder / resource["path"]).read_bytes().splitlines(keepends=True)[0]
            (folder / resource["path"]).write_bytes(header)
            resource["bytes"], resource["marginal"]["total"] = len(header), 0
            resource["hash"] = "sha256:" + hashlib.sha256(header).hexdigest()
    (folder / "datapackage.json").write_text(json.dumps(package))
    (folder / "datapackage.json.sha256").unlink()
    return folder


def suppressed_throughout(folder: Path) -> Path:
    """A bundle whose one marginal is a number of rows beside `*`."""
    package = json.loads((folder / "datapackage.json").read_text())
    first = next(resource for resource in package["resources"] if "marginal" in resource)
    package["resources"] = [first, *(resource for resource in package["resources"] if "hierarchy" in resource)]
    attributes = first["schema"]["primaryKey"]
    heights = {r["hierarchy"]["attribute"]: len(r["schema"]["fields"]) - 1 for r in package["resources"][1:]}
    content = f"{','.join(attributes)},count\n{'*,' * len(attributes)}{first['marginal']['total']}\n".encode()
    first["marginal"]["levels"] = {attribute: heights[attribute] for attribute in attributes}
    first.update(bytes=len(content), hash="sha256:" + hashlib.sha256(content).hexdigest())
    for file in (folder / "marginals").iterdir():
        file.unlink()
    (folder / first["path"]).write_bytes(content)
    del package["release"]["information"]
    (folder / "datapackage.json").write_text(json.dumps(package))
    (folder / "datapackage.json.sha256").unlink()
    return folder


@pytest.mark.parametrize("change", [without_rows, suppressed_throughout])
def test_whoever_reads_what_verifies_gets_an_answer(tmp_path: Path, change: Callable[[Path], Path]) -> None:
    """Bundles of other programs that tell nothing of anybody: the page, the attacks, and several of them together."""
    folder = change(bundle(tmp_path / "one", table_of(people()), [{"job": 0, "ill": 0}, {"town": 0, "ill": 0}]))
    assert marginals.verify(folder, claims=["k-link=2"]).ok
    assert marginals.verify(folder, folder, claims=["k-link=2"]).ok
    release = marginals.open_release(folder)
    release.write_report()
    assert marginals.verify(folder, claims=["k-link=2"]).ok
    assert marginals.attack(folder).as_json()
    assert release.count([]).expected == release.rows


def test_marginals_without_rows_have_defined_answers(tmp_path: Path) -> None:
    """Header lines alone: nothing is published about anybody, so nothing is given away."""
    folder = without_rows(bundle(tmp_path / "empty", table_of(people()), [{"job": 0, "ill": 0}, {"town": 0, "ill": 0}]))
    assert marginals.verify(folder).ok
    assert marginals.open_release(folder).expected_count({"job": "job1"}) == 0


def edited(folder: Path, **release: object) -> Path:
    """A bundle that says this of its release, unsealed."""
    package = json.loads((folder / "datapackage.json").read_text())
    package["release"].update(release)
    (folder / "datapackage.json").write_text(json.dumps(package))
    (folder / "datapackage.json.sha256").unlink(missing_ok=True)
    return folder


def test_a_bundle_that_says_more_than_is_judged_is_read_and_warned_of(tmp_path: Path) -> None:
    """The page made from it, and its answers, are the same."""
    folder = bundle(tmp_path / "one", table_of(people()), [{"job": 0, "ill": 0}])
    before = marginals.open_release(folder)
    edited(folder, utility={"kl_divergence": 1.25})
    verification = marginals.verify(folder)
    assert verification.ok
    (warning,) = verification.warnings
    assert str(folder) in warning
    assert "release.utility" in warning
    assert "warning: " in str(verification)
    plain = CliRunner().invoke(main, ["verify", str(folder)])
    assert plain.exit_code == 0
    assert "warning" in plain.stdout
    assert "release.utility" in plain.stdout
    assert json.loads(CliRunner().invoke(main, ["verify", str(folder), "--json"]).stdout)["warnings"] == [warning]
    after = marginals.open_release(folder)
    assert repr(after) == repr(before)
    assert report_of(after.published) == report_of(before.published)
    two = marginals.verify(folder, edited(bundle(tmp_path / "two", table_of(people()), [{"town": 0}]), utility=[1]))
    assert [str(f) in w for f, w in zip((folder, tmp_path / "two"), two.warnings)] == [True, True]
    (folder / "report.html").write_text("changed")
    damaged = marginals.verify(folder)
    assert not damaged.ok
    assert damaged.warnings == (warning,)


def test_information_that_does_not_follow_from_the_marginals_is_a_matter_of_integrity(tmp_path: Path) -> None:
    folder = bundle(tmp_path / "one", table_of(people()), [{"job": 0, "ill": 0}, {"town": 0, "ill": 0}])
    stated = json.loads((folder / "datapackage.json").read_text())["release"]["information"]
    assert stated == round(marginals.open_release(folder).information, 6) > 0.01
    assert marginals.verify(folder).warnings == ()
    for right in (
        stated,
        round(stated, 3),
        round(stated, 2),
        marginals.open_release(folder).information,
        stated + 9e-7,
    ):
        assert marginals.verify(edited(folder, information=right)).ok, right
    for wrong in (
        stated + 2.1e-6,
        stated - 2.1e-6,
        round(stated, 3) + 0.001,
        -stated,
        1,
        1e300,
        True,
        None,
        "much",
        [stated],
    ):
        verification = marginals.verify(edited(folder, information=wrong))
        assert [(check.criterion, check.holds) for check in verification.checks] == [("integrity", False)], wrong
        assert verification.checks[0].worst is not None
        assert "release.information" in verification.checks[0].worst.as_json()["problem"]
        assert marginals.open_release(folder).information == pytest.approx(stated, abs=1e-6), "computed, not believed"


def test_information_without_a_junction_tree_is_fitted_and_not_written(tmp_path: Path) -> None:
    pairs = [{"job": 0, "town": 0}, {"town": 0, "ill": 0}, {"job": 0, "ill": 0}]
    folder = bundle(tmp_path / "one", table_of(people()), pairs)
    assert "information" not in json.loads((folder / "datapackage.json").read_text())["release"]
    release = marginals.open_release(folder)
    assert "information" not in repr(release)
    fitted = release.information
    assert fitted > 0
    verification = marginals.verify(edited(folder, information=fitted))
    assert verification.ok
    assert "was not checked, since the marginals form no junction tree" in verification.warnings[0]
