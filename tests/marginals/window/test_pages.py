"""Pages of the table, its levels and its policy: what they show, and that each form is an edit of the config."""

import html
import re
from collections.abc import Iterator
from itertools import combinations
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import marginals
from small_release import CONFIG, write_config
from table_readers import run_init
from window_clients import PLACE, Browser, browsing, problem_of

UNDEMANDED = CONFIG.replace('diversity = "entropy:2"', "")


@pytest.fixture
def browser(tmp_path: Path) -> Iterator[Browser]:
    with browsing(write_config(tmp_path)) as opened:
        opened.window.counting.table(20)
        yield opened


def labels_of(browser: Browser, name: str) -> tuple[tuple[str, ...], ...]:
    return browser.window.config().read_table().domain.hierarchy(name).labels


def test_a_role_is_changed_in_place_and_comments_stay(browser: Browser) -> None:
    path = browser.window.file.path
    before = "# mine\n" + CONFIG.replace('role = "sensitive"', 'role = "sensitive"  # by law')
    path.write_text(before)
    page = browser.change("/table", "/table/roles", {"role:town": "ignored"})
    old, new = (f'[attributes.town]\nrole = "{role}"' for role in ("quasi-identifier", "ignored"))
    assert path.read_text() == before.replace(old, new)
    assert "-role = &#34;quasi-identifier&#34;\n+role = &#34;ignored&#34;" in page


def test_a_column_is_a_level_of_another_one_until_its_role_is_another(browser: Browser) -> None:
    path = browser.window.file.path
    key = 'level_of = "age"\n'
    path.write_text(
        CONFIG.replace("intervals = [5, 10]\n", "").replace("[attributes.town]\n", f"[attributes.town]\n{key}")
    )
    assert labels_of(browser, "age")[1:] == (("Aix", "Ely", "Ulm"), ("*",))
    assert "town" in browser.until("/levels?attribute=age&level=1", "Ulm")
    browser.change("/table", "/table/roles", {"role:sex": "ignored"})
    assert key in path.read_text()
    browser.change("/table", "/table/roles", {"role:town": "ignored"})
    assert key not in path.read_text()


def test_questions_stand_first_until_somebody_says_that_all_roles_are_right(browser: Browser) -> None:
    path = browser.window.file.path
    asked = "# Guessed: 2 categories.\n# Asked: the name says nothing that this program knows.\n"
    path.write_text(CONFIG.replace("[attributes.sex]\n", f"[attributes.sex]\n{asked}"))
    question = "sex: is that something that nobody should learn about a person?"
    page = browser.until("/table", "600 rows")
    assert page.index(question) < page.index('name="role:sex"')
    browser.change("/table", "/table/confirm")
    assert "reviewed = true" in path.read_text()
    assert question not in browser.until("/table", "600 rows")


def test_forms_that_are_sent_as_they_stand_change_nothing(browser: Browser) -> None:
    before = browser.window.file.text
    for path, action in [
        ("/table", "/table/roles"),
        ("/table", "/table/unit"),
        ("/policy", "/policy"),
        ("/search", "/policy/wanted"),
    ]:
        page = browser.change(path, action)
        assert "Nothing changed." in page, (action, problem_of(page))
        assert browser.window.file.text == before


def test_the_unit_is_written(browser: Browser) -> None:
    for keep, written in (("one", 1), ("rows", "any")):
        browser.post("/table/unit", {"person": "", "keep": keep})
        assert browser.window.config().source.rows_per_person == written
    assert problem_of(browser.send("/table/unit", {"person": "age", "keep": "first"}))
    assert browser.window.config().source.rows_per_person == "any"


def test_levels_are_those_of_the_table_and_small_groups_are_marked_without_their_number(browser: Browser) -> None:
    path = browser.window.file.path
    path.write_text(path.read_text().replace("k_link = 5", "k_link = 150"))
    page = browser.until("/levels?attribute=age&level=2", "age at level 2")
    titles = dict(re.findall(r'value="([^"]*)"> [^<]*</label> <span class="soft">([^<]*)</span>', page))
    table = browser.window.config().read_table()
    counts = {label: count for (label,), count in table.cube.table(table.domain.mask({"age": 2})).cells()}
    assert min(counts.values()) < 150 < max(counts.values())
    for label, count in counts.items():
        assert titles[label] == ("fewer than 150 rows" if count < 150 else f"{count:,} rows")


def test_bands_are_cut(browser: Browser) -> None:
    browser.get("/levels?attribute=age")
    browser.post("/levels/cuts", {"attribute": "age", "cuts": "25, 40"})
    assert labels_of(browser, "age")[1] == ("under 25", "25-39", "40 and over")
    assert browser.window.config().source.attributes["age"].intervals == ()
    assert 'hierarchy = "hierarchies/age.csv"' in browser.window.file.text


def group(browser: Browser, level: int, values: list[str], name: str) -> str:
    answer = browser.send("/levels/group", {"attribute": "town", "level": str(level), "value": values, "group": name})
    browser.window.counting.table(20)
    return answer


def test_several_values_become_a_group_with_a_name(browser: Browser) -> None:
    group(browser, 0, ["Aix", "Ulm"], "north ")
    assert labels_of(browser, "town")[:2] == (("Aix", "Ely", "Ulm"), ("north", "Ely"))
    group(browser, 1, ["Ely"], "The South")
    assert labels_of(browser, "town")[1] == ("north", "The South")
    group(browser, 1, ["north"], "The South")
    assert labels_of(browser, "town")[1] == ("The South",)


def test_names_that_do_not_nest_are_refused_and_the_file_stays(browser: Browser) -> None:
    file = browser.window.project.folder / "town.csv"
    file.write_text("Aix;coast;south;*\nEly;inland;north;*\nUlm;hills;south;*\n")
    before = file.read_bytes()
    browser.window.file.path.write_text(
        CONFIG.replace("[attributes.town]\n", '[attributes.town]\nhierarchy = "town.csv"\n')
    )
    browser.window.counting.table(20)
    assert problem_of(group(browser, 1, ["coast", "inland"], "low"))
    assert file.read_bytes() == before


def test_the_policy_is_written_and_its_claims_shown(browser: Browser) -> None:
    changed = {
        "k_link": "7",
        "min_cell": "4",
        "diversity:disease": "recursive:3,2",
        "rules": ["cms-11"],
    }
    page = browser.change("/policy", "/policy", changed)
    policy = browser.window.config().policy
    assert (policy.k_link, policy.min_cell, policy.diversity) == (7, 4, "recursive:3,2")
    assert [rule.name for rule in policy.named_rules] == ["cms-11"]
    titles = (
        "k-link k = 7",
        "min-cell k = 11",
        "maxent-diversity diversity = recursive:3,2, sensitive = disease",
    )
    assert len(policy.requirements(("disease",)).claims) == len(titles)
    assert all(f"<b>{title}</b>" in page for title in titles)


@pytest.mark.parametrize(
    ("path", "action", "changed", "field"),
    [
        ("/policy", "/policy", {"k_link": "-1", "rules": ["cms-11"], "diversity:disease": "simple:2"}, "k_link"),
        ("/policy", "/policy", {"k_link": '"><script>'}, "k_link"),
        ("/policy", "/policy", {"diversity:disease": "entropy:x"}, "diversity:disease"),
        ("/policy", "/policy", {"diversity:disease": "recursive:2"}, "diversity:disease"),
        ("/policy", "/policy", {"diversity:disease": "entropy:0.5"}, "diversity:disease"),
        ("/levels?attribute=age&level=1", "/levels/cuts", {"cuts": "x"}, "cuts"),
        ("/levels?attribute=age&level=1", "/levels/cuts", {"cuts": ""}, "cuts"),
        ("/levels?attribute=town&level=0", "/levels/group", {"group": "south"}, "group"),
        ("/levels?attribute=town&level=0", "/levels/group", {"value": ["Aix", "Ulm"], "group": "*"}, "group"),
    ],
)
def test_what_is_wrong_stands_at_its_field_unfolded_with_what_was_typed_and_nothing_is_written(
    browser: Browser, path: str, action: str, changed: dict[str, Any], field: str
) -> None:
    before = browser.window.file.text
    fields = browser.fields_of(browser.until(path, f'action="/{PLACE}{action}"'), action)
    page = browser.send(action, {**fields, **changed})
    assert problem_of(page)
    marked = re.findall(r'<(?:input|select)[^>]*name="([^"]*)"[^>]*aria-invalid="true"[^>]*"[^"]*\brefused"', page)
    assert marked == [field], problem_of(page)
    sent = {name: value if isinstance(value, list) else [value] for name, value in {**fields, **changed}.items()}
    assert browser.fields_of(page, action) == sent
    assert browser.window.file.text == before
    again = browser.page(path)
    assert 'aria-invalid="true"' not in again
    tags = re.findall("</?details[^>]*>", page[: page.index('id="refused"')])
    around: list[int] = []
    for place, tag in enumerate(tags):
        around = around[:-1] if tag == "</details>" else [*around, place]
    for place, (tag, old) in enumerate(zip(tags, re.findall("</?details[^>]*>", again))):
        assert (" open" in tag) is (place in around or " open" in old), tag
    for other in set(re.findall(rf'<form method="post"[^>]*action="/{PLACE}([^"]*)"', again)) - {action}:
        assert browser.fields_of(page, other) == browser.fields_of(again, other)


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.text(st.characters(exclude_categories=["Cs", "Cc"])))
def test_any_text_comes_back_in_its_field_and_brings_no_tag(browser: Browser, text: str) -> None:
    before = browser.window.file.text
    page = browser.change("/policy", "/policy", {"k_link": f"x{text}"})
    assert browser.fields_of(page, "/policy")["k_link"] == [f"x{text}"]
    page = browser.send("/table/text", {"text": f"[{text}"})
    shown = re.search(r"<textarea[^>]*>(.*?)</textarea>", page, re.DOTALL)
    assert shown is not None
    assert html.unescape(shown[1]).removeprefix("\n") == f"[{text}"
    assert browser.window.file.text == before


def test_questions_that_are_named_are_wanted_and_the_button_looks_for_tables_too(browser: Browser) -> None:
    browser.post("/policy/wanted", {"first": ["age", "sex", ""], "second": ["disease", " town", ""]})
    assert [own.attributes for own in browser.window.config().policy.analyses] == [("age", "disease"), ("sex", "town")]
    fields = browser.fields_of(browser.page("/search"), "/policy/wanted")
    assert (fields["first"], fields["second"]) == (["age", "sex", "", "", ""], ["disease", "town", "", "", ""])
    browser.post("/policy/wanted", {"first": ["town", "sex"], "second": ["town", "age"], "search": "yes"})
    assert browser.window.jobs.latest("search") is None
    browser.post("/policy/wanted", {"first": ["sex"], "second": ["town"]})
    assert [own.attributes for own in browser.window.config().policy.analyses] == [("sex", "town")]
    browser.post("/policy/wanted", {})
    assert browser.window.config().policy.analyses == ()
    assert browser.window.file.text.strip() == CONFIG.strip() or "[search]" in browser.window.file.text


SENSITIVE, CUTS = {"role:town": "sensitive"}, {"attribute": "age", "cuts": "25, 40"}


@pytest.mark.parametrize(
    ("first", "second"),
    [
        (("/policy", {"k_link": "7"}), ("/policy", {"k_link": "9", "min_cell": "4"})),
        (("/table/roles", SENSITIVE), ("/levels/cuts", CUTS)),
        (("/table/roles", SENSITIVE), ("/table/text", {"text": CONFIG + "# mine"})),
    ],
)
def test_the_later_of_two_edits_takes_nothing_back_of_the_other(
    browser: Browser, first: tuple[str, dict[str, str]], second: tuple[str, dict[str, str]]
) -> None:
    """In two tabs, each loaded before: the second is refused, with the file as it is now and the text that was typed."""
    pages = {"/table/roles": "/table", "/policy": "/policy"}
    sent = []
    for action, changed in (first, second):
        fields = browser.fields_of(browser.until(pages[action], action), action) if action in pages else {}
        sent.append((action, {"version": browser.window.file.version, **fields, **changed}))
    browser.send(*sent[0])
    between = browser.window.file.text
    assert between != CONFIG
    answer = browser.post(*sent[1])
    assert answer.status_code == 409
    page = html.unescape(answer.get_data(as_text=True))
    assert between in page
    assert second[1].get("text", "") in page
    if first[0] == second[0]:
        named = "<b>k_link</b>: you chose \N{LEFT DOUBLE QUOTATION MARK}9\N{RIGHT DOUBLE QUOTATION MARK}, and now it is"
        assert named in page
    assert browser.window.file.text == between


def test_two_tabs_each_change_a_column_and_both_changes_stay(browser: Browser) -> None:
    """Each was loaded before. Only if both change one column is the second refused, with the column and both values."""
    fields = browser.fields_of(browser.page("/table"), "/table/roles")
    assert browser.post("/table/roles", {**fields, **SENSITIVE}).status_code == 200
    assert browser.post("/table/roles", {**fields, "role:sex": "ignored"}).status_code == 200
    attributes = browser.window.config().source.attributes
    assert (attributes["town"].role.value, attributes["sex"].role.value) == ("sensitive", "ignored")
    moved = browser.fields_of(browser.page("/table"), "/table/move") | {
        "column": ["age", "sex"],
        "to": "quasi-identifier",
    }
    assert browser.post("/table/move", moved).status_code == 200
    assert browser.window.config().source.attributes["sex"].role.value == "quasi-identifier"
    answer = browser.post("/table/roles", {**fields, "role:town": "ignored"})
    assert answer.status_code == 409
    said = "<b>town: role</b>: you chose \N{LEFT DOUBLE QUOTATION MARK}ignored\N{RIGHT DOUBLE QUOTATION MARK}, and now it is"
    assert said in answer.get_data(as_text=True)


def test_an_answer_moves_the_columns_and_takes_the_question_away(browser: Browser) -> None:
    path = browser.window.file.path
    asked = "# Guessed: 2 categories.\n# Asked: the name says\n#   nothing.\n"
    path.write_text(CONFIG.replace("[attributes.sex]\n", f"[attributes.sex]\n{asked}"))
    assert "1 question only you can answer" in browser.until("/table", "600 rows")
    page = browser.send("/table/answer", {"column": "sex", "answer": "sensitive"})
    assert "only you can answer" not in page
    assert browser.window.config().source.attributes["sex"].role.value == "sensitive"
    assert "# Guessed: 2 categories.\nrole" in path.read_text()
    assert problem_of(browser.send("/table/answer", {"column": "hat", "answer": "sensitive"}))


def test_a_form_that_is_refused_and_sent_again_takes_nothing_back_of_another_edit(browser: Browser) -> None:
    """It comes back with what was typed, about the config as it was when its page was loaded; the rest is merged."""
    typed = browser.fields_of(browser.page("/policy"), "/policy") | {"min_cell": "x"}
    browser.change("/policy", "/policy", {"k_link": "50"})
    again = browser.fields_of(browser.send("/policy", typed), "/policy")
    assert (again["k_link"], again["min_cell"]) == (["5"], ["x"])
    assert browser.post("/policy", {**again, "k_link": "7", "min_cell": "4"}).status_code == 409
    assert browser.post("/policy", {**again, "min_cell": "4"}).status_code == 200
    assert (browser.window.config().policy.k_link, browser.window.config().policy.min_cell) == (50, 4)


@pytest.mark.parametrize(
    ("path", "fields"),
    [
        *(
            ("/policy/wanted", {"first": first, "second": second})
            for first, second in (("age", ""), ("", "age"), ("age", "age"), ("age", "hat"))
        ),
        ("/levels/group", {"attribute": "town", "level": "9"}),
        ("/levels/group", {"attribute": "town", "level": "0", "value": "Rome", "group": "south"}),
        ("/policy/harm", {"attribute": "hat"}),
    ],
)
def test_a_form_that_no_page_sends_is_refused_in_words(browser: Browser, path: str, fields: dict[str, str]) -> None:
    page = browser.send(path, fields)
    assert problem_of(page)
    assert "a fault of the program" not in page
    assert browser.window.file.text == CONFIG


def test_a_hierarchy_file_that_changed_is_a_later_edit_too(browser: Browser) -> None:
    browser.post("/levels/cuts", {"attribute": "age", "cuts": "25, 40"})
    old = browser.window.file.version
    file = browser.window.project.folder / "hierarchies" / "age.csv"
    file.write_text(file.read_text().replace("under 25", "young"))
    assert browser.post("/policy", {"k_link": "9", "version": old}).status_code == 409


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (CONFIG.replace("k_link = 5", "k_link = = 5"), "TOML"),
        (CONFIG.replace("k_link = 5", "k_links = 5"), "privacy.k_links"),
        (CONFIG.replace("[5, 10]", "[5, 7]"), "attributes.age.intervals"),
        (CONFIG.replace('"people.csv"', '"/etc/passwd"'), "outside"),
        (CONFIG.replace("k_link = 5", "k_link = -5"), "k_link"),
    ],
)
def test_a_config_with_an_error_is_shown_and_editable(browser: Browser, text: str, said: str) -> None:
    browser.window.file.path.write_text(text)
    for page in ("/table", "/levels", "/policy", "/search", "/publish"):
        answer = browser.get(page)
        assert answer.status_code == 200
        assert all(each in answer.get_data(as_text=True) for each in (said, "<textarea"))
    assert "# more" in browser.send("/table/text", {"text": text + "# more\n"})
    assert browser.window.file.path.read_text() == text
    browser.post("/table/text", {"text": CONFIG})
    assert browser.window.file.path.read_text() == CONFIG


@pytest.mark.parametrize(
    "table", [b"", b"\xff\xfe\x00\xd8", b"age,age\n1,2\n", b"age,sex\n1,2,3\n", b"other\n1\n"], ids=range(5)
)
def test_a_table_that_cannot_be_read_is_said_on_each_page(tmp_path: Path, table: bytes) -> None:
    config = write_config(tmp_path)
    (tmp_path / "people.csv").write_bytes(table)
    with browsing(config) as browser:
        browser.window.counting.table(20)
        for path in ("/table", "/levels", "/policy", "/publish"):
            assert browser.get(path).status_code == 200
        assert problem_of(browser.page("/levels"))


@pytest.mark.parametrize("content", [b"", b"\x00\x01\x02", b"a,a\n1,2\n", b"x\n"], ids=range(4))
def test_a_file_that_is_no_table_is_refused(tmp_path: Path, content: bytes) -> None:
    (tmp_path / "people.csv").write_bytes(content)
    with browsing(tmp_path / "people.csv") as browser:
        browser.post("/table/begin")
        page = browser.until("/table", "said problem")
        assert problem_of(page)
        assert "Traceback" not in page
        assert not (tmp_path / "release.toml").exists()


def protection(page: str) -> str:
    """What stands at the top of a page about who is not protected."""
    found = re.search(r'<div class="protection"[^>]*>(.*?)</div>', page, re.DOTALL)
    return "" if found is None else " ".join(re.sub(r"<[^>]*>", " ", found[1]).split())


@pytest.mark.parametrize("path", ["/table", "/levels", "/policy", "/search", "/publish", "/explore"])
def test_each_page_offers_a_demand_where_none_is(browser: Browser, path: str) -> None:
    assert not protection(browser.page(path))
    browser.window.file.path.write_text(UNDEMANDED)
    page = browser.page(path)
    assert "Nothing is demanded of disease" in protection(page)
    assert 'href="/' in page.partition("Nothing is demanded of disease")[2].partition("</p>")[0]
    browser.post("/policy/choice", {"choice": "public"})
    assert browser.window.config().policy.diversity == "public"
    assert not protection(browser.page(path))


def test_what_is_exposed_on_purpose_is_said_and_can_be_protected(browser: Browser) -> None:
    browser.change("/policy", "/policy", {"diversity:disease": "none"})
    assert browser.window.config().policy.diversity == "none"
    assert "Nothing changed." in browser.change("/policy", "/policy")
    assert "on purpose" in protection(browser.page("/publish"))
    browser.post("/policy/choice", {"choice": "strict"})
    assert browser.window.config().policy.diversity == "strict"


def harm_config(folder: Path) -> Path:
    """The config that `init` writes for people most of whom are not ill."""
    rng = np.random.default_rng(0)
    ill = rng.choice(["negative", "positive", "unclear"], 900, p=[0.9, 0.06, 0.04])
    pd.DataFrame({"town": rng.choice(list("abc"), 900), "hiv": ill}).to_csv(folder / "t.csv", index=False)
    assert run_init(folder / "t.csv").exit_code == 0
    config = folder / "release.toml"
    config.write_text(config.read_text().replace("register = true\n", ""))
    return config


@pytest.mark.parametrize(("answer", "harmless"), [("yes", ("negative",)), ("no", ())])
def test_what_looks_harmless_counts_as_harmful_until_somebody_answers(
    tmp_path: Path, answer: str, harmless: tuple[str, ...]
) -> None:
    with browsing(harm_config(tmp_path)) as browser:
        browser.window.counting.table(20)
        assert browser.window.config().source.attributes["hiv"].harm.harmless == ()
        assert "somebody has negative?" in browser.page("/policy")
        browser.post("/policy/harm", {"attribute": "hiv", "answer": answer})
        assert browser.window.config().source.attributes["hiv"].harm.harmless == harmless
        browser.window.counting.table(20)
        assert "somebody has negative?" not in browser.page("/policy")


def test_who_ticks_what_harms_confirms_it_and_may_bound_each_value(tmp_path: Path) -> None:
    with browsing(harm_config(tmp_path)) as browser:
        browser.window.counting.table(20)
        fields = {"attribute": "hiv", "harmful": "positive", "most:positive": "20"}
        browser.post("/policy/harm", fields)
        attribute = browser.window.config().source.attributes["hiv"]
        assert (attribute.harm.harmless, attribute.harm.at_most) == (("negative", "unclear"), {"positive": 20})
        for most, said in (("3", "bounds 'positive' by 3 percent"), ("100", "above 0 and below 100"), ("x", "above 0")):
            browser.window.counting.table(20)
            assert said in html.unescape(browser.send("/policy/harm", {**fields, "most:positive": most}))
        assert "Tick the values that harm" in browser.send("/policy/harm", {"attribute": "hiv"})
        assert browser.window.config().source.attributes["hiv"] == attribute
        browser.post("/table/roles", {"role:hiv": "quasi-identifier"})
        assert not browser.window.config().source.attributes["hiv"].harmless


def test_small_counts_of_sensitive_values_are_warned_of_before_publishing(browser: Browser) -> None:
    for changed, said in (({}, "counts that include it are as small as"), ({"min_cell": "20"}, "No number below 20")):
        browser.search(**changed)
        assert said in browser.page("/publish")


def test_a_preset_is_written_with_what_fits_together_and_back(browser: Browser) -> None:
    path = browser.window.file.path
    old = marginals.read_config(path).policy
    assert 'name="k_combinatorial"' in browser.page("/policy")
    browser.change("/search", "/policy/preset", {"preset": "more-pairs"})
    policy = marginals.read_config(path).policy
    assert (policy.k_combinatorial, policy.further_tables) == (None, "pairs")
    page = browser.page("/policy")
    assert 'name="no_small_certain"' in page
    assert 'name="k_combinatorial"' not in page
    browser.change("/search", "/policy/preset", {"preset": "joint-proof"})
    after = marginals.read_config(path).policy
    assert (after.k_combinatorial, after.min_cell, after.further_tables) == (old.k_combinatorial, old.min_cell, "none")


CHOICES = {"public": ("Public file", 10, 3), "research": ("Research file", 5, 2), "strict": ("Strict", 20, 11)}
"""The name of each choice, its k, and its least count with a sensitive value."""


def is_in_force(choice: str, page: str) -> bool:
    return bool(re.search(rf"<h2>{CHOICES[choice][0]}</h2>(?:(?!</section>).)*demanded now</span>", page, re.DOTALL))


@pytest.mark.parametrize("choice", CHOICES)
@pytest.mark.parametrize(
    "now", ["", 'diversity = "none"', 'diversity = "distinct:2"', 'diversity = {disease = "none"}']
)
def test_a_choice_leaves_no_sensitive_column_without_a_demand(tmp_path: Path, choice: str, now: str) -> None:
    config = write_config(tmp_path)
    config.write_text(CONFIG.replace('diversity = "entropy:2"', now))
    with browsing(config) as browser:
        browser.window.counting.table(20)
        browser.post("/policy/choice", {"choice": choice})
        page = browser.page("/policy")
        policy = browser.window.config().policy
        _, k, least = CHOICES[choice]
        assert (policy.k_link, policy.k_combinatorial, policy.min_cell) == (k, k, least)
        assert policy.undemanded(["disease"]) == ()
        assert [each for each in CHOICES if is_in_force(each, page)] == [choice]


def test_a_demand_that_somebody_typed_stays(browser: Browser) -> None:
    browser.post("/policy/choice", {"choice": "strict"})
    assert browser.window.config().policy.diversity == "entropy:2"
    assert "Public file, Research file, Strict" in browser.send("/policy/choice", {"choice": "other"})


def test_the_page_says_what_each_choice_costs_in_this_table(browser: Browser) -> None:
    """Counted over all groups of one or two columns: those of too few rows, and those that break the demand."""
    page = browser.page("/policy")
    frame = pd.read_csv(browser.window.project.folder / "people.csv")
    public = ["age", "sex", "town"]
    groups = [list(names) for size in (1, 2) for names in combinations(public, size)]
    sizes = np.concatenate([frame.groupby(names).size() for names in groups])
    cells = np.concatenate([frame.groupby([*names, "disease"]).size() for names in ([], *([name] for name in public))])
    shares = [frame.groupby(name)["disease"].value_counts(normalize=True) for name in public]
    entropies = np.concatenate([-(share * np.log(share)).groupby(level=0).sum() for share in shares])
    told = f"In {(entropies < np.log(2)).sum():,} of {len(entropies):,} groups"
    for name, k, least in CHOICES.values():
        shown = re.search(rf"<h2>{name}</h2>((?:(?!</section>).)*)</section>", page, re.DOTALL)
        assert shown is not None
        for counts, enough in ((sizes, k), (cells, least)):
            small = (counts < enough).sum()
            assert (f"{small:,} of {len(counts):,} " if small else f"All {len(counts):,} ") in shown[1]
        assert told in shown[1]
    assert page.index("<h2>Public file</h2>") < page.index('<details id="fine" class="advanced" open>')
