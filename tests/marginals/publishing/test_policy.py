"""What a policy refuses is one sentence that names it, whatever type it has."""

from typing import Any

import pytest

from marginals import InputError, Policy


@pytest.mark.parametrize(
    ("name", "wrong"),
    [
        (name, wrong)
        for name in (
            "k_link",
            "k_combinatorial",
            "strategy",
            "start",
            "time_limit",
            "max_cells",
            "must_publish",
            "seed",
        )
        for wrong in ({}, [1], {"age": []}, "yes", -1, True, float("nan"))
        if not (name == "must_publish" and wrong == {})
    ],
)
def test_what_is_wrong_is_named(name: str, wrong: Any) -> None:
    with pytest.raises(InputError, match=name.replace("strategy", "search strategy")):
        Policy(k_combinatorial=2, **{name: wrong}) if name != "k_combinatorial" else Policy(k_combinatorial=wrong)
