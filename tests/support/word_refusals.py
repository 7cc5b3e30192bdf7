"""Refusals: bad configs, tables, bundles, questions and arguments, each with the sentence that it gets.

Most cases are an expression in Python that must be refused. It stands once, in tests/words/errors.txt, as in a doctest: a
line `>>> ...` there is a new case, to which `make words` adds what is said.
"""

# ruff: noqa: F401 - the expressions name what is imported
import hashlib
import json
import shutil
from collections.abc import Callable, Iterator, Sequence
from decimal import Decimal
from fractions import Fraction
from functools import partial
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

import marginals
import written_rows
from checks import Distinct, MaxentDiversity, Requirements, parse_claim, parse_diversity
from filled_tables import apart, filled, flat_domain, published
from marginals import Attribute, Policy, example
from marginals.criteria import *  # noqa: F403
from marginals.errors import *  # noqa: F403
from marginals.interchange import rows_writer
from marginals.selection import Selection, fit_model
from models import ContingencyTable, DataCube, Domain, GeneralizedCells, Hierarchy, JunctionTree, Margin
from public_names import public_names
from words import Case, Stage, changed, typed

GOOD = """
[data]
path = "people.csv"
missing = ["?", ""]
[attributes.age]
role = "quasi-identifier"
intervals = [5, 10]
start = 2
[attributes.zip]
role = "quasi-identifier"
prefixes = [4, 3]
[attributes.sex]
role = "quasi-identifier"
hierarchy = "sex.csv"
[attributes.disease]
role = "sensitive"
[attributes.name]
role = "identifier"
[privacy]
k_link = 2
diversity = "recursive:3,2"
[base]
table = { age = 1, sex = 0 }
[search]
strategy = "forward"
seed = 7
max_sensitive_margins = 2
time_limit = 1.5
"""


CSV = "age,zip,sex,disease,name\n31,12345,f,flu,ann\n33,12346,m,flu,bob\n35,12446,f,cold,eve\n"

WHOLE = "age,disease,sex\n31,flu,f\n" + "32,,m\n33,secret,\n" * 3
"""Eight lines; the row of a ninth one is broken."""

SPEC = """
small = 3
[markers]
"*" = "unknown"
"<5" = [1, 4]
[attributes.sex]
totals = ["Total"]
[tables."t.csv"]
attributes = ["area"]
across = "sex"
"""
COUNTED = "Persons by area and sex\n\narea;f;m;Total\nUlm;12;*;30\nLinz;<5;10-14;15\n"

DESCRIPTORS = ("", "{", "[]", '{"release": 1}', '{"a": 1, "a": 2}', "[" * 100_000)
"""Descriptors that are none."""


def _used(text: str) -> None:
    """Read a config and what it names, and publish: until something is refused."""
    Path("release.toml").write_text(text, encoding="utf-8")
    config = marginals.read_config("release.toml")
    marginals.publish(config.read_table(), config.policy)


def _risked(line: str) -> object:
    Path("release.toml").write_text(f"{GOOD}[risk]\n{line}\n", encoding="utf-8")
    return marginals.risk.disclosure_risk(marginals.read_config("release.toml")).of_table()


def _written(name: str, text: str) -> str:
    Path(name).write_text(text, encoding="utf-8")
    return name


def _write_inputs() -> None:
    _written("sex.csv", "f;*\nm;*\n")
    _written("people.csv", CSV)
    _written("empty.csv", "")
    _written("members.csv", "age,sex,car,none\n31,f,red,\n33,m,blue,\n")
    _written("weights.csv", "name,zip,cost\nann,1,1\nbob,1,1\n")
    _written("negative.csv", "name,zip\nann,1\nbob,-1\n")
    _written("twice.csv", "name,zip\nann,1\nann,1\n")
    _written("voters.csv", "age,sex\n31,f\nsecret,m\n")
    _written("odd.csv", "boat\nblue\n")


def _verified(change: Callable[[pd.DataFrame], pd.DataFrame], **demanded: Any) -> object:
    """What is said of the file of a swept table that was changed."""
    change(marginals.recoding.sweep(example.table, "functional:0.5,2", k=4).frame().astype(str)).to_csv(
        "swept.csv", index=False
    )
    secret = Attribute("sensitive", example.table.domain.hierarchy("diagnosis"))
    claims = Policy(**demanded).requirements(("diagnosis",)).claims
    return marginals.recoding.verify_recoded("swept.csv", example.attributes | {"diagnosis": secret}, claims)


def _evaluated(stage: Stage, part: str, scope: dict[str, Any]) -> Iterator[Case]:
    for source in typed("errors", part, ">>> "):
        yield stage.refusal(f">>> {source}", lambda source=source: eval(source, scope))


def configs(stage: Stage) -> Iterator[Case]:
    """Bad configs, and bad files that they name: a part of a good one, and what stands in its place."""
    with stage.entered():
        _write_inputs()
        scope = {
            "GOOD": GOOD,
            "config": lambda old, new: _used(changed(GOOD, {old: new})),
            "risk": _risked,
            "hierarchy": lambda text: Attribute("quasi-identifier", marginals.read_hierarchy(_written("h.csv", text))),
        }
        yield from _evaluated(stage, "configs", scope)


def tables(stage: Stage) -> Iterator[Case]:
    """What `people.csv` holds instead of a table that can be read: of the good config, of four columns, of two or one."""

    def holds(content: str | bytes) -> str:
        Path("people.csv").write_bytes(content if isinstance(content, bytes) else content.encode())
        return "people.csv"

    def broken(content: str) -> None:
        columns = {"age": "quasi-identifier"}, {"age": "quasi-identifier", "disease": "sensitive"}
        _both(*(partial(marginals.read_table, holds(content), roles) for roles in columns))

    with stage.entered():
        _write_inputs()
        scope = {
            "people": lambda content: holds(content) and _used(GOOD),
            "rows": lambda content: marginals.read_table(holds(content), written_rows.ROLES),
            "broken": broken,
        }
        yield from _evaluated(stage, "tables", {**globals(), **vars(written_rows), **scope})


def _other_table() -> marginals.Table:
    return marginals.read_table(example.frame[:40], example.attributes)


DOORS = (marginals.auditing, marginals.recoding, marginals.risk, marginals)
"""Packages with a list of what they offer."""


def _names() -> dict[str, Any]:
    """What expressions may name: what `marginals` exports, what stands at the top of this file, and a small table."""
    hierarchy = Hierarchy.from_rows([["a", "west", "*"], ["b", "west", "*"], ["c", "east", "*"]])
    domain = Domain(("a", "b"), (hierarchy, hierarchy))
    return {
        **{name: getattr(door, name) for door in DOORS for name in public_names(door)},
        **globals(),
        "FRAME": example.frame,
        "ROLES": example.attributes,
        "TABLE": example.table,
        "RELEASE": example.release,
        "OTHER_TABLE": _other_table(),
        "DISCLOSED": marginals.risk.disclose(marginals.read_rows(example.frame, example.attributes), []),
        "FURTHER": marginals.publish(
            example.table,
            Policy(k_link=4, diversity="none", further_tables="pairs", max_sensitive_margins=1, base="none"),
        ).release,
        "SELECTED": marginals.select(example.frame),
        "recoded": _verified,
        "spec": lambda old, new: marginals.audit(spec=_written("t.toml", changed(SPEC, {old: new}))),
        "counts": lambda text: marginals.audit(_written("counts.csv", text)),
        "HIERARCHY": hierarchy,
        "DOMAIN": domain,
        "COUNTS": ContingencyTable.from_cells(domain, {"a": 0}, {"a": np.array([0, 1, 2])}, np.array([1, 2, 3])),
        "CYCLE": Domain(tuple("abcd"), (hierarchy,) * 4),
    }


def expressions(stage: Stage) -> Iterator[Case]:
    with stage.entered() as folder:
        _write_inputs()
        _written("t.csv", COUNTED)
        example.release.write(folder / "out")
        (folder / "full").mkdir()
        (folder / "full" / "thesis.txt").write_text("precious", encoding="utf-8")
        yield from _evaluated(stage, "expressions", _names())


CLASSES = (
    "models models.accuracy models.search.problem models.search.wanted models.search.selection models.search.further_tables "
    "checks checks.classes checks.population checks.impossible checks.diversity.criteria checks.risk.harm "
    "checks.risk.disclosure"
)
"""Modules whose names the expressions can use."""


def _both(*acts: Callable[[], object]) -> None:
    """Several ways to say one thing are refused by one sentence."""
    said = []
    for act in acts:
        try:
            act()
        except ValueError as error:
            said.append(error)
    assert len(said) == len(acts)
    assert len({str(error) for error in said}) == 1, said
    raise said[0]


def _of_a_table(sex: Sequence[object], age: Sequence[object], counts: Any) -> None:
    """By the constructor, and before cells are added up: also a negative count that another makes up for."""
    columns, base = (np.array(sex), np.array(age)), {"sex": 0, "age": 0}
    _both(
        lambda: ContingencyTable(PEOPLE, Margin(base), columns, np.array(counts)),
        lambda: ContingencyTable.from_cells(PEOPLE, base, dict(zip(base, columns)), np.array(counts)),
    )


def _generalized(nodes: Sequence[object], counts: Sequence[object]) -> None:
    domain = Domain.of({"a": Hierarchy.flat("xyz")})
    makers = GeneralizedCells, GeneralizedCells.from_rows
    _both(*(partial(make, domain, np.array(nodes), np.array(counts)) for make in makers))


def _bands(widths: Sequence[int]) -> None:
    exact = [Decimal(width) for width in widths]
    _both(
        lambda: Hierarchy.from_intervals(["3"], widths), lambda: Hierarchy.from_decimal_intervals([Decimal(3)], exact)
    )


AGES = Hierarchy.from_rows([("1", "young", "*"), ("2", "young", "*"), ("3", "old", "*")])
PEOPLE = Domain.of({"sex": Hierarchy.flat("mf"), "age": AGES})


def classes(stage: Stage) -> Iterator[Case]:
    """What the classes of models and checks do not take."""
    named = {name: getattr(own, name) for own in map(import_module, CLASSES.split()) for name in dir(own)}
    space = named["RecordSpace"](flat_domain(a="xy"))
    records, shown = named["Records"](space, np.array([[0], [1]])), filled(PEOPLE, [[1, 2, 3], [4, 5, 6]])
    own = {"SPACE": space, "RECORDS": records, "SHOWN": shown, "CUBE": filled(flat_domain(a=2, b=2, s=2), range(1, 9))}
    own |= {"of": np.array, "cells": _of_a_table, "generalized": _generalized, "bands": _bands}
    with stage.entered():
        yield from _evaluated(stage, "classes", {**named, **globals(), **own})


def bundles(stage: Stage) -> Iterator[Case]:
    """Bad files of a release: changes of its descriptor p, and others."""
    with stage.entered() as folder:
        genuine, bundle = folder / "genuine", folder / "out"
        example.release.write(genuine)

        def rewrite(package: dict[str, Any], number: int, edit: Callable[[bytes], bytes]) -> None:
            resource = package["resources"][number]
            content = edit((bundle / resource["path"]).read_bytes())
            (bundle / resource["path"]).write_bytes(content)
            resource["bytes"], resource["hash"] = len(content), "sha256:" + hashlib.sha256(content).hexdigest()

        def opened(descriptor: str) -> None:
            """What opening a release refuses, verifying it finds."""
            (bundle / "datapackage.json").write_text(descriptor, encoding="utf-8")
            with pytest.raises(marginals.errors.BundleError) as refused:
                marginals.open_release("out")
            (finding,) = marginals.verify("out").checks
            assert finding.criterion == "integrity"
            assert vars(finding.worst) == {"file": refused.value.file, "problem": refused.value.problem}
            raise refused.value

        for change in typed("errors", "bundles", ">>> "):
            shutil.rmtree(bundle, ignore_errors=True)
            shutil.copytree(genuine, bundle)
            package = json.loads((bundle / "datapackage.json").read_text(encoding="utf-8"))
            eval(change, {"p": package, "rewrite": rewrite})
            yield stage.refusal(f">>> {change}", lambda package=package: opened(json.dumps(package)))
        for text in DESCRIPTORS:
            heading = text if len(text) <= 110 else f"{text[:100]}... ({len(text):,} characters)"
            yield stage.refusal(f"datapackage.json: {heading}", lambda text=text: opened(text))
        shutil.rmtree(bundle)
        shutil.copytree(genuine, bundle)
        file = sorted((bundle / "marginals").glob("*.csv"))[0]
        file.rename(folder / "outside.csv")
        file.symlink_to(folder / "outside.csv")
        yield stage.refusal("a marginal that is a link out of the release", lambda: marginals.open_release("out"))
