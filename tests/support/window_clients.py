"""A window on a folder and a browser without scripts, both in this process: pages, forms, and what they answer."""

import contextlib
import html
import json
import re
import threading
import time
import webbrowser
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

pytest.importorskip("werkzeug", reason="werkzeug is not installed")
pytest.importorskip("tomlkit", reason="tomlkit is not installed")

from werkzeug.test import Client, TestResponse

from command_line import main
from marginals import InputError
from marginals.window import jobs
from marginals.window.gate import Gate
from marginals.window.project import Project
from marginals.window.server import ROUTES, Application, serve
from marginals.window.window import Counting, CountingResult, Window

PORT = 5000
PLACE = "where-nobody-looks"
BASE = f"http://127.0.0.1:{PORT}/{PLACE}"
PAGES = sorted({path for method, path, _ in ROUTES if method == "GET" and "<" not in path})
FORMS = sorted({path.replace("<int:number>", "1") for method, path, _ in ROUTES if method == "POST"})
"""The addresses of all pages, and those that forms are sent to."""

PATHS = sorted({path for _, path, _ in ROUTES} | {"/", "/style.css", "/window.js", "/jobs/1/stop"})
"""What a browser can ask for."""


NUMBERS = ("", "1", "1.5", "2", "3,2", "0", "9,1")
"""What is typed where a page wants a text or a number."""


@dataclass
class Form:
    """A form of a page. fields: what each has as it stands; offered: what can be chosen instead."""

    action: str
    fields: dict[str, list[str]] = field(default_factory=dict)
    offered: dict[str, list[str]] = field(default_factory=dict)

    @classmethod
    def all_of(cls, page: str) -> "list[Form]":
        found = re.findall(r'<form method="post"[^>]*action="/[^/]*([^"]*)"[^>]*>(.*?)</form>', page, re.DOTALL)
        return [cls(action)._reading(content) for action, content in found]

    def _reading(self, content: str) -> "Form":
        for tag in re.findall("<(?:input|button)[^>]*>", content):
            own = dict(re.findall(r'([a-z]+)="([^"]*)"', tag))
            name, value = html.unescape(own.get("name", "")), html.unescape(own.get("value", ""))
            is_chosen = tag.startswith("<button") or own.get("type") in ("radio", "checkbox")
            if name and is_chosen:
                self.offered.setdefault(name, []).append(value)
            elif name and own.get("type") in ("text", "number"):
                self.offered[name] = list(NUMBERS)
            if name and (not is_chosen or " checked" in tag):
                self.fields.setdefault(name, []).append(value)
        for name, listed in re.findall(r'<select[^>]*name="([^"]*)"[^>]*>(.*?)</select>', content, re.DOTALL):
            options = [
                (html.unescape(value), mark) for value, mark in re.findall(r'<option value="(.*?)"( \w+)?', listed)
            ]
            values = [value for value, _ in options]
            self.fields[html.unescape(name)] = [value for value, mark in options if mark] or values[:1]
            self.offered[html.unescape(name)] = values
        return self


@dataclass
class Browser:
    """What somebody has who came in with the token. forms: those of the page that was loaded last, by their address."""

    window: Window
    client: Client
    pages: list[str] = field(default_factory=list)

    def get(self, address: str, **options: Any) -> TestResponse:
        """A page, after all redirections; it is kept for the leak tests."""
        answer = self.client.get(address, base_url=BASE, follow_redirects=True, **options)
        self.pages.append(answer.get_data(as_text=True))
        return answer

    def post(self, address: str, fields: dict[str, Any] | None = None, **options: Any) -> TestResponse:
        """A form with its token and the version that stands now, unless others are given."""
        own = {"form": self.window.gate.form_token}
        if self.window.has_config:
            own["version"] = self.window.file.version
        answer = self.client.post(
            address, base_url=BASE, data={**own, **(fields or {})}, follow_redirects=True, **options
        )
        self.pages.append(answer.get_data(as_text=True))
        return answer

    def page(self, address: str, **options: Any) -> str:
        return self.get(address, **options).get_data(as_text=True)

    def send(self, address: str, fields: dict[str, Any] | None = None, **options: Any) -> str:
        return self.post(address, fields, **options).get_data(as_text=True)

    def change(self, address: str, action: str, changed: dict[str, Any] | None = None) -> str:
        """Load a page until it has a form, send this with some fields changed, and return the answer."""
        fields = self.fields_of(self.until(address, f'action="/{PLACE}{action}"'), action)
        return self.send(action, {**fields, **(changed or {})})

    def search(self, **demands: Any) -> jobs.Job:
        """Search under the config with other demands of a least count, and wait until it is done."""
        if demands:
            self.change("/policy", "/policy", {key: str(value) for key, value in demands.items()})
        self.post("/search")
        return self.finish("search")

    def publish(self, **fields: Any) -> str:
        """Search, publish what was found and the page shows, and return what that is answered."""
        self.search()
        return self.change("/publish", "/publish", {"looked": "yes", **fields})

    def finish(self, kind: str) -> jobs.Job:
        job = self.window.jobs.latest(kind)
        assert job.done.wait(120)
        return job

    def fields_of(self, page: str, action: str) -> dict[str, list[str]]:
        """What a browser would send for the form of a page as it stands there."""
        return next(form.fields for form in Form.all_of(page) if form.action == action)

    def until(self, address: str, said: str, seconds: float = 120.0) -> str:
        """The page, loaded again until it says something, as a browser without script does."""
        end = time.monotonic() + seconds
        while time.monotonic() < end:
            page = self.get(address).get_data(as_text=True)
            if said in page:
                return page
            time.sleep(0.1)
        raise AssertionError(f"{address} does not say {said!r}: {page[-4000:]}")


@contextmanager
def browsing(path: Path) -> Iterator[Browser]:
    """A window on a table, a config or a release, and a browser that came in."""
    project, gate = Project.at(path), Gate(PORT, place=PLACE)
    with project.held():
        window = Window(project, gate)
        try:
            application = Application(window)
            window.begin()
            client = Client(application)
            assert client.get("/", query_string={"token": gate.token}, base_url=BASE).status_code == 200
            yield Browser(window, client)
        finally:
            window.stopping.set()
            window.close()


def client_of_another_gate(browser: Browser) -> tuple[Client, Gate]:
    """A client at a window on the same project with secrets of its own, which has none of them; and its gate."""
    gate = Gate(PORT)
    return Client(Application(Window(browser.window.project, gate))), gate


def problem_of(page: str) -> str:
    found = re.search(r'said problem"[^>]*>\s*(?:<p>)?(.*?)</', page, re.DOTALL)
    return found[1] if found else ""


@contextmanager
def serving(path: Path, monkeypatch: pytest.MonkeyPatch, show: bool = False) -> Iterator[tuple[str, Window]]:
    """A window on a path and its address, served in a thread until this ends. show: whether it may open a browser."""
    if not show:
        monkeypatch.setattr(webbrowser, "open", lambda _: None)
    windows: list[Window] = []
    begin = Window.begin
    monkeypatch.setattr(Window, "begin", lambda window: (windows.append(window), begin(window)))
    address: list[str] = []
    ready = threading.Event()

    def announce(told: str) -> None:
        address.append(told)
        ready.set()

    thread = threading.Thread(target=serve, args=(Project.at(path), announce), daemon=True)
    thread.start()
    assert ready.wait(30)
    try:
        yield address[0], windows[0]
    finally:
        windows[0].stopping.set()
        thread.join(20)
        assert not thread.is_alive()


@contextmanager
def served(path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    """The address of a window on a path, served in a thread until this ends."""
    with serving(path, monkeypatch) as (address, _):
        yield address


def gate_of(address: str) -> Gate:
    """The gate of a window in another process, by the address that it announces."""
    parts = re.search(r"http://127\.0\.0\.1:(\d+)/(\S+)/\?token=(\S+)", address)
    return Gate(int(parts[1]), token=parts[3], place=parts[2])


def withhold_counts(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Counting, "_result", lambda *_: CountingResult())


def never_end(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(jobs, "WORKER", "import time; time.sleep(600)")


def refuse_commands(monkeypatch: pytest.MonkeyPatch) -> None:

    def refuse(*_: object, **__: object) -> None:
        raise InputError("no command is run here")

    monkeypatch.setattr(jobs.JobList, "command", refuse)


def run_here(monkeypatch: pytest.MonkeyPatch) -> None:
    """Run commands of a window in this process, to their end, since a process takes a second."""

    def command(
        own: jobs.JobList, kind: str, arguments: list[str], then: Callable[[jobs.Job], None] | None = None
    ) -> jobs.Job:
        job = jobs.Job(len(own._jobs) + 1, kind, "marginals " + " ".join(arguments))
        own._jobs.append(job)
        with contextlib.chdir(own.folder):
            result = CliRunner().invoke(main, [*arguments, "--json"])
        job.status = result.exit_code
        with contextlib.suppress(ValueError):
            job.answer = json.loads(result.stdout)
        if job.status:
            job.sentence = job.answer.get("error", result.output)
        if then is not None:
            then(job)
        job.done.set()
        return job

    monkeypatch.setattr(jobs.JobList, "command", command)
