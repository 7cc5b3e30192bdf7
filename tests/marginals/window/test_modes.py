"""What the window writes is for its owner alone, under any umask and in folders that were there; a release is not."""

import os
import stat
from pathlib import Path

import pytest

pytest.importorskip("werkzeug", reason="werkzeug is not installed")
pytest.importorskip("tomlkit", reason="tomlkit is not installed")

from marginals.files import replace_file
from marginals.window.project import NOTES
from small_release import write_config
from window_clients import browsing


@pytest.mark.slow
@pytest.mark.parametrize("umask", [0o022, 0o000], ids="{:03o}".format)
def test_all_but_a_release_is_for_the_owner_alone(tmp_path: Path, umask: int, monkeypatch: pytest.MonkeyPatch) -> None:
    config = write_config(tmp_path)
    for folder in (NOTES, "hierarchies"):
        (tmp_path / folder).mkdir(exist_ok=True)
        (tmp_path / folder).chmod(0o777)
    there = {path for path in tmp_path.rglob("*") if path.name != NOTES} - {config}
    config.chmod(0o666)
    monkeypatch.chdir(tmp_path)
    before = os.umask(umask)
    try:
        with browsing(config) as browser:
            fields = browser.fields_of(browser.get("/policy").get_data(as_text=True), "/policy")
            browser.post("/policy", {**fields, "k_link": "6"})
            browser.post("/search", {})
            browser.until("/search", "Candidate 1")
            browser.post("/publish", {"looked": "yes", "out": "release"})
            browser.until("/publish", "The release is written to the folder release")
            window = browser.window
            window.file.replace(window.file.version, window.file.text + "\n# more\n", {"hierarchies/x.csv": b"a;*\n"})
        replace_file(tmp_path / "plain", b"")
    finally:
        os.umask(before)
    public = {tmp_path / "plain", tmp_path / "release", *(tmp_path / "release").rglob("*")}
    for path in {*tmp_path.rglob("*")} - there:
        kind = 0o777 if path.is_dir() else 0o666
        wanted = kind & ~umask if path in public else kind & 0o700
        assert oct(stat.S_IMODE(path.stat().st_mode)) == oct(wanted), path
