"""What a page in Markdown tells its reader to type, run block by block; it needs nothing but Python.

    python tests/support/running_pages.py README.md docs/how_to/analyse.md

runs each page in an empty folder of its own, with the `marginals` that this Python has, and prints a transcript.
"""

import contextlib
import doctest
import os
import re
import shlex
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable, Mapping
from importlib.util import find_spec
from pathlib import Path

NOT_PRIVATE = {
    "marginals assess release.toml",
    "marginals verify first second",
    "marginals verify first third",
    "marginals audit --spec audit.toml --report audit.html --bounds bounds.csv",
}
"""Commands that answer with exit status 1 here, as their pages say: a raw table, releases that may be undecided, and
tables that give something away."""


def is_shown(lines: str, printed: str) -> bool:
    """Whether the lines of a page stand in the output, whole and in this order; only a line `...` leaves some out."""
    parts = lines.rstrip("\n").split("\n...")
    pattern = r"\n(?:.*\n)*?".join(re.escape(part.lstrip("\n")) for part in parts)
    return re.search(rf"(?m)^{pattern}$", printed) is not None


def wrong_answers(session: str, names: Mapping[str, object], page: str) -> str:
    """What a Python session of a page answers otherwise than the page shows; empty if all is as shown.

    `...` leaves out a part of a line, and blanks count as one.
    """
    differences: list[str] = []
    runner = doctest.DocTestRunner(optionflags=doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE)
    runner.run(doctest.DocTestParser().get_doctest(session, dict(names), page, page, 0), out=differences.append)
    return "".join(differences)


def edit(settings: str) -> None:
    """Put the settings of a page into the file that their comment names, each in the place of what was there."""
    named = re.search(r"# in (\S+?):", settings)
    assert named is not None, settings
    path = Path(named[1])
    config = path.read_text()
    section = "[search]"
    for line in settings.splitlines():
        if line.startswith("["):
            section = line
        elif "=" in line:
            key = line.partition("=")[0].strip()
            config, number = re.subn(
                rf"(?m)^#? ?{re.escape(key)} = .*$", line.partition("  #")[0].rstrip(), config, count=1
            )
            config = config if number else config.replace(f"{section}\n", f"{section}\n{line}\n")
    path.write_text(config)


def run_page(page: Path, run: Callable[[str], str]) -> None:
    """Run the blocks of a page in the working folder. run: a line of a shell, and what it prints."""
    names: dict[str, object] = {"__name__": page.stem}
    blocks = re.findall(r"```(sh|toml|python|pycon|r|text)\n(.*?)```", page.read_text(encoding="utf-8"), re.DOTALL)
    assert blocks
    printed = ""
    for language, block in blocks:
        if language == "sh":
            printed = "".join(map(run, block.splitlines()))
        elif language == "text":
            assert is_shown(block, printed), printed
        elif language == "pycon":
            assert (wrong := wrong_answers(block, names, page.name)) == "", wrong
        elif language == "toml":
            edit(block)
        elif language == "r":
            if shutil.which("Rscript"):
                subprocess.run(["Rscript", "--vanilla", "-e", block], check=True, capture_output=True)
        elif "sklearn" not in block or find_spec("sklearn"):
            exec(block, names)


def run_in_shell(line: str) -> str:
    """Run a line of a page by a shell, and print it; what it prints."""
    print(f"$ {line}", flush=True)
    command = shlex.split(line)
    if command[:2] == ["marginals", "open"]:
        return _look_at_the_window(command)
    if command[0] == "make":  # of a copy of the repository; without one, the README has `marginals demo demo`
        command = ["marginals", "demo", "demo"] if command[1] == "demo" else ["true"]
    ran = subprocess.run(command, capture_output=True, text=True, check=False)
    print(ran.stdout, ran.stderr, sep="", flush=True)
    assert ran.returncode in ((0, 1) if line in NOT_PRIVATE else (0,)), line
    return ran.stdout


def _look_at_the_window(command: list[str]) -> str:
    window = subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env={**os.environ, "BROWSER": "true"})
    assert window.stdout is not None
    said = window.stdout.readline()
    window.terminate()
    window.wait()
    assert "http://127.0.0.1" in said, said
    return said


def main(pages: list[str]) -> None:
    os.environ["PATH"] = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    for page in map(Path.absolute, map(Path, pages)):
        print(f"== {page.name}", flush=True)
        with tempfile.TemporaryDirectory() as folder, contextlib.chdir(folder):
            run_page(page, run_in_shell)


if __name__ == "__main__":
    main(sys.argv[1:])
