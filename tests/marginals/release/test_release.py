"""Analysis from a bundle alone: every answer equals enumeration of the joint, and every bound holds for the table."""

from dataclasses import replace
from fractions import Fraction
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import marginals
import marginals.example
from brute_force import iterative_proportional_fitting, joint_array
from models import (
    Collection,
    DataCube,
    Domain,
    Hierarchy,
    MarginalModel,
    NotDecomposableError,
    NotFittedError,
    TooManyCellsError,
)
from shape_releases import release_of
from strategies import SHAPE_DOMAIN, shape_cube


def joint_frame(release: marginals.Release) -> pd.Series:
    """Base cells with their expected counts, by fitting the joint of the original table."""
    counts = joint_array(shape_cube().table(sum(SHAPE_DOMAIN.attribute_masks)))
    margins = release.published.everything.margins
    expected = counts.sum() * iterative_proportional_fitting(counts / counts.sum(), SHAPE_DOMAIN, margins)
    labels = [hierarchy.labels[0] for hierarchy in SHAPE_DOMAIN.hierarchies]
    index = pd.MultiIndex.from_product(labels, names=SHAPE_DOMAIN.attributes)
    return pd.Series(expected.ravel(), index=index)


@pytest.fixture(
    params=["chain", "star through a generalized value", "cycle", "disconnected", "triangle without its clique"]
)
def release(request: pytest.FixtureRequest, tmp_path: Path) -> marginals.Release:
    return release_of(request.param, tmp_path)


def test_in_exact_rows_every_published_count_is_exact(release: marginals.Release) -> None:
    finest = release.published.everything.finest_levels
    for base_values in (False, True):
        rows = release.rows(exact=True, seed=3, base_values=base_values)
        assert len(rows) == release.model.total
        for table in release.published.everything.tables:
            above = {}
            for name, level in table.margin.items():
                hierarchy, shown = release.domain.hierarchy(name), 0 if base_values else finest[name]
                above[name] = [
                    hierarchy.labels[level][code] for code in hierarchy.lift(shown, level)[rows[name].cat.codes]
                ]
            labels = pd.DataFrame({name: [table.labels(cell)[name] for cell in range(len(table))] for name in above})
            assert (
                pd.DataFrame(above).value_counts().to_dict()
                == labels.assign(n=table.counts).groupby(list(above)).n.sum().to_dict()
            )


def test_a_margin_is_counted_or_expected_and_bounded(release: marginals.Release) -> None:
    joint = joint_frame(release)
    true = joint_array(shape_cube().table(sum(SHAPE_DOMAIN.attribute_masks))).ravel()
    for names in (["a", "d"], ["d", "b"], ["b", "c", "a"], ["c"]):
        levels = release.model.finest_levels
        shown = [a for a in names if levels[a] < SHAPE_DOMAIN.hierarchy(a).height]
        coarse = [joint.index.get_level_values(a).map(lifted(a, levels[a])) for a in shown]
        found = release.table(names, bounds=True)
        assert {"value", "lower", "upper", "kind"} <= {*found.columns}
        expected = joint.groupby(coarse).sum()
        counted = pd.Series(true, joint.index).groupby(coarse).sum()
        np.testing.assert_allclose(found["value"], expected[found.index], atol=1e-7)
        assert expected.drop(found.index).abs().sum() < 1e-7, "cells that are left out are empty"
        assert (found["lower"] <= counted[found.index]).all()
        assert (counted[found.index] <= found["upper"]).all()
        exact = found["lower"] == found["upper"]
        assert (found["kind"][exact] == "published").all()
        assert (found["value"][exact] == counted[found.index][exact]).all()
        assert found["lower"].dtype == found["upper"].dtype == np.int64


def lifted(attribute: str, level: int) -> dict[str, str]:
    return {row[0]: row[level] for row in SHAPE_DOMAIN.hierarchy(attribute).rows()}


def test_counts_of_predicates_are_sums_of_cells_within_their_bounds(release: marginals.Release) -> None:
    joint = joint_frame(release)
    a, b, c, d = (joint.index.get_level_values(name) for name in "abcd")
    for where, inside in (
        ({"a": ["a0", "a1"], "d": "d0"}, a.isin(["a0", "a1"]) & (d == "d0")),
        (["c=x", "b=b1"], c.isin(["c0", "c1", "c2"]) & (b == "b1")),
        ("a=u|a1", a == a),
        (["c=c0|y", "d=d1", "a=a2"], c.isin(["c0", "c3"]) & (d == "d1") & (a == "a2")),
        ({}, a == a),
    ):
        found = release.count(where)
        assert found.value == pytest.approx(joint[inside].sum(), abs=1e-7)
        assert found.lower <= found.value <= found.upper
        sharper = release.count(where, seconds=5)
        assert found.lower <= sharper.lower <= sharper.upper <= found.upper
        assert sharper.sharp
        if release.model.collection.is_decomposable:  # no time is needed for flows
            assert found.lower == sharper.lower


def test_crosstabs_and_conditionals_equal_pandas(release: marginals.Release) -> None:
    joint = joint_frame(release).rename("n").reset_index()
    rows = joint[joint["b"] == "b0"]
    expected = rows.pivot_table(index="a", columns="d", values="n", aggfunc="sum")
    found = release.table({"a": 0}, {"d": 0}, where="b=b0").value.unstack(fill_value=0)
    np.testing.assert_allclose(found, expected.loc[found.index, found.columns], atol=1e-7)
    shares = release.table({"a": 0}, {"d": 0}, where="b=b0", normalize="rows").value.unstack(fill_value=0)
    np.testing.assert_allclose(shares.sum(axis=1).dropna(), 1)
    np.testing.assert_allclose(shares, found.div(found.sum(axis=1), axis=0))
    within = release.table({"c": 1}, {"a": 0, "b": 0}, where=["c=c0|c3", "a=a0|a2"]).value
    kept = joint[joint["c"].isin(["c0", "c3"]) & joint["a"].isin(["a0", "a2"])]
    expected = kept.assign(c=kept["c"].map(lifted("c", 1))).groupby(["c", "a", "b"])["n"].sum()
    for (level, a, b), count in expected.items():
        assert within.get((level, a, b), 0) == pytest.approx(count, abs=1e-7)
    assert within.to_numpy().sum() == pytest.approx(expected.sum(), abs=1e-7)


def test_means_quantiles_odds_and_information_equal_their_definitions(release: marginals.Release) -> None:
    joint = joint_frame(release)
    numbers = {"c0": 1.0, "c1": 5.0, "c2": 3.0, "c3": 8.0}
    above = {row[0]: row[1:] for row in SHAPE_DOMAIN.hierarchy("c").rows()}
    hierarchy = Hierarchy.from_rows((f"{number:g}", *above[label]) for label, number in numbers.items())
    domain = Domain.of(dict(SHAPE_DOMAIN.items()) | {"c": hierarchy})
    tables = [replace(table, domain=domain) for table in release.published.everything.tables]
    collection = Collection.of(DataCube(tables), [table.mask for table in tables])
    numbered = marginals.Release(replace(release.published, collection=collection))
    kept = joint[joint.index.get_level_values("d") == "d0"]
    by_value = kept.groupby(level="c").sum()
    weights = np.array([numbers[label] for label in by_value.index])
    assert numbered.mean("c", where="d=d0").value == pytest.approx(np.average(weights, weights=by_value))
    ordered = np.sort(weights)
    reached = np.cumsum(by_value.to_numpy()[np.argsort(weights)]) / by_value.sum()
    quantiles = numbered.quantile("c", [0.1, 0.5, 0.99], where="d=d0")
    assert quantiles["value"].tolist() == [ordered[np.searchsorted(reached, p)] for p in (0.1, 0.5, 0.99)]
    table = [[release.count([f"a={a}", f"d={d}"]).value for d in ("d0", "d1")] for a in ("u", "v")]
    odds = release.effect("d=d0", "a=u").loc["odds ratio"]
    assert odds.value == pytest.approx(table[0][0] * table[1][1] / table[0][1] / table[1][0])
    true = pd.Series(joint_array(shape_cube().table(sum(SHAPE_DOMAIN.attribute_masks))).ravel(), joint.index)
    square = true.groupby([true.index.get_level_values("a") == "a1", true.index.get_level_values("d") == "d1"]).sum()
    (x, y), (z, w) = square.to_numpy().reshape(2, 2)
    assert odds.lower <= x * w / (y * z) <= odds.upper
    shares = joint.groupby(level=["a", "d"]).sum().unstack() / joint.sum()
    outer = np.outer(shares.sum(axis=1), shares.sum(axis=0))
    information = np.nansum(shares * np.log(shares / outer))
    assert release.model.mutual_information({"a": 0}, {"d": 0}) == pytest.approx(information, abs=1e-9)


def test_samples_have_published_labels_and_base_values(release: marginals.Release) -> None:
    rows = release.rows(500, seed=3)
    assert list(rows.columns) == [
        a for a in "cadb" if release.model.finest_levels[a] < SHAPE_DOMAIN.hierarchy(a).height
    ]
    for attribute in rows:
        labels = SHAPE_DOMAIN.hierarchy(attribute).labels[release.model.finest_levels[attribute]]
        assert set(rows[attribute]) <= set(labels)
    pd.testing.assert_frame_equal(rows, release.rows(500, seed=3))
    base = release.rows(500, seed=3, base_values=True)
    assert list(base.columns) == list("cadb")
    for attribute in rows:
        raised = base[attribute].astype(str).map(lifted(attribute, release.model.finest_levels[attribute]))
        assert set(raised) <= set(rows[attribute].cat.categories)


def test_cells_too_many_to_be_laid_out_are_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    release = release_of("chain", tmp_path)
    for module in ("marginals.estimates", "models.inference.calibrated_tree"):
        monkeypatch.setattr(f"{module}.CELL_LIMIT", 10)
    with pytest.raises(TooManyCellsError, match="draw a sample"):
        release.table([*"abcd"])


def test_a_fit_that_does_not_converge_is_no_model(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    release = release_of("cycle", tmp_path)
    monkeypatch.setattr("models.inference.marginal_model.MISFIT", 0.0)
    model = MarginalModel(release.published.collection)
    fresh = replace(release)
    with pytest.raises(NotFittedError, match="ask for published margins only"):
        _ = model.tree
    with pytest.raises(NotFittedError):
        fresh.share("a=u", where="c=x")
    assert (fresh.table(["a", "b"])["kind"] == "published").all(), "what is published needs no fit"
    with pytest.raises(NotDecomposableError):
        _ = fresh.model.closed_form


def test_attributes_may_be_called_as_our_columns_are() -> None:
    """Each name of a column of ours is that of an attribute: answers keep both apart."""
    names = ["value", "kind", "lower", "alike", "sharp"]
    rng = np.random.default_rng(3)
    table = pd.DataFrame({name: rng.choice(["x", "y"], 60) for name in names})
    read = marginals.read_table(table, dict.fromkeys(names, "quasi-identifier"))
    release = marginals.publish(read, marginals.Policy(k_link=2, base="none", diversity="none")).release
    cells = release.table(["value", "kind"], bounds=True).reset_index()
    assert [*cells.columns] == ["value", "kind", "value_", "lower", "upper", "kind_"]
    assert cells["value_"].sum() == pytest.approx(60)
    assert release.count({"value": "x"}).lower == (table["value"] == "x").sum()
    assert release.count(["alike=x", "sharp=y"]).lower <= ((table["alike"] == "x") & (table["sharp"] == "y")).sum()
    assert release.table("lower", "sharp", normalize="all")["value"].sum() == pytest.approx(1)
    assert release.rows(3).columns.tolist() == names


def test_a_condition_has_as_many_terms_as_somebody_writes() -> None:
    whole = marginals.example.release
    for mark in "|&":
        assert whole.count(mark.join(["(sex=='Female')"] * 600)).value == whole.count("sex=Female").value
    with pytest.raises(marginals.InputError, match="there is no attribute 'foo'"):
        whole.count("foo in []")
    assert whole.mean("age", limits=(Fraction(1, 2), 90)).value == whole.mean("age").value
