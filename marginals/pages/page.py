"""Pages for people: HTML that stands alone, needs no network, runs no script, and escapes whatever is put into it."""

from functools import cache
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import jinja2


def page(name: str, **content: Any) -> bytes:
    """The page of a template, filled in, in UTF-8."""
    # A name from somebody else's file may hold half a surrogate pair, which no file can hold.
    return _environment().get_template(name).render(content).encode("utf-8", "replace")


@cache
def _environment() -> "jinja2.Environment":
    import jinja2

    return jinja2.Environment(
        loader=jinja2.PackageLoader("marginals.pages", "templates"),
        autoescape=True,
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
