"""Bundles made to harm who opens them: each is refused or does nothing, in one sentence, in bounded time and memory.

200 in a list, and more by Hypothesis over the bytes and the JSON of a bundle.
"""

import json
import os
import time
import unicodedata
from collections import Counter
from collections.abc import Callable, Iterator
from copy import deepcopy
from functools import partial
from itertools import islice, product
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import forked
import marginals
from checks import Claim, KCombinatorial, MaxentDiversity, MinCell, Register, parse_claim, parse_diversity
from command_line import run
from filled_tables import flat_domain
from marginals import Role
from models import ContingencyTable, MarginalsError
from small_release import contents
from written_bundles import change_package, declared, put_file, tables_content, write_bundle

Package = dict[str, Any]
SECONDS = 20
"""Of the processor, for four commands on a bundle."""
EXAMPLES = int(os.environ.get("MARGINALS_TRIALS", "60"))
"""Bundles with random bytes; from 500 on, all of the list below, otherwise every second."""


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory, small_release: marginals.Release) -> dict[str, bytes]:
    folder = tmp_path_factory.mktemp("whole")
    small_release.write(folder / "release")
    # Who makes a hostile bundle seals it as well; without a seal what it says is looked at.
    return {
        path: content for path, content in contents(folder / "release").items() if path != "datapackage.json.sha256"
    }


def write(folder: Path, files: dict[str, bytes]) -> Path:
    for path, content in files.items():
        (folder / path).parent.mkdir(parents=True, exist_ok=True)
        (folder / path).write_bytes(content)
    return folder


def package_of(files: dict[str, bytes]) -> Package:
    return json.loads(files["datapackage.json"])  # type: ignore[no-any-return]


def resource_of(package: Package, kind: str) -> Package:
    """The first marginal with disease, or the hierarchy of disease; a hostile label shows in both."""
    if kind == "hierarchy":
        return next(r for r in package["resources"] if r.get("hierarchy") == {"attribute": "disease"})
    return next(r for r in package["resources"] if "disease" in r.get("marginal", {}).get("levels", {}))


def with_package(files: dict[str, bytes], change: Callable[[Package], object]) -> dict[str, bytes]:
    package = package_of(files)
    change(package)
    return files | {"datapackage.json": json.dumps(package).encode()}


def with_file(files: dict[str, bytes], kind: str, edit: Callable[[bytes], bytes]) -> dict[str, bytes]:
    """A bundle with another file whose size and hash are right: what is wrong must be seen in what it says."""
    package = package_of(files)
    described = resource_of(package, kind)
    content = edit(files[described["path"]])
    described.update(declared(content))
    return files | {described["path"]: content, "datapackage.json": json.dumps(package).encode()}


ODD: list[Any] = [
    *(None, True, -1, 0, 1.5, 10**18, 10**400, 1e300),
    *("", "\x1b[2J", "6", [], {}, [[]], {"a": {}}, "x" * 10**6),
]
"""Values of every type, for every place of a descriptor."""

PLACES: list[tuple[str, Callable[[Package, Any], object]]] = [
    ("resources", lambda p, v: p.update(resources=v)),
    ("release", lambda p, v: p.update(release=v)),
    ("format", lambda p, v: p["release"].update(format=v)),
    ("rows", lambda p, v: p["release"].update(rows=v)),
    ("attributes", lambda p, v: p["release"].update(attributes=v)),
    ("attribute", lambda p, v: p["release"]["attributes"].update(age=v)),
    ("role", lambda p, v: p["release"]["attributes"]["age"].update(role=v)),
    ("bytes", lambda p, v: resource_of(p, "marginal").update(bytes=v)),
    ("hash", lambda p, v: resource_of(p, "marginal").update(hash=v)),
    ("marginal", lambda p, v: resource_of(p, "marginal").update(marginal=v)),
    ("levels", lambda p, v: resource_of(p, "marginal")["marginal"].update(levels=v)),
    ("level", lambda p, v: resource_of(p, "marginal")["marginal"]["levels"].update(disease=v)),
    ("total", lambda p, v: resource_of(p, "marginal")["marginal"].update(total=v)),
    ("hierarchy", lambda p, v: resource_of(p, "hierarchy").update(hierarchy=v)),
    ("hierarchy of", lambda p, v: resource_of(p, "hierarchy")["hierarchy"].update(attribute=v)),
    ("path", lambda p, v: resource_of(p, "marginal").update(path=v)),
]
HARMLESS: list[tuple[str, Callable[[Package, Any], object]]] = [
    ("claims", lambda p, v: p["release"].update(privacy=v)),
    ("k", lambda p, v: p["release"].update(privacy=[{"criterion": "k-link", "k": v}])),
    ("k-combinatorial", lambda p, v: p["release"].update(privacy=[{"criterion": "k-combinatorial", "k": v}])),
    ("utility", lambda p, v: p["release"].update(utility={"kl_divergence": v, "kl_suppressed": v, "kl_best_table": v})),
    ("title", lambda p, v: p.update(title=v)),
    ("schema", lambda p, v: resource_of(p, "marginal").update(schema=v)),
]
"""Places where an odd value may be meant, or matters to nobody; no traceback is all that is asked."""

PATHS = [
    "../people.csv", "/etc/passwd", "marginals/../../people.csv", "..", ".", "", "marginals", "a\0b", "C:\\x", "\\\\h\\x",
    "marginals/" + "x" * 5000, "/" * 5000, "~/x", "file:///etc/passwd", "https://example.org/x.csv", "/dev/zero",
    "/proc/self/mem", "\ud800", "loop", "outside", "pipe", "marginals/\x1b]0;x\x07", "\n", "outside/people.csv",
]  # fmt: skip

COUNTS = [
    "0", "-1", "-0", "1.0", "1e3", "1E3", "1_0", "\u0663", "0x1", "NaN", "inf", "", " 5", "5 ", "+5", "05", "10" * 200,
    "9" * 15, "1000000000000000", "\u0665\u0660", "1,5", "'5", "=5", "true", "None", "\u00b2", "5\x00", "5\n5",
]  # fmt: skip


def edit_count(count: str) -> Callable[[bytes], bytes]:
    def edit(content: bytes) -> bytes:
        header, first, *rest = content.decode().splitlines(keepends=True)
        return "".join([header, first.rsplit(",", 1)[0] + f',"{count}"\n', *rest]).encode()

    return edit


MARGINALS: list[tuple[str, Callable[[bytes], bytes]]] = [
    ("empty", lambda _: b""),
    ("header alone", lambda c: c.splitlines(keepends=True)[0]),
    ("byte order mark", lambda c: b"\xef\xbb\xbf" + c),
    ("UTF-16", lambda c: c.decode().encode("utf-16")),
    ("Latin-1", lambda c: c.replace(b"flu", b"fl\xfc")),
    ("NUL", lambda c: c.replace(b"flu", b"fl\0")),
    ("an open quote", lambda c: c.replace(b"flu", b'"flu', 1)),
    ("text after a quote", lambda c: c.replace(b"flu", b'"flu"x', 1)),
    ("a field of a megabyte", lambda c: c.replace(b"flu", b"f" * 1_000_000, 1)),
    ("a million fields", lambda c: c + b"," * 1_000_000 + b"\n"),
    ("a header of a million fields", lambda c: b"," * 1_000_000 + b"\n" + c),
    ("blank lines", lambda c: c.replace(b"\n", b"\n\n")),
    ("another header", lambda c: c.replace(b"disease", b"disorder", 1)),
    ("header twice", lambda c: c.splitlines(keepends=True)[0] + c),
    ("an unknown label", lambda c: c.replace(b"flu", b"\x1b[2Jflu")),
    ("rows twice", lambda c: c + b"".join(c.splitlines(keepends=True)[1:])),
    ("rows left out", lambda c: b"".join(c.splitlines(keepends=True)[:-1])),
    ("random bytes", lambda _: bytes(range(256)) * 100),
]

HIERARCHIES: list[tuple[str, Callable[[bytes], bytes]]] = [
    ("empty", lambda _: b""),
    ("header alone", lambda c: c.splitlines(keepends=True)[0]),
    ("one level", lambda _: b"level0\n*\n"),
    ("a level left out", lambda c: c.replace(b"level1", b"level2")),
    ("a value missing", lambda c: b"".join(line for line in c.splitlines(keepends=True) if b"flu" not in line)),
    ("a value twice", lambda c: c + c.splitlines(keepends=True)[1]),
    ("not closed", lambda c: c.replace(b"*", b"+")),
    ("not nested", lambda _: b"level0,level1,level2\nflu,a,*\ncold,a,*\nx,b,*\ny,b,+\n"),
    ("nested otherwise", lambda _: b"level0,level1,level2,level3\nflu,a,c,*\ncold,a,d,*\n"),
    ("cyclic", lambda _: b"level0,level1,level2\nflu,cold,*\ncold,flu,*\nflu,*,*\n"),
    ("ragged", lambda c: c + b"x\n"),
    ("byte order mark", lambda c: b"\xef\xbb\xbf" + c),
    ("not UTF-8", lambda c: c + b"\xff,*\n"),
    ("a thousand levels", lambda _: ",".join(f"level{i}" for i in range(1000)).encode() + b"\n" + b"*," * 999 + b"*\n"),
]

DESCRIPTORS: list[tuple[str, Callable[[str], str | bytes]]] = [
    ("nothing", lambda _: ""),
    ("a number", lambda _: "1"),
    ("cut off", lambda t: t[: len(t) // 2]),
    ("deep lists", lambda _: "[" * 1_000_000),
    ("deep objects", lambda _: '{"a":' * 1_000_000),
    ("closed deep lists", lambda _: "[" * 100_000 + "]" * 100_000),
    ("deep title", lambda t: t.replace('"Anonymized marginals"', "[" * 900 + "]" * 900, 1)),
    ("a key twice", lambda t: t.replace('"format": 1,', '"format": 1, "format": 1,')),
    ("a resource's key twice", lambda t: t.replace('"type": "table",', '"type": "table", "type": "table",', 1)),
    ("NaN", lambda t: t.replace('"rows": 600', '"rows": NaN')),
    ("NaN where nobody looks", lambda t: t.replace('"Anonymized marginals"', "NaN", 1)),
    ("-Infinity", lambda t: t.replace('"rows": 600', '"rows": -Infinity')),
    ("an infinite number", lambda t: t.replace('"rows": 600', '"rows": 1e999')),
    ("scientific rows", lambda t: t.replace('"rows": 600', '"rows": 6e2')),
    ("fractional rows", lambda t: t.replace('"rows": 600', '"rows": 600.0')),
    ("scientific total", lambda t: t.replace('"total": 600', '"total": 6e2', 1)),
    ("a format of 1.0", lambda t: t.replace('"format": 1', '"format": 1.0')),
    ("a number of 10,000 digits", lambda t: t.replace('"rows": 600', '"rows": ' + "9" * 10_000)),
    ("half a surrogate pair", lambda t: t.replace('"age"', '"\\ud800"')),
    ("byte order mark", lambda t: b"\xef\xbb\xbf" + t.encode()),
    ("UTF-16", lambda t: t.encode("utf-16")),
    ("not UTF-8", lambda t: t.encode() + b"\xff"),
    ("NUL", lambda t: t + "\0"),
    ("comment", lambda t: "// hello\n" + t),
    ("trailing comma", lambda t: t.replace('"format": 1,', '"format": 1,,')),
]

LABELS = [
    "=cmd|' /C calc'!A0", "@SUM(1)", "+1", "-1", "\x1b[31mred\x1b[0m", "\x1b]0;title\x07", "\x9b2J", "two\nlines", "two\r\nlines",  # noqa: E501
    'a "quoted" one', "<script>alert(1)</script>", "<img src=x onerror=alert(1)>", "\u202etxt.exe", "\u200b", "tab\there",
    "\x00", "*", "", " ", "count", "a=b", "a|b", "a@0", "20-39", "NaN", "null", "\\", "../x", "%s{0}$(id)`id`", "ﷺ" * 500,
]  # fmt: skip


def with_label(files: dict[str, bytes], label: str) -> dict[str, bytes]:
    """The bundle that someone would write who had this disease among the values; it is well formed."""
    quoted = '"' + label.replace('"', '""') + '"'
    package, files = package_of(files), dict(files)
    for described in package["resources"]:
        content = files[described["path"]].decode()
        if described.get("hierarchy", {}).get("attribute") == "disease" or "disease" in described.get(
            "marginal", {}
        ).get("levels", {}):
            content = content.replace("flu", quoted)
        files[described["path"]] = content.encode()
        described.update(declared(content.encode()))
    return files | {"datapackage.json": json.dumps(package).encode()}


def is_tame(text: str) -> bool:
    """Whether a terminal shows a text as it is: no control or formatting characters but line ends."""
    return not any(unicodedata.category(c) in ("Cc", "Cf", "Cs", "Zl", "Zp") and c != "\n" for c in text)


def judge(folder: Path) -> bool:
    """Whether the commands refuse a bundle; no traceback, no escapes, one sentence, no long work."""
    start = time.process_time()
    results = {
        "verify": run("verify", folder),
        "verify --json": run("verify", folder, "--json"),
        "query": run("query", folder, "sex=f"),
        "sample": run("sample", folder, "-n", "3", "-o", folder.parent / "rows.csv", "--force"),
    }
    assert time.process_time() - start < SECONDS
    for command, result in results.items():
        assert result.exception is None or isinstance(result.exception, SystemExit), (command, result.exception)
        assert result.exit_code in (0, 1, 2), (command, result.output)
        assert is_tame(result.stderr), command
        assert len(result.stderr) < 4000, command
        if command != "verify --json":
            assert is_tame(result.stdout), command
        if result.exit_code == 2:
            assert result.stderr.startswith("Error: ")
            assert result.stderr.count("\n") == 1
    answer = json.loads(results["verify --json"].stdout)
    refused = not answer.get("checks") or not answer["checks"][0]["holds"]
    if refused:
        assert {results[command].exit_code for command in ("verify", "verify --json")} <= {1, 2}
    try:
        marginals.open_release(folder)  # which looks neither at the report nor at the seal
    except MarginalsError as error:
        assert refused, error  # noqa: PT017
        assert {result.exit_code for result in results.values()} <= {1, 2}
        assert is_tame(str(error))  # noqa: PT017
    return refused


def hostile(whole: dict[str, bytes]) -> Iterator[tuple[str, dict[str, bytes], bool]]:
    package = package_of(whole)
    for (place, change), value in product(PLACES, ODD):
        files = with_package(whole, lambda p, change=change, value=value: change(p, deepcopy(value)))  # type: ignore[misc]
        # A level of 0 is what it is, and a margin of nothing but `*` contradicts its header alone.
        yield f"{place} {str(value)[:20]!r}", files, not (place == "level" and value == 0 and value is not False)
    for (place, change), value in product(HARMLESS, ODD):
        files = with_package(whole, lambda p, change=change, value=value: change(p, deepcopy(value)))  # type: ignore[misc]
        yield f"{place} {str(value)[:20]!r}", files, False
    for path in PATHS:
        yield (
            f"path {path[:20]!r}",
            with_package(whole, lambda p, path=path: resource_of(p, "marginal").update(path=path)),
            True,
        )  # type: ignore[misc]
    for count in COUNTS:
        yield f"count {count[:20]!r}", with_file(whole, "marginal", edit_count(count)), True
    for name, edit in MARGINALS:
        yield f"marginal: {name}", with_file(whole, "marginal", edit), True
    for name, edit in HIERARCHIES:
        yield f"hierarchy: {name}", with_file(whole, "hierarchy", edit), True
    for name, text in DESCRIPTORS:
        edited = text(whole["datapackage.json"].decode())
        content = edited if isinstance(edited, bytes) else edited.encode()
        yield f"descriptor: {name}", whole | {"datapackage.json": content}, name != "deep title"
    for label in LABELS:
        yield f"label {label[:20]!r}", with_label(whole, label), False
    for kind in ("marginal", "hierarchy"):
        path = resource_of(package, kind)["path"]
        yield f"no {kind}", {name: content for name, content in whole.items() if name != path}, True
        yield f"{kind} in lines of CRLF", with_file(whole, kind, lambda c: c.replace(b"\n", b"\r\n")), False
    repeated = [{**package["resources"][0], "path": f"x{i}"} for i in range(2000)]
    yield "2000 resources", with_package(whole, lambda p: p["resources"].extend(repeated)), True
    million = b"[" + b"{}," * 1_000_000 + b"{}]"
    yield (
        "a million resources",
        whole | {"datapackage.json": b'{"resources": ' + million + b', "release": {"format": 1}}'},
        True,
    )
    claims = [{"criterion": "k-link", "k": k + 1} for k in range(100_000)]
    yield "100,000 claims", with_package(whole, lambda p: p["release"].update(privacy=claims)), True
    many = {f"a{i}": {"role": "sensitive"} for i in range(100_000)}
    yield "100,000 attributes", with_package(whole, lambda p: p["release"].update(attributes=many)), True
    for diversity in ("entropy:1e999", "entropy:nan", "entropy:-1", "distinct:0", "distinct:" + "9" * 5000, "recursive:nan,2",  # noqa: E501
                      "recursive:3,999999999", "simple:0", "functional:2,1e400", "", ":", "entropy:" + "6" * 10**6):  # fmt: skip  # noqa: E501
        claim = {"criterion": "maxent-diversity", "diversity": diversity, "sensitive": "disease"}
        yield (
            f"claim {diversity[:20]}",
            with_package(whole, lambda p, claim=claim: p["release"].update(privacy=[claim])),
            False,
        )  # type: ignore[misc]


def test_rows_with_formulas_are_written_as_they_are_with_a_warning(whole: dict[str, bytes], tmp_path: Path) -> None:
    folder = write(tmp_path / "release", with_label(whole, "=cmd|' /C calc'!A0"))
    result = run("sample", folder, "-n", "50", "-o", tmp_path / "rows.csv", status=0)
    warning = "note: a label begins like a formula; spreadsheets must import the columns as text"
    assert warning in result.stderr.splitlines()
    assert ",=cmd|' /C calc'!A0\n" in (tmp_path / "rows.csv").read_text()
    plain = run("sample", write(tmp_path / "plain", whole), "-o", tmp_path / "rows.csv", "--force", status=0)
    assert warning not in plain.stderr.splitlines()


def test_hostile_bundles_are_refused_or_do_nothing(whole: dict[str, bytes], tmp_path: Path) -> None:
    counted: Counter[str] = Counter()
    wrong = []
    (tmp_path / "people.csv").write_text("secret")
    for number, (name, files, must_refuse) in enumerate(islice(hostile(whole), 0, None, 1 if EXAMPLES >= 500 else 2)):
        folder = write(tmp_path / f"{number}" / "release", files)
        (folder / "loop").symlink_to(folder / "loop")
        (folder / "outside").symlink_to(tmp_path)
        os.mkfifo(folder / "pipe")
        try:
            refused = judge(folder)
        except AssertionError as error:
            wrong.append((name, str(error)[:600]))
            continue
        counted["refused" if refused else "harmless"] += 1
        if must_refuse and not refused:
            wrong.append((name, "is not refused"))
    print(f"\n{counted.total()} hostile bundles: {dict(counted)}")
    assert not wrong, "\n".join(map(str, wrong))
    assert counted.total() >= 200


BOUNDED = """
import resource, sys
resource.setrlimit(resource.RLIMIT_AS, (int(sys.argv[1]),) * 2)
resource.setrlimit(resource.RLIMIT_CPU, (int(sys.argv[2]),) * 2)
from command_line import main
try:
    main(sys.argv[3:])
finally:
    used = resource.getrusage(resource.RUSAGE_SELF)
    print("used", int(used.ru_utime), used.ru_maxrss >> 10, file=sys.stderr)
"""


def _sparse(folder: Path, path: str, size: int) -> None:
    with (folder / path).open("wb") as stream:
        stream.truncate(size)


def _large_file(folder: Path, size: int) -> None:
    _sparse(folder, resource_of(package_of(contents(folder)), "marginal")["path"], 10 << 30)
    change_package(folder, lambda package: resource_of(package, "marginal").update(bytes=size))


def _many_rows(folder: Path, rows: bytes) -> None:
    put = partial(put_file, folder, content=b"level0,level1\n" + rows)
    change_package(folder, lambda package: put(resource_of(package, "hierarchy")))


HUGE: list[tuple[str, Callable[[Path], None]]] = [
    ("a descriptor of 10 GB", lambda folder: _sparse(folder, "datapackage.json", 10 << 30)),
    ("a file of 10 GB that says so", lambda folder: _large_file(folder, 10 << 30)),
    ("a file of 10 GB that says 100 bytes", lambda folder: _large_file(folder, 100)),
    ("a file of 10 GB that says 100 MB", lambda folder: _large_file(folder, 100 << 20)),
    ("the same row for 40 MB", lambda folder: _many_rows(folder, b"flu,*\n" * (7 << 20))),
    (
        "a hierarchy of 6 million values",
        lambda folder: _many_rows(folder, b"".join(b"%d,*\n" % i for i in range(6_000_000))),
    ),
]


@pytest.mark.parametrize(("name", "change"), HUGE, ids=[name for name, _ in HUGE])
def test_huge_bundles_take_bounded_memory_and_time(
    name: str, change: Callable[[Path], None], whole: dict[str, bytes], tmp_path: Path
) -> None:
    """Within 3 GB of addresses, which numerical libraries reserve half of, and a minute of the processor."""
    folder = write(tmp_path / "release", whole)
    change(folder)
    run = forked.run(BOUNDED, 3 << 30, 60, "verify", folder, "--seconds", 600)  # of a clock that others share
    assert run.returncode == 1, run.stderr
    assert "Traceback" not in run.stderr
    assert "fails  integrity" in run.stdout
    assert "memory" not in run.stderr, "it was Python that refused, not the reader"
    seconds, megabytes = map(int, run.stderr.splitlines()[-1].split()[1:])
    print(f"\n{name}: {seconds} s of the processor, {megabytes} MB at most")


# Tables that agree on every attribute, and that no people fit: a is another than b, b than s, and s than a.


CONTRADICTED: dict[str, tuple[Claim, ...]] = {
    "nothing": (),
    "k-combinatorial": (KCombinatorial(2),),
    "min-cell": (MinCell(2),),
    "no-small-certain": (parse_claim({"criterion": "no-small-certain", "k": 2}),),
    "no-small-cell-certain": (parse_claim({"criterion": "no-small-cell-certain", "k": 2}),),
    "maxent-diversity": (MaxentDiversity(parse_diversity("distinct:2"), "s"),),
    "register": (Register(parse_diversity("distinct:2"), "s"),),
}


@pytest.mark.parametrize("claimed", CONTRADICTED)
def test_tables_that_no_people_fit_are_told_in_one_sentence(claimed: str, tmp_path: Path) -> None:
    domain = flat_domain(a=2, b=2, s=2)
    tables = [
        ContingencyTable.from_cells(
            domain, dict.fromkeys(pair, 0), dict(zip(pair, np.array([[0, 1], [1, 0]]))), np.array([6, 6])
        )
        for pair in ("ab", "bs", "as")
    ]
    roles = {"a": Role.QUASI_IDENTIFIER, "b": Role.QUASI_IDENTIFIER, "s": Role.SENSITIVE}
    write_bundle(tables_content(tables, roles, CONTRADICTED[claimed]), tmp_path / "release")
    for command in (["verify"], ["verify", "--report", tmp_path / "page.html"]):
        verified = run(command[0], tmp_path / "release", *command[1:])
        assert verified.exit_code in (0, 1), verified.stderr
        assert "internal error" not in verified.output
    if claimed != "nothing":
        assert f"undecided  {claimed}" in verified.output
    for command in (["attack"], ["query", "a=a0"]):
        ended = run(command[0], tmp_path / "release", *command[1:])
        assert (ended.exit_code, ended.stderr.strip()) == (2, "Error: no table has these marginals")
