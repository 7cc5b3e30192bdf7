"""Serving a window on this machine alone, until it is stopped."""

import contextlib
import sys
import tempfile
import threading
import webbrowser
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from werkzeug.serving import BaseWSGIServer, ThreadedWSGIServer, WSGIRequestHandler

from marginals.files.atomic_file import PRIVATE, replace_file
from marginals.window.application import Application
from marginals.window.gate import Gate
from marginals.window.project import Project
from marginals.window.window import Window

ADDRESS = "127.0.0.1"

_PAGE = "open.html"
"""The page that sends the browser to the window."""

_PATIENCE = 30.0
"""Seconds that a connection may say nothing before it is closed."""

_MOST = 100
"""Connections that are answered at once."""


class _QuietHandler(WSGIRequestHandler):
    """Logs nothing: an address may hold the token, and what was asked about people."""

    server_version, sys_version = "marginals", ""
    timeout = _PATIENCE

    def log_request(self, code: Any = "-", size: Any = "-") -> None:
        """Say nothing."""

    def log(self, type: str, message: str, *args: Any) -> None:  # noqa: A002, ARG002 - as Werkzeug calls it
        """Say nothing of requests; that one failed, without what it was about."""
        if type == "error":
            print("failed: a request could not be answered", file=sys.stderr)

    def send_error(self, code: int, message: str | None = None, explain: str | None = None) -> None:  # noqa: ARG002
        """Answer what is no request; without repeating what was sent."""
        super().send_error(code, "refused", "")


class _Server(ThreadedWSGIServer):
    """A thread for each request, up to a number; none keeps the program from ending."""

    daemon_threads = True
    block_on_close = False

    def __init__(self, *arguments: Any) -> None:
        super().__init__(*arguments)
        self._room = threading.BoundedSemaphore(_MOST)

    def process_request(self, request: Any, client_address: Any) -> None:
        """Begin to answer in a thread; where too many are answered already, close the connection."""
        if self._room.acquire(blocking=False):
            super().process_request(request, client_address)
        else:
            self.shutdown_request(request)

    def process_request_thread(self, request: Any, client_address: Any) -> None:
        """Answer, in the thread, and make room again."""
        try:
            super().process_request_thread(request, client_address)
        finally:
            self._room.release()

    def handle_error(self, request: Any, client_address: Any) -> None:
        """A browser that went away is nothing to speak of."""


def serve(project: Project, port: int, announce: Callable[[str], None], show: bool) -> None:
    """Serve a window on a project until it is stopped by its button, or by a signal.

    port: 0 for a free one. announce: told the address once it can be asked. show: whether a browser is opened. Raises
    InputError where another window has the project, OSError where the port is taken.
    """
    with project.held():
        server: BaseWSGIServer = _Server(ADDRESS, port, _refusing, _QuietHandler)
        gate = Gate(server.server_port)
        window = Window(project, gate)
        application = server.app = Application(window)
        try:
            application.warm()
            thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.1}, daemon=True)
            thread.start()
            announce(gate.address)
            with _shown(project, gate.address) if show else contextlib.nullcontext():
                window.stopping.wait()
            threading.Event().wait(0.3)  # until the last page has arrived
        finally:
            window.stopping.set()
            window.close()
            server.shutdown()
            server.server_close()


def _refusing(environ: Any, start_response: Any) -> list[bytes]:  # noqa: ARG001 - before there is a window
    start_response("503 Service Unavailable", [])
    return []


@contextlib.contextmanager
def _shown(project: Project, address: str) -> Iterator[None]:
    """Open a browser by a page that only its owner may read: the command line of a browser can be seen by everybody.

    The page is there while this lasts; in the folder for temporary files where there is a release alone, which may lie
    where nothing can be written.
    """
    folder = tempfile.TemporaryDirectory() if project.config is None else contextlib.nullcontext(project.private)
    with folder as place:
        page = Path(place) / _PAGE
        replace_file(page, f'<!doctype html><meta http-equiv="refresh" content="0;url={address}">'.encode(), PRIVATE)
        webbrowser.open(page.as_uri())
        try:
            yield
        finally:
            with contextlib.suppress(OSError):
                page.unlink(missing_ok=True)
