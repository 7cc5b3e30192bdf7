"""Pages of the window: filled templates, and forms that keep what was typed."""

from collections.abc import Mapping, Sequence
from importlib.resources import files
from typing import Any, NamedTuple

from markupsafe import Markup

from marginals.pages.release_page import filled


def rendered(name: str, /, **content: Any) -> bytes:
    """Return a template, filled in, in UTF-8."""
    return filled(name, content, "marginals.window", "marginals.pages")


TIMES = " \N{MULTIPLICATION SIGN} "


def script() -> bytes:
    """Return the script, without which pages work as well."""
    return files("marginals.window.templates").joinpath("window.js").read_bytes()


class Form(NamedTuple):
    """A form as a page shows it: with the values of the page, or with what was typed into one that was refused.

    version: of the config. typed: texts as a browser sends them. field, sentence: the wrong field, and why.
    """

    version: str
    typed: Mapping[str, Sequence[str]] | None = None
    field: str = ""
    sentence: str = ""

    @classmethod
    def refused(cls, typed: Mapping[str, Sequence[str]], error: Exception | None, sentence: str) -> "Form":
        """Return a form that comes back. error: names the field, or the key of the config, that it is about."""
        key = getattr(error, "key", "")
        key = key if key in typed else key.rpartition(".")[2]
        return cls("".join(typed.get("version", [])), typed, key if key in typed else "", sentence)

    def text(self, name: str, value: object) -> Markup:
        """Return the attributes of a field with a text."""
        text = "" if value is None else value
        typed = text if self.typed is None else next(iter(self.typed.get(name, [])), text)
        return Markup('name="{}" value="{}"{}').format(name, typed, self.mark(name))

    def ticked(self, name: str, value: object, is_set: object) -> Markup:
        """Return the attributes of a box or of one of several choices."""
        is_ticked = is_set if self.typed is None else str(value) in self.typed.get(name, [])
        return Markup('name="{}" value="{}"{}').format(name, value, Markup(" checked" if is_ticked else ""))

    def chosen(self, name: str, value: object, is_set: object) -> Markup:
        """Return the attributes of an option of a list of this name."""
        is_chosen = is_set if name not in (self.typed or {}) else str(value) in (self.typed or {})[name]
        return Markup('value="{}"{}').format(value, Markup(" selected" if is_chosen else ""))

    def mark(self, name: str) -> Markup:
        """Return the attributes of a field that was refused."""
        return Markup(' aria-invalid="true" aria-describedby="refused"' if self.field == name else "")

    def wrong(self, name: str) -> Markup:
        """Return the sentence at a field that was refused, in an element that may stand wherever a field may."""
        sentence = Markup('<span class="wrong" id="refused">{}</span>').format(self.sentence)
        return sentence if self.field == name else Markup("")

    def unfold(self, *names: str) -> Markup:
        """Return the attribute that unfolds a part with a refused field. names: its fields; none: all of the form."""
        return Markup(" open" if self.field and (not names or self.field in names) else "")
