"""Searching, publishing and exploring in the window: each is a command, which the page names, and its result is a card."""

import html
import json
import os
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

import marginals
from small_release import CONFIG, contents, marginals_command, write_config
from window_clients import PLACE, Browser, browsing, problem_of, run_here

PUBLISHED = "The release is written to the folder"


@pytest.fixture
def browser(tmp_path: Path) -> Iterator[Browser]:
    with browsing(write_config(tmp_path)) as opened:
        opened.window.counting.table(20)
        yield opened


def test_a_release_alone_is_explored_where_nothing_can_be_written(
    tmp_path: Path, small_release: marginals.Release
) -> None:
    place = tmp_path / "bundle" / "people-release"
    release = small_release.write(place)
    before = sorted(tmp_path.rglob("*"))
    with browsing(place) as browser, browsing(place):
        page = browser.page("/")
        assert "Explore" in page
        assert "/policy" not in page
        assert browser.get("/policy").status_code == 400
        levels = {"age": 0, "sex": 0, "disease": 0}
        query = {"release": "people-release", **{f"level:{name}": level for name, level in levels.items()}}
        page = browser.page("/explore", query_string=query)
        assert "release.table({&#39;age&#39;: 0, &#39;sex&#39;: 0, &#39;disease&#39;: 0}, bounds=True)" in page
        lines = browser.page("/explore/table.csv", query_string=query).splitlines()
        assert lines[0] == "age,sex,disease,age_number,value,lower,upper,kind"
        assert len(lines) == len(release.table(levels, bounds=True)) + 1
        levels = dict.fromkeys(("age", "sex", "town", "disease"), 0)
        page = browser.page("/explore", query_string={f"level:{name}": "0" for name in levels})
        counts = release.table(levels, bounds=True)
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


def test_rows_with_every_published_count_are_made_once_and_are_those_of_the_command(
    tmp_path: Path, small_release: marginals.Release, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A release that takes its place has rows of its own; without any in time the page says so, and of another seed."""
    place = small_release.write(tmp_path / "my release").path
    marginals_command("sample", place, "-n", "exact", "-o", tmp_path / "rows.csv", status=0)
    with browsing(place) as browser:
        asked = {"release": "my release"}
        assert "many look like real ones, which is coincidence" in browser.page("/explore")
        for _ in range(2):
            answer = browser.post("/explore/rows", asked)
            assert answer.data == (tmp_path / "rows.csv").read_bytes()
            assert answer.headers["Content-Disposition"] == 'attachment; filename="rows.csv"'
        scratch = Path(browser.window.scratch.name)
        assert scratch.stat().st_mode & 0o077 == 0
        assert "marginals sample &#39;my release&#39; -n exact -o rows.csv" in browser.page("/explore")
        assert [job.kind for job in browser.window.jobs._jobs] == [file.name for file in scratch.glob("*[0-9].csv")]
        description = place / "datapackage.json"
        os.utime(description, (description.stat().st_atime, description.stat().st_mtime + 5))
        run_here(monkeypatch)
        monkeypatch.setattr("marginals.estimates.possible_table", lambda *_: None)
        page = browser.send("/explore/rows", asked)
        assert "no rows with every published count were found in time" in problem_of(page)
        assert "-o rows.csv --seed 1" in page
    assert not scratch.exists()
    assert {path.name for path in tmp_path.iterdir()} == {"my release", "rows.csv", "rows.csv.pairs.csv"}


def test_the_last_search_that_found_something_is_kept(browser: Browser) -> None:
    """Whatever a later search does not find, and whatever stands in the config meanwhile; of earlier ones nothing stays."""
    private = browser.window.project.private
    assert browser.get("/search/report").status_code == 400
    (private / "candidate-7").mkdir(parents=True)  # of a search that was cut off
    browser.search(k_link=60)
    browser.search(k_link=5)
    found = browser.window.candidates.latest
    assert found is not None
    tables = marginals.open_release(found.folder / "release").published.everything.margins
    assert f"Found: {len(tables)} tables" in browser.page("/search")
    assert json.loads((found.folder / "found.json").read_text())["config"] == browser.window.file.text
    assert "sandbox" in browser.get("/search/report").headers["Content-Security-Policy"]
    failed = browser.search(k_link=5000)
    assert failed.state == "failed"
    page = browser.page("/search")
    assert "Found" not in page
    assert failed.sentence in html.unescape(page)
    assert browser.window.candidates.current() is None
    browser.change("/policy", "/policy", {"k_link": "5"})
    assert browser.window.candidates.current() == found
    assert f"Found: {len(tables)} tables" in browser.page("/search")
    assert [p.name for p in private.glob("candidate-*")] == [found.folder.name]
    assert [p.name for p in browser.window.project.folder.glob(".*")] == [".marginals-window"]


def test_what_was_looked_at_is_published_and_nothing_else(browser: Browser) -> None:
    """To the byte as by the command, with the words that were typed; what nobody looked at, or is damaged, is refused."""
    folder, config = browser.window.project.folder, browser.window.file.path
    words = {"title": "A <b> & 'c'", "publisher": "City of Ulm"}
    page = browser.publish(out="first", **words)
    assert f"{PUBLISHED} first" in page
    assert browser.window.config().imprint.title == words["title"]
    assert len(list(browser.window.project.private.glob("candidate-*"))) == 1
    assert "this is what Publish writes" in page
    assert "marginals publish release.toml --out first" in page
    ran = marginals_command("publish", config, "--out", folder / "again", "--sign", folder / "minisign.key", "--json")
    assert contents(folder / "first") == contents(folder / "again")
    assert (folder / "first-steward.html").read_bytes() == (folder / "again-steward.html").read_bytes()
    tables, claims = json.loads(ran.stdout)["margins"], json.loads(ran.stdout)["checks"]
    assert (
        f"as you looked at it: {len(tables)} tables. All {len(claims)} promises hold; anybody can check them." in page
    )
    assert (folder / "first-steward.html").stat().st_mode & 0o077 == 0

    other = folder / "other"
    other.mkdir()
    (other / "note.txt").write_text("mine")
    looked = browser.fields_of(browser.page("/publish"), "/publish") | {"looked": "yes"}
    assert "other" in problem_of(browser.send("/publish", {**looked, "out": "other"}))
    assert (other / "note.txt").read_text() == "mine"
    found = browser.window.candidates.current()
    assert found is not None
    for file, change, name in (
        (folder / "people.csv", b"\n30,f,Aix,flu", "people.csv"),
        (config, b"\n[population]\nsampling_fraction = 0.5", "population.sampling_fraction"),
    ):
        before = file.read_bytes()
        file.write_bytes(before.rstrip() + change + b"\n")
        problem = problem_of(browser.send("/publish", {**looked, "out": "third"}))
        assert "Nothing was searched" in problem
        assert f"Changed since the last search: {name}." in problem
        file.write_bytes(before)
        assert browser.window.candidates.current() is not None
    assert "what you looked at" in problem_of(browser.send("/publish", {"looked": "yes", "out": "third"}))
    browser.change("/policy", "/policy", {"k_link": "60"})
    assert "Changed since the last search: privacy.k_link." in problem_of(
        browser.send("/publish", {**looked, "out": "third"})
    )
    browser.search()
    assert "what you looked at" in problem_of(browser.send("/publish", {**looked, "out": "third"}))
    found = browser.window.candidates.current()
    assert found is not None
    looked = browser.fields_of(browser.page("/publish"), "/publish") | {"looked": "yes"}
    counts = next((found.folder / "release" / "marginals").iterdir())
    counts.write_bytes(counts.read_bytes() + b"\n")
    assert counts.name in problem_of(browser.send("/publish", {**looked, "out": "third"}))
    assert not (folder / "third").exists()


def test_questions_are_in_a_table_or_in_none_while_the_search_runs(browser: Browser) -> None:
    asked = [("age", "disease"), ("sex", "town"), ("age", "town")]
    browser.post("/policy/wanted", {"first": [one for one, _ in asked], "second": [other for _, other in asked]})
    job = browser.search(k_link=60)
    candidate = browser.window.candidates.current()
    assert candidate is not None
    margins = marginals.open_release(candidate.folder / "release").published.collection.margins
    answered = [any({*pair} <= margin.keys() for margin in margins) for pair in asked]
    assert len(set(answered)) == 2
    said = re.findall(r'class="(\w+)">[●◐○] (?:won|lost)', browser.page("/search"))
    assert [kind in ("published", "supported") for kind in said] == answered
    job.done.clear()  # as if it still ran
    so_far = re.findall(r'id="asked-\d" data-live class="(\w*)"', browser.page("/search"))
    assert so_far[:3] == ["ahead" if is_answered else "behind" for is_answered in answered]
    job.done.set()


def test_the_key_is_made_with_the_release_that_it_signs(browser: Browser) -> None:
    """Unticked nothing is made; a public key without its secret one is neither replaced nor signed with."""
    folder = browser.window.project.folder
    browser.publish(sign="", out="plain")
    assert not [*folder.glob("minisign.*"), *folder.glob("plain/*.minisig")]
    assert "keep it to yourself" in browser.publish(sign="yes", out="signed")
    assert marginals.verify(folder / "signed", key=str(folder / "minisign.pub")).ok
    (folder / "minisign.key").unlink()
    assert 'name="sign" value="yes" disabled' in browser.page("/publish")
    assert "minisign.pub is here without minisign.key" in problem_of(browser.publish(sign="yes", out="other"))
    assert not (folder / "other").exists()


def test_what_stood_in_the_way_is_named_with_the_page_where_it_can_be_moved(browser: Browser) -> None:
    """A policy that no table satisfies; one under which single attributes are too fine; one that demands no diversity."""
    browser.search(k_link=5000)
    assert "demands 5,000 rows" in browser.page("/search")
    browser.search(k_link=400)
    page = browser.page("/search")
    assert "Nothing is published of age" in page
    assert f'<a href="/{PLACE}/levels?attribute=age">Levels of age</a>' in page
    browser.window.file.path.write_text(CONFIG.replace('diversity = "entropy:2"', ""))
    browser.search()
    assert f'<a href="/{PLACE}/policy">Choose a policy</a>.</li>' in browser.page("/search")


def test_a_release_with_a_name_with_a_space_and_one_of_a_ledger(browser: Browser) -> None:
    """Beside a ledger other tables are published than were looked at, so that is for the command."""
    assert PUBLISHED in browser.publish(out="my release")
    folder = browser.window.project.folder
    marginals_command(
        "publish", browser.window.file.path, "--out", folder / "noted", "--ledger", folder / "ledger", status=0
    )
    assert "a ledger (ledger)" in problem_of(browser.change("/publish", "/publish", {"looked": "yes"}))
    browser.post("/publish/attack", {"release": "my release"})
    page = browser.until("/publish", "<h2>What readers can conclude</h2>")
    assert "not examined" in page
    for address, status in (
        ("/publish/my%20release/report", 200),
        ("/publish/my%20release/steward", 200),
        ("/publish/my%20release/other", 400),
        ("/publish/other/report", 400),
        ("/explore?release=my+release", 200),
    ):
        assert browser.get(address).status_code == status


def test_a_search_is_stopped_and_leaves_nothing(browser: Browser) -> None:
    browser.post("/search", {})
    browser.post("/jobs/1/stop", {"back": "/search"})
    assert browser.finish("search").state == "done" or browser.window.candidates.latest is None
    assert not list(browser.window.project.folder.glob(".release.candidate-*"))


@pytest.fixture
def running_programs(monkeypatch: pytest.MonkeyPatch) -> None:
    """Have commands of the window run the program that is their first argument."""
    monkeypatch.setattr("marginals.window.jobs.WORKER", "import json, sys; exec(json.loads(sys.stdin.readline())[0])")


@pytest.mark.usefixtures("running_programs")
def test_a_job_ends_with_its_answer_or_its_reason(browser: Browser) -> None:
    jobs, folder = browser.window.jobs, str(browser.window.project.folder)
    for program, state, answer, said in (
        ("import json, os; print(json.dumps({'at': os.getcwd(), 'ä': 'ö'}))", "done", {"at": folder, "ä": "ö"}, ""),
        ("import sys; print('why', file=sys.stderr); sys.exit(3)", "failed", {}, "why"),
        ("1 / 0", "failed", {}, "ZeroDivisionError: division by zero"),
        ("import os, signal; os.kill(os.getpid(), signal.SIGKILL)", "stopped", {}, "it ended with status -9"),
        ("print('no JSON')", "done", {}, ""),
    ):
        job = jobs.command("other", [program])
        assert job.done.wait(60)
        assert (job.state, job.answer, job.sentence) == (state, answer, said)


@pytest.mark.usefixtures("running_programs")
def test_a_stop_ends_all_processes_of_a_job(browser: Browser) -> None:
    """Its streams end when the last of them does. Another job has its answer meanwhile, and one after it."""
    jobs = browser.window.jobs
    long = jobs.command("long", ["import os, time; os.fork(); time.sleep(600)"])
    for _ in range(2):
        short = jobs.command("short", ["import json, os; print(json.dumps({'own': os.getpgrp() == os.getpid()}))"])
        assert short.done.wait(60)
        assert short.answer == {"own": True}
    long.stop()
    assert long.done.wait(20)
    assert long.state == "stopped"


def test_a_command_imports_nothing_from_the_folder_of_the_project(browser: Browser) -> None:
    (browser.window.project.folder / "pandas.py").write_text("raise SystemExit(9)")
    job = browser.window.jobs.command("other", ["query", "--help"])
    assert job.done.wait(60)
    assert job.state == "done"


def test_a_title_is_that_of_the_release_which_says_if_its_policy_or_table_is_younger(browser: Browser) -> None:
    folder = browser.window.project.folder
    page = browser.publish(title="People", publisher="City of Ulm")
    assert "promises hold" in page
    assert "is replaced: release" in page
    told = json.loads((folder / "release" / "datapackage.json").read_text())
    assert (told["title"], told["release"]["imprint"]) == ("People", {"publisher": "City of Ulm"})
    names = []
    os.utime(browser.window.file.path, ((folder / "release").stat().st_mtime,) * 2)
    assert "saved after it was written" not in browser.page("/publish")
    for file in (browser.window.file.path, folder / "people.csv"):
        os.utime(file, ((folder / "release").stat().st_mtime + 10,) * 2)
        names.append(file.name)
        assert re.search(rf"{', '.join(names)} (was|were) saved after it was written", browser.page("/publish"))


def step_states(page: str) -> dict[str, str]:
    return dict(re.findall(r'<a href="[^"]*/(\w+)"(?: aria-current="page")? class="(\w+)" title="[^"]*">', page))


def test_each_step_says_whether_it_is_done_or_must_be_done_again(browser: Browser) -> None:
    path = browser.window.file.path
    page = browser.page("/table")
    assert step_states(page) == {"table": "done", "policy": "open", "search": "open", "publish": "open"}
    browser.change("/policy", "/policy")  # nobody chose it before
    assert step_states(browser.page("/table"))["policy"] == "done"
    assert re.findall(r'<nav class="on".*?</nav>', page, re.DOTALL)[0].count("<a ") == 1
    assert "Next: Who may see it" in page
    browser.post("/search", {})
    browser.until("/search", "Found: ")
    assert "tick" in problem_of(browser.change("/publish", "/publish"))
    assert not (path.parent / "release").exists()
    checklist = path.parent / "release-checklist.txt"
    checklist.write_text("mine")
    assert checklist.name in problem_of(browser.change("/publish", "/publish", {"looked": "yes"}))
    assert checklist.read_text() == "mine"
    checklist.unlink()
    page = browser.publish(signer="A. Steward")
    assert checklist.stat().st_mode & 0o077 == 0
    lines = checklist.read_text().splitlines()
    assert {"[x]", "[ ]"} == {line[:3] for line in lines if line.startswith("[")}
    assert [line for line in lines if line.startswith(("Name", "Data"))] == [
        "Name and office: A. Steward",
        "Data protection officer: not named",
    ]
    assert "Roles, confirmed by A. Steward:" in lines
    assert "    disease: sensitive" in lines
    [digest] = [line for line in lines if line.startswith("Digest")]
    assert all(
        b"A. Steward" not in file.read_bytes() for file in (path.parent / "release").rglob("*") if file.is_file()
    )
    assert digest.rpartition(":")[2].encode() not in b"".join(
        file.read_bytes() for file in (path.parent / "release").rglob("*") if file.is_file()
    )
    assert {step_states(page)[step] for step in ("policy", "search", "publish")} == {"done"}
    assert "Back: What it is for" in page
    text = path.read_text().replace("k_link = 5", "k_link = 6")
    path.write_text(text)
    os.utime(path, (path.stat().st_atime, path.stat().st_mtime + 5))
    states = step_states(browser.page("/policy"))
    assert (states["search"], states["publish"]) == ("stale", "stale")
    path.write_text(text.replace('diversity = "entropy:2"', ""))
    assert step_states(browser.page("/policy"))["policy"] == "open"


@pytest.mark.parametrize("umask", [0o022, 0o000], ids="{:03o}".format)
def test_all_but_a_release_is_for_the_owner_alone(tmp_path: Path, umask: int, monkeypatch: pytest.MonkeyPatch) -> None:
    config = write_config(tmp_path)
    for folder in (".marginals-window", "hierarchies"):
        (tmp_path / folder).mkdir()
        (tmp_path / folder).chmod(0o777)
    there = {path for path in tmp_path.rglob("*") if path.name != ".marginals-window"} - {config}
    config.chmod(0o666)
    monkeypatch.chdir(tmp_path)
    before = os.umask(umask)
    try:
        with browsing(config) as browser:
            browser.change("/policy", "/policy", {"k_link": "6"})
            browser.post("/levels/cuts", {"attribute": "age", "cuts": "25, 40"})
            assert PUBLISHED in browser.publish()
    finally:
        os.umask(before)
    assert (tmp_path / "hierarchies" / "age.csv").is_file()
    public = {tmp_path / "minisign.pub", tmp_path / "release", *(tmp_path / "release").rglob("*")}
    for path in {*tmp_path.rglob("*")} - there:
        kind = 0o777 if path.is_dir() else 0o666
        wanted = kind & ~umask if path in public else kind & 0o700
        assert oct(path.stat().st_mode & 0o777) == oct(wanted), path
