"""What users can name is documented with examples; the pages know every key and load nothing from elsewhere."""

import inspect
import json
import re
import tomllib
from collections.abc import Iterator, Mapping
from dataclasses import fields
from functools import cached_property
from pathlib import Path
from typing import Any

import pytest

import marginals
from command_line import main
from marginals import interchange
from marginals.example import release

ROOT = Path(__file__).parent.parent
PAGES = ROOT / "docs"
PUBLIC = {f"marginals.{name}": getattr(marginals, name) for name in marginals.__all__}
FORMATS = {f"marginals.interchange.{name}": getattr(interchange, name) for name in interchange.__all__}
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
    return (PAGES / f"{name}.md").read_text(encoding="utf-8")


@pytest.mark.parametrize("name", PUBLIC)
def test_a_public_name_is_explained_by_an_example(name: str) -> None:
    assert ">>> " in (inspect.getdoc(PUBLIC[name]) or "")


@pytest.mark.parametrize("name", FORMATS)
def test_a_name_of_interchange_is_explained(name: str) -> None:
    assert inspect.getdoc(FORMATS[name])


@pytest.mark.parametrize("name", CLASSES)
def test_every_public_method_is_explained(name: str) -> None:
    assert [method for method, doc in own_methods(CLASSES[name]) if not doc] == []


def test_every_method_of_a_release_is_explained_by_an_example() -> None:
    assert [method for method, doc in own_methods(marginals.Release) if ">>> " not in (doc or "")] == []


def test_the_page_on_python_shows_every_public_name() -> None:
    shown = set(re.findall(r"^\.\. auto\w+:: (\S+)$", page("api"), re.MULTILINE))
    assert PUBLIC.keys() | FORMATS.keys() <= shown


def config_keys() -> dict[str, str]:
    """The keys that the page on configs explains, with their defaults as it gives them."""
    return dict(re.findall(r"^\| `([a-zA-Z_.]+)` \| (.*?) \|", page("config"), re.MULTILINE))


UNKNOWN = {
    "": "unheard_of = 1",
    "release.": '[data]\npath = "t.csv"\n[release]\nunheard_of = 1',
    "data.": "[data]\nunheard_of = 1",
    "attributes.NAME.": '[data]\npath = "t.csv"\n[attributes.NAME]\nunheard_of = 1',
    "privacy.": '[data]\npath = "t.csv"\n[privacy]\nunheard_of = 1',
    "base.": '[data]\npath = "t.csv"\n[base]\nunheard_of = 1',
    "search.": '[data]\npath = "t.csv"\n[search]\nunheard_of = 1',
    "risk.": '[data]\npath = "t.csv"\n[attributes.NAME]\nrole = "sensitive"\n[risk]\nunheard_of = 1',
    "risk.interactions.": (
        '[data]\npath = "t.csv"\n[attributes.NAME]\nrole = "sensitive"\n[[risk.interactions]]\nunheard_of = 1'
    ),
    "population.": '[data]\npath = "t.csv"\n[attributes.NAME]\nrole = "sensitive"\n[population]\nunheard_of = 1',
    "sweep.": '[data]\npath = "t.csv"\n[attributes.NAME]\nrole = "sensitive"\n[sweep]\nunheard_of = 1',
    "risk.linkage.": '[data]\npath = "t.csv"\n[attributes.NAME]\nrole = "sensitive"\n[risk.linkage]\nunheard_of = 1',
    "risk.rules.": '[data]\npath = "t.csv"\n[attributes.NAME]\nrole = "sensitive"\n[[risk.rules]]\nunheard_of = 1',
}
"""For each section a config with an unknown key in it."""


@pytest.mark.parametrize("section", UNKNOWN)
def test_the_page_on_configs_explains_the_keys_that_are_read_and_no_others(tmp_path: Path, section: str) -> None:
    """A config with an unknown key is refused by naming those that are known."""
    file = tmp_path / "release.toml"
    file.write_text(UNKNOWN[section])
    with pytest.raises(marginals.InputError, match="unknown key") as refusal:
        marginals.read_config(file)
    known = set(str(refusal.value).split("; known are ")[1].split(", "))
    if not section:
        assert known == {key.split(".")[0] for key in config_keys()}
        return
    assert known == {key for key in config_keys() if re.fullmatch(re.escape(section) + r"[a-z_]+", key)}


def test_the_page_on_configs_gives_the_defaults_of_a_policy() -> None:
    told = {
        key.split(".")[-1]: given for key, given in config_keys().items() if key.startswith(("privacy.", "search."))
    }
    told["base"] = config_keys()["base.table"]
    defaults = {
        name: None if given == "none" else tomllib.loads(f"value = {given.strip('`')}")["value"]
        for name, given in told.items()
    }
    empty = {name: () for name, value in defaults.items() if value == []}
    assert defaults | empty == {field.name: field.default for field in fields(marginals.Policy)}


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


def html_pages(folder: Path) -> dict[str, str]:
    return {str(path.relative_to(folder)): path.read_text(encoding="utf-8") for path in folder.rglob("*.html")}


def test_the_built_documentation_has_every_page_and_loads_nothing_from_elsewhere() -> None:
    """`make docs` builds it, without a warning."""
    pages = html_pages(ROOT / "build" / "docs")
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
    assert words <= 17_000
