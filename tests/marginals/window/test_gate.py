"""Who is let in: no request without the token, from elsewhere, or to elsewhere."""

from collections.abc import Iterator
from pathlib import Path

import pytest

pytest.importorskip("werkzeug", reason="werkzeug is not installed")
pytest.importorskip("tomlkit", reason="tomlkit is not installed")

from werkzeug.test import Client

from marginals.errors import InputError
from marginals.window.application import ROUTES, Application
from marginals.window.gate import POLICY, Gate
from marginals.window.project import Project
from marginals.window.window import Window
from small_release import write_config
from window_clients import BASE, PLACE, PORT, Browser, browsing

PAGES = sorted({path for method, path, _ in ROUTES if method == "GET" and "<" not in path})
FORMS = sorted({path.replace("<int:number>", "1") for method, path, _ in ROUTES if method == "POST"})


@pytest.fixture(scope="module")
def browser(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Browser]:
    with browsing(write_config(tmp_path_factory.mktemp("gate"))) as opened:
        yield opened


@pytest.mark.parametrize("path", ["/", "/style.css", "/jobs/1/events", *PAGES])
def test_no_page_without_the_token(browser: Browser, path: str) -> None:
    stranger = Client(Application(browser.window))
    for query in ({}, {"token": "x"}, {"token": browser.window.gate.form_token}):
        assert stranger.get(path, base_url=BASE, query_string=query).status_code == 403
    assert "people" not in stranger.get(path, base_url=BASE).get_data(as_text=True)


@pytest.mark.parametrize("place", ["", "/", "/x", f"/{PLACE}x", f"/{PLACE.upper()}", f"/x/{PLACE}"])
def test_no_page_outside_of_the_place_even_with_the_cookie(browser: Browser, place: str) -> None:
    """And what is answered there does not tell the place."""
    client = Client(Application(browser.window))
    gate = browser.window.gate
    client.set_cookie(gate.cookie, gate.token, domain="127.0.0.1", path="/")
    for path in ("/", "/table", "/style.css"):
        answer = client.get(path, base_url=f"http://127.0.0.1:{PORT}{place}", query_string={"token": gate.token})
        assert answer.status_code == 403
        assert PLACE not in answer.get_data(as_text=True) + str(answer.headers)


def test_the_cookie_is_sent_to_no_other_place_of_this_machine(browser: Browser) -> None:
    """Cookies are sent to all ports of 127.0.0.1; another server there cannot know where to have it asked for."""
    gate = Gate(PORT)
    entering = Client(Application(Window(browser.window.project, gate))).get(
        "/", base_url=f"http://127.0.0.1:{PORT}{gate.root}", query_string={"token": gate.token}
    )
    assert f"Path={gate.root}/;" in entering.headers["Set-Cookie"] + ";"
    assert len(gate.place) >= 22  # 128 bits
    assert gate.place not in repr(gate)
    assert Gate(PORT).place != gate.place


@pytest.mark.parametrize("host", ["evil.example", f"evil.example:{PORT}", "127.0.0.1", f"127.0.0.1:{PORT + 1}", ""])
def test_a_foreign_host_is_refused(browser: Browser, host: str) -> None:
    """Another name for this machine, by which a page from elsewhere could ask (DNS rebinding)."""
    answer = browser.client.get("/table", base_url=BASE, headers={"Host": host})
    assert answer.status_code == 403


@pytest.mark.parametrize("origin", ["http://evil.example", "null", f"https://127.0.0.1:{PORT}", "http://127.0.0.1:1"])
def test_a_foreign_origin_is_refused(browser: Browser, origin: str) -> None:
    before = browser.window.file.text
    fields = {"form": browser.window.gate.form_token, "version": browser.window.file.version, "k_link": "2"}
    assert browser.client.post("/policy", base_url=BASE, headers={"Origin": origin}, data=fields).status_code == 403
    assert browser.client.get("/table", base_url=BASE, headers={"Origin": origin}).status_code == 403
    assert browser.window.file.text == before


@pytest.mark.parametrize("site", ["cross-site", "same-site"])
def test_a_request_that_another_page_made_is_refused(browser: Browser, site: str) -> None:
    assert browser.client.get("/table", base_url=BASE, headers={"Sec-Fetch-Site": site}).status_code == 403


@pytest.mark.parametrize("path", ["/stop", "/jobs/1/stop", *FORMS])
def test_a_form_without_its_token_changes_nothing(browser: Browser, path: str) -> None:
    before = sorted(browser.window.project.folder.rglob("*")), browser.window.file.text
    for fields in ({}, {"form": "x"}, {"form": browser.window.gate.token}):
        assert browser.client.post(path, base_url=BASE, data=fields).status_code == 403
    assert browser.client.get(path, base_url=BASE, query_string={"form": "x"}).status_code in (
        200,
        302,
        303,
        400,
        404,
        405,
    )
    json = browser.client.post(path, base_url=BASE, json={"form": browser.window.gate.form_token})
    assert json.status_code == 403
    assert (sorted(browser.window.project.folder.rglob("*")), browser.window.file.text) == before
    assert not browser.window.stopping.is_set()


@pytest.mark.parametrize(
    "path",
    [
        "/../etc/passwd",
        "/publish/../../etc/passwd",
        "/publish/%2e%2e/report",
        "/publish/..%2f..%2fetc/report",
        "/publish/%252e%252e/report",
        "/publish/..\\x/report",
        "//etc/passwd",
        "/explore/%00",
    ],
)
def test_a_path_that_leads_out_is_refused(browser: Browser, path: str) -> None:
    answer = browser.client.get(path, base_url=BASE, environ_overrides={"RAW_URI": path, "REQUEST_URI": path})
    assert answer.status_code in (400, 403, 404)
    assert "root:" not in answer.get_data(as_text=True)


@pytest.mark.parametrize("name", ["../x", "/tmp/x", "a/../../x", "..", "", "a\0b", "x/y", ".hidden", "--force", "."])
def test_a_release_is_written_to_a_folder_of_the_project_only(browser: Browser, name: str) -> None:
    started = len(browser.window.jobs.running())
    for fields in ({"out": name or "../"}, {"out": "release", "ledger": name or "../"}):
        answer = browser.post("/publish", fields)
        assert "said problem" in answer.get_data(as_text=True)
    assert len(browser.window.jobs.running()) == started == 0


@pytest.mark.parametrize("method", ["put", "delete", "patch", "options"])
def test_other_methods_are_refused(browser: Browser, method: str) -> None:
    assert getattr(browser.client, method)("/table", base_url=BASE).status_code in (403, 405)


def test_pages_load_nothing_from_elsewhere_and_stay_in_no_cache(browser: Browser) -> None:
    for path in PAGES:
        answer = browser.client.get(path, base_url=BASE)
        headers, text = answer.headers, answer.get_data(as_text=True)
        assert headers["Content-Security-Policy"] == POLICY
        assert headers["Cache-Control"] == "no-store"
        assert headers["X-Frame-Options"] == "DENY"
        assert "http://" not in text.replace("http://www.w3.org", "")
        assert "https://" not in text
        assert " style=" not in text
        assert " onclick" not in text
    assert "script-src 'self'" in POLICY
    assert "unsafe" not in POLICY


def test_the_cookie_is_for_this_window_alone(browser: Browser) -> None:
    entering = Client(Application(browser.window)).get(
        "/", base_url=BASE, query_string={"token": browser.window.gate.token}
    )
    cookie = entering.headers["Set-Cookie"]
    assert "HttpOnly" in cookie
    assert "SameSite=Strict" in cookie
    assert browser.window.gate.token not in repr(browser.window.gate)
    assert browser.window.gate.form_token != browser.window.gate.token


def test_a_form_that_is_too_large_is_refused(browser: Browser) -> None:
    assert browser.post("/table/text", {"text": "#" * 5_000_000}).status_code in (403, 413)


def test_a_second_window_on_a_project_is_refused_in_a_sentence(browser: Browser) -> None:
    project = Project.at(browser.window.file.path)
    with (
        pytest.raises(InputError, match="another window is open on"),
        project.held(),
    ):
        raise AssertionError


@pytest.mark.parametrize(
    "line",
    [
        'data.path = "/etc/passwd"',
        'data.path = "../people.csv"',
        'data.path = "/**"',
        'attributes.missing.hierarchy = "../x.csv"',
        'attributes.values = { role = "sensitive", hierarchy = "/etc/passwd" }',
        'privacy.rules = ["cms-11", "/etc/x.toml"]',
        'base.table = "../base.csv"',
        'data.ladders = "../release"',
        'risk.x.y = "link/people.csv"',
    ],
)
def test_a_config_that_names_files_outside_of_the_folder_is_refused(tmp_path: Path, line: str) -> None:
    (tmp_path / "outside").mkdir()
    folder = tmp_path / "project"
    folder.mkdir()
    (folder / "link").symlink_to(tmp_path / "outside")
    project = Project.at(write_config(folder))
    with pytest.raises(InputError, match="names a file outside of project"):
        project.require_inside(line)


def test_words_of_a_config_are_no_files(tmp_path: Path) -> None:
    words = 'release.title = "/etc/passwd"\ndata.missing = ["/", ".."]\nattributes.sex.values = { "/" = "../x" }'
    Project.at(write_config(tmp_path)).require_inside(words)


def test_the_windows_own_folder_is_no_link(tmp_path: Path) -> None:
    (tmp_path / "outside").mkdir()
    (tmp_path / "project").mkdir()
    project = Project.at(write_config(tmp_path / "project"))
    (project.folder / ".marginals-window").symlink_to(tmp_path / "outside")
    with pytest.raises(InputError, match="leads out of the project's folder"), project.held():
        raise AssertionError
    assert list((tmp_path / "outside").iterdir()) == []


def test_a_link_that_leads_out_is_not_followed(tmp_path: Path) -> None:
    (tmp_path / "outside").mkdir()
    (tmp_path / "project").mkdir()
    (tmp_path / "project" / "link").symlink_to(tmp_path / "outside")
    project = Project.at(write_config(tmp_path / "project"))
    with pytest.raises(InputError, match="leads out of the project's folder"):
        project.inside("link/x.csv")
