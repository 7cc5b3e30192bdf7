"""HTML pages as tests look at them: their elements, what they may not hold, and the contrast of their texts."""

from html.parser import HTMLParser


class Page(HTMLParser):
    """Its elements with their attributes, its text, and whether every element is closed where it must be."""

    VOID = frozenset(["meta", "link", "img", "br", "hr", "input"])

    def __init__(self, page: bytes) -> None:
        super().__init__()
        self.elements: list[tuple[str, dict[str, str | None]]] = []
        self.text: list[str] = []
        self.open: list[str] = []
        self.feed(page.decode())
        self.close()
        assert self.open == []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.elements.append((tag, dict(attrs)))
        if tag not in self.VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.elements.append((tag, dict(attrs)))

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        self.text.append(data)

    def all(self, tag: str) -> list[dict[str, str | None]]:
        return [attributes for name, attributes in self.elements if name == tag]


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


CONTRAST = """() => {
  const probe = document.createElement("canvas").getContext("2d", {willReadFrequently: true});
  const rgb = colour => { probe.clearRect(0, 0, 1, 1); probe.fillStyle = colour; probe.fillRect(0, 0, 1, 1);
                          return Array.from(probe.getImageData(0, 0, 1, 1).data); };
  const light = ([r, g, b]) => [r, g, b].map(v => v / 255)
    .map(v => v <= 0.04045 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4)
    .reduce((sum, v, i) => sum + v * [0.2126, 0.7152, 0.0722][i], 0);
  const behind = element => { for (let e = element; e; e = e.parentElement) {
      const c = rgb(getComputedStyle(e).backgroundColor); if (c[3] === 255) return c; } return [255, 255, 255, 255]; };
  let worst = [99, ""];
  for (const e of document.body.querySelectorAll("*")) {
    if (e.closest("svg") || ![...e.childNodes].some(n => n.nodeType === 3 && n.data.trim())) continue;
    const [a, b] = [light(rgb(getComputedStyle(e).color)), light(behind(e))].sort((x, y) => y - x);
    const ratio = (a + 0.05) / (b + 0.05);
    if (ratio < worst[0]) worst = [ratio, e.tagName + "." + e.className];
  }
  return worst;
}"""
