"""Three policies to choose from: what each writes, what it says that it costs, and that nothing sensitive is left out."""

import re
from collections.abc import Iterator
from itertools import combinations
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

pytest.importorskip("werkzeug", reason="werkzeug is not installed")
pytest.importorskip("tomlkit", reason="tomlkit is not installed")

import marginals
from marginals.config.first_config import initial_config
from marginals.window.policy_choices import CHOICES, PolicyChoice, costs
from small_release import CONFIG, write_config
from window_clients import Browser, browsing

BY_KEY = {choice.key: choice for choice in CHOICES}


@pytest.fixture
def browser(tmp_path: Path) -> Iterator[Browser]:
    with browsing(write_config(tmp_path)) as opened:
        opened.window.counting.table(20)
        yield opened


@pytest.mark.parametrize("choice", CHOICES, ids=lambda choice: choice.key)
@pytest.mark.parametrize(
    "now", ["", 'diversity = "none"', 'diversity = "distinct:2"', 'diversity = {disease = "none"}']
)
def test_a_choice_leaves_no_sensitive_column_without_a_demand(tmp_path: Path, choice: PolicyChoice, now: str) -> None:
    config = write_config(tmp_path)
    config.write_text(CONFIG.replace('diversity = "entropy:2"', now))
    with browsing(config) as browser:
        browser.window.counting.table(20)
        page = browser.post("/policy/choice", {"choice": choice.key}).get_data(as_text=True)
        policy = browser.window.config().policy
        assert (policy.k_link, policy.k_combinatorial, policy.min_cell) == (choice.k, choice.k, choice.least_cell)
        assert policy.undemanded(["disease"]) == ()
        assert page.count("demanded now</span>") == 1
        assert re.search(rf"<h2>{choice.name}</h2>(?:(?!</section>).)*demanded now</span>", page, re.DOTALL)


def test_a_demand_that_somebody_typed_stays(browser: Browser) -> None:
    browser.post("/policy/choice", {"choice": "strict"})
    assert browser.window.config().policy.diversity == "entropy:2"
    refused = browser.post("/policy/choice", {"choice": "other"}).get_data(as_text=True)
    assert "Choose one of Public file, Research file, Strict" in refused


@pytest.mark.parametrize("k", [1, 5, 40])
def test_what_a_demand_costs_is_counted_over_all_groups_of_one_or_two_columns(tmp_path: Path, k: int) -> None:
    config = write_config(tmp_path)
    table = marginals.read_config(config).read_table()
    frame = pd.read_csv(tmp_path / "people.csv")
    public = ["age", "sex", "town"]
    groups = [list(names) for size in (1, 2) for names in combinations(public, size)]
    sizes = np.concatenate([frame.groupby(names).size() for names in groups])
    cells = np.concatenate([frame.groupby([*names, "disease"]).size() for names in ([], *([name] for name in public))])
    asked = {"disease": "simple:2"}
    of_each = [frame.groupby(name)["disease"].value_counts(normalize=True).groupby(level=0).max() for name in public]
    known = np.concatenate(of_each) > 0.5
    shown = [(share.failing, share.of) for share in costs(table, k, k, asked)]
    assert shown == [
        (int((sizes < k).sum()), len(sizes)),
        (int((cells < k).sum()), len(cells)),
        (int(known.sum()), len(known)),
    ]


def test_columns_of_which_every_group_keeps_the_demand_share_a_sentence(browser: Browser) -> None:
    browser.window.file.path.write_text(CONFIG.replace('town]\nrole = "quasi-identifier"', 'town]\nrole = "sensitive"'))
    table = browser.window.config().read_table()
    shares = costs(table, 5, None, dict.fromkeys(table.sensitive, "distinct:1"))
    assert len(table.sensitive) == 2
    assert [share.failing for share in shares[1:]] == [0]
    assert shares[1].sentence.endswith(f"keep what is demanded of {', '.join(table.sensitive)}.")


def test_the_page_says_what_each_choice_costs_in_this_table(browser: Browser) -> None:
    page = browser.get("/policy").get_data(as_text=True)
    table = browser.window.config().read_table()
    for choice in CHOICES:
        for share in costs(table, choice.k, choice.least_cell, {"disease": "entropy:2"}):
            assert share.sentence in page
    assert page.index("<h2>Public file</h2>") < page.index('<details class="advanced" open>')


def test_a_first_config_is_the_public_file_and_the_advanced_demands_are_folded(tmp_path: Path) -> None:
    write_config(tmp_path)
    (tmp_path / "release.toml").unlink()
    initial_config(tmp_path / "people.csv", tmp_path / "release.toml").write(tmp_path / "release.toml")
    with browsing(tmp_path / "release.toml") as browser:
        browser.window.counting.table(20)
        page = browser.get("/policy").get_data(as_text=True)
        assert re.search(r"<h2>Public file</h2>(?:(?!</section>).)*demanded now</span>", page, re.DOTALL)
        assert '<details class="advanced">' in page


def test_comments_that_a_choice_contradicts_go_and_all_others_stay(tmp_path: Path) -> None:
    config = write_config(tmp_path)
    about = "# mine\n# distinct:2: two values stay possible.\n# simple:3: mine, about nothing.\n"
    config.write_text(CONFIG.replace('diversity = "entropy:2"', f'{about}diversity = "distinct:2"  # why'))
    with browsing(config) as browser:
        browser.window.counting.table(20)
        browser.post("/policy/choice", {"choice": "public"})
        text = config.read_text()
    assert "distinct:2" not in text
    assert "# mine\n" in text
    assert "# why" in text


def test_comments_of_a_first_config_agree_with_the_preset_that_is_written(tmp_path: Path) -> None:
    write_config(tmp_path)
    (tmp_path / "release.toml").unlink()
    initial_config(tmp_path / "people.csv", tmp_path / "release.toml").write(tmp_path / "release.toml")
    with browsing(tmp_path / "release.toml") as browser:
        assert "# joint-proof (chosen)" in browser.window.file.text
        browser.post("/policy/preset", {"preset": "more-pairs"})
        text = browser.window.file.text
        assert "# joint-proof (not chosen)" in text
        assert "# more-pairs (chosen)" in text
        assert "leave room for at" not in text
        browser.post("/policy/preset", {"preset": "joint-proof"})
        assert "# joint-proof (chosen)" in browser.window.file.text
