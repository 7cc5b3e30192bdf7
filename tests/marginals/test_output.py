"""No command writes over what it reads, into a bundle, or over a file unasked; and it says so before its work."""

import os
import shutil
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

import marginals
from command_line import main
from marginals import InputError
from marginals.bundle.writing import OutputFolder
from marginals.example import frame, release
from marginals.files import replace_file
from marginals.output import OutputFile
from marginals.steward import MARK, StewardFile

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


def run(*arguments: object) -> Result:
    return CliRunner().invoke(main, [str(argument) for argument in arguments])


def contents(folder: Path) -> dict[Path, bytes]:
    return {file: file.read_bytes() for file in sorted(folder.rglob("*")) if file.is_file()}


def no_work(monkeypatch: pytest.MonkeyPatch) -> None:
    """From now on nothing can be read as a table: whoever is refused in another way was refused before the work."""

    def refuse(*_: object) -> None:
        raise AssertionError("the table was read")

    monkeypatch.setattr("marginals.config.release_toml.Config.read_table", refuse)
    monkeypatch.setattr("marginals.config.release_toml.Config.read_rows", refuse)


MADE_FROM_THE_TABLE = [
    ("disclose", "release.toml", "--out"),
    ("anonymize", "release.toml", "--method", "sweep", "--out"),
    ("risk", "release.toml", "--out"),
    ("risk", "release.toml", "--report"),
]
MADE_FROM_THE_RELEASE = [("report", "rel", "-o"), ("sample", "rel", "-o")]


@pytest.mark.slow
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
    result = run(*command, "precious.csv", "--force")
    assert result.exit_code == 0, result.output
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
        result = run(*command, written, "--force")
        assert result.exit_code == 2, result.output
        assert "would be read with the input" in result.stderr
    assert contents(folder) == before


@pytest.mark.parametrize("command", [*MADE_FROM_THE_TABLE, *MADE_FROM_THE_RELEASE])
@pytest.mark.parametrize("name", ["rel/report.html", "rel/marginals/new.csv", "link/new.csv"])
def test_nothing_is_written_into_a_bundle(
    folder: Path, monkeypatch: pytest.MonkeyPatch, command: tuple[str, ...], name: str
) -> None:
    no_work(monkeypatch)
    (folder / "link").symlink_to("rel/hierarchies")
    if command[0] == "sample":
        name = str(Path(name).with_suffix(".csv"))
    before = contents(folder)
    result = run(*command, name, "--force")
    assert result.exit_code == 2, result.output
    assert "lies in the release" in result.stderr
    assert contents(folder) == before
    assert run("verify", "rel").exit_code == 0


@pytest.mark.parametrize("command", [*MADE_FROM_THE_TABLE, *MADE_FROM_THE_RELEASE])
def test_a_folder_that_is_not_there_is_not_made(
    folder: Path, monkeypatch: pytest.MonkeyPatch, command: tuple[str, ...]
) -> None:
    no_work(monkeypatch)
    result = run(*command, "nodir/new.csv")
    assert result.exit_code == 2, result.output
    assert "there is no folder" in result.stderr
    assert not (folder / "nodir").exists()


@pytest.mark.usefixtures("folder")
def test_a_place_that_takes_no_file_is_found_before_the_work(monkeypatch: pytest.MonkeyPatch) -> None:
    if not Path("/proc/self").exists():
        pytest.skip("there is no /proc here")
    no_work(monkeypatch)
    for command in MADE_FROM_THE_TABLE:
        result = run(*command, "/proc/new.csv")
        assert result.exit_code == 2, result.output
        assert "/proc/new.csv cannot be written" in result.stderr
    assert run("publish", "release.toml", "--out", "/proc/new").exit_code == 2


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
    reads = marginals.read_config(folder / "release.toml").reads
    OutputFile(folder / "parts" / "new.html", reads)
    OutputFile(folder / "new.csv", reads)


@pytest.mark.usefixtures("folder")
def test_outputs_of_one_command_are_files_of_their_own() -> None:
    result = run("risk", "release.toml", "--out", "new.csv", "--report", "rel/../new.csv")
    assert result.exit_code == 2
    assert "files of their own" in result.stderr


@pytest.mark.usefixtures("folder")
def test_a_plot_that_cannot_be_drawn_is_found_before_the_work(monkeypatch: pytest.MonkeyPatch) -> None:
    no_work(monkeypatch)
    result = run("risk", "release.toml", "--plot", "new.txt")
    assert result.exit_code == 2
    assert "svg, png, pdf" in result.stderr


def test_publishing_checks_its_folder_before_the_search(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    no_work(monkeypatch)
    (folder / "thesis").mkdir()
    (folder / "thesis" / "chapter.txt").write_text("precious")
    (folder / "package").mkdir()
    (folder / "package" / "datapackage.json").write_text('{"resources": []}')
    before = contents(folder)
    refused = {
        "thesis": "contains files that are not part of a release",
        "package": "contains files that are not part of a release",
        "people.csv": "is a file",
        ".": "release",
        "rel/new": "lies in the release",
    }
    for name, why in refused.items():
        result = run("publish", "release.toml", "--out", name)
        assert result.exit_code == 2, (name, result.output)
        assert why in result.stderr, name
    assert contents(folder) == before
    assert not (folder / "nodir").exists()


def test_the_demo_goes_to_no_such_folder_either(folder: Path) -> None:
    before = contents(folder)
    for name in ("rel/demo", "rel"):
        assert run("demo", name).exit_code == 2
    assert contents(folder) == before


def test_a_release_replaces_no_bundle_that_holds_what_is_read(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    no_work(monkeypatch)
    shutil.copy(folder / "people.csv", folder / "rel" / "people.csv")
    (folder / "release.toml").write_text(CONFIG.replace("people.csv", "rel/people.csv"))
    result = run("publish", "release.toml", "--out", "rel")
    assert result.exit_code == 2
    assert "which the release would replace" in result.stderr
    assert (folder / "rel" / "people.csv").exists()


@pytest.mark.parametrize("name", ["notes.txt", "marginals/notes.txt", "notes/mine.txt"])
def test_what_lies_beside_a_release_is_not_lost_with_it(
    folder: Path, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    no_work(monkeypatch)
    (folder / "rel" / name).parent.mkdir(exist_ok=True)
    (folder / "rel" / name).write_text("precious")
    before = contents(folder)
    result = run("publish", "release.toml", "--out", "rel")
    assert result.exit_code == 2
    assert f"rel holds {name.partition('/mine')[0]} beside a release" in result.stderr
    with pytest.raises(InputError, match="move it away"):
        marginals.open_release(folder / "rel").write(folder / "rel")
    assert contents(folder) == before


def test_a_release_that_cannot_be_read_is_not_replaced(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Nobody can tell what belongs to it."""
    no_work(monkeypatch)
    (folder / "rel" / "datapackage.json").write_text('{"release": {"format": 2}}')
    result = run("publish", "release.toml", "--out", "rel")
    assert result.exit_code == 2
    assert "rel holds a release that cannot be read, datapackage.json: release.format must be 1" in result.stderr
    assert "remove it, or choose a new folder" in result.stderr


def test_a_release_does_not_become_a_part_of_the_table(folder: Path) -> None:
    (folder / "parts").mkdir()
    with pytest.raises(InputError, match="read as one table"):
        OutputFolder(folder / "parts" / "new", (folder / "parts",))


def test_publishing_names_its_page(folder: Path) -> None:
    (folder / "release.toml").write_text(CONFIG.replace("functional:0.9,2", "distinct:2"))
    result = run("publish", "release.toml", "--out", "rel")
    assert result.exit_code == 0, result.output
    assert str(Path("rel") / "report.html") in result.stdout


@pytest.mark.usefixtures("folder")
def test_the_report_of_a_bundle_is_replaced_by_design() -> None:
    assert run("report", "rel").exit_code == 0
    assert run("verify", "rel").exit_code == 0


@pytest.mark.slow
@pytest.mark.usefixtures("folder")
def test_devices_are_taken_as_they_are() -> None:
    for command in MADE_FROM_THE_TABLE:
        assert run(*command, os.devnull).exit_code == 0
    assert not Path(os.devnull).is_file()


def test_python_writes_nothing_into_a_bundle_either(folder: Path) -> None:
    before = contents(folder)
    with pytest.raises(InputError, match="lies in the release"):
        release.write_report(folder / "rel" / "page.html")
    with pytest.raises(InputError, match="lies in the release"):
        marginals.interchange.write_rows(release, folder / "rel" / "rows.csv", 3, seed=0)
    assert contents(folder) == before
    release.write_report(folder / "page.html")
    release.write_report(folder / "page.html")


def test_a_link_to_itself_is_refused_in_one_sentence(folder: Path) -> None:
    """On every Python; before 3.13 resolving such a path raises, and since then it does not."""
    (folder / "loop.csv").symlink_to("loop.csv")
    (folder / "one").symlink_to("other")
    (folder / "other").symlink_to("one")
    before = sorted(path.name for path in folder.iterdir())
    for path in ("loop.csv", "one", "one/new.csv"):
        said = rf"{path} cannot be written: it is a link that leads to itself"
        with pytest.raises(InputError, match=said):
            OutputFile(folder / path)
        with pytest.raises(InputError, match=said):
            OutputFolder(folder / path)
        with pytest.raises(InputError, match=said):
            replace_file(folder / path, b"lost")
        with pytest.raises(InputError, match=said):
            release.write(folder / path)
    with pytest.raises(InputError, match=r"one cannot be read: it is a link that leads to itself"):
        OutputFile(folder / "new.csv", (folder / "one",))
    for command in ("verify", "query", "report"):
        result = run(command, "one")
        assert result.exit_code == 2, result.output
        assert result.stderr.count("\n") == 1
    assert run("sample", "rel", "-o", "loop.csv", "--force").exit_code == 2
    assert sorted(path.name for path in folder.iterdir()) == before


def test_init_takes_a_folder_and_leaves_it_alone(folder: Path) -> None:
    (folder / "parts").mkdir()
    shutil.copy(folder / "people.csv", folder / "parts" / "a.csv")
    shutil.copy(folder / "people.csv", folder / "parts" / "b.csv")
    result = run("init", "parts", "-o", "new.toml")
    assert result.exit_code == 0, result.output
    path = marginals.read_config("new.toml").source.path
    assert path is not None
    assert path.resolve() == folder / "parts"
    for out in ("parts/a.csv", "rel/new.toml"):
        before = contents(folder)
        assert run("init", "parts", "-o", out, "--force").exit_code == 2
        assert contents(folder) == before


@pytest.mark.usefixtures("folder")
@pytest.mark.parametrize("command", ["verify", "query", "report", "sample", "attack"])
def test_a_zipped_release_is_to_be_unzipped(command: str) -> None:
    shutil.make_archive("rel", "zip", "rel")
    result = run(command, "rel.zip")
    assert result.exit_code == 2
    assert "unzip" in result.stderr
    assert run(command, "people.csv").exit_code == 2


def test_the_steward_page_is_a_regular_file(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    for path in (Path("/dev/null"), tmp_path / "pipe"):
        with pytest.raises(InputError, match="device or pipe"):
            StewardFile(path, tmp_path / "release")


@pytest.mark.parametrize("old", [None, "old"])
@pytest.mark.parametrize("error", [OSError(28, "No space left on device"), KeyboardInterrupt(), InputError("no")])
def test_a_steward_page_is_in_place_before_its_release_and_goes_where_that_does_not_come_about(
    tmp_path: Path, error: BaseException, old: str | None
) -> None:
    place = tmp_path / "release-steward.html"
    if old:
        place.write_text(MARK + old)
    page = StewardFile(place, tmp_path / "release")
    with pytest.raises(type(error)), page.around(b"new"):  # noqa: PT012 - what is done meanwhile
        assert place.read_bytes() == b"new", "what is private is there first"
        raise error
    assert (place.read_text() if old else place.exists()) == (MARK + old if old else False)
    assert [path.name for path in tmp_path.iterdir()] == (["release-steward.html"] if old else [])
    with pytest.raises(type(error)), page.around(b"new"):  # noqa: PT012 - what is done meanwhile
        (tmp_path / "release").mkdir()
        (tmp_path / "release" / "datapackage.json").write_text("{}")
        raise error
    assert place.read_bytes() == b"new", "the release is out, so its page stays"
    assert sorted(path.name for path in tmp_path.iterdir()) == ["release", "release-steward.html"]


def test_rows_that_cannot_be_written_leave_no_file_of_their_pairs(tmp_path: Path) -> None:
    release.write(tmp_path / "release")
    out = tmp_path / "rows.csv"

    def full(*_: object) -> None:
        raise InputError("rows.csv cannot be written: No space left on device")

    with pytest.MonkeyPatch.context() as patched:
        patched.setattr("marginals.interchange._csv", full)
        answer = CliRunner().invoke(main, ["sample", str(tmp_path / "release"), "-o", str(out)])
    assert answer.exit_code == 2
    assert [path.name for path in tmp_path.iterdir()] == ["release"]
    assert CliRunner().invoke(main, ["sample", str(tmp_path / "release"), "-o", str(out)]).exit_code == 0
    before = {path: path.read_bytes() for path in tmp_path.glob("rows*")}
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr("marginals.interchange._csv", full)
        again = ["sample", str(tmp_path / "release"), "-o", str(out), "--seed", "1", "--force"]
        assert CliRunner().invoke(main, again).exit_code == 2
    assert {path: path.read_bytes() for path in tmp_path.glob("*rows*")} == before
