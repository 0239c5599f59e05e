"""Tables and lists as other programs and spreadsheets write them: what is read, left out and said.

Each kind has several inputs, and a look-alike that must be read as it stands.
"""

from __future__ import annotations

import gzip
import os
import socket
import time
from pathlib import Path

import anndata
import numpy as np
import pairtile
import pandas as pd
import pytest
from pairtile.config.load import check_inputs_exist, load_config, read_mapping_file
from pairtile.declare.messages import Message
from pairtile.errors import ConfigError, InputError
from pairtile.io.annotations import read_annotation_table, read_annotations
from pairtile.io.by_products import by_product_rows, converted_names
from pairtile.io.expression import Expression, read_expression, read_sparsely
from pairtile.io.gold_standard import read_gold_standard, with_spelling_of
from pairtile.io.names import GeneNames, match_samples, r_name, without_version
from pairtile.io.regulators import find_regulators, read_regulators
from pairtile.io.symbols import read_symbols, with_symbols
from pairtile.io.table import Kinds
from pairtile.io.text_table import find_layout, read_fast
from pairtile.methods.mirna_targets.fasta import read_fasta
from pairtile.methods.mirna_targets.transcript_model import read_transcript_models
from pairtile.methods.predictor_pairs.read_input import read_series
from pairtile.methods.trajectory_correlation.config_sections import FramesConfig
from pairtile.methods.trajectory_correlation.read_tables import open_series_table
from pairtile.methods.trajectory_correlation.read_trajectory import Trajectories
from pairtile.preprocess.items import CleaningLog, items_table

GENES = ["g1", "g2", "g3", "g4"]
VALUES = np.arange(1.0, 17.0).reshape(4, 4)


def write(path: Path, text: str | bytes) -> Path:
    raw = text if isinstance(text, bytes) else text.encode()
    path.write_bytes(gzip.compress(raw) if path.suffix == ".gz" else raw)
    return path


def table(header: str, rows: list[str], mark: str = "\t") -> str:
    """Rows that begin as given, with ``VALUES`` behind."""
    lines = [
        mark.join([row, *(f"{v:g}" for v in values)])
        for row, values in zip(rows, VALUES, strict=False)
    ]
    return "\n".join([header, *lines]) + "\n"


def said(expression: Expression) -> dict[str, Message]:
    return {note.code: note for note in expression.notes if isinstance(note, Message)}


ANNOTATED = {
    "featurecounts": (
        '# Program:featureCounts v2.0.3; Command:"featureCounts" "-a" "x.gtf"\n'
        "Geneid\tChr\tStart\tEnd\tStrand\tLength\ta.bam\tb.bam\tc.bam\td.bam",
        ["\tchr1;chr1\t1;50\t20;70\t+;+\t40", "\tchr1\t5\t9\t-\t5"] + ["\tchrX\t5\t9\t-\t5"] * 2,
        5,
    ),
    "length": ("gene\tLength\ts1\ts2\ts3\ts4", ["\t200", "\t31", "\t1200", "\t5"], 1),
    "kallisto": (
        "target_id\tlength\teff_length\ts1\ts2\ts3\ts4",
        ["\t200\t20.5", "\t31\t3", "\t1200\t1001.2", "\t5\t1"],
        2,
    ),
    "chromosome": ("gene\tchr\ts1\ts2\ts3\ts4", ["\t1", "\t1", "\tX", "\t12"], 1),
    "cbioportal": (
        "Hugo_Symbol\tEntrez_Gene_Id\ts1\ts2\ts3\ts4",
        ["\t7157", "\t1956", "\t", "\t5290"],
        1,
    ),
    "bioconductor": (
        "gene\tseqnames\tstart\tend\twidth\tstrand\ts1\ts2\ts3\ts4",
        [f"\t{k}\t{k}0\t{k}9\t10\t-" for k in (1, 2, 3, 4)],
        5,
    ),
}


@pytest.mark.parametrize("case", ANNOTATED)
@pytest.mark.parametrize("name", ["t.tsv", "t.txt.gz"])
def test_annotation_columns_are_left_out_and_said(tmp_path: Path, case: str, name: str) -> None:
    header, annotations, n = ANNOTATED[case]
    rows = [gene + found for gene, found in zip(GENES, annotations, strict=True)]
    path = write(tmp_path / name, table(header, rows))
    expression = read_expression(path)
    assert expression.genes == GENES
    assert expression.samples == header.split("\t")[-4:]
    np.testing.assert_array_equal(expression.values, VALUES)
    note = said(expression)["annotation_columns"]
    assert (note.severity, note.numbers["n"]) == ("note", n)
    assert read_fast(path, find_layout(path, Kinds("gene", "sample"))) is not None


def test_annotations_behind_the_samples_are_left_out_too(tmp_path: Path) -> None:
    lines = table("gene\ts1\ts2\ts3\ts4", GENES).splitlines()
    ends = [
        "gene_name\tgene_length\tgene_description",
        *(f"N{k}\t{k}5\tof it, {k}" for k in "1234"),
    ]
    text = "\n".join(map("\t".join, zip(lines, ends, strict=True)))
    expression = read_expression(write(tmp_path / "t.tsv", text))
    np.testing.assert_array_equal(expression.values, VALUES)
    assert expression.samples == ["s1", "s2", "s3", "s4"]
    assert said(expression)["annotation_columns"].numbers["n"] == 3
    assert expression.symbols == {}


@pytest.mark.parametrize(
    ("header", "column"),
    [
        ("isoformId\tgeneSymbol", ["A", "B", "B", ""]),
        ("gene_id\tgene_name", ["A", "B", "C", "D E"]),
        ("probe\tITGB1 or other", ["A", "B", "C", "D"]),
        ("\tgene", ["A", "B", "C", "D"]),
    ],
)
def test_a_second_column_of_names_is_read_as_symbols(
    tmp_path: Path, header: str, column: list[str]
) -> None:
    rows = [f"{gene}\t{symbol}" for gene, symbol in zip(GENES, column, strict=True)]
    text = table(f"{header}\ts1\ts2\ts3\ts4", rows)
    for name, found in (("t.tsv", text), ("t.csv", text.replace("\t", ","))):
        expression = read_expression(write(tmp_path / name, found))
        assert expression.genes == GENES
        expected = {g: s for g, s in zip(GENES, column, strict=True) if s}
        assert expression.symbols == expected
        np.testing.assert_array_equal(expression.values, VALUES)
        assert "symbols_in_table" in said(expression)
    items = items_table(GENES, CleaningLog(4), expression.symbols)
    assert items["symbol"].tolist() == [expected.get(gene, gene) for gene in GENES]
    own = write(tmp_path / "names.tsv", "g1\tMine\n")
    assert with_symbols(expression, own).symbols == {"g1": "Mine"}


def test_a_column_of_symbols_that_is_empty_is_no_sample(tmp_path: Path) -> None:
    rows = [f"{gene}\t" for gene in GENES]
    expression = read_expression(write(tmp_path / "t.tsv", table("g\tsymbol\ta\tb\tc\td", rows)))
    assert expression.samples == ["a", "b", "c", "d"]


@pytest.mark.parametrize("first", [0, 1])
def test_numbers_of_rows_are_no_names(tmp_path: Path, first: int) -> None:
    rows = [f"{first + k},{gene}" for k, gene in enumerate(GENES)]
    expression = read_expression(write(tmp_path / "t.csv", table(",gene,a,b,c,d", rows, ",")))
    assert (expression.genes, expression.symbols) == (GENES, {})
    assert "row_numbers" in said(expression)


@pytest.mark.parametrize(
    ("columns", "genes"),
    [
        (["Chr1", "Length2", "end", "start"], GENES),  # samples called like annotations
        (["s1", "s2", "s3", "s4"], ["Length", "Chr", "ambiguous", "Sep15"]),
        (["start", "middle", "end", "late"], ["Assigned", "sep-1", "oct-2", "dec-11"]),
        (["1", "2", "3", "4"], ["7157", "44256", "1956", "5290"]),  # Entrez
        (["a", "b", "c", "d"], ["AT1G01010.1", "F53H1.4", "2.7.11", "7SK"]),
    ],
)
@pytest.mark.parametrize("orientation", ["genes_in_rows", "samples_in_rows"])
def test_tables_that_only_look_so_are_read_as_they_stand(
    tmp_path: Path, columns: list[str], genes: list[str], orientation: str
) -> None:
    turned = orientation == "samples_in_rows"
    header, rows = (genes, columns) if turned else (columns, genes)
    path = write(tmp_path / "t.tsv", table("\t".join(["name", *header]), rows))
    expression = read_expression(path, orientation)
    assert (expression.genes, expression.samples) == (genes, columns)
    np.testing.assert_array_equal(expression.values, VALUES.T if turned else VALUES)
    assert expression.notes == []


# Columns and rows of numbers that are no samples and no genes.

RNG = np.random.default_rng(47)
SAMPLES = [f"P{k:02d}" for k in range(1, 9)]
NAMES = [f"ENSG{k:011d}" for k in RNG.choice(10**6, 120, replace=False)]
COUNTS = RNG.poisson(2.0 ** (RNG.normal(7, 2, (120, 1)) + RNG.normal(0, 0.5, (120, 8))))
FRAME = pd.DataFrame(COUNTS, NAMES, SAMPLES)
LOGS = (np.log2(FRAME + 1)).round(3)


def share() -> np.ndarray:
    return RNG.random(120).round(5)


def beside(*columns: str, frame: pd.DataFrame = FRAME) -> pd.DataFrame:
    """The table with columns of p-values, or of other numbers, before the samples."""
    shares = ("p", "q", "adj", "fdr", "detection")
    values = [share() if k.lower().startswith(shares) else RNG.normal(0, 3, 120) for k in columns]
    return pd.concat([pd.DataFrame(dict(zip(columns, values, strict=True)), NAMES), frame], axis=1)


def per_sample(*kinds: str, names: str = "{sample}.{kind}") -> pd.DataFrame:
    """For each sample the counts, then a column of each other kind."""
    columns: list[pd.Series] = []
    for sample in SAMPLES:
        columns.append(FRAME[sample].rename(names.format(sample=sample, kind=kinds[0])))
        for kind in kinds[1:]:
            column = pd.Series(share(), NAMES, name=names.format(sample=sample, kind=kind))
            columns.append(column)
    return pd.concat(columns, axis=1)


def read(folder: Path, frame: pd.DataFrame, mark: str = "\t", **options: object) -> Expression:
    path = folder / ("t.tsv" if mark == "\t" else "t.csv")
    frame.to_csv(path, sep=mark, **{"index_label": "gene", **options})
    return read_expression(path)


NO_SAMPLES = {
    "deseq2": beside("baseMean", "log2FoldChange", "lfcSE", "stat", "pvalue", "padj"),
    "limma": beside("logFC", "AveExpr", "t", "P.Value", "adj.P.Val", "B"),
    "edger": beside("logFC", "logCPM", "F", "PValue", "FDR"),
    "comparisons": beside("A_vs_B_log2FC", "padj_A_vs_B", "C.vs.B.logFC", "FDR C vs B"),
    "illumina": per_sample("AVG_Signal", "Detection Pval"),
    "genomestudio": per_sample(
        "AVG_Signal", "MIN_Signal", "BEAD_STDERR", "Avg_NBEADS", "Detection Pval",
        names="{kind}-{sample}",
    ),
    "cuffdiff": per_sample("FPKM", "conf_lo", "conf_hi", names="{sample}_{kind}"),
    "tximport": per_sample("counts", "abundance", "length", names="{kind}.{sample}"),
    "geo": per_sample("", "Detection.Pval").rename(columns=lambda name: name.removesuffix(".")),
}  # fmt: skip


@pytest.mark.parametrize("case", NO_SAMPLES)
def test_columns_of_results_and_errors_are_left_out_and_counted(tmp_path: Path, case: str) -> None:
    frame = NO_SAMPLES[case]
    for found in (frame, frame[frame.columns[::-1]]):
        expression = read(tmp_path, found)
        assert len(expression.samples) == 8
        kept = found[expression.samples]
        assert sorted(map(tuple, kept.T.to_numpy())) == sorted(map(tuple, COUNTS.T))
        np.testing.assert_array_equal(expression.values, kept)
        note = said(expression)["columns_of_no_sample"]
        assert (note.severity, note.numbers["n"]) == ("note", len(frame.columns) - 8)


def test_columns_of_one_name_and_words_between_numbers_are_left_out(tmp_path: Path) -> None:
    frame = per_sample("Signal", "Detection", "p").rename(
        columns=lambda name: "Detection Pval" if name.endswith(".p") else name
    )
    calls = [name for name in frame if name.endswith(".Detection")]
    frame[calls] = RNG.choice(["P", "A", "M"], (120, 8))
    expression = read(tmp_path, frame)
    np.testing.assert_array_equal(expression.values, COUNTS)
    tracking = per_sample("FPKM", "status", names="{sample}_{kind}")
    tracking[[name for name in tracking if name.endswith("status")]] = "OK"
    for name, text in (("class_code", "-"), ("locus", "chr1:1-9"), ("coverage", "-")):
        tracking.insert(0, name, text)
    np.testing.assert_array_equal(read(tmp_path, tracking).values, COUNTS)


@pytest.mark.parametrize(
    "frame",
    [
        per_sample("TPM", "count", names="{sample}_{kind}"),
        per_sample("Intensity", "LFQ intensity", "Peptides", names="{kind} {sample}"),
        per_sample("log2FC", "padj", names="KO_{sample}_{kind}"),
        per_sample("Log Ratio", "Unshared Log Ratio", names="{sample} {kind}"),
        FRAME.iloc[:, :3].set_axis(["expected_count", "TPM", "FPKM"], axis=1),  # of one sample
        FRAME.iloc[:, :2].set_axis(["tpm", "est_counts"], axis=1).assign(eff_length=9.5, length=1),
    ],
)
def test_several_columns_of_values_for_a_sample_are_refused_with_a_command(
    tmp_path: Path, frame: pd.DataFrame
) -> None:
    with pytest.raises(InputError, match=r"several columns .*filter"):
        read(tmp_path, frame)


@pytest.mark.parametrize(
    "names", ["{sample}.count", "{sample}_log2FC", "count {sample}", "t{sample}"]
)
def test_samples_may_be_called_by_one_kind_of_values(tmp_path: Path, names: str) -> None:
    frame = FRAME.rename(columns=lambda sample: names.format(sample=sample))
    expression = read(tmp_path, frame)
    assert (expression.samples, expression.notes) == (list(frame), [])


@pytest.mark.parametrize(
    "columns",
    [["gene", "sample", "value"], ["sample", "symbol", "tpm"], ["probe", "day", "x", "count"]],
)
@pytest.mark.parametrize("by", [0, 1])
def test_the_long_form_is_refused_with_a_command(
    tmp_path: Path, columns: list[str], by: int
) -> None:
    pairs = [(name, sample) for name in NAMES for sample in SAMPLES]
    if columns[0] == "sample":
        pairs = [(sample, name) for name, sample in pairs]
    rows = sorted(pairs, key=lambda pair: pair[by])
    frame = (
        pd.DataFrame(rows).assign(x=1.5, y=2.5).iloc[:, : len(columns)].set_axis(columns, axis=1)
    )
    frame.to_csv(tmp_path / "t.csv", index=False)
    of_gene = columns[1] if columns[0] == "sample" else columns[0]
    with pytest.raises(InputError, match=rf"long form.*pivot\(index='{of_gene}'"):
        read_expression(tmp_path / "t.csv")


@pytest.mark.parametrize(
    ("columns", "of_gene", "is_sure"),
    [
        (["SampleID", "Analyte"], "Analyte", True),
        (["patient_id", "Metabolite"], "Metabolite", True),
        (["Assay", "bcr_patient_barcode"], "Assay", True),
        (["Day", "Peptide"], "Day", False),
    ],
)
def test_the_long_form_is_turned_by_what_is_known_of_either_column(
    tmp_path: Path, columns: list[str], of_gene: str, is_sure: bool
) -> None:
    pairs = pd.MultiIndex.from_product([[f"a{k}" for k in range(9)], SAMPLES], names=columns)
    pairs.to_frame(index=False).assign(value=1.5).to_csv(tmp_path / "t.csv", index=False)
    with pytest.raises(InputError, match=rf"long form.*pivot\(index='{of_gene}'") as refused:
        read_expression(tmp_path / "t.csv")
    assert ("reverse" in str(refused.value)) is not is_sure


@pytest.mark.parametrize("order", ["by gene", "by sample", "none"])
def test_the_long_form_is_known_in_any_format_and_order(tmp_path: Path, order: str) -> None:
    random = np.random.default_rng(2)
    wide = pd.DataFrame(
        random.poisson(90, (300, 60)),
        index=pd.Index([f"G{k}" for k in range(300)], name="gene"),
        columns=pd.Index([f"S{k:02d}" for k in range(60)], name="sample"),
    )
    frame = wide.stack().rename("reads").reset_index()
    if order == "by sample":
        frame = frame.sort_values("sample", kind="stable", ignore_index=True)
    elif order == "none":
        frame = frame.sample(frac=1, random_state=1, ignore_index=True)
    frame.to_csv(tmp_path / "t.tsv", sep="\t", index=False)
    frame.to_parquet(tmp_path / "t.parquet")
    cure = r"t.reset_index\(\).pivot\(index='gene', columns='sample', values='reads'\)"
    for name, reads in (("t.tsv", "read_csv"), ("t.parquet", "read_parquet")):
        with pytest.raises(InputError, match=rf"long form.*{reads}.*{cure}.to_csv") as refused:
            read_expression(tmp_path / name)
        command = str(refused.value).partition('python -c "')[2].rpartition('"')[0]
        code = command.replace("'table.tsv'", repr(str(tmp_path / "table.tsv")))
        exec(code, {})  # the line that the message gives makes a table that is read
        made = read_expression(tmp_path / "table.tsv")
        np.testing.assert_array_equal(
            made.values, wide.loc[made.genes, made.samples].to_numpy(float)
        )
    for table in (frame, frame.set_index("gene")):
        with pytest.raises(InputError, match=rf"expression: found the long form.*t: {cure}"):
            pairtile.infer_network(table)
    assert pairtile.prepare_expression(wide).genes == list(wide.index)


STATISTICS = {
    "Total": COUNTS.sum(axis=1),
    "Gesamt": COUNTS.sum(axis=1),
    "row_mean": COUNTS.mean(axis=1).round(2),
    "SD": COUNTS.std(axis=1, ddof=1).round(2),
    "CV": (COUNTS.std(axis=1, ddof=1) / COUNTS.mean(axis=1)).round(3),
    "n": np.full(120, 8),
    "max": COUNTS.max(axis=1),
}


@pytest.mark.parametrize("turned", [False, True])
@pytest.mark.parametrize(
    "names", [["Total"], ["Gesamt"], ["row_mean", "SD", "CV"], ["n", "max", "Total"]]
)
def test_statistics_of_all_others_are_no_samples_and_no_genes(
    tmp_path: Path, names: list[str], turned: bool
) -> None:
    for place in (0, 8):
        frame = FRAME.rename(index=lambda name: name.replace("ENSG", "g"))  # fits both ways
        for name in names:
            frame.insert(place, name, STATISTICS[name])
        (frame.T if turned else frame).to_csv(tmp_path / "t.csv")
        for orientation in ("genes_in_rows", "samples_in_rows"):
            expression = read_expression(tmp_path / "t.csv", orientation)
            of_genes = (orientation == "genes_in_rows") == turned
            kept = expression.genes if of_genes else expression.samples
            assert kept == SAMPLES
            assert said(expression)["statistics_left_out"].numbers["n"] == len(names)


def test_a_table_that_lies_the_other_way_is_refused_with_its_cure(tmp_path: Path) -> None:
    """Before a cell of words, such as a diagnosis, is."""
    turned = FRAME.T
    turned.insert(0, "age", range(len(turned)))
    turned.insert(1, "diagnosis", "case")
    symbols = FRAME.set_axis(["Actb", "Gapdh (14433)", "Myc", *(f"g{k}" for k in NAMES[3:])])
    for frame in (turned, symbols.T):
        frame.to_csv(tmp_path / "t.csv")
        with pytest.raises(InputError, match=r"named as genes .*or orientation: samples_in_rows"):
            read_expression(tmp_path / "t.csv")
        read_expression(tmp_path / "t.csv", "samples_in_rows")
    turned.to_parquet(tmp_path / "t.parquet")
    with pytest.raises(InputError, match="orientation: samples_in_rows"):
        read_expression(tmp_path / "t.parquet")


@pytest.mark.parametrize("above", ["Sample", "sample_id", "PatientID", "Subject", "cell line"])
@pytest.mark.parametrize("others", [{}, {"Age": range(8), "Sex": list("FM" * 4)}])
def test_a_word_for_samples_above_the_names_of_rows_tells_how_a_table_lies(
    tmp_path: Path, above: str, others: dict[str, list[object]]
) -> None:
    names = [*(f"{a}{b}x{k}" for a in "BCDF" for b in "GHK" for k in range(10))]
    lying = FRAME.set_axis(names).T.set_axis([f"P{k}" for k in range(8)]).assign(**others)
    lying.to_csv(tmp_path / "t.csv", index_label=above)
    with pytest.raises(InputError, match=f"found '{above}' .*orientation: samples_in_rows"):
        read_expression(tmp_path / "t.csv")
    lying.index.name = above
    with pytest.raises(InputError, match="orientation: samples_in_rows"):
        pairtile.infer_network(lying)


@pytest.mark.parametrize("above", ["Sample", "Gene/Sample", "sample_gene", "Cell type"])
def test_a_word_for_samples_may_stand_above_names_of_genes(tmp_path: Path, above: str) -> None:
    names = [*(f"{a}{b}x{k}" for a in "BCDF" for b in "GHK" for k in range(10))]
    for genes in (NAMES, names):
        expression = read(tmp_path, FRAME.set_axis(genes), index_label=above)
        assert expression.genes == genes


def test_a_sample_called_as_a_statistic_that_it_is_not_stays(tmp_path: Path) -> None:
    frame = FRAME.set_axis(["mean", "n", "max_1", "Total", *SAMPLES[4:]], axis=1)
    frame.index = ["MAX", "SD", "MIN", *NAMES[3:]]
    expression = read(tmp_path, frame)
    assert (expression.samples, expression.genes) == (list(frame), list(frame.index))
    assert expression.notes == []


@pytest.mark.parametrize("frame", [FRAME, LOGS])
@pytest.mark.parametrize(
    ("rows", "left_out"),
    [
        ({"batch": [1, 2] * 4}, True),
        ({"n_counts": COUNTS.sum(axis=0) + 5000}, True),
        ({"age": [71, 45, 38, 29, 66, 54, 33, 49], "Sex": [0, 1] * 4}, True),
        ({"RIN": [7.7, 8.1, 9.2, 6.5, 7.1, 8.8, 9.0, 7.3]}, None),
        ({"age": [71, 45, 38, 29, 66, 54, 33, 49]}, None),
        ({"Charge": [1, 2] * 4}, False),
    ],
)
@pytest.mark.parametrize("turned", [False, True])
def test_rows_that_describe_samples_are_left_out_or_warned_of(
    tmp_path: Path,
    frame: pd.DataFrame,
    rows: dict[str, list[float]],
    left_out: bool | None,
    turned: bool,
) -> None:
    table = pd.concat([pd.DataFrame(rows, SAMPLES).T, frame])
    if left_out is None:  # alone, only where its values are of another kind than those of genes
        left_out = (frame is FRAME) == ("RIN" in rows)
    path = tmp_path / "t.csv"
    (table.T if turned else table).to_csv(path)
    expression = read_expression(path, "samples_in_rows" if turned else "genes_in_rows")
    found = {code: note for code, note in said(expression).items() if note.severity == "warning"}
    if left_out:
        assert expression.genes == NAMES
        assert found["covariates_left_out"].numbers["n"] == len(rows)
    elif "age" in rows or "RIN" in rows or frame is LOGS:
        assert expression.genes == [*rows, *NAMES]
        assert found["perhaps_no_genes"].numbers["n"] == len(rows)


def test_words_that_describe_samples_may_stand_between_numbers(tmp_path: Path) -> None:
    table = FRAME.T.copy()
    for name, values in (("bmi", [21.5, 30.25] * 4), ("sex", ["F", "M"] * 4), ("age", range(8))):
        table.insert(0, name, values)
    table.to_csv(tmp_path / "t.csv")
    assert read_expression(tmp_path / "t.csv", "samples_in_rows").genes == NAMES


@pytest.mark.parametrize(
    "names",
    [
        ["ERCC-00002", "ERCC-00116"],
        ["AFFX-BioB-3_at", "AFFX-r2-P1-cre-5_at"],
        ["POS_A(128)", "NEG_B(0)"],
        ["SIRV1", "(+)E1A_r60_1", "DarkCorner"],
    ],
)
def test_controls_that_were_added_are_left_out_unless_asked_for(
    tmp_path: Path, names: list[str]
) -> None:
    genes = [*names, "ERCC1", "SIRVA", "POSTN", *NAMES[len(names) + 3 :]]
    path = tmp_path / "t.tsv"
    FRAME.set_axis(genes, axis=0).to_csv(path, sep="\t")
    expression = read_expression(path)
    assert expression.genes == genes[len(names) :]
    warning = said(expression)["spike_ins_left_out"]
    assert (warning.severity, warning.numbers["n"]) == ("warning", len(names))
    assert read_sparsely(path, controls=True).genes == genes


def test_decoys_and_contaminants_of_proteins_are_left_out(tmp_path: Path) -> None:
    added = ["CON__P02768", "REV__P12345", "rev_sp|P04637|P53_HUMAN", "contam_sp|P00761"]
    genes = [*added, "REV1", "CONTAM", "Rev3l", *NAMES[len(added) + 3 :]]
    expression = read(tmp_path, FRAME.set_axis(genes, axis=0))
    assert expression.genes == genes[len(added) :]
    assert said(expression)["decoys_left_out"].numbers["n"] == len(added)


def test_columns_unlike_all_others_are_warned_of(tmp_path: Path) -> None:
    expression = read(tmp_path, FRAME.assign(GC=share(), depth=RNG.normal(0, 3, 120)))
    assert len(expression.samples) == 10
    assert said(expression)["unlike_samples"].numbers["n"] == 2
    noise = pd.DataFrame(RNG.normal(0, 1, (120, 8)).round(3), NAMES, SAMPLES)
    assert read(tmp_path, noise).notes == []


# Headers.


@pytest.mark.parametrize(
    "values",
    [
        COUNTS,
        COUNTS[:, :3],
        COUNTS * 1000,
        np.vstack([np.zeros((1, 8), dtype=int), COUNTS]),
        np.log2(COUNTS + 1).round(1),
        np.log2(COUNTS + 1).round(2),
        np.log2(COUNTS + 1),
        COUNTS / 7,
        RNG.normal(size=(120, 8)).round(2),
        np.where(RNG.random((120, 8)) < 0.1, np.nan, np.log2(COUNTS + 1).round(2)),
    ],
)
@pytest.mark.parametrize("genes", ["ENSG{:011d}", "TF{}", "{}_at", "Gene-{}.1"])
def test_a_row_of_the_table_is_no_header(tmp_path: Path, values: np.ndarray, genes: str) -> None:
    names = [genes.format(k) for k in range(1, len(values) + 1)]
    with pytest.raises(InputError, match="header"):
        read(tmp_path, pd.DataFrame(values, names), header=False)


def test_a_row_of_counts_of_no_gene_is_no_header(tmp_path: Path) -> None:
    names = ["N_unmapped", "N_multimapping", "N_noFeature", "N_ambiguous", *NAMES]
    counts = np.vstack([[[5, 60, 700], [4, 50, 600], [3, 40, 500], [2, 30, 400]], COUNTS[:, :3]])
    with pytest.raises(InputError, match="header"):
        read(tmp_path, pd.DataFrame(counts, names), header=False)
    two = FRAME.assign(symbol=[f"S{k}" for k in range(120)]).iloc[:, [8, *range(8)]]
    with pytest.raises(InputError, match="header"):
        read(tmp_path, two, header=False)


@pytest.mark.parametrize(
    ("above", "names"),
    [
        ("gene", [0, 1, 2, 4, 8, 12, 24, 48]),
        ("", ["0.1", "0.2", "1.1", "1.2", "2.1", "2.2", "3.1", "3.2"]),
        ("Strain", ["1.1", "2.1", "3.1", "4.1", "1.2", "2.2", "3.2", "4.2"]),
        ("gene_id", [5027, 1123, 8830, 412, 97, 3301, 6650, 2718]),
        ("Ensembl ID", [5027, 1123, 8830, 412, 97, 3301, 6650, 2718]),
        ("Patient", [5027, 1123, 8830, 412, 97, 3301, 6650, 2718]),
    ],
)
def test_names_of_samples_may_be_numbers(tmp_path: Path, above: str, names: list[object]) -> None:
    expression = read(tmp_path, FRAME.set_axis(names, axis=1), index_label=above)
    assert expression.samples == list(map(str, names))


@pytest.mark.parametrize("above", ["", "sample", "Patient", "cell line"])
def test_names_of_genes_in_a_header_may_be_numbers(tmp_path: Path, above: str) -> None:
    genes = RNG.choice(99999, 120, replace=False).astype(str).tolist()
    for frame in (FRAME, LOGS):
        path = tmp_path / "t.tsv"
        frame.T.set_axis(genes, axis=1).to_csv(path, sep="\t", index_label=above)
        assert read_expression(path, "samples_in_rows").genes == genes


@pytest.mark.parametrize("words", [["count"] * 8, ["a", "b"] * 4])
def test_further_lines_of_a_header_are_passed_over_and_said(
    tmp_path: Path, words: list[str]
) -> None:
    lines = FRAME.to_csv(sep="\t", index_label="gene").splitlines()
    lines.insert(1, "\t".join(["group", *words]))
    expression = read_expression(write(tmp_path / "t.tsv", "\n".join(lines)))
    np.testing.assert_array_equal(expression.values, COUNTS)
    assert said(expression)["label_line"].severity == "warning"
    lines[0] = "\t".join(["gene", *(name for name in SAMPLES[:4] for _ in range(2))])
    with pytest.raises(InputError, match="second header"):
        read_expression(write(tmp_path / "t.tsv", "\n".join(lines)))


def test_empty_columns_and_rows_of_a_spreadsheet_are_no_samples_and_no_genes(
    tmp_path: Path,
) -> None:
    text = table("gene,s1,s2,s3,s4", GENES, ",").replace("\n", ",,\r\n") + ",,,,,,\r\n" * 2
    expression = read_expression(write(tmp_path / "t.csv", b"\xef\xbb\xbf" + text.encode()))
    assert (expression.genes, expression.samples) == (GENES, ["s1", "s2", "s3", "s4"])
    assert said(expression)["annotation_columns"].numbers["n"] == 2


def test_blanks_between_fields_are_named(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"write\.table"):
        read_expression(write(tmp_path / "t.txt", FRAME.to_csv(sep=" ")))


# Values and names.


@pytest.mark.parametrize("mark", [";", "\t"])
@pytest.mark.parametrize("late", [False, True])
def test_points_between_thousands_are_told_from_fractions(
    tmp_path: Path, mark: str, late: bool
) -> None:
    counts = FRAME * 37
    low = (counts < 1000).all(axis=1)
    counts = pd.concat([counts[low], counts[~low]]) if late else counts
    path = tmp_path / ("t.csv" if mark == ";" else "t.tsv")
    german = counts.map(lambda count: f"{count:,}".replace(",", "."))
    german.to_csv(path, sep=mark)
    expression = read_expression(path)
    np.testing.assert_array_equal(expression.values, counts)
    warning = said(expression)["thousands_separators"]
    assert (warning.severity, warning.numbers["n"]) == ("warning", int((counts > 999).sum().sum()))


@pytest.mark.parametrize("mark", [";", "\t"])
def test_fractions_of_three_digits_stay_so(tmp_path: Path, mark: str) -> None:
    expression = read(tmp_path, LOGS + 1, mark)
    np.testing.assert_array_equal(expression.values, LOGS + 1)
    fixed = (np.log2(FRAME + 1) + 1.001).map(lambda value: f"{value:.3f}")
    if mark == ";":  # may be either
        with pytest.raises(InputError, match="thousands"):
            read(tmp_path, fixed, mark)
    else:
        np.testing.assert_array_equal(read(tmp_path, fixed, mark).values, fixed.astype(float))


@pytest.mark.parametrize("code", [-9, -99, -999, -9999, -999.25])
def test_codes_of_missing_values_are_refused(tmp_path: Path, code: float) -> None:
    missing = RNG.random(FRAME.shape) < 0.03
    with pytest.raises(InputError, match=f"{code:g} in {missing.sum()} cells"):
        read(tmp_path, (LOGS / 8).mask(missing, code))
    if code < -90 and code % 1 == 0:
        with pytest.raises(InputError, match=f"{code:g} in"):
            read(tmp_path, FRAME.mask(missing, code))


@pytest.mark.parametrize("frame", [FRAME, LOGS], ids=["counts", "logarithms"])
def test_minus_nine_alone_below_zero_is_a_code(tmp_path: Path, frame: pd.DataFrame) -> None:
    missing = RNG.random(FRAME.shape) < 0.05
    with pytest.raises(InputError, match=f"-9 in {missing.sum()} cells"):
        read(tmp_path, frame.abs().mask(missing, -9))


def test_minus_nine_among_others_below_zero_is_a_value(tmp_path: Path) -> None:
    zeros = RNG.random(FRAME.shape) < 0.05
    ratios = LOGS.sub(LOGS.mean(axis=1), axis=0)
    good = [
        np.log10(FRAME.mask(zeros, 0) ** 2 + 1e-9),
        (3 * ratios).mask(zeros, -9),
        (ratios / ratios.std()).mask(zeros, -9),
        (LOGS - 10).clip(lower=-9),
        LOGS.mask(zeros, LOGS.min().min() - 1),
    ]
    for frame in good:
        assert read(tmp_path, frame).values.min() == frame.min().min()


def test_the_logarithm_of_zero_plus_little_is_no_code(tmp_path: Path) -> None:
    frame = np.log2(FRAME.mask(FRAME < 10, 0) + 0.001)
    np.testing.assert_allclose(read(tmp_path, frame).values, frame)
    assert read(tmp_path, frame.mask(frame > 8.0, -20.25)).values.min() == -20.25


def test_letters_without_width_are_taken_off_names(tmp_path: Path) -> None:
    frame = FRAME.rename(index={NAMES[0]: NAMES[0] + "\u200b"}, columns={"P01": "\ufeffP01"})
    expression = read(tmp_path, frame)
    assert (expression.genes, expression.samples) == (NAMES, SAMPLES)
    warning = said(expression)["invisible_letters"]
    assert (warning.severity, warning.numbers["n"]) == ("warning", 2)


@pytest.mark.parametrize("column", ["Genes", "Gene names", "gene_symbols", "feature_name"])
def test_a_column_called_so_holds_symbols_whatever_stands_before(
    tmp_path: Path, column: str
) -> None:
    frame = FRAME.copy()
    frame.insert(0, column, [f"S{k}" for k in range(120)])
    frame.insert(0, "Accession", [f"Q{k}" for k in range(120)])
    assert read(tmp_path, frame).symbols[NAMES[7]] == "S7"


def test_a_gene_called_length_stays_where_samples_are_in_rows(tmp_path: Path) -> None:
    path = write(tmp_path / "t.tsv", table("s\tgroup\tLength\tb\tc\td", ["a\tx", "b\ty", "c\tx"]))
    expression = read_expression(path, "samples_in_rows")
    assert expression.genes == ["Length", "b", "c", "d"]
    assert said(expression)["annotation_columns"].numbers["n"] == 1


BY_PRODUCTS = {
    "htseq": ["__no_feature", "__ambiguous", "__too_low_aQual", "__not_aligned"],
    "htseq_of_2012": ["no_feature", "alignment_not_unique"],
    "star": ["N_unmapped", "N_multimapping", "N_noFeature", "N_ambiguous"],
    "featurecounts": ["Assigned", "Unassigned_Unmapped", "Unassigned_NoFeatures"],
}


@pytest.mark.parametrize("case", BY_PRODUCTS)
@pytest.mark.parametrize("orientation", ["genes_in_rows", "samples_in_rows"])
def test_rows_that_count_no_gene_are_left_out_and_said(
    tmp_path: Path, case: str, orientation: str
) -> None:
    rows = [*BY_PRODUCTS[case][:2], "g1", "g2", *BY_PRODUCTS[case][2:]]
    matrix = np.arange(len(rows) * 3.0).reshape(-1, 3)
    lines = [["x", "a", "b", "c"], *([r, *map(str, v)] for r, v in zip(rows, matrix, strict=True))]
    if orientation == "samples_in_rows":
        lines = [list(column) for column in zip(*lines, strict=True)]
    path = write(tmp_path / "t.tsv", "\n".join(map("\t".join, lines)))
    expression = read_expression(path, orientation)
    assert expression.genes == ["g1", "g2"]
    np.testing.assert_array_equal(expression.values, matrix[2:4])
    assert said(expression)["by_product_rows"].numbers["n"] == len(rows) - 2


def test_a_summary_of_reads_holds_no_gene(tmp_path: Path) -> None:
    text = "Status\ta\tb\tc\nAssigned\t1\t2\t3\nUnassigned_Unmapped\t1\t2\t3\n"
    with pytest.raises(InputError, match="no genes"):
        read_expression(write(tmp_path / "counts.txt", text))
    assert by_product_rows(["Assigned", "ambiguous"]) == []


def test_the_series_matrix_of_geo_is_read_below_its_lines(tmp_path: Path) -> None:
    text = (
        '!Series_title\t"A "study""\n!Sample_title\t"a"\t"b"\t"c"\t"d"\n'
        '!series_matrix_table_begin\n"ID_REF"\t"GSM1"\t"GSM2"\t"GSM3"\t"GSM4"\n'
    )
    text += table("", [f'"{k}_at"' for k in range(4)])[1:] + "!series_matrix_table_end\n"
    path = write(tmp_path / "GSE1_series_matrix.txt.gz", text)
    expression = read_expression(path)
    assert expression.genes == ["0_at", "1_at", "2_at", "3_at"]
    assert expression.samples == ["GSM1", "GSM2", "GSM3", "GSM4"]
    np.testing.assert_array_equal(expression.values, VALUES)
    assert said(expression)["lines_above_the_header"].numbers["n"] == 3
    assert read_fast(path, find_layout(path, Kinds("gene", "sample"))) is not None


def test_a_data_set_of_geo_has_symbols(tmp_path: Path) -> None:
    text = "^DATASET = GDS1\n!dataset_title = x\n#GSM1 = y\n!dataset_table_begin\n"
    text += table("ID_REF\tIDENTIFIER\tG1\tG2\tG3\tG4", [f"{k}_at\tS{k}" for k in range(4)])
    expression = read_expression(write(tmp_path / "GDS1.txt", text + "!dataset_table_end\n"))
    assert expression.symbols["2_at"] == "S2"
    np.testing.assert_array_equal(expression.values, VALUES)


@pytest.mark.parametrize("above", ["# by hand\n", "sep=\t\n", "#\n# a\tb\n\n", "#x,y\n# z\n"])
@pytest.mark.parametrize("header", ["gene\ts1\ts2\ts3\ts4", "#gene\ts1\ts2\ts3\ts4"])
def test_lines_above_the_header_are_passed_over(tmp_path: Path, above: str, header: str) -> None:
    path = write(tmp_path / "t.txt", above + table(header, GENES))
    expression = read_expression(path)
    assert (expression.genes, expression.samples) == (GENES, ["s1", "s2", "s3", "s4"])
    np.testing.assert_array_equal(expression.values, VALUES)
    assert said(expression)["lines_above_the_header"].severity == "note"


@pytest.mark.parametrize(
    "names",
    [
        ["1-Mar", "7-Sep"],
        ["Mar-01", "Sept-07", "2.31E+13"],
        ["1. Mrz", "01.Okt", "3. Mai"],
        ["1-mars", "2-sept.", "2021-03-01", "2021-09-02 00:00:00"],
        ["44256", "44440"],
        ["3/1/2021", "01.09.2021"],
    ],
)
def test_names_that_a_spreadsheet_changed_are_counted_and_named(
    tmp_path: Path, names: list[str]
) -> None:
    genes = [*names, "TP53", "MYC", "sep-1"]
    text = "\n".join(["g\ta\tb\tc", *(f"{name}\t{k}\t2\t3" for k, name in enumerate(genes))])
    expression = read_expression(write(tmp_path / "t.tsv", text))
    assert expression.genes == genes
    warning = said(expression)["converted_names"]
    assert (warning.severity, warning.numbers["n"]) == ("warning", len(names))


def test_names_that_became_the_same_date_are_refused_with_the_reason(tmp_path: Path) -> None:
    text = table("g\ta\tb\tc\td", ["1-Mar", "1-Mar", "g3"])
    with pytest.raises(InputError, match="takes MARCH1 and MARC1"):
        read_expression(write(tmp_path / "t.tsv", text))


def test_whole_numbers_among_many_are_identifiers() -> None:
    assert converted_names(["44256", "123", "a", "b", "c"]) == []
    assert converted_names(["44256", "44257"]) == []


MARKED = {
    "thousands_of_csv": (",", ['"7,650"', "12", '"1,234,567"', "0"], [7650, 12, 1234567, 0]),
    "nothing_but_commas_of_csv": (",", ['"7,651"', '"1,002"', '"3,333"'], [7651, 1002, 3333]),
    "thousands_of_tabs": ("\t", ["7,650", "12", "980", "1,200"], [7650, 12, 980, 1200]),
    "points_beside": ("\t", ["7,650.5", "12.25", "1,001"], [7650.5, 12.25, 1001]),
    "blanks": ("\t", ["7 650", "12", "1\u00a0234\u202f567"], [7650, 12, 1234567]),
    "apostrophes": (",", ["7'650", "12", "1'200.5"], [7650, 12, 1200.5]),
    "decimal_commas": ("\t", ["7,65", "12", "0,125", "-1,5e-3"], [7.65, 12, 0.125, -0.0015]),
    "semicolons": (";", ["8,001", "7,650", "10,000"], [8.001, 7.65, 10]),
    "semicolons_and_points": (";", ["1.234,5", "7,65", "12"], [1234.5, 7.65, 12]),
    "semicolons_of_whole_numbers": (";", ["1234", "7", "12"], [1234, 7, 12]),
    "thousands_between_semicolons": (";", ["1,234,567", "7,650", "12"], [1234567, 7650, 12]),
    "decimal_commas_of_csv": (",", ['"7,65"', "12", '"0,125"'], [7.65, 12, 0.125]),
}


@pytest.mark.parametrize("case", MARKED)
def test_the_table_says_what_commas_in_numbers_are(tmp_path: Path, case: str) -> None:
    mark, cells, values = MARKED[case]
    header = mark.join(["gene", *(f"s{k}" for k in range(len(cells)))])
    rows = [mark.join([f"g{k}", *cells[k:], *cells[:k]]) for k in range(len(cells))]
    suffix = ".tsv" if mark == "\t" else ".csv"
    expression = read_expression(write(tmp_path / f"t{suffix}", "\n".join([header, *rows])))
    expected = [values[k:] + values[:k] for k in range(len(cells))]
    np.testing.assert_array_equal(expression.values, expected)
    codes = set(said(expression))
    assert ("semicolons" in codes) == (mark == ";")
    if "whole" not in case:
        assert len(codes & {"thousands_separators", "decimal_commas"}) == 1
        thousands = max(values) > 1000 and "1.234,5" not in cells
        assert ("thousands_separators" in codes) == thousands


@pytest.mark.parametrize(
    "cells",
    [
        ["7,651", "1,002", "3,333"],  # 7651 or 7.651
        ["7,65", "1,234,567", "3"],
        ["7,650", "1250", "1,234.5"],
        ["7.5", "0,125", "3"],
    ],
)
def test_commas_that_may_be_either_are_refused(tmp_path: Path, cells: list[str]) -> None:
    text = "\n".join(["g\ta\tb\tc", *("\t".join([f"g{k}", *cells]) for k in range(4))])
    with pytest.raises(InputError, match=r"line 2 .* field \d"):
        read_expression(write(tmp_path / "t.tsv", text))


def test_a_late_decimal_comma_decides_too(tmp_path: Path) -> None:
    lines = ["g;a;b;c", *(f"g{k};1;2;3" for k in range(60)), "h;7,650;0,5;1"]
    expression = read_expression(write(tmp_path / "t.csv", "\n".join(lines)))
    assert expression.values[-1].tolist() == [7.65, 0.5, 1.0]


@pytest.mark.parametrize("encoding", ["utf-16", "utf-8-sig"])
def test_text_of_spreadsheets_is_read_with_its_mark(tmp_path: Path, encoding: str) -> None:
    path = write(tmp_path / "t.txt", table("gène\ts1\ts2\ts3\ts4", GENES).encode(encoding))
    np.testing.assert_array_equal(read_expression(path).values, VALUES)
    path = write(tmp_path / "gold.tsv", "source\ttarget\ngène\tb\n".encode(encoding))
    assert read_gold_standard(path).values.tolist() == [["gène", "b"]]


# Lists.


def test_between_tabs_a_lone_quote_is_a_letter_in_every_list(tmp_path: Path) -> None:
    gold = write(tmp_path / "g.tsv", 'source\ttarget\ng1\tg2\ng2\t"g3\ng3\tg4\n"g4"\t"g""5"\n')
    assert read_gold_standard(gold).values.tolist() == [
        ["g1", "g2"], ["g2", '"g3'], ["g3", "g4"], ["g4", 'g"5'],
    ]  # fmt: skip
    names = write(tmp_path / "n.tsv", 'g1\t"A\ng2\tB\ng3\t3\'"\n')
    assert read_symbols(names) == {"g1": '"A', "g2": "B", "g3": "3'\""}
    text = 'sample\tage\tgroup\na\t1\t"x\nb\t2\ty\nc\t3\tx\n'
    found = read_annotation_table(write(tmp_path / "a.tsv", text), ["a", "b", "c"])
    assert found.columns == {"age": ["1", "2", "3"], "group": ['"x', "y", "x"]}
    series = read_series(write(tmp_path / "s.tsv", 'a\t"one\nb\ttwo\nc\ttwo\n'), ["a", "b", "c"])
    assert series.names == ['"one', "two"]
    folder = tmp_path / "cells"
    folder.mkdir()
    write(folder / "features.tsv", 'i1\tA\ni2\t"B\ni3\tC\n')
    write(folder / "barcodes.tsv", "x\ny\nz\n")
    write(folder / "matrix.mtx", "%%MatrixMarket matrix coordinate integer general\n3 3 1\n1 1 5\n")
    assert read_expression(folder).genes == ["A", '"B', "C"]


def test_a_quote_between_commas_that_is_never_closed_is_refused(tmp_path: Path) -> None:
    path = write(tmp_path / "g.csv", 'source,target\ng1,g2\ng2,"g3\ng3,g4\n')
    with pytest.raises(InputError, match="line 3"):
        read_gold_standard(path)
    path = write(tmp_path / "g.csv", 'source,target\ng1,g2\ng2,"g3\ng3,g4\ng4,"g5\n')
    with pytest.raises(InputError, match="line 3"):
        read_gold_standard(path)


@pytest.mark.parametrize("name", ["g.csv", "g.txt"])
def test_lists_may_have_semicolons(tmp_path: Path, name: str) -> None:
    path = write(tmp_path / name, "source;target;weight\ng1;g2;1\ng2;g3;0\n")
    assert read_gold_standard(path).values.tolist() == [["g1", "g2"]]
    found = read_annotations(
        write(tmp_path / f"a{name}", "s;age\na;1,5\nb;2\nc;3,25\n"), list("abc")
    )
    assert found.conditions[0].labels == ("1.5", "2", "3.25")


@pytest.mark.parametrize("line", ["g1, g2", "g1;g2;x", "g1 g2"])
def test_several_names_in_a_line_are_refused(tmp_path: Path, line: str) -> None:
    path = write(tmp_path / "r.txt", f"g3\n{line}\n")
    with pytest.raises(InputError, match=f"several names in a line, '{line}'"):
        find_regulators(path, GeneNames(GENES))
    assert find_regulators(path, GeneNames([*GENES, line])).rows.tolist() == [2, 4]


@pytest.mark.parametrize("header", ["gene", "Regulator", "TF", "x"])
def test_a_header_in_a_list_is_no_name(tmp_path: Path, header: str) -> None:
    path = write(tmp_path / "r.txt", f"{header}\ng3\ng1\n")
    found = find_regulators(path, GeneNames(GENES))
    assert (found.rows.tolist(), found.messages) == ([0, 2], [])
    assert found.counts == {"regulators_listed": 2, "regulators_used": 2}
    assert find_regulators(path, GeneNames([*GENES, header])).rows.tolist() == [0, 2, 4]


def test_versions_are_passed_over_in_the_table_and_every_list(tmp_path: Path) -> None:
    genes = [
        "ENSG00000000001.12",
        "ENSG00000000002",
        "ENSG00000000003.1",
        "ENSG00000000004.7_PAR_Y",
    ]
    path = write(tmp_path / "t.tsv", table("g\ta\tb\tc\td", genes))
    assert read_expression(path).genes == genes
    expression = read_expression(path, ignore_versions=True)
    bare = ["ENSG00000000001", "ENSG00000000002", "ENSG00000000003", "ENSG00000000004.7_PAR_Y"]
    assert expression.genes == bare
    assert said(expression)["versions_left_out"].numbers == {"n": 2}
    listed = write(
        tmp_path / "r.txt",
        "ENSG00000000001.5\nENSG00000000001.6\nENSG00000000003\nENSG00000000002.1\n",
    )
    for any_kind in (False, True):
        found = find_regulators(listed, GeneNames(bare, ignore_versions=any_kind))
        assert found.rows.tolist() == [0, 1, 2]
        assert [(m.code, m.numbers["n"]) for m in found.messages] == [("names_matched", 3)]
    gold = read_gold_standard(
        write(
            tmp_path / "g.tsv",
            "ENSG00000000001.1\tENSG00000000002.3\nENSG00000000001\tENSG00000000002\n",
        )
    )
    spelled, _ = with_spelling_of(gold, GeneNames(bare))
    assert spelled.values.tolist() == [["ENSG00000000001", "ENSG00000000002"]]
    names = write(tmp_path / "n.tsv", "ENSG00000000001.9\tTP53\nENSG00000000002\tMYC\n")
    assert with_symbols(expression, names).symbols == {
        "ENSG00000000001": "TP53",
        "ENSG00000000002": "MYC",
    }
    versioned = with_symbols(read_expression(path), names)
    assert versioned.symbols == {"ENSG00000000001.12": "TP53", "ENSG00000000002": "MYC"}
    assert [without_version(name) for name in ("a.b", ".1", "7.5.2")] == ["a.b", ".1", "7.5"]


def test_two_versions_of_a_gene_are_duplicates(tmp_path: Path) -> None:
    path = write(tmp_path / "t.tsv", table("g\ta\tb\tc\td", ["E1.1", "E1.2", "E2", "E3.4"]))
    with pytest.raises(InputError, match="'E1' 2 times"):
        read_expression(path, ignore_versions=True)
    found = read_expression(path, duplicates="mean", ignore_versions=True)
    assert found.genes == ["E1", "E2", "E3"]
    np.testing.assert_array_equal(found.values[0], VALUES[:2].mean(axis=0))


@pytest.mark.parametrize(
    ("in_table", "in_list"),
    [
        (["Sample.1", "X2h", "c"], ["Sample 1", "2h", "c"]),
        (["Sample-1", "a(b)", "c"], ["Sample.1", "a.b.", "c"]),
        (["X1", "X2", "X3"], ["1", "2", "3"]),
    ],
)
def test_samples_are_found_under_the_names_that_r_gives(
    tmp_path: Path, in_table: list[str], in_list: list[str]
) -> None:
    text = "".join(["id\tage\n", *(f"{name}\t{k}\n" for k, name in enumerate(in_list))])
    found = read_annotation_table(write(tmp_path / "a.tsv", text), in_table)
    assert found.columns["age"] == ["0", "1", "2"]
    note = next(note for note in found.notes if isinstance(note, Message))
    assert (note.code, note.severity) == ("r_names", "note")
    series = write(tmp_path / "s.tsv", "".join(f"{name}\tx{k}\n" for k, name in enumerate(in_list)))
    assert read_series(series, in_table).numbers.tolist() == [0, 1, 2]


def test_names_that_r_makes_the_same_are_refused() -> None:
    with pytest.raises(InputError, match=r"'S 1' and 'S-1'"):
        match_samples(["S.1", "b"], ["S 1", "S-1", "b"], "a.tsv")
    with pytest.raises(InputError, match=r"'S-1' and 'S 1'"):
        match_samples(["S 1", "S-1"], ["S.1", "b"], "a.tsv")
    made = {
        "a b": "a.b",
        "1h": "X1h",
        "_a": "X_a",
        ".1a": "X.1a",
        ".a": ".a",
        "if": "if.",
        "é-1": "é.1",
    }
    assert {name: r_name(name) for name in made} == made


def test_samples_without_a_row_are_left_out_where_that_is_asked_for(tmp_path: Path) -> None:
    path = write(tmp_path / "a.tsv", "s\tbatch\na\tx\nc\ty\nd\tx\n")
    with pytest.raises(InputError, match="unannotated: leave_out"):
        read_annotation_table(path, list("abcd"))
    found = read_annotation_table(path, list("abcd"), "leave_out")
    assert found.unannotated == ["b"]
    assert found.columns == {"batch": ["x", "", "y", "x"]}
    tested = read_annotations(path, list("abcd"), unannotated="leave_out").conditions[0]
    assert tested.known.tolist() == [True, False, True, True]


# What is no file, and files without an end.


def _pipe(path: Path) -> Path:
    os.mkfifo(path)
    return path


READERS = {
    "t.tsv": read_expression,
    "t.gct": read_expression,
    "t.parquet": read_expression,
    "t.h5ad": read_expression,
    "r.txt": read_regulators,
    "g.tsv": read_gold_standard,
    "g.adj": read_gold_standard,
    "n.tsv": read_symbols,
    "a.csv": lambda path: read_annotation_table(path, ["a"]),
    "s.txt": lambda path: read_series(path, ["a"]),
    "x.fa": read_fasta,
    "x.gtf": read_transcript_models,
    "x.pdb": lambda path: Trajectories(str(path), [str(path)], FramesConfig()),
    "x.dat": lambda path: open_series_table(str(path), 1, None, None, None, 1),
}


@pytest.mark.parametrize("name", READERS)
def test_pipes_devices_sockets_and_folders_are_no_files(
    tmp_path: Path, name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    places = [_pipe(tmp_path / name), tmp_path / f"zero.{name}", tmp_path / f"folder.{name}"]
    places[1].symlink_to("/dev/zero")
    places[2].mkdir()
    with socket.socket(socket.AF_UNIX) as listening:
        monkeypatch.chdir(tmp_path)  # names of sockets must be short
        listening.bind(f"sock.{name}")
        kinds = ["a pipe", "a device", "a folder", "a socket"]
        for path, kind in zip([*places, tmp_path / f"sock.{name}"], kinds, strict=True):
            if kind == "a folder" and name.startswith("t."):
                continue  # a table may be the folder of a matrix
            with pytest.raises(InputError, match=f"found {kind}"):
                READERS[name](path)


def test_a_configuration_and_its_inputs_are_files(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for path in (_pipe(tmp_path / "c.yaml"), Path("/dev/zero"), tmp_path):
        with pytest.raises(ConfigError):
            read_mapping_file(path)
    huge = tmp_path / "huge.yaml"
    with huge.open("wb") as file:
        file.truncate(1 << 40)
    with pytest.raises(ConfigError, match="a huge file"):
        read_mapping_file(huge)
    monkeypatch.chdir(tmp_path)
    _pipe(tmp_path / "t.tsv")
    (tmp_path / "cells").mkdir()
    _pipe(tmp_path / "cells" / "matrix.mtx")
    for table_path in ("t.tsv", "cells"):
        analysis = {"method": "mutual_information", "expression": table_path}
        config = load_config({"analyses": {"a": analysis}})
        with pytest.raises(ConfigError, match="a pipe"):
            check_inputs_exist(config)


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("t.tsv.gz", b"\n" * 100_000_000),
        ("t.csv.gz", b"gene,a,b,c\n" + b"\n" * 100_000_000),
        ("r.txt.gz", b"#\n" * 50_000_000),
    ],
)
def test_small_files_of_countless_lines_are_refused_at_once(
    tmp_path: Path, name: str, content: bytes
) -> None:
    path = tmp_path / name
    path.write_bytes(gzip.compress(content, 1))
    began = time.process_time()
    with pytest.raises(InputError, match="the same line"):
        (read_regulators if name.startswith("r") else read_expression)(path)
    assert time.process_time() - began < 20


@pytest.mark.parametrize("begin", [b"", b"gene\ta\tb\tc\ng1\t1\t2\t3\n"])
def test_a_line_without_an_end_is_refused(tmp_path: Path, begin: bytes) -> None:
    path = tmp_path / "t.tsv"
    with path.open("wb") as file:
        file.write(begin + b"x" * 1000)
        file.truncate(1 << 36)  # zeros, of which the disk holds none
    with pytest.raises(InputError, match=r"line [13]: "):
        read_expression(path)


def with_other_columns() -> pd.DataFrame:
    """Thirty genes and a spike-in of six samples, with what programs write beside them."""
    random = np.random.default_rng(4)
    counts = pd.DataFrame(random.poisson(80, (31, 6)), columns=[f"S{k}" for k in range(6)])
    names = [f"ENSG{k:011d}" for k in range(30)]
    frame = counts.assign(Total=counts.sum(axis=1), baseMean=counts.mean(axis=1), padj=0.5)
    frame.insert(0, "gene_name", [f"SYM{k}" for k in range(31)])
    return frame.set_axis([*names, "ERCC-00002"])


@pytest.mark.parametrize("named", [True, False], ids=["index", "column"])
def test_tables_of_any_format_are_looked_through_alike(tmp_path: Path, named: bool) -> None:
    frame = with_other_columns()
    frame = frame if named else frame.rename_axis("id").reset_index()
    frame.to_csv(tmp_path / "t.tsv", sep="\t", index=named)
    frame.to_parquet(tmp_path / "t.parquet", index=named)
    text, parquet = (read_expression(tmp_path / name) for name in ("t.tsv", "t.parquet"))
    memory = pairtile.prepare_expression(frame, normalize="none", log2=False, min_samples=3)
    for found in (text, parquet, memory):
        assert found.samples == [f"S{k}" for k in range(6)]
        assert found.genes == [f"ENSG{k:011d}" for k in range(30)]
    left_out = {"annotation_columns", "columns_of_no_sample", "statistics_left_out"}
    left_out |= {"spike_ins_left_out", "symbols_in_table"}
    for notes in (text.notes, parquet.notes, memory.messages):
        assert left_out <= {note.code for note in notes}
    np.testing.assert_array_equal(text.values, parquet.values)
    assert text.symbols == parquet.symbols
    network = pairtile.infer_network(frame, keep="all", preprocess={"min_samples": 3})
    assert not {*network["source"], *network["target"]} & {"ERCC-00002", "Total"}


def test_cells_in_memory_are_looked_through_as_those_of_a_file(tmp_path: Path) -> None:
    counts = np.random.default_rng(5).poisson(3.0, (60, 21)).astype(np.float32)
    names = [*(f"G{k}" for k in range(20)), "ERCC-00002"]
    data = anndata.AnnData(counts, var=pd.DataFrame(index=names))
    data.obs_names = [f"c{k}" for k in range(60)]
    data.write_h5ad(tmp_path / "t.h5ad")
    in_file = read_expression(tmp_path / "t.h5ad")
    found = pairtile.prepare_expression(data, normalize="none", log2=False, min_samples=3)
    assert found.genes == in_file.genes == names[:-1]
    assert "spike_ins_left_out" in {note.code for note in found.messages}


def test_a_first_column_of_classes_is_told_from_names_that_are_there_twice(tmp_path: Path) -> None:
    for classes, told in ((["Endogenous", "Positive"] * 20, True), (["A", "B", *NAMES], False)):
        names = [*classes, "A"][: len(classes) + 1]
        frame = pd.DataFrame(1.5, index=names, columns=SAMPLES).reset_index(names="CodeClass")
        frame.to_csv(tmp_path / "t.csv", index=False)
        with pytest.raises(InputError, match="or the key duplicates") as refused:
            read_expression(tmp_path / "t.csv")
        assert ("names of 41 rows are classes" in str(refused.value)) is told


def test_a_title_above_the_header_is_named_as_what_is_not_allowed(tmp_path: Path) -> None:
    table = FRAME.to_csv(sep="\t")
    for title in ("Table S3\n", "Table S3" + "\t" * len(SAMPLES) + "\n"):
        (tmp_path / "t.tsv").write_text(title + table)
        with pytest.raises(InputError, match=r"title above (it|the header)"):
            read_expression(tmp_path / "t.tsv")
