"""No command writes over what it reads, into a bundle, or over a file unasked, and it says so before its work.

What is for the steward alone only its owner can read, from the first byte on, whatever umask, file and folder there were;
a release is for others, as far as the umask lets them.
"""

import os
import shutil
import stat
from collections.abc import Callable, Iterator
from pathlib import Path

import pandas as pd
import pytest

import marginals
from command_line import output as done
from command_line import run
from marginals import InputError
from marginals.example import frame, release
from marginals.interchange import rows_writer
from small_release import write_config

CONFIG = """
data.path = "people.csv"
attributes.age = { role = "quasi-identifier", intervals = [10, 20] }
attributes.sex = { role = "quasi-identifier", hierarchy = "sex.csv" }
attributes.diagnosis = { role = "sensitive" }
privacy = { k_link = 2, diversity = "functional:0.9,2" }
risk.dictionaries = ["voters.csv"]
risk.linkage = { table = "members.csv" }
[[risk.rules]]
attribute = "age"
level = 1
"""
READ = ("people.csv", "release.toml", "sex.csv", "voters.csv", "members.csv")


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A config with all that it names, a release `rel`, and a file of somebody; it is the current folder."""
    for name in ("people.csv", "voters.csv", "members.csv"):
        frame.to_csv(tmp_path / name, index=False)
    (tmp_path / "sex.csv").write_text("Female;*\nMale;*\n")
    (tmp_path / "release.toml").write_text(CONFIG)
    (tmp_path / "precious.csv").write_text("precious")
    release.write(tmp_path / "rel")
    monkeypatch.chdir(tmp_path)
    return tmp_path


def contents(folder: Path) -> dict[Path, bytes]:
    return {file: file.read_bytes() for file in sorted(folder.rglob("*")) if file.is_file()}


def no_work(monkeypatch: pytest.MonkeyPatch) -> None:
    """From now on nothing can be read as a table: whoever is refused in another way was refused before the work."""

    def refuse(*_: object) -> None:
        raise AssertionError("the table was read")

    monkeypatch.setattr("marginals.config.release_toml.Config.read_table", refuse)
    monkeypatch.setattr("marginals.config.release_toml.Config.read_rows", refuse)


MADE_FROM_THE_TABLE = [
    ("disclose", "release.toml", "--out"), ("anonymize", "release.toml", "--method", "sweep", "--out"),
    ("risk", "release.toml", "--out"),
]  # fmt: skip
MADE_FROM_THE_RELEASE = [("verify", "rel", "--report"), ("sample", "rel", "-o")]


@pytest.mark.parametrize("command", [*MADE_FROM_THE_TABLE, *MADE_FROM_THE_RELEASE])
def test_what_is_there_is_replaced_only_when_asked(
    folder: Path, monkeypatch: pytest.MonkeyPatch, command: tuple[str, ...]
) -> None:
    before = contents(folder)
    with monkeypatch.context() as patched:
        no_work(patched)
        result = run(*command, "precious.csv")
    assert result.exit_code == 2, result.output
    assert result.stderr.startswith("Error: precious.csv is there already")
    assert "--force" in result.stderr
    assert result.stderr.count("\n") == 1
    assert contents(folder) == before
    result = run(*command, "precious.csv", "--force", status=0)
    assert "precious.csv" in result.stdout
    assert (folder / "precious.csv").read_bytes() != b"precious"
    json = run(*command, "precious.csv", "--force", "--json")
    assert "Wrote" in result.stdout
    assert "Wrote" not in json.stdout


@pytest.mark.parametrize("command", MADE_FROM_THE_TABLE)
@pytest.mark.parametrize("name", READ)
def test_what_is_read_is_never_replaced(
    folder: Path, monkeypatch: pytest.MonkeyPatch, command: tuple[str, ...], name: str
) -> None:
    no_work(monkeypatch)
    (folder / "soft.csv").symlink_to(name)
    os.link(folder / name, folder / "hard.csv")
    before = contents(folder)
    for written in (name, f"rel/../{name}", folder / name, "soft.csv", "hard.csv"):
        result = run(*command, written, "--force", status=2)
        assert "would be read with the input" in result.stderr
    assert contents(folder) == before


@pytest.mark.parametrize("command", [*MADE_FROM_THE_TABLE, *MADE_FROM_THE_RELEASE])
@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("rel/report.html", "lies in the release"), ("rel/marginals/new.csv", "lies in the release"),
        ("link/new.csv", "lies in the release"), ("rel/nodir/new.csv", "lies in the release"),
    ],
)  # fmt: skip
def test_nothing_is_written_into_a_bundle(
    folder: Path, monkeypatch: pytest.MonkeyPatch, command: tuple[str, ...], name: str, said: str
) -> None:
    no_work(monkeypatch)
    (folder / "link").symlink_to("rel/hierarchies")
    before = contents(folder)
    result = run(*command, Path(name).with_suffix(".csv") if command[0] == "sample" else name, "--force", status=2)
    assert said in result.stderr
    assert contents(folder) == before
    assert not (folder / "rel" / "nodir").exists()


@pytest.mark.parametrize("command", [*MADE_FROM_THE_TABLE, *MADE_FROM_THE_RELEASE, ("init", "people.csv", "--out")])
def test_missing_folders_are_made(folder: Path, command: tuple[str, ...]) -> None:
    run(*command, "no/dir/new.csv", status=0)
    assert (folder / "no" / "dir" / "new.csv").is_file()


@pytest.mark.parametrize(("out", "page"), [("new", "no/dir/page.html"), ("no/dir/new", "page.html")])
def test_folders_of_a_release_and_of_its_page_are_made(folder: Path, out: str, page: str) -> None:
    run("publish", "release.toml", "--out", out, "--steward", page, status=0)
    assert (folder / page).is_file()
    assert (folder / out / "datapackage.json").is_file()


@pytest.mark.usefixtures("folder")
def test_a_place_that_takes_no_file_is_found_before_the_work(monkeypatch: pytest.MonkeyPatch) -> None:
    if not Path("/proc/self").exists():
        pytest.skip("there is no /proc here")
    no_work(monkeypatch)
    for command in MADE_FROM_THE_TABLE:
        result = run(*command, "/proc/new.csv", status=2)
        assert "/proc/new.csv cannot be written" in result.stderr
    for out in ("/proc/new", "/dev/null/new", "/dev/null"):
        refused = run("publish", "release.toml", "--out", out)
        assert (refused.exit_code, refused.stderr.startswith(f"Error: {out} ")) == (2, True), refused.output


def test_every_file_of_a_folder_or_glob_is_read_and_so_is_what_would_join_it(folder: Path) -> None:
    (folder / "parts" / "more").mkdir(parents=True)
    shutil.copy(folder / "people.csv", folder / "parts" / "a.csv")
    shutil.copy(folder / "people.csv", folder / "parts" / "more" / "b.csv")
    for path in ("parts", "parts/*.csv"):
        (folder / "release.toml").write_text(CONFIG.replace("people.csv", path))
        for name in ("parts/a.csv", "parts/new.csv"):
            result = run("disclose", "release.toml", "--out", name, "--force")
            assert result.exit_code == 2, (path, name, result.output)
            assert "would be read with the input" in result.stderr
    assert not (folder / "parts" / "new.csv").exists()


def _with(name: str, text: str) -> Callable[[Path], object]:
    def write(folder: Path) -> None:
        (folder / name).parent.mkdir(exist_ok=True)
        (folder / name).write_text(text)

    return write


def _reads_a_folder(folder: Path) -> None:
    (folder / "parts").mkdir()
    shutil.copy(folder / "people.csv", folder / "parts" / "a.csv")
    (folder / "release.toml").write_text(CONFIG.replace("people.csv", "parts"))


def _reads_from_its_release(folder: Path) -> None:
    shutil.copy(folder / "people.csv", folder / "rel" / "people.csv")
    (folder / "release.toml").write_text(CONFIG.replace("people.csv", "rel/people.csv"))


@pytest.mark.parametrize(
    ("prepare", "out", "said"),
    [
        (_with("thesis/chapter.txt", "precious"), "thesis", "contains files that are not part of a release"),
        (_with("package/datapackage.json", '{"resources": []}'), "package", "contains files that are not part"),
        (_with("a.txt", ""), "people.csv", "is a file"),
        (_with("a.txt", ""), ".", "release"),
        (_with("a.txt", ""), "rel/new", "lies in the release"),
        (_reads_a_folder, "parts/new", "read as one table"),
        (_reads_from_its_release, "rel", "which the release would replace"),
        (_with("rel/notes.txt", "precious"), "rel", "rel holds notes.txt"),
        (_with("rel/marginals/notes.txt", "precious"), "rel", "rel holds marginals/notes.txt"),
        (_with("rel/notes/mine.txt", "precious"), "rel", "rel holds notes"),
        (_with("rel/datapackage.json", '{"release": {"format": 2}}'), "rel", "release.format must be 1"),
    ],
)
def test_publishing_checks_its_folder_before_the_search(
    folder: Path, monkeypatch: pytest.MonkeyPatch, prepare: Callable[[Path], object], out: str, said: str
) -> None:
    """Nothing is lost that lies beside a release, nor a release that cannot be read: nobody can tell what is its."""
    no_work(monkeypatch)
    prepare(folder)
    before = contents(folder)
    result = run("publish", "release.toml", "--out", out, status=2)
    assert said in result.stderr
    if "notes" in said:
        with pytest.raises(InputError, match="rel holds"):
            marginals.open_release(folder / "rel").write(folder / "rel")
    if out.startswith("rel"):
        assert run("demo", out).exit_code == 2
    assert contents(folder) == before


@pytest.mark.usefixtures("folder")
def test_devices_are_taken_as_they_are() -> None:
    for command in MADE_FROM_THE_TABLE:
        assert run(*command, os.devnull).exit_code == 0
    assert not Path(os.devnull).is_file()


def test_python_writes_nothing_into_a_bundle_either(folder: Path) -> None:
    before = contents(folder)
    for write in (release.report, lambda path: rows_writer(path)(release.rows(3))):
        with pytest.raises(InputError, match="lies in the release"):
            write(folder / "rel" / "new.csv")
    assert contents(folder) == before
    release.report(folder / "page.html")
    release.report(folder / "page.html")


def test_a_link_to_itself_is_refused_in_one_sentence(folder: Path) -> None:
    """On every Python; before 3.13 resolving such a path raises, and since then it does not."""
    (folder / "loop.csv").symlink_to("loop.csv")
    (folder / "one").symlink_to("other")
    (folder / "other").symlink_to("one")
    before = sorted(path.name for path in folder.iterdir())
    for path in ("loop.csv", "one", "one/new.csv"):
        for write in (release.write, release.report):
            with pytest.raises(InputError, match=rf"{path} cannot be written: it is a link that leads to itself"):
                write(folder / path)
    for arguments in (("verify", "one"), ("query", "one"), ("sample", "rel", "-o", "loop.csv", "--force")):
        result = run(*arguments)
        assert (result.exit_code, result.stderr.count("\n")) == (2, 1), result.output
    assert sorted(path.name for path in folder.iterdir()) == before


@pytest.mark.usefixtures("folder")
@pytest.mark.parametrize("command", ["verify", "query", "sample", "attack"])
def test_a_zipped_release_is_to_be_unzipped(command: str) -> None:
    shutil.make_archive("rel", "zip", "rel")
    result = run(command, "rel.zip", status=2)
    assert "unzip" in result.stderr
    assert run(command, "people.csv").exit_code == 2


def test_the_steward_page_is_a_regular_file(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    os.mkfifo(folder / "pipe")
    no_work(monkeypatch)
    for path in ("/dev/null", "pipe"):
        result = run("publish", "release.toml", "--out", "new", "--steward", path)
        assert (result.exit_code, "device or pipe" in result.stderr) == (2, True)


@pytest.mark.parametrize("old", [False, True])
@pytest.mark.parametrize("error", [OSError(28, "No space left on device"), KeyboardInterrupt(), InputError("no")])
def test_a_steward_page_is_in_place_before_its_release_and_goes_where_that_does_not_come_about(
    tmp_path: Path, error: BaseException, old: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    config, out, page = write_config(tmp_path), tmp_path / "out", tmp_path / "out-steward.html"
    if old:
        done("publish", config, "--out", out)
    config.write_text(config.read_text().replace("k_link = 5", "k_link = 6"))
    before, flushed = contents(tmp_path), os.fsync

    def publish_until(file: Path, kind: Callable[[int], bool]) -> dict[Path, bytes]:
        """What is there after writing failed: at the first file or folder after this one is in its place."""

        def fsync(number: int) -> None:
            if file.exists() and file.read_bytes() != before.get(file) and kind(os.fstat(number).st_mode):
                raise error
            flushed(number)

        with monkeypatch.context() as patched:
            patched.setattr(os, "fsync", fsync)
            assert run("publish", config, "--out", out).exit_code != 0
        return contents(tmp_path)

    assert publish_until(page, stat.S_ISREG) == before, "what is private is there first"
    if not isinstance(error, OSError):
        after = publish_until(out / "datapackage.json", stat.S_ISDIR)
        assert after[page] != before.get(page), "the release is out, so its page stays"
        assert [path for path in after if path.name.startswith(".")] == []


def test_rows_that_cannot_be_written_leave_no_file_of_their_pairs(tmp_path: Path) -> None:
    release.write(tmp_path / "release")
    command = ("sample", tmp_path / "release", "-o", tmp_path / "rows.csv", "--force")

    def full(*_: object) -> None:
        raise InputError("rows.csv cannot be written: No space left on device")

    for _ in range(2):  # where there is nothing, and where there is an older file
        before = contents(tmp_path)
        with pytest.MonkeyPatch.context() as patched:
            patched.setattr("marginals.interchange._csv", full)
            assert run(*command, "--seed", 1).exit_code == 2
        assert contents(tmp_path) == before
        assert run(*command).exit_code == 0


@pytest.fixture(params=[0o022, 0o000, 0o077], ids="{:03o}".format)
def umask(request: pytest.FixtureRequest) -> Iterator[int]:
    before = os.umask(request.param)
    yield request.param
    os.umask(before)


def mode(path: Path) -> int:
    return stat.S_IMODE(path.stat().st_mode)


def wide(path: Path) -> Path:
    """A file that was there before, which everybody may read and write."""
    path.write_text("old")
    path.chmod(0o666)
    return path


def test_nothing_private_can_be_read_while_it_is_written(
    tmp_path: Path, umask: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    config, ledger = write_config(tmp_path), tmp_path / "ledger"
    seen, flushed = set(), os.fsync

    def watched(number: int) -> None:
        there = {*tmp_path.glob("*steward*"), *tmp_path.glob("*ledger*"), *ledger.glob("*")}
        seen.update(map(mode, there))
        flushed(number)

    monkeypatch.setattr(os, "fsync", watched)
    done("publish", config, "--out", tmp_path / "out", "--ledger", ledger)
    assert seen == {0o600, 0o700}
    assert os.umask(umask) == umask  # is as it was


def test_a_release_is_for_others_and_its_stewards_page_is_not(tmp_path: Path, umask: int) -> None:
    config, ledger = write_config(tmp_path), tmp_path / "above" / "ledger"
    done("publish", config, "--out", tmp_path / "new" / "release", "--ledger", ledger)
    release = tmp_path / "new" / "release"
    for path in (release, *release.rglob("*")):
        assert mode(path) == (0o777 if path.is_dir() else 0o666) & ~umask, path
    assert mode(release.parent) == 0o777 & ~umask
    page = tmp_path / "new" / "release-steward.html"
    assert mode(page) == 0o600
    page.chmod(0o666)
    done("publish", config, "--out", release, "--steward", tmp_path / "steward.html")
    done("publish", config, "--out", release)
    assert mode(page) == mode(tmp_path / "steward.html") == 0o600
    assert mode(ledger.parent) == mode(ledger) == 0o700
    assert {mode(path) for path in ledger.rglob("*") if path.is_file()} == {0o600}
    assert {mode(path) for path in ledger.rglob("*") if path.is_dir()} == {0o700}


@pytest.mark.usefixtures("umask")
def test_a_ledger_that_begins_in_a_folder_that_is_there_makes_it_private(tmp_path: Path) -> None:
    ledger = tmp_path / "ledger"
    ledger.mkdir()
    ledger.chmod(0o777)
    done("publish", write_config(tmp_path), "--out", tmp_path / "release", "--ledger", ledger)
    assert mode(ledger) == 0o700
    ledger.chmod(0o750)  # what others may have read, they have: it is said, not mended
    assert f"chmod 700 {ledger}" in run("ledger", ledger).output


RULES = """
[[risk.rules]]
attribute = "age"
"""


@pytest.mark.usefixtures("umask")
def test_what_is_measured_on_the_table_is_private(tmp_path: Path) -> None:
    pytest.importorskip("matplotlib", reason="matplotlib is not installed")
    config = write_config(tmp_path)
    config.write_text(config.read_text() + RULES)
    made = [tmp_path / name for name in ("rows.csv", "disclosed.csv", "audit.html")]
    for path in made:
        wide(path)
    rows, disclosed, page = made
    done("risk", config, "--out", rows, "--utility", 1, "--force")
    assert "only you may read the file" in done("disclose", config, "--out", disclosed, "--force")
    published = tmp_path / "table.csv"
    published.write_text("area,count\nUlm,9\nLinz,8\n")
    done("audit", published, "--report", page, "--force")
    assert {path.name: mode(path) for path in made} == {path.name: 0o600 for path in made}


@pytest.mark.usefixtures("umask")
def test_a_first_config_and_its_hierarchies_name_values_and_are_private(tmp_path: Path) -> None:
    frame = pd.DataFrame({"age": [str(20 + n % 60) for n in range(600)], "job": [f"job {n % 7}" for n in range(600)]})
    frame.to_csv(tmp_path / "people.csv", index=False)
    wide(tmp_path / "release.toml")
    done("init", tmp_path / "people.csv", "--out", tmp_path / "release.toml", "--force")
    assert mode(tmp_path / "release.toml") == 0o600
    for path in (tmp_path / "hierarchies").glob("*"):
        assert mode(path) == 0o600
    if (tmp_path / "hierarchies").exists():
        assert mode(tmp_path / "hierarchies") == 0o700
