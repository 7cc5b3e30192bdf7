"""Help tells the truth: commands in the order of work, first sentences whole, and every example runs as it stands."""

import pydoc
import re
import shlex
import shutil
from pathlib import Path

import click
import pytest
from click.testing import CliRunner

import marginals
from command_line import main, run
from marginals.example import release as corrected
from models import MarginalsError
from public_names import public_names
from shared_folder import copy_shared
from signing_keys import write_keys

ROOT = Path(__file__).parents[3]

ORDER = ["demo", "open", "init", "assess", "risk", "anonymize", "publish", "verify", "attack",
         "ledger", "query", "sample", "disclose", "audit"]  # fmt: skip

INTERNAL = {"IncomparableError", "NoValueError", "NothingInRangeError", "OlderVersionError", "UnjudgedError"}
"""Errors that the project always catches itself, and kinds of InputError that it alone tells apart."""


def examples(text: str) -> list[str]:
    """The commands of a help text that stand under its word Examples, with what explains them cut off."""
    under = re.search(r"^\s*Examples?:\n((?:\s+marginals .*\n?)+)", text, re.MULTILINE)
    assert under is not None, "there are no examples"
    return [re.split(r" {3,}", line.strip())[0] for line in under[1].strip().splitlines()]


@pytest.fixture(scope="module")
def workplace(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the files that the examples name, made from the demo, in which enough people have each age."""
    return copy_shared(tmp_path_factory, "help", make_workplace)


def make_workplace(folder: Path) -> None:
    assert run("demo", folder / "demo", "--rows", "10000").exit_code == 0
    shutil.copytree(folder / "demo" / "hierarchies", folder / "hierarchies")
    shutil.copy(folder / "demo" / "census.csv", folder / "people.csv")
    visits = [f"{n // 2},{'FM'[n % 4 // 2]},{'abcde'[n % 5]},{n % 7},free text {n}\n" for n in range(400)]
    (folder / "visits.csv").write_text("patient,sex,diagnosis,income,remarks\n" + "".join(visits))
    for name in ("release", "release-a", "release-b", "release-2025", "release-2026"):
        shutil.copytree(folder / "demo" / "release", folder / name)
    corrected.write(folder / "release-corrected")
    config = (folder / "demo" / "release.toml").read_text().replace("census.csv", "people.csv")
    rules = '\n[[risk.rules]]\nattribute = "age"\nlevel = 2\ncondition = "age > 80"\n'
    (folder / "release.toml").write_text(config + rules)
    functional = re.sub("diversity = .public.", 'diversity = "functional:0.5,4"', config).replace(
        "min_cell = 3", "# none"
    )
    (folder / "functional.toml").write_text(re.sub(r"(?m)^(harmless|confirmed) = .*\n", "", functional))
    (folder / "by_age.csv").write_text("area,age,count\nUlm,young,9\nUlm,old,<5\nUlm,Total,12\n")
    (folder / "by_sex.csv").write_text("area,female,male,Total\nUlm,4,8,12\n")
    swept = [f"{sex},{illness},20\n" for sex in ("Female", "Male") for illness in "abcde"]
    (folder / "swept.csv").write_text("sex,diagnosis,count\n" + "".join(swept))
    keys = write_keys(folder, "minisign")
    assert (keys.public.name, keys.secret.name) == ("minisign.pub", "minisign.key")


@pytest.mark.parametrize("name", ["", *ORDER])
def test_every_example_runs_as_it_stands(
    name: str, workplace: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = tmp_path / "work"
    shutil.copytree(workplace, folder)
    shutil.rmtree(folder / "demo")
    if name == "anonymize":  # which writes the table that verify reads
        (folder / "swept.csv").unlink()
    if name == "risk":  # whose frontier looks at everybody and every combination of the levels: here at fewer
        people = (folder / "people.csv").read_text().splitlines(keepends=True)
        (folder / "people.csv").write_text("".join(people[:1500]))
        config = folder / "release.toml"
        fewer = re.sub(r"\[attributes\.occupation\]\n(.+\n)+|, occupation = 0\.5", "", config.read_text())
        assert "occupation" not in fewer
        config.write_text(fewer)
    monkeypatch.chdir(folder)
    if name == "open":  # whose window would stay open
        pytest.importorskip("werkzeug", reason="werkzeug is not installed")
        monkeypatch.setattr("marginals.window.server.serve", lambda *_, **__: None)
    shown = run(*([name] if name else []), "--help").output
    for command in examples(shown):
        program, *arguments = shlex.split(command)
        assert program == "marginals"
        if arguments[0] == "init" and "--out" not in arguments:
            (folder / "release.toml").rename(folder / "reviewed.toml")
        if "--ledger" in arguments:  # as the help says
            assert "register = true" in shown
            text = (folder / "release.toml").read_text()
            (folder / "release.toml").write_text(re.sub(r"(?m)^register = true", "register = false", text))
        if "--new-key" in arguments:
            (folder / "minisign.key").unlink()
            (folder / "minisign.pub").unlink()
        if "--key" in arguments:
            signing = ["publish", "release.toml", "--out", "release", "--sign", "minisign.key"]
            assert run(*signing).exit_code == 0
        answer = run(*arguments)
        # The raw table does not satisfy the policy, nor the release a rule that its policy does not demand, and the audited
        # tables give something away.
        fails = arguments[0] in ("assess", "audit") or "--rule" in arguments
        fails = fails and "--init" not in arguments
        assert answer.exit_code == (1 if fails else 0), f"{command}: {answer.output}"
        if (folder / "reviewed.toml").exists():
            (folder / "reviewed.toml").replace(folder / "release.toml")


def test_commands_stand_in_the_order_of_work_with_their_first_sentences_whole() -> None:
    shown = CliRunner().invoke(main, ["--help"], terminal_width=80).output
    listed = re.findall(r"^  ([a-z]+) +(\S.*)$", shown.split("Options:")[1], re.MULTILINE)
    assert [name for name, _ in listed] == ORDER
    for name, sentence in listed:
        whole = (main.commands[name].help or "").split("\n\n")[0].replace("\n", " ")
        assert sentence == whole, name
        assert sentence.endswith("."), name


def test_no_option_goes_without_help_and_no_command_is_missing_in_the_overview() -> None:
    overview = (ROOT / "docs" / "command_line.md").read_text(encoding="utf-8")
    for name, command in main.commands.items():
        assert f"| `marginals {name}" in overview
        for parameter in command.params:
            assert not isinstance(parameter, click.Option) or parameter.help, (name, parameter.name)


def test_the_help_of_the_package_is_an_overview_of_each_name() -> None:
    """It had 2,149 lines: pydoc prints each class whole of which `__all__` tells."""
    told = pydoc.plain(pydoc.render_doc(marginals))
    assert len(told.splitlines()) <= 150
    assert sorted(re.findall(r"^    (\w+) {2,}\S", marginals.__doc__ or "", re.MULTILINE)) == public_names(marginals)


def errors_below(kind: type[Exception]) -> set[type[Exception]]:
    return {kind}.union(*(errors_below(below) for below in kind.__subclasses__()))


def test_every_error_that_a_user_can_meet_is_exported() -> None:
    for name in public_names(marginals):
        getattr(marginals, name)
    ours = {
        error
        for error in errors_below(MarginalsError)
        if error.__module__.partition(".")[0] in ("models", "checks", "marginals")
        and not error.__name__.startswith("_")
    }
    assert {error.__name__ for error in ours} - INTERNAL == {
        name for name in vars(marginals.errors) if name.endswith("Error")
    }


def examples_of_page(path: Path) -> list[str]:
    blocks = re.findall(r"```(?:sh|console|bash)\n(.*?)```", path.read_text(encoding="utf-8"), re.DOTALL)
    lines = [line.strip().removeprefix("$ ") for block in blocks for line in block.splitlines()]
    return [line.partition("  #")[0].strip() for line in lines if line.startswith("marginals ")]


@pytest.mark.parametrize("path", sorted([ROOT / "README.md", *(ROOT / "docs").glob("**/*.md")]), ids=lambda p: p.name)
def test_every_command_on_a_page_can_be_parsed(path: Path) -> None:
    for line in examples_of_page(path):
        name, *arguments = shlex.split(line)[1:]
        command = main.commands.get(name)
        assert command is not None, line
        with click.Context(command) as context:
            command.parse_args(context, arguments)
