"""A window seen through Chromium: forms sent as a person would, and what weak eyes or a phone would trip over."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import axe_core

WIDTHS = (390, 768, 1440)
"""A phone, a tablet, and a screen on a desk, in pixels."""

RULES = ("wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa", "best-practice")
"""Of axe-core: contrast, names, landmarks, order of headings, keyboard access of what scrolls, sizes of targets."""

_SEND = """([address, fields, which]) => {
  const forms = [...document.querySelectorAll('form[method=post]')].filter((f) => f.action.endsWith(address));
  const form = forms.find((f) => Object.entries(which).every(([n, v]) => f.elements.namedItem(n)?.value === v));
  form.noValidate = true;
  for (const [name, value] of Object.entries(fields)) {
    const field = form.elements.namedItem(name);
    if (field.type === 'checkbox') field.checked = value === 'yes';
    else field.value = value;
  }
  form.requestSubmit();
}"""

_LAYOUT = """() => {
  const found = [], wide = document.documentElement.clientWidth, root = document.documentElement;
  const named = (e) => e.outerHTML.slice(0, 160);
  const seen = (e) => e.checkVisibility({ visibilityProperty: true, contentVisibilityAuto: true });
  const scrolls = (e) => {
    for (; e && e !== document.body && e !== root; e = e.parentElement)
      if (/auto|scroll|hidden/.test(getComputedStyle(e).overflowX)) return true;
    return false;
  };
  if (root.scrollWidth > window.innerWidth) found.push('the page scrolls sideways');
  const used = 'a, button, input:not([type=hidden]), select, textarea, summary, [tabindex]';
  for (const e of document.querySelectorAll(used)) {
    const b = e.getBoundingClientRect();
    if (e.classList.contains('skip') || !seen(e) || b.width === 0) continue;
    if ((b.right > wide + 1 || b.left < -1) && !scrolls(e.parentElement)) found.push('outside of the page: ' + named(e));
    if (e.tabIndex > 0) found.push('out of order: ' + named(e));
  }
  for (const e of document.querySelectorAll('th'))
    if (!e.textContent.trim()) found.push('a header without a name: ' + named(e));
  const walk = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  for (let n = walk.nextNode(); n; n = walk.nextNode()) {
    const e = n.parentElement;
    if (!n.data.trim() || !seen(e) || e.closest('title, script, style, noscript')) continue;
    if (e.getBoundingClientRect().width === 0) continue;
    const drawn = e instanceof SVGGraphicsElement;
    const size = parseFloat(getComputedStyle(e).fontSize) * (drawn ? e.getScreenCTM().a : 1);
    if (size < 9) found.push(`letters of ${size.toFixed(1)} pixels: ` + named(e));
    const range = document.createRange();
    range.selectNodeContents(n);
    if (!drawn && !scrolls(e) && range.getBoundingClientRect().right > wide + 1) found.push('cut off: ' + named(e));
  }
  return [...new Set(found)];
}"""


@dataclass
class Visitor:
    """Somebody at a window. page: of the browser. root: the address before that of each page.

    found: what `inspect` found, by the name of a page and the width.
    """

    page: Any
    root: str
    widths: Sequence[int] = WIDTHS
    found: dict[tuple[str, int], list[str]] = field(default_factory=dict)

    @classmethod
    def entering(cls, page: Any, address: str) -> "Visitor":
        """Go in by the address that a window announces. Whatever a page asks is answered with yes."""
        root = re.match(r"http://[^/]+/[^/]+", address)
        assert root is not None
        page.set_default_timeout(120_000)
        page.on("dialog", lambda dialog: dialog.accept())
        page.goto(address)
        page.wait_for_url("**/table")
        page.wait_for_load_state()
        return cls(page, root[0])

    def goto(self, path: str) -> None:
        self.page.goto(self.root + path)

    def send(
        self, action: str, fields: Mapping[str, str] | None = None, which: Mapping[str, str] | None = None
    ) -> None:
        """Send the form of this page with an action, its fields as they stand but for some; and wait for the answer.

        which: values of fields by which one of several forms is meant.
        """
        with self.page.expect_navigation():
            self.page.evaluate(_SEND, [action, dict(fields or {}), dict(which or {})])

    def until(self, text: str) -> None:
        """Wait until the page says a text, loading it again where it does not by itself."""
        self.page.get_by_text(text).first.wait_for()

    def inspect(self, name: str) -> None:
        """Have axe-core and the eye look at the page as it is, folded parts opened, at each width."""
        self.page.evaluate(axe_core.script())
        self.page.evaluate("document.querySelectorAll('details').forEach((part) => { part.open = true; })")
        for width in self.widths:
            self.page.set_viewport_size({"width": width, "height": 900})
            answer = self.page.evaluate("(tags) => axe.run({ runOnly: tags })", RULES)
            assert {"color-contrast", "html-has-lang"} <= {rule["id"] for rule in answer["passes"]}, name
            rules = answer["violations"]
            broken = [f"{rule['id']}: {node['html'][:200]}" for rule in rules for node in rule["nodes"]]
            if broken := broken + self.layout():
                self.found[name, width] = broken

    def layout(self) -> list[str]:
        """What stands outside of the page, is too small to read, out of the order of the keyboard, or has no name."""
        found: list[str] = self.page.evaluate(_LAYOUT)
        return found
