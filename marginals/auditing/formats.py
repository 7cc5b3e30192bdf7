"""Formats of tau-ARGUS, G-Confid, ACRO and SDMX, and frames: each table as lines of texts with a header."""

import csv
import json
import re
from collections.abc import Iterator, Mapping, Sequence
from io import BytesIO, StringIO
from itertools import chain, permutations, takewhile
from pathlib import Path
from typing import Any, NamedTuple

from marginals.errors import InputError
from marginals.files import bounded_content
from marginals.tables.opening import reading, require
from marginals.tables.values import figure_in

MOST_BYTES = 1 << 26
_MOST_CELLS = 5_000_000
_TABLES = (".csv", ".tsv", ".tab", ".xlsx", ".xlsm", ".parquet", ".pq")
_LEVELS = 4
"""Lines of a header, at most."""

_VARIABLES = 9
"""Number of variables from which on codes do not tell the variables of a table: there are too many orders."""

_G_CONFID = {"CELLID", "TOTALNOISE", "SIZE", "SENSITIVITY", "STATUS", "OUTSTATUS", "TYPE", "NETVARIATION"}
_WORDS = {True: "published", False: "suppressed"}
"""Words for statuses, whatever a program writes."""

_FLOW = re.compile("DATAFLOW|STRUCTURE(_ID|_NAME)?|DATASTRUCTURE|ACTION")

Groups = Mapping[str, tuple[str, ...]]
"""Parts of labels that are sums."""


class Lines(NamedTuple):
    """A table as lines of texts, the header first. `groups`: for a column, the labels that are sums, and their parts."""

    texts: list[list[str]]
    groups: Mapping[str, Groups] = {}


class Skipped(NamedTuple):
    """A table that is not examined, and why."""

    name: str
    why: str


def tables_in(folder: Path) -> Iterator[Path | Skipped]:
    """Tables of a folder: those that ACRO's results.json lists, or else all files that look like tables."""
    files = sorted(path for path in folder.iterdir() if path.suffix.lower() in _TABLES and path.is_file())
    if (folder / "results.json").is_file():
        yield from _acro_tables(folder / "results.json")
    elif not files:
        raise InputError(f"the folder {folder} has no tables; they end in {', '.join(_TABLES)}")
    else:
        yield from (path for path in files if not _is_constraints(path))


def _acro_outputs(results: Path) -> list[tuple[Path, str, bool]]:
    # File and type of each output, and whether counts of it are suppressed.
    try:
        outputs = json.loads(_text(results))["results"].values()
        return [
            (results.parent / Path(file["name"]).name, str(of["type"]), "suppress" in of["properties"].values())
            for of in outputs
            for file in of["files"]
            if not file["name"].startswith("session_summary.")
        ]
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError):
        raise InputError(f"{results} is no list of outputs of ACRO; name the tables to audit") from None


def _acro_tables(results: Path) -> Iterator[Path | Skipped]:
    for path, kind, _ in _acro_outputs(results):
        if not path.is_file():
            raise InputError(f"{results} lists {path.name}, which is not in its folder")
        if kind != "table" or path.suffix.lower() not in _TABLES:
            yield Skipped(path.name, f"it is of the type {kind!r}")
            continue
        figures = (figure_in(text) for row in csv.reader(StringIO(_text(path))) for text in row[1:])
        is_counted = all(figure is None or not figure.number % 1 for figure in figures)
        yield path if is_counted else Skipped(path.name, "its cells are no counts")


def _is_suppressed_by_acro(path: Path) -> bool:
    results = path.parent / "results.json"
    return results.is_file() and any(hides for file, _, hides in _acro_outputs(results) if file == path)


def _withheld_by_acro(lines: list[list[str]]) -> list[list[str]]:
    """Lines with a mark for withheld counts, without totals: ACRO adds up only the counts that it shows."""
    columns = [n for n, name in enumerate(lines[0]) if name != "All"]
    rows = [[line[n] or "*" for n in columns] for line in lines[1:] if "All" not in line]
    return [[lines[0][n] for n in columns], *rows]


def is_frame(table: object) -> bool:
    """Return whether a table is a frame of any library."""
    return hasattr(type(table), "columns") or hasattr(type(table), "column_names")


def frame_lines(frame: Any) -> list[list[str]]:
    """Lines of a frame; those of pandas with the labels of their index, where it has any."""
    import pandas as pd  # slow to import, and few need it

    if isinstance(frame, pd.DataFrame):
        text = frame.to_csv(index=not (isinstance(frame.index, pd.RangeIndex) and frame.index.name is None))
    else:
        import narwhals as nw

        eager = nw.from_native(frame)
        text = (eager.collect() if isinstance(eager, nw.LazyFrame) else eager).write_csv()
    return [*csv.reader(StringIO(text))]


def parquet_lines(path: Path) -> list[list[str]]:
    """Lines of a Parquet file. Raises InputError if it has too many cells, or cannot be read."""
    require("pyarrow", "parquet", f"{path.name} is a Parquet file; reading it")
    with reading(path):
        from pyarrow import parquet

        file = parquet.ParquetFile(BytesIO(bounded_content(path, MOST_BYTES)))
        if file.metadata.num_rows * file.metadata.num_columns > _MOST_CELLS:
            raise InputError(f"{path.name} has more than {_MOST_CELLS:,} cells")
        return frame_lines(file.read().to_pandas())


def arranged(path: Path, rows: list[list[str]]) -> Lines:
    """Table in the rows of a file.

    It has the names of columns, and the sums that files next to it declare.
    """
    every, rows = rows, [row for row in rows if any(row)]
    names = [text.partition(":")[0].strip().upper() for text in rows[0]] if rows else []
    if path.suffix.lower() == ".tab" and all(len(row) > 5 and row[-3] in "SUPME?" for row in rows):
        return _tau_argus(path, rows)
    if {"CELLID", "OUTSTATUS"} <= {*names}:
        return _g_confid(path, rows, names)
    if "OBS_VALUE" in names and names[0] in ("DATAFLOW", "STRUCTURE", "DATASTRUCTURE"):
        return _sdmx(path, rows, names)
    lines = _unstacked(rows) or every
    return Lines(_withheld_by_acro(lines) if _is_suppressed_by_acro(path) else lines)


# tau-ARGUS: codes; value; frequency, unless it is a table of frequencies; cost; status; lower; upper. No line has names:
# the batch next to it names the variables of each table, the metadata those of all, their total and their hierarchy.


def _tau_argus(path: Path, rows: list[list[str]]) -> Lines:
    width = _text(path).partition("\n")[0].count('"') // 2 or len(rows[0]) - 6
    columns = [[row[n] for row in rows] for n in range(width)]
    variables = [variable for file in sorted(path.parent.glob("*.rda")) for variable in _variables(file)]
    names = _named_by_batch(path, width) or _named_by_codes(columns, variables)
    names = names or [f"code {n + 1} of {path.stem}" for n in range(width)]
    groups = {variable.name: variable.groups for variable in variables}
    lines = [[*map(str.strip, row[:width]), row[width], _WORDS[row[-3] in "SPE"]] for row in rows]
    return Lines([[*names, "count", "status"], *lines], {name: groups[name] for name in names if groups.get(name)})


class _Variable(NamedTuple):
    name: str
    width: int
    total: str
    groups: Groups

    def may_have(self, codes: set[str]) -> bool:
        codes_listed = {*self.groups, *chain.from_iterable(self.groups.values())}
        values = codes - {self.total}
        return (
            {*map(str.strip, values)} <= codes_listed
            if codes_listed
            else all(len(code) == self.width for code in values)
        )


def _variables(metadata: Path) -> Iterator[_Variable]:
    for block in re.split(r"\n(?=\S)", _text(metadata)):
        head, keys = block.partition("\n")[0].split(), dict(re.findall(r'<(\w+)>[ \t]*"?([^"\n]*)', block))
        if len(head) > 2 and head[2].isdecimal() and "RECODEABLE" in keys:
            name = keys.get("HIERCODELIST", "").strip().replace("\\", "/").rpartition("/")[2]
            files = [folder / name for folder in metadata.parents[:2] if name and (folder / name).is_file()]
            groups = _hierarchy(files[0], keys.get("HIERLEADSTRING", "").strip() or "@") if files else {}
            yield _Variable(head[0], int(head[2]), keys.get("TOTCODE", "Total").strip(), groups)


def _hierarchy(file: Path, lead: str) -> Groups:
    """The parts of each code: below it, with one lead sign more."""
    parts: dict[str, tuple[str, ...]] = {}
    above: list[str] = []
    for line in filter(str.strip, _text(file).split("\n")):
        code = line.lstrip(lead)
        depth = min((len(line) - len(code)) // len(lead), len(above))
        above[depth:] = [code.strip()]
        if depth:
            parts[above[depth - 1]] = (*parts.get(above[depth - 1], ()), above[depth])
    return parts


def _named_by_batch(path: Path, width: int) -> list[str]:
    for text in map(_text, sorted(path.parent.glob("*.arb"))):
        specified = [re.findall(r'"([^"]*)"', line) for line in re.findall(r"<SPECIFYTABLE>([^|\n]*)", text)]
        for number, file in re.findall(r'<WRITETABLE>\s*\(\s*(\d+).*?"([^"]*)"', text):
            names = specified[int(number) - 1] if 0 < int(number) <= len(specified) else []
            if file.replace("\\", "/").rpartition("/")[2] == path.name and len(names) == width:
                return names
    return []


def _named_by_codes(columns: Sequence[Sequence[str]], variables: Sequence[_Variable]) -> list[str]:
    # Names of the only variables that may have the codes of the columns.
    ways = permutations(variables, len(columns)) if len(variables) < _VARIABLES else ()
    fitting = [way for way in ways if all(variable.may_have({*codes}) for variable, codes in zip(way, columns))]
    return [variable.name for variable in fitting[0]] if len(fitting) == 1 else []


# G-Confid: cells with a number and whatever labels; the constraints next to them say which are sums.


def _is_constraints(path: Path) -> bool:
    names = {text.strip(' "\r').upper() for text in re.split("[,;\t]", _text(path).partition("\n")[0])}
    return path.suffix.lower() == ".csv" and {"CELLID", "CONSTRAINTID", "COEFFICIENT"} <= names


def _g_confid(path: Path, rows: list[list[str]], names: Sequence[str]) -> Lines:
    files = [file for file in sorted(path.parent.glob("*.csv")) if _is_constraints(file)]
    if len(files) != 1 or "TOTALNOISE" not in names:
        return Lines(rows)
    columns = [*zip(*rows[1:])]
    label_columns = [n for n, name in enumerate(names) if name not in _G_CONFID and not any(map(figure_in, columns[n]))]
    ids, labels = (
        [*map(_number, columns[names.index("CELLID")])],
        [", ".join(row[n] for n in label_columns) for row in rows[1:]],
    )
    labels = labels if len({*labels}) == len(labels) else [f"no. {number}" for number in ids]
    counts, statuses = columns[names.index("TOTALNOISE")], columns[names.index("OUTSTATUS")]
    groups = _sums(files[0], dict(zip(ids, labels)))
    return Lines([["cell", "TotalNoise", "OutStatus"], *map(list, zip(labels, counts, statuses))], {"cell": groups})


def _number(text: str) -> str:
    figure = figure_in(text)
    return text if figure is None else f"{figure.number.normalize():f}"


def _sums(constraints: Path, labels: Mapping[str, str]) -> Groups:
    sides: dict[str, tuple[list[str], list[str]]] = {}
    for row in csv.DictReader(StringIO(_text(constraints))):
        cell = {key.upper(): value for key, value in row.items() if key}
        figure = figure_in(cell["COEFFICIENT"])
        label = labels.get(_number(cell["CELLID"]))
        if figure is None or abs(figure.number) != 1 or label is None:
            raise InputError(f"{constraints.name} has a coefficient other than 1 and -1, or an unknown cell")
        sides.setdefault(cell["CONSTRAINTID"], ([], []))[figure.number > 0].append(label)
    groups: dict[str, tuple[str, ...]] = {}
    ways = [tuple(sorted(both, key=len)) for both in sides.values()]
    for total, parts in ways:
        if len(total) != 1 or len(parts) < 2:
            raise InputError(f"{constraints.name} has a constraint that is not a total and its parts")
        groups.setdefault(total[0], tuple(parts))

    def finest(label: str, depth: int = 0) -> set[str]:
        if depth > len(groups):
            raise InputError(f"{constraints.name} has a cell that is a part of itself")
        return {label} if label not in groups else {end for part in groups[label] for end in finest(part, depth + 1)}

    for total, parts in ways:
        if finest(total[0]) != {end for part in parts for end in finest(part)}:
            raise InputError(
                f"{constraints.name} sums {total[0]!r} up from cells without common parts; audit tables instead"
            )
    return groups


# SDMX: the flow, dimensions, the value, and then attributes, of which only the statuses matter.


def _sdmx(path: Path, rows: list[list[str]], names: Sequence[str]) -> Lines:
    value = names.index("OBS_VALUE")
    scale = names.index("UNIT_MULT") if "UNIT_MULT" in names else None
    if scale is not None and any(row[scale].partition(":")[0].strip() not in ("", "0") for row in rows[1:]):
        raise InputError(f"{path.name} has values in multiples, as UNIT_MULT says; write them as counts")
    texts = [[text.partition(": ")[0].strip() for text in row] for row in rows]
    dimensions = [n for n, name in enumerate(names[:value]) if not _FLOW.fullmatch(name)]
    harmless = [("CONF_STATUS", {"", "F"}), ("OBS_STATUS", {*"ABDEFGIJKNPUVW", ""})]
    tested = [(names.index(name), codes) for name, codes in harmless if name in names]
    statuses = [_WORDS[all(row[n] in codes for n, codes in tested)] for row in texts[1:]]
    return Lines(
        [[*(row[n] for n in dimensions), row[value], status] for row, status in zip(texts, ["status", *statuses])]
    )


# pandas: several lines of a header, one for each level of the columns, and then one with the names of the index.


def _unstacked(rows: list[list[str]]) -> list[list[str]]:
    """The rows with one line of a header; empty if they have one already."""
    ends = [n for n, row in enumerate(rows[: _LEVELS + 1]) if n > 1 and row[-1] == ""]
    last, stubs = (ends[0], len([*takewhile(bool, rows[ends[0]])])) if ends else (0, 0)
    upper = rows[0][stubs:] if stubs else []
    if not all(upper) or len({*upper}) == len(upper) or any(rows[last][stubs:]) or any(map(figure_in, rows[last])):
        return []
    levels = [level for level in range(last) if len({*rows[level][stubs:]}) > 1]
    lines = [[*rows[last][:stubs], *(rows[level][stubs - 1] or f"group {level + 1}" for level in levels), "count"]]
    for row in rows[last + 1 :]:
        for n in range(stubs, len(row)):
            lines.append([*row[:stubs], *(rows[level][n] or rows[0][n] for level in levels), row[n]])
    return lines


def decoded(content: bytes) -> str:
    """The text of a file, in the encoding of old Windows if it is not UTF-8."""
    try:
        return content.decode("utf-8-sig")
    except UnicodeDecodeError:
        return content.decode("cp1252", "replace")


def _text(path: Path) -> str:
    return decoded(bounded_content(path, MOST_BYTES)).replace("\r", "")
