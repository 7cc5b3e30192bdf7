"""Tables and habits that are not the simplest: several sensitive columns, people with several rows, a ledger, wanted
analyses, hundreds of values, names in other scripts; and browsers that go away, or have two tabs."""

from collections.abc import Iterator
from functools import partial
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import marginals
from small_release import marginals_command
from wide_table import write_wide
from window_clients import Browser, browsing
from work import count_calls

TIMES = " \N{MULTIPLICATION SIGN} "

CONFIG = """
[data]
path = "visits.csv"
person = "número"
one_row = "last"
[attributes."número"]
role = "identifier"
[attributes.Alter]
role = "quasi-identifier"
ladder = "fitted"
[attributes."Straße & Ort"]
role = "quasi-identifier"
ladder = "fitted"
[attributes."性別"]
role = "quasi-identifier"
[attributes.disease]
role = "sensitive"
[attributes."debt (€)"]
role = "sensitive"
[privacy]
k_link = 5
[privacy.diversity]
disease = "entropy:1.5"
"debt (€)" = "distinct:2"
[[search.wanted]]
attributes = ["Alter", "disease"]
weight = 10
[[search.wanted]]
attributes = ["Alter", "性別", "disease"]
"""

PAGES = ("/table", "/levels", "/policy", "/search", "/publish", "/explore", "/table/text")


@pytest.fixture
def browser(tmp_path: Path) -> Iterator[Browser]:
    """Of a table with people of several rows, two sensitive columns, one empty, and more than 300 streets."""
    rng = np.random.default_rng(7)
    rows = 900
    frame = pd.DataFrame(
        {
            "número": rng.integers(0, 700, rows),
            "Alter": rng.integers(-40, 90, rows),
            "Straße & Ort": [f"<b>Straße</b> {n}" for n in rng.integers(0, 350, rows)],
            "性別": rng.choice(["女", "男"], rows),
            "disease": rng.choice(["flu", "cold", "=1+1"], rows),
            "debt (€)": rng.choice(["-5", "0", "5"], rows),
            "leer": "",
        }
    )
    frame.to_csv(tmp_path / "visits.csv", index=False)
    (tmp_path / "release.toml").write_text(CONFIG, encoding="utf-8")
    with browsing(tmp_path / "release.toml") as opened:
        opened.window.counting.table(20)
        yield opened


def test_all_pages_show_every_column_and_no_markup_of_the_table(browser: Browser) -> None:
    page = browser.until("/table", 'name="role:leer"')
    assert 'value="número" selected' in page or ">número</option>" in page
    for name in ("Alter", "Straße &amp; Ort", "性別", "debt (€)", "leer"):
        assert f'name="role:{name}"' in page
    for path in (*PAGES, *(f"/levels?attribute={name}&level=1" for name in ("Alter", "性別", "Stra%C3%9Fe+%26+Ort"))):
        answer = browser.get(path)
        assert answer.status_code == 200
        assert "<b>Straße" not in answer.get_data(as_text=True)
    policy = browser.page("/policy")
    for name in ("disease", "debt (€)"):
        assert f'name="diversity:{name}"' in policy
    assert TIMES.join(("Alter", "性別", "disease")) + "." in browser.page("/search")


def test_wanted_analyses_with_weights_and_of_three_attributes_stay(browser: Browser) -> None:
    fields = browser.fields_of(browser.page("/search"), "/policy/wanted")
    pairs = {"first": [*fields["first"], "Alter"], "second": [*fields["second"], "性別"]}
    browser.post("/policy/wanted", {**fields, **pairs})
    wanted = {own.attributes: own.weight for own in browser.window.config().policy.analyses}
    assert wanted[("Alter", "disease")] == 10
    assert ("Alter", "性別") in wanted
    assert ("Alter", "性別", "disease") in wanted


def test_people_with_several_rows_are_published_and_explored(browser: Browser) -> None:
    assert "The release is written to" in browser.publish()
    assert "Alter" in browser.page("/search")
    folder = browser.window.project.folder
    release = marginals.open_release(folder / "release")
    assert release.model.total == pd.read_csv(folder / "visits.csv")["número"].nunique()
    assert release.verify().ok
    page = browser.page("/explore")
    assert "<b>Straße" not in page
    labels = {
        label
        for table in release.tables.values()
        for column in table.select_dtypes(exclude="number")
        for label in table[column]
    }
    assert ("A label begins like a formula" in page) == ("=1+1" in labels)
    margin = max(release.published.everything.margins, key=len)
    query = {"release": "release", **{f"level:{name}": level for name, level in margin.items()}}
    csv = browser.page("/explore/table.csv", query_string=query)
    numbers = {name for name in csv.splitlines()[0].split(",") if name.endswith("_number")}
    assert {*csv.splitlines()[0].split(",")} - numbers == {*margin, "value", "lower", "upper", "kind"}
    assert not any(line.startswith("=") or ",=" in line for line in csv.splitlines())


ADDRESSES = (
    "/table", "/table/text", "/levels", "/levels?attribute=question_3&level=1", "/policy", "/search",
    "/publish", "/explore",
)  # fmt: skip
LARGEST, MOST_CALLS = 500_000, 600_000


def test_pages_of_sixty_columns_are_small_and_little_work(tmp_path: Path) -> None:
    config = write_wide(tmp_path, 60)
    assert marginals_command("publish", config, "--out", tmp_path / "release").returncode == 0
    with browsing(config) as browser:
        browser.window.counting.table(120)
        browser.post("/search")
        job = browser.window.jobs.latest("search")
        assert job is not None
        assert job.done.wait(120)
        assert job.state == "done"
        for address in ADDRESSES:
            _ = browser.get(address)
            answer, calls = count_calls(partial(browser.get, address))
            assert calls <= MOST_CALLS, address
            assert answer.status_code == 200
            assert len(answer.get_data()) <= LARGEST, address
