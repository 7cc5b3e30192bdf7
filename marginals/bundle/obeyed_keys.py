"""What a descriptor says beyond what is read here: keys that other programs read the tables by, and free text.

A bundle is judged by what its files say when they are read as its format has it. A key by which another program would read
them otherwise (`dialect`, `compression`, `missingValues`, ...) must say no more than that. Places whose keys are obeyed take
known keys only; elsewhere any key may stand, and is named as something that nobody judged. The keys are those of Data
Package 1 and 2, Table Schema, CSV Dialect (datapackage.org) and frictionless-py 5.
"""

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any

from marginals.bundle.descriptor import is_table
from marginals.bundle.format import DESCRIPTOR
from marginals.errors import BundleError

Test = Callable[[Any], bool]


def _one_of(*values: object) -> Test:
    return lambda value: any(type(value) is type(allowed) and value == allowed for allowed in values)


def _spelled(pattern: str) -> Test:
    return lambda value: isinstance(value, str) and re.fullmatch(pattern, value, re.IGNORECASE) is not None


def _is_text(value: object) -> bool:
    return isinstance(value, str)


def _is_flag(value: object) -> bool:
    return isinstance(value, bool)


def _is_count(value: object) -> bool:
    return type(value) is int


def _is_object(value: object) -> bool:
    return isinstance(value, dict)


def _are_texts(value: object) -> bool:
    return isinstance(value, list) and all(map(_is_text, value))


def _anything(_: object) -> bool:
    return True


_PROFILE = _spelled(r"https?://[\w.~-]{1,100}(/[\w.~-]{1,100}){0,9}/?|[a-z]{1,30}(-[a-z]{1,30}){0,3}")

_is_name = _spelled(r"[\w./ -]{0,200}")

DESCRIPTION = "Small generalized tables of counts over one table about people, private together."
"""What each release says of itself."""

_OWN: Mapping[str, Test] = {
    "$schema": _PROFILE,
    "profile": _PROFILE,
    "name": _is_name,
    "title": _anything,  # what the report calls the release
    "description": _one_of(DESCRIPTION),
    "resources": _anything,
    "release": _anything,
}
"""Keys of a package that are judged, or say nothing."""

_RESOURCE: Mapping[str, Test] = {
    "name": _is_text,
    "path": _is_text,
    "type": _one_of("table"),
    "profile": _PROFILE,
    "$schema": _PROFILE,
    "scheme": _one_of("file"),
    "format": _spelled("csv"),
    "mediatype": _spelled(r"text/csv(; ?charset=utf-?8)?"),
    "encoding": _spelled("utf-?8"),
    "compression": _one_of(None, "", "no"),
    "bytes": _anything,  # what these say is compared with the files
    "hash": _anything,
    "rows": _is_count,
    "fields": _is_count,
    "dialect": _is_object,
    "schema": _is_object,
    "marginal": _anything,
    "hierarchy": _anything,
}
_DIALECT: Mapping[str, Test] = {
    "type": _one_of("delimited", "csv"),
    "$schema": _PROFILE,
    "profile": _PROFILE,
    "csv": _is_object,
    "delimiter": _one_of(","),
    "lineTerminator": _one_of("\n", "\r\n"),
    "quoteChar": _one_of('"'),
    "doubleQuote": _one_of(True),
    "escapeChar": _one_of(None),
    "nullSequence": _one_of(None),
    "skipInitialSpace": _one_of(False),
    "header": _one_of(True),
    "headerRows": _one_of([1]),
    "headerJoin": _one_of(" "),
    "headerCase": _is_flag,
    "commentRows": _one_of([]),
    "commentChar": _one_of(None),
    "caseSensitiveHeader": _is_flag,
    "csvddfVersion": _one_of(1, 1.0, 1.2, "1.0", "1.2"),
}
_SCHEMA: Mapping[str, Test] = {
    "$schema": _PROFILE,
    "profile": _PROFILE,
    "fields": lambda fields: isinstance(fields, list) and all(map(_is_object, fields)),
    "fieldsMatch": _one_of("exact", "equal", "subset", "superset", "partial", ["exact"], ["equal"]),
    "primaryKey": lambda key: _is_text(key) or _are_texts(key),
    "uniqueKeys": lambda keys: isinstance(keys, list),
    "missingValues": _are_texts,
}
_FIELD: Mapping[str, Test] = {
    "name": _is_text,
    "type": _is_text,
    "format": _one_of("default"),
    "missingValues": _are_texts,
    "decimalChar": _one_of("."),
    "bareNumber": _one_of(True),
    "categories": _are_texts,
    "categoriesOrdered": _is_flag,
    "constraints": _is_object,
}
_DESCRIPTIVE = frozenset(
    ["title", "description", "homepage", "licenses", "sources", "contributors", "keywords", "version", "created", "example",
     "examples", "rdfType", "foreignKeys", "categories", "uniqueKeys", "name"]
)  # fmt: skip
"""Keys by which no program reads a table otherwise; they may say anything."""

_PACKAGE_OBEYED = frozenset(
    ["basepath", "compression", "control", "data", "dialect", "dialects", "encoding", "format", "layout", "mediatype",
     "missingValues", "path", "schema", "schemas", "scheme", "url"]
)  # fmt: skip
"""Keys that have a meaning for a resource, or had one for a package."""

_SPELLINGS: Mapping[str, str] = {
    "string": r"(?s:.*)",
    "any": r"(?s:.*)",
    "integer": r"0|-?[1-9][0-9]*",
    "number": r"0|-?(0|[1-9][0-9]*)(\.[0-9]*[1-9])?",
    "boolean": r"true|false",
    "year": r"[1-9][0-9]{3}",
    "date": r"[0-9]{4}-[0-9]{2}-[0-9]{2}",
}
"""Types of fields, and the texts that are each a value of its own in them."""


def check_obeyed(package: Mapping[str, Any]) -> None:
    """Raise BundleError naming a key of a descriptor by which another program would read a table otherwise."""
    for key in package:
        if key in _PACKAGE_OBEYED:
            raise _otherwise(key)
    for place, resource in _tables(package):
        _check(place, resource, _RESOURCE)
        dialect = resource.get("dialect", {})
        _check(f"{place}.dialect", dialect, _DIALECT)
        _check(f"{place}.dialect.csv", dialect.get("csv", {}), _DIALECT)
        schema = resource.get("schema", {})
        _check(f"{place}.schema", schema, _SCHEMA)
        for number, field in enumerate(schema.get("fields", [])):
            _check(f"{place}.schema.fields[{number}]", field, _FIELD)
            if field.get("type", "string") not in _SPELLINGS:
                raise _otherwise(f"{place}.schema.fields[{number}].type")


def check_schema(resource: Mapping[str, Any], columns: Mapping[str, Iterable[str]]) -> None:
    """Raise BundleError unless the schema of a table reads its texts as they are.

    columns: the texts of each column, in the order of the header.
    """
    schema = resource.get("schema", {})
    fields = schema.get("fields", [])
    path = resource["path"]
    if fields and [field.get("name") for field in fields] != list(columns):
        raise BundleError(path, "schema.fields must be the columns of its header, in their order")
    for field, (column, texts) in zip(fields or [{} for _ in columns], columns.items()):
        spelling = re.compile(_SPELLINGS[field.get("type", "string")])
        missing = {*schema.get("missingValues", []), *field.get("missingValues", [])} - {""}
        if not missing.isdisjoint(texts := list(texts)):
            raise BundleError(path, f"missingValues of its schema would take a value of {column!r} for none")
        if not all(map(spelling.fullmatch, texts)):
            raise BundleError(path, f"a value of {column!r} is not what the type in its schema spells; say string")


def unjudged(package: Mapping[str, Any]) -> list[str]:
    """The keys of a descriptor, and the files that it declares, that may say anything and are judged by nobody.

    What every release says of itself in the same words is not among them.
    """
    return list(_unjudged(package))


def _unjudged(package: Mapping[str, Any]) -> Iterator[str]:
    release = package["release"]
    yield from (key for key, value in package.items() if key not in _OWN or not _OWN[key](value))
    stated = {"format", "rows", "rows_per_person", "attributes", "privacy", "rules", "turnover", "where"}
    known = {*stated, "utility", "information", "report"}
    yield from (f"release.{key}" for key in release if key not in known)
    yield from _others("release.report", release.get("report"), ("path", "mediatype", "bytes", "hash"))
    for name, described in release["attributes"].items():
        yield from _others(f"release.attributes.{name}", described, ("role", "description", "values"))
    claimed = ("criterion", "k", "diversity", "sensitive", "level")
    for number, claim in enumerate(release.get("privacy", [])):
        yield from _others(f"release.privacy[{number}]", claim, claimed)
    for number, rule in enumerate(release.get("rules", [])):
        place = f"release.rules[{number}]"
        yield from _others(place, rule, ("name", "title", "source", "demands", "unchecked"))
        for inner, demand in enumerate(rule["demands"]):
            yield from _others(f"{place}.demands[{inner}]", demand, ("says", "claims"))
            for last, claim in enumerate(demand["claims"]):
                yield from _others(f"{place}.demands[{inner}].claims[{last}]", claim, claimed)
    yield from (f"the file {resource['path']}" for resource in package["resources"] if not is_table(resource))
    for place, resource in _tables(package):
        yield from _others(place, resource, _RESOURCE)
        if not _is_name(resource.get("name", "")):
            yield f"{place}.name"
        yield from _others(f"{place}.marginal", resource.get("marginal"), ("levels", "total"))
        yield from _others(f"{place}.hierarchy", resource.get("hierarchy"), ("attribute",))
        yield from _others(f"{place}.dialect", resource.get("dialect"), _DIALECT)
        schema = resource.get("schema", {})
        yield from _others(f"{place}.schema", schema, _SCHEMA.keys() - _DESCRIPTIVE)
        for number, field in enumerate(schema.get("fields", [])):
            yield from _others(f"{place}.schema.fields[{number}]", field, {"name", *(_FIELD.keys() - _DESCRIPTIVE)})
            limits = field.get("constraints", {})
            plain = (key for key, value in limits.items() if isinstance(value, bool | int))
            yield from _others(f"{place}.schema.fields[{number}].constraints", limits, plain)


def _others(place: str, described: object, known: Iterable[str]) -> Iterator[str]:
    """The keys of an object that are not known."""
    if isinstance(described, dict):
        among = set(known)
        yield from (f"{place}.{key}" for key in described if key not in among)


def _tables(package: Mapping[str, Any]) -> Iterator[tuple[str, Mapping[str, Any]]]:
    for number, resource in enumerate(package["resources"]):
        if is_table(resource):
            yield f"resources[{number}]", resource


def _check(place: str, described: Mapping[str, Any], tests: Mapping[str, Test]) -> None:
    for key, value in described.items():
        if key in tests:
            if not tests[key](value):
                raise _otherwise(f"{place}.{key}")
        elif key not in _DESCRIPTIVE:
            raise BundleError(
                DESCRIPTOR, f"{place}.{key} is unknown, and another program may read the file by it; remove the key"
            )


def _otherwise(key: str) -> BundleError:
    return BundleError(
        DESCRIPTOR,
        f"by {key} another program would read a file otherwise than it is judged: as CSV in UTF-8, each text as it is",
    )


def listed(keys: Sequence[str], most: int = 5) -> str:
    """Some keys in words, the others by their number."""
    more = f" and {len(keys) - most} others" if len(keys) > most else ""
    return ", ".join(keys[:most]) + more
