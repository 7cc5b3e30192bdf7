"""Domains: masks and margins say the same, containment of masks is coarsening, and strangers are refused by name."""

from math import prod

import pytest
from hypothesis import given
from hypothesis import strategies as st

from brute_force import lifted
from models import Domain, DomainMismatchError, Hierarchy, Margin, vertices_of
from strategies import coarser_margins, domains, hierarchies, margins

DOMAIN = Domain.of(
    {
        "zip": Hierarchy.from_prefixes(["14850", "14853", "13063"], [4, 2]),
        "age": Hierarchy.from_intervals(["3"], [2, 4]),
    }
)


def _published(domain, margin):
    """The levels of a margin without the attributes that it suppresses."""
    return {a: level for a, level in margin.items() if level < domain.hierarchy(a).height}


@given(st.data())
def test_the_vertices_of_a_mask_are_the_steps_from_the_root_to_the_level(data):
    """KG06 6.1: level l of a hierarchy of height h is the steps h - 1, h - 2, .., l."""
    domain = data.draw(domains())
    margin = data.draw(margins(domain))
    steps = {
        (attribute, step)
        for attribute, level in margin.items()
        for step in range(level, domain.hierarchy(attribute).height)
    }
    mask, published = domain.mask(margin), _published(domain, margin)
    assert {domain.induced_attributes[vertex] for vertex in vertices_of(mask)} == steps
    assert list(vertices_of(mask)) == [vertex for vertex in range(domain.vertex_count) if mask >> vertex & 1]
    assert domain.margin(mask) == published, "suppressed attributes are left out"
    assert dict(domain.resolutions(mask)) == {a: domain.hierarchy(a).height - level for a, level in published.items()}
    cells = prod(len(set(lifted(domain.hierarchy(a), 0, level).tolist())) for a, level in margin.items())
    assert domain.size(margin) == domain.cell_count(mask) == cells


@given(st.data())
def test_masks_contain_each_other_exactly_when_margins_coarsen_each_other(data):
    domain = data.draw(domains())
    fine, other = data.draw(margins(domain)), data.draw(margins(domain))
    coarse = data.draw(coarser_margins(domain, fine))
    for margin in (coarse, other):
        shown = _published(domain, margin)
        coarser = all(a in fine and fine[a] <= level for a, level in shown.items())
        assert (domain.mask(margin) & ~domain.mask(fine) == 0) == coarser
    assert domain.mask(coarse) & ~domain.mask(fine) == 0


@given(domains())
def test_the_vertices_of_each_attribute_lie_together_coarsest_first(domain):
    names = list(domain.induced_attributes)
    assert names == [(a, step) for a, h in domain.items() for step in reversed(range(h.height))]
    assert domain.vertex_count == len(names)
    for index, attribute in enumerate(domain.attributes):
        own = [vertex for vertex, name in enumerate(names) if name.attribute == attribute]
        assert list(vertices_of(domain.attribute_masks[index])) == own
        assert domain.offsets[index] == own[0]


@given(st.data())
def test_a_mask_is_a_margin_exactly_when_it_skips_no_coarser_step(data):
    domain = data.draw(domains())
    mask = data.draw(st.integers(0, (1 << domain.vertex_count) - 1))
    held = {domain.induced_attributes[vertex] for vertex in vertices_of(mask)}
    if all((a, above) in held for a, level in held for above in range(level, domain.hierarchy(a).height)):
        assert domain.margin(mask) == {a: min(level for b, level in held if a == b) for a, _ in held}
    else:
        with pytest.raises(DomainMismatchError, match="every coarser step"):
            domain.margin(mask)


@pytest.mark.parametrize("mask", [-1, 1 << 6, 1 << 70, (1 << 70) | 1])
def test_masks_with_bits_outside_the_domain_are_refused(mask):
    with pytest.raises(DomainMismatchError):
        DOMAIN.margin(mask)


@pytest.mark.parametrize("level", [-1, 4, True, 1.0, "1", None])
def test_a_level_that_the_hierarchy_lacks_is_refused_with_its_attribute(level):
    with pytest.raises(DomainMismatchError, match="'age' has the levels 0 to 3"):
        DOMAIN.mask({"zip": 0, "age": level})
    assert DOMAIN.mask({"age": 3}) == 0
    assert DOMAIN.mask({"age": 0}) == DOMAIN.attribute_masks[1]


@pytest.mark.parametrize("ask", [DOMAIN.index, DOMAIN.hierarchy, lambda a: DOMAIN.mask({a: 0})])
def test_an_unknown_attribute_is_refused_with_the_names_of_the_known_ones(ask):
    with pytest.raises(DomainMismatchError, match="no attribute 'sex'; the attributes are zip, age"):
        ask("sex")


@given(hierarchies())
def test_a_domain_refuses_repeated_attributes_and_missing_hierarchies(hierarchy):
    with pytest.raises(DomainMismatchError, match="named twice"):
        Domain(("a", "a"), (hierarchy, hierarchy))
    with pytest.raises(DomainMismatchError, match="2 attributes came with 1 hierarchies"):
        Domain(("a", "b"), (hierarchy,))


LEVELS = st.dictionaries(st.sampled_from("abcd"), st.integers(0, 3))


@given(LEVELS, LEVELS, st.randoms())
def test_a_margin_equals_the_mapping_in_any_order_and_no_other(levels, others, random):
    shuffled = list(levels.items())
    random.shuffle(shuffled)
    margin, other = Margin(levels), Margin(dict(shuffled))
    assert margin == levels
    assert margin == other
    assert hash(margin) == hash(other)
    assert list(margin) == sorted(levels)
    assert str(margin) == str(other)
    assert (margin == Margin(others)) == (levels == others)
    assert len({margin, Margin(others)}) == 1 + (levels != others)


def test_a_margin_keeps_no_hold_on_the_mapping_it_came_from():
    levels = {"a": 1}
    margin = Margin(levels)
    levels["a"] = 2
    assert margin["a"] == 1
    with pytest.raises(TypeError):
        margin["a"] = 2
