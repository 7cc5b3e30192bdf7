"""What a public project has: how to cite it, how to report a wrong "safe", and commands that say what they do."""

import re
import subprocess

import pytest

import marginals
from project import ROOT

yaml = pytest.importorskip("yaml", reason="PyYAML is not installed; `make setup` installs it")
MAKEFILE = (ROOT / "Makefile").read_text(encoding="utf-8")
TARGETS = re.findall(r"^([a-z]+):", MAKEFILE, re.MULTILINE)


def test_the_citation_has_what_its_schema_demands() -> None:
    """Citation File Format 1.2.0: the required keys of the file, of each person and of each reference."""
    citation = yaml.safe_load((ROOT / "CITATION.cff").read_text(encoding="utf-8"))
    assert {"cff-version", "message", "title", "authors"} <= citation.keys()
    assert citation["cff-version"] == "1.2.0"
    assert citation["type"] == "software"
    assert citation["version"] == marginals.__version__
    for reference in (citation, *citation["references"]):
        assert reference["title"]
        assert reference["authors"]
        assert all(
            {"name"} <= author.keys() or {"family-names", "given-names"} <= author.keys()
            for author in reference["authors"]
        )
    kinds = {"conference-paper": {"conference", "collection-title"}, "article": {"journal", "volume", "issue"}}
    for reference in citation["references"]:
        assert kinds[reference["type"]] | {"year"} <= reference.keys()
        assert re.fullmatch(r"10\.\d{4,}/\S+", reference.get("doi", "10.1145/0"))


def test_the_papers_that_the_code_cites_can_be_cited() -> None:
    citation = yaml.safe_load((ROOT / "CITATION.cff").read_text(encoding="utf-8"))
    papers = {
        "".join(author["family-names"][0] for author in reference["authors"]) + str(reference["year"])[2:]
        for reference in citation["references"]
    }
    code = "\n".join(
        path.read_text(encoding="utf-8")
        for floor in ("models", "checks", "marginals")
        for path in (ROOT / floor).rglob("*.py")
    )
    assert set(re.findall(r"\b(?:KG06|MKGV07|TZ09|TZ11|LSFB09)\b", code)) <= papers


def test_every_target_says_what_it_does_and_help_lists_it() -> None:
    listed = subprocess.run(["make", "help"], cwd=ROOT, capture_output=True, text=True, check=True).stdout
    for target in TARGETS:
        assert re.search(rf"^{target}: .*##", MAKEFILE, re.MULTILINE), f"{target} has no comment"
        assert re.search(rf"^ *make {target} +\S", listed, re.MULTILINE), f"help does not list {target}"
    assert re.search(r"^\.PHONY: (.*)$", MAKEFILE, re.MULTILINE)[1].split() == TARGETS  # type: ignore[index]


def test_hooks_run_the_linters_of_the_makefile() -> None:
    hooks = yaml.safe_load((ROOT / ".pre-commit-config.yaml").read_text(encoding="utf-8"))["repos"][0]["hooks"]
    linters = [hook["entry"].removeprefix(".venv/bin/").split()[:2] for hook in hooks]
    recipe = MAKEFILE.partition("\nlint:")[2].partition("\n\n")[0]
    for words in linters:
        assert " ".join(word for word in words if not word.startswith("-")) in recipe


def test_the_security_policy_says_what_counts_and_how_to_report_it() -> None:
    text = (ROOT / "SECURITY.md").read_text(encoding="utf-8")
    assert 'A wrong "safe"' in text
    assert "A leak" in text
    assert "## How to report" in text
