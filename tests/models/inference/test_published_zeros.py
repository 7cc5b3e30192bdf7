"""What no row has in a published table, no answer expects: nobody died alive."""

from itertools import product

from hypothesis import assume, given
from hypothesis import strategies as st

from models import Collection, MarginalModel
from strategies import decomposable_collections, margins


@given(decomposable_collections(max_cells=200), st.data())
def test_zeros_of_published_tables_stay_zero_in_every_answer(collection: Collection, data: st.DataObject) -> None:
    """Asked for any attributes at any levels, no cell below an empty published one is expected to have rows."""
    domain = collection.domain
    asked = dict(data.draw(margins(domain)))
    assume(collection.tables)
    published = data.draw(st.sampled_from(collection.tables))
    levels = {name: min(level, asked.get(name, level)) for name, level in published.margin.items()} | {
        name: level for name, level in asked.items() if name not in published.margin
    }
    finest = MarginalModel(collection).finest_levels
    levels = {name: max(level, finest[name]) for name, level in levels.items()}
    expected = MarginalModel(collection).expected(levels)
    full = set(zip(*(column.tolist() for column in published.codes)))
    for cell in product(*(range(size) for size in expected.shape)):
        codes = dict(zip(levels, cell))
        above = tuple(
            int(domain.hierarchy(name).lift(levels[name], published.margin[name])[codes[name]])
            for name in published.attributes
        )
        if above not in full:
            assert expected[cell] == 0
