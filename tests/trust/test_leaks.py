"""Nothing of a row gets out but what is published: not into the bundle, a message, a log, a file or an exception.

Every rare value, identifier and ignored column is a token that occurs nowhere else, so a leak of any is found by name.
"""

import logging
import re
import traceback
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from click.testing import CliRunner

import marginals
from command_line import main
from marginals import open_release, publish
from models import MarginalsError
from small_release import contents

TOKEN = re.compile(r"tok[a-z]+[0-9]{4}")
ROWS = 400


def people() -> pd.DataFrame:
    """400 people in few towns, with a token each for name, note and street, and some tokens for rare codes and jobs.

    The codes of a town begin alike, so their prefixes are frequent; what is left of them identifies. Each pay ends in 3, so
    none is the first or last number of a band whose width is fixed without the rows: 5, 10, 20, 50 and so on.
    """
    rng = np.random.default_rng(11)
    number = np.arange(ROWS)
    town = rng.choice(["aaa", "bbb"], ROWS)
    sex = rng.choice(["f", "m"], ROWS)
    return pd.DataFrame(
        {
            "name": [f"tokname{i:04}" for i in number],
            "note": [f"toknote{i:04}" for i in number],
            "street": [f"tokstreet{i:04}" for i in number],
            "code": [f"{place}tokcode{i:04}" for place, i in zip(town, number)],
            "pay": [str(70_000_013 + 110 * i) for i in number],
            "job": [f"tokjob{i:04}" if i % 10 == 0 else rng.choice(["clerk", "cook"]) for i in number],
            "sex": sex,
            "disease": np.where(rng.random(ROWS) < 0.5, "flu", rng.choice(["cold", "cough"], ROWS)),
        }
    )


CONFIG = """
[data]
path = "people.csv"
{domain}
[attributes.name]
role = "identifier"
[attributes.note]
role = "ignored"
[attributes.street]
role = "quasi-identifier"
[attributes.code]
role = "quasi-identifier"
prefixes = [3, 2]
[attributes.pay]
role = "quasi-identifier"
intervals = [10, 10000000]
start = 70000000
[attributes.job]
role = "quasi-identifier"
hierarchy = "job.csv"
{labels}
[attributes.sex]
role = "quasi-identifier"
[attributes.disease]
role = "sensitive"
[privacy]
k_link = 5
k_combinatorial = 5
diversity = "distinct:2"
"""


def write(folder: Path, frame: pd.DataFrame, domain: str = "", labels: str = "") -> Path:
    frame.to_csv(folder / "people.csv", index=False)
    jobs = sorted({*frame["job"], "mayor"})
    (folder / "job.csv").write_text("".join(f"{job};{'rare' if 'tok' in job else 'usual'};*\n" for job in jobs))
    (folder / "release.toml").write_text(CONFIG.format(domain=domain, labels=labels))
    return folder / "release.toml"


def tokens_in(content: bytes | str, frame: pd.DataFrame) -> set[str]:
    text = content if isinstance(content, str) else content.decode("utf-8", "replace")
    return set(TOKEN.findall(text)) | {pay for pay in frame["pay"] if pay in text}


@pytest.mark.parametrize(
    ("domain", "labels"),
    [('domain = "declared"', ""), ('domain = "observed"', ""), ('domain = "declared"', 'labels = "public"')],
)
def test_no_token_reaches_the_bundle_or_what_is_said(
    domain: str, labels: str, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    """Only a hierarchy whose labels are public is published on purpose, with jobs that no marginal shows."""
    caplog.set_level(logging.DEBUG)
    frame = people()
    config = write(tmp_path, frame, domain, labels)
    configured = marginals.read_config(config)
    said: list[str] = []
    release = publish(
        configured.read_table(), configured.policy, lambda task, done, total: said.append(f"{task} {done} {total}")
    ).write(tmp_path / "release")
    assert release.release.published.everything.margins, "something is published"
    assert any("code" in margin for margin in release.release.published.everything.margins)
    purpose = set() if not labels else set(TOKEN.findall((tmp_path / "job.csv").read_text()))
    for path, content in contents(tmp_path / "release").items():
        assert tokens_in(content, frame) <= (purpose if path == "hierarchies/job.csv" else set()), path
    told = [
        *said,
        caplog.text,
        repr(release),
        repr(release.release.published.verify()),
        str(release.release.verify()),
        repr(release.release.model),
    ]
    told += [
        repr(configured.read_table()),
        release.steward.trace().to_string(),
        str(release.release.model.junction_tree().nodes),
    ]
    for text in told:
        assert not tokens_in(text, frame)
    sampled = release.release.rows(200, seed=0, base_values=True).to_csv()
    assert tokens_in(sampled, frame) <= purpose
    opened = marginals.open_release(tmp_path / "release")
    assert opened.domain == release.release.domain
    assert opened.verify().ok


def test_nothing_is_said_of_what_is_suppressed_and_totals_do_not_give_it_back(tmp_path: Path) -> None:
    """A street that nobody shares is suppressed; rows with a missing value are gone from every total, and not counted."""
    frame = people()
    frame.loc[:6, "sex"] = ""
    release = marginals.read_config(write(tmp_path, frame))
    bundle = publish(release.read_table(), release.policy).write(tmp_path / "release").release.path
    assert bundle is not None
    published = open_release(bundle).published
    assert published.collection.cube.total == ROWS - 7
    assert {table.total for table in published.collection.tables} == {ROWS - 7}
    text = (bundle / "datapackage.json").read_text()
    assert not re.search(rf"\b({ROWS}|7)\b", re.sub(r'"(bytes|hash|k)": .*', "", text))
    assert not any("street" in margin for margin in release.policy.must_publish)
    assert not published.collection.shows("street")
    assert (bundle / "hierarchies" / "street.csv").read_text() == "level0\n*\n", "nor how many streets there are"
    for table in published.collection.tables:
        assert table.counts.min() >= 1, "cells of nobody are left out, whatever was suppressed there"


def spoiled() -> dict[str, Callable[[Path, pd.DataFrame], Any]]:
    """Ways in which a table does not fit its config, or is no table at all."""

    def text(folder: Path, change: Callable[[str], str]) -> None:
        path = folder / "people.csv"
        path.write_text(change(path.read_text()))

    def config(folder: Path, old: str, new: str) -> None:
        path = folder / "release.toml"
        assert old in path.read_text()
        path.write_text(path.read_text().replace(old, new, 1))

    return {
        "no header": lambda folder, _: text(folder, lambda t: t.split("\n", 1)[1]),
        "a ragged row": lambda folder, _: text(folder, lambda t: t.replace("tokname0007,", "tokname0007,tokmore0007,")),
        "an open quote": lambda folder, _: text(folder, lambda t: t.replace("tokname0007", '"tokname0007')),
        "not UTF-8": lambda folder, _: (folder / "people.csv").write_bytes(b"\xff" + (folder / "people.csv").read_bytes()),
        "UTF-16": lambda folder, _: (folder / "people.csv").write_bytes((folder / "people.csv").read_text().encode("utf-16")),  # noqa: E501
        "NUL": lambda folder, _: text(folder, lambda t: t.replace("tokname0007", "tok\0name0007")),
        "not a whole number": lambda folder, _: config(folder, "prefixes = [3, 2]", "intervals = [5]"),
        "intervals of a street": lambda folder, _: config(
            folder, '[attributes.street]\nrole = "quasi-identifier"', '[attributes.street]\nrole = "quasi-identifier"\nintervals = [5]'  # noqa: E501
        ),
        "a hierarchy that lacks a value": lambda folder, _: (folder / "job.csv").write_text("clerk;*\n"),
        "a hierarchy with a value twice": lambda folder, _: (folder / "job.csv").write_text("tokjob0000;*\ntokjob0000;*\n"),
        "a hierarchy that is ragged": lambda folder, _: (folder / "job.csv").write_text("tokjob0000;*\ntokjob0010;a;*\n"),
        "a hierarchy that is not nested": lambda folder, _: (folder / "job.csv").write_text(
            "tokjob0000;a;b;*\ntokjob0010;a;c;*\n"
        ),
        "the hierarchy of a street": lambda folder, _: config(
            folder, '[attributes.street]\nrole = "quasi-identifier"', '[attributes.street]\nrole = "quasi-identifier"\nhierarchy = "job.csv"'  # noqa: E501
        ),
        "one value of everything": lambda folder, _: text(folder, lambda t: "\n".join(t.splitlines()[:2])),
        "a policy that nothing satisfies": lambda folder, _: config(folder, '"distinct:2"', '"distinct:9"'),
        "a base table that is unsafe": lambda folder, _: config(folder, "[privacy]", "[base]\ntable = { code = 0 }\n[privacy]"),  # noqa: E501
        "all is missing": lambda folder, _: config(folder, '[attributes.name]', 'missing = ["f", "m"]\n[attributes.name]'),
        "no such column": lambda folder, _: config(folder, "[attributes.sex]", "[attributes.gender]"),
        "not Parquet": lambda folder, _: (
            (folder / "people.csv").rename(folder / "people.parquet"),
            config(folder, "people.csv", "people.parquet"),
        ),
        "a config that is the table": lambda folder, _: (folder / "people.csv").replace(folder / "release.toml"),
    }  # fmt: skip


@pytest.mark.parametrize("name", spoiled())
@pytest.mark.parametrize("command", ["publish", "assess", "anonymize"])
def test_no_token_reaches_a_message_or_an_exception(name: str, command: str, tmp_path: Path) -> None:
    frame = people()
    config = write(tmp_path, frame)
    spoiled()[name](tmp_path, frame)
    calls: dict[str, Callable[[Any, Any], object]] = {
        "publish": marginals.publish,
        "assess": marginals.recoding.assess,
        "anonymize": marginals.anonymize,
    }
    with warnings.catch_warnings(record=True) as warned:
        warnings.simplefilter("always")
        try:
            configured = marginals.read_config(config)
            calls[command](configured.read_table(), configured.policy)
        except MarginalsError as error:
            # As a logging handler or a notebook prints it: causes and contexts included, as far as they are not cut.
            told = "".join(traceback.format_exception(error))
            assert not tokens_in(told, frame), told
            assert not tokens_in(repr(error), frame)  # noqa: PT017
        else:
            assert command != "publish" or name in ("NUL", "UTF-16", "a ragged row"), "it is not refused"
    assert not any(tokens_in(str(warning.message), frame) for warning in warned)


def unreviewed() -> pd.DataFrame:
    """The same people; of the rare jobs some are only of people without a sex, whom publishing leaves out.

    Their towns have rare spellings, districts whose beginnings are frequent, and days with years that few share.
    """
    frame, rng = people(), np.random.default_rng(12)
    number = np.arange(ROWS)
    frame["job"] = np.where(number % 40 == 0, frame["job"], rng.choice(["clerk", "cook", "smith"], ROWS))
    frame["town"] = np.where(number % 25 == 3, [f"toktown{i:04}" for i in number], rng.choice(["Ulm", "Aix"], ROWS))
    frame["zip"] = [f"{rng.choice(['10', '20'])}tokzip{i % 150:04}" for i in number]
    frame["age"] = np.where(number % 50 == 9, 7_000 + 3 * number, rng.integers(20, 60, ROWS))
    frame.loc[number % 80 == 0, "sex"] = ""
    return frame


def test_no_token_reaches_a_release_of_an_unreviewed_config(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    """`init`, then `publish`: rare values are merged with others, and nothing that is written names them."""
    caplog.set_level(logging.DEBUG)
    frame = unreviewed()
    kept = tmp_path / "kept"
    kept.mkdir()
    temporary = tmp_path / "temporary"
    temporary.mkdir()
    frame.to_csv(kept / "people.csv", index=False)
    monkeypatch.setattr("tempfile.tempdir", str(temporary))
    runner = CliRunner()
    runs = [runner.invoke(main, ["init", str(kept / "people.csv"), "--out", str(kept / "release.toml")])]
    command = ["publish", str(kept / "release.toml"), "--out", str(tmp_path / "out" / "release")]
    runs.append(runner.invoke(main, command))
    runs.append(runner.invoke(main, ["verify", str(tmp_path / "out" / "release")]))
    assert 'ladder = "fitted"' in (kept / "release.toml").read_text()
    assert sorted(path.name for path in kept.iterdir()) == ["people.csv", "release.toml"]
    ages = {age for age in frame["age"].astype(str) if len(age) == 4}
    for run in runs:
        assert run.exit_code == 0, run.output
        assert not tokens_in(run.output, frame)
    outside = {path: content for path, content in contents(tmp_path).items() if not path.startswith("kept/")}
    assert any(path.endswith("report.html") for path in outside)
    for path, content in [*outside.items(), ("config", (kept / "release.toml").read_bytes())]:
        assert not tokens_in(content, frame), path
    for path, content in outside.items():
        if path.endswith(".csv"):
            assert not ages & set(re.findall(r"[0-9]+", content.decode())), path
    assert not tokens_in(caplog.text, frame)
    assert not list(temporary.iterdir())
