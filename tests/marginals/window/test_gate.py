"""Who is let in: no request without the token, from elsewhere, or to elsewhere."""

import contextlib
import hmac
import os
import re
import socket
import urllib.error
import urllib.request
import webbrowser
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from werkzeug.test import Client, create_environ, run_wsgi_app

from marginals import InputError, Release
from small_release import write_config
from window_clients import (
    BASE,
    FORMS,
    PAGES,
    PLACE,
    PORT,
    Browser,
    browsing,
    client_of_another_gate,
    problem_of,
    served,
    serving,
)  # fmt: skip


@pytest.fixture(scope="module")
def browser(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Browser]:
    with browsing(write_config(tmp_path_factory.mktemp("gate"))) as opened:
        yield opened


@pytest.mark.parametrize("path", ["/", "/style.css", *PAGES])
def test_no_page_without_the_token(browser: Browser, path: str) -> None:
    stranger = Client(browser.client.application)
    for query in ({}, {"token": "x"}, {"token": browser.window.gate.form_token}):
        assert stranger.get(path, base_url=BASE, query_string=query).status_code == 403
    assert "people" not in stranger.get(path, base_url=BASE).get_data(as_text=True)


@pytest.mark.parametrize("place", ["", "/", "/x", f"/{PLACE}x", f"/{PLACE.upper()}", f"/x/{PLACE}"])
def test_no_page_outside_of_the_place_even_with_the_cookie(browser: Browser, place: str) -> None:
    """And what is answered there does not tell the place."""
    client = Client(browser.client.application)
    gate = browser.window.gate
    client.set_cookie(gate.cookie, gate.token, domain="127.0.0.1", path="/")
    for path in ("/", "/table", "/style.css"):
        answer = client.get(path, base_url=f"http://127.0.0.1:{PORT}{place}", query_string={"token": gate.token})
        assert answer.status_code == 403
        assert PLACE not in answer.get_data(as_text=True) + str(answer.headers)


def test_the_cookie_is_sent_to_no_other_place_of_this_machine(browser: Browser) -> None:
    """Cookies are sent to all ports of 127.0.0.1; another server there cannot know where to have it asked for."""
    client, gate = client_of_another_gate(browser)
    address = f"http://127.0.0.1:{PORT}{gate.root}"
    entering = client.get("/", base_url=address, query_string={"token": gate.token})
    assert f"Path={gate.root}/;" in entering.headers["Set-Cookie"] + ";"
    assert "HttpOnly" in entering.headers["Set-Cookie"]
    assert "SameSite=Strict" in entering.headers["Set-Cookie"]
    assert len(gate.place) >= 22  # 128 bits
    assert len({gate.place, gate.token, gate.form_token, client_of_another_gate(browser)[1].place}) == 4
    assert not any(secret in repr(gate) for secret in (gate.place, gate.token, gate.form_token))


HOSTS = (f"evil.example evil.example:{PORT} localhost:{PORT} 127.0.0.1 127.0.0.1:{PORT + 1} 127.0.0.1.:{PORT} "
         f"127.0.0.1:{PORT}. me@127.0.0.1:{PORT} evil.example@127.0.0.1:{PORT} [::1]:{PORT} 0.0.0.0:{PORT} "
         f"2130706433:{PORT} 127.1:{PORT} 127.0.0.1:{PORT},evil.example 127.0.0.1:0{PORT}").split(" ")  # fmt: skip


@pytest.mark.parametrize("host", [*HOSTS, ""])
def test_a_foreign_host_is_refused(browser: Browser, host: str) -> None:
    """Another name for this machine, by which a page from elsewhere could ask (DNS rebinding)."""
    gate = browser.window.gate

    def status(name: str) -> str:
        """The application alone is asked: the client reads such names itself, which not every version of it can."""
        headers = {"Host": name, "Cookie": f"{gate.cookie}={gate.token}"}
        return run_wsgi_app(browser.client.application, create_environ("/table", BASE, headers=headers))[1][:3]

    assert (status(gate.host), status(host)) == ("200", "403")


@pytest.mark.parametrize(
    ("name", "value"),
    [("Origin", each) for each in ("http://evil.example", "null", f"https://127.0.0.1:{PORT}", "http://127.0.0.1:1")]
    + [("Sec-Fetch-Site", each) for each in ("cross-site", "same-site", "", "x", "same-origin, cross-site")],
)
def test_a_request_that_another_page_made_is_refused(browser: Browser, name: str, value: str) -> None:
    before = browser.window.file.text
    fields = {"form": browser.window.gate.form_token, "version": browser.window.file.version, "k_link": "2"}
    assert browser.client.post("/policy", base_url=BASE, headers={name: value}, data=fields).status_code == 403
    assert browser.client.get("/table", base_url=BASE, headers={name: value}).status_code == 403
    assert browser.window.file.text == before


@pytest.mark.parametrize("path", ["/stop", "/jobs/1/stop", *FORMS])
def test_a_form_without_its_token_changes_nothing(browser: Browser, path: str) -> None:
    before = sorted(browser.window.project.folder.rglob("*")), browser.window.file.text
    for fields in ({}, {"form": "x"}, {"form": browser.window.gate.token}):
        assert browser.client.post(path, base_url=BASE, data=fields).status_code == 403
    browser.client.get(path, base_url=BASE, query_string={"form": "x"})
    json = browser.client.post(path, base_url=BASE, json={"form": browser.window.gate.form_token})
    assert json.status_code == 403
    assert (sorted(browser.window.project.folder.rglob("*")), browser.window.file.text) == before
    assert not browser.window.stopping.is_set()


OUT = ["/../etc/passwd", "/publish/../../etc/passwd", "/publish/%2e%2e/report", "/publish/..%2f..%2fetc/report",
       "/publish/%252e%252e/report", "/publish/..\\x/report", "//etc/passwd", "/explore/%00"]  # fmt: skip


@pytest.mark.parametrize("path", OUT)
def test_a_path_that_leads_out_is_refused(browser: Browser, path: str) -> None:
    answer = browser.client.get(path, base_url=BASE, environ_overrides={"RAW_URI": path, "REQUEST_URI": path})
    assert answer.status_code in (400, 403, 404)
    assert "root:" not in answer.get_data(as_text=True)


@pytest.mark.parametrize("name", ["../x", "/tmp/x", "a/../../x", "..", "", "a\0b", "x/y", ".hidden", "--force", "."])
def test_a_release_is_written_to_a_folder_of_the_project_only(browser: Browser, name: str) -> None:
    assert re.search("[Nn]ame", problem_of(browser.send("/publish", {"out": name or "../"})))


@pytest.mark.parametrize("method", ["put", "delete", "patch", "options"])
def test_other_methods_are_refused(browser: Browser, method: str) -> None:
    assert getattr(browser.client, method)("/table", base_url=BASE).status_code in (403, 405)


def test_pages_load_nothing_from_elsewhere_and_stay_in_no_cache(browser: Browser) -> None:
    for path in PAGES:
        answer = browser.client.get(path, base_url=BASE)
        headers, text = answer.headers, answer.get_data(as_text=True)
        assert {"default-src 'none'", "script-src 'self'"} <= set(headers["Content-Security-Policy"].split("; "))
        assert "unsafe" not in headers["Content-Security-Policy"]
        assert headers["Cache-Control"] == "no-store"
        assert headers["X-Frame-Options"] == "DENY"
        assert "http://" not in text.replace("http://www.w3.org", "")
        assert "https://" not in text
        assert " style=" not in text
        assert " onclick" not in text


def test_a_form_that_is_too_large_is_refused(browser: Browser) -> None:
    assert browser.post("/table/text", {"text": "#" * 5_000_000}).status_code in (403, 413)


def test_a_second_window_on_a_project_is_refused(browser: Browser) -> None:
    with pytest.raises(InputError, match="another window is open on"), browsing(browser.window.file.path):
        raise AssertionError


OUTSIDE = """data.path = "/etc/passwd"
data.path = "../people.csv"
data.path = "/**"
attributes.missing.hierarchy = "../x.csv"
attributes.values = { role = "sensitive", hierarchy = "/etc/passwd" }
privacy.rules = ["cms-11", "/etc/x.toml"]
base.table = "../base.csv"
data.ladders = "../release"
risk.x.y = "link/people.csv\""""


def test_a_config_that_names_files_outside_of_the_folder_is_refused(tmp_path: Path) -> None:
    """Only what is a file is refused, whatever a word looks like."""
    (tmp_path / "outside").mkdir()
    folder = tmp_path / "project"
    folder.mkdir()
    (folder / "link").symlink_to(tmp_path / "outside")
    words = 'release.title = "/etc/passwd"\ndata.missing = ["/", ".."]\nattributes.sex.values = { "/" = "../x" }'
    with browsing(write_config(folder)) as browser:
        before = browser.window.file.text
        for line in OUTSIDE.splitlines():
            assert "names a file outside of project" in problem_of(browser.send("/table/text", {"text": line})), line
        assert "outside" not in browser.send("/table/text", {"text": words})
        assert browser.window.file.text == before


def test_links_that_lead_out_are_not_followed(tmp_path: Path) -> None:
    (tmp_path / "outside").mkdir()
    (tmp_path / "project").mkdir()
    config = write_config(tmp_path / "project")
    (tmp_path / "project" / ".marginals-window").symlink_to(tmp_path / "outside")
    with pytest.raises(InputError, match="leads out"), browsing(config):
        raise AssertionError
    assert list((tmp_path / "outside").iterdir()) == []


def test_a_form_without_an_origin_still_needs_cookie_and_token(browser: Browser) -> None:
    """Old browsers send neither Origin nor Sec-Fetch-Site."""
    fields = {"form": browser.window.gate.form_token, "version": browser.window.file.version}
    stranger = Client(browser.client.application)
    assert stranger.post("/policy", base_url=BASE, data=fields).status_code == 403
    assert browser.client.post("/jobs/1/stop", base_url=BASE, data=fields).status_code == 303


def test_another_cookie_of_our_name_neither_lets_in_nor_locks_out(browser: Browser) -> None:
    """Another server of this machine may set a cookie of any name, for any path."""
    gate, client = browser.window.gate, Client(browser.client.application, use_cookies=False)
    for cookies, status in [
        (f"{gate.cookie}=x; {gate.cookie}={gate.token}", 200),
        (f"{gate.cookie}={gate.token}; {gate.cookie}=x", 200),
        (f"{gate.cookie}=x; {gate.cookie}=", 403),
        (f"{gate.cookie}={gate.token[:-1]}", 403),
        (f"{gate.cookie}={gate.token}x", 403),
        (f"{gate.cookie}={gate.form_token}", 403),
        (f"{gate.cookie}=\udcff", 403),
        (f"x{gate.cookie}={gate.token}", 403),
        (gate.token, 403),
        ("", 403),
    ]:
        answer = client.get("/policy", base_url=BASE, headers={"Cookie": cookies})
        assert answer.status_code == status, cookies


def test_secrets_are_compared_in_constant_time(browser: Browser, monkeypatch: pytest.MonkeyPatch) -> None:
    """The place, the token in the address and in the cookie, and that of forms."""
    compared: list[bytes] = []
    true = hmac.compare_digest
    monkeypatch.setattr(hmac, "compare_digest", lambda one, two: (compared.append(two), true(one, two))[1])
    gate = browser.window.gate
    browser.client.get("/", base_url=BASE, query_string={"token": gate.token})
    browser.client.post("/jobs/1/stop", base_url=BASE, data={"form": gate.form_token})
    assert {text.encode() for text in (gate.root[1:], gate.token, gate.form_token)} <= {
        bytes(text) for text in compared
    }


def test_pages_tell_their_address_to_themselves_alone_and_reports_to_nobody(
    browser: Browser, small_release: Release
) -> None:
    """Told to nobody at all, browsers send forms of the window with `Origin: null`, which is refused."""
    assert browser.client.get("/policy", base_url=BASE).headers["Referrer-Policy"] == "same-origin"
    small_release.write(browser.window.project.folder / "small")
    report = browser.client.get("/publish/small/report", base_url=BASE)
    assert report.headers["Referrer-Policy"] == "no-referrer"
    assert "sandbox" in report.headers["Content-Security-Policy"]


def test_what_is_refused_is_a_bare_sentence(browser: Browser, capsys: pytest.CaptureFixture[str]) -> None:
    """Of the project, the place, or a form's token it says nothing, nor does what is printed repeat the request."""
    for answer in (
        Client(browser.client.application).get("/table", base_url=BASE),
        browser.client.get("/table", base_url=f"http://127.0.0.1:{PORT}/elsewhere"),
        browser.client.open("/table", method="\x1b[2J", base_url=BASE),
        browser.client.post("/policy", base_url=BASE, data={"form": "x" * 5_000_000}),
    ):
        said = answer.get_data(as_text=True) + str(answer.headers)
        assert answer.status_code == 403
        for secret in (PLACE, browser.window.gate.form_token, browser.window.project.folder.name, "Location"):
            assert secret not in said
    assert "\x1b" not in capsys.readouterr().err


@pytest.fixture
def gate(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Any]:
    """Of a window that is really served."""
    with serving(write_config(tmp_path), monkeypatch) as (_, window):
        yield window.gate


def answered(gate: Any, request: bytes) -> bytes:
    """What the server says to these bytes, until it closes the connection."""
    with socket.create_connection(("127.0.0.1", gate.port), timeout=20) as connection:
        said = b""
        with contextlib.suppress(OSError):  # it may be closed before all is sent
            connection.sendall(request)
            connection.shutdown(socket.SHUT_WR)
        with contextlib.suppress(ConnectionResetError):
            while part := connection.recv(65536):
                said += part
    return said


def test_requests_that_no_browser_sends_get_no_page(gate: Any, capfd: pytest.CaptureFixture[str]) -> None:
    """Each holds place and cookie, so that it is refused for its form alone."""
    own, cookie = f"Host: {gate.host}\r\n", f"Cookie: {gate.cookie}={gate.token}\r\n"
    page = f"{gate.root}/policy"
    form = f"form={gate.form_token}"
    typed = "Content-Type: application/x-www-form-urlencoded\r\n"
    assert answered(gate, f"GET {page} HTTP/1.1\r\n{own}{cookie}\r\n".encode()).startswith(b"HTTP/1.1 200")
    assert answered(gate, f"HEAD {page} HTTP/1.1\r\n{own}{cookie}\r\n".encode()).partition(b"\r\n\r\n")[2] == b""
    odd = {
        "absolute form": f"GET http://evil.example{page} HTTP/1.1\r\n{own}{cookie}\r\n",
        "absolute form of our own": f"GET http://{gate.host}{page} HTTP/1.1\r\nHost: evil.example\r\n{cookie}\r\n",
        "another scheme": f"GET file://{page} HTTP/1.1\r\n{own}{cookie}\r\n",
        "no slash": f"GET {page[1:]} HTTP/1.1\r\n{own}{cookie}\r\n",
        "asterisk": f"OPTIONS * HTTP/1.1\r\n{own}{cookie}\r\n",
        "tunnel": f"CONNECT {gate.host} HTTP/1.1\r\n{own}{cookie}\r\n",
        "trace": f"TRACE {page} HTTP/1.1\r\n{own}{cookie}\r\n",
        "an own method": f"BREW {page} HTTP/1.1\r\n{own}{cookie}\r\n",
        "HTTP/0.9": f"GET {page}\r\n",
        "no host": f"GET {page} HTTP/1.1\r\n{cookie}\r\n",
        "two hosts": f"GET {page} HTTP/1.1\r\n{own}Host: evil.example\r\n{cookie}\r\n",
        "folded host": f"GET {page} HTTP/1.1\r\nHost: {gate.host}\r\n evil.example\r\n{cookie}\r\n",
        "slashes within": f"GET {gate.root}//policy HTTP/1.1\r\n{own}{cookie}\r\n",
        "up and down": f"GET {gate.root}/table/../policy HTTP/1.1\r\n{own}{cookie}\r\n",
        "up, escaped": f"GET {gate.root}/table/%2E%2e/policy HTTP/1.1\r\n{own}{cookie}\r\n",
        "escaped twice": f"GET {gate.root}/%2574able HTTP/1.1\r\n{own}{cookie}\r\n",
        "no form": f"POST {page} HTTP/1.1\r\n{own}{cookie}{typed}\r\n",
        "no length": f"POST {page} HTTP/1.1\r\n{own}{cookie}{typed}\r\n{form}",
        "negative length": f"POST {page} HTTP/1.1\r\n{own}{cookie}{typed}Content-Length: -1\r\n\r\n{form}",
        "two lengths": f"POST {page} HTTP/1.1\r\n{own}{cookie}{typed}Content-Length: 9\r\nContent-Length: 0\r\n\r\n{form}",
        "huge length": f"POST {page} HTTP/1.1\r\n{own}{cookie}{typed}Content-Length: 99999999999\r\n\r\n{form}",
        "chunked": f"POST {page} HTTP/1.1\r\n{own}{cookie}{typed}Transfer-Encoding: chunked\r\n\r\n"
        f"{len(form):x}\r\n{form}\r\n0\r\n\r\n",
        "multipart": f"POST {page} HTTP/1.1\r\n{own}{cookie}Content-Type: multipart/form-data; boundary=b\r\n"
        f'Content-Length: 99\r\n\r\n--b\r\nContent-Disposition: form-data; name="form"\r\n\r\n{gate.form_token}\r\n--b--',
        "no version": f"GET {page} HTTX\r\n{own}{cookie}\r\n",
        "noise": "\0\xff\r\n\r\n",
        "many headers": f"GET {page} HTTP/1.1\r\n{own}{cookie}{'X: y' + chr(13) + chr(10)}" * 200 + "\r\n",
        "a long line": f"GET {page}?{'x' * 70_000} HTTP/1.1\r\n{own}{cookie}\r\n",
    }
    for name, request in odd.items():
        said = answered(gate, request.encode("latin-1"))
        assert re.match(rb"HTTP/1\.[01] (400|403|404|411|414|431|501|505) |$|<", said), (name, said[:200])
        for secret in (gate.place, gate.token, gate.form_token, "evil.example", "k_link"):
            assert secret.encode() not in said, (name, said)
        assert b"window.js" not in said, name
    out, err = capfd.readouterr()
    for secret in (gate.place, gate.token, gate.form_token, "evil.example", "\0"):
        assert secret not in out + err


def test_a_connection_that_says_nothing_is_closed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("marginals.window.server._QuietHandler.timeout", 1.0)
    with served(write_config(tmp_path), monkeypatch) as address:
        for begin in (b"", b"GET / HTTP/1.1\r\nX: "):
            with socket.create_connection(
                ("127.0.0.1", int(address.split(":")[2].split("/")[0])), timeout=20
            ) as silent:
                silent.sendall(begin)
                assert silent.recv(10) == b""


def test_a_body_that_is_too_short_is_a_400_without_a_traceback(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    with serving(write_config(tmp_path), monkeypatch) as (_, window):
        gate = window.gate
        for size, body in ((100, b"form=x"), (100, b""), (4_000_000, b"a=b&" * 1000), (1, b"")):
            head = (
                f"POST {gate.root}/policy HTTP/1.1\r\nHost: {gate.host}\r\nCookie: {gate.cookie}={gate.token}\r\n"
                f"Content-Type: application/x-www-form-urlencoded\r\nContent-Length: {size}\r\n\r\n"
            )
            assert answered(gate, head.encode() + body).startswith(b"HTTP/1.1 400")
    out, err = capfd.readouterr()
    assert "Traceback" not in out + err
    assert gate.token not in out + err


def test_what_werkzeug_says_of_a_failure_is_one_line(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    def fail(*_: object) -> None:
        raise KeyError("CANARY")

    with served(write_config(tmp_path), monkeypatch) as address:
        monkeypatch.setattr("marginals.window.server.Application.__call__", fail)
        with pytest.raises(urllib.error.HTTPError) as caught:
            urllib.request.urlopen(address)
        assert caught.value.code == 500
        caught.value.close()
    out, err = capfd.readouterr()
    assert "CANARY" not in out + err
    assert "failed: a request could not be answered" in err


@pytest.mark.parametrize("device", ["/dev/null", "/dev/zero", "pipe"])
def test_devices_are_not_opened(tmp_path: Path, device: str) -> None:
    os.mkfifo(tmp_path / "pipe")
    with pytest.raises(InputError, match="device or pipe"), browsing(tmp_path / device):
        raise AssertionError


def test_nothing_is_written_outside_of_the_folder_of_the_table(tmp_path: Path) -> None:
    here, there = tmp_path / "here", tmp_path / "there"
    for folder in (here, there):
        folder.mkdir()
    config = write_config(there)
    (here / "people.csv").symlink_to(there / "people.csv")
    with pytest.raises(InputError, match="is a link into"), browsing(here / "people.csv"):
        raise AssertionError
    (here / "people.csv").unlink()
    (here / "people.csv").write_text((there / "people.csv").read_text())
    (here / "release.toml").symlink_to(config)
    for path in (here, here / "people.csv"):
        with pytest.raises(InputError, match=r"release\.toml is a link that leads out of"), browsing(path):
            raise AssertionError
    with pytest.raises(InputError, match="is a link into"), browsing(here / "release.toml"):
        raise AssertionError
    assert not list(here.rglob(".marginals*")) + list(there.rglob(".marginals*"))


@pytest.mark.parametrize("config", [True, False])
def test_the_address_is_on_no_command_line(
    tmp_path: Path, config: bool, monkeypatch: pytest.MonkeyPatch, small_release: Release
) -> None:
    """A browser is sent to a file that its owner alone may read, also where there is a release alone; then it is gone."""
    seen: list[str] = []
    monkeypatch.setattr(webbrowser, "open", seen.append)
    small_release.write(tmp_path / "release")
    path = write_config(tmp_path) if config else tmp_path / "release"
    with serving(path, monkeypatch, show=True) as (address, window):
        while not seen:
            os.sched_yield()
        assert seen[0].startswith("file://")
        assert not any(secret in seen[0] for secret in (window.gate.place, window.gate.token))
        page = Path(urllib.request.url2pathname(seen[0].removeprefix("file://")))
        assert f"url={address}" in page.read_text()
        assert page.stat().st_mode & 0o077 == 0
        assert page.parent.stat().st_mode & 0o077 == 0
    assert len(seen) == 1
    assert not page.exists()
