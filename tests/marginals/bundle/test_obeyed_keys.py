"""Who reads a bundle by its descriptor sees the tables that were judged, or `verify` names the key by which he may not."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import frictionless
import pytest

import marginals

Package = dict[str, Any]
Change = Callable[[Package], object]


@pytest.fixture
def bundle(tmp_path: Path, small_release: marginals.Release) -> Path:
    folder = small_release.write(tmp_path / "release").path
    assert folder is not None
    return folder


def changed(bundle: Path, change: Change) -> Path:
    """The bundle with another descriptor, unsealed."""
    package = json.loads((bundle / "datapackage.json").read_bytes())
    change(package)
    (bundle / "datapackage.json").write_text(json.dumps(package))
    (bundle / "datapackage.json.sha256").unlink(missing_ok=True)
    return bundle


def table(package: Package) -> Package:
    """A marginal with disease."""
    return next(r for r in package["resources"] if "disease" in r.get("marginal", {}).get("levels", {}))


def field(package: Package, name: str = "disease") -> Package:
    return next(f for f in table(package)["schema"]["fields"] if f["name"] == name)


def of_table(**keys: object) -> Change:
    return lambda package: table(package).update(keys)


def of_schema(**keys: object) -> Change:
    return lambda package: table(package)["schema"].update(keys)


def of_field(**keys: object) -> Change:
    return lambda package: field(package).update(keys)


REFUSED: list[tuple[str, Change]] = [
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
    ("columns of its header", lambda p: table(p)["schema"]["fields"].reverse()),
    ("columns of its header", lambda p: table(p)["schema"]["fields"].pop()),
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
def test_a_key_by_which_a_table_is_read_otherwise_is_refused_by_name(bundle: Path, key: str, change: Change) -> None:
    (finding,) = marginals.verify(changed(bundle, change)).checks
    assert finding.criterion == "integrity"
    assert finding.worst is not None
    assert key in finding.worst.problem
    with pytest.raises(marginals.BundleError):
        marginals.open_release(bundle)


def test_a_report_is_a_page(bundle: Path) -> None:
    (finding,) = marginals.verify(changed(bundle, lambda p: p["release"]["report"].update(mediatype="text/csv"))).checks
    assert finding.worst is not None
    assert "its mediatype must be text/html" in finding.worst.problem


ALIKE: list[Change] = [
    of_table(dialect={}),
    of_table(
        dialect={"delimiter": ",", "quoteChar": '"', "doubleQuote": True, "header": True, "lineTerminator": "\r\n"}
    ),
    of_table(profile="tabular-data-resource", encoding="UTF8", scheme="file", rows=4, fields=3, compression=None),
    of_schema(missingValues=[""]),
    of_schema(missingValues=["-"], fieldsMatch="exact"),
    of_field(type="any", format="default", decimalChar="."),
    lambda p: table(p).pop("schema"),
    lambda p: [table(p).pop(key) for key in ("type", "format", "mediatype", "encoding", "name")],
    lambda p: p.update(profile="tabular-data-package"),
]


@pytest.mark.parametrize("change", ALIKE)
def test_keys_that_say_what_is_so_are_no_matter(bundle: Path, change: Change) -> None:
    verification = marginals.verify(changed(bundle, change))
    assert verification.ok
    assert not verification.warnings


FREE: list[tuple[str, Change]] = [
    ("people", lambda p: p.update(people=[[37, "flu"]])),
    ("description", lambda p: p.update(description="37, flu")),
    ("licenses", lambda p: p.update(licenses=[{"name": "CC0"}])),
    ("release.people", lambda p: p["release"].update(people=[[37, "flu"]])),
    ("release.report.people", lambda p: p["release"]["report"].update(people=[[37, "flu"]])),
    ("release.attributes.age.people", lambda p: p["release"]["attributes"]["age"].update(people=37)),
    ("release.privacy[0].people", lambda p: p["release"]["privacy"][0].update(people=37)),
    ("].marginal.people", lambda p: table(p)["marginal"].update(people=37)),
    ("].name", of_table(name="37: flu; 38: gout")),
    ("profile", lambda p: p.update(profile="37, flu")),
    ("].title", of_table(title="37, flu")),
    ("].schema.description", of_schema(description="37, flu")),
    ("].schema.foreignKeys", of_schema(foreignKeys=[])),
    ("].example", of_field(example="37, flu")),
    ("].constraints.enum", of_field(constraints={"required": True, "enum": ["37, flu"]})),
]


@pytest.mark.parametrize(("place", "change"), FREE, ids=[place for place, _ in FREE])
def test_what_may_say_anything_is_named_as_unjudged(bundle: Path, place: str, change: Change) -> None:
    """Whatever stands there, rows too; nobody reads the tables by it, so the claims are judged all the same."""
    folder = changed(bundle, change)
    verification = marginals.verify(folder)
    assert verification.ok
    (warning,) = verification.warnings
    assert warning.split("yourself: ")[1].endswith(place)
    assert "37" not in warning.replace(str(folder), "")


def test_many_unjudged_keys_are_one_line(bundle: Path) -> None:
    verification = marginals.verify(changed(bundle, lambda p: p.update({f"\x1b{n}": n for n in range(300)})))
    (warning,) = verification.warnings
    assert warning.endswith("\\x1b3, \\x1b4 and 295 others")


def test_what_frictionless_describes_of_the_same_files_verifies(bundle: Path) -> None:
    """A bundle by another program: its own description of each table, with what the format asks for beside it."""
    written = json.loads((bundle / "datapackage.json").read_bytes())
    described = []
    for resource in written["resources"]:
        own = frictionless.describe(resource["path"], basepath=str(bundle), stats=True, type="table").to_dict()
        assert own["path"] == resource["path"]
        described.append(
            own | {key: resource[key] for key in ("marginal", "hierarchy", "bytes", "hash") if key in resource}
        )
    verification = marginals.verify(changed(bundle, lambda p: p.update(resources=described)))
    assert verification.ok, verification
