"""Bundles: what is written is read back, what was tampered with is named, and a crash leaves no half of one."""

import hashlib
import json
import os
import time
from collections.abc import Callable
from itertools import count
from pathlib import Path
from typing import Any

import frictionless
import pandas as pd
import pytest

import forked
import marginals
from marginals import BundleError, InputError, Release, open_release
from small_release import contents
from written_bundles import DESCRIPTOR, SEAL, Change, change_package, first_of, put_file

Package = dict[str, Any]


@pytest.fixture
def bundle(small_release: Release, tmp_path: Path) -> Path:
    small_release.write(tmp_path / "release")
    return tmp_path / "release"


def test_reading_gives_back_what_was_written(small_release: Release, bundle: Path) -> None:
    opened = open_release(bundle)
    assert opened.margins == small_release.margins
    assert opened.claims == small_release.claims
    assert opened.information == small_release.information
    assert opened.domain == small_release.domain
    for margin in small_release.margins:
        pd.testing.assert_series_equal(opened.marginal(margin), small_release.marginal(margin))
    assert opened.verify().ok


def test_the_same_release_is_the_same_bytes(small_release: Release, bundle: Path, tmp_path: Path) -> None:
    small_release.write(tmp_path / "two")
    assert contents(tmp_path / "two") == contents(bundle)


def test_the_descriptor_follows_the_contract(bundle: Path, small_release: Release) -> None:
    package = json.loads((bundle / DESCRIPTOR).read_text())
    release = package["release"]
    assert (release["format"], release["rows"]) == (1, 600)
    assert release["attributes"]["disease"] == {"role": "sensitive"}
    assert {claim["criterion"] for claim in release["privacy"]} == {"k-link", "maxent-diversity"}
    margins = [resource for resource in package["resources"] if "marginal" in resource]
    assert len(margins) == len(small_release.margins)
    for resource in package["resources"]:
        content = (bundle / resource["path"]).read_bytes()
        assert resource["bytes"] == len(content)
        assert resource["hash"] == "sha256:" + hashlib.sha256(content).hexdigest()
        assert {"name", "type", "format", "mediatype", "encoding", "schema"} <= resource.keys()
        assert resource["schema"]["primaryKey"]
    assert (bundle / margins[0]["path"]).read_text().splitlines()[0].split(",")[-1] == "count"


def test_marginals_and_expected_counts_agree_with_the_data(small_release: Release, small_config: Path) -> None:
    by_sex = pd.read_csv(small_config.parent / "people.csv").groupby("sex").size()
    assert small_release.marginal({"sex": 0}).to_dict() == by_sex.to_dict()
    assert small_release.expected_count({"sex": "f"}) == pytest.approx(by_sex["f"])
    assert small_release.expected_count({}) == pytest.approx(600)
    joint = small_release.marginal({"age": 0, "sex": 0, "disease": 0})
    assert joint.sum() == pytest.approx(600)
    cell = dict(zip(("age", "sex", "disease"), joint.index[3]))
    assert small_release.expected_count(cell) == pytest.approx(joint.iloc[3])
    with pytest.raises(InputError, match="'x'"):
        small_release.expected_count({"sex": "x"})


def refused(bundle: Path) -> BundleError:
    """Why a bundle cannot be opened; `verify` says the same of its integrity, and nothing else."""
    with pytest.raises(BundleError) as caught:
        open_release(bundle)
    assert caught.value.file
    (finding,) = marginals.verify(bundle).checks
    assert finding.criterion == "integrity"
    assert finding.worst.as_json() == {"file": caught.value.file, "problem": caught.value.problem}
    return caught.value


def with_disease(package: Package) -> Package:
    """A marginal with disease."""
    return next(r for r in package["resources"] if "disease" in r.get("marginal", {}).get("levels", {}))


def of_marginal(**keys: object) -> Change:
    return lambda package: first_of(package, "marginal").update(keys)


def of_table(**keys: object) -> Change:
    return lambda package: with_disease(package).update(keys)


def of_schema(**keys: object) -> Change:
    return lambda package: with_disease(package)["schema"].update(keys)


def of_field(**keys: object) -> Change:
    def change(package: Package) -> None:
        next(f for f in with_disease(package)["schema"]["fields"] if f["name"] == "disease").update(keys)

    return change


def without(key: str) -> Change:
    return lambda package: first_of(package, "marginal").pop(key)


REFUSED: list[tuple[str, Change]] = [
    ("leads out", of_marginal(path="../x.csv")),
    ("leads out", of_marginal(path="/etc/passwd")),
    ("no such file", of_marginal(path="marginals/none.csv")),
    ("does not match the hash", of_marginal(hash="sha256:0")),
    ("does not match the hash", without("hash")),
    ("bytes", of_marginal(bytes=7)),
    ("how many bytes", without("bytes")),
    ("more than", of_marginal(bytes=10**11)),
    ("marginal.total", lambda p: first_of(p, "marginal")["marginal"].update(total=1)),
    ("release.rows", lambda p: p["release"].update(rows=1)),
    ("levels 0 to", lambda p: first_of(p, "marginal")["marginal"].update(levels={"age": 9})),
    ("role", lambda p: p["release"]["attributes"]["age"].update(role="x")),
    ("two columns", lambda p: p["release"]["attributes"].update(count={"role": "sensitive"})),
    ("privacy", lambda p: p["release"]["privacy"].append({"criterion": "x"})),
    ("not sensitive", lambda p: p["release"]["privacy"][-1].update(sensitive="age")),
    ("format", lambda p: p["release"].update(format=2)),
    ("no hierarchy", lambda p: p.update(resources=[])),
    ("path of its own", lambda p: p["resources"].append(p["resources"][0])),
    ("delimiter", of_table(dialect={"delimiter": ";"})),
    ("quoteChar", of_table(dialect={"quoteChar": "'"})),
    ("escapeChar", of_table(dialect={"escapeChar": "\\"})),
    ("header", of_table(dialect={"header": False})),
    ("headerRows", of_table(dialect={"headerRows": [2]})),
    ("commentChar", of_table(dialect={"commentChar": "f"})),
    ("nullSequence", of_table(dialect={"nullSequence": "flu"})),
    ("skipInitialSpace", of_table(dialect={"skipInitialSpace": True})),
    ("csv.delimiter", of_table(dialect={"csv": {"delimiter": "|"}})),
    ("unheard", of_table(dialect={"unheard": 1})),
    ("dialect", of_table(dialect="dialect.json")),
    ("compression", of_table(compression="gz")),
    ("encoding", of_table(encoding="cp1252")),
    ("encoding", of_table(encoding="utf-16")),
    ("format", of_table(format="tsv")),
    ("mediatype", of_table(mediatype="text/csv;charset=latin-1")),
    ("scheme", of_table(scheme="https")),
    ("type", of_table(type="json")),
    ("data", of_table(data=[["age", "disease"], [37, "flu"]])),
    ("extrapaths", of_table(extrapaths=["people.csv"])),
    ("innerpath", of_table(innerpath="people.csv")),
    ("url", of_table(url="https://example.org/people.csv")),
    ("people", of_table(people=[37])),
    ("$schema", of_table(**{"$schema": "37 flu"})),
    ("schema", of_table(schema="schema.json")),
    ("fields", of_schema(fields="age")),
    ("columns of its header", lambda p: with_disease(p)["schema"]["fields"].reverse()),
    ("columns of its header", lambda p: with_disease(p)["schema"]["fields"].pop()),
    ("fieldsMatch", of_schema(fieldsMatch="some")),
    ("missingValues", of_schema(missingValues=["flu"])),
    ("missingValues", of_schema(missingValues=[{"value": "flu", "label": "none"}])),
    ("missingValues", of_field(missingValues=["flu"])),
    ("say string", of_field(type="integer")),
    ("say string", of_field(type="boolean")),
    ("type", of_field(type="object")),
    ("format", of_field(format="%d/%m/%y")),
    ("decimalChar", of_field(decimalChar=",")),
    ("groupChar", of_field(groupChar=".")),
    ("bareNumber", of_field(bareNumber=False)),
    ("trueValues", of_field(trueValues=["flu"])),
    ("categories", of_field(categories=[{"value": "flu", "label": "none"}])),
    ("missingValues", lambda p: p.update(missingValues=["flu"])),
    ("dialect", lambda p: p.update(dialect={"delimiter": ";"})),
]


@pytest.mark.parametrize(("key", "change"), REFUSED, ids=[f"{n} {key}" for n, (key, _) in enumerate(REFUSED)])
def test_a_bundle_that_cannot_be_trusted_or_is_read_otherwise_by_others_is_refused(
    bundle: Path, key: str, change: Change
) -> None:
    assert key in refused(change_package(bundle, change)).problem


def test_a_report_is_a_page(bundle: Path) -> None:
    change_package(bundle, lambda p: p["release"]["report"].update(mediatype="text/csv"))
    (finding,) = marginals.verify(bundle).checks
    assert "text/html" in finding.worst.as_json()["problem"]


@pytest.mark.parametrize(
    ("problem", "kind", "edit"),
    [
        ("whole number", "marginal", lambda c: c + c.splitlines()[1].rsplit(b",", 1)[0] + b",0\n"),
        ("two rows", "marginal", lambda c: c + c.splitlines(keepends=True)[1]),
        ("lacks", "marginal", lambda c: c + b"nobody," * c.splitlines()[0].count(b",") + b"1\n"),
        ("fields", "marginal", lambda c: c + b"1\n"),
        ("header", "marginal", lambda c: c.replace(b"count", b"counts")),
        ("UTF-8", "marginal", lambda c: c + b"\xff"),
        ("end in *", "hierarchy", lambda c: c.replace(b"*", b"+")),
    ],
)
def test_a_file_that_is_none_of_a_bundle_is_named(
    bundle: Path, problem: str, kind: str, edit: Callable[[bytes], bytes]
) -> None:
    def change(package: Package) -> None:
        resource = first_of(package, kind)
        put_file(bundle, resource, edit((bundle / resource["path"]).read_bytes()))

    assert problem in refused(change_package(bundle, change)).problem


@pytest.mark.parametrize("text", ["", "{", "[]", '{"release": 1}', '{"a": 1, "a": 2}', "[" * 100_000])
def test_a_descriptor_that_is_no_descriptor_is_refused(bundle: Path, text: str) -> None:
    (bundle / DESCRIPTOR).write_text(text)
    assert refused(bundle).file == DESCRIPTOR


ALIKE: list[Change] = [
    of_table(dialect={}),
    of_table(
        dialect={"delimiter": ",", "quoteChar": '"', "doubleQuote": True, "header": True, "lineTerminator": "\r\n"}
    ),
    of_table(profile="tabular-data-resource", encoding="UTF8", scheme="file", rows=4, fields=3, compression=None),
    of_schema(missingValues=[""]),
    of_schema(missingValues=["-"], fieldsMatch="exact"),
    of_field(type="any", format="default", decimalChar="."),
    lambda p: with_disease(p).pop("schema"),
    lambda p: [with_disease(p).pop(key) for key in ("type", "format", "mediatype", "encoding", "name")],
    lambda p: p.update(profile="tabular-data-package"),
]


@pytest.mark.parametrize("change", ALIKE)
def test_keys_that_say_what_is_so_are_no_matter(bundle: Path, change: Change) -> None:
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
    ("].title", of_table(title="37, flu")),
    ("].schema.description", of_schema(description="37, flu")),
    ("].schema.foreignKeys", of_schema(foreignKeys=[])),
    ("].example", of_field(example="37, flu")),
    ("].constraints.enum", of_field(constraints={"required": True, "enum": ["37, flu"]})),
    ("\\x1b3, \\x1b4 and 295 others", lambda p: p.update({f"\x1b{n}": n for n in range(300)})),
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


def test_a_bundle_as_frictionless_describes_its_files_verifies(bundle: Path) -> None:
    described = []
    for resource in json.loads((bundle / DESCRIPTOR).read_bytes())["resources"]:
        own = frictionless.describe(resource["path"], basepath=str(bundle), stats=True, type="table").to_dict()
        assert own["path"] == resource["path"]
        asked = {key: resource[key] for key in ("marginal", "hierarchy", "bytes", "hash") if key in resource}
        described.append(own | asked)
    verification = marginals.verify(change_package(bundle, lambda p: p.update(resources=described)))
    assert verification.ok, verification


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


def test_every_changed_byte_of_a_marginal_is_noticed(bundle: Path) -> None:
    file = sorted((bundle / "marginals").glob("*.csv"))[0]
    content = file.read_bytes()
    for position in range(0, len(content), 7):
        file.write_bytes(content[:position] + bytes([content[position] ^ 1]) + content[position + 1 :])
        with pytest.raises(BundleError, match=file.name):
            open_release(bundle)


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


def test_writing_that_fails_leaves_the_old_bundle(
    small_release: Release, bundle: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    before = contents(bundle)

    def full(_: int) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(InputError, match="No space left"):
        small_release.write(bundle)
    assert contents(bundle) == before
    assert [path.name for path in bundle.parent.iterdir()] == [bundle.name]


WRITER = """
import sys, marginals
release = marginals.open_release(sys.argv[1])
release.write_report(sys.argv[3])  # so that what is done only once is done before
print("ready", flush=True)
while True:
    release.write(sys.argv[2])
"""


@pytest.mark.slow
def test_killing_the_process_while_it_writes_leaves_no_half_bundle(bundle: Path, tmp_path: Path) -> None:
    """SIGKILL at 20 moments, and at later ones on a slow machine, until one comes after the first writing: at the target
    is a whole bundle or nothing, and the next writing cleans up."""
    target, page = tmp_path / "target", tmp_path / "page.html"
    found = 0
    for attempt in count():
        if attempt >= 20 and found:
            break
        assert attempt < 200, "nothing was written in more than two seconds"
        ours, theirs = os.pipe()
        writer = forked.Forked(WRITER, bundle, target, page, streams=(None, theirs, None))
        os.close(theirs)
        with os.fdopen(ours) as stream:
            assert stream.readline() == "ready\n"
            time.sleep(0.002 + 0.012 * attempt)
            writer.kill()
        if target.exists():
            found += 1
            assert marginals.verify(target).ok
    open_release(bundle).write(target)
    assert {path.name for path in tmp_path.iterdir()} == {"page.html", "release", "target"}
    assert (bundle / SEAL).exists()
