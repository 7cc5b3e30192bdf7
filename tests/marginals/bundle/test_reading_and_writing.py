"""Bundles: what is written is read back, what was tampered with is named, and a crash leaves no half of one."""

import json
from pathlib import Path
from typing import Any

import frictionless
import pandas as pd
import pytest

import marginals
from marginals import InputError, Release, open_release
from small_release import contents
from written_bundles import DESCRIPTOR, Change, change_package

Package = dict[str, Any]


@pytest.fixture
def bundle(small_release: Release, tmp_path: Path) -> Path:
    small_release.write(tmp_path / "release")
    return tmp_path / "release"


def test_reading_gives_back_what_was_written(small_release: Release, bundle: Path) -> None:
    opened = open_release(bundle)
    assert opened.published.everything.margins == small_release.published.everything.margins
    assert opened.claims == small_release.claims
    assert opened.model.information == small_release.model.information
    assert opened.domain == small_release.domain
    for margin in small_release.published.everything.margins:
        pd.testing.assert_frame_equal(opened.table(margin), small_release.table(margin))
    assert opened.verify().ok


def test_what_a_disk_keeps_otherwise_than_it_was_written_takes_no_place(
    small_release: Release, bundle: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    before, write = contents(bundle), Path.write_bytes
    monkeypatch.setattr(Path, "write_bytes", lambda file, content: write(file, content[:-1]))
    for folder in (bundle, tmp_path / "new"):
        with pytest.raises(InputError, match="is not what was written"):
            small_release.write(folder)
    monkeypatch.undo()
    assert contents(bundle) == before
    assert not list(tmp_path.glob("new*"))


def with_disease(package: Package) -> Package:
    return next(r for r in package["resources"] if "disease" in r.get("marginal", {}).get("levels", {}))


def of_table(**keys: object) -> Change:
    return lambda package: with_disease(package).update(keys)


def test_a_report_is_a_page(bundle: Path) -> None:
    change_package(bundle, lambda p: p["release"]["report"].update(mediatype="text/csv"))
    (finding,) = marginals.verify(bundle).checks
    assert "text/html" in finding.worst.problem


ALIKE: list[Change] = [
    lambda p: with_disease(p).pop("schema"),
    lambda p: [with_disease(p).pop(key) for key in ("type", "format", "mediatype", "encoding", "name")],
    lambda p: [p.pop(key) for key in ("$schema", "name", "title", "description")],
]


@pytest.mark.parametrize("change", ALIKE)
def test_keys_that_say_how_every_table_is_read_may_be_missing(bundle: Path, change: Change) -> None:
    verification = marginals.verify(change_package(bundle, change))
    assert (verification.ok, verification.warnings) == (True, ())


FREE: list[tuple[str, Change]] = [
    ("people", lambda p: p.update(people=[[37, "flu"]])),
    ("description", lambda p: p.update(description="37, flu")),
    ("licenses", lambda p: p.update(licenses=[{"name": "CC0"}])),
    ("release.people", lambda p: p["release"].update(people=[[37, "flu"]])),
    ("release.report.people", lambda p: p["release"]["report"].update(people=[[37, "flu"]])),
    ("release.attributes.age.people", lambda p: p["release"]["attributes"]["age"].update(people=37)),
    ("release.privacy[0].people", lambda p: p["release"]["privacy"][0].update(people=37)),
    ("].marginal.people", lambda p: with_disease(p)["marginal"].update(people=37)),
    ("].name", of_table(name="37: flu; 38: gout")),
    ("profile", lambda p: p.update(profile="37, flu")),
    ("\\x1b3, \\x1b4 and 295 more", lambda p: p.update({f"\x1b{n}": n for n in range(300)})),
]


@pytest.mark.parametrize(("place", "change"), FREE, ids=[place for place, _ in FREE])
def test_keys_that_may_say_anything_are_named_as_unjudged_and_not_quoted(
    bundle: Path, place: str, change: Change
) -> None:
    verification = marginals.verify(change_package(bundle, change))
    assert verification.ok
    (warning,) = verification.warnings
    assert warning.endswith(place)
    assert "37" not in warning.replace(str(bundle), "")


def test_a_descriptor_in_the_dialect_of_another_program_is_refused_by_name(bundle: Path) -> None:
    described = []
    for resource in json.loads((bundle / DESCRIPTOR).read_bytes())["resources"]:
        own = frictionless.describe(resource["path"], basepath=str(bundle), stats=True, type="table").to_dict()
        described.append(
            own | {key: resource[key] for key in ("marginal", "hierarchy", "bytes", "hash") if key in resource}
        )
    (finding,) = marginals.verify(change_package(bundle, lambda p: p.update(resources=described))).checks
    assert "resources[0].scheme" in finding.worst.problem
    assert "docs/bundle.md" in finding.worst.problem


@pytest.mark.parametrize(
    ("stated", "title"),
    [
        ("Falls  on\nward 5", "Falls on ward 5"),
        *((nothing, "Anonymized marginals") for nothing in ("", " \n", None, 7, ["x"], {"en": "x"})),
    ],
)
def test_a_title_is_one_line_of_text_and_that_of_all_releases_if_there_is_none(
    bundle: Path, stated: object, title: str
) -> None:
    change_package(bundle, lambda package: package.update(title=stated))
    assert open_release(bundle).published.title == title
    change_package(bundle, lambda package: package.pop("title"))
    assert open_release(bundle).published.title == "Anonymized marginals"


def test_other_peoples_folders_and_the_current_one_are_left_alone(
    small_release: Release, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "thesis.txt").write_text("precious")
    for folder, problem in ((tmp_path, "not part of a release"), (tmp_path / "thesis.txt", "is a file")):
        with pytest.raises(InputError, match=problem):
            small_release.write(folder)
    with pytest.raises(InputError, match="no release"):
        open_release(tmp_path)
    (tmp_path / "empty").mkdir()
    monkeypatch.chdir(tmp_path / "empty")
    with pytest.raises(InputError, match="current folder"):
        small_release.write(".")
    small_release.write("release")
    assert open_release("release").verify().ok
    assert (tmp_path / "thesis.txt").read_text() == "precious"


def test_a_label_with_a_carriage_return_is_read_as_it_was_written(tmp_path: Path) -> None:
    """Python's csv module quotes it from 3.13 on."""
    frame = pd.DataFrame({"a": ["x\ry", "z"] * 20, "b": ["u", "u", "v", "v"] * 10})
    table = marginals.read_table(frame, {"a": "quasi-identifier", "b": "sensitive"})
    marginals.publish(table, marginals.Policy(k_link=2, diversity="none")).write(tmp_path / "release")
    assert marginals.verify(tmp_path / "release").ok
    assert "x\ry" in marginals.open_release(tmp_path / "release").domain.hierarchy("a").labels[0]
