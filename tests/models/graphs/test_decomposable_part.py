"""Margins are taken as long as they have a junction tree: the same ones as by making the whole tree anew each time."""

from hypothesis import example, given, settings
from hypothesis import strategies as st

from models import Domain, Hierarchy, JunctionTree, Mask, NotDecomposableError
from models.graphs.junction_tree import decomposable_part
from strategies import domains, margins

FLAT = Domain.of({name: Hierarchy.flat("xy") for name in "abcdefghij"})


def brute_force(domain: Domain, masks: list[Mask]) -> tuple[Mask, ...]:
    taken: list[Mask] = []
    for mask in dict.fromkeys(masks):
        try:
            JunctionTree.of(domain, [*taken, mask])
        except NotDecomposableError:
            continue
        taken.append(mask)
    return tuple(taken)


@settings(max_examples=200)
@given(st.lists(st.integers(1, 1023), max_size=14))
@example([0b101, 0b110, 0b111 << 1 | 1])
@example([0b10101, 0b101010, 0b001111])
def test_the_same_margins_are_taken_as_by_trying(masks: list[Mask]) -> None:
    assert decomposable_part(masks) == brute_force(FLAT, masks)


@settings(max_examples=100)
@given(domains().flatmap(lambda d: st.tuples(st.just(d), st.lists(margins(d), max_size=8))))
def test_also_where_attributes_have_levels(drawn: tuple[Domain, list[dict[str, int]]]) -> None:
    domain, listed = drawn
    masks = [mask for margin in listed if (mask := domain.mask(margin))]
    assert decomposable_part(masks) == brute_force(domain, masks)
