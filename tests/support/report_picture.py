"""The picture in the README: the beginning of the demo's report, which the picture names by its hash.

    marginals demo /tmp/demo && python tests/support/report_picture.py /tmp/demo/release/report.html docs/report.png

makes it anew where the report has changed; it needs playwright, Pillow and a Chromium.
"""

import io
import shutil
import sys
from hashlib import sha256
from pathlib import Path

NAME = "report-sha256"
"""Of the text in the picture that holds the hash."""

WIDTH, HEIGHT = 1200, 1075
COLOURS = 256


def named_by(picture: Path) -> str | None:
    """The hash of the report that a picture shows; None where it names none."""
    from PIL import Image

    with Image.open(picture) as opened:
        return getattr(opened, "text", {}).get(NAME)


def draw(report: Path, picture: Path) -> None:
    """Draw the beginning of a report as a PNG file that names it."""
    from PIL import Image, PngImagePlugin
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        bundled = Path(playwright.chromium.executable_path)
        program = str(bundled) if bundled.exists() else shutil.which("chromium")
        browser = playwright.chromium.launch(executable_path=program, args=["--no-sandbox", "--hide-scrollbars"])
        page = browser.new_page(viewport={"width": WIDTH, "height": HEIGHT})
        page.goto(report.resolve().as_uri())
        drawn = page.screenshot()
        browser.close()
    told = PngImagePlugin.PngInfo()
    told.add_text(NAME, sha256(report.read_bytes()).hexdigest())
    Image.open(io.BytesIO(drawn)).convert("RGB").quantize(COLOURS).save(picture, pnginfo=told, optimize=True)


if __name__ == "__main__":
    draw(*map(Path, sys.argv[1:]))
