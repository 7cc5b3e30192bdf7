"""Levels as a tree: groups with their rows and marks, renamed and put into another order."""

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

pytest.importorskip("werkzeug", reason="werkzeug is not installed")
pytest.importorskip("tomlkit", reason="tomlkit is not installed")

from hypothesis import given

import marginals
from marginals.window.level_tree import Group, level_tree
from models import Hierarchy
from small_release import write_config
from strategies import hierarchies
from window_clients import Browser, browsing, served


@pytest.fixture
def opened(tmp_path: Path) -> Iterator[Browser]:
    with browsing(write_config(tmp_path)) as client:
        client.window.counting.table(20)
        yield client


def leaves(group: Group) -> list[Group]:
    return [leaf for part in group.parts for leaf in leaves(part)] or [group]


@given(hierarchies())
def test_the_tree_has_all_values_with_rows_and_each_group_the_rows_of_its_parts(hierarchy: Hierarchy) -> None:
    counts = np.arange(hierarchy.size(0), dtype=np.int64)
    tree = level_tree(hierarchy, counts)
    assert tree.rows == counts.sum()

    def check(group: Group) -> None:
        assert not group.parts or sum(part.rows for part in group.parts) == group.rows
        assert [part.label for part in group.parts] != [group.label]
        for part in group.parts:
            check(part)

    check(tree)
    values = sorted((leaf.rows for leaf in leaves(tree)), reverse=True)
    assert values == [count for count in sorted(counts.tolist(), reverse=True) if count] or counts.sum() == 0


def test_of_very_many_values_some_are_drawn_and_the_others_counted() -> None:
    rows = [(f"{value}", f"{value // 100}x", "*") for value in range(5000)]
    tree = level_tree(Hierarchy.from_rows(rows), np.ones(5000, dtype=np.int64))
    assert tree.others == 0
    assert len(tree.parts) == 50
    assert len(leaves(tree)) <= 450
    assert all(len(part.parts) + part.others == 100 for part in tree.parts)


def test_the_page_shows_groups_with_rows_and_marks_small_ones_without_their_number(opened: Browser) -> None:
    path = opened.window.file.path
    path.write_text(path.read_text().replace("k_link = 5", "k_link = 130"))
    page = opened.until("/levels?attribute=age", "The groups of age")
    tree = page[page.index('<ul class="tree">') : page.index("Rows at level")]
    table = opened.window.config().read_table()
    counts = table.cube.table(table.domain.mask({"age": 2}))
    for (label,), count in counts.cells():
        told = rf'<span class="label">{label}</span>.*?<span class="num">(.*?)</span>(?=</span>)'
        found = re.search(told, tree)
        assert found is not None
        assert re.sub("<.*?>", "", found[1]) == ("fewer than 130 rows" if count < 130 else str(count))
    assert "fewer than 130 rows" in tree


def order(opened: Browser, name: str, level: int) -> tuple[str, ...]:
    return opened.window.config().read_table().domain.hierarchy(name).labels[level]


def test_groups_are_put_into_another_order_and_renamed_at_once(opened: Browser) -> None:
    names = {"name:0": "Aix", "name:1": "Ely", "name:2": "Ulm"}
    fields = {"attribute": "town", "level": "0", **names}
    opened.post("/levels/names", {**fields, "code": ["2", "0", "1"]})
    assert order(opened, "town", 0) == ("Ulm", "Aix", "Ely")
    assert opened.window.config().read_table().domain.hierarchy("town").height == 1
    opened.window.counting.table(20)
    groups = {"name:0": "north", "name:1": "south", "name:2": "north"}
    opened.post("/levels/names", {**fields, **groups, "code": ["1", "0", "2"]})
    assert order(opened, "town", 1) == ("south", "north")
    assert order(opened, "town", 0) == ("Aix", "Ulm", "Ely")


def test_arrows_move_a_value_without_scripts(opened: Browser) -> None:
    fields = opened.fields_of(opened.until("/levels?attribute=town&level=0", "Move Aix up"), "/levels/names")
    for move, after in [
        ("2:up", ("Aix", "Ulm", "Ely")),
        ("0:up", ("Aix", "Ulm", "Ely")),
        ("0:down", ("Ulm", "Aix", "Ely")),
    ]:
        page = opened.post("/levels/names", {**fields, "move": move}).get_data(as_text=True)
        assert order(opened, "town", 0) == after
        opened.window.counting.table(20)
        page = opened.until("/levels?attribute=town&level=0", "Move Aix up")
        fields = opened.fields_of(page, "/levels/names")
    for move in ("9:up", "x:up", "0:left", "0"):
        page = opened.post("/levels/names", {**fields, "move": move}).get_data(as_text=True)
        assert "A value is moved up or down" in page
    page = opened.post("/levels/names", {**fields, "code": ["0", "0", "1"]}).get_data(as_text=True)
    assert "The levels have changed since this page was loaded" in page


@pytest.mark.slow
def test_values_are_moved_by_keyboard_and_by_dragging(
    browser: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    config = write_config(tmp_path)
    with served(config, monkeypatch) as address:
        page = browser.new_page(viewport={"width": 1280, "height": 900})
        page.goto(address)
        page.wait_for_url("**/table")
        page.goto(page.url.replace("/table", "/levels?attribute=town&level=0"))
        page.get_by_role("button", name="Move Ulm up").focus()
        page.keyboard.press("Enter")
        page.get_by_text("Ulm is at place 2 of 3").wait_for()
        assert page.evaluate("document.activeElement.getAttribute('aria-label')") == "Move Ulm up"
        page.keyboard.press("Enter")
        page.get_by_text("Ulm is at place 1 of 3").wait_for()
        page.locator("ol.names label", has_text="Aix").drag_to(
            page.locator("ol.names li", has_text="Ely"),
            source_position={"x": 5, "y": 5},
            target_position={"x": 5, "y": 40},
        )
        assert page.locator("ol.names label").all_inner_texts() == ["Ulm", "Ely", "Aix"]
        page.get_by_role("button", name="Save the names").click()
        page.get_by_text("The names of town are written.").wait_for()
        page.close()
    assert marginals.read_config(config).read_table().domain.hierarchy("town").labels[0] == ("Ulm", "Ely", "Aix")
