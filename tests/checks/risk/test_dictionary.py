"""Entries are counted by generalized value exactly as walking over all pairs of record and entry would."""

from collections.abc import Callable
from unittest.mock import patch

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import checks.risk.attackers as dictionary_module
from brute_force import covered
from checks import Dictionary, Records, RecordSpace, consistent_counts
from checks.risk.attackers import identification_probability
from models import Domain, DomainMismatchError, Hierarchy
from risk_strategies import dictionaries, entries_consistent_with, generalizations, records, spaces
from work import compare_with_sorting


def walked(sought: Records, dictionary: Dictionary) -> list[int]:
    """For each record the entries that share a base value with it in every attribute."""
    covers = [covered(taxonomy) for taxonomy in sought.space.taxonomies]
    return [
        sum(
            all(
                set(np.flatnonzero(cover[a])) <= set(np.flatnonzero(cover[b])) or bool(np.all(cover[b] <= cover[a]))
                for cover, a, b in zip(covers, record, entry)
            )
            for entry in dictionary.entries.nodes
        )
        for record in sought.nodes
    ]


@given(st.data(), st.sampled_from([0, 8, dictionary_module.PAIRS]))
def test_counts_are_those_of_all_pairs(data: st.DataObject, pairs_compared: int) -> None:
    """Whether all attributes are searched, the first of them, or none."""
    space = data.draw(spaces())
    sought, dictionary = data.draw(records(space)), data.draw(dictionaries(space))
    with patch.object(dictionary_module, "PAIRS", pairs_compared):
        counts = consistent_counts(sought, dictionary)
    assert counts.tolist() == walked(sought, dictionary)
    pairs = [entries_consistent_with(dictionary, sought[np.array([row])]) for row in range(len(sought))]
    assert counts.tolist() == pairs


@given(st.data())
def test_records_of_one_level_vector_are_counted_like_all_others(data: st.DataObject) -> None:
    """By a packed key, unless there are too many entries for that."""
    space = data.draw(spaces())
    drawn, dictionary = data.draw(records(space)), data.draw(dictionaries(space))
    levels = [data.draw(st.integers(0, height)) for height in space.heights.tolist()]
    sought = drawn.generalized(np.maximum(levels, drawn.levels.max(axis=0, initial=0)))
    assert sought.level_vector is not None or not len(sought)
    with patch.object(dictionary_module, "ENTRIES", data.draw(st.sampled_from([-1, 1000]))):
        assert consistent_counts(sought, dictionary).tolist() == walked(sought, dictionary)


@given(st.data())
def test_generalizing_never_loses_a_consistent_entry(data: st.DataObject) -> None:
    """LSFB09 eq. 6."""
    space = data.draw(spaces())
    sought, dictionary = data.draw(records(space)), data.draw(dictionaries(space))
    coarser = data.draw(generalizations(sought))
    assert np.all(consistent_counts(coarser, dictionary) >= consistent_counts(sought, dictionary))


def test_suppressed_agrees_with_everything_and_nothing_found_is_no_risk() -> None:
    space = RecordSpace(Domain.of({"name": Hierarchy.flat(["Ann", "Bob", "Cy"]), "sex": Hierarchy.flat(["f", "m"])}))
    phone_book = Dictionary(Records.from_codes(space, {"name": np.array([0, 0, 1, 1, 1])}))
    sought = Records(space, np.array([[0, 2], [1, 0], [3, 2], [2, 1]]))
    counts = consistent_counts(sought, phone_book)
    assert counts.tolist() == [2, 3, 5, 0]
    assert identification_probability(counts).tolist() == [1 / 2, 1 / 3, 1 / 5, 0]


def test_what_does_not_fit_is_refused() -> None:
    space = RecordSpace(Domain.of({"a": Hierarchy.flat(["x", "y"])}))
    other = RecordSpace(Domain.of({"a": Hierarchy.flat(["x", "z"])}))
    entries = Records(space, np.array([[0], [1]]))
    with pytest.raises(DomainMismatchError, match="different attributes"):
        consistent_counts(Records(other, np.array([[0]])), Dictionary(entries))
    with pytest.raises(DomainMismatchError, match="two entries"):
        Dictionary(entries, np.array([3, 3]))
    with pytest.raises(DomainMismatchError, match="one identifier"):
        Dictionary(entries, np.array([3]))
    with pytest.raises(DomainMismatchError, match="outside"):
        Records(space, np.array([[3]]))
    with pytest.raises(DomainMismatchError, match="one node"):
        Records(space, np.array([0, 1]))
    with pytest.raises(DomainMismatchError, match=r"whole numbers, got 0\.5"):
        Records(space, np.array([[0.5]]))


def test_identifiers_are_distinct_whole_numbers_that_are_copied_in() -> None:
    space = RecordSpace(Domain.of({"a": Hierarchy.flat("xy")}))
    entries, identifiers = Records(space, np.array([[0], [1]])), np.array([7, 8])
    dictionary = Dictionary(entries, identifiers)
    identifiers[0] = 8
    assert dictionary.identifiers is not None
    assert dictionary.identifiers.tolist() == [7, 8]
    for wrong in ([7, 7], [7], [7.5, 8]):
        with pytest.raises(DomainMismatchError):
            Dictionary(entries, np.array(wrong))


def many_values() -> dict[str, Hierarchy]:
    return {
        "birthday": Hierarchy.from_intervals(map(str, range(30_000)), [30, 300, 3000]),
        "postcode": Hierarchy.from_prefixes([f"{code:05d}" for code in range(100_000)], [4, 3, 2, 1]),
        "income": Hierarchy.from_intervals(map(str, range(200)), [20, 100]),
        "race": Hierarchy.from_rows([(f"r{code}", f"g{code // 2}", "*") for code in range(8)]),
    }


def few_values() -> dict[str, Hierarchy]:
    return {
        "age": Hierarchy.from_intervals(map(str, range(100)), [5, 10, 20]),
        "education": Hierarchy.from_rows([(f"e{code}", f"f{code // 4}", f"g{code // 8}", "*") for code in range(16)]),
        "country": Hierarchy.from_rows([(f"c{code}", f"d{code // 8}", "*") for code in range(41)]),
        "status": Hierarchy.from_rows([(f"s{code}", f"t{code // 3}", "*") for code in range(7)]),
    }


@pytest.mark.slow
@pytest.mark.parametrize("hierarchies", [few_values, many_values])
def test_a_million_entries_take_as_long_as_some_sorts_of_them(hierarchies: Callable[[], dict[str, Hierarchy]]) -> None:
    """45,222 records, each value at a level of its own: hundreds of level vectors. With few values and with many."""
    space = RecordSpace(Domain.of(hierarchies()))
    rng = np.random.default_rng(0)
    codes = {a: rng.integers(0, h.size(0), 1_000_000) for a, h in space.domain.items()}
    dictionary = Dictionary(Records.from_codes(space, codes))
    originals = dictionary.entries[rng.integers(0, 1_000_000, 45_222)]
    sought = originals.generalized(rng.integers(0, space.heights + 1, originals.nodes.shape))
    counts, sorts = compare_with_sorting(lambda: consistent_counts(sought, dictionary))
    assert sorts < 50
    assert counts.min() >= 1
    for row in range(3):
        assert counts[row] == entries_consistent_with(dictionary, sought[np.array([row])])
