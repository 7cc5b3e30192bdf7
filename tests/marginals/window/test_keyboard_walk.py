"""From the roles to the published release by Tab, Enter, Space and arrows alone, on a phone, a tablet and a desk."""

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

import marginals
from small_release import write_config
from window_clients import served
from window_pages import WIDTHS
from written_bundles import SIGNATURE

_FOCUSED = """() => {
  const e = document.activeElement;
  if (!e || e === document.body) return null;
  const box = e.getBoundingClientRect(), style = getComputedStyle(e);
  const within = (from, to, size) => (2 * (to - from) > size ? from < size && to > 0 : from > -1 && to < size + 1);
  const label = e.getAttribute('aria-label') || e.labels?.[0]?.textContent || e.textContent;
  return {
    box: [box.left, box.right, box.top, box.bottom, innerWidth, innerHeight],
    name: label.trim().replace(/\\s+/g, ' '),
    outlined: e.matches(':focus-visible') && style.outlineStyle !== 'none' && parseFloat(style.outlineWidth) >= 2,
    seen: box.width > 0 && within(box.left, box.right, innerWidth) && within(box.top, box.bottom, innerHeight),
    wide: document.documentElement.scrollWidth > innerWidth,
  };
}"""

_MOST = 300
"""Presses of Tab until something must be reached."""


@dataclass
class Typist:
    """Somebody at a page who has a keyboard and no mouse, and looks at what is focused each time that it moves."""

    page: Any

    def reach(self, name: str) -> None:
        """Press Tab until what has a name is focused; whatever is focused on the way is outlined and in view.

        What is larger than half the window, such as a table that scrolls, is in view in part.
        """
        passed = []
        for _ in range(_MOST):
            self.page.keyboard.press("Tab")
            focused = self.page.evaluate(_FOCUSED)
            if focused is None:  # past the end: the next is the first again
                continue
            assert focused["outlined"], f"focus without an outline: {focused['name']}"
            assert focused["seen"], f"focus out of view: {focused['name']} at {focused['box']}"
            assert not focused["wide"], f"the page scrolls sideways: {self.page.url}"
            if focused["name"] == name:
                return
            passed.append(focused["name"])
        raise AssertionError(f"{name} is not reached, but {passed}")

    def press(self, name: str, key: str = "Enter") -> None:
        self.reach(name)
        self.page.keyboard.press(key)

    def follow(self, name: str, says: str) -> None:
        """Go to a button or link and press Enter, until a page says a text that the one before does not say."""
        self.press(name)
        self.page.get_by_text(says).first.wait_for()
        self.page.wait_for_load_state()


@pytest.mark.nightly
@pytest.mark.parametrize("width", WIDTHS)
def test_from_roles_to_the_published_release_by_keyboard_alone(
    width: int, browser: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    config = write_config(tmp_path)
    config.unlink()
    with served(tmp_path / "people.csv", monkeypatch) as address:
        page = browser.new_page(viewport={"width": width, "height": 900})
        page.set_default_timeout(120_000)
        page.goto(address)
        page.wait_for_url("**/table")
        page.wait_for_load_state()
        typist = Typist(page)
        typist.follow("Look at the table", "Your columns, as we read them")
        typist.press("disease", "Space")
        typist.reach("Move those to")
        assert page.get_by_label("Move those to").input_value() == "sensitive"
        typist.follow("Move", "Nothing changed.")  # it was guessed right
        if page.get_by_role("button", name="Yes, the piles are right").count():
            typist.follow("Yes, the piles are right", "The piles are confirmed.")
        typist.press("not said yet", "ArrowDown")
        assert page.get_by_label("each row is another person").is_checked()
        typist.follow("Save whose rows these are", "It is saved whose rows these are.")
        typist.follow("Next: Who may see it", "For everybody, to be put on the web.")
        typist.follow("Choose: Research file", "The policy is that of the choice: Research file.")
        typist.follow("Save, and look for tables", "Found: ")
        typist.follow("Next: Look and sign", "What you sign")
        typist.press(page.locator("label", has_text="I have looked").inner_text().strip(), "Space")
        tables = page.get_by_role("button", name="Publish exactly these").text_content()
        typist.follow(tables, "The release is written to the folder release")
        page.close()
    assert marginals.open_release(tmp_path / "release").verify().ok
    assert (tmp_path / "release" / SIGNATURE).is_file()
    policy = marginals.read_config(config).policy
    assert (policy.k_link, policy.min_cell) == (5, 2)
