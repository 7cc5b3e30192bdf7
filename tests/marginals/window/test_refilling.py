"""A form that was refused holds what was typed; all else of its page stays to the letter."""

from html import escape
from html.parser import HTMLParser

import pytest

pytest.importorskip("werkzeug", reason="werkzeug is not installed")

from hypothesis import given
from hypothesis import strategies as st

from marginals.window.rendering import FieldError, refilled

PAGE = """<!doctype html>
<html lang="en"><!-- a note --><body>
<form method="post" action="/other"><input type="text" name="k" value="1"></form>
<svg viewBox="0 0 1 1"><path d="M0 0"/></svg><p>3 &lt; 4 &#233;</p>
<form method="post" action="/own"><input type="hidden" name="form" value="token">
<input type="text" name="k" value="1"><input type="text" name="k" value="2">
<input type="checkbox" name="on" value="yes" checked><input type="checkbox" name="off" value="yes">
<input type="radio" name="one" value="a" checked><input type="radio" name="one" value="b">
<select name="kind"><option selected>x &amp; y</option><option>z</option></select>
<select name="level"><option value="0" selected>fine</option><option value="1">coarse</option></select>
<textarea name="words">before</textarea></form>
</body></html>
"""


def test_each_kind_of_field_holds_what_was_typed() -> None:
    typed = {
        "form": ["another"],
        "k": ["ten", '"><script>'],
        "off": ["yes"],
        "one": ["b"],
        "kind": ["z"],
        "level": ["1"],
        "words": ["a </textarea> b"],
    }
    page = refilled(PAGE, "/own", typed)
    assert '<form method="post" action="/other"><input type="text" name="k" value="1">' in page
    assert '<input type="hidden" name="form" value="token">' in page
    assert '<input type="text" name="k" value="ten">' in page
    assert '<input type="text" name="k" value="&quot;&gt;&lt;script&gt;">' in page
    assert '<input type="checkbox" name="on" value="yes">' in page
    assert '<input type="checkbox" name="off" value="yes" checked>' in page
    assert '<input type="radio" name="one" value="a">' in page
    assert '<input type="radio" name="one" value="b" checked>' in page
    assert "<option>x &amp; y</option><option selected>z</option>" in page
    assert '<option value="0">fine</option><option value="1" selected>coarse</option>' in page
    assert '<textarea name="words">\na &lt;/textarea&gt; b</textarea>' in page
    assert "<script>" not in page


def test_other_pages_stay_to_the_letter() -> None:
    assert refilled(PAGE, "/third", {"k": ["ten"]}) == PAGE


class Fields(HTMLParser):
    """What a browser reads in the fields of a page."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.values: list[str | None] = []
        self.words = ""
        self._is_text = False
        self.feed(page)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        if tag == "input":
            self.values.append(dict(attrs).get("value"))
        self._is_text = tag == "textarea"

    def handle_endtag(self, tag: str) -> None:
        self._is_text = self._is_text and tag != "textarea"

    def handle_data(self, data: str) -> None:
        self.words += data if self._is_text else ""


@given(st.text(), st.text())
def test_any_text_comes_back_as_it_was_and_brings_no_tag(one: str, words: str) -> None:
    page = f'<form action="/own"><input name="one" value=""><textarea name="words">{escape(words)}</textarea></form>'
    read = Fields(refilled(page, "/own", {"one": [one], "words": [words]}))
    assert read.values == [one]
    assert read.words == f"\n{words}"  # of which a browser leaves out the first line break


FOLDED = """<details><summary>Other</summary></details><details class="more"><summary>More</summary>
<form method="post" action="/own"><details><summary>In</summary><select name="kind"><option>x</option></select></details>
<input type="hidden" name="k" value="1"><input type="text" name="k" aria-describedby="hint"><input type="text" name="k">
</form></details>"""


def test_a_sentence_stands_behind_its_field_which_is_marked_and_unfolded() -> None:
    page = refilled(FOLDED, "/own", {"k": ["1", "<2>"]}, FieldError("k", "k is <3>", 1))
    sentence = '<span class="wrong" id="refused">k is &lt;3&gt;</span>'
    assert f'name="k" aria-invalid="true" aria-describedby="refused" value="&lt;2&gt;">{sentence}' in page
    assert page.count("aria-invalid") == 1
    assert '<details><summary>Other</summary></details><details class="more" open>' in page
    assert "<details><summary>In" in page
    page = refilled(FOLDED, "/own", {}, FieldError("k", "wrong"))
    assert 'name="k" aria-describedby="hint refused" aria-invalid="true"><span' in page
    page = refilled(FOLDED, "/own", {"kind": ["x"]}, FieldError("kind", "wrong"))
    assert "<details open><summary>In" in page
    assert '</select><span class="wrong" id="refused">wrong</span></details>' in page
    assert refilled(FOLDED, "/third", {}, FieldError("k", "wrong")) == FOLDED
