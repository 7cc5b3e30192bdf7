"""Pages of the window: filled templates, and forms that keep what was typed."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from typing import TYPE_CHECKING

from markupsafe import Markup

from marginals.errors import InputError
from marginals.pages.release_page import environment
from marginals.pairs import SIGNS

if TYPE_CHECKING:
    import jinja2


def rendered(name: str, /, **content: object) -> bytes:
    """A template, filled in, in UTF-8."""
    return _environment().get_template(name).render(content).encode("utf-8", "replace")


TIMES = " \N{MULTIPLICATION SIGN} "
"""The sign between attributes of one table."""


@cache
def style_sheet() -> bytes:
    """The style of reports, and what the window adds to it."""
    return rendered("style.css")


@cache
def script() -> bytes:
    """The script, without which pages work as well."""
    return files("marginals.window.templates").joinpath("window.js").read_bytes()


@cache
def _environment() -> "jinja2.Environment":
    made = environment("marginals.window", "marginals.pages")
    made.filters["thousands"] = lambda number: f"{number:,}"
    made.globals.update(signs=SIGNS)
    return made


class FieldError(InputError):
    """A text in a field of a form makes no sense. field: its name."""

    def __init__(self, field: str, sentence: str) -> None:
        super().__init__(sentence)
        self.field = field


@dataclass(frozen=True)
class Form:
    """A form as a page shows it: with what the page knows, or with what somebody typed whose form was refused.

    version: of the config that it is based on. typed: the texts of each field, as a browser sends them: a box that is not
    ticked is not among them; None: nothing was refused. field, sentence: what is wrong with which field, if with one.
    """

    version: str
    typed: Mapping[str, Sequence[str]] | None = None
    field: str = ""
    sentence: str = ""

    @classmethod
    def refused(cls, typed: Mapping[str, Sequence[str]], error: Exception | None, sentence: str) -> "Form":
        """A form that comes back. error: names the field, or the key of the config, that it is about."""
        key = getattr(error, "field", "") or getattr(error, "key", "").rpartition(".")[2]
        return cls("".join(typed.get("version", [])), typed, key if key in typed else "", sentence)

    def text(self, name: str, value: object) -> Markup:
        """The attributes of a field with a text."""
        told = "" if value is None else value
        typed = told if self.typed is None else next(iter(self.typed.get(name, [])), told)
        return Markup('name="{}" value="{}"{}').format(name, typed, self.mark(name))

    def ticked(self, name: str, value: object, is_set: object) -> Markup:
        """The attributes of a box or of one of several choices."""
        told = is_set if self.typed is None else str(value) in self.typed.get(name, [])
        return Markup('name="{}" value="{}"{}').format(name, value, Markup(" checked" if told else ""))

    def chosen(self, name: str, value: object, is_set: object) -> Markup:
        """The attributes of an option of a list of this name."""
        told = is_set if name not in (self.typed or {}) else str(value) in (self.typed or {})[name]
        return Markup('value="{}"{}').format(value, Markup(" selected" if told else ""))

    def mark(self, name: str) -> Markup:
        """The attributes of a field that was refused."""
        return Markup(' aria-invalid="true" aria-describedby="refused"' if self.field == name else "")

    def wrong(self, name: str) -> Markup:
        """The sentence at a field that was refused, in an element that may stand wherever a field may."""
        said = Markup('<span class="wrong" id="refused">{}</span>').format(self.sentence)
        return said if self.field == name else Markup("")

    def unfold(self, *names: str) -> Markup:
        """The attribute of what a field is folded into, if it was refused. names: those in it; none: all of the form."""
        return Markup(" open" if self.field and (not names or self.field in names) else "")
