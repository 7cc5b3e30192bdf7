"""A window on a project: what its pages stand on, and what they say of what was done."""

import threading
from collections import deque
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from werkzeug.utils import redirect
from werkzeug.wrappers import Request, Response

from marginals.config.release_toml import Config
from marginals.errors import InputError
from marginals.window.candidates import Candidates
from marginals.window.config_edits import Change, ConfigFile, Edit, OlderVersionError, difference
from marginals.window.counting import Counting
from marginals.window.gate import Gate
from marginals.window.jobs import Jobs
from marginals.window.project import Project
from marginals.window.refilling import refilled
from marginals.window.rendering import rendered
from models.errors import MarginalsError

STEPS = (
    ("table", "Table"),
    ("levels", "Levels"),
    ("policy", "Policy"),
    ("search", "Search"),
    ("publish", "Publish"),
    ("explore", "Explore"),
)
"""The pages in the order of work."""


@dataclass(frozen=True)
class Said:
    """A sentence for the next page. shown: the command or edit that it is about. is_problem: whether something failed."""

    sentence: str
    shown: str = ""
    is_problem: bool = False


class Window:
    """What all pages of a project share."""

    def __init__(self, project: Project, gate: Gate) -> None:
        self.project, self.gate = project, gate
        self.jobs = Jobs(project.folder)
        self.stopping = threading.Event()
        self._said: deque[Said] = deque(maxlen=8)
        self.done: deque[str] = deque(maxlen=200)
        self._refused: tuple[str, dict[str, list[str]]] | None = None
        if project.config is not None:
            self._file = ConfigFile(project, project.config)
            self._counting = Counting(self._file)
            self._candidates = Candidates(project, self._file, self.jobs)

    @property
    def has_config(self) -> bool:
        """Whether there is a config, be it one with errors."""
        return self.project.config is not None and self.project.config.exists()

    @property
    def file(self) -> ConfigFile:
        """The config. Raises InputError where the window is about a release alone."""
        self._require_config()
        return self._file

    @property
    def counting(self) -> Counting:
        """The counts of the table. Raises as `file` does."""
        self._require_config()
        return self._counting

    @property
    def candidates(self) -> Candidates:
        """What searches found. Raises as `file` does."""
        self._require_config()
        return self._candidates

    def config(self) -> Config:
        """The config as it is now. Raises InputError where it cannot be read."""
        return self.file.read()

    def begin(self) -> None:
        """Prepare for the first page: counts are worked out while the browser opens."""
        if self.has_config:
            self.candidates.clear_leftovers()
            self.counting.warm()

    def close(self) -> None:
        """End all that is at work."""
        self.jobs.stop()
        if self.project.config is not None:
            self._counting.close()

    def say(self, sentence: str, shown: str = "", is_problem: bool = False) -> None:
        """Have the next page say something; a command or an edit is kept in the list of what was done."""
        self._said.append(Said(sentence, shown, is_problem))
        if shown and not is_problem:
            self.done.append(shown)

    def page(self, template: str, step: str, status: int = 200, /, **content: Any) -> Response:
        """A page of the window."""
        said = [self._said.popleft() for _ in range(len(self._said))]
        frame = {
            "window": self,
            "root": self.gate.root,
            "step": step,
            "steps": STEPS if self.project.config is not None else STEPS[-1:],
            "said": said,
            "form_token": self.gate.form_token,
            "version": self.file.version if self.has_config else "",
            "config_name": self.project.config.name if self.project.config else "",
            "done": list(self.done),
            "running": self.jobs.running(),
        }
        text = rendered(template, **(frame | content))
        if self._refused is not None:
            action, typed = self._refused
            self._refused, text = None, refilled(text.decode(), self.gate.root + action, typed).encode()
        return Response(text, status=status, mimetype="text/html")

    def refuse(self, request: Request, sentence: str, back: str) -> Response:
        """Go back to the page of a form, which says why it was refused and still holds what was typed."""
        self._refused = request.path, request.form.to_dict(flat=False)
        self.say(sentence, is_problem=True)
        return self.back(back)

    def back(self, address: str) -> Response:
        """Where to go after a form, so that loading a page again does nothing twice. address: below the root."""
        return redirect(self.gate.root + address, code=303)

    def edit(
        self,
        request: Request,
        change: Change,
        back: str,
        files: Mapping[str, bytes] | None = None,
        sentence: str = "Written.",
    ) -> Response:
        """Edit the config as a form says, and go back to a page, which shows the edit and says a sentence.

        What cannot be done is said there; what another edit came before is shown beside it.
        """
        try:
            written = self.file.edit(request.form.get("version", ""), change, dict(files or {}))
        except OlderVersionError as error:
            return self.conflict(request, error)
        except MarginalsError as error:
            return self.refuse(request, f"Nothing was written: {error}.", back)
        self.tell(written, sentence)
        return self.back(back)

    def tell(self, written: Edit, sentence: str) -> None:
        """Say what an edit changed."""
        if not written.difference and not written.files:
            self.say("Nothing changed.")
            return
        files = "".join(f"\nwritten: {name}" for name in written.files)
        self.say(sentence, f"{written.name}\n{written.difference}{files}")

    def conflict(self, request: Request, error: OlderVersionError) -> Response:
        """A page with both edits: what stands there now, and what was wanted."""
        mine = difference(error.now, error.wanted, self.file.path.name)
        fields = [(key, value) for key, value in request.form.items(multi=True) if key not in ("form", "version")]
        return self.page(
            "conflict.html",
            "",
            409,
            mine=mine,
            now=error.now,
            fields=fields,
            action=request.path,
            last=list(self.done)[-1:],
        )

    def _require_config(self) -> None:
        if self.project.config is None:
            raise InputError("this window is about a release alone; open the table or its release.toml for the rest")
