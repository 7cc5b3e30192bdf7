"""The walk through the window by clicks, from a table to its signed release, and the pictures of docs/how_to/window.md.

    python tests/support/window_pictures.py NMES1988.csv docs/how_to/window

draws them anew from a copy of the table in a folder of its own, since a window on a folder with a config begins later. It
needs playwright, Pillow and a Chromium, and says how many clicks the walk took.
"""

import io
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

WIDTH, COLOURS = 1440, 128


def draw(page: Any, picture: Path) -> None:
    from PIL import Image

    page.wait_for_selector("body:not([data-awaited])")
    drawn = Image.open(io.BytesIO(page.screenshot(full_page=True))).convert("RGB")
    drawn.resize((drawn.width * 2 // 3, drawn.height * 2 // 3)).quantize(COLOURS).save(picture, optimize=True)


def walk(page: Any, folder: Path | None = None) -> int:
    """Go from a table to its signed release, and return the number of clicks. folder: for a picture of each screen."""
    clicks = 0

    def click(button: Any) -> None:
        nonlocal clicks
        clicks += 1
        button.first.click()
        page.wait_for_load_state()

    def screen(name: str) -> None:
        if folder is not None:
            draw(page, folder / f"{name}.png")

    click(page.get_by_role("button", name="Look at the table"))
    screen("table")
    while (answers := page.locator("form[action$='/table/answer'] button.main")).count():
        click(answers)
    click(page.get_by_role("button", name="Yes, the piles are right"))
    click(page.get_by_role("link", name="Next: Who may see it"))
    screen("policy")
    click(page.get_by_role("button", name="Choose: Public file"))
    click(page.get_by_role("button", name="Save, and look for tables"))
    page.get_by_role("heading", name=re.compile("^Found")).wait_for(timeout=600_000)
    screen("found")
    click(page.get_by_role("link", name="Next: Look and sign"))
    screen("sign")
    click(page.get_by_label("I have looked"))
    click(page.get_by_role("button", name=re.compile("^Publish")))
    page.get_by_role("heading", name="Verified from its files alone: all holds").wait_for()
    screen("done")
    return clicks


def main(table: Path, folder: Path) -> None:
    from playwright.sync_api import sync_playwright

    with TemporaryDirectory() as place:
        own = Path(place) / table.stem  # pages show its name
        own.mkdir()
        command = [sys.executable, "-u", "-m", "marginals", "open", str(shutil.copy(table, own))]
        server = subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env={**os.environ, "BROWSER": "true"})
        assert server.stdout is not None
        try:
            address = server.stdout.readline().split()[-1]
            with sync_playwright() as playwright:
                browser = playwright.chromium.launch(executable_path=shutil.which("chromium"), args=["--no-sandbox"])
                page = browser.new_page(viewport={"width": WIDTH, "height": 900})
                page.goto(address)
                page.wait_for_url("**/table")
                print(f"{walk(page, folder)} clicks")
                browser.close()
        finally:  # else whoever reads what this prints waits for the window to end
            server.terminate()
            server.wait()


if __name__ == "__main__":
    main(*map(Path, sys.argv[1:]))
