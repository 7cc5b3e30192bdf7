"""Count files, lines, lines of code and classes of folders: `make lines`. All budgets of the project mean these numbers.

    python tests/support/count_lines.py models checks marginals tests

A line of code holds a token that is neither a comment nor part of a docstring.
"""

import ast
import io
import sys
import tokenize
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

FOLDERS = ("models", "checks", "marginals", "tests")
WITHOUT_CODE = {
    tokenize.COMMENT, tokenize.NL, tokenize.NEWLINE, tokenize.INDENT, tokenize.DEDENT, tokenize.ENCODING, tokenize.ENDMARKER
}  # fmt: skip
DOCUMENTED = (ast.Module, ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)


class Size(NamedTuple):
    files: int
    lines: int
    code: int
    classes: int

    def __str__(self) -> str:
        return f"{self.files} files, {self.lines:,} lines, {self.code:,} of code, {self.classes} classes"


def add_sizes(sizes: Sequence[Size]) -> Size:
    return Size(*(sum(column) for column in zip(Size(0, 0, 0, 0), *sizes)))


def measure_source(text: str) -> Size:
    tree = ast.parse(text)
    code: set[int] = set()
    for token in tokenize.generate_tokens(io.StringIO(text).readline):
        if token.type not in WITHOUT_CODE:
            code.update(range(token.start[0], token.end[0] + 1))
    nodes = list(ast.walk(tree))
    for node in nodes:
        if isinstance(node, DOCUMENTED) and ast.get_docstring(node, clean=False) is not None:
            code.difference_update(range(node.body[0].lineno, (node.body[0].end_lineno or 0) + 1))
    return Size(1, len(text.splitlines()), len(code), sum(isinstance(node, ast.ClassDef) for node in nodes))


def measure_folder(folder: Path) -> Size:
    return add_sizes([measure_source(path.read_text()) for path in sorted(folder.rglob("*.py"))])


def main(names: Sequence[str]) -> None:
    sizes = {name: measure_folder(Path(name)) for name in names or FOLDERS}
    print(*(f"{name}: {size}" for name, size in sizes.items()), f"all: {add_sizes([*sizes.values()])}", sep="\n")


if __name__ == "__main__":
    main(sys.argv[1:])
