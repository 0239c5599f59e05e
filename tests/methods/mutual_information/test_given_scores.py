"""Given scores, a matrix or a list of pairs, go through the network steps as computed ones do."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from declared_columns import assert_declared
from naive_mutual_information import naive_dpi
from pairtile import analyse, mutual_information
from pairtile.errors import InputError
from pairtile.simulate import simulate_kinetic

GENES = 40


@pytest.fixture(scope="module")
def data(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, pd.DataFrame]:
    """A simulated table, and the file of its mutual information as pairtile computes it."""
    folder = tmp_path_factory.mktemp("scores")
    made = simulate_kinetic(n_genes=GENES, n_samples=80, n_regulators=6, seed=4)
    table = pd.DataFrame(made.values, index=made.genes, columns=made.samples)
    table.to_csv(folder / "expression.tsv", sep="\t")
    (folder / "regulators.txt").write_text("\n".join(made.regulators))
    found = run(expression=str(folder / "expression.tsv"), keep="all", dpi=False, score="mi")
    edges = found.network
    matrix = pd.DataFrame(np.nan, index=made.genes, columns=made.genes)
    for source, target, bits in edges[["source", "target", "mi_bits"]].itertuples(index=False):
        matrix.loc[source, target] = matrix.loc[target, source] = bits
    matrix.to_csv(folder / "mi.tsv", sep="\t")
    return folder, matrix


def run(**settings: Any) -> Any:
    return analyse("mutual_information", backend="cpu", **settings)


@pytest.mark.parametrize(
    "settings",
    [
        {"score": "mi", "keep": {"top_edges": 120}},
        {"score": "mi", "keep": {"score": 0.05}, "dpi": {"tolerance": 0.15}},
        {"score": "mi", "keep": {"score": 0.05}, "dpi": {"tolerance": 0.02, "rule": "additive"}},
        {"score": "clr", "keep": {"top_edges": 90}, "dpi": False},
        {"score": "clr", "keep": {"top_edges": 90}, "regulators": True},
        {"score": "target_z", "keep": {"score": 1.0}, "regulators": True},
    ],
)
@pytest.mark.filterwarnings("ignore")  # what the samples of the expression share
def test_the_network_is_that_of_the_expression(
    data: tuple[Path, pd.DataFrame], settings: dict[str, Any]
) -> None:
    folder, _ = data
    if settings.get("regulators"):
        settings = settings | {"regulators": str(folder / "regulators.txt")}
    expected = run(expression=str(folder / "expression.tsv"), **settings).network
    found = run(scores=str(folder / "mi.tsv"), **settings)
    assert len(found.network) > 20
    columns = ["source", "target", "mi_bits"]
    columns += [settings["score"]] if settings["score"] != "mi" else []
    assert found.network.columns.tolist() == columns
    pd.testing.assert_frame_equal(found.network, expected[columns], rtol=1e-9)


@pytest.mark.parametrize("kind", ["continuous", "tied", "sparse"])
@pytest.mark.parametrize("tolerance", [0.0, 0.1])
def test_pruning_is_that_of_a_loop_over_triangles(
    tmp_path: Path, kind: str, tolerance: float
) -> None:
    random = np.random.default_rng(3)
    matrix = random.gamma(2.0, 0.2, (30, 30))
    if kind == "tied":
        matrix = np.ceil(4.0 * matrix) / 4.0
    matrix = np.triu(matrix, 1) + np.triu(matrix, 1).T
    if kind == "sparse":
        absent = np.triu(random.random(matrix.shape) < 0.6, 1)
        matrix[absent | absent.T] = np.nan
    names = [f"g{k}" for k in range(30)]
    pd.DataFrame(matrix, names, names).to_csv(tmp_path / "mi.csv.gz")
    found = run(scores=str(tmp_path / "mi.csv.gz"), keep="all", dpi={"tolerance": tolerance})
    i, j = np.nonzero(np.triu(~np.isnan(matrix), 1))
    kept = naive_dpi(i, j, matrix[i, j], 30, tolerance, "relative")
    assert 0 < kept.sum() < kept.size
    expected = {(f"g{a}", f"g{b}") for a, b in zip(i[kept], j[kept], strict=True)}
    assert set(zip(found.network["source"], found.network["target"], strict=True)) == expected
    assert found.summary["counts"]["pairs_scored"] == kept.size
    read = next(m for m in found.summary["messages"] if m["code"] == "scores_read")
    assert read["numbers"] == {"n": kept.size, "pairs": 435}


def null_scores(folder: Path, path: Path) -> Path:
    """Scores of pairs of genes whose samples are permuted, by pairtile, one a line."""
    table = pd.read_csv(folder / "expression.tsv", sep="\t", index_col=0)
    random = np.random.default_rng(8)
    permuted = [random.permuted(table.to_numpy(), axis=1) for _ in range(5)]
    draws = [mutual_information(values, transform="rank", backend="cpu") for values in permuted]
    triangles = [np.asarray(mi)[np.triu_indices(GENES, 1)] for mi in draws]
    path.write_text("# bits\n" + "\n".join(map(repr, np.concatenate(triangles).tolist())))
    return path


@pytest.mark.filterwarnings("ignore")  # what the samples of the expression share
def test_a_given_null_makes_p_values(data: tuple[Path, pd.DataFrame], tmp_path: Path) -> None:
    folder, _ = data
    path = null_scores(folder, tmp_path / "null.txt")
    draws = np.sort(np.loadtxt(path).astype(np.float32))
    given = {"scores": str(folder / "mi.tsv"), "scores_null": str(path)}
    found = run(**given, keep="all", dpi=False, folder=tmp_path / "all", page=True)
    edges = found.network
    assert len(edges) == GENES * (GENES - 1) // 2
    reach = np.array([(draws >= np.float32(bits)).sum() for bits in edges["mi_bits"]])
    counted = reach >= 10
    assert counted.sum() > 400
    assert (~counted).sum() > 40
    expected = (1.0 + reach) / (1.0 + draws.size)
    np.testing.assert_allclose(edges["p_value"][counted], expected[counted], rtol=1e-12)
    assert (edges["p_value"][~counted] <= 11.0 / (1.0 + draws.size)).all()
    assert (edges["p_method"] == np.where(counted, "empirical", "extrapolated")).all()
    # The default is that of expression, and the network nearly that of a null drawn here.
    chosen = run(**given, score="mi").network
    own = run(expression=str(folder / "expression.tsv"), score="mi").network
    ends = [set(zip(table["source"], table["target"], strict=True)) for table in (chosen, own)]
    assert len(ends[0] & ends[1]) >= 0.9 * max(map(len, ends)) > 20
    page = (tmp_path / "all/report.html").read_text()
    methods = page[page.index('id="methods"') :].partition("</section>")[0]
    assert f"{draws.size:,} mutual informations of unrelated genes as given ({path})" in methods
    assert_declared(tmp_path / "all", "mutual_information")


@pytest.mark.parametrize(
    ("rows", "place"),
    [
        (["0.1"] * 999, "found 999 numbers; expected at least 1000"),
        (["0.1"] * 1000 + ["-0.1"], "line 1001: found '-0.1'; expected mutual information"),
        (["0.1"] * 1000 + ["nan"], "line 1001: found 'nan'"),
        (["0.1"] * 1000 + ["much"], "line 1001: found 'much'"),
        (["0.1"] * 1000 + ["0.1\t0.2"], "line 1001: found '0.1, 0.2'"),
    ],
)
def test_a_null_that_is_no_list_of_scores_is_refused(
    data: tuple[Path, pd.DataFrame], tmp_path: Path, rows: list[str], place: str
) -> None:
    path = tmp_path / "null.tsv"
    path.write_text("\n".join(rows))
    with pytest.raises(InputError) as raised:
        run(scores=str(data[0] / "mi.tsv"), scores_null=str(path))
    assert f"{path}: {place}" in str(raised.value)


def listed(matrix: pd.DataFrame) -> pd.DataFrame:
    """The pairs of a matrix, each once, in random order and direction."""
    random = np.random.default_rng(6)
    ends = np.argwhere(np.triu(matrix.notna().to_numpy(), 1))
    ends = random.permuted(random.permutation(ends), axis=1)
    names = matrix.index.to_numpy()[ends]
    bits = matrix.to_numpy()[ends[:, 0], ends[:, 1]]
    return pd.DataFrame({"gene_a": names[:, 0], "gene_b": names[:, 1], "bits": bits})


def write_list(pairs: pd.DataFrame, form: str, folder: Path) -> dict[str, str]:
    """Keys of the scores, written in a form that programs have for them."""
    path = folder / {"csv": "mi.csv", "packed": "mi.tsv.gz"}.get(form, "mi.txt")
    if form == "columns":
        marks = np.where(pairs["bits"] > 0.2, "strong", "")
        pairs = pairs.assign(rank=range(len(pairs)), mark=marks)
    pairs.to_csv(path, sep="," if form == "csv" else "\t", index=False)
    return {"scores": str(path), "score_column": "bits"}


@pytest.mark.parametrize("form", ["csv", "packed", "columns"])
def test_a_list_of_pairs_is_the_matrix_of_its_scores(
    data: tuple[Path, pd.DataFrame], tmp_path: Path, form: str
) -> None:
    folder, matrix = data
    matrix = matrix.where(matrix > matrix.stack().quantile(0.3))
    matrix.to_csv(tmp_path / "square.tsv", sep="\t")
    given = write_list(listed(matrix), form, tmp_path)
    settings: dict[str, Any] = {"score": "clr", "keep": {"score": 0.5}, "dpi": {"tolerance": 0.1}}
    settings["regulators"] = str(folder / "regulators.txt")
    expected = run(scores=str(tmp_path / "square.tsv"), **settings)
    found = run(**given, **settings)
    assert len(found.network) > 20
    columns = ["source", "target", "mi_bits", "clr"]
    pd.testing.assert_frame_equal(
        found.network[columns].sort_values(columns[:2], ignore_index=True),
        expected.network[columns].sort_values(columns[:2], ignore_index=True),
        rtol=1e-12,
    )
    said = {m["code"]: m["numbers"] for m in found.summary["messages"]}
    n = int(matrix.notna().to_numpy().sum()) // 2
    assert said["scores_read"] == {"n": n, "pairs": GENES * (GENES - 1) // 2}
    assert said["pairs_listed"] == {"lines": n, "itself": 0, "again": 0}


def test_what_a_list_does_not_score_is_counted(tmp_path: Path) -> None:
    path = tmp_path / "mi.tsv"
    rows = [
        "# of a program",
        "x y mi",
        "a b .5",
        "",
        "b b 9",
        "b a 0.500",
        "c a NA",
        "d c .25",
        "a a 1",
    ]
    path.write_text("\n".join(rows).replace(" ", "\t"))
    found = run(scores=str(path), score_column="mi", keep="all", dpi=False)
    edges = found.network[["source", "target", "mi_bits"]].to_numpy().tolist()
    assert edges == [["a", "b", 0.5], ["c", "d", 0.25]]
    said = {m["code"]: m["numbers"] for m in found.summary["messages"]}
    assert said["scores_read"] == {"n": 2, "pairs": 6}
    assert said["pairs_listed"] == {"lines": 6, "itself": 2, "again": 1}


@pytest.mark.parametrize(
    ("rows", "place"),
    [
        (["a b .5", "b c .2", "c d .1", "c b .3"], "line 5: found .3 of 'c' and 'b', 0.2 in"),
        (["a b .5", "b a NA"], "line 3: found NA of 'b' and 'a', 0.5 in"),
        (["a b .5", "a c"], "line 3: found the fields a, c"),
        (["a b .5", "b c .1", "b  .2"], "line 4: found the fields b, , .2"),
        (["a b .5", "a c -0.1"], "line 3: found '-0.1'"),
        (["a b .5", "a c inf"], "line 3: found 'inf'"),
        (["a b .5", "a c 16.5"], "line 3: found '16.5'"),
        (["a b .5", "a c high"], "line 3: found 'high'"),
        (["a a .5", "b b .5"], "no pair of two genes"),
        ([], "no pair of two genes"),
    ],
)
def test_a_list_that_does_not_score_its_pairs_is_refused(
    tmp_path: Path, rows: list[str], place: str
) -> None:
    path = tmp_path / "mi.tsv"
    path.write_text("\n".join(["x y mi", *rows]).replace(" ", "\t"))
    with pytest.raises(InputError) as raised:
        run(scores=str(path), score_column="mi")
    assert str(path) in str(raised.value)
    assert place in str(raised.value)


@pytest.mark.parametrize("text", ["a\tb\t.5\n", "x\ty\tbits\na\tb\t.5\n", "mi\ty\tbits\n", ""])
def test_a_list_without_the_column_is_refused(tmp_path: Path, text: str) -> None:
    (tmp_path / "mi.tsv").write_text(text)
    with pytest.raises(InputError, match=r"mi\.tsv(: line 1: found the columns .*'mi'|.*empty)"):
        run(scores=str(tmp_path / "mi.tsv"), score_column="mi")


def test_regulators_that_the_list_does_not_name_are_refused(tmp_path: Path) -> None:
    (tmp_path / "mi.tsv").write_text("x\ty\tmi\na\tb\t.5\n")
    (tmp_path / "regulators.txt").write_text("q\n")
    given = {"scores": str(tmp_path / "mi.tsv"), "score_column": "mi"}
    with pytest.raises(InputError, match=r"regulators\.txt: found none of its 1 names"):
        run(**given, regulators=str(tmp_path / "regulators.txt"))


def test_nothing_is_said_of_what_did_not_happen(
    data: tuple[Path, pd.DataFrame], tmp_path: Path
) -> None:
    folder, _ = data
    export = ["tsv", "graphml", "adjacency"]
    found = run(scores=str(folder / "mi.tsv"), folder=tmp_path, page=True, export=export)
    assert found.summary["parameters"]["keep"] == {"top_edges": 2 * GENES}
    assert {"preprocess", "estimator", "null"}.isdisjoint(found.summary["parameters"])
    assert "null_draws" not in found.summary["counts"]
    assert found.warnings == []
    page = (tmp_path / "report.html").read_text()
    methods = page[page.index('id="methods"') :].partition("</section>")[0]
    assert "taken as given" in methods
    for word in ("B-spline", "permuted", "Significance", "log2"):
        assert word not in methods
    assert not (tmp_path / "figures/strongest_edges.svg").exists()
    assert (tmp_path / "figures/score_distribution.svg").exists()
    assert (tmp_path / "network.graphml").exists()
    assert_declared(tmp_path, "mutual_information")


def spoilt(change: str) -> pd.DataFrame:
    names = ["a", "b", "c"]
    table = pd.DataFrame([[0.0, 0.5, 0.2], [0.5, 0.0, 0.1], [0.2, 0.1, 0.0]], names, names)
    match change:
        case "not symmetric":
            table.loc["a", "c"] = 0.3
        case "one side missing":
            table.loc["c", "a"] = np.nan
        case "negative":
            table.loc["a", "b"] = table.loc["b", "a"] = -0.1
        case "large":
            table.loc["a", "b"] = table.loc["b", "a"] = 17.0
        case "infinite":
            table.loc["a", "b"] = table.loc["b", "a"] = np.inf
        case "text":
            table = table.astype(object)
            table.loc["a", "b"] = "much"
        case "other names":
            table.columns = ["a", "b", "d"]
        case "other order":
            table = table[["b", "a", "c"]]
        case "twice":
            table.index, table.columns = ["a", "b", "b"], ["a", "b", "b"]
        case "no name":
            table.index = ["a", "b", ""]
        case "not square":
            table = table.iloc[:2]
    return table


@pytest.mark.parametrize(
    ("change", "place"),
    [
        ("not symmetric", "row 'a', column 'c'"),
        ("one side missing", "row 'a', column 'c'"),
        ("negative", "row 'a', column 'b'"),
        ("large", "row 'a', column 'b'"),
        ("infinite", "column 'b'"),
        ("text", "'much'"),
        ("other names", "'d'"),
        ("other order", "'a'"),
        ("twice", "'b'"),
        ("no name", "without a name"),
        ("not square", "'c'"),
    ],
)
def test_a_table_that_is_no_matrix_of_scores_is_refused(
    tmp_path: Path, change: str, place: str
) -> None:
    path = tmp_path / "mi.tsv"
    spoilt(change).to_csv(path, sep="\t", na_rep="NA")
    with pytest.raises(InputError) as raised:
        run(scores=str(path))
    assert str(path) in str(raised.value)
    assert place in str(raised.value)


@pytest.mark.parametrize(
    ("settings", "key"),
    [
        ({"keep": {"fdr": 0.05}}, "keep"),
        ({"keep": {"p_value": 0.05}}, "keep"),
        ({"score": "combined"}, "score"),
        ({"preprocess": {"log2": True}}, "preprocess"),
        ({"bootstraps": 10}, "bootstraps"),
        ({"lag": 1}, "lag"),
        ({"expression": "e.tsv"}, "expression"),
        ({"modules": {"method": "wgcna"}}, "modules"),
    ],
)
def test_keys_that_mean_nothing_of_given_scores_are_refused(
    settings: dict[str, Any], key: str
) -> None:
    with pytest.raises(ValueError, match=f"^{key}: found .*; expected .*beside scores"):
        run(scores="mi.tsv", **settings)


@pytest.mark.parametrize("key", ["score_column", "scores_null"])
def test_what_describes_scores_needs_scores(key: str) -> None:
    with pytest.raises(ValueError, match=rf"^{key}: .*scores beside it"):
        run(expression="e.tsv", **{key: "mi_bits"})


def test_an_analysis_needs_expression_or_scores() -> None:
    with pytest.raises(ValueError, match=r"^expression: .*scores"):
        run()
