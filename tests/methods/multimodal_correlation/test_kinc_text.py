"""KINC's texts: sample strings and files as KINC 3.4.2 writes them."""

from __future__ import annotations

import gzip
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray
from pairtile.methods.multimodal_correlation import kinc_text
from pairtile.methods.multimodal_correlation.kinc_text import (
    EdgeTest,
    ModeEdges,
    sample_strings,
    tukey_outliers,
    write_kinc_minimal,
    write_kinc_text,
    write_kinc_tidy,
)

GOLDEN = ("rice300.icl_spearman", "rice300.defaults_gmm", "synth.icl_spearman", "synth.bic_pearson")


@dataclass(frozen=True)
class Rules:
    """The settings that sample strings need."""

    min_expression: float | None = None
    max_expression: float | None = None
    outliers_before: bool = True


def packed(strings: NDArray[np.bytes_], digits: bytes) -> NDArray[np.uint8]:
    """Where one of ``digits`` stands, as bit masks."""
    cells = strings[:, None].view("S1").reshape(len(strings), -1)
    return np.packbits(np.isin(cells, [digits[k : k + 1] for k in range(len(digits))]), axis=1)


def golden_modes(
    shared: Path, name: str
) -> tuple[pd.DataFrame, NDArray[np.bytes_], NDArray[np.float32], list[str]]:
    """Rows x, y, cluster, n_samples, correlation; strings; values; names of genes."""
    folder = shared / "golden" / "multimodal"
    text = pd.read_csv(
        folder / f"{name}.cmx.txt.gz",
        sep="\t",
        header=None,
        names=["x", "y", "cluster", "n_clusters", "n_samples", "correlation", "string"],
        dtype={"string": str, "correlation": np.float32},
    )
    values = pd.read_csv(folder / "inputs" / f"{name.split('.')[0]}.emx.txt", sep="\t")
    strings = text.pop("string").to_numpy().astype("S")
    return text, strings, values.to_numpy(dtype=np.float32), [str(gene) for gene in values.index]


# --- sample strings -----------------------------------------------------------------------------


@pytest.mark.parametrize("name", GOLDEN)
def test_strings_of_kinc_are_found_again_from_masks_and_values(shared: Path, name: str) -> None:
    """Given only which samples are in the mode (1) and which are outliers (7 or 8)."""
    text, strings, values, _ = golden_modes(shared, name)
    found = sample_strings(
        text["x"].to_numpy(),
        text["y"].to_numpy(),
        packed(strings, b"1"),
        packed(strings, b"78"),
        values,
        Rules(),
    )
    assert len(found) > 3000
    np.testing.assert_array_equal(found, strings)


def naive_string(
    x: list[float], y: list[float], member: list[bool], outlier: list[bool], rules: Rules
) -> str:
    """Sample by sample, from the definition."""
    low = -np.inf if rules.min_expression is None else rules.min_expression
    high = np.inf if rules.max_expression is None else rules.max_expression
    usable = [
        not (np.isnan(a) or np.isnan(b)) and low <= a <= high and low <= b <= high
        for a, b in zip(x, y, strict=True)
    ]
    fences = []
    for axis in (x, y):
        v = sorted(a for a, good in zip(axis, usable, strict=True) if good)
        if v:
            q1, q3 = v[len(v) // 4], v[3 * len(v) // 4]
            fences.append((q1 - 1.5 * (q3 - q1), q3 + 1.5 * (q3 - q1)))
    digits = ""
    for k, (a, b) in enumerate(zip(x, y, strict=True)):
        if np.isnan(a) or np.isnan(b):
            digits += "9"
        elif not usable[k]:
            digits += "6"
        elif outlier[k]:
            far = any(not lo <= c <= hi for c, (lo, hi) in zip((a, b), fences, strict=True))
            digits += "7" if far and rules.outliers_before else "8"
        else:
            digits += "1" if member[k] else "0"
    return digits


VALUES = st.one_of(
    st.just(float("nan")), st.sampled_from([-50.0, 0.0, 1.0, 1.5, 2.0, 40.0]), st.floats(-3, 3)
)
LIMITS = st.one_of(st.none(), st.sampled_from([-2.0, 0.0]))


@settings(max_examples=150, deadline=None)
@given(data=st.data(), n=st.integers(1, 20), low=LIMITS, before=st.booleans())
def test_strings_are_those_of_the_definition(
    data: st.DataObject, n: int, low: float | None, before: bool
) -> None:
    rules = Rules(low, None if low is None else 2.0, before)
    values = np.array(
        data.draw(st.lists(st.lists(VALUES, min_size=n, max_size=n), min_size=3, max_size=3))
    )
    i, j = np.array([0, 2, 1, 0]), np.array([1, 0, 2, 0])
    x, y = values[i], values[j]
    high = np.inf if rules.max_expression is None else rules.max_expression
    least = -np.inf if low is None else low
    with np.errstate(invalid="ignore"):
        usable = (x >= least) & (x <= high) & (y >= least) & (y <= high)
    # 0: elsewhere, 1: in the mode, 2: outlier; where a sample is not usable it is neither.
    drawn = data.draw(
        st.lists(st.lists(st.integers(0, 2), min_size=n, max_size=n), min_size=4, max_size=4)
    )
    member, outlier = (usable & (np.array(drawn) == state) for state in (1, 2))
    masks = np.packbits(member, axis=1), np.packbits(outlier, axis=1)
    found = sample_strings(i, j, *masks, values, rules)
    expected = [
        naive_string(*(part[row].tolist() for part in (x, y, member, outlier)), rules)
        for row in range(4)
    ]
    assert [string.decode() for string in found] == expected
    np.testing.assert_array_equal(packed(found, b"1"), masks[0])
    np.testing.assert_array_equal(packed(found, b"78"), masks[1])


def test_blocks_do_not_show(monkeypatch: pytest.MonkeyPatch) -> None:
    network = example(40, 13)
    genes = network.edges["i"].to_numpy(), network.edges["j"].to_numpy()
    masks = network.samples, network.outliers
    whole = sample_strings(*genes, *masks, network.values, network.rules)
    for cells in (1, 13 * 7, 13 * 39):
        monkeypatch.setattr(kinc_text, "_CELLS", cells)
        parts = sample_strings(*genes, *masks, network.values, network.rules)
        np.testing.assert_array_equal(parts, whole)


def test_masks_that_do_not_fit_are_refused() -> None:
    values = np.array([[1.0, np.nan, 3.0], [1.0, 2.0, 9.0]])
    i, j = np.array([0]), np.array([1])
    nothing = np.zeros((1, 1), dtype=np.uint8)

    def strings(samples: NDArray[np.uint8], outliers: NDArray[np.uint8], rules: Rules) -> object:
        return sample_strings(i, j, samples, outliers, values, rules)

    def mask(*bits: int) -> NDArray[np.uint8]:
        return np.packbits([bits], axis=1)

    assert strings(mask(1, 0, 0), mask(0, 0, 1), Rules()) == [b"198"]
    with pytest.raises(ValueError, match=r"outliers has shape \(1, 2\); expected \(1, 1\)"):
        strings(nothing, np.zeros((1, 2), dtype=np.uint8), Rules())
    for samples, outliers, rules in (
        (mask(1, 1, 0), nothing, Rules()),  # missing
        (mask(1, 0, 1), nothing, Rules(max_expression=5)),  # out of range
        (mask(1, 0, 1), mask(0, 0, 1), Rules()),  # an outlier
    ):
        with pytest.raises(ValueError, match=r"row 0: sample [12] is in the mode, but"):
            strings(samples, outliers, rules)


def test_outliers_are_judged_by_quartiles_without_interpolation() -> None:
    # Eight values: quartiles are the third and the seventh, 2 and 6; fences -4 and 12.
    values = np.array([[0.0, 1, 2, 3, 4, 5, 6, 12], [0, 1, 2, 3, 4, 5, 6, 12.001]])
    usable = np.ones_like(values, dtype=bool)
    assert np.argwhere(tukey_outliers(values, usable)).tolist() == [[1, 7]]
    # What is not usable moves no quartile and is no outlier.
    more = np.hstack([values, [[1e9], [np.nan]]])
    known = np.hstack([usable, [[False], [False]]])
    assert np.argwhere(tukey_outliers(more, known)).tolist() == [[1, 7]]
    assert not tukey_outliers(values, ~usable).any()


# --- files --------------------------------------------------------------------------------------


def example(n_edges: int, n_samples: int, seed: int = 1) -> ModeEdges:
    """Random modes of five genes, several of a pair, in random order, with two tests."""
    random = np.random.default_rng(seed)
    values = random.normal(size=(5, n_samples)).round(1)
    values[random.random(values.shape) < 0.1] = np.nan
    i, j = np.triu_indices(5, 1)
    pair = random.integers(0, len(i), n_edges)
    i, j = i[pair], j[pair]
    usable = ~np.isnan(values[i] + values[j])
    state = random.integers(0, 3, usable.shape)
    member, outlier = usable & (state == 1), usable & (state == 2)
    names = np.array([f"gene {k}" for k in range(5)], dtype=object)
    edges = pd.DataFrame(
        {
            "source": names[i],
            "target": names[j],
            "i": i.astype(np.int32),
            "j": j.astype(np.int32),
            "cluster": pd.Series(pair).groupby(pair).cumcount().to_numpy() + 1,
            "n_samples": member.sum(axis=1),
            "correlation": random.uniform(-1, 1, n_edges).astype(np.float32),
        }
    )
    p_value = np.where(random.random(n_edges) < 0.4, np.nan, random.random(n_edges))
    second = np.where(random.random(n_edges) < 0.4, np.nan, random.random(n_edges))
    tests = (
        EdgeTest("Treatment__Heat", p_value),
        EdgeTest("Hours", second, np.where(np.isnan(second), np.nan, 0.5)),
    )
    masks = np.packbits(member, axis=1), np.packbits(outlier, axis=1)
    return ModeEdges(edges, *masks, values, Rules(), tests)


def read(path: Path) -> pd.DataFrame:
    """A text as a program of the field reads it, sample strings as text."""
    return pd.read_csv(path, sep="\t", dtype={"Samples": str}, keep_default_na=False)


def test_extract_of_kinc_is_found_again_byte_for_byte(shared: Path, tmp_path: Path) -> None:
    text, strings, values, genes = golden_modes(shared, "rice300.icl_spearman.paf")
    golden = shared / "golden" / "multimodal" / "rice300.icl_spearman.paf.extract_all_tests.text.gz"
    wanted = gzip.decompress(golden.read_bytes())
    tested = pd.read_csv(golden, sep="\t", dtype={"Samples": str})
    names = np.array(genes, dtype=object)
    edges = text.rename(columns={"x": "j", "y": "i"})
    edges["source"], edges["target"] = names[edges["i"]], names[edges["j"]]
    columns = [c for c in tested.columns if c.endswith("_pVal")]
    tests = [
        EdgeTest(
            name := column.removesuffix("_pVal"),
            tested[column].to_numpy(),
            tested[f"{name}_RSqr"].to_numpy() if f"{name}_RSqr" in tested else None,
        )
        for column in columns
    ]
    assert [test.name for test in tests if test.r_squared is not None] == ["Duration"]
    shuffled = np.random.default_rng(1).permutation(len(edges))
    network = ModeEdges(
        edges.iloc[shuffled].reset_index(drop=True),
        packed(strings, b"1")[shuffled],
        packed(strings, b"78")[shuffled],
        values,
        Rules(),
        [
            EdgeTest(
                test.name,
                test.p_value[shuffled],
                None if test.r_squared is None else test.r_squared[shuffled],
            )
            for test in tests
        ],
    )
    assert write_kinc_text(network, tmp_path / "kinc.txt") == len(edges)
    written = (tmp_path / "kinc.txt").read_bytes()
    assert written.splitlines()[0] == wanted.splitlines()[0]
    assert written == wanted


@pytest.mark.parametrize("characters", [16_000_000, 1, 50])
def test_full_text_holds_every_edge_in_the_order_of_kinc(
    characters: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(kinc_text, "_CHARACTERS", characters)
    network = example(30, 21)
    path = tmp_path / "kinc.txt"
    assert write_kinc_text(network, path) == 30
    found = read(path)
    assert list(found.columns) == [
        *("Source", "Target", "Similarity_Score", "Interaction", "Cluster_Index", "Cluster_Size"),
        *("Samples", "Treatment__Heat_pVal", "Hours_pVal", "Hours_RSqr"),
    ]
    edges = network.edges.copy()
    edges["string"] = sample_strings(
        edges["i"], edges["j"], network.samples, network.outliers, network.values, network.rules
    ).astype(str)
    edges["p"] = network.tests[0].p_value
    edges = edges.sort_values(["j", "i", "cluster"]).reset_index(drop=True)
    # i < j: the source is the later gene.
    assert found["Source"].tolist() == edges["target"].tolist()
    assert found["Target"].tolist() == edges["source"].tolist()
    assert set(found["Interaction"]) == {"co"}
    assert found["Cluster_Index"].tolist() == edges["cluster"].tolist()
    assert found["Samples"].tolist() == edges["string"].tolist()
    assert found["Samples"].str.count("1").tolist() == edges["n_samples"].tolist()
    assert found["Cluster_Size"].tolist() == edges["n_samples"].tolist()
    np.testing.assert_allclose(found["Similarity_Score"], edges["correlation"], rtol=5e-8)
    assert found["Treatment__Heat_pVal"].tolist() == [f"{p:.8g}" for p in edges["p"]]
    assert list(tmp_path.iterdir()) == [path]


def test_names_do_not_depend_on_which_gene_comes_first(tmp_path: Path) -> None:
    network = example(30, 21)
    edges = network.edges.rename(
        columns={"source": "target", "target": "source", "i": "j", "j": "i"}
    )
    turned = ModeEdges(
        edges, network.samples, network.outliers, network.values, network.rules, network.tests
    )
    for writer in (write_kinc_text, write_kinc_tidy, write_kinc_minimal):
        writer(network, tmp_path / "one")
        writer(turned, tmp_path / "two")
        assert (tmp_path / "one").read_bytes() == (tmp_path / "two").read_bytes()


def test_tidy_text_has_a_line_for_each_edge_and_test(tmp_path: Path) -> None:
    network = example(30, 21)
    lines = write_kinc_tidy(network, tmp_path / "tidy.txt")
    write_kinc_text(network, tmp_path / "kinc.txt")
    tidy, full = read(tmp_path / "tidy.txt"), read(tmp_path / "kinc.txt")
    assert len(tidy) == lines
    assert list(tidy.columns) == [*full.columns[:7], "Test_Name", "p_value", "r_squared"]
    edge = ["Source", "Target", "Cluster_Index"]
    untested = 0
    for _, row in full.iterrows():
        of_edge = tidy[(tidy[edge] == row[edge]).all(axis=1)]
        assert (of_edge[full.columns[:7]] == row[full.columns[:7]]).all(axis=None)
        wanted = []
        if row["Treatment__Heat_pVal"] != "nan":
            wanted.append(("Treatment__Heat", row["Treatment__Heat_pVal"], "nan"))
        if row["Hours_pVal"] != "nan":
            wanted.append(("Hours", row["Hours_pVal"], row["Hours_RSqr"]))
        untested += not wanted
        results = list(
            of_edge[["Test_Name", "p_value", "r_squared"]].itertuples(index=False, name=None)
        )
        assert results == (wanted or [("", "nan", "nan")])
    assert 0 < untested < 15


def test_tidy_text_without_tests_has_its_columns(tmp_path: Path) -> None:
    network = example(5, 9)
    plain = ModeEdges(
        network.edges, network.samples, network.outliers, network.values, network.rules
    )
    assert write_kinc_tidy(plain, tmp_path / "tidy.txt") == 5
    tidy = read(tmp_path / "tidy.txt")
    assert {"Test_Name", "p_value", "r_squared"} <= set(tidy.columns)
    assert tidy["Test_Name"].tolist() == [""] * 5


def test_names_of_tests_stay_in_their_field(tmp_path: Path) -> None:
    network = example(5, 9)
    odd = EdgeTest("Stage__early\tor\nlate", np.full(5, 0.5), np.full(5, 0.25))
    labelled = replace(network, tests=[odd])
    assert write_kinc_text(labelled, tmp_path / "kinc.txt") == 5
    assert write_kinc_tidy(labelled, tmp_path / "tidy.txt") == 5
    columns = list(read(tmp_path / "kinc.txt").columns)
    assert columns[-2:] == ["Stage__early or late_pVal", "Stage__early or late_RSqr"]
    assert read(tmp_path / "tidy.txt")["Test_Name"].tolist() == ["Stage__early or late"] * 5


def test_minimal_text_has_the_edges_and_their_correlations(tmp_path: Path) -> None:
    network = example(30, 21)
    assert write_kinc_minimal(network, tmp_path / "minimal.txt") == 30
    write_kinc_text(network, tmp_path / "kinc.txt")
    minimal, full = read(tmp_path / "minimal.txt"), read(tmp_path / "kinc.txt")
    pd.testing.assert_frame_equal(minimal, full[["Source", "Target", "Similarity_Score"]])


def test_a_network_without_edges_is_a_header(tmp_path: Path) -> None:
    empty = example(0, 9)
    for writer in (write_kinc_text, write_kinc_tidy, write_kinc_minimal):
        assert writer(empty, tmp_path / "empty.txt") == 0
        assert (tmp_path / "empty.txt").read_text().count("\n") == 1


def test_an_error_leaves_the_former_file_and_nothing_else(tmp_path: Path) -> None:
    network = example(30, 21)
    path = tmp_path / "kinc.txt"
    write_kinc_text(network, path)
    before = path.read_bytes()
    everywhere = np.full_like(network.samples, 255)
    wrong = ModeEdges(network.edges, everywhere, network.outliers, network.values, network.rules)
    with pytest.raises(ValueError, match="is in the mode, but"):
        write_kinc_text(wrong, path)
    assert path.read_bytes() == before
    assert list(tmp_path.iterdir()) == [path]
