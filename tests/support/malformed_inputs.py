"""Malformed configs, tables and bundles, made by changing the trees of good ones: what they hold, and what files they are.

A config is a tree of TOML, a descriptor one of JSON, a table a list of rows. Their nodes are exchanged, retyped, removed,
repeated, buried and renamed; the text made from them is encoded and cut in several ways; and any file becomes a link, a
folder, a pipe or a device. All of it follows from the random numbers.
"""

import copy
import gzip
import io
import json
import os
import random
import zipfile
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from written_bundles import declared, sealed

Tree = Any
"""What JSON can say, and TOML."""

WEIRD_TEXTS = ["", " ", "*", "?", "0", "-1", "1e999", "nan", "inf", "NaN", "null", "true", "../x", "/dev/zero",
    "/etc/passwd", "a/b", "pipe", "loop", "a\0b", "\x1b[2J", "\u202e", "\ufeff", "\u0301", "\U0001f9ea", "ﷺ" * 99,
    "x" * 100_000, "=1+1", "%s{0}$(id)", "\\", '"', "'", "a;b", "a,b", "a\nb", "a\rb", "9" * 400, "1_000", "٣",
    "count", "level0", "20-39", "entropy:1e999", "recursive:0,0", "distinct:-1", "simple:99999999999",
    "functional:2,0.0", "functional:nan,nan", "age > 1", "age == 1 and (sex == 2)", "not x", "`age` in [1, 2",
    "best", "exact", "local", "linear", "9999999999999 GB", "1 MB", "observed"]  # fmt: skip
WEIRD_NUMBERS = [0, -1, 1, 2, 3, 99, 2**31, 2**53, 2**63, 2**64, -(2**63), 10**30, 0.0, -0.5, 1e-300, 1e300, 0.1,
    True, False]  # fmt: skip
NAMES = ["age", "sex", "town", "disease", "name", "count", "level0", "*", "", "a.b", "x y", "Ä\u0301", "\ud7ff",
    "__proto__", "é"]  # fmt: skip


class Malformer:
    """Changes of trees, texts and files that follow from random numbers."""

    def __init__(self, rng: random.Random) -> None:
        self.rng = rng

    def value(self, depth: int = 0) -> Tree:
        """A value of any type."""
        kind = self.rng.randrange(7 if depth < 3 else 4)
        if kind < 2:
            return self.rng.choice(WEIRD_TEXTS)
        if kind < 4:
            return self.rng.choice(WEIRD_NUMBERS)
        size = self.rng.choice([0, 1, 2, 3, 300])
        if kind < 6 or size == 300:
            return [self.value(depth + 2) for _ in range(size)]
        return {self.rng.choice(NAMES): self.value(depth + 1) for _ in range(size)}

    def tree(self, tree: Tree) -> Tree:
        tree = copy.deepcopy(tree)
        nodes = list(_nodes(tree))
        holder, key = self.rng.choice(nodes)
        other, other_key = self.rng.choice(nodes)
        change = self.rng.randrange(9)
        try:
            if change == 0:
                holder[key], other[other_key] = copy.deepcopy(other[other_key]), copy.deepcopy(holder[key])
            elif change == 1:
                del holder[key]
            elif change == 2 and isinstance(holder, dict):
                holder[self.rng.choice(NAMES)] = holder.pop(key)
            elif change == 3:
                for _ in range(self.rng.choice([1, 3, 60, 150])):
                    holder[key] = [holder[key]] if self.rng.random() < 0.5 else {"x": holder[key]}
            elif change == 4 and isinstance(holder, list):
                holder.extend(copy.deepcopy(holder[key]) for _ in range(self.rng.choice([1, 3, 2000])))
            elif change == 5:
                holder[key] = copy.deepcopy(other[other_key])
            elif change == 6 and isinstance(holder, dict):
                holder[self.rng.choice(NAMES)] = self.value()
            else:
                holder[key] = self.value()
        except (KeyError, IndexError):  # one of two was in the other
            pass
        return tree

    def text(self, text: str) -> str:
        at, size = self.rng.randrange(len(text) + 1), self.rng.choice([1, 1, 3, 30])
        piece = self.rng.choice(
            [
                "",
                text[at : at + size] * 2,
                self.rng.choice(WEIRD_TEXTS),
                self.rng.choice("\"'[]{}=,;#\\\n\r\0\ufeff"),
                "[" * 3000,
                "9" * 5000,
            ]
        )
        return text[:at] + piece + text[at + self.rng.choice([0, size]) :]

    def content(self, text: str) -> bytes:
        """The bytes of a text, most often as UTF-8, perhaps cut off."""
        encoding = self.rng.choice(["utf-8"] * 12 + ["utf-8-sig", "utf-16", "utf-32", "latin-1", "cp1252", "utf-16-le"])
        content = text.encode(encoding, "replace")
        if self.rng.random() < 0.1:
            content = content[: self.rng.randrange(len(content) + 1)]
        if self.rng.random() < 0.05:
            content += bytes(self.rng.randrange(256) for _ in range(20))
        return content

    def rows(self, rows: list[list[str]]) -> list[list[str]]:
        rows = [list(row) for row in rows] or [[]]
        row = self.rng.choice(rows if self.rng.random() < 0.6 else rows[:1])
        change = self.rng.randrange(8)
        if change < 3 and row:
            row[self.rng.randrange(len(row))] = self.rng.choice(WEIRD_TEXTS + NAMES)
        elif change == 3:
            row[:] = row[: self.rng.randrange(len(row) + 1)] + [""] * self.rng.choice([0, 1, 5000])
        elif change == 4:
            column, text = self.rng.randrange(max(len(rows[0]), 1)), self.rng.choice(WEIRD_TEXTS)
            for each in rows[1:]:
                each[column : column + 1] = [text]
        elif change == 5:
            rows.insert(self.rng.randrange(len(rows) + 1), list(self.rng.choice(rows)))
        elif change == 6:
            rows[:] = rows[: self.rng.choice([0, 1, 2])]
        else:
            rows.reverse()
        return rows

    def place(self, path: Path) -> None:
        """The file made a link, folder, pipe or device, or empty, or very large."""
        path.unlink()
        kind = self.rng.choice(
            ["pipe", "device", "null", "loop", "dangling", "folder", "empty", "sparse", "parent", "zeros"]
        )
        if kind == "pipe":
            os.mkfifo(path)
        elif kind == "folder":
            path.mkdir()
        elif kind in ("empty", "zeros"):
            path.write_bytes(bytes(5_000_000 if kind == "zeros" else 0))
        elif kind == "sparse":
            with path.open("wb") as stream:
                stream.truncate(20 << 30)
        else:
            targets = {
                "device": "/dev/zero",
                "null": "/dev/null",
                "loop": path.name,
                "dangling": "nothing",
                "parent": "..",
            }
            path.symlink_to(targets[kind])


def _nodes(tree: Tree) -> list[tuple[Any, Any]]:
    keys = list(tree) if isinstance(tree, dict) else range(len(tree)) if isinstance(tree, list) else []
    return [place for key in keys for place in [(tree, key), *_nodes(tree[key])]]


def toml(tree: Tree) -> str:
    """A tree as TOML, sections first of all as inline tables are; what TOML cannot say becomes text."""
    if not isinstance(tree, dict):
        return f"x = {_inline(tree)}\n"
    return "".join(f"{_key(key)} = {_inline(value)}\n" for key, value in tree.items())


def _key(key: str) -> str:
    return key if key.isascii() and key.replace("_", "").isalnum() else _inline(key)


def _inline(value: Tree) -> str:
    if isinstance(value, dict):
        return "{" + ", ".join(f"{_key(key)} = {_inline(each)}" for key, each in value.items()) + "}"
    if isinstance(value, list):
        return "[" + ", ".join(map(_inline, value)) + "]"
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, str):
        return json.dumps(value).replace("\x7f", "\\u007f")
    return repr(value)


def csv_text(rows: Sequence[Sequence[str]], separator: str, quoted: bool) -> str:
    """Rows as CSV; where not quoted, whatever their fields hold."""
    if not quoted:
        return "".join(separator.join(row) + "\n" for row in rows)
    return "".join(separator.join('"' + field.replace('"', '""') + '"' for field in row) + "\n" for row in rows)


COMPRESSIONS: dict[str, Callable[[bytes], bytes]] = {
    ".gz": gzip.compress,
    ".zip": lambda content: _zip(content),
}


def _zip(content: bytes) -> bytes:
    archive = io.BytesIO()
    with zipfile.ZipFile(archive, "w") as whole:
        whole.writestr("people.csv", content)
    return archive.getvalue()


CONFIG: Tree = {
    "data": {"path": "people.csv", "missing": ["?", ""], "domain": "declared", "separator": ","},
    "attributes": {
        "age": {"role": "quasi-identifier", "intervals": [5, 10], "start": 0},
        "sex": {"role": "quasi-identifier"},
        "town": {"role": "quasi-identifier", "hierarchy": "town.csv"},
        "disease": {"role": "sensitive"},
        "name": {"role": "identifier"},
    },
    "privacy": {"k_link": 3, "k_combinatorial": 3, "diversity": "distinct:2"},
    "base": {"table": "none"},
    "search": {"strategy": "forward", "seed": 0, "max_sensitive_margins": 2, "max_attributes": 3, "time_limit": 2.0},
    "risk": {
        "dictionaries": ["voters.csv"],
        "prior": [1.0],
        "sensitivity": "linear",
        "weights": {"age": 0.1, "disease": 2.0},
        "missed": 0.0,
        "interactions": [{"attributes": ["age", "disease"], "weight": 0.5}],
        "rules": [{"attribute": "age", "level": 1, "condition": "age > 40 and sex == 'f'"}, {"attribute": "disease"}],
    },
}
TOWNS = [["Aix", "F", "*"], ["Ulm", "D", "*"], ["Ely", "E", "*"], ["Jena", "D", "*"]]


def people(rng: random.Random, size: int) -> list[list[str]]:
    return [["name", "age", "sex", "town", "disease"]] + [
        [
            f"p{n}",
            str(rng.randrange(20, 60)),
            rng.choice("fm"),
            rng.choice(TOWNS)[0],
            rng.choice(["flu", "gout", "cold", "none"]),
        ]
        for n in range(size)
    ]


def malform_bundle(folder: Path, make: Malformer, times: int) -> None:
    """A bundle with another descriptor, or another table whose hash is right, most often without a seal."""
    rng = make.rng
    descriptor = folder / "datapackage.json"
    package = json.loads(descriptor.read_bytes())
    if rng.random() < 0.5:
        described = rng.choice(package["resources"])
        file = folder / described["path"]
        rows = [line.split(",") for line in file.read_text().splitlines()]
        for _ in range(times):
            rows = make.rows(rows)
        content = make.content(csv_text(rows, ",", rng.random() < 0.5))
        file.write_bytes(content)
        described.update(declared(content))
    else:
        for _ in range(times):
            package = make.tree(package) if package else package
    text = json.dumps(package, ensure_ascii=rng.random() < 0.5)
    text = make.text(text) if rng.random() < 0.2 else text
    descriptor.write_bytes(make.content(text) if rng.random() < 0.2 else text.encode("utf-8", "replace"))
    if rng.random() < 0.9:
        (folder / "datapackage.json.sha256").write_bytes(sealed(descriptor.read_bytes()))
    if rng.random() < 0.3:
        (folder / "datapackage.json.sha256").unlink()
