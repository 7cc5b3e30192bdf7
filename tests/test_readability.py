"""Plain English: docstrings begin with a noun or a verb, sentences are short, and no name belongs to a private dialect."""

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from project import ROOT

MOST_WORDS = 25

FIRST_WORDS = """
i you he she it we they them us this that these those who whom whose which what whatever whoever each all both either
neither another any anything everything something nothing none some such same one ones other others everyone everybody
nobody somebody anybody someone anyone my your his her its our their

of in on at by for from to with without within into onto upon over under above below beneath beside besides between among
about after before behind beyond during until since through throughout toward towards against along across around near
off out up down per via despite except but like unlike as than

and or nor so yet if whether because although though while whereas unless once when whenever where wherever how why lest
"""
"""Pronouns and determiners, prepositions, conjunctions: no docstring begins with them."""

BANNED = "told said made kept known stated given meant judged listed asked whole alone beside shown found own each"
"""Names of the private dialect."""

ALLOWED_NAMES = {
    ("marginals/answers.py", "stated"): "an attribute of answers that analysts read",
    ("marginals/averages.py", "stated"): "the same",
    ("marginals/arguments.py", "whole"): "a kind of argument that the doors name",
    ("marginals/attacks.py", "told"): "a key of the JSON that attacks write",
    ("marginals/publishing/policy.py", "alone"): "a key of configs",
    ("marginals/tables/table.py", "whole"): "an attribute that modules of publishing read",
}
"""Names of the dialect that stay, and why."""

LONG_SENTENCES: dict[tuple[str, str], str] = {}
"""Docstrings that may have a longer sentence, and why."""

LONG_MESSAGES: dict[tuple[str, str], str] = {}
"""Messages that may have a longer sentence, by their first words, and why."""

_CITATION = re.compile(r"\([^()]*\d{4}[^()]*\)")
_ABBREVIATED = re.compile(r"\b(e\.g|i\.e|al|Def|Defs|Eq|eq|eqs|Prop|Fig|Figs|vs|No|pp)\.$")
_BLOCK = re.compile(r"\n\s*\n|\n(?=\s*(?:- |\* |\d+\. |\| ))|\n(?=-{3,})")


FILES = {
    path.relative_to(ROOT).as_posix(): ast.parse(path.read_text(encoding="utf-8"))
    for floor in ("models", "checks", "marginals")
    for path in sorted((ROOT / floor).rglob("*.py"))
}


def sentences(text: str) -> Iterator[str]:
    """Sentences of prose; examples, formulas and code between fences are left out, as are citations with a year."""
    text = re.sub(r"```.*?```", "\n\n", text, flags=re.DOTALL)
    for block in _BLOCK.split(text):
        if ">>>" in block or block.startswith("\b") or re.search(r"(?m)^ {4}", block):
            continue
        sentence = ""
        for piece in re.split(r"(?<=[.!?])\s+", " ".join(_CITATION.sub("", block).split())):
            sentence = f"{sentence} {piece}".strip()
            if not _ABBREVIATED.search(sentence):
                yield sentence
                sentence = ""
        yield sentence


def too_long(text: str) -> list[str]:
    return [sentence for sentence in sentences(text) if len(sentence.split()) > MOST_WORDS]


def docstrings(node: ast.AST, name: str = "") -> Iterator[tuple[str, str]]:
    """Docstrings of a module, its classes, functions and constants, with their qualified names."""
    body = getattr(node, "body", [])
    if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef) and (text := ast.get_docstring(node)):
        yield name, text
    for before, child in zip([None, *body], body):
        match child:
            case ast.ClassDef() | ast.FunctionDef():
                yield from docstrings(child, f"{name}.{child.name}".lstrip("."))
            case ast.Expr(value=ast.Constant(value=str(text))) if isinstance(before, ast.Assign | ast.AnnAssign):
                target = before.targets[0] if isinstance(before, ast.Assign) else before.target
                yield f"{name}.{ast.unparse(target)}".lstrip("."), " ".join(text.split())


def names(tree: ast.AST) -> Iterator[str]:
    """Names that a file binds: functions, classes, parameters, variables, fields and attributes."""
    for node in ast.walk(tree):
        match node:
            case ast.FunctionDef(name=name) | ast.ClassDef(name=name) | ast.arg(arg=name):
                yield name
            case ast.Name(id=name, ctx=ast.Store()) | ast.Attribute(attr=name, ctx=ast.Store()):
                yield name


def messages(tree: ast.AST) -> Iterator[str]:
    for node in ast.walk(tree):
        if isinstance(node, ast.Raise) and isinstance(node.exc, ast.Call):
            for argument in node.exc.args[:1]:
                match argument:
                    case ast.Constant(value=str(text)):
                        yield text
                    case ast.JoinedStr(values=parts):
                        yield "".join(part.value if isinstance(part, ast.Constant) else "X" for part in parts)


def faults(file: str) -> Iterator[tuple[str, object]]:
    """What is not plain in a file: how a docstring begins, long sentences of docstrings and messages, names."""
    for name, text in docstrings(FILES[file]):
        if first := [word for word in re.findall(r"[A-Za-z'-]+", text)[:1] if word.lower() in FIRST_WORDS.split()]:
            yield "begins with a pronoun, preposition or conjunction", (name, first)
        if (file, name) not in LONG_SENTENCES and (long := too_long(text)):
            yield f"more than {MOST_WORDS} words", (name, long)
    for sentence in (long for text in messages(FILES[file]) for long in too_long(text)):
        if (file, " ".join(sentence.split()[:4])) not in LONG_MESSAGES:
            yield f"a message of more than {MOST_WORDS} words", sentence
    for name in {*names(FILES[file])}:
        if name.strip("_") in BANNED.split() and (file, name) not in ALLOWED_NAMES:
            yield "a name of the private dialect", name


@pytest.mark.parametrize("file", FILES)
def test_a_file_is_in_plain_english(file: str) -> None:
    assert list(faults(file)) == []


NAMES_OF_TESTS = "]; ["
"""What stands between the links of a row of docs/definitions.md, each a name of a test, which is no sentence."""


def sentences_of_page(text: str) -> Iterator[str]:
    """The sentences of a page, without code: of each paragraph, item of a list and cell of a table. A link is its words."""
    text = re.sub(r"<!-- made by.*?<!-- end -->|```.*?```|^---.*?^---", "", text, flags=re.DOTALL | re.MULTILINE)
    text = re.sub(r"\]\([^)]*\)", "]", text)
    for block in re.split(r"\n\s*\n|\n(?=[-*|#>] ?)|\n(?=\d+\. )", text):
        for part in re.split(r"(?<!\\)\|", block) if block.lstrip().startswith("|") else [block]:
            yield from re.split(r"(?<=[.!?])[\"”)]?\s+(?=[A-Z`\[\"*])", " ".join(part.split()))


PAGES = [path for folder in ("", "docs", "docs/how_to") for path in sorted((ROOT / folder).glob("*.md"))]


@pytest.mark.parametrize("path", PAGES, ids=lambda path: path.stem)
def test_a_sentence_of_a_page_has_at_most_25_words(path: Path) -> None:
    found = [one for one in sentences_of_page(path.read_text(encoding="utf-8")) if NAMES_OF_TESTS not in one]
    assert [one for one in found if sum(bool(re.search(r"\w", word)) for word in one.split()) > MOST_WORDS] == []


def test_every_exception_is_still_needed() -> None:
    assert [key for key in ALLOWED_NAMES if key[1] not in set(names(FILES[key[0]]))] == []
    docs = {(file, name): text for file, tree in FILES.items() for name, text in docstrings(tree)}
    assert [key for key in LONG_SENTENCES if not too_long(docs.get(key, ""))] == []
