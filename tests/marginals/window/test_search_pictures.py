"""Candidates side by side: which pairs of columns each can be analysed by, and what one has that the other has not."""

import re
from itertools import combinations
from pathlib import Path

import pytest

pytest.importorskip("werkzeug", reason="werkzeug is not installed")
pytest.importorskip("tomlkit", reason="tomlkit is not installed")

from marginals.pages.release_page import Pair, PairsShown
from marginals.window.jobs import Candidate
from marginals.window.rendering import KINDS_IN_WORDS, TIMES, pairs_picture
from marginals.window.search import differing_pairs
from small_release import write_config
from window_clients import browsing

NAMES = ("age", "sex", "a column with a very long name")


def shown(*kinds: str) -> PairsShown:
    pairs = tuple(Pair(names, kind) for names, kind in zip(combinations(NAMES, 2), kinds))
    return PairsShown(NAMES, pairs, {kind: kinds.count(kind) for kind in KINDS_IN_WORDS})


class Found(Candidate):
    """A candidate with pairs of its own."""

    def __init__(self, number: int, pairs: PairsShown | None) -> None:
        super().__init__(number, Path("nowhere"), "", {}, 0.0)
        self.__dict__["_contents"] = ((), pairs)


def test_a_picture_has_a_cell_for_each_pair_and_says_each_in_words() -> None:
    picture = pairs_picture(shown("published", "supported", "unpublished"))
    assert picture.description == "Of 3 pairs: 1 exact, 1 supported, 1 lost."
    assert {(cell.kind, cell.title.partition(":")[0]) for cell in picture.cells} == {
        ("published", "sex, age"),
        ("supported", f"{NAMES[2]}, age"),
        ("unpublished", f"{NAMES[2]}, sex"),
    }
    assert len({(cell.x, cell.y) for cell in picture.cells}) == 3
    assert all(cell.x + 16 <= picture.width and cell.y + 16 <= picture.height for cell in picture.cells)
    assert max(len(name) for *_, name in picture.names) == 15


def test_pairs_that_are_not_listed_are_counted() -> None:
    picture = pairs_picture(PairsShown(NAMES, (), {"published": 1, "supported": 0, "assumed": 1, "unpublished": 1}))
    assert picture.cells == ()
    assert picture.description == "Of 3 pairs: 1 exact, 0 supported, 2 lost."


@pytest.mark.parametrize(
    ("before", "now", "said"),
    [
        (("published", "assumed", "assumed"), ("published", "assumed", "unpublished"), "the same pairs"),
        (
            ("published", "assumed", "assumed"),
            ("supported", "assumed", "assumed"),
            f"exact no more: age{TIMES}sex",
        ),
        (
            ("assumed", "published", "supported"),
            ("published", "assumed", "published"),
            f"exact now: age{TIMES}sex, sex{TIMES}{NAMES[2]}; exact no more: age{TIMES}{NAMES[2]}; "
            f"not lost any more: age{TIMES}sex; lost: age{TIMES}{NAMES[2]}",
        ),
    ],
)
def test_what_two_candidates_differ_in_is_one_sentence(
    before: tuple[str, ...], now: tuple[str, ...], said: str
) -> None:
    earlier = Found(3, shown(*before))
    assert differing_pairs(Found(4, shown(*now)), earlier) == f"Beside candidate 3: {said}."
    assert differing_pairs(Found(4, None), earlier) == ""


@pytest.mark.slow
def test_candidates_stand_side_by_side_with_the_pairs_of_their_releases(tmp_path: Path) -> None:
    with browsing(write_config(tmp_path)) as browser:
        browser.window.counting.table(20)
        for changes in ({}, {"k_link": "60"}):
            browser.post("/search", changes)
            job = browser.window.jobs.latest("search")
            assert job is not None
            assert job.done.wait(120)
        page = browser.get("/search").get_data(as_text=True)
        for candidate in browser.window.candidates.all():
            assert candidate.pairs is not None
            described = pairs_picture(candidate.pairs).description
            map_of = re.search(rf'aria-label="Candidate {candidate.number}: {described}">(.*?)</svg>', page, re.DOTALL)
            assert map_of is not None
            for pair in candidate.pairs.listed:
                told = f"{pair.names[1]}, {pair.names[0]}: {KINDS_IN_WORDS[pair.kind]}"
                assert re.search(rf'<title>{told}</title><rect class="{pair.kind}"', map_of[1])
        assert "Beside candidate 1: " in page


def test_the_best_so_far_is_shown_while_a_search_is_at_work(tmp_path: Path) -> None:
    told = {
        "kl_divergence": 0.125,
        "tables": ["age (5 years), <sex>"],
        "attributes": ["age", "<sex>"],
        "pairs": [["age", "<sex>", "published"]],
        "numbers": {"published": 1, "supported": 0, "assumed": 0, "unpublished": 0},
    }
    program = (
        "import json, sys, time\n"
        f"print(json.dumps({{'best': {told!r}}}), file=sys.stderr, flush=True)\n"
        "print(json.dumps({'best': {'tables': 3}}), file=sys.stderr, flush=True)\n"
        "time.sleep(60)"
    )
    write_config(tmp_path)
    with browsing(tmp_path / "release.toml") as browser:
        assert browser.get("/search/best").get_data(as_text=True).strip() == ""
        job = browser.window.jobs.python("search", program, "a search")
        part = browser.until("/search/best", "The best so far")
        assert "KL divergence 0.125 nats" in part
        assert "not verified yet" in part
        assert "age (5 years), &lt;sex&gt;" in part
        assert 'role="img" aria-label="The best so far: Of 1 pair: 1 exact, 0 supported, 0 lost."' in part
        assert part.strip() in browser.get("/search").get_data(as_text=True)
        job.stop()
        assert job.done.wait(10)
        assert "The best so far" not in browser.get("/search").get_data(as_text=True)
