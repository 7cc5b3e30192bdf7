"""Pairs and sentences of pages say what the collection and the findings do."""

import json
from itertools import combinations

from hypothesis import given, settings

import marginals
from checks.attacks.knowledge import CertainCells
from checks.finding import Algorithm, Finding, Verdict
from marginals.pairs import pairs_shown
from marginals.say.attacks import attack_sentences
from marginals.say.sentences import by_readers, sentences_of
from models import Collection
from strategies import decomposable_collections


@given(decomposable_collections())
@settings(max_examples=60)
def test_pairs_are_what_the_margins_show(collection: Collection) -> None:
    """Published where one margin has as many values of both as any has, supported where it has several of both at least;
    linked through others, by trying every chain.
    """
    shown = pairs_shown(collection)
    values = [{a: collection.domain.hierarchy(a).size(level) for a, level in m.items()} for m in collection.margins]
    most = {a: max((own[a] for own in values if a in own), default=0) for a in collection.domain.attributes}
    telling = [{a for a, number in own.items() if number > 1 or most[a] == 1} for own in values]

    def reached(start: str) -> set[str]:
        known = {start}
        for _ in telling:
            known |= {name for margin in telling if margin & known for name in margin}
        return known

    assert [pair.names for pair in shown.pairs] == list(combinations(collection.domain.attributes, 2))
    for pair in shown.pairs:
        a, b = pair.names
        assert shown.kinds[a, b] == shown.kinds[b, a] == pair.kind
        if not (most[a] and most[b]):
            assert pair.kind == "unpublished"
        elif any({a, b} <= own.keys() and (own[a], own[b]) == (most[a], most[b]) for own in values):
            assert pair.kind == "published"
        elif any({a, b} <= margin for margin in telling):
            assert pair.kind == "supported"
        else:
            assert pair.kind == "assumed"
            assert pair.is_linked == (b in reached(a))
        assert bool(pair.words) == (pair.kind in ("published", "supported"))
    names = len(collection.domain.attributes)
    assert shown.total == names * (names - 1) // 2
    assert shown.numbers == {kind: [pair.kind for pair in shown.pairs].count(kind) for kind in shown.numbers}


def test_what_readers_conclude_is_sentences_by_who_concludes_it_and_never_nothing_where_it_was_not_examined() -> None:
    attacks = marginals.attacks.Attacks(
        nonsensitive=Finding("no-small-certain", Verdict.HOLDS, {"k": 10}, None, (Algorithm.POSSIBLE_TABLES,), 1),
        certain={"age": CertainCells(1, 1, 1, 3, 0, None)},
        left_out={"disease": "it is too large"},
    )
    sentences = list(attack_sentences(attacks))
    answer = json.loads(json.dumps({"sentences": marginals.plain(sentences)}))
    assert sentences_of(answer) == sentences
    assert [each.mark for each in sentences[:3]] == ["nothing found", "not examined", "not examined"]
    groups = by_readers(sentences)
    assert [(group.readers, group.tally) for group in groups] == [
        ("Readers of the tables alone", "1 nothing found, 1 not examined"),
        ("Readers who learn across classes", "1 not examined"),
    ]
    assert all(group.sentences for group in groups)
