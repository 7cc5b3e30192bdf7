"""Serving a window on this machine alone: which page or action an address stands for."""

import sys
import threading
import webbrowser
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

from werkzeug.exceptions import ClientDisconnected, HTTPException
from werkzeug.routing import Map, Rule
from werkzeug.serving import BaseWSGIServer, ThreadedWSGIServer, WSGIRequestHandler
from werkzeug.wrappers import Request, Response

from marginals.errors import InputError, system_reason
from marginals.files import PRIVATE, replace_file
from marginals.window import explore, levels, policy, publish, search, table
from marginals.window.gate import LARGEST_FORM, Gate, guarded
from marginals.window.project import OlderVersionError, Project
from marginals.window.rendering import rendered, script
from marginals.window.window import STEPS, Window
from models.errors import MarginalsError

Answer = Callable[..., Response]

Routes = tuple[tuple[str, str, Answer], ...]

ROUTES: Routes = (
    ("GET", "/table", table.show),
    ("POST", "/table/begin", table.begin),
    ("POST", "/table/roles", table.save_roles),
    ("POST", "/table/move", table.save_roles),
    ("POST", "/table/answer", table.answer),
    ("POST", "/table/confirm", table.confirm),
    ("POST", "/table/unit", table.save_unit),
    ("GET", "/table/text", table.show_text),
    ("POST", "/table/text", table.save_text),
    ("GET", "/levels", levels.show),
    ("POST", "/levels/cuts", levels.save_cuts),
    ("POST", "/levels/group", levels.save_group),
    ("GET", "/policy", policy.show),
    ("POST", "/policy", policy.save),
    ("POST", "/policy/choice", policy.save_choice),
    ("POST", "/policy/harm", policy.save_harm),
    ("POST", "/policy/preset", policy.save_preset),
    ("POST", "/policy/wanted", policy.save_wanted),
    ("GET", "/search", search.show),
    ("POST", "/search", search.start),
    ("GET", "/search/<page>", search.report),
    ("GET", "/publish", publish.show),
    ("POST", "/publish", publish.publish),
    ("POST", "/publish/<any(verify, attack):kind>", publish.examine),
    ("GET", "/publish/<name>/<page>", publish.report),
    ("GET", "/explore", explore.show),
    ("GET", "/explore/table.csv", explore.download),
    ("POST", "/explore/rows", explore.rows),
)

_OF_STEWARDS = {answer for _, path, answer in ROUTES if not path.startswith("/explore")}
_AFTER_TABLE = (levels.show, policy.show, search.show, publish.show)  # these need a config that can be read


class Application:
    """A window as a WSGI application."""

    def __init__(self, window: Window) -> None:
        self.window = window
        fixed_routes: Routes = (
            ("GET", "/", lambda window, _: window.back("/explore" if window.project.config is None else "/table")),
            ("GET", "/style.css", lambda *_: Response(rendered("style.css"), mimetype="text/css")),
            ("GET", "/window.js", lambda *_: Response(script(), mimetype="text/javascript")),
            ("POST", "/jobs/<int:number>/stop", _stop_job),
            ("POST", "/stop", _stop),
        )
        routes = (*fixed_routes, *ROUTES)
        rules = [Rule(path, methods=[method], endpoint=answer) for method, path, answer in routes]
        self._map = Map(rules, strict_slashes=False, merge_slashes=False)

    def __call__(self, environ: Any, start_response: Any) -> Iterable[bytes]:
        """Answer a request by WSGI."""
        request = Request(self.window.gate.below_root(environ))
        request.max_content_length = LARGEST_FORM
        request.max_form_memory_size = LARGEST_FORM
        request.max_form_parts = 20_000
        return guarded(self._answer(request))(environ, start_response)

    def _answer(self, request: Request) -> Response:
        window, gate = self.window, self.window.gate
        try:
            refusal = gate.refusal(request)
        except (ClientDisconnected, TimeoutError, ConnectionError):
            return _bare("Refused", 400, "The request ended before it was whole.")
        except Exception:  # such as a form that is too large: whoever sent it gets no page of the window
            refusal = "The request cannot be read."
        if refusal:
            print(f"refused: {refusal}", file=sys.stderr)
            return _bare("Refused", 403, refusal)
        try:
            if gate.enters(request):
                return gate.remember(Response(rendered("enter.html", root=gate.root), mimetype="text/html"))
            return self._routed(request)
        except OlderVersionError as error:
            return window.conflict(request, error)
        except MarginalsError as error:
            sentence = _begun(f"{error}.")
            if request.method == "POST":
                return window.refuse(request, sentence, _own_page(request), error)
            return _failed(window, sentence, 400)
        except HTTPException as error:
            if error.code in (404, 405, 308):
                return _failed(window, "There is no such page.", max(error.code, 404))
            return _failed(window, "The request cannot be answered.", error.code or 500)
        except OSError as error:
            return _failed(window, f"A file cannot be read or written: {system_reason(error)}.", 500)
        except MemoryError:
            return _failed(window, "This needs more memory than there is.", 500)
        except Exception as error:
            print(f"failed: {request.method} {request.path}: {type(error).__name__}", file=sys.stderr)
            return _failed(window, "This page failed, which is a fault of the program. Nothing was written.", 500)

    def _routed(self, request: Request) -> Response:
        answer, values = self._map.bind_to_environ(request.environ).match()
        if self.window.project.config is None and answer in _OF_STEWARDS:
            raise InputError("this window is about a release alone; open the table or its release.toml for the rest")
        if answer in _AFTER_TABLE and self.window.readable is None:
            return self.window.back("/table")
        return answer(self.window, request, **values)  # type: ignore[no-any-return]


def _bare(name: str, status: int, sentence: str, **content: str) -> Response:
    page = rendered("sentence.html", frameless=True, name=name, sentence=sentence, **content)
    return Response(page, status=status, mimetype="text/html")


def _failed(window: Window, sentence: str, status: int) -> Response:
    return window.page("sentence.html", "", status, frameless=False, name="Not possible", sentence=sentence)


def _stop_job(window: Window, request: Request, number: int) -> Response:
    if (job := window.jobs.get(number)) is not None:
        job.stop()
        job.done.wait(3)
    return window.back(_own_page(request))


def _stop(window: Window, _request: Request) -> Response:
    window.stopping.set()
    sentence = "What was written stays. Open it again with: marginals open."
    return _bare("The window is closed", 200, sentence, root=window.gate.root)


def _begun(sentence: str) -> str:
    return sentence if set("_.:") & set(sentence.partition(" ")[0]) else sentence[:1].upper() + sentence[1:]


def _own_page(request: Request) -> str:
    step = request.path.strip("/").partition("/")[0]
    back = request.form.get("back", "")
    if back.startswith("/") and not back.startswith("//") and "\\" not in back and "\n" not in back:
        return back
    return f"/{step}" if step in dict(STEPS) else "/"


def _log_failures(self: object, type: str, message: str, *args: Any) -> None:  # noqa: A002, ARG001 - as Werkzeug has it
    if type == "error":  # without its traceback, which may hold what was asked about people
        print("failed: a request could not be answered", file=sys.stderr)


class _QuietHandler(WSGIRequestHandler):
    """Handler that logs no address and no request: these may hold the token, and what was asked about people."""

    server_version, sys_version = "marginals", ""
    timeout = 30.0  # seconds of silence

    log = _log_failures

    def send_error(self, code: int, message: str | None = None, explain: str | None = None) -> None:  # noqa: ARG002
        """Answer a malformed request, without repeating what was sent."""
        super().send_error(code, "refused", "")


class _Server(ThreadedWSGIServer):
    """A thread for each request; none keeps the program from ending."""

    daemon_threads = True
    block_on_close = False
    log = _log_failures

    def handle_error(self, request: Any, client_address: Any) -> None:
        """Say nothing of a browser that went away."""


def serve(project: Project, announce: Callable[[str], None]) -> None:
    """Serve a window at a free port and in a browser until it is stopped. Raises InputError if another one is open."""
    with project.held():
        server: BaseWSGIServer = _Server("127.0.0.1", 0, _refuse, _QuietHandler)
        gate = Gate(server.server_port)
        window = Window(project, gate)
        server.app = Application(window)
        window.begin()
        try:
            thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.1}, daemon=True)
            thread.start()
            announce(gate.address)
            _open_browser(Path(window.scratch.name) / "open.html", gate.address)
            window.stopping.wait()
            threading.Event().wait(0.3)  # until the last page has arrived
        finally:
            window.stopping.set()
            window.close()
            server.shutdown()
            server.server_close()


def _refuse(environ: Any, start_response: Any) -> list[bytes]:  # noqa: ARG001 - before there is a window
    start_response("503 Service Unavailable", [])
    return []


def _open_browser(page: Path, address: str) -> None:
    """Open a browser by a page for its owner alone, because everybody can see the command line of a browser."""
    replace_file(page, f'<!doctype html><meta http-equiv="refresh" content="0;url={address}">'.encode(), PRIVATE)
    webbrowser.open(page.as_uri())
