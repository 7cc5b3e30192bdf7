"""Pages from templates: the window's own, with the style and the bars of reports; they load nothing from elsewhere."""

from functools import cache
from importlib.resources import files
from typing import TYPE_CHECKING, Any

from marginals.names.level_names import level_name, margin_in_words, shown_at

if TYPE_CHECKING:
    import jinja2


def rendered(name: str, /, **content: Any) -> bytes:
    """A template, filled in, in UTF-8."""
    return _environment().get_template(name).render(content).encode("utf-8", "replace")


NOTHING = "\N{EN DASH}"
"""What stands in a table where there is no number."""

TIMES = " \N{MULTIPLICATION SIGN} "
"""What stands between attributes that are in one table."""


@cache
def style_sheet() -> bytes:
    """The style of reports, and what the window adds to it."""
    return rendered("style.css")


@cache
def script() -> bytes:
    """What makes pages quicker where scripts run."""
    return files("marginals.window.templates").joinpath("window.js").read_bytes()


def prepare() -> None:
    """Compile all templates, before the first page asks for one."""
    for name in _environment().list_templates(extensions=["html"]):
        if (files("marginals.window.templates") / name).is_file():
            _environment().get_template(name)
    style_sheet()


@cache
def _environment() -> "jinja2.Environment":
    import jinja2

    places = [jinja2.PackageLoader("marginals.window"), jinja2.PackageLoader("marginals.pages", "templates")]
    environment = jinja2.Environment(
        loader=jinja2.ChoiceLoader(places),
        autoescape=jinja2.select_autoescape(["html"]),
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters["thousands"] = lambda number: f"{number:,}"
    environment.filters["percent"] = lambda share: f"{100 * share:.3g} %"
    environment.filters["short"] = lambda number: NOTHING if number is None else f"{number:.3g}"
    environment.globals.update(shown_at=shown_at, level_name=level_name, margin_in_words=margin_in_words)
    return environment
