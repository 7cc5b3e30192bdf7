"""`make same` sees each change of an answer and nothing else, and `make lines` counts what is code."""

import sys
from datetime import UTC, datetime
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path
from types import ModuleType

import pytest

from answered_items import ADULT, list_items, normalize_json, normalize_text, round_floats
from count_lines import Size, measure_source


@pytest.fixture(scope="module")
def same() -> ModuleType:
    name = "script_of_same"
    spec = spec_from_file_location(name, Path(__file__).with_name("same.py"))
    module = sys.modules[name] = module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_texts_keep_everything_but_folder_date_seconds_and_the_last_digits() -> None:
    today = datetime.now(UTC).date().isoformat()
    assert normalize_text(f"{today}: /tmp/x/out", Path("/tmp/x")) == "TODAY: FOLDER/out"
    assert normalize_text("1999-12-31 <b><i>", Path("/tmp/x")) == "1999-12-31 <b>\n<i>"
    near, same_text = ({"b": [0.1 + 0.2, 3], "a": 1e-15, "seconds": 2.5}, {"b": [0.3, 3], "a": 0.0, "seconds": 7.0})
    assert round_floats(near) == round_floats(same_text) == {"b": [0.3, 3], "a": 0.0}
    assert normalize_json('{"b": 0.30000001, "a": [1, true]}') == '{\n "a": [\n  1,\n  true\n ],\n "b": 0.3\n}'
    assert normalize_json('{"b": 0.300001}') != normalize_json('{"b": 0.3}')
    assert normalize_json("{no JSON") == "{no JSON"


def test_a_digit_of_a_text_a_step_and_an_item_are_noticed(same: ModuleType) -> None:
    old = {"fixed one": {"query": "lower 5\nupper 7\n", "words": "a\n"}, "search two": {"publish": "x\n"}}
    digests = {name: same.digest_texts(texts) for name, texts in old.items()}
    assert same.read_digests(same.write_digests(digests)) == digests
    assert same.list_changes(digests, digests) == {}
    changed = {"fixed one": {**digests["fixed one"], **same.digest_texts({"query": "lower 5\nupper 8\n"})}}
    assert same.list_changes(digests, changed | {"search three": {"publish": "0"}}) == {
        "fixed one": ["query"],
        "search three": ["publish"],
        "search two": ["publish"],
    }
    lines = same.diff_texts("fixed one", "query", old["fixed one"]["query"], "lower 5\nupper 8\n")
    assert lines[-2:] == ["-upper 7", "+upper 8"]


def test_every_item_has_digests_that_are_checked_in(same: ModuleType) -> None:
    items = set(list_items())
    known = set(same.read_digests(same.DIGESTS.read_text()))
    assert known - items <= {ADULT}
    assert items <= known
    assert sum(name.startswith("search table") for name in items) == 150


def test_code_is_neither_blank_nor_comment_nor_docstring() -> None:
    module, own = (
        '"""Of a\nmodule."""\n\n',
        'class A:\n    """Of a class."""\n    # nothing\n    x = """not\n    one"""\n',
    )
    source = f'{module}{own}\n\ndef f() -> None: "one line"\n'
    assert measure_source(source) == Size(files=1, lines=11, code=3, classes=1)
