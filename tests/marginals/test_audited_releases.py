"""What a marginal of a release does not list has nobody, and an audit concludes from it; of other tables it does not."""

from itertools import combinations, product
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from checks import FactKind
from marginals import Audit, InputError, audit
from marginals.audited_tables import guessed_spec, read_spec
from marginals.auditing import audit_lines
from marginals.example import publication
from marginals.pages.audit_page import audit_html
from models import CountArray

NAMES = ("area", "diag", "sex")


def write(path: Path, text: str) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8")
    return path


def marginal(folder: Path, truth: CountArray, axes: tuple[int, ...], name: str = "") -> Path:
    """A marginal as a bundle has it: without cells of nobody."""
    counts = truth.sum(axis=tuple(axis for axis in range(truth.ndim) if axis not in axes))
    lines = [",".join([*(NAMES[axis] for axis in axes), "count"])]
    for key in product(*map(range, counts.shape)):
        if counts[key]:
            lines.append(",".join([*(f"{NAMES[axis]}{code}" for axis, code in zip(axes, key)), str(counts[key])]))
    own = name or "-".join(f"{NAMES[axis]}.0" for axis in axes)
    return write(folder / f"{own}.csv", "\n".join([*lines, ""]))


def shared_values(found: Audit) -> set[frozenset[tuple[str, str]]]:
    (part,) = found.parts
    facts = (fact for fact in part.facts if fact.kind is FactKind.SENSITIVE)
    return {frozenset(part.linked.named(fact.cell).items()) for fact in facts}


@settings(max_examples=15)
@given(st.integers(0, 2**32 - 1))
def test_every_class_of_a_marginal_that_shares_a_value_is_found(
    tmp_path_factory: pytest.TempPathFactory, seed: int
) -> None:
    rng = np.random.default_rng(seed)
    truth = rng.poisson(0.8, size=(2, 3, 2))
    truth[0, 0, 0] += 1
    margins = [axes for size in (2, 3) for axes in combinations(range(3), size)]
    chosen = [margins[place] for place in rng.permutation(len(margins))[:2]]
    folder = tmp_path_factory.mktemp("release")
    found = audit(*(marginal(folder, truth, axes) for axes in chosen), sensitive=["diag"])
    if not all(np.all(truth.sum(axis=tuple({0, 1, 2} - {axis})) > 0) for axis in {a for axes in chosen for a in axes}):
        return  # a value that nobody has is in no marginal, so nothing shows that there is such a value
    for axes in (axes for axes in chosen if 1 in axes):
        others = [axis for axis in axes if axis != 1]
        for key in product(*(range(truth.shape[axis]) for axis in others)):
            index = [slice(None)] * 3
            for axis, code in zip(others, key):
                index[axis] = slice(code, code + 1)
            values = np.flatnonzero(truth[tuple(index)].sum(axis=(0, 2)))
            if len(values) == 1:
                group = {(NAMES[axis], f"{NAMES[axis]}{code}") for axis, code in zip(others, key)}
                assert frozenset({*group, ("diag", f"diag{values[0]}")}) in shared_values(found)
    assert not any("does not list" in line for line in found.not_examined)


TRUTH = np.array([[[5, 4], [0, 6], [0, 7]], [[4, 8], [3, 9], [8, 5]]])
"""Everybody of area 0 and sex 0 has the first diagnosis."""


def test_a_partial_table_tells_nothing_of_what_it_does_not_list_and_that_is_said(tmp_path: Path) -> None:
    file = marginal(tmp_path, TRUTH, (0, 1, 2), "some of them")
    found = audit(file, sensitive=["diag"])
    assert not shared_values(found)
    assert "some of them.csv does not list 2 combinations of its values" in " ".join(audit_lines(found))
    assert "some of them.csv does not list 2 combinations" in audit_html(found).decode()
    spec = guessed_spec([file]).text
    assert "complete" not in spec
    written = write(tmp_path / "audit.toml", spec + "complete = true\n")
    found = audit(spec=written, sensitive=["diag"])
    assert shared_values(found) == {frozenset({("area", "area0"), ("sex", "sex0"), ("diag", "diag0")})}
    assert not found.not_examined


def test_a_complete_table_has_nobody_with_a_value_that_only_another_table_shows(tmp_path: Path) -> None:
    write(tmp_path / "whole.csv", "area,diag,count\nUlm,flu,9\nLinz,flu,8\n")
    write(tmp_path / "domain.csv", "sex,diag,count\nf,flu,8\nf,HIV,*\nm,flu,9\nm,HIV,*\n")
    sections = (
        '[markers]\n"*" = "unknown"\n[tables."whole.csv"]\nattributes = ["area", "diag"]\ncount = "count"\n{}\n'
        '[tables."domain.csv"]\nattributes = ["sex", "diag"]\ncount = "count"\n'
    )
    nothing = audit(spec=write(tmp_path / "a.toml", sections.format("")), sensitive=["diag"])
    assert not shared_values(nothing)
    facts = shared_values(
        audit(spec=write(tmp_path / "b.toml", sections.format("complete = true")), sensitive=["diag"])
    )
    assert frozenset({("area", "Ulm"), ("diag", "flu")}) in facts
    assert frozenset({("sex", "f"), ("diag", "flu")}) in facts
    with pytest.raises(InputError, match="complete must be true or false"):
        read_spec(write(tmp_path / "c.toml", sections.format("complete = 1")))
    with pytest.raises(InputError, match="leave absent and scope out"):
        read_spec(write(tmp_path / "c.toml", sections.format('complete = true\nabsent = "unknown"')))


def test_the_marginals_of_a_release_are_complete_in_its_folder_and_outside_of_it(tmp_path: Path) -> None:
    publication.write(tmp_path / "release")
    files = sorted((tmp_path / "release" / "marginals").iterdir())
    guessed = guessed_spec(files).spec
    assert all(table.complete for table in guessed.tables.values())
    assert set(guessed.attributes["age"].groups) == {"20-29", "30-39", "40-49", "50-59"}
    found = audit(*files, sensitive=["diagnosis"])
    assert found.parts[0].bounds is not None  # nor do they contradict each other
    spec = write(tmp_path / "release.toml", guessed_spec(files, tmp_path).text)
    assert read_spec(spec).attributes["age"] == guessed.attributes["age"]
    assert audit(spec=spec, sensitive=["diagnosis"]).as_json() == found.as_json()
    copied = [write(tmp_path / file.name, file.read_text()) for file in files]
    assert all(table.complete for table in guessed_spec(copied).spec.tables.values())


def test_levels_that_are_not_known_to_go_together_make_no_table_complete(tmp_path: Path) -> None:
    fine = write(tmp_path / "age.0-diag.0.csv", "age,diag,count\n20-29,flu,9\n30-39,flu,8\n30-39,HIV,7\n")
    coarse = write(tmp_path / "age.1-sex.0.csv", "age,sex,count\n20-39,f,14\n20-39,m,10\n")
    found = guessed_spec([fine, coarse])
    assert not any(table.complete for table in found.spec.tables.values())
    assert "how its levels of 'age' go together" in found.text
    descriptor = '{"release": {}, "resources": [{"path": "marginals/age.1-sex.0.csv", "marginal": {"levels": []}}]}'
    write(tmp_path / "other" / "datapackage.json", descriptor)
    broken = write(tmp_path / "other" / "marginals" / "a.csv", "age,sex,count\n20-39,f,14\n20-39,m,10\n")
    assert not guessed_spec([broken]).spec.tables[broken].complete


def test_small_counts_that_tables_print_are_said_to_be_printed(tmp_path: Path) -> None:
    found = audit(write(tmp_path / "t.csv", "area,count\nUlm,1\nLinz,9\n"))
    lines = " ".join(audit_lines(found))
    assert found.ok
    assert "The tables themselves print 1 count from 1 to 4." in lines
    assert "Not examined: whether everybody of a group has one sensitive value." in lines
    assert found.as_json()["audited"][0]["printed_small"] == 1
