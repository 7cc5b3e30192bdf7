"""Pages for people: what users can name is explained, how-tos and the README run, commands say what they do."""

import contextlib
import inspect
import json
import re
import shlex
import shutil
import subprocess
from collections import Counter
from collections.abc import Iterator, Mapping
from functools import cached_property
from hashlib import sha256
from pathlib import Path
from pkgutil import resolve_name
from typing import Any

import pandas as pd
import pytest
from click.testing import CliRunner

import axe_core
import marginals
import report_picture
from checks import KCombinatorial, KLink, MaxentDiversity, MinCell, Question, Register, Verdict, parse_diversity
from command_line import main
from marginals.example import release
from models import Collection
from project import ROOT
from public_names import public_names
from running_pages import NOT_PRIVATE, is_shown, run_page
from shared_folder import copy_shared

DOCS = ROOT / "docs"
DOORS = (marginals, marginals.auditing, marginals.recoding, marginals.risk)
PUBLIC = {f"{door.__name__}.{name}": getattr(door, name) for door in DOORS for name in public_names(door)}
CLASSES = {name: value for name, value in PUBLIC.items() if inspect.isclass(value)}


def own_methods(kind: type) -> Iterator[tuple[str, str | None]]:
    """The public methods and properties that a class of ours defines or inherits from one, with their docstrings."""
    ours = [base for base in kind.__mro__ if base.__module__.partition(".")[0] in ("models", "checks", "marginals")]
    defined = {name: value for base in reversed(ours) for name, value in vars(base).items()}
    for name, value in defined.items():
        named = isinstance(value, classmethod | staticmethod | cached_property | property) or inspect.isfunction(value)
        if named and not name.startswith("_"):
            yield name, value.__doc__


def page(name: str) -> str:
    return (DOCS / f"{name}.md").read_text(encoding="utf-8")


@pytest.mark.parametrize("name", PUBLIC)
def test_a_public_name_is_explained_by_an_example(name: str) -> None:
    assert ">>> " in (inspect.getdoc(PUBLIC[name]) or "")


def test_every_public_method_is_explained_and_those_of_a_release_by_an_example() -> None:
    assert [(name, method) for name, kind in CLASSES.items() for method, doc in own_methods(kind) if not doc] == []
    shown = {method for method, doc in own_methods(marginals.Release) if ">>> " in (doc or "")}
    assert {method for method, _ in own_methods(marginals.Release)} - shown == {"fit", "plot"}, "both need an extra"


def test_the_page_on_python_shows_every_public_name() -> None:
    shown = set(re.findall(r"^\.\. auto\w+:: (\S+)$", page("api"), re.MULTILINE))
    assert PUBLIC.keys() <= shown


def test_the_example_of_guarantees_is_right() -> None:
    """By hand, since each disease leaves one number open: how many nurses in town A have it. Then by the checks."""
    shown = re.findall(r"^\| (A|B|nurse|clerk) \| (\d+) \| (\d+) \| (\d+) \|$", page("guarantees"), re.MULTILINE)
    counts = {(of, sick): int(n) for of, *both, _ in shown for sick, n in zip(("flu", "gout"), both, strict=True)}
    possible = {
        sick: [
            n
            for n in range(61)
            if min(counts["A", sick] - n, counts["nurse", sick] - n, counts["clerk", sick] - counts["A", sick] + n) >= 0
        ]
        for sick in ("flu", "gout")
    }
    assert max(possible["flu"]) + max(possible["gout"]) == 6
    assert [counts["A", sick] - max(possible[sick]) for sick in possible] == [9, 0]
    assert [counts["nurse", sick] - max(possible[sick]) for sick in possible] == [0, 9]

    rows = [("A", "nurse", "flu"), ("A", "nurse", "gout")] * 3 + [("A", "clerk", "flu"), ("B", "nurse", "gout")] * 9
    rows += [("B", "clerk", "flu"), ("B", "clerk", "gout")] * 18
    assert Counter((of, sick) for *ofs, sick in rows for of in ofs) == counts
    people = marginals.read_table(
        pd.DataFrame(rows, columns=["town", "job", "disease"]),
        {"town": "quasi-identifier", "job": "quasi-identifier", "disease": "sensitive"},
    )
    margins = [people.domain.mask({of: 0, "disease": 0}) for of in ("town", "job")]
    question = Question(Collection.of(people.cube, margins), ("disease",))
    verdicts = {
        KLink(10): Verdict.HOLDS,
        MinCell(3): Verdict.HOLDS,
        KCombinatorial(10): Verdict.FAILS,
        KCombinatorial(6): Verdict.HOLDS,
        limited(80): Verdict.FAILS,
        limited(86): Verdict.HOLDS,
        Register(limited(86).diversity, "disease"): Verdict.FAILS,
    }
    assert {claim: claim.check(question).verdict for claim in verdicts} == verdicts


def limited(percent: int) -> MaxentDiversity:
    """No disease has more than so many percent."""
    return MaxentDiversity(parse_diversity(f"alpha:{percent / 100} of flu, gout"), "disease")


def keys_of(content: Any) -> Iterator[str]:
    if isinstance(content, Mapping):
        for key, value in content.items():
            yield key
            yield from keys_of(value)
    elif isinstance(content, list):
        for value in content:
            yield from keys_of(value)


def test_the_page_on_bundles_explains_every_key_of_a_descriptor(tmp_path: Path) -> None:
    written = release.write(tmp_path / "release")
    descriptor = json.loads((tmp_path / "release" / "datapackage.json").read_text(encoding="utf-8"))
    prose = re.sub(r"```.*?```", "", page("bundle"), flags=re.DOTALL)
    explained = {word for code in re.findall(r"`([^`]+)`", prose) for word in re.findall(r"[\w$]+", code)}
    assert set(keys_of(descriptor)) - set(written.domain.attributes) <= explained


def test_the_page_on_bundles_lists_every_file_and_folder(tmp_path: Path) -> None:
    release.write(tmp_path / "release")
    for path in (tmp_path / "release").iterdir():
        assert re.search(rf"^{re.escape(path.name)}[/ ]", page("bundle"), re.MULTILINE)


def test_the_built_documentation_has_every_page_and_loads_nothing_from_elsewhere() -> None:
    """`make docs` builds it, without a warning."""
    folder = ROOT / "build" / "docs"
    pages = {str(path.relative_to(folder)): path.read_text(encoding="utf-8") for path in folder.rglob("*.html")}
    if not pages:
        pytest.skip("the documentation is not built: make docs")
    for command_name in main.commands:
        assert f"marginals {command_name}" in pages["command_line.html"]
    for notebook in (ROOT / "notebooks").glob("*.ipynb"):
        assert f"notebooks/{notebook.stem}.html" in pages
    for name, content in pages.items():
        assert not re.search(r'<(?:script|img|link)[^>]+(?:src|href)="(?:https?:)?//', content), name


def test_the_written_pages_are_short() -> None:
    """Words outside of code and of what scripts write; pages that are generated as a whole stay aside."""
    generated = {"benchmarks.md", "definitions.md", "papers.md"}
    words = 0
    for path in sorted((ROOT / "docs").rglob("*.md")):
        text = re.sub(r"<!-- made by.*?<!-- end -->|```.*?```", "", path.read_text(encoding="utf-8"), flags=re.DOTALL)
        counted = [word for word in re.sub(r"\]\([^)]*\)", "]", text).split() if re.search(r"\w", word)]
        words += 0 if path.name in generated else len(counted)
    assert words <= 14_500


# The how-tos run as they stand, command by command; glossary and references know what the code says.


HOW_TOS = sorted((ROOT / "docs" / "how_to").glob("*.md"))


@pytest.fixture(scope="module")
def work(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Where somebody typed `marginals demo demo`, with which most pages begin; what it said is in printed.txt."""

    def make(folder: Path) -> None:
        with contextlib.chdir(folder):
            result = CliRunner().invoke(main, ["demo", "demo"])
        assert result.exit_code == 0
        (folder / "printed.txt").write_text(result.stdout)

    return copy_shared(tmp_path_factory, "how_to", make)


def run(command: str, work: Path) -> str:
    """What a line of a page prints: one of our commands, a copy, or a file without some lines."""
    program, *arguments = shlex.split(command)
    if command == "marginals demo demo":
        shutil.copytree(work / "demo", "demo")
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
        from window_clients import browsing

        with browsing(Path(arguments[1])) as browser:
            assert browser.get("/").status_code == 200
        return ""
    answer = CliRunner().invoke(main, arguments)
    assert answer.exit_code in ((0, 1) if command in NOT_PRIVATE else (0,)), f"{command}: {answer.output}"
    assert answer.exception is None or isinstance(answer.exception, SystemExit), command
    return answer.output


@pytest.mark.parametrize("page", HOW_TOS, ids=lambda page: page.stem)
def test_a_how_to_runs_as_it_stands(page: Path, work: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    run_page(page, lambda line: run(line, work))


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


def test_every_name_of_the_reference_exists() -> None:
    reference = (ROOT / "docs" / "api.md").read_text(encoding="utf-8")
    names = re.findall(r"^\.\. auto(?:class|function|data|exception):: ([\w.]+)", reference, re.MULTILINE)
    assert len(names) > 50
    for name in names:
        resolve_name(name)


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


# The README is short, its Python runs as written after its first command, and it shows what that command says.


README = (ROOT / "README.md").read_text(encoding="utf-8")
PICTURE = ROOT / "docs" / "report.png"


def test_the_notebook_example_runs_after_the_demo(work: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(work)
    names: dict[str, object] = {}
    for block in re.findall(r"```python\n(.*?)```", README, re.DOTALL):
        exec(block, names)
    assert (work / "release" / "datapackage.json").is_file()


def test_the_demo_prints_what_the_readme_shows(work: Path) -> None:
    printed = (work / "printed.txt").read_text()
    (lines,) = re.findall(r"```text\n(.*?)```", README, re.DOTALL)
    assert is_shown(lines, printed), lines
    assert printed.startswith(lines.splitlines()[0])
    assert len(lines.splitlines()) <= 8


def test_the_readme_is_short() -> None:
    """Links count by their words alone, and so do tables and code."""
    words = re.sub(r"\]\([^)]*\)", "]", README)
    assert len(re.findall(r"\w[\w'.,:-]*", words)) <= 800


def test_the_report_of_the_demo_folds_into_seven_screens(browser: Any, work: Path) -> None:
    page = browser.new_page(viewport={"width": 1280, "height": 800})
    page.goto((work / "demo" / "release" / "report.html").as_uri())
    assert page.evaluate("document.documentElement.scrollHeight") <= 7 * 800
    page.close()


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("width", [1280, 400])
@pytest.mark.parametrize("name", ["release/report.html", "release-steward.html"])
def test_axe_finds_nothing_in_the_pages_of_the_demo(
    browser: Any, work: Path, name: str, width: int, scheme: str
) -> None:
    page = browser.new_page(viewport={"width": width, "height": 800}, color_scheme=scheme)
    page.goto((work / "demo" / name).as_uri())
    assert axe_core.violations(page) == {}
    page.close()


def test_the_picture_is_of_the_report_that_the_demo_writes(work: Path) -> None:
    pytest.importorskip("PIL")
    report = (work / "demo" / "release" / "report.html").read_bytes()
    assert report_picture.named_by(PICTURE) == sha256(report).hexdigest(), report_picture.__doc__


# What a public project has: how to cite it, how to report a wrong "safe", and commands that say what they do.


MAKEFILE = (ROOT / "Makefile").read_text(encoding="utf-8")
TARGETS = re.findall(r"^([a-z]+):", MAKEFILE, re.MULTILINE)


def test_the_papers_that_the_code_cites_are_written_out_and_can_be_cited() -> None:
    yaml = pytest.importorskip("yaml", reason="PyYAML is not installed; `make setup` installs it")
    citation = yaml.safe_load((ROOT / "CITATION.cff").read_text(encoding="utf-8"))
    papers = {
        "".join(author["family-names"][0] for author in reference["authors"]) + str(reference["year"])[2:]
        for reference in citation["references"]
    }
    references = (ROOT / "docs" / "references.md").read_text(encoding="utf-8")
    modules = (path for floor in ("models", "checks", "marginals") for path in (ROOT / floor).rglob("*.py"))
    code = "\n".join(path.read_text(encoding="utf-8") for path in modules)
    cited = set(re.findall(r"\b(?:KG|MKGV|TZ|LSFB)[0-9]{2}\b", code))
    assert cited <= papers
    assert cited <= set(re.findall(r"^\| ([A-Z]+[0-9]{2}) \|", references, re.MULTILINE))


def test_every_target_says_what_it_does_and_help_lists_it() -> None:
    listed = subprocess.run(["make", "help"], cwd=ROOT, capture_output=True, text=True, check=True).stdout
    for target in TARGETS:
        assert re.search(rf"^{target}: .*##", MAKEFILE, re.MULTILINE), f"{target} has no comment"
        assert re.search(rf"^ *make {target} +\S", listed, re.MULTILINE), f"help does not list {target}"
    assert re.search(r"^\.PHONY: (.*)$", MAKEFILE, re.MULTILINE)[1].split() == TARGETS  # type: ignore[index]
