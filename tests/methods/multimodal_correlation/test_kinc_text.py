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
from pairtile import multimodal_correlation
from pairtile.io.expression import read_expression
from pairtile.methods.multimodal_correlation import kinc_text, modes
from pairtile.methods.multimodal_correlation.conditions import ConditionTest, ConditionTests
from pairtile.methods.multimodal_correlation.kinc_text import (
    sample_strings,
    write_cmx,
    write_kinc_texts,
)
from pairtile.methods.multimodal_correlation.modes import ModeSamples, tukey_outliers
from workflow_runs import Analysis

GOLDEN = ("rice300.icl_spearman", "rice300.defaults_gmm", "synth.icl_spearman", "synth.bic_pearson")


def kinc_modes(path: Path, genes: list[str], samples: list[str]) -> pd.DataFrame:
    """What ``kinc run export-cmx`` writes: the modes by names, and whether each sample is in it."""
    numbers = ["cluster", "n_clusters", "n_samples"]
    columns = ["source", "target", *numbers, "correlation", "digits"]
    read = pd.read_csv(path, sep="\t", header=None, names=columns, dtype={"digits": str})
    inside = np.array([list(digits) for digits in read.pop("digits")]) == "1"
    ends = {end: np.array(genes, dtype=object)[read[end]] for end in ("source", "target")}
    return pd.concat([read.assign(**ends), pd.DataFrame(inside, columns=samples)], axis=1)


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
    masks = packed(strings, b"1"), packed(strings, b"78")
    x, y = text["x"].to_numpy(), text["y"].to_numpy()
    found = sample_strings(ModeSamples(x, y, masks[0], values, masks[1]), True)
    assert len(found) > 3000
    np.testing.assert_array_equal(found, strings)


def naive_string(modes: ModeSamples, row: int, member: list[bool], outlier: list[bool]) -> str:
    """Sample by sample, from the definition; outliers are taken away before the mixture."""
    x, y = modes.values[modes.i[row]].tolist(), modes.values[modes.j[row]].tolist()
    low = -np.inf if modes.min_expression is None else modes.min_expression
    high = np.inf if modes.max_expression is None else modes.max_expression
    usable = [low <= a <= high and low <= b <= high for a, b in zip(x, y, strict=True)]
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
            digits += "7" if far else "8"
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
    values = np.array(
        data.draw(st.lists(st.lists(VALUES, min_size=n, max_size=n), min_size=3, max_size=3))
    )
    i, j = np.array([0, 2, 1, 0]), np.array([1, 0, 2, 0])
    x, y = values[i], values[j]
    top = None if low is None else 2.0
    high, least = np.inf if top is None else top, -np.inf if low is None else low
    with np.errstate(invalid="ignore"):
        usable = (x >= least) & (x <= high) & (y >= least) & (y <= high)
    # 0: elsewhere, 1: in the mode, 2: outlier; where a sample is not usable it is neither.
    drawn = data.draw(
        st.lists(st.lists(st.integers(0, 2), min_size=n, max_size=n), min_size=4, max_size=4)
    )
    member, outlier = (usable & (np.array(drawn) == state) for state in (1, 2))
    masks = np.packbits(member, axis=1), np.packbits(outlier, axis=1)
    paired = ModeSamples(i, j, masks[0], values, masks[1], low, top)
    found = sample_strings(paired, before)
    expected = [naive_string(paired, k, member[k].tolist(), outlier[k].tolist()) for k in range(4)]
    if not before:
        expected = [string.replace("7", "8") for string in expected]
    assert [string.decode() for string in found] == expected
    np.testing.assert_array_equal(packed(found, b"1"), masks[0])
    np.testing.assert_array_equal(packed(found, b"78"), masks[1])


def test_masks_that_do_not_fit_are_refused() -> None:
    values = np.array([[1.0, np.nan, 3.0], [1.0, 2.0, 9.0]])

    def strings(samples: list[int], outliers: list[int], high: float | None = None) -> list[bytes]:
        masks = [np.packbits([bits], axis=1) for bits in (samples, outliers)]
        i, j = np.array([0]), np.array([1])
        paired = ModeSamples(i, j, masks[0], values, masks[1], None, high)
        return sample_strings(paired, True).tolist()

    assert strings([1, 0, 0], [0, 0, 1]) == [b"198"]
    for samples, outliers, high in (
        ([1, 1, 0], [0, 0, 0], None),  # missing
        ([1, 0, 1], [0, 0, 0], 5.0),  # out of range
        ([1, 0, 1], [0, 0, 1], None),  # an outlier
    ):
        with pytest.raises(ValueError, match=r"row 0: sample [12] is in the mode, but"):
            strings(samples, outliers, high)


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


@dataclass(frozen=True)
class Network:
    """What the texts are of."""

    edges: pd.DataFrame
    samples: ModeSamples
    tests: ConditionTests

    def write(self, folder: Path) -> dict[str, pd.DataFrame]:
        """The texts as a program of the field reads them, sample strings as text."""
        write_kinc_texts(self.edges, self.samples, self.tests, True, folder)
        return {
            path.stem: pd.read_csv(path, sep="\t", dtype={"Samples": str}, keep_default_na=False)
            for path in folder.iterdir()
        }


def made_up(
    condition: str,
    label: str,
    p_value: NDArray[np.float64],
    r_squared: NDArray[np.float64] | float | None = None,
) -> ConditionTest:
    kind = "enrichment" if r_squared is None else "regression"
    explained = np.nan if r_squared is None else r_squared
    results = pd.DataFrame({"p_value": p_value, "r_squared": explained})
    return ConditionTest("", condition, label, kind, results)


def example(n_edges: int, n_samples: int, seed: int = 1) -> Network:
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
            "n_clusters": pd.Series(pair).groupby(pair).transform("size").to_numpy(),
            "n_samples": member.sum(axis=1),
            "correlation": random.uniform(-1, 1, n_edges).astype(np.float32),
        }
    )
    p_value = np.where(random.random(n_edges) < 0.4, np.nan, random.random(n_edges))
    second = np.where(random.random(n_edges) < 0.4, np.nan, random.random(n_edges))
    explained = np.where(np.isnan(second), np.nan, 0.5)
    tests = [made_up("Treatment", "Heat", p_value), made_up("Hours", "", second, explained)]
    masks = np.packbits(member, axis=1), np.packbits(outlier, axis=1)
    return Network(edges, ModeSamples(i, j, masks[0], values, masks[1]), ConditionTests(tests))


def test_extract_of_kinc_is_found_again_byte_for_byte(shared: Path, tmp_path: Path) -> None:
    text, strings, values, genes = golden_modes(shared, "rice300.icl_spearman.paf")
    golden = shared / "golden" / "multimodal" / "rice300.icl_spearman.paf.extract_all_tests.text.gz"
    wanted = gzip.decompress(golden.read_bytes())
    kinc = pd.read_csv(golden, sep="\t", dtype={"Samples": str})
    names = np.array(genes, dtype=object)
    edges = text.rename(columns={"x": "j", "y": "i"})
    edges["source"], edges["target"] = names[edges["i"]], names[edges["j"]]
    shuffled = np.random.default_rng(1).permutation(len(edges))
    edges = edges.iloc[shuffled].reset_index(drop=True)
    tests = []
    for column in (column for column in kinc if column.endswith("_pVal")):
        condition, _, label = column.removesuffix("_pVal").partition("__")
        r_squared = kinc[f"{condition}_RSqr"].to_numpy()[shuffled] if not label else None
        tests.append(made_up(condition, label, kinc[column].to_numpy()[shuffled], r_squared))
    assert [test.condition for test in tests if test.kind == "regression"] == ["Duration"]
    masks = packed(strings, b"1")[shuffled], packed(strings, b"78")[shuffled]
    i, j = edges["i"].to_numpy(), edges["j"].to_numpy()
    samples = ModeSamples(i, j, masks[0], values, masks[1])
    Network(edges, samples, ConditionTests(tests)).write(tmp_path)
    assert (tmp_path / "kinc.txt").read_bytes() == wanted


@pytest.mark.parametrize("characters", [16_000_000, 1, 50])
def test_full_text_holds_every_edge_in_the_order_of_kinc(
    characters: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(kinc_text, "_CHARACTERS", characters)
    network = example(30, 21)
    found = network.write(tmp_path)["kinc"]
    assert list(found.columns) == [
        *("Source", "Target", "Similarity_Score", "Interaction", "Cluster_Index", "Cluster_Size"),
        *("Samples", "Treatment__Heat_pVal", "Hours_pVal", "Hours_RSqr"),
    ]
    edges = network.edges.copy()
    edges["string"] = sample_strings(network.samples, True).astype(str)
    edges["p"] = network.tests.tests[0].results["p_value"]
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


def test_blocks_and_which_gene_comes_first_change_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    network = example(30, 21)
    turned = {"source": "target", "target": "source", "i": "j", "j": "i"}
    samples = replace(network.samples, i=network.samples.j, j=network.samples.i)
    network.write(tmp_path)
    whole = {path.name: path.read_bytes() for path in tmp_path.iterdir()}
    assert len(whole) == 3
    monkeypatch.setattr(modes.ModeSamples.blocks, "__defaults__", (21 * 7,))
    replace(network, edges=network.edges.rename(columns=turned), samples=samples).write(tmp_path)
    assert {path.name: path.read_bytes() for path in tmp_path.iterdir()} == whole


def test_tidy_text_has_a_line_for_each_edge_and_test_and_the_minimal_for_each_edge(
    tmp_path: Path,
) -> None:
    texts = example(30, 21).write(tmp_path)
    tidy, full = texts["kinc_tidy"], texts["kinc"]
    minimal = texts["kinc_minimal"]
    pd.testing.assert_frame_equal(minimal.iloc[:, :4], full[[*full.columns[:3], "Cluster_Index"]])
    of_pair = full.groupby(["Source", "Target"])["Source"].transform("size")
    assert minimal.columns[4] == "Num_Clusters"
    assert minimal["Num_Clusters"].astype(int).tolist() == of_pair.tolist()
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
    tidy = replace(example(5, 9), tests=ConditionTests([])).write(tmp_path)["kinc_tidy"]
    assert {"p_value", "r_squared"} <= set(tidy.columns)
    assert tidy["Test_Name"].tolist() == [""] * 5


def test_names_of_tests_stay_in_their_field(tmp_path: Path) -> None:
    odd = ConditionTests([made_up("Stage", "early\tor\nlate", np.full(5, 0.5), 0.25)])
    texts = replace(example(5, 9), tests=odd).write(tmp_path)
    columns = ["Stage__early or late_pVal", "Stage__early or late_RSqr"]
    assert list(texts["kinc"].columns[-2:]) == columns
    assert texts["kinc_tidy"]["Test_Name"].tolist() == ["Stage__early or late"] * 5


def test_a_network_without_edges_is_a_header(tmp_path: Path) -> None:
    texts = example(0, 9).write(tmp_path)
    assert [len(text) for text in texts.values()] == [0, 0, 0]


def test_an_error_leaves_the_former_files_and_nothing_else(tmp_path: Path) -> None:
    network = example(30, 21)
    network.write(tmp_path)
    before = {path: path.read_bytes() for path in tmp_path.iterdir()}
    everywhere = np.full_like(network.samples.members, 255)
    with pytest.raises(ValueError, match="is in the mode, but"):
        replace(network, samples=replace(network.samples, members=everywhere)).write(tmp_path)
    assert {path: path.read_bytes() for path in tmp_path.iterdir()} == before


# --- matrices that KINC imports and exports -----------------------------------------------------


@pytest.mark.parametrize("name", GOLDEN[:2])
def test_modes_of_kinc_are_read_and_written_as_it_has_them(
    shared: Path, name: str, tmp_path: Path
) -> None:
    path = shared / "golden" / "multimodal" / f"{name}.cmx.txt.gz"
    text, strings, values, genes = golden_modes(shared, name)
    samples = [f"s{k}" for k in range(values.shape[1])]
    read = kinc_modes(path, genes, samples)
    np.testing.assert_array_equal(read["correlation"].astype(np.float32), text["correlation"])
    assert read["source"].tolist() == [genes[k] for k in text["x"]]
    np.testing.assert_array_equal(read[samples].sum(axis=1), text["n_samples"])
    with gzip.open(path, "rt") as lines:
        expected = [line.rstrip("\n").split("\t") for line in lines]
    modes = text.rename(columns={"x": "i", "y": "j"}).assign(n_clusters=read["n_clusters"])
    masks = packed(strings, b"1"), packed(strings, b"78")
    of = ModeSamples(text["x"].to_numpy(), text["y"].to_numpy(), masks[0], values, masks[1])
    write_cmx(modes, of, True, tmp_path / "t.cmx.txt")
    found = [line.split("\t") for line in (tmp_path / "t.cmx.txt").read_text().splitlines()]
    assert len(found) == len(expected) > 3000
    for mine, theirs in zip(found, sorted(expected, key=lambda f: [*map(int, f[:3])]), strict=True):
        assert mine[:5] == theirs[:5]
        assert mine[6] == theirs[6]
        assert float(mine[5]) == pytest.approx(float(theirs[5]), abs=1e-7)


def test_the_library_writes_what_kinc_imports(tmp_path: Path) -> None:
    draw = np.random.default_rng(5)
    values = draw.standard_normal((6, 80))
    values[1] = values[0] + 0.3 * draw.standard_normal(80)
    values[2, :7] = np.nan
    table = pd.DataFrame(values, index=list("abcdef"), columns=[f"s{k}" for k in range(80)])
    found = multimodal_correlation(table, preprocess={"sample_scale": False})
    found.write_kinc(tmp_path, "t")
    read = kinc_modes(tmp_path / "t.cmx.txt", list(found.labels), list(found.samples))
    assert len(read) == len(found.modes) > 0
    members = found.members()
    for (_, row), (_, own) in zip(
        read.sort_values(["target", "source", "cluster"]).iterrows(),
        found.modes.sort_values(["source", "target", "cluster"]).iterrows(),
        strict=True,
    ):
        assert (row["target"], row["source"]) == (own["source"], own["target"])
        assert row["correlation"] == pytest.approx(own["correlation"], abs=1e-6)
        assert (row[members.columns].to_numpy(bool) == members.loc[own.name].to_numpy()).all()
    back = read_expression(tmp_path / "t.emx.txt")
    assert (back.genes, back.samples) == (list("abcdef"), list(table.columns))
    np.testing.assert_allclose(back.values, found.state["values"], rtol=1e-6)
    assert "NaN" in (tmp_path / "t.emx.txt").read_text()


def test_partial_correlations_have_no_texts_of_kinc(tmp_path: Path) -> None:
    """Their samples are those of all genes, where a missing value counts as its gene's mean."""
    draw = np.random.default_rng(6)
    values = draw.standard_normal((6, 80))
    values[1] += values[0]
    values[0, :7] = np.nan
    table = pd.DataFrame(values, index=list("abcdef"), columns=[f"s{k}" for k in range(80)])
    estimator = {"clustering": "none", "correlation": "partial", "min_correlation": 0.2}
    found = multimodal_correlation(table, preprocess={"log2": False}, **estimator)
    with pytest.raises(ValueError, match="write_kinc: found partial correlations"):
        found.write_kinc(tmp_path)
    (tmp_path / "expression.tsv").write_text(table.to_csv(sep="\t"))
    section = {"method": "multimodal_correlation", "expression": "expression.tsv"}
    section |= {"estimator": estimator, "threshold": {"method": "fdr"}}
    analysis = Analysis(tmp_path, section | {"preprocess": {"log2": False}}).all()
    assert (analysis.out / "modules.tsv").is_file()
    assert not (analysis.out / "kinc.txt").exists()
