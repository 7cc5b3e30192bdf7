"""What somebody typed into a form that was refused stands in it again when its page is shown."""

from collections.abc import Mapping, Sequence
from html import escape, unescape
from html.parser import HTMLParser

_LEFT = frozenset({"hidden", "submit", "button", "file", "password"})
"""Inputs that are what the page says, or that no page may repeat."""


def refilled(page: str, action: str, typed: Mapping[str, Sequence[str]]) -> str:
    """A page whose form with this action holds what was typed; any other page as it is.

    typed: the texts of each field, as a browser sends them: a box that is not ticked is not among them.

    >>> refilled('<form action="/save"><input name="k" value="10"></form>', "/save", {"k": ["ten"]})
    '<form action="/save"><input name="k" value="ten"></form>'
    """
    form = _Form(action, typed)
    form.feed(page)
    form.close()
    return "".join(form.parts)


class _Form(HTMLParser):
    """Copies a page, but for the fields of one form."""

    def __init__(self, action: str, typed: Mapping[str, Sequence[str]]) -> None:
        super().__init__(convert_charrefs=False)
        self.parts: list[str] = []
        self._action = action
        self._typed = {name: list(texts) for name, texts in typed.items()}
        self._is_inside = False
        self._is_replaced = False
        self._chosen: Sequence[str] | None = None
        self._option: tuple[int, dict[str, str | None]] | None = None

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """Copy a tag, or what was typed instead."""
        own = dict(attrs)
        if tag == "form":
            self._is_inside = own.get("action") == self._action
        if not self._is_inside or tag not in ("input", "select", "textarea", "option"):
            self._copy(self.get_starttag_text() or "")
            return
        typed = self._typed.get(own.get("name") or "")
        if tag == "select":
            self._chosen = typed
        elif tag == "option" and self._chosen is not None:
            self._option = len(self.parts), own
        elif tag == "input" and own.get("type") in ("checkbox", "radio"):
            _mark(own, "checked", (own.get("value") or "on") in (typed or ()))
        elif tag == "input" and typed and own.get("type") not in _LEFT:
            own["value"] = typed.pop(0)
        self._copy(_tag(tag, own))
        if tag == "textarea" and typed:
            self._copy(f"\n{escape(typed.pop(0))}")
            self._is_replaced = True

    handle_startendtag = handle_starttag

    def handle_endtag(self, tag: str) -> None:
        """Copy the end of an element; an option's text is its value where it has no other."""
        if tag == "option" and self._option is not None:
            place, own = self._option
            value = own.get("value")
            text = unescape("".join(self.parts[place + 1 :])).strip() if value is None else value
            _mark(own, "selected", text in (self._chosen or ()))
            self.parts[place], self._option = _tag(tag, own), None
        if tag == "textarea":
            self._is_replaced = False
        self._copy(f"</{tag}>")
        self._is_inside = self._is_inside and tag != "form"
        self._chosen = None if tag == "select" else self._chosen

    def handle_data(self, data: str) -> None:
        """Copy a text, unless another was typed in its place."""
        self._copy(data)

    def handle_entityref(self, name: str) -> None:
        """Copy a character that is written as a name."""
        self._copy(f"&{name};")

    def handle_charref(self, name: str) -> None:
        """Copy a character that is written as a number."""
        self._copy(f"&#{name};")

    def handle_decl(self, decl: str) -> None:
        """Copy what says that this is a page."""
        self._copy(f"<!{decl}>")

    def handle_comment(self, data: str) -> None:
        """Copy a comment."""
        self._copy(f"<!--{data}-->")

    def _copy(self, text: str) -> None:
        if not self._is_replaced:
            self.parts.append(text)


def _mark(own: dict[str, str | None], name: str, is_set: bool) -> None:
    if is_set:
        own[name] = None
    else:
        own.pop(name, None)


def _tag(name: str, own: Mapping[str, str | None]) -> str:
    attributes = (f" {key}" if value is None else f' {key}="{escape(value)}"' for key, value in own.items())
    return f"<{name}{''.join(attributes)}>"
