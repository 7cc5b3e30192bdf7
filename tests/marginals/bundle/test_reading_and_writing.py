"""Bundles: what is written is read back, what was tampered with is named, and a crash leaves no half of one."""

import hashlib
import json
import os
import time
from collections.abc import Callable
from itertools import count
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

import forked
import marginals
from marginals import Attribute, BundleError, InputError, Policy, Release, open_release
from models import Collection
from written_bundles import bundle_content, write_bundle


def people(rows: int = 600) -> pd.DataFrame:
    rng = np.random.default_rng(5)
    age = rng.integers(20, 60, rows)
    sex = rng.choice(["f", "m"], rows)
    ill = np.where(rng.random(rows) < age / 100, "flu", rng.choice(["cold", "none, yet", 'a "b"'], rows))
    return pd.DataFrame({"age": age, "sex": sex, "disease": ill})


@pytest.fixture(scope="module")
def release() -> Release:
    attributes = {
        "age": Attribute("quasi-identifier", intervals=[5, 10]),
        "sex": "quasi-identifier",
        "disease": "sensitive",
    }
    table = marginals.read_table(people(), attributes)
    return marginals.publish(table, Policy(k_link=5, k_combinatorial=5, diversity="entropy:2")).release


@pytest.fixture
def bundle(release: Release, tmp_path: Path) -> Path:
    return release.write(tmp_path / "release").path  # type: ignore[return-value]


def test_reading_gives_back_what_was_written(release: Release, bundle: Path) -> None:
    opened = marginals.open_release(bundle)
    assert opened.margins == release.margins
    assert opened.claims == release.claims
    assert opened.information == release.information
    assert opened.domain == release.domain
    for margin in release.margins:
        pd.testing.assert_series_equal(opened.marginal(margin), release.marginal(margin))
    assert opened.verify().ok


def test_the_same_release_is_the_same_bytes(release: Release, tmp_path: Path) -> None:
    folders = [tmp_path / "one", tmp_path / "two"]
    for folder in folders:
        release.write(folder)
    files = [{p.relative_to(f): p.read_bytes() for p in sorted(f.rglob("*.*"))} for f in folders]
    assert files[0] == files[1]


def test_the_descriptor_follows_the_contract(bundle: Path, release: Release) -> None:
    package = json.loads((bundle / "datapackage.json").read_text())
    assert package["release"]["format"] == 1
    assert package["release"]["rows"] == 600
    assert package["release"]["attributes"]["disease"] == {"role": "sensitive"}
    assert {claim["criterion"] for claim in package["release"]["privacy"]} == {
        "k-link",
        "k-combinatorial",
        "maxent-diversity",
    }
    margins = [resource for resource in package["resources"] if "marginal" in resource]
    assert len(margins) == len(release.margins)
    for resource in package["resources"]:
        content = (bundle / resource["path"]).read_bytes()
        assert resource["bytes"] == len(content)
        assert resource["hash"] == "sha256:" + hashlib.sha256(content).hexdigest()
        assert {"name", "type", "format", "mediatype", "encoding", "schema"} <= resource.keys()
        assert resource["schema"]["primaryKey"]
    header = (bundle / margins[0]["path"]).read_text().splitlines()[0].split(",")
    assert header[-1] == "count"


def test_marginals_and_expected_counts_agree_with_the_data(release: Release) -> None:
    frame = people()
    by_sex = frame.groupby("sex").size()
    assert release.marginal({"sex": 0}).to_dict() == by_sex.to_dict()
    assert release.expected_count({"sex": "f"}) == pytest.approx(by_sex["f"])
    assert release.expected_count({}) == pytest.approx(600)
    joint = release.marginal({"age": 0, "sex": 0, "disease": 0})
    assert joint.sum() == pytest.approx(600)
    cell = {"age": joint.index[3][0], "sex": joint.index[3][1], "disease": joint.index[3][2]}
    assert release.expected_count(cell) == pytest.approx(joint.iloc[3])
    with pytest.raises(InputError, match="'sex' has no published value 'x'"):
        release.expected_count({"sex": "x"})


def edit_descriptor(bundle: Path, change: Callable[[dict[str, Any]], object]) -> None:
    package = json.loads((bundle / "datapackage.json").read_text())
    change(package)
    (bundle / "datapackage.json").write_text(json.dumps(package))


def first_marginal(package: dict[str, Any]) -> dict[str, Any]:
    return next(resource for resource in package["resources"] if "marginal" in resource)


def first_hierarchy(package: dict[str, Any]) -> dict[str, Any]:
    return next(resource for resource in package["resources"] if "hierarchy" in resource)


def rewrite(bundle: Path, resource: dict[str, Any], content: bytes) -> None:
    (bundle / resource["path"]).write_bytes(content)
    resource["bytes"], resource["hash"] = len(content), "sha256:" + hashlib.sha256(content).hexdigest()


def edit_file(
    bundle: Path, which: Callable[[dict[str, Any]], dict[str, Any]], edit: Callable[[bytes], bytes]
) -> Callable[[dict[str, Any]], object]:
    return lambda package: rewrite(bundle, which(package), edit((bundle / which(package)["path"]).read_bytes()))


TAMPERED: list[tuple[str, Callable[[Path], Callable[[dict[str, Any]], object]], str]] = [
    ("path out of the bundle", lambda _: lambda p: first_marginal(p).update(path="../x.csv"), "leads out"),
    ("absolute path", lambda _: lambda p: first_marginal(p).update(path="/etc/passwd"), "leads out"),
    ("no such file", lambda _: lambda p: first_marginal(p).update(path="marginals/none.csv"), "no such file"),
    ("wrong hash", lambda _: lambda p: first_marginal(p).update(hash="sha256:0"), "does not match the hash"),
    ("no hash", lambda _: lambda p: first_marginal(p).pop("hash"), "does not match the hash"),
    ("wrong size", lambda _: lambda p: first_marginal(p).update(bytes=7), "larger|bytes"),
    ("no size", lambda _: lambda p: first_marginal(p).pop("bytes"), "how many bytes"),
    ("huge size", lambda _: lambda p: first_marginal(p).update(bytes=10**11), "more than"),
    ("wrong total", lambda _: lambda p: first_marginal(p)["marginal"].update(total=1), "marginal.total"),
    ("wrong rows", lambda _: lambda p: p["release"].update(rows=1), "release.rows"),
    ("unknown level", lambda _: lambda p: first_marginal(p)["marginal"].update(levels={"age": 9}), "levels 0 to"),
    ("unknown role", lambda _: lambda p: p["release"]["attributes"]["age"].update(role="x"), "role"),
    (
        "attribute count",
        lambda _: lambda p: p["release"]["attributes"].update(count={"role": "sensitive"}),
        "two columns",
    ),
    ("unknown claim", lambda _: lambda p: p["release"]["privacy"].append({"criterion": "x"}), "privacy"),
    ("claim of nobody", lambda _: lambda p: p["release"]["privacy"][2].update(sensitive="age"), "not sensitive"),
    ("other format", lambda _: lambda p: p["release"].update(format=2), "format"),
    ("no resources", lambda _: lambda p: p.update(resources=[]), "no hierarchy"),
    ("resource twice", lambda _: lambda p: p["resources"].append(p["resources"][0]), "path of its own"),
    (
        "zero count",
        lambda b: edit_file(
            b, first_marginal, lambda c: c[:-1] + b"\n" + c.splitlines()[1].rsplit(b",", 1)[0] + b",0\n"
        ),
        "whole number",
    ),
    ("cell twice", lambda b: edit_file(b, first_marginal, lambda c: c + c.splitlines(keepends=True)[1]), "two rows"),
    (
        "unknown label",
        lambda b: edit_file(b, first_marginal, lambda c: c + b"nobody," * c.splitlines()[0].count(b",") + b"1\n"),
        "lacks",
    ),
    ("ragged", lambda b: edit_file(b, first_marginal, lambda c: c + b"1\n"), "fields"),
    ("wrong header", lambda b: edit_file(b, first_marginal, lambda c: c.replace(b"count", b"counts")), "header"),
    ("not UTF-8", lambda b: edit_file(b, first_marginal, lambda c: c + b"\xff"), "UTF-8"),
    ("not nested", lambda b: edit_file(b, first_hierarchy, lambda c: c.replace(b"*", b"+")), r"does not end in \*"),
]


@pytest.mark.parametrize(("change", "problem"), [t[1:] for t in TAMPERED], ids=[t[0] for t in TAMPERED])
def test_a_bundle_that_cannot_be_trusted_is_refused_and_the_file_named(
    bundle: Path, change: Callable[[Path], Callable[[dict[str, Any]], object]], problem: str
) -> None:
    edit_descriptor(bundle, change(bundle))
    with pytest.raises(BundleError, match=problem) as caught:
        marginals.open_release(bundle)
    assert caught.value.file
    verification = marginals.verify(bundle)
    assert not verification.ok
    assert verification.checks[0].criterion == "integrity"
    assert verification.checks[0].worst.as_json() == {"file": caught.value.file, "problem": caught.value.problem}


@pytest.mark.parametrize(
    ("stated", "title"),
    [
        ("Falls  on\nward 5", "Falls on ward 5"),
        *((nothing, "Anonymized marginals") for nothing in ("", " \n", None, 7, ["x"], {"en": "x"})),
    ],
)
def test_a_title_is_one_line_of_text_and_that_of_all_releases_where_there_is_none(
    bundle: Path, stated: object, title: str
) -> None:
    edit_descriptor(bundle, lambda package: package.update(title=stated))
    (bundle / "datapackage.json.sha256").unlink()
    assert marginals.open_release(bundle).published.title == title
    edit_descriptor(bundle, lambda package: package.pop("title"))
    assert marginals.open_release(bundle).published.title == "Anonymized marginals"


@pytest.mark.parametrize("text", ["", "{", "[]", '{"release": 1}', '{"a": 1, "a": 2}', "[" * 100_000])
def test_a_descriptor_that_is_no_descriptor_is_refused(bundle: Path, text: str) -> None:
    (bundle / "datapackage.json").write_text(text)
    with pytest.raises(BundleError, match=r"datapackage\.json"):
        marginals.open_release(bundle)


def test_every_changed_byte_of_a_marginal_is_noticed(bundle: Path) -> None:
    file = sorted((bundle / "marginals").glob("*.csv"))[0]
    content = file.read_bytes()
    for position in range(0, len(content), 7):
        file.write_bytes(content[:position] + bytes([content[position] ^ 1]) + content[position + 1 :])
        with pytest.raises(BundleError, match=file.name):
            open_release(bundle)


def test_marginals_that_contradict_each_other_are_both_named(tmp_path: Path) -> None:
    """Two marginals with equal totals but different common margins can come from no table."""
    table = marginals.read_table(
        people(), {"age": "quasi-identifier", "sex": "quasi-identifier", "disease": "sensitive"}
    )
    masks = [table.domain.mask({public: 0, "disease": 0}) for public in ("age", "sex")]
    write_bundle(bundle_content(Collection.of(table.cube, masks), table.roles), tmp_path / "release")
    package = json.loads((tmp_path / "release" / "datapackage.json").read_text())
    resources = [resource for resource in package["resources"] if "marginal" in resource]
    header, *rows = (tmp_path / "release" / resources[1]["path"]).read_text().splitlines()
    rows.sort(key=lambda row: row.split(",")[0])
    counts = [int(row.rsplit(",", 1)[1]) for row in rows]
    counts[0], counts[-1] = counts[0] + counts[-1] - 1, 1
    body = [f"{row.rsplit(',', 1)[0]},{count}" for row, count in zip(rows, counts)]
    rewrite(tmp_path / "release", resources[1], ("\n".join([header, *body]) + "\n").encode())
    (tmp_path / "release" / "datapackage.json").write_text(json.dumps(package))
    with pytest.raises(BundleError, match="contradicts") as caught:
        open_release(tmp_path / "release")
    assert all(resource["path"] in str(caught.value) for resource in resources)


def test_a_link_out_of_the_bundle_is_refused(bundle: Path, tmp_path: Path) -> None:
    file = sorted((bundle / "marginals").glob("*.csv"))[0]
    outside = tmp_path / "outside.csv"
    file.rename(outside)
    file.symlink_to(outside)
    with pytest.raises(BundleError, match="leads out"):
        open_release(bundle)


def test_other_peoples_folders_are_left_alone(release: Release, tmp_path: Path) -> None:
    (tmp_path / "thesis.txt").write_text("precious")
    with pytest.raises(InputError, match="not part of a release"):
        release.write(tmp_path)
    with pytest.raises(InputError, match="is a file"):
        release.write(tmp_path / "thesis.txt")
    assert (tmp_path / "thesis.txt").read_text() == "precious"
    with pytest.raises(InputError, match="no release"):
        marginals.open_release(tmp_path)


def test_the_current_folder_is_not_replaced(release: Release, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    with pytest.raises(InputError, match="current folder"):
        release.write(".")
    release.write("release")
    assert marginals.open_release("release").verify().ok


def test_writing_that_fails_leaves_the_old_bundle(
    release: Release, bundle: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    before = (bundle / "datapackage.json").read_bytes()

    def full(_: int) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(InputError, match="No space left"):
        release.write(bundle)
    assert (bundle / "datapackage.json").read_bytes() == before
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
    """SIGKILL at 20 moments, and at later ones on a slow machine, until one comes after the first writing: what stands at
    the target is a whole bundle or nothing, and the next writing cleans up."""
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
    marginals.open_release(bundle).write(target)
    assert {path.name for path in tmp_path.iterdir()} == {"page.html", "release", "target"}
