"""What only the steward may know: its numbers are those of the data, and its page stands outside of every release."""

import json
import math
import shutil
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import marginals
from command_line import run
from html_pages import Page
from marginals import InputError, Policy, StewardReport
from marginals.example import frame, publication, release, table
from small_release import contents, write_config, write_release


@pytest.fixture
def config(tmp_path: Path) -> Path:
    return write_config(tmp_path)


@pytest.fixture(scope="module")
def report() -> StewardReport:
    return publication.steward


def test_a_table_beside_the_release_shows_no_more_of_what_is_sensitive_than_the_policy_allows() -> None:
    """Pay as a number may not be published: the table of one row of everybody shows its bands, not the numbers."""
    rng = np.random.default_rng(5)
    years = rng.integers(20, 60, 400)
    paid = pd.DataFrame({"age": years.astype(str), "pay": (years // 10 * 10 + rng.integers(0, 40, 400)).astype(str)})
    attributes = {
        "age": marginals.Attribute("quasi-identifier", intervals=[5, 10, 20]),
        "pay": marginals.Attribute("sensitive", intervals=[10, 20], single_values=True),
    }
    read = marginals.read_table(paid, attributes)
    policy = Policy(k_link=10, diversity="distinct:2", base="none", must_not_publish=[{"pay": 0}])
    made = marginals.publish(read, policy).steward
    assert made is not None
    share = paid["pay"].astype(int).floordiv(10).value_counts(normalize=True)
    of_bands = -(share * np.log(share)).sum() + math.log(10)  # nats of pay, spread evenly in bands of ten base values
    entropy = -sum(p * math.log(p) for p in paid.value_counts(normalize=True))
    assert made.kl_suppressed == pytest.approx(
        of_bands + math.log(len(made.domain.hierarchy("age").labels[0])) - entropy
    )
    real = paid["pay"].astype(int).value_counts(normalize=True)
    spread = {pay: share.get(pay // 10, 0) / 10 for pay in range(120)}
    distance = sum(abs(real.get(pay, 0) - probability) for pay, probability in spread.items()) / 2
    one_way_tables = made.comparison.yardsticks["the best one-way tables within the policy"]
    assert one_way_tables.one_way.by_table["pay",] == pytest.approx(distance)


def test_rows_that_were_dropped_are_counted_on_the_page_and_nowhere_in_the_release(tmp_path: Path) -> None:
    gaps = pd.concat([frame, pd.DataFrame({"age": [""] * 37, "sex": ["Male"] * 37, "diagnosis": ["Flu"] * 37})])
    with_gaps = marginals.read_table(gaps, marginals.example.attributes, missing=[""])
    made = [marginals.publish(each, Policy(k_link=4, diversity="none")) for each in (table, with_gaps)]
    assert [one.steward.dropped for one in made] == [0, 37]
    for one, name in zip(made, ("whole", "gaps")):
        one.write(tmp_path / name)
    assert contents(tmp_path / "whole") == contents(tmp_path / "gaps")


def with_config(rows: pd.DataFrame, folder: Path, privacy: str) -> list[str]:
    """The command that publishes rows of the example without a base table."""
    roles = {"age": "quasi-identifier", "sex": "quasi-identifier", "diagnosis": "sensitive"}
    config = write_release(folder, rows, roles, f"[base]\ntable = 'none'\n[privacy]\n{privacy}\n")
    return ["publish", str(config), "--out", str(folder / "out")]


def test_dropped_rows_stand_by_column_on_the_page_and_in_what_publish_prints(tmp_path: Path) -> None:
    """37 of 85 rows lack an age, five of these the sex too: more than five percent, so a warning says what to do."""
    lacking = pd.DataFrame({"age": [""] * 37, "sex": [""] * 5 + ["Male"] * 32, "diagnosis": ["Flu"] * 37})
    command = with_config(pd.concat([frame, lacking]), tmp_path, "k_link = 4\ndiversity = 'none'")
    result = run(*command)
    assert all(part in result.stderr for part in ("37 of 85", "37 lack age, few sex", "43.5 percent"))
    assert 'attributes.age.missing = "as a value"' in result.stderr
    told = " ".join(" ".join(Page((tmp_path / "out-steward.html").read_bytes()).text).split())
    assert "43.5 percent" in told
    assert "age 37 43.5 sex 5 5.9" in told
    dropped = json.loads(run(*command, "--json").stdout)["dropped"]
    assert dropped == {"rows": 37, "by_column": {"age": 37, "sex": 5}}
    for few, is_many in ((5, False), (6, True)):
        rows = pd.concat([frame, frame])[: 100 - few]
        command = with_config(pd.concat([rows, lacking[5:][:few]]), tmp_path, "k_link = 2\ndiversity = 'none'")
        assert ("Warning: " in run(*command).stderr) is is_many


@pytest.mark.parametrize(
    ("nobody", "warned"), [(2, "fewer than 3 rows are dropped"), (9, "more than 5 percent of the rows")]
)
def test_rows_of_nobody_are_never_advised_to_count_without_the_column_of_people(
    tmp_path: Path, nobody: int, warned: str
) -> None:
    """They can be more rows of the people who count; without the column, more rows of a person would be people."""
    rows = pd.concat([frame.assign(id=[f"p{number}" for number in range(48)]), frame[:nobody].assign(id="")])
    command = with_config(rows, tmp_path, "min_cell = 3\nk_link = 3\ndiversity = 'none'")
    config = tmp_path / "release.toml"
    config.write_text(f'data.person = "id"\n{config.read_text()}')
    result = run(*command, status=0)
    page = " ".join(" ".join(Page((tmp_path / "out-steward.html").read_bytes()).text).split())
    for told in (result.stderr, page):
        assert warned in told
        assert "Find out whose rows these are" in told
        assert "attributes.id" not in told
        assert "gnore that column" not in told


@pytest.mark.parametrize(("dropped", "is_few"), [(0, False), (1, True), (10, True), (11, False)])
def test_fewer_dropped_rows_than_a_count_may_have_are_warned_of(tmp_path: Path, dropped: int, is_few: bool) -> None:
    """A reader who knows how many rows there are computes how many were dropped; cms-11 speaks of excluded cases."""
    rows = pd.concat([*([frame] * 10), pd.DataFrame({"age": [""] * dropped, "sex": "Male", "diagnosis": "Flu"})])
    command = with_config(rows, tmp_path, "rules = 'cms-11'\ndiversity = 'distinct:2'")
    result = run(*command, status=0)
    page = (tmp_path / "out-steward.html").read_text(encoding="utf-8")
    for told in (result.stderr, page):
        assert ("fewer than 11 rows are dropped" in told) == is_few


def test_publish_writes_the_page_beside_the_release_and_no_number_of_it_inside(config: Path, tmp_path: Path) -> None:
    result = run("publish", config, "--out", tmp_path / "out", "--json", status=0)
    answer = json.loads(result.stdout)
    page = tmp_path / "out-steward.html"
    assert answer["steward"] == str(page)
    assert page.stat().st_mode & 0o777 == 0o600
    told = page.read_text(encoding="utf-8")
    assert f"{answer['kl_divergence']:.6f}" in told
    with pytest.raises(InputError, match="lies in the release"):
        publication.steward.write(tmp_path / "out" / "page.html")
    for name, content in contents(tmp_path / "out").items():
        for number in (answer["kl_divergence"], answer["kl_suppressed"], answer["search"]["lower_bound"]):
            assert f"{number:.3f}" not in content.decode(), name
            assert str(number)[:6] not in content.decode(), name
    assert answer["information"] == marginals.open_release(tmp_path / "out").published.information
    again = run("publish", config, "--out", tmp_path / "out")
    assert again.exit_code == 0, "the page is replaced with the release"
    assert str(page) in again.stdout


def test_the_page_may_stand_elsewhere_but_in_no_release(config: Path, tmp_path: Path) -> None:
    out = tmp_path / "new" / "out"
    for inside in (out / "page.html", out / "marginals" / "page.html"):
        result = run("publish", config, "--out", out, "--steward", inside, status=2)
        assert "release" in result.stderr
        assert not out.parent.exists(), "refused before anything is made"
    assert run("publish", config, "--out", out, "--steward", tmp_path / "page.html").exit_code == 0
    assert (tmp_path / "page.html").is_file()
    assert [path.name for path in out.parent.iterdir()] == ["out"]
    assert run("publish", config, "--out", tmp_path / "b", "--steward", out / "page.html").exit_code == 2, "nor another"
    assert run("publish", config, "--out", tmp_path / "deep" / "er" / "b.c").exit_code == 0
    assert (tmp_path / "deep" / "er" / "b.c-steward.html").is_file()


@pytest.mark.parametrize("there", [b"precious", b""])
def test_another_file_is_left_alone(config: Path, tmp_path: Path, there: bytes) -> None:
    (tmp_path / "out-steward.html").write_bytes(there)
    result = run("publish", config, "--out", tmp_path / "out", status=2)
    assert "--steward FILE" in result.stderr
    assert (tmp_path / "out-steward.html").read_bytes() == there
    assert not (tmp_path / "out").exists()
    for wrong in (tmp_path, config, tmp_path / "people.csv"):
        assert run("publish", config, "--out", tmp_path / "out", "--steward", wrong).exit_code == 2, wrong
    assert not (tmp_path / "out").exists()
    assert (tmp_path / "people.csv").stat().st_size > 1000


def test_what_is_told_beyond_the_one_way_tables_is_of_rows_laid_out(report: StewardReport) -> None:
    """KL(p || q) = sum ln|dom| - total information - H(p), so what the steward knows beyond a reader is H(p)."""
    shares = frame.value_counts(normalize=True).to_numpy()
    entropy = -float((shares * np.log(shares)).sum())
    base_cells = math.prod(hierarchy.size(0) for hierarchy in release.domain.hierarchies)
    assert report.kl_divergence == pytest.approx(math.log(base_cells) - release.model.total_information - entropy)


def test_a_page_names_its_release_and_publish_says_where_another_one_stands_beside_it(
    config: Path, tmp_path: Path
) -> None:
    out, kept = tmp_path / "out", tmp_path / "kept"
    other = config.with_name("other.toml")
    other.write_text(config.read_text().replace("k_link = 5", "k_link = 40"))

    def is_of_another(config: Path) -> bool:
        """Whether publishing anew says that the page beside the release was of another one."""
        printed = run("publish", config, "--out", out, status=0)
        return "is not the page of the release" in printed.output

    assert not is_of_another(config)
    assert not is_of_another(other)
    shutil.copytree(out, kept)
    assert not is_of_another(config)
    shutil.rmtree(out)
    assert is_of_another(config), "its release is gone"
    shutil.rmtree(out)
    shutil.copytree(kept, out)
    assert is_of_another(config)
    assert not is_of_another(config)


@pytest.mark.parametrize("seconds", [0.0, 60.0])
def test_a_search_that_time_ended_is_told_as_such(seconds: float) -> None:
    policy = Policy(k_link=4, diversity="distinct:2", base="none", time_limit=seconds)
    assert marginals.publish(table, policy).steward.search.stopped is (seconds == 0)


def test_what_a_report_had_before_is_refused_with_what_does_its_work() -> None:
    with pytest.raises(AttributeError, match=r"no 'suggestions' any more: comparison\.most_lost\(\)"):
        _ = publication.steward.suggestions  # type: ignore[attr-defined]
    with pytest.raises(AttributeError, match=r"no 'furthest_odds' any more: most_lost\(\)"):
        _ = publication.steward.comparison.furthest_odds  # type: ignore[attr-defined]
