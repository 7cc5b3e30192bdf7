"""A window on a folder and a browser without scripts, both in this process: pages, forms, and what they answer."""

import html
import re
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
from werkzeug.test import Client, TestResponse

from marginals.window import starter as starter
from marginals.window.gate import Gate
from marginals.window.project import Project
from marginals.window.server import Application, serve
from marginals.window.window import Window

PORT = 5000
PLACE = "where-nobody-looks"
BASE = f"http://127.0.0.1:{PORT}/{PLACE}"


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

    def fields_of(self, page: str, action: str) -> dict[str, Any]:
        """What a browser would send for the form of a page as it stands there."""
        address = re.escape(f"/{PLACE}{action}")
        form = re.search(rf'<form method="post"[^>]*action="{address}"[^>]*>(.*?)</form>', page, re.DOTALL)
        assert form is not None, action
        fields: dict[str, Any] = {}
        for tag in re.findall(r"<input[^>]*>", form[1]):
            own = dict(re.findall(r'([a-z]+)="([^"]*)"', tag))
            if "name" not in own or (own.get("type") in ("checkbox", "radio") and " checked" not in tag):
                continue
            value = html.unescape(own.get("value", ""))
            fields.setdefault(html.unescape(own["name"]), []).append(value)
        for name, options in re.findall(r'<select[^>]*name="([^"]*)"[^>]*>(.*?)</select>', form[1], re.DOTALL):
            chosen = re.search(r'<option(?: value="([^"]*)")? selected>([^<]*)', options) or re.search(
                r'<option(?: value="([^"]*)")?>([^<]*)', options
            )
            assert chosen is not None, name
            fields[html.unescape(name)] = [html.unescape(chosen[2] if chosen[1] is None else chosen[1])]
        return fields

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
            application.warm()
            client = Client(application)
            assert client.get("/", query_string={"token": gate.token}, base_url=BASE).status_code == 200
            yield Browser(window, client)
        finally:
            window.stopping.set()
            window.close()


@contextmanager
def served(path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    """The address of a window on a path, served in a thread until this ends."""
    windows: list[Window] = []
    begin = Window.begin
    monkeypatch.setattr(Window, "begin", lambda window: (windows.append(window), begin(window)))
    address: list[str] = []
    ready = threading.Event()

    def announce(told: str) -> None:
        address.append(told)
        ready.set()

    thread = threading.Thread(target=serve, args=(Project.at(path), 0, announce), kwargs={"show": False}, daemon=True)
    thread.start()
    assert ready.wait(30)
    try:
        yield address[0]
    finally:
        windows[0].stopping.set()
        thread.join(20)
        assert not thread.is_alive()
