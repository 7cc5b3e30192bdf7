"""How a table is read is one value, which cannot be built wrong."""

from pathlib import Path
from typing import Any

import pandas as pd
import pytest

from marginals import Attribute, InputError, TableSource, read_table

PEOPLE = pd.DataFrame({"sex": ["f", "m", "?"], "age": [20, 30, 40], "note": ["x", "y", "z"]})
ATTRIBUTES = {"sex": Attribute("quasi-identifier"), "age": Attribute("sensitive"), "note": Attribute("ignored")}


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"engine": "oracle"}, "engine is 'auto', 'pandas', 'duckdb', 'spark', not 'oracle'"),
        ({"domain": "guessed"}, "domain is 'declared' or 'observed', not 'guessed'"),
        ({"separator": "::"}, "the separator of columns is"),
        ({"missing": "NA"}, "missing is a list of texts"),
        ({"attributes": {"note": Attribute("ignored")}}, "no attribute is a quasi-identifier or sensitive"),
        ({"attributes": {"count": Attribute("sensitive")}}, "the column 'count' is called what published tables"),
    ],
)
def test_a_source_that_makes_no_sense_is_refused_where_it_is_built(settings: dict[str, Any], message: str) -> None:
    with pytest.raises(InputError, match=message):
        TableSource(**{"origin": PEOPLE, "attributes": ATTRIBUTES} | settings)


def test_a_source_counts_and_reads_the_rows_and_names_the_columns(tmp_path: Path) -> None:
    PEOPLE.to_csv(tmp_path / "people.csv", index=False, sep=";")
    frame = TableSource(origin=PEOPLE, attributes=ATTRIBUTES, missing=["?"])  # type: ignore[arg-type]
    file = TableSource(origin=str(tmp_path / "people.csv"), attributes=ATTRIBUTES, missing=("?",), separator=";")
    for source in (frame, file):
        assert source.missing == ("?",)
        assert source.columns() == ("sex", "age", "note")
        assert list(source.used) == ["sex", "age"]
        assert (source.table().rows, source.table().missing) == (2, 1)
        assert (len(source.rows()), source.rows().missing) == (2, 1)
    assert file.path == tmp_path / "people.csv"
    assert frame.path is None
    with pytest.raises(InputError, match="the table is a frame in memory"):
        frame.files()
    with pytest.raises(InputError, match="there is no table at"):
        TableSource(origin=tmp_path / "none.csv", attributes=ATTRIBUTES).columns()


def test_what_was_handed_over_can_change_without_the_source() -> None:
    attributes, missing = dict(ATTRIBUTES), ["?"]
    source = TableSource(origin=PEOPLE, attributes=attributes, missing=missing)  # type: ignore[arg-type]
    attributes.clear()
    missing.clear()
    assert source.table().rows == 2


def test_a_single_text_as_missing_is_refused_instead_of_its_letters_being_missing() -> None:
    with pytest.raises(InputError, match="missing is a list of texts"):
        read_table(PEOPLE, {"sex": "sensitive"}, missing="NA")
