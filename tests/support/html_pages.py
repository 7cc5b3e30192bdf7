"""HTML pages as tests look at them: elements, tables, and what they may not hold."""

from html.parser import HTMLParser


class Page(HTMLParser):
    """Its elements with their attributes, its text, its tables, and whether every element is closed where it must be.

    tables: the caption, or without one the heading before it, and the texts of the cells row by row, headers included.
    """

    VOID = frozenset(["meta", "link", "img", "br", "hr", "input"])

    def __init__(self, page: bytes) -> None:
        super().__init__()
        self.elements: list[tuple[str, dict[str, str | None]]] = []
        self.text: list[str] = []
        self.open: list[str] = []
        self.tables: list[tuple[str, list[list[str]]]] = []
        self._begun: list[int] = []
        self._read: list[tuple[str, dict[str, str | None], str]] = []
        self._opened: list[dict[str, str | None]] = []
        self._title = ""
        self.feed(page.decode())
        self.close()
        assert self.open == []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.elements.append((tag, dict(attrs)))
        if tag not in self.VOID:
            self.open.append(tag)
            self._opened.append(dict(attrs))
            self._begun.append(len(self.text))
        if tag == "table":
            self.tables.append((self._title, []))
        elif tag == "tr":
            self.tables[-1][1].append([])

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.elements.append((tag, dict(attrs)))

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag
        text = " ".join("".join(self.text[self._begun.pop() :]).split())
        self._read.append((tag, self._opened.pop(), text))
        if tag == "li":
            self.text.append(" ")
        if tag in ("td", "th"):
            self.tables[-1][1][-1].append(text)
        elif tag == "caption":
            self.tables[-1] = (text, self.tables[-1][1])
        elif tag in ("h2", "h3"):
            self._title = text

    def handle_data(self, data: str) -> None:
        self.text.append(data)

    def all(self, tag: str) -> list[dict[str, str | None]]:
        return [attributes for name, attributes in self.elements if name == tag]

    def texts(self, tag: str, **attributes: str) -> list[str]:
        """The texts of elements of a tag that have these attributes; `class_` stands for class."""
        wanted = {name.rstrip("_"): value for name, value in attributes.items()}.items()
        return [text for name, held, text in self._read if name == tag and wanted <= held.items()]

    def rows(self, title: str) -> list[list[str]]:
        """The cells below the header of the one table whose caption or heading begins so."""
        (found,) = (rows for name, rows in self.tables if name.startswith(title))
        return found[1:]

    def header(self, title: str) -> list[str]:
        (found,) = (rows for name, rows in self.tables if name.startswith(title))
        return found[0]


def assert_self_contained(page: Page) -> None:
    tags = {tag for tag, _ in page.elements}
    assert not tags & {"script", "img", "link", "iframe", "object", "embed", "image", "use"}
    for _, attributes in page.elements:
        for name, value in attributes.items():
            assert not name.startswith("on")
            assert name not in ("src", "srcset", "xlink:href")
            assert name != "href" or (value or "").startswith("#")
    ids = [attributes["id"] for _, attributes in page.elements if "id" in attributes]
    assert len(set(ids)) == len(ids)
    for _, attributes in page.elements:
        for target in [*(attributes.get("aria-labelledby") or "").split(), (attributes.get("href") or "")[1:]]:
            assert not target or target in ids


def assert_headings_in_order(page: Page) -> None:
    levels = [int(tag[1]) for tag, _ in page.elements if tag in ("h1", "h2", "h3", "h4", "h5", "h6")]
    assert levels[0] == 1
    assert levels.count(1) == 1
    assert all(after <= before + 1 for before, after in zip(levels, levels[1:]))
