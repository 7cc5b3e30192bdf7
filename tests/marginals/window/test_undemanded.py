"""No path through the window, and none through `marginals init`, ends in a published sensitive column without a demand,
unless somebody chose "none" of that very column, which the report then says.

Walks are drawn: forms of any page with any of what they offer, remedies, and edits of the text.
"""

import contextlib
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from html import unescape
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
import pandas as pd
import pytest
from hypothesis import HealthCheck, event, given, settings
from hypothesis import strategies as st

import marginals
from command_line import run
from marginals import InputError, Release
from models import MarginalsError
from window_clients import Browser, Form, browsing, run_here

COLUMNS = ("age", "town", "ill", "income")

CONFIG = """
[data]
path = "people.csv"
rows_per_person = 1
[attributes.age]
role = "quasi-identifier"
[attributes.town]
role = "quasi-identifier"
[attributes.ill]
role = "sensitive"
[attributes.income]
role = "ignored"
[privacy]
k_link = 2
{diversity}
[base]
table = "none"
[search]
max_attributes = 2
max_sensitive_margins = 2
"""

DIVERSITIES = (
    "", 'diversity = "entropy:1.1"', 'diversity = "none"', 'diversity = "distinct:1"', 'diversity = "simple:1"',
)  # fmt: skip


def write_table(folder: Path) -> Path:
    """Two hundred people of whom each value is frequent."""
    rng = np.random.default_rng(2)
    values = {
        "age": ["young", "old"],
        "town": ["Aix", "Ulm"],
        "ill": ["flu", "cold", "none"],
        "income": ["low", "high"],
    }
    frame = pd.DataFrame({name: rng.choice(of, 200) for name, of in values.items()})
    frame.to_csv(folder / "people.csv", index=False)
    return folder / "people.csv"


@dataclass
class Walk:
    """Somebody who goes about in a window. chosen: the columns of which it was said in words that nothing is demanded."""

    browser: Browser
    chosen: set[str] = field(default_factory=set)
    done: list[str] = field(default_factory=list)

    def send(self, data: st.DataObject) -> None:
        page = data.draw(st.sampled_from(["/table", "/policy", "/policy", "/search", "/levels", "/publish"]))
        unwanted = re.compile(r"/(stop|publish.*|search|search/frontier|levels.*|text|table/unit)$")
        forms = [f for f in Form.all_of(self.page(page)) if not unwanted.search(f.action)]
        if not forms:
            return
        form = data.draw(st.sampled_from(forms))
        changed = {n: o for n, o in form.offered.items() if o and data.draw(st.integers(0, 2)) == 0}
        fields = {**form.fields, **{name: [data.draw(st.sampled_from(o))] for name, o in changed.items()}}
        self.note(fields)
        self.done.append(f"{form.action} {fields}")
        self.browser.post(form.action, fields)

    def edit(self, data: st.DataObject) -> None:
        """Write another diversity, or another column as the sensitive one, into the text of the config."""
        text = self.browser.window.file.text
        if data.draw(st.booleans()):
            text = re.sub(r"(?m)^diversity = .*\n", "", text)
            text = text.replace("[privacy]", f"[privacy]\n{data.draw(st.sampled_from(DIVERSITIES))}", 1)
        else:
            name = data.draw(st.sampled_from(COLUMNS))
            text = re.sub(rf"(\[attributes\.{name}\]\n)role = .*", r'\1role = "sensitive"', text)
        if re.search(r'(?m)^diversity = "none"', text):
            self.chosen |= set(COLUMNS)
        self.done.append(f"edit {text}")
        self.browser.post("/table/text", {"text": text})

    def search(self, _data: st.DataObject) -> None:
        """Search under the policy as it is, which leaves a candidate or remedies."""
        self.done.append("search")
        self.browser.post("/search", {})

    def publish(self) -> None:
        """Publish what was found under the config as it is, which the page for that shows."""
        self.browser.post("/search", {})
        forms = [form for form in Form.all_of(self.page("/publish")) if form.action == "/publish"]
        for form in forms:
            fields = {**form.fields, "out": ["release"], "looked": ["yes"]}
            fields.pop("sign", None)
            self.browser.post("/publish", fields)

    def page(self, path: str) -> str:
        self.browser.window.counting.table(20)
        return self.browser.page(path)

    def note(self, fields: Mapping[str, "list[str]"]) -> None:
        """Whoever sends "none" for a column says that nothing is demanded of it."""
        self.chosen |= {name.split(":", 1)[1] for name, values in fields.items() if ":" in name and "none" in values}


def undemanded_in(release: Release, report: str, chosen: "set[str]") -> list[str]:
    """Sensitive attributes that a release shows without a proven claim, and of which nobody said so, or the report does not.

    chosen: those of which somebody said that nothing is demanded.
    """
    found = release.verify()
    demanded = {check.parameters.get("sensitive") for check in found.checks if check.holds}
    words = unescape(" ".join(re.sub(r"<[^>]*>", " ", report).split()))
    said = {name for name in chosen if re.search(rf"Nothing is demanded of how varied [^.]*{re.escape(name)}", words)}
    return sorted(set(found.smallest_sensitive or {}) - demanded - said)


@contextlib.contextmanager
def walking(diversity: str) -> Iterator[Walk]:
    with TemporaryDirectory() as place:
        folder = Path(place).resolve()
        write_table(folder)
        (folder / "release.toml").write_text(CONFIG.format(diversity=diversity), encoding="utf-8")
        with browsing(folder / "release.toml") as browser:
            yield Walk(browser)


@pytest.fixture(autouse=True)
def _here(monkeypatch: pytest.MonkeyPatch) -> None:
    run_here(monkeypatch)


@settings(max_examples=40, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.sampled_from(["", 'diversity = "entropy:1.1"', 'diversity = "none"']), st.data())
def test_no_walk_ends_in_a_sensitive_column_without_a_demand(diversity: str, data: st.DataObject) -> None:
    with walking(diversity) as walk:
        if "none" in diversity:
            walk.chosen.add("ill")
        for _ in range(data.draw(st.integers(1, 6))):
            data.draw(st.sampled_from([walk.send, walk.send, walk.send, walk.edit, walk.search]))(data)
        walk.publish()
        folder = walk.browser.window.project.folder / "release"
        event(f"published: {folder.is_dir()}")
        if not folder.is_dir():
            return
        report = (folder / "report.html").read_text(encoding="utf-8")
        assert undemanded_in(marginals.open_release(folder), report, walk.chosen) == [], walk.done


def test_a_column_without_a_demand_is_found(tmp_path: Path) -> None:
    table = marginals.read_table(
        write_table(tmp_path), {"age": marginals.Attribute("quasi-identifier"), "ill": marginals.Attribute("sensitive")}
    )
    release = marginals.publish(table, marginals.Policy(k_link=2, diversity="none", base="none")).release
    release.write(tmp_path / "release")
    report = (tmp_path / "release" / "report.html").read_text(encoding="utf-8")
    assert undemanded_in(release, report, set()) == ["ill"]
    assert undemanded_in(release, "", {"ill"}) == ["ill"]
    assert undemanded_in(release, report, {"ill"}) == []
    demanded = marginals.publish(table, marginals.Policy(k_link=2, diversity="entropy:1.1", base="none")).release
    assert undemanded_in(demanded, "", set()) == []


def test_none_is_said_of_a_column_and_not_of_one_that_becomes_sensitive_later() -> None:
    """Nothing is demanded of ill, on purpose; income is made sensitive then, and of it nothing was said."""
    with walking('diversity = "none"') as walk:
        form = next(form for form in Form.all_of(walk.page("/table")) if form.action == "/table/roles")
        del form.fields["version"]  # each is sent from a page that was loaded after the one before
        walk.browser.post("/table/roles", {**form.fields, "role:income": "sensitive"})
        config = walk.browser.window.config()
        assert config.policy.diversity == {"ill": "none"}
        assert config.policy.silent_on(["ill", "income"]) == ("income",)
        with pytest.raises(InputError, match="'income' is sensitive, and no diversity is demanded"):
            marginals.publish(config.read_table(), config.policy)
        walk.browser.post("/table/roles", {**form.fields, "role:income": "ignored", "role:ill": "ignored"})
        assert walk.browser.window.config().policy.diversity is None


@settings(max_examples=15, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.data())
def test_init_writes_no_config_that_publishes_a_sensitive_column_without_a_demand(data: st.DataObject) -> None:
    names = ["age", "salary", "diagnosis", "religion", "town"]
    kinds = [["a", "b"], ["a", "b", "c", "d"], ["only"], [str(number) for number in range(30)]]
    rng = np.random.default_rng(data.draw(st.integers(0, 9)))
    with TemporaryDirectory() as place:
        folder = Path(place)
        drawn = data.draw(st.lists(st.sampled_from(names), min_size=2, max_size=4, unique=True))
        frame = pd.DataFrame({name: rng.choice(data.draw(st.sampled_from(kinds)), 300) for name in drawn})
        frame.to_csv(folder / "people.csv", index=False)
        config = folder / "release.toml"
        result = run("init", folder / "people.csv", "--out", config)
        if all(frame[name].nunique() == 1 for name in drawn):
            assert result.exit_code, result.output
            return
        assert result.exit_code == 0, result.output
        assert not re.search(r'(?m)^[^#]*diversity.*"none"', config.read_text())
        changed = data.draw(st.sampled_from(drawn))
        if data.draw(st.booleans()):
            text = re.sub(
                rf"(\[attributes\.{changed}\][^\[]*?role = )\"[a-z-]+\"", r'\1"sensitive"', config.read_text()
            )
            config.write_text(text)
        try:
            ready = marginals.read_config(config)
            release = marginals.publish(ready.read_table(), ready.policy).release
        except MarginalsError:
            return
        assert undemanded_in(release, "", set()) == [], config.read_text()
