"""The how-tos run as they stand, command by command; glossary and references know what the code says."""

import re
import shlex
import shutil
import subprocess
from importlib.util import find_spec
from pathlib import Path

import pytest
from click.testing import CliRunner

import shown_outputs
from command_line import main
from marginals.window.project import Project
from shared_folder import copy_shared

ROOT = Path(__file__).parent.parent
PAGES = sorted((ROOT / "docs" / "how_to").glob("*.md"))

NOT_PRIVATE = {
    "marginals assess release.toml",
    "marginals verify first second",
    "marginals verify first third",
    "marginals audit --spec audit.toml --report audit.html",
}
"""Commands that answer with exit status 1 here, as their pages say: a raw table, releases that may be undecided, and
tables that give something away."""


@pytest.fixture(scope="module")
def made_demo(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """What `marginals demo demo` makes, with which most pages begin: once for all of them."""

    def make(folder: Path) -> None:
        assert CliRunner().invoke(main, ["demo", str(folder / "demo")]).exit_code == 0

    return copy_shared(tmp_path_factory, "how_to", make) / "demo"


def run(command: str, made_demo: Path) -> str:
    """What a line of a page prints: one of our commands, a copy, or a file without some lines."""
    program, *arguments = shlex.split(command)
    if command == "marginals demo demo":
        shutil.copytree(made_demo, "demo")
        return ""
    if program == "cp":
        *options, source, target = arguments
        copy = shutil.copytree if options == ["-r"] else shutil.copy
        copy(source, target)
        return ""
    if program == "grep":
        _, pattern, source, _, target = arguments
        lines = Path(source).read_text().splitlines(keepends=True)
        Path(target).write_text("".join(line for line in lines if not re.search(pattern, line)))
        return ""
    assert program == "marginals", command
    if arguments[0] == "open":  # a window that would stay open
        project = Project.at(Path(arguments[1]))
        assert project.config is not None
        return ""
    answer = CliRunner().invoke(main, arguments)
    assert answer.exit_code in ((0, 1) if command in NOT_PRIVATE else (0,)), f"{command}: {answer.output}"
    assert answer.exception is None or isinstance(answer.exception, SystemExit), command
    return answer.output


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


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_a_how_to_runs_as_it_stands(
    page: Path, made_demo: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    names: dict[str, object] = {"__name__": "how_to"}
    blocks = re.findall(r"```(sh|toml|python|pycon|r|text)\n(.*?)```", page.read_text(encoding="utf-8"), re.DOTALL)
    assert blocks
    printed = ""
    for language, block in blocks:
        if language == "sh":
            printed = "".join(run(line, made_demo) for line in block.splitlines())
        elif language == "text":
            assert shown_outputs.is_shown(block, printed), printed
        elif language == "pycon":
            assert shown_outputs.wrong_answers(block, names, page.name) == ""
        elif language == "toml":
            edit(block)
        elif language == "r":
            if shutil.which("Rscript"):
                subprocess.run(["Rscript", "--vanilla", "-e", block], check=True, capture_output=True)
        elif "sklearn" not in block or find_spec("sklearn"):
            exec(block, names)


def words_of_the_glossary() -> set[str]:
    page = (ROOT / "docs" / "glossary.md").read_text(encoding="utf-8")
    rows = re.findall(r"^\| ([^|]+) \| .* \|$", page, re.M)
    return {word for words in rows if words != "word" for word in words.split(", ")}


def rows_of_the_house() -> dict[str, tuple[set[str], dict[str, str]]]:
    """For each wing its files, and the module of each word that its row names."""
    page = (ROOT / "docs" / "house.md").read_text(encoding="utf-8")
    house = {}
    for wing, files, words in re.findall(r"^\| `([a-z_.]+)` \| ([^|]*)\| ?([^|]*)\|$", page, re.M):
        homes = {}
        for part in filter(None, words.strip().split("; ")):
            file, _, listed = part.rpartition(": ")
            place = f"{wing}.{file.strip('`')}" if file else wing
            homes |= dict.fromkeys(listed.split(", "), place)
        house[wing] = (set(re.findall(r"`(\w+)`", files)), homes)
    return house


def test_the_house_says_in_which_file_each_word_of_the_glossary_lives() -> None:
    homes = {word: place for _, words in rows_of_the_house().values() for word, place in words.items()}
    assert set(homes) == words_of_the_glossary()
    assert len(homes) > 40
    for place in homes.values():
        assert (ROOT / f"{place.replace('.', '/')}.py").is_file(), place


def test_the_house_shows_every_wing_and_every_file() -> None:
    page = (ROOT / "docs" / "house.md").read_text(encoding="utf-8")
    modules = {
        ".".join(path.relative_to(ROOT).with_suffix("").parts)
        for floor in ("models", "checks", "marginals")
        for path in (ROOT / floor).rglob("*.py")
        if path.name != "__init__.py"
    }
    shown = {
        f"{wing}.{file}" if files else wing
        for wing, (files, _) in rows_of_the_house().items()
        for file in files or ("",)
    }
    below = set(
        re.findall(r"`((?:models|checks|marginals)\.\w+)`(?=[,;. ]| and)", re.sub(r"^\|.*$", "", page, flags=re.M))
    )
    pages = {f"marginals.window.{page}" for page in ("table", "levels", "policy", "search", "publish", "explore")}
    assert modules - shown - below == pages
    assert shown <= modules


def test_every_work_that_a_docstring_cites_is_written_out() -> None:
    written = set(
        re.findall(r"^\| ([A-Z]+[0-9]{2}) \|", (ROOT / "docs" / "references.md").read_text(encoding="utf-8"), re.M)
    )
    for floor in ("models", "checks", "marginals"):
        for module in (ROOT / floor).rglob("*.py"):
            cited = set(re.findall(r"\b(?:KG|MKGV|TZ|LSFB)[0-9]{2}\b", module.read_text(encoding="utf-8")))
            assert cited <= written, module
