"""Pages: what they show, and that each form is an edit of the config or a command, which the page names."""

import html
import json
import os
import re
import shutil
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("werkzeug", reason="werkzeug is not installed")
pytest.importorskip("tomlkit", reason="tomlkit is not installed")

import marginals
from marginals import estimates
from marginals.config.release_toml import config_of
from marginals.deadline import ENOUGH
from marginals.example import release as another_release
from marginals.names import margin_in_words
from small_release import CONFIG, contents, marginals_command, write_config
from window_clients import BASE, PLACE, Browser, browsing


@pytest.fixture
def browser(tmp_path: Path) -> Iterator[Browser]:
    with browsing(write_config(tmp_path)) as opened:
        opened.window.counting.table(20)
        yield opened


def problem(page: str) -> str:
    found = re.search(r'said problem"[^>]*>\s*(?:<p>)?(.*?)</', page, re.DOTALL)
    return found[1] if found else ""


def test_the_table_page_shows_columns_with_roles_and_what_the_table_gives_away(browser: Browser) -> None:
    page = browser.until("/table", "Prosecutor: ")
    for name in ("age", "sex", "town", "disease"):
        assert f'name="role:{name}"' in page
    assert "600 rows count" in page
    assessed = browser.window.counting.assessed(5).value
    assert assessed is not None
    assert assessed.reidentification is not None
    assert f"Prosecutor: {100 * assessed.reidentification.prosecutor.average:.3g} %" in page


def test_a_role_is_changed_in_place_and_comments_stay(browser: Browser) -> None:
    path = browser.window.file.path
    path.write_text("# mine\n" + CONFIG.replace('role = "sensitive"', 'role = "sensitive"  # by law'))
    fields = browser.fields_of(browser.until("/table", "600 rows"), "/table/roles")
    page = browser.post("/table/roles", {**fields, "role:town": "ignored"}).get_data(as_text=True)
    text = path.read_text()
    assert text == "# mine\n" + CONFIG.replace('role = "sensitive"', 'role = "sensitive"  # by law').replace(
        '[attributes.town]\nrole = "quasi-identifier"', '[attributes.town]\nrole = "ignored"'
    )
    assert "-role = &#34;quasi-identifier&#34;\n+role = &#34;ignored&#34;" in page


def test_questions_stand_first_until_somebody_says_that_all_roles_are_right(browser: Browser) -> None:
    path = browser.window.file.path
    asked = "# Guessed: 2 categories.\n# Asked: the name says nothing that this program knows.\n"
    path.write_text(CONFIG.replace("[attributes.sex]\n", f"[attributes.sex]\n{asked}"))
    page = browser.until("/table", "600 rows")
    assert page.index("sex: is that something that nobody should learn about a person?") < page.index('name="role:sex"')
    assert "2 categories" in page
    browser.post("/table/roles", {**browser.fields_of(page, "/table/roles"), "reviewed": "yes"})
    assert "reviewed = true" in path.read_text()
    assert "nobody should learn about a person?" not in browser.until("/table", "600 rows").replace("an illness", "")


def test_forms_that_are_sent_as_they_stand_change_nothing(browser: Browser) -> None:
    """Also the policy, where numbers, kinds and pairs are written again."""
    before = browser.window.file.text
    for path, action in [
        ("/table", "/table/roles"),
        ("/table", "/table/unit"),
        ("/levels?attribute=age", "/levels"),
        ("/policy", "/policy"),
        ("/policy", "/policy/wanted"),
    ]:
        fields = browser.fields_of(browser.until(path, action), action)
        page = browser.post(action, fields).get_data(as_text=True)
        assert "Nothing changed." in page, (action, problem(page))
        assert browser.window.file.text == before


def test_without_a_sensitive_column_the_diversity_goes(browser: Browser) -> None:
    fields = browser.fields_of(browser.until("/table", "600 rows"), "/table/roles")
    browser.post("/table/roles", {**fields, "role:disease": "ignored"})
    config = browser.window.config()
    assert config.policy.diversity is None
    assert config.policy.k_link == 5


def test_the_unit_is_written(browser: Browser) -> None:
    browser.post("/table/unit", {"person": "", "keep": "one"})
    assert browser.window.config().source.rows_per_person == 1
    browser.post("/table/unit", {"person": "", "keep": "rows"})
    assert browser.window.config().source.rows_per_person == "any"
    page = browser.post("/table/unit", {"person": "age", "keep": "first"}).get_data(as_text=True)
    assert "give the column the role" in problem(page)
    assert browser.window.config().source.rows_per_person == "any"


def test_levels_are_those_of_the_table_that_is_published(browser: Browser) -> None:
    page = browser.until("/levels?attribute=age&level=2", "Ten made-up rows")
    table = browser.window.config().read_table()
    counts = table.cube.table(table.domain.mask({"age": 2}))
    for (label,), count in counts.cells():
        assert re.search(rf'<th scope="row">{label}</th>.*?<td class="num">{count}</td>', page)
    assert '<svg class="ladder"' in page


def test_bands_are_cut(browser: Browser) -> None:
    browser.get("/levels?attribute=age")
    browser.post("/levels/cuts", {"attribute": "age", "cuts": "25, 40"})
    config = browser.window.config()
    hierarchy = config.read_table().domain.hierarchy("age")
    assert hierarchy.labels[1] == ("under 25", "25-39", "40 and over")
    assert config.source.attributes["age"].intervals == ()
    assert 'hierarchy = "hierarchies/age.csv"' in browser.window.file.text


def named(*names: str) -> dict[str, Any]:
    """The names that a form gives the values of a level, in their order."""
    return {"code": list(map(str, range(len(names)))), **{f"name:{code}": name for code, name in enumerate(names)}}


def test_values_are_grouped_and_groups_named_and_merged(browser: Browser) -> None:
    browser.post("/levels/names", {"attribute": "town", "level": "0", **named("south", "north", "north")})
    labels = browser.window.config().read_table().domain.hierarchy("town").labels
    assert labels[0] == ("Aix", "Ely", "Ulm")
    assert labels[1] == ("south", "north")
    browser.window.counting.table(20)
    browser.post("/levels/names", {"attribute": "town", "level": "1", **named("The South", "The North")})
    assert browser.window.config().read_table().domain.hierarchy("town").labels[1] == ("The South", "The North")
    page = browser.post("/levels/names", {"attribute": "town", "level": "1", **named("", "x")}).get_data(as_text=True)
    assert "each value needs a name" in problem(page).lower()


def test_names_that_do_not_nest_are_refused_and_the_file_stays(browser: Browser) -> None:
    folder = browser.window.project.folder
    (folder / "town.csv").write_text("Aix;coast;south;*\nEly;inland;north;*\nUlm;hills;south;*\n")
    path = browser.window.file.path
    path.write_text(CONFIG.replace("[attributes.town]\n", '[attributes.town]\nhierarchy = "town.csv"\n'))
    browser.window.counting.table(20)
    before = (folder / "town.csv").read_bytes()
    labels = browser.window.config().read_table().domain.hierarchy("town").labels[1]
    names = ["coast" if label == "inland" else label for label in labels]
    page = browser.post("/levels/names", {"attribute": "town", "level": "1", **named(*names)}).get_data(as_text=True)
    assert problem(page)
    assert (folder / "town.csv").read_bytes() == before


def test_the_policy_is_written_and_its_sentences_shown(browser: Browser) -> None:
    fields = browser.fields_of(browser.get("/policy").get_data(as_text=True), "/policy")
    page = browser.post(
        "/policy",
        {
            **fields,
            "k_link": "7",
            "min_cell": "4",
            "kind:disease": "recursive",
            "number:disease": "3,2",
            "rules": ["cms-11"],
        },
    ).get_data(as_text=True)
    policy = browser.window.config().policy
    assert (policy.k_link, policy.min_cell, policy.diversity) == (7, 4, "recursive:3,2")
    assert [rule.name for rule in policy.named_rules] == ["cms-11"]
    assert "combinations of age and town" in page or "combinations of age and sex" in page
    assert all(f"<b>{claim.title()}</b>" in page for claim in policy.requirements(("disease",)).claims)


@pytest.mark.parametrize(
    ("changed", "said"),
    [
        ({"k_link": "-1"}, "k_link is a whole number"),
        ({"k_link": "x"}, "k_link is a whole number"),
        ({"number:disease": "x"}, "entropy"),
        ({"odds": "0.5"}, "odds"),
    ],
)
def test_a_policy_that_makes_no_sense_is_refused(browser: Browser, changed: dict[str, str], said: str) -> None:
    before = browser.window.file.text
    fields = browser.fields_of(browser.get("/policy").get_data(as_text=True), "/policy")
    page = browser.post("/policy", {**fields, **changed}).get_data(as_text=True)
    assert said in problem(page)
    assert browser.window.file.text == before


@pytest.mark.parametrize(
    ("path", "action", "changed", "field", "said"),
    [
        ("/policy", "/policy", {"k_link": "-1"}, "k_link", "such as 10"),
        (
            "/policy",
            "/policy",
            {"number:disease": "x"},
            "number:disease",
            "ype a number, such as 3, for the entropy of disease",
        ),
        ("/policy", "/policy", {"kind:disease": "recursive"}, "number:disease", "such as 3,2"),
        ("/policy", "/policy", {"number:disease": "0.5"}, "number:disease", "needs l of at least 1"),
        ("/policy", "/policy", {"odds": "0.5"}, "odds", "odds"),
        ("/policy", "/policy", {"odds": "x"}, "odds", "such as 2"),
        ("/policy", "/policy/search", {"time_limit": "x"}, "time_limit", "such as 2"),
        ("/policy", "/policy/search", {"seed": "x"}, "seed", "such as 10"),
        ("/levels?attribute=sex&level=0", "/levels", {"kind": "intervals", "intervals": "x"}, "intervals", "5, 10, 20"),
        ("/levels?attribute=age&level=0", "/levels", {"intervals": "5, 7"}, "intervals", "multiple"),
        ("/levels?attribute=age&level=1", "/levels/cuts", {"cuts": "x"}, "cuts", "type 18, 65"),
        ("/levels?attribute=age&level=1", "/levels/cuts", {"cuts": ""}, "cuts", "such as 18, 65"),
        ("/search", "/search", {"k_link": "x"}, "k_link", "such as 10"),
        ("/search", "/search", {"diversity": "x"}, "diversity", "such as entropy:2"),
        ("/search", "/search/frontier", {"k": "x"}, "k", "such as 5, 10"),
    ],
)
def test_what_is_wrong_stands_at_its_field_with_one_example_and_what_was_typed(
    browser: Browser, path: str, action: str, changed: dict[str, str], field: str, said: str
) -> None:
    fields = browser.fields_of(browser.until(path, f'action="/{PLACE}{action}"'), action)
    page = browser.post(action, {**fields, **changed}).get_data(as_text=True)
    marked = re.findall(
        r'<(?:input|select)[^>]*name="([^"]*)"[^>]*aria-invalid="true" aria-describedby="refused"', page
    )
    assert marked == [field], problem(page)
    sentence = re.search(r'<span class="wrong" id="refused">([^<]*)</span>', page)
    assert sentence is not None
    assert said in html.unescape(sentence[1])
    assert "may disclose LABELS" not in page
    own = {name: value if isinstance(value, list) else [value] for name, value in {**fields, **changed}.items()}
    again = browser.fields_of(page, action)
    assert again[field] == own[field]


def test_wanted_pairs_are_ticked(browser: Browser) -> None:
    browser.post("/policy/wanted", {"pair": ["0-3", "1-2"]})
    assert [own.attributes for own in browser.window.config().policy.analyses] == [("age", "disease"), ("sex", "town")]
    page = browser.get("/policy").get_data(as_text=True)
    assert len(re.findall(r'name="pair"[^>]* checked', page)) == 2
    browser.post("/policy/wanted", {"pair": ["1-2"]})
    assert [own.attributes for own in browser.window.config().policy.analyses] == [("sex", "town")]
    browser.post("/policy/wanted", {})
    assert browser.window.config().policy.analyses == ()
    assert browser.window.file.text.strip() == CONFIG.strip() or "[search]" in browser.window.file.text


def test_the_later_of_two_edits_is_refused_with_both_shown(browser: Browser) -> None:
    old = browser.window.file.version
    fields = browser.fields_of(browser.get("/policy").get_data(as_text=True), "/policy")
    browser.post("/policy", {**fields, "k_link": "7"})
    late = browser.post("/policy", {**fields, "k_link": "9", "version": old})
    page = late.get_data(as_text=True)
    assert late.status_code == 409
    assert "-k_link = 7\n+k_link = 9" in page
    assert "-k_link = 5\n+k_link = 7" in page
    assert browser.window.config().policy.k_link == 7
    again = browser.fields_of(page, "/policy")
    browser.post("/policy", again)
    assert browser.window.config().policy.k_link == 9


def test_a_hierarchy_file_that_changed_is_a_later_edit_too(browser: Browser) -> None:
    folder = browser.window.project.folder
    browser.post("/levels/cuts", {"attribute": "age", "cuts": "25, 40"})
    old = browser.window.file.version
    file = folder / "hierarchies" / "age.csv"
    file.write_text(file.read_text().replace("under 25", "young"))
    assert browser.post("/policy", {"k_link": "9", "version": old}).status_code == 409


@pytest.mark.parametrize(
    ("text", "line", "said"),
    [
        (CONFIG.replace("k_link = 5", "k_link = = 5"), 14, "not valid TOML"),
        (CONFIG.replace("k_link = 5", "k_links = 5"), 14, "unknown key privacy.k_links"),
        (CONFIG.replace("[5, 10]", "[5, 7]"), 6, "attributes.age.intervals"),
        (CONFIG.replace('"people.csv"', '"/etc/passwd"'), 3, "outside"),
        (CONFIG.replace("k_link = 5", "k_link = -5"), 14, "k_link"),
    ],
)
def test_a_config_with_an_error_is_shown_at_its_line_and_editable(
    browser: Browser, text: str, line: int, said: str
) -> None:
    browser.window.file.path.write_text(text)
    for page in ("/table", "/levels", "/policy", "/search", "/publish"):
        shown = browser.get(page)
        assert shown.status_code == 200
        assert said in shown.get_data(as_text=True)
        assert f"(line {line})" in shown.get_data(as_text=True)
        assert "<textarea" in shown.get_data(as_text=True)
    refused = browser.post("/table/text", {"text": text + "# more\n"})
    assert "# more" in refused.get_data(as_text=True)
    assert browser.window.file.path.read_text() == text
    browser.post("/table/text", {"text": CONFIG})
    assert browser.window.file.path.read_text() == CONFIG


@pytest.mark.parametrize(
    "table", [b"", b"\xff\xfe\x00\xd8", b"age,age\n1,2\n", b"age,sex\n1,2,3\n", b"other\n1\n"], ids=range(5)
)
def test_a_table_that_cannot_be_read_is_one_sentence(tmp_path: Path, table: bytes) -> None:
    config = write_config(tmp_path)
    (tmp_path / "people.csv").write_bytes(table)
    with browsing(config) as browser:
        browser.window.counting.table(20)
        for path in ("/table", "/levels", "/policy", "/publish"):
            answer = browser.get(path)
            assert answer.status_code == 200
        assert problem(browser.get("/levels").get_data(as_text=True))


@pytest.mark.slow
def test_a_release_alone_is_explored(tmp_path: Path, small_release: marginals.Release) -> None:
    written = small_release.write(tmp_path / "people-release")
    with browsing(tmp_path / "people-release") as browser:
        page = browser.get("/").get_data(as_text=True)
        assert "Explore" in page
        assert "/policy" not in page
        levels = {"age": 0, "sex": 0, "disease": 0}
        query = {"release": "people-release", **{f"level:{name}": level for name, level in levels.items()}}
        answer = browser.client.get("/explore", base_url=BASE, query_string=query | {"view": "python"})
        page = answer.get_data(as_text=True)
        assert "release.counts({&#39;age&#39;: 0, &#39;sex&#39;: 0, &#39;disease&#39;: 0})" in page
        assert browser.get("/policy").status_code == 400
        csv = browser.client.get("/explore/table.csv", base_url=BASE, query_string=query)
        lines = csv.get_data(as_text=True).splitlines()
        counts = estimates.counts(written.model, levels)
        assert lines[0] == "age,sex,disease,expected,lower,upper,exact,kind"
        assert len(lines) == len(counts) + 1


@pytest.mark.slow
def test_four_attributes_are_asked_for_and_a_release_may_lie_where_nothing_can_be_written(
    tmp_path: Path, small_release: marginals.Release
) -> None:
    release = small_release.write(tmp_path / "bundle" / "people-release")
    before = sorted(tmp_path.rglob("*"))
    with browsing(tmp_path / "bundle" / "people-release") as browser, browsing(tmp_path / "bundle" / "people-release"):
        query = {f"level:{name}": "0" for name in ("age", "sex", "town", "disease")}
        page = browser.get("/explore", query_string=query).get_data(as_text=True)
        counts = estimates.counts(release.model, dict.fromkeys(("age", "sex", "town", "disease"), 0))
        assert f"And {len(counts) - 300:,} more, in the file." in page or len(counts) <= 300
        for bad in (
            {"level:age": "7"},
            {"level:age": "x"},
            {"level:name": "0"},
            {"release": "other"},
            {"release": ".."},
        ):
            assert browser.get("/explore", query_string=bad).status_code == 400
    assert sorted(tmp_path.rglob("*")) == before


@pytest.mark.slow
@pytest.mark.parametrize("content", [b"", b"\x00\x01\x02", b"a,a\n1,2\n", b"x\n"], ids=range(4))
def test_a_file_that_is_no_table_is_refused_in_a_sentence(tmp_path: Path, content: bytes) -> None:
    (tmp_path / "people.csv").write_bytes(content)
    with browsing(tmp_path / "people.csv") as browser:
        browser.post("/table/begin")
        page = browser.until("/table", "said problem")
        assert problem(page)
        assert "Traceback" not in page
        assert not (tmp_path / "release.toml").exists()


@pytest.mark.slow
def test_a_candidate_is_searched_compared_and_taken(browser: Browser) -> None:
    page = browser.post("/search", {"k_link": "8"}).get_data(as_text=True)
    assert "+k_link = 8" in page
    page = browser.until("/search", "Candidate 1")
    assert browser.window.config().policy.k_link == 5
    found = browser.window.candidates.all()[0]
    assert found.answer["kl_divergence"] >= 0
    release = marginals.open_release(found.folder / "release")
    assert found.tables == tuple(margin_in_words(margin, release.domain) for margin in release.margins)
    assert all(f"<li>{html.escape(words)}</li>" in page for words in found.tables)
    browser.post("/search/1/take")
    assert "<b>chosen</b>" in browser.get("/search").get_data(as_text=True)
    assert browser.window.config().policy.k_link == 8
    assert json.loads((found.folder / "found.json").read_text())["config"] == browser.window.file.text
    report = browser.get("/search/1/report")
    assert "sandbox" in report.headers["Content-Security-Policy"]
    browser.post("/search/1/drop")
    assert browser.window.candidates.all() == []
    assert [p.name for p in browser.window.project.folder.glob(".*")] == [".marginals-window"]


@pytest.mark.slow
def test_what_was_searched_is_published_without_a_second_search(browser: Browser) -> None:
    """To the byte as by the command; another config, table or ledger is searched again, what was damaged is refused."""
    folder, config = browser.window.project.folder, browser.window.file.path
    browser.post("/search", {})
    browser.until("/search", "Candidate 1")
    page = browser.post("/publish", {"looked": "yes", "out": "first"}).get_data(as_text=True)
    assert "so it is not searched again" in page
    assert "The release is written to the folder first" in page
    job = browser.window.jobs.latest("publish")
    assert job is not None
    assert job.process is None
    assert job.shown == "marginals publish release.toml --out first"
    ran = marginals_command("publish", config, "--out", folder / "again", "--json")
    assert contents(folder / "first") == contents(folder / "again")
    assert (folder / "first-steward.html").read_bytes() == (folder / "again-steward.html").read_bytes()
    told = json.loads(ran.stdout)
    assert job.answer == {**told, "out": "first", "steward": "first-steward.html"}
    assert (folder / "first-steward.html").stat().st_mode & 0o077 == 0

    other = folder / "other"
    other.mkdir()
    (other / "note.txt").write_text("mine")
    assert "other" in problem(browser.post("/publish", {"looked": "yes", "out": "other"}).get_data(as_text=True))
    assert (other / "note.txt").read_text() == "mine"
    found = browser.window.candidates.found()
    assert found is not None
    table = folder / "people.csv"
    before = table.read_bytes()
    table.write_bytes(before + before.splitlines()[1] + b"\n")
    assert browser.window.candidates.found() is None
    table.write_bytes(before)
    assert browser.window.candidates.found() is not None
    config.write_text(CONFIG.replace("k_link = 5", "k_link = 6"))
    assert browser.window.candidates.found() is None
    config.write_text(CONFIG)
    browser.post("/publish", {"looked": "yes", "out": "noted", "ledger": "ledger"})
    browser.until("/publish", "It is the first release of the ledger.")
    again = browser.window.jobs.latest("publish")
    assert again is not None
    assert again.process is not None
    counts = next((found.folder / "release" / "marginals").iterdir())
    counts.write_bytes(counts.read_bytes() + b"\n")
    assert counts.name in problem(browser.post("/publish", {"looked": "yes", "out": "third"}).get_data(as_text=True))
    assert not (folder / "third").exists()


@pytest.mark.slow
@pytest.mark.skipif(shutil.which("minisign") is None, reason="minisign is not installed")
def test_a_key_with_a_password_signs_at_a_terminal_only(browser: Browser) -> None:
    folder = browser.window.project.folder
    command = ["minisign", "-G", "-p", folder / "minisign.pub", "-s", folder / "minisign.key"]
    subprocess.run(command, input="open sesame\nopen sesame\n", text=True, check=True, capture_output=True)
    page = browser.get("/publish").get_data(as_text=True)
    assert "minisign.key has a password" in page
    assert 'name="sign" value="yes" disabled' in page
    page = browser.post("/publish", {"looked": "yes", "out": "release", "sign": "yes"}).get_data(as_text=True)
    assert "publish there with --sign minisign.key" in problem(page)
    assert browser.window.jobs.latest("publish") is None


@pytest.mark.slow
def test_what_stood_in_the_way_is_named_with_its_remedy(browser: Browser) -> None:
    """A policy that no table satisfies; then one under which single attributes are too fine."""
    browser.post("/search", {"k_link": "5000"})
    assert "demands 5,000 rows" in browser.until("/search", "Candidate 1")
    browser.post("/search", {"k_link": "400"})
    page = browser.until("/search", "Candidate 2")
    assert "Nothing is published of age" in page
    fields = {"remedy": "fit", "attribute": "age"}
    shown = browser.post("/search/remedy", fields).get_data(as_text=True)
    assert "+ladder = &#34;fitted&#34;" in shown
    assert browser.window.config().source.attributes["age"].is_fitted
    assert browser.window.config().policy.k_link == 5
    browser.post("/search/remedy", {"remedy": "want", "first": "age", "second": "disease", "weight": "10"})
    assert [own.weight for own in browser.window.config().policy.analyses] == [10.0]
    before = browser.window.file.text
    for bad in (
        {"remedy": "fit", "attribute": "x"},
        {"remedy": "want", "first": "x", "second": "age"},
        {"remedy": "x"},
    ):
        assert problem(browser.post("/search/remedy", bad).get_data(as_text=True))
        assert browser.window.file.text == before


@pytest.mark.slow
def test_the_frontier_is_that_of_python(browser: Browser) -> None:
    browser.post("/search/frontier", {"k": "2, 20, 5000", "diversity": "entropy:2; distinct:2"})
    page = browser.until("/search", '<svg class="frontier"')
    job = browser.window.jobs.latest("frontier")
    assert job is not None
    config = browser.window.config()
    grid = marginals.frontier(
        config.read_table(), config.policy, [2, 20, 5000], ["entropy:2", "distinct:2"], ["greedy"]
    )
    found = [row["kl_divergence"] for row in job.answer["rows"]]
    assert found == pytest.approx(grid["kl_divergence"].tolist(), abs=1e-9, nan_ok=True) or None in found
    assert page.count("<circle class=") == 4
    assert "marginals.frontier(" in page
    for bad in (
        {"k": ""},
        {"k": "2", "diversity": "x"},
        {"k": "2", "strategy": "x"},
        {"k": " ".join(map(str, range(2, 99)))},
    ):
        assert problem(browser.post("/search/frontier", bad).get_data(as_text=True))


@pytest.mark.slow
def test_a_release_with_a_ledger_and_a_name_with_a_space(browser: Browser) -> None:
    assert (
        "there is no key"
        in browser.post("/publish", {"looked": "yes", "out": "release", "sign": "yes"}).get_data(as_text=True).lower()
    )
    browser.post("/publish", {"looked": "yes", "out": "my release", "ledger": "ledger"})
    page = browser.until("/publish", "The release is written to the folder my release")
    assert "It is the first release of the ledger." in page
    assert "Ledgers in this folder: ledger." in page
    browser.post("/publish/ledger", {"ledger": "ledger"})
    assert "marginals ledger ledger" in browser.until("/publish", "<h2>The ledger</h2>")
    browser.post("/publish/attack", {"release": "my release"})
    assert 'class="printed"' in browser.until("/publish", "<h2>What readers can conclude</h2>")
    for name in ("report", "steward"):
        assert browser.get(f"/publish/my%20release/{name}").status_code == 200
    assert browser.get("/publish/my%20release/other").status_code == 400
    assert browser.get("/publish/other/report").status_code == 400
    assert browser.get("/explore?release=my+release").status_code == 200


@pytest.mark.slow
def test_a_search_is_stopped_and_leaves_nothing(browser: Browser) -> None:
    browser.post("/search", {})
    browser.post("/jobs/1/stop", {"back": "/search"})
    job = browser.window.jobs.get(1)
    assert job is not None
    assert job.done.wait(20)
    assert browser.window.candidates.all() == [] or job.state == "done"
    assert not list(browser.window.project.folder.glob(".release.candidate-*"))


@pytest.mark.slow
@pytest.mark.skipif(ENOUGH is None, reason="this system has no signal by which a search is asked for its best")
def test_a_search_is_stopped_and_the_best_so_far_kept(browser: Browser) -> None:
    """It looks at fewer collections than to its end, and what it found is a release as any other."""
    browser.post("/search", {})
    job = browser.window.jobs.get(1)
    assert job is not None
    end = time.monotonic() + 60
    while not job.can_keep and job.runs and time.monotonic() < end:
        time.sleep(0.005)
    browser.post("/jobs/1/keep", {"back": "/search"})
    assert job.done.wait(60)
    browser.post("/search", {})
    again = browser.window.jobs.get(2)
    assert again is not None
    assert again.done.wait(120)
    early, whole = browser.window.candidates.all()
    assert (early.is_early, whole.is_early) == (True, False)
    assert early.answer["search"]["evaluated"] < whole.answer["search"]["evaluated"]
    assert all(check["holds"] for check in early.answer["checks"])
    page = browser.get("/search").get_data(as_text=True)
    assert page.count("ended early</span>") == 1
    assert "Nothing is found yet" in browser.post("/jobs/2/keep", {"back": "/search"}).get_data(as_text=True)


def test_a_form_that_is_refused_still_holds_what_was_typed(browser: Browser) -> None:
    before = browser.window.file.text
    fields = browser.fields_of(browser.get("/policy").get_data(as_text=True), "/policy")
    page = browser.post("/policy", {**fields, "k_link": "a few"}).get_data(as_text=True)
    assert "said problem" in page
    assert 'value="a few"' in page
    assert browser.window.file.text == before
    assert "a few" not in browser.get("/policy").get_data(as_text=True)


def test_small_counts_of_sensitive_values_are_warned_of_before_publishing(browser: Browser) -> None:
    page = browser.get("/publish").get_data(as_text=True)
    assert "A count of disease may be as small as 1" in page
    fields = browser.fields_of(browser.get("/policy").get_data(as_text=True), "/policy")
    browser.post("/policy", {**fields, "min_cell": "5"})
    assert browser.window.config().policy.min_cell == 5
    assert "may be as small as 1" not in browser.get("/publish").get_data(as_text=True)
    assert "No count with a sensitive value will be from 1 to 4." in browser.get("/publish").get_data(as_text=True)


def test_the_least_count_that_a_rule_demands_is_said_too(browser: Browser) -> None:
    fields = browser.fields_of(browser.get("/policy").get_data(as_text=True), "/policy")
    browser.post("/policy", {**fields, "rules": "cms-11"})
    assert [rule.name for rule in browser.window.config().policy.named_rules] == ["cms-11"]
    assert browser.window.config().policy.min_cell is None
    page = browser.get("/publish").get_data(as_text=True)
    assert "No count with a sensitive value will be from 1 to 10." in page
    assert "may be as small as 1" not in page


@pytest.mark.slow
def test_a_title_that_was_typed_is_that_of_the_release(browser: Browser) -> None:
    page = browser.get("/publish").get_data(as_text=True)
    fields = browser.fields_of(page, "/publish")
    browser.post(
        "/publish", {"looked": "yes", **fields, "title": "People and illness", "publisher": "City of Ulm", "sign": ""}
    )
    assert browser.window.config().imprint.title == "People and illness"
    page = browser.until("/publish", "The release is written to the folder release")
    assert "is replaced: release" in page
    told = json.loads((browser.window.project.folder / "release" / "datapackage.json").read_text())
    assert told["title"] == "People and illness"
    assert told["release"]["imprint"] == {"publisher": "City of Ulm"}


@pytest.mark.slow
def test_a_release_that_is_older_than_its_policy_or_its_table_says_so(browser: Browser) -> None:
    folder = browser.window.project.folder
    browser.post(
        "/publish",
        {"looked": "yes", **browser.fields_of(browser.until("/publish", "600 rows"), "/publish"), "out": "release"},
    )
    page = browser.until("/publish", "claims proven")
    assert "saved after it was written" not in page
    later = (folder / "release").stat().st_mtime + 10
    os.utime(browser.window.file.path, (later, later))
    assert "release.toml was saved after it was written" in browser.get("/publish").get_data(as_text=True)
    (table,) = folder.glob("*.csv")
    os.utime(table, (later, later))
    assert f"release.toml, {table.name} were saved after it was written" in browser.get("/publish").get_data(
        as_text=True
    )


@pytest.mark.slow
def test_a_column_that_becomes_sensitive_is_published_with_the_demand_that_is_proposed(browser: Browser) -> None:
    browser.window.file.path.write_text(CONFIG.replace('diversity = "entropy:2"', "").replace("sensitive", "ignored"))
    fields = browser.fields_of(browser.until("/table", "role:disease"), "/table/roles")
    browser.post("/table/roles", {**fields, "role:disease": "sensitive"})
    browser.post("/search", {})
    refused = browser.until("/search", "no diversity is demanded")
    assert re.search(r'name="remedy" value="diversity".*?name="demand" value="recursive:3,', refused, re.DOTALL)
    assert "Nothing is demanded of disease, so it cannot be published" in browser.until("/publish", "600 rows")
    page = browser.until("/policy", "kind:disease")
    assert "Nothing is demanded of disease yet" in page
    browser.post("/policy", browser.fields_of(page, "/policy"))
    assert str(browser.window.config().policy.diversity).startswith("recursive:3,")
    assert "Nothing is demanded" not in browser.get("/policy").get_data(as_text=True)
    browser.post("/search", {})
    browser.until("/search", "Smallest sensitive count")
    assert "The smallest count with a sensitive value is" in browser.until("/publish", "in what was found")


def test_none_is_a_demand_that_somebody_makes_on_purpose(browser: Browser) -> None:
    fields = browser.fields_of(browser.until("/policy", "kind:disease"), "/policy")
    browser.post("/policy", {**fields, "kind:disease": "none"})
    assert browser.window.config().policy.diversity == "none"
    assert "Nothing is demanded, on purpose, of how varied disease is" in browser.until("/publish", "600 rows")
    fields = browser.fields_of(browser.until("/policy", "kind:disease"), "/policy")
    assert "Nothing changed." in browser.post("/policy", fields).get_data(as_text=True)


def test_a_remedy_demands_the_diversity_that_a_refusal_proposes(browser: Browser) -> None:
    browser.window.file.path.write_text(CONFIG.replace('diversity = "entropy:2"', ""))
    browser.post("/search/remedy", {"remedy": "diversity", "attribute": "", "demand": "recursive:3,2"})
    assert browser.window.config().policy.diversity == "recursive:3,2"


def protection(page: str) -> str:
    """What stands at the top of a page about who is protected."""
    found = re.search(r'<div class="protection"[^>]*>(.*?)</div>', page, re.DOTALL)
    assert found is not None
    return " ".join(re.sub(r"<[^>]*>", " ", found[1]).split())


def step_states(page: str) -> dict[str, str]:
    """The state of each step that a page says."""
    links = re.findall(r'<a href="[^"]*/(\w+)"(?: aria-current="page")? class="(\w+)" title="[^"]*">', page)
    return dict(links)


@pytest.mark.parametrize("path", ["/table", "/levels", "/policy", "/search", "/publish", "/explore"])
def test_each_page_says_who_is_protected_and_offers_a_demand_where_none_is(browser: Browser, path: str) -> None:
    said = protection(browser.get(path).get_data(as_text=True))
    assert said == (
        "Each published group, sensitive columns aside, has at least 5 people. "
        "Uncertain for readers of all tables: disease. How uncertain For a reader who combines all tables by maximum "
        "entropy, given any published values of a person: disease: the sensitive value is at least as uncertain as 2 "
        "equally likely ones (entropy:2)."
    )
    browser.window.file.path.write_text(CONFIG.replace('diversity = "entropy:2"', ""))
    page = browser.get(path).get_data(as_text=True)
    assert "Nothing is demanded of disease, which is sensitive: it cannot be published." in protection(page)
    fields = browser.fields_of(page, "/policy/demand")
    answer = browser.post("/policy/demand", fields)
    assert answer.request.path.endswith(path)
    assert str(browser.window.config().policy.diversity).startswith("recursive:3,")
    assert "problem" not in protection(answer.get_data(as_text=True))


def test_a_demand_can_be_made_of_what_is_exposed_on_purpose_but_of_no_other_column(browser: Browser) -> None:
    browser.window.file.path.write_text(CONFIG.replace("entropy:2", "none"))
    page = browser.get("/publish").get_data(as_text=True)
    assert "nothing is demanded of it, on purpose: readers may learn whose value it is" in protection(page)
    fields = browser.fields_of(page, "/policy/demand")
    assert "no sensitive column" in browser.post("/policy/demand", {**fields, "attribute": "town"}).get_data(
        as_text=True
    )
    browser.post("/policy/demand", {**fields, "back": "//elsewhere.example"})
    assert str(browser.window.config().policy.diversity).startswith("recursive:3,")


@pytest.mark.slow
def test_each_step_says_whether_it_is_done_or_must_be_done_again(browser: Browser) -> None:
    path = browser.window.file.path
    page = browser.get("/table").get_data(as_text=True)
    assert step_states(page) == {
        "table": "done", "levels": "done", "policy": "done", "search": "open", "publish": "open", "explore": "open"
    }  # fmt: skip
    assert re.findall(r'<nav class="on".*?</nav>', page, re.DOTALL)[0].count("<a ") == 1
    assert "Next: Levels" in page
    browser.post("/search", {})
    browser.until("/search", "Smallest sensitive count")
    fields = browser.fields_of(browser.until("/publish", "600 rows"), "/publish")
    assert "tick" in problem(browser.post("/publish", fields).get_data(as_text=True))
    browser.post("/publish", {**fields, "looked": "yes"})
    page = browser.until("/publish", "The release is written")
    assert {step_states(page)[step] for step in ("search", "publish", "explore")} == {"done"}
    assert "Back: Search" in page
    text = path.read_text().replace("k_link = 5", "k_link = 6")
    path.write_text(text)
    os.utime(path, (path.stat().st_atime, path.stat().st_mtime + 5))
    states = step_states(browser.get("/policy").get_data(as_text=True))
    assert (states["search"], states["publish"]) == ("stale", "stale")
    path.write_text(text.replace('diversity = "entropy:2"', ""))
    assert step_states(browser.get("/policy").get_data(as_text=True))["policy"] == "open"


def test_a_preset_is_written_with_what_fits_together_and_back(browser: Browser) -> None:
    path = browser.window.file.path
    page = browser.until("/policy", "joint-proof")
    assert 'name="k_combinatorial"' in page
    before = path.read_text()
    browser.post("/policy/preset", {**browser.fields_of(page, "/policy/preset"), "preset": "more-pairs"})
    policy = marginals.read_config(path).policy
    assert (policy.k_combinatorial, policy.further_tables, policy.max_sensitive_margins) == (None, "pairs", 1)
    page = browser.until("/policy", "more-pairs")
    assert 'name="no_small_certain"' in page
    assert 'name="k_combinatorial"' not in page
    browser.post("/policy/preset", {**browser.fields_of(page, "/policy/preset"), "preset": "joint-proof"})
    after, old = marginals.read_config(path).policy, config_of(path, before).policy
    assert (after.k_combinatorial, after.min_cell, after.further_tables) == (old.k_combinatorial, old.min_cell, "none")


def test_closing_the_window_takes_two_steps_and_says_what_is_lost(browser: Browser) -> None:
    page = browser.get("/table").get_data(as_text=True)
    closing = page[page.index("<summary>Close the window</summary>") :]
    assert (
        closing.index("what was typed and not saved is lost") < closing.index("<button") < closing.index("</details>")
    )
    assert page.count('/stop"') == 1


def test_fitted_levels_are_offered_for_no_sensitive_column_but_one_that_has_them(browser: Browser) -> None:
    offered = 'name="ladder"'
    assert offered in browser.get("/levels?attribute=age").get_data(as_text=True)
    page = browser.get("/levels?attribute=disease").get_data(as_text=True)
    assert offered not in page
    assert "the window offers no levels that are fitted" in page
    browser.window.file.path.write_text(CONFIG.replace('role = "sensitive"', 'role = "sensitive"\nladder = "fitted"'))
    assert offered in browser.until("/levels?attribute=disease", offered)


def test_a_release_is_noted_as_replaced_by_another(browser: Browser, small_release: marginals.Release) -> None:
    folder = browser.window.project.folder
    small_release.write(folder / "first")
    assert "Note that it is replaced" not in browser.get("/publish").get_data(as_text=True)
    another_release.write(folder / "second")
    page = browser.get("/publish?release=first").get_data(as_text=True)
    fields = browser.fields_of(page, "/publish/replace")
    assert fields["by"] == ["second"]
    page = browser.post("/publish/replace", fields).get_data(as_text=True)
    assert "It is replaced since" in page
    assert (folder / "first-replaced.json").is_file()
    refused = browser.post("/publish/replace", {"release": "second", "by": "first"}).get_data(as_text=True)
    assert "is itself noted as replaced by" in refused
