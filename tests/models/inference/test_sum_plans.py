"""Plans sum products of factors of any scopes, again and again while the factors change in their places."""

from functools import reduce
from operator import mul

import numpy as np
from hypothesis import event, given, settings
from hypothesis import strategies as st

from models.inference.clique_cells import Buffers, Script, SumPlan, do, reshaped


@st.composite
def scopes(draw: st.DrawFn) -> tuple[frozenset[int], ...]:
    """Of five axes, all of them in some; none within another, as beliefs have them."""
    drawn = set(draw(st.lists(st.frozensets(st.integers(0, 4), min_size=2, max_size=4), min_size=1, max_size=6)))
    drawn |= {frozenset((axis,)) for axis in range(5)}
    return tuple(sorted((own for own in drawn if not any(own < other for other in drawn)), key=sorted))


@settings(max_examples=150)
@given(scopes(), st.tuples(*[st.integers(1, 3)] * 5), st.sets(st.integers(0, 4)), st.integers(0, 9))
def test_the_sums_are_those_of_the_product_written_out(
    own: tuple[frozenset[int], ...], shape: tuple[int, ...], kept: set[int], seed: int
) -> None:
    home = next((scope for scope in own if kept <= scope), None)
    summed = tuple(axis for axis in range(5) if axis not in (kept if home else set()))
    rng = np.random.default_rng(seed)
    factors = [rng.uniform(0, 2, [size if i in scope else 1 for i, size in enumerate(shape)]) for scope in own]
    script: Script = []
    sums = SumPlan.of(own, summed, shape).sums(factors, script, Buffers())
    event("copies" if any(operation is np.copyto for operation, _ in script) else "views alone")
    for _ in range(2):
        do(script)
        whole = np.broadcast_to(reduce(mul, factors), shape)
        np.testing.assert_allclose(sums, whole.sum(axis=summed).reshape(-1))
        for factor in factors:
            factor *= rng.uniform(0, 2, factor.shape)


def test_what_cannot_be_a_view_is_copied_each_time() -> None:
    array = np.arange(6.0).reshape(2, 3)
    for source, copies in ((array, 0), (array.T, 1)):
        script: Script = []
        flat = reshaped(source, -1, script, Buffers())
        assert len(script) == copies
        array *= 2
        do(script)
        assert flat.tolist() == source.reshape(-1).tolist()
