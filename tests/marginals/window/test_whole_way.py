"""From a table to its signed release by forms alone, without script: the bundle is that of the command line."""

import http.client
import signal
import subprocess
import sys
from pathlib import Path

import pytest

import marginals
from forked import COMMAND
from project import environment
from small_release import contents, marginals_command, write_config, write_long_search
from window_clients import browsing, gate_of


@pytest.fixture
def table(tmp_path: Path) -> Path:
    write_config(tmp_path).unlink()
    return tmp_path / "people.csv"


def test_from_a_table_to_its_release_and_nothing_of_a_person_in_pages_or_log(
    table: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    """Forms are sent as they stand, but for one role and one number. A name is nowhere printed."""
    folder = table.parent
    people = table.read_text().splitlines()
    names = [f"Person Number {i}" for i in range(len(people) - 1)]
    lines = [f"{line},{name}" for line, name in zip(people, ["name", *names])]
    table.write_text("\n".join(lines) + "\n")
    monkeypatch.chdir(folder)
    with browsing(table) as browser:
        assert "Look at the table" in browser.page("/")
        browser.post("/table/begin")
        browser.until("/table", "rows count")
        assert browser.window.config().source.attributes["name"].role.value == "identifier"
        browser.change("/table", "/table/roles")
        browser.change("/policy", "/policy", {"k_link": "6"})
        assert "The release is written to the folder release" in browser.publish()
        browser.post("/publish/verify", {"release": "release"})
        verified = browser.until("/publish", "Verified from its files alone: ")
        assert "holds" in verified
        for page in (
            "/levels?attribute=age",
            "/levels?attribute=town",
            "/explore",
            "/table/text",
            "/publish/release/report",
        ):
            assert browser.get(page).status_code == 200
        shown = "\n".join(browser.pages)
    out, err = capfd.readouterr()
    marginals_command("publish", folder / "release.toml", "--out", folder / "again", "--sign", "minisign.key", status=0)
    assert contents(folder / "release") == contents(folder / "again")
    assert marginals.open_release(folder / "release").verify().ok
    for text in (shown, out, err):
        assert "Person Number" not in text
        assert browser.window.gate.token not in text
    assert err == ""


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGKILL])
def test_a_window_that_is_ended_in_the_middle_of_a_search_leaves_nothing_half_written(
    table: Path, number: signal.Signals
) -> None:
    folder = table.parent
    config = write_config(folder)
    write_long_search(config)  # it does not end itself meanwhile
    before = config.read_bytes()
    command = [sys.executable, "-u", "-c", COMMAND, "open", str(table)]
    server = subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=environment() | {"BROWSER": "true"}
    )
    assert server.stdout is not None
    gate = gate_of(server.stdout.readline())
    asked = http.client.HTTPConnection(gate.host)
    headers = {"Cookie": f"{gate.cookie}={gate.token}", "Content-Type": "application/x-www-form-urlencoded"}
    asked.request("POST", f"{gate.root}/search", f"form={gate.form_token}", headers)
    assert asked.getresponse().status == 303
    asked.close()
    server.send_signal(number)
    _, err = server.communicate(timeout=30)
    assert server.returncode == {signal.SIGINT: 0, signal.SIGTERM: 0, signal.SIGKILL: -9}[number]
    assert config.read_bytes() == before
    assert err == ""
    with browsing(config) as browser:  # the lock is free again, and what the search left is removed
        assert browser.get("/table").status_code == 200
        assert browser.window.candidates.latest is None
    assert {path.name for path in folder.iterdir()} == {"people.csv", "release.toml", ".marginals-window"}
    assert {path.name for path in (folder / ".marginals-window").iterdir()} <= {"lock", "open.html"}
