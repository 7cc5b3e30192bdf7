"""The application: which page or action an address stands for, and what becomes of errors."""

import json
import sys
import threading
from collections.abc import Callable, Iterable, Iterator
from typing import Any

from werkzeug.exceptions import HTTPException
from werkzeug.routing import Map, Rule
from werkzeug.wrappers import Request, Response

from marginals.window.gate import LARGEST_FORM, guarded
from marginals.window.jobs import Job
from marginals.window.rendering import prepare, rendered, script, style_sheet
from marginals.window.views import explore, levels, policy, publish, search, table
from marginals.window.window import Window
from models.errors import MarginalsError

Answer = Callable[..., Response]

ROUTES: tuple[tuple[str, str, Answer], ...] = (
    *table.ROUTES,
    *levels.ROUTES,
    *policy.ROUTES,
    *search.ROUTES,
    *publish.ROUTES,
    *explore.ROUTES,
)
"""Method, address, and what answers it."""

_METHODS = ("GET", "HEAD", "POST", "PUT", "DELETE", "OPTIONS", "PATCH", "TRACE", "CONNECT")
"""Those that are printed by their names; another may hold anything."""


class Application:
    """A window as a WSGI application."""

    def __init__(self, window: Window) -> None:
        self.window = window
        own: tuple[tuple[str, str, Answer], ...] = (
            ("GET", "/", self._home),
            ("GET", "/style.css", lambda *_: Response(style_sheet(), mimetype="text/css")),
            ("GET", "/window.js", lambda *_: Response(script(), mimetype="text/javascript")),
            ("GET", "/jobs/<int:number>/events", self._events),
            ("POST", "/jobs/<int:number>/stop", self._stop_job),
            ("POST", "/stop", self._stop),
        )
        self._map = Map(
            [Rule(path, methods=[method], endpoint=answer) for method, path, answer in (*own, *ROUTES)],
            strict_slashes=False,
            merge_slashes=False,
        )

    def warm(self) -> None:
        """Work out, while the browser opens, what the first pages need."""
        self.window.begin()

        def work() -> None:
            prepare()
            explore.warm(self.window)

        threading.Thread(target=work, daemon=True).start()

    def __call__(self, environ: Any, start_response: Any) -> Iterable[bytes]:
        """Answer a request, as WSGI has it."""
        request = Request(self.window.gate.below_root(environ))
        request.max_content_length = LARGEST_FORM
        request.max_form_memory_size = LARGEST_FORM
        request.max_form_parts = 20_000
        return guarded(self._answer(request))(environ, start_response)

    def _answer(self, request: Request) -> Response:
        try:
            refusal = self.window.gate.refusal(request)
        except Exception:  # such as a form that is too large: whoever sent it gets no page of the window
            refusal = "The request cannot be read."
        if refusal:
            method = request.method if request.method in _METHODS else "another method"
            print(f"refused: {method}: {refusal}", file=sys.stderr)
            return Response(rendered("refused.html", sentence=refusal), status=403, mimetype="text/html")
        try:
            if self.window.gate.enters(request):
                return self.window.gate.remember(
                    Response(rendered("enter.html", root=self.window.gate.root), mimetype="text/html")
                )
            answer, values = self._map.bind_to_environ(request.environ).match()
            return answer(self.window, request, **values)  # type: ignore[no-any-return]
        except MarginalsError as error:
            return self._problem(request, f"{error}.")
        except HTTPException as error:
            code = error.code or 500
            return self._failed(
                "There is no such page." if code in (404, 405, 308) else "The request cannot be answered.",
                code if code >= 400 else 404,
            )
        except OSError as error:
            return self._failed(f"A file cannot be read or written: {error.strerror or type(error).__name__}.", 500)
        except MemoryError:
            return self._failed("This needs more memory than there is.", 500)
        except Exception as error:
            print(f"failed: {request.method} {request.path}: {type(error).__name__}", file=sys.stderr)
            return self._failed("This page failed, which is a fault of the program. Nothing was written.", 500)

    def _problem(self, request: Request, sentence: str) -> Response:
        if request.method == "POST":
            return self.window.refuse(request, _begun(sentence), _own_page(request))
        return self._failed(_begun(sentence), 400)

    def _failed(self, sentence: str, status: int) -> Response:
        return self.window.page("failed.html", "", status, sentence=sentence)

    def _home(self, window: Window, request: Request) -> Response:  # noqa: ARG002
        return window.back("/explore" if window.project.config is None else "/table")

    def _stop_job(self, window: Window, request: Request, number: int) -> Response:
        job = window.jobs.get(number)
        if job is not None:
            job.stop()
            job.done.wait(3)
        return window.back(_own_page(request))

    def _stop(self, window: Window, request: Request) -> Response:  # noqa: ARG002
        window.stopping.set()
        return Response(rendered("stopped.html", root=window.gate.root), mimetype="text/html")

    def _events(self, window: Window, request: Request, number: int) -> Response:  # noqa: ARG002
        job = window.jobs.get(number)
        if job is None:
            return self._failed("There is no such job.", 404)
        return Response(_progress(window, job), mimetype="text/event-stream")


def _progress(window: Window, job: Job) -> Iterator[bytes]:
    """What a job says, as server-sent events, until it is done."""
    last = ""
    while not window.stopping.is_set():
        ended = job.done.wait(0.2)
        told = json.dumps({"said": job.said, "seconds": round(job.elapsed, 1), "state": job.state})
        if told != last:
            last = told
            yield f"data: {told}\n\n".encode()
        if ended:
            return


def _begun(sentence: str) -> str:
    """A sentence with a capital, unless it begins with a key or the name of a file."""
    return sentence if set("_.:") & set(sentence.partition(" ")[0]) else sentence[:1].upper() + sentence[1:]


def _own_page(request: Request) -> str:
    """The page that a form was on, by the first part of its address."""
    step = request.path.strip("/").partition("/")[0]
    back = request.form.get("back", "")
    if back.startswith("/") and not back.startswith("//") and "\\" not in back and "\n" not in back:
        return back
    return f"/{step}" if step in ("table", "levels", "policy", "search", "publish", "explore") else "/"
