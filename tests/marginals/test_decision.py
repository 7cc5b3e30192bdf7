"""The decision on a release: each number of it by a second way, and the same in every place that shows it."""

import json
import re
import shutil
from pathlib import Path
from typing import Any

import pandas as pd
import pytest
from click.testing import CliRunner

from command_line import main
from marginals import open_release
from small_release import write_config
from window_clients import browsing, run_here
from written_bundles import change_descriptor


def answered(*arguments: object) -> Any:
    return json.loads(CliRunner().invoke(main, [*map(str, arguments), "--json"]).stdout)["decision"]


@pytest.fixture
def decision(demo: Path) -> Any:
    """That of the demo, as a reader verifies it."""
    return answered("verify", demo / "release")


def test_each_number_is_counted_again_from_the_files(demo: Path, decision: Any) -> None:
    """Rows, smallest numbers and the shares of the worst groups, by adding up the lines of CSV files and by the model."""
    frames = [
        pd.read_csv(path, dtype=str).astype({"count": int}) for path in (demo / "release/marginals").glob("*.csv")
    ]
    assert {frame["count"].sum() for frame in frames} == {decision["rows"]}
    assert decision["smallest_count"] == min(frame["count"].min() for frame in frames)
    told = [(table["numbers"], table["smallest"], table["labels"]) for table in decision["tables"]]
    for frame in frames:
        labels = {name: sorted(set(frame[name])) for name in frame if name != "count"}
        counted = len(frame), frame["count"].min(), labels
        assert counted in [(n, least, {name: sorted(of) for name, of in each.items()}) for n, least, each in told]
    assert decision["learned"]
    for learned in decision["learned"]:
        surest, harms = learned["surest"], f"{learned['sensitive']}={'|'.join(learned['surest']['labels'])}"
        group = [f"{name}={label}" for name, label in surest["cell"].items()]
        expected = [_expected(demo / "release", *of) for of in ([harms], [*group, harms], group)]
        assert surest["overall"] == pytest.approx(expected[0] / decision["rows"])
        assert surest["largest"] == pytest.approx(expected[1] / expected[2])


def _expected(*query: object) -> float:
    return float(json.loads(CliRunner().invoke(main, ["query", *map(str, query), "--json"]).stdout)["value"])


def test_no_number_differs_between_publish_its_json_and_verify(demo: Path, tmp_path: Path) -> None:
    """The terminal has at most eight lines, with the numbers of the JSON; readers work out the same from the files."""
    command = ["publish", demo / "release.toml", "--out", tmp_path / "out"]
    printed = CliRunner().invoke(main, list(map(str, command)))
    assert len(printed.output.splitlines()) <= 8
    published, verified = answered(*command), answered("verify", tmp_path / "out")
    assert published == verified
    numbers = [float(number.replace(",", "")) for number in re.findall(r"(?<!\w)\d[\d,]*(?:\.\d)?", printed.stdout)]
    nearest = published["learned"][0]["surest"]
    assert {len(published["tables"]), published["rows"], published["least_group"], published["smallest_count"]} <= {
        *numbers
    }
    assert {published["least_count"], *published["pairs"].values(), 100 * nearest["bound"]} <= {*numbers}
    assert 0 <= min(number - 100 * nearest["largest"] for number in numbers if number >= 100 * nearest["largest"]) < 0.1


def test_no_number_differs_between_the_window_the_report_the_terminal_and_verify(
    demo: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Row by row: tables, what a reader could learn, and the sentences above and beside them."""
    folder = shutil.copytree(demo, tmp_path / "demo", ignore=shutil.ignore_patterns("release", "*.html"))
    run_here(monkeypatch)
    with browsing(folder / "release.toml") as browser:
        browser.post("/search")
        window = browser.page("/publish").partition('<div class="sheet">')[2].partition('id="look"')[0]
        printed = browser.publish(out="out")
    verified = answered("verify", folder / "out")
    report = (folder / "out/report.html").read_text().partition('class="sheet">')[2].partition("<nav")[0]
    tables = sorted(verified["tables"], key=lambda table: not table["sensitive"])
    counts = [(f"{table['numbers']:,}", f"{table['smallest']:,}") for table in tables]
    found = [
        re.findall(r'<td class="num">([\d,]+)</td><td class="num">([\d,]+)</td></tr>', page)
        for page in (window, report)
    ]
    assert found == [counts, counts[:12]]
    learned = [
        re.findall(r'<span class="num">([\d.]+) \u2192 ([\d.]+)(?: of ([\d.]+))?', page) for page in (window, report)
    ]
    assert learned[0] == learned[1][: len(learned[0])]
    assert learned[0]
    for (overall, largest, bound), each in zip(learned[1], verified["learned"]):
        surest = each["surest"]
        assert float(overall) == pytest.approx(100 * surest["overall"], abs=0.05)
        assert 0 <= float(largest) - 100 * surest["largest"] < 0.1
        assert float(bound) == pytest.approx(100 * surest["bound"], abs=0.05)
    head = f"{len(tables)} tables, {sum(table['numbers'] for table in tables):,} numbers"
    for page in (window, report):
        assert head in page
        assert f"No number below {verified['least_count']}" in page
        assert f"{verified['pairs']['analysable']} of {verified['pairs']['all']} pairs" in page
    for begin, end in (('<p class="big">', "</p>"), ('<div class="card"><p>Useful', "</p>")):
        said = [page.partition(begin)[2].partition(end)[0] for page in (window, report)]
        assert said[0] == said[1]
    assert window.partition('<p class="big">')[2].partition("</p>")[0] in printed


def test_what_has_no_limit_is_not_nearest_to_one(tmp_path: Path) -> None:
    """99 of 100 people have the one value that harms: "public" does not bound it."""
    people = pd.DataFrame({"sex": ["f", "m"] * 1000, "ill": ["yes"] * 1980 + ["no"] * 20})
    people.to_csv(tmp_path / "people.csv", index=False)
    (tmp_path / "release.toml").write_text(
        '[data]\npath = "people.csv"\n[attributes.sex]\nrole = "quasi-identifier"\n[attributes.ill]\nrole = "sensitive"\n'
        'harmless = ["no"]\nconfirmed = true\n[privacy]\nk_link = 5\ndiversity = "public"\n[base]\ntable = "none"\n'
    )
    arguments = ["publish", str(tmp_path / "release.toml"), "--out", str(tmp_path / "out")]
    printed = CliRunner().invoke(main, arguments).output
    (learned,) = answered("verify", tmp_path / "out")["learned"]
    assert (learned["surest"]["labels"], learned["surest"]["bound"]) == (["yes"], None)
    assert "Useful for: " in printed
    assert "Nearest to its limit" not in printed
    assert "nearest to the limit" not in (tmp_path / "out" / "report.html").read_text()


def test_the_terminal_prints_value_labels_and_the_json_the_labels_of_the_files(tmp_path: Path) -> None:
    """Of `verify`, `attack` and `publish --verbose`, in cells and in values of a sensitive attribute."""
    meanings = {"sex": {"f": "Female", "m": "Male"}, "disease": {"flu": "Influenza", "none, yet": "Healthy"}}
    config = write_config(tmp_path)
    sections = (
        f"[attributes.{name}.values]\n" + "".join(f'"{label}" = "{word}"\n' for label, word in of.items())
        for name, of in meanings.items()
    )
    config.write_text(f"{config.read_text()}\n{''.join(sections)}")
    release, checks = tmp_path / "release", ["--check", "diversity=recursive:9,2", "--check", "min-cell=200"]
    printed = [
        CliRunner().invoke(main, [*map(str, command)]).output
        for command in (
            ["publish", config, "--out", release, "--verbose"],
            ["verify", release],
            ["verify", release, *checks],
            ["attack", release, "--verbose"],
        )
    ]
    assert all(re.search("Female|Male|Influenza|Healthy", output) for output in printed[2:])
    assert not re.search(r"sex=[fm]\b|disease=(flu|none, yet)|^ +(flu|none, yet)", "\n".join(printed), re.MULTILINE)
    answer = json.loads(CliRunner().invoke(main, ["verify", str(release), "--check", "min-cell=200", "--json"]).stdout)
    cells = [check["worst"]["cell"] for check in answer["checks"] if check["worst"]]
    assert not {*meanings["sex"].values(), *meanings["disease"].values()} & {v for cell in cells for v in cell.values()}


@pytest.mark.parametrize(("chosen", "how"), [("random", "drawn at random"), ("first", "the first one")])
def test_which_row_of_a_person_counts_is_said_first(tmp_path: Path, chosen: str, how: str) -> None:
    """In the bundle, at the terminal and on the report's first page; a bundle says it of people with one row alone."""
    config = write_config(tmp_path)
    people = pd.read_csv(tmp_path / "people.csv")
    people["person"] = people.index // 2
    people.to_csv(tmp_path / "people.csv", index=False)
    config.write_text(
        config.read_text().replace("[attributes", f'person = "person"\none_row = "{chosen}"\n[attributes', 1)
    )
    release = tmp_path / "out"
    printed = CliRunner().invoke(main, ["publish", str(config), "--out", str(release)]).output
    said = f"One row of each person counts, {how}. No group shown is smaller than 5 people."
    assert said in printed
    assert f"<p>{said}" in (release / "report.html").read_text()
    assert open_release(release).published.one_row == chosen
    change_descriptor(release, lambda stated: stated.pop("rows_per_person"))
    assert "release.one_row says which row" in CliRunner().invoke(main, ["verify", str(release)]).output
