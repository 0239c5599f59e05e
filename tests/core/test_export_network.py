"""What holds for every format: same bytes, empty networks, speed, errors, nothing left behind."""

from __future__ import annotations

import ast
import time
from pathlib import Path

import pandas as pd
import pytest
from export_networks import AWKWARD, METADATA, chain, items_table, large, write
from pairtile.config.export_formats import EXPORT_FORMATS
from pairtile.errors import InputError
from pairtile.io.networks import export_network
from pairtile.runtime.files import read_json
from pairtile.steps.result_files import ResultFiles
from paths import ROOT
from workflow_runs import Analysis, write_data

FORMATS = list(EXPORT_FORMATS)


def test_one_place_knows_formats_by_name() -> None:
    """But for names that mean other things, too: tables in text, a sparse matrix, a suffix."""
    names = {"graphml", "gexf", "sif", "cx2", "h5mu", "adjacencies"}
    assert names < EXPORT_FORMATS.keys()
    found = {
        path.name
        for path in (ROOT / "workflow/pairtile").rglob("*.py")
        for node in ast.walk(ast.parse(path.read_text()))
        if isinstance(node, ast.Constant) and node.value in names
    }
    assert found == {"export_formats.py"}


@pytest.mark.parametrize("directed", [False, True])
@pytest.mark.parametrize("format", FORMATS)
def test_equal_input_gives_equal_bytes_on_any_day(
    format: str, directed: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    network, items = chain(AWKWARD, directed), items_table(AWKWARD, 3)
    first = write(tmp_path, format, network, items, directed=directed).read_bytes()
    later = time.struct_time((2037, 5, 6, 7, 8, 9, 2, 126, 0))
    monkeypatch.setattr(time, "localtime", lambda *_: later)
    monkeypatch.setattr(time, "gmtime", lambda *_: later)
    monkeypatch.setattr(time, "strftime", lambda *_: "2037-05-06")
    monkeypatch.setattr(time, "time", lambda: 2.1e9)
    assert write(tmp_path, format, network, items, directed=directed).read_bytes() == first


@pytest.mark.parametrize("directed", [False, True])
@pytest.mark.parametrize("format", FORMATS)
def test_exporting_leaves_its_input_alone_and_one_file_behind(
    format: str, directed: bool, tmp_path: Path
) -> None:
    network, items = chain(AWKWARD, directed), items_table(AWKWARD)
    before = network.copy(), items.copy()
    path = write(tmp_path, format, network, items, directed=directed)
    pd.testing.assert_frame_equal(network, before[0])
    pd.testing.assert_frame_equal(items, before[1])
    assert list(tmp_path.iterdir()) == [path]


@pytest.mark.complete
@pytest.mark.parametrize("format", FORMATS)
def test_twenty_thousand_edges_take_seconds(format: str, tmp_path: Path) -> None:
    network, items = large(2000, 20_000)
    start = time.process_time()  # which other programs do not lengthen
    write(tmp_path, format, network, items)
    assert time.process_time() - start < 8


@pytest.mark.parametrize("format", FORMATS)
def test_a_gene_without_edges_or_a_network_without_genes_is_no_error(
    format: str, tmp_path: Path
) -> None:
    write(tmp_path, format, chain(["a", "b"]).iloc[:0], items_table(["a", "b"]))
    write(tmp_path, format, chain(["a", "b"]).iloc[:0], items_table([]))


@pytest.mark.parametrize("format", FORMATS)
@pytest.mark.parametrize(
    ("name", "seen"), [("a\tb", r"\\t"), ("a\nb", r"\\n"), ("\x00", "x00"), ("\ud800", "ud800")]
)
def test_names_that_formats_cannot_hold_are_refused_by_name(
    format: str, name: str, seen: str, tmp_path: Path
) -> None:
    with pytest.raises(InputError, match=f"{seen}.*names without control characters"):
        write(tmp_path, format, chain(["a", name]), items_table(["a", name]))
    assert list(tmp_path.iterdir()) == []


def test_a_failing_writer_keeps_the_older_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    network, items = chain(["a", "b", "c"]), items_table(["a", "b", "c"])
    path = write(tmp_path, "sif", network, items)
    older = path.read_bytes()

    def broken(_: object, temporary: Path) -> None:
        temporary.write_text("half")
        raise OSError("no space left on device")

    monkeypatch.setattr("pairtile.io.networks.edge_lists.write_sif", broken)
    with pytest.raises(OSError, match="no space"):
        write(tmp_path, "sif", network, items)
    assert path.read_bytes() == older
    assert list(tmp_path.iterdir()) == [path]


@pytest.mark.parametrize(
    ("network", "items", "message"),
    [
        (chain(["a", "b"]).drop(columns="target"), items_table(["a", "b"]), "no column target"),
        (chain(["a", "b"])[["source", "target"]], items_table(["a", "b"]), "no column of real"),
        (chain(["a", "z"]), items_table(["a", "b"]), "target: found 'z'; expected kept genes"),
        (
            chain(["dropped", "a"]),
            items_table(["a", "b"]),
            "source: found 'dropped'; expected",
        ),
        (chain(["a", "b"]), items_table(["a", "b", "a"]), "gene 'a' is named twice"),
    ],
)
def test_inconsistent_tables_are_refused(
    network: pd.DataFrame, items: pd.DataFrame, message: str, tmp_path: Path
) -> None:
    with pytest.raises(ValueError, match=message):
        write(tmp_path, "tsv", network, items)


def test_an_unknown_format_is_refused_with_the_known_ones(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="'xlsx'; expected one of tsv, parquet"):
        export_network(
            chain(["a", "b"]),
            items_table(["a", "b"]),
            "xlsx",
            tmp_path / "x",
            directed=False,
            name="",
            metadata=METADATA,
        )


def left_away(analysis: Analysis) -> list[str]:
    """Warnings of a file that is not written."""
    warnings = read_json(analysis.out / "summary.json")["warnings"]
    return [text for text in warnings if "network.graphml" in text]


def test_auto_leaves_graphml_of_a_large_network_away_and_says_so(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write_data(tmp_path, genes=20, samples=40)
    small = Analysis(tmp_path, {"export": "auto"}).pairs().network().results()
    files = ResultFiles(str(small.out), small.model)
    n_edges = len(pd.read_parquet(small.out / "network.parquet"))
    assert n_edges > 10
    assert (small.out / "network.graphml").is_file()
    assert not left_away(small)
    assert files.exports() == [str(small.out / "network.tsv")]
    assert files.exports(n_edges) == [*files.exports(), str(small.out / "network.graphml")]
    monkeypatch.setattr("pairtile.config.export_formats.MAX_AUTO_EDGES", n_edges - 1)
    assert files.exports(n_edges) == files.exports()
    for export, warnings in (("auto", 1), (["tsv", "graphml"], 0)):
        forced = Analysis(tmp_path, {"export": export}, name="large").all()
        said = left_away(forced)
        assert len(said) == warnings
        assert all(f"{n_edges} edges" in text for text in said)
        assert (forced.out / "network.graphml").exists() is not bool(warnings)
        assert (forced.out / "network.tsv").is_file()
