"""Names made to do harm stay names: in pages, figures and tables of every method."""

from __future__ import annotations

import base64
import csv
import gzip
import hashlib
import json
import re
from collections.abc import Callable
from html.parser import HTMLParser
from itertools import pairwise
from pathlib import Path
from typing import Any

import anndata
import lxml.etree
import mudata
import numpy as np
import pandas as pd
import pytest
import xarray
import zarr
from browser_page import CHROMIUM, browse
from export_networks import chain, items_table, write
from motion_reports import of_tables
from pairtile.config.export_formats import EXPORT_FORMATS
from pairtile.errors import InputError
from pairtile.runtime.files import read_json
from planted_modes import section as modes_section
from predictor_levels import random_levels
from predictor_levels import section as levels_section
from workflow_runs import Analysis

pytestmark = pytest.mark.complete

DEED = "document.title='stolen'"
HOSTILE = [
    f"<script>{DEED}</script>",
    f"</script><script>{DEED}</script>",
    f'"><img/src=x/onerror={DEED}>',
    f"<svg/onload={DEED}>",
    f"'onmouseover={DEED}//",
    f"javascript:{DEED}",
    "<!--",
    "]]>",
    "</title></style></textarea>",
    "{{7*7}}{%raw%}",
    "${7*7}`",
    r"$\nosuchcommand{$",
    "&lt;b&gt;",
    "=cmd|'/c_calc'!A1",
    "@SUM(1)",
    "+x",
    "\u202egnp.exe",
]
"""Without blanks, so that FASTA files hold them, too."""

SHOWN = {name.removeprefix("\u202e") for name in HOSTILE}
"""As tables of genes name them: letters that do not show are left out, and said."""

SCRIPTING = {"script", "iframe", "object", "embed", "base", "foreignobject", "meta", "link"}
EXPORTS = ["tsv", "parquet", "graphml", "gexf", "sif", "cx2", "adjacency", "h5ad", "html"]


class Page(HTMLParser):
    """What a browser would act on."""

    def __init__(self, text: str) -> None:
        super().__init__(convert_charrefs=True)
        self.tags: list[tuple[str, dict[str, str | None]]] = []
        self.scripts: list[tuple[str, str]] = []
        self.in_script = False
        self.feed(text)
        self.close()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, dict(attrs)))
        self.in_script = tag == "script"
        if self.in_script:
            self.scripts.append((dict(attrs).get("type") or "", ""))

    def handle_endtag(self, tag: str) -> None:
        self.in_script = False

    def handle_data(self, data: str) -> None:
        if self.in_script:
            kind, text = self.scripts[-1]
            self.scripts[-1] = kind, text + data


def assert_harmless_page(path: Path) -> None:
    text = path.read_text(encoding="utf-8")
    page = Page(text)
    policies = [a for tag, a in page.tags if tag == "meta" and "http-equiv" in a]
    assert len(policies) == 1
    policy = policies[0]["content"] or ""
    assert policy.startswith("default-src 'none'; script-src 'sha256-")
    assert "unsafe-eval" not in policy
    for kind, script in page.scripts:
        if kind == "application/json":
            json.loads(script)
        else:  # only scripts of ours, by their digest
            if kind == "application/gzip":
                script = gzip.decompress(base64.b64decode(script)).decode()
            digest = base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()
            assert f"'sha256-{digest}'" in policy
            assert DEED not in script
    for tag, attributes in page.tags:
        assert not [name for name in attributes if name.startswith("on")], (tag, attributes)
        assert tag not in SCRIPTING - {"script", "meta"}, tag
        for key in ("href", "src", "action", "xlink:href"):
            address = (attributes.get(key) or "").strip().lower()
            allowed = ("#", "data:image/", "https://") if tag == "a" else ("#", "data:image/")
            beside = tag == "a" and re.fullmatch(
                r"\w[\w.]*(/\w[\w.]*)*/?", address
            )  # a file of the results
            if not (beside and (path.parent / address).exists()):
                assert not address or address.startswith(allowed), (tag, address)
            assert DEED not in address
    images = [a["src"] for tag, a in page.tags if tag == "img" and a.get("src")]
    for image in images:
        assert image
        if image.startswith("data:image/svg+xml;base64,"):
            assert_harmless_drawing(base64.b64decode(image.split(",", 1)[1]))


def assert_harmless_drawing(content: bytes) -> None:
    for element in lxml.etree.fromstring(content).iter("*"):
        tag = lxml.etree.QName(element).localname.lower()
        assert tag not in SCRIPTING
        for name, value in element.attrib.items():
            local = lxml.etree.QName(name).localname.lower()
            assert not local.startswith("on")
            assert local != "href" or value.startswith(("#", "data:image/png")), value


def assert_harmless(folder: Path) -> None:
    """All pages and figures in the folder of an analysis."""
    pages = sorted(folder.glob("*.html"))
    assert folder / "report.html" in pages
    for page in pages:
        assert_harmless_page(page)
    drawings = list((folder / "figures").glob("*.svg"))
    assert drawings
    for drawing in drawings:
        assert_harmless_drawing(drawing.read_bytes())
    assert_untouched_in_a_browser(pages, folder)


def assert_untouched_in_a_browser(pages: list[Path], folder: Path) -> None:
    if CHROMIUM is None:
        return  # what a parser sees was checked
    for page in pages:
        seen = browse(page.as_uri(), folder / ".profile", "--dump-dom").stdout
        title = re.search(r"<title>(.*?)</title>", seen, re.S)
        assert title
        assert title[1] != "stolen"


def expression(folder: Path, samples: int = 40) -> list[str]:
    """A table whose genes have the hostile names; neighbours go together."""
    random = np.random.default_rng(2)
    values = np.cumsum(random.normal(size=(len(HOSTILE), samples)), axis=0)
    names = [f"s{k:02d}" for k in range(samples)]
    with (folder / "expression.tsv").open("w", newline="") as file:
        rows = csv.writer(file, delimiter="\t", lineterminator="\n")
        rows.writerow(["gene", *names])
        rows.writerows([name, *row] for name, row in zip(HOSTILE, values.round(4), strict=True))
    return names


def names_in(table: pd.DataFrame) -> set[str]:
    return set(table["source"]) | set(table["target"])


# --- every method -------------------------------------------------------------------------------


def test_mutual_information(tmp_path: Path) -> None:
    expression(tmp_path)
    (tmp_path / "regulators.txt").write_text("\n".join(HOSTILE[:9]) + "\n")
    with (tmp_path / "gold.tsv").open("w", newline="") as file:
        rows = csv.writer(file, delimiter="\t", lineterminator="\n")
        rows.writerows([("source", "target"), *pairwise(HOSTILE[:9])])
    keys = {"regulators": "regulators.txt", "gold_standard": "gold.tsv", "keep": "all"}
    out = Analysis(tmp_path, keys | {"dpi": False, "export": EXPORTS}).all().report().out
    assert_harmless(out)
    table = pd.read_csv(out / "network.tsv", sep="\t", keep_default_na=False)
    assert names_in(table) == SHOWN  # as they are, not as a spreadsheet wants them
    for name in ("network.graphml", "network.gexf"):
        lxml.etree.parse(out / name)
    warnings = read_json(out / "summary.json")["warnings"]
    assert [w for w in warnings if w.startswith("3 names begin with =, +, - or @")]


def test_multimodal_correlation(tmp_path: Path) -> None:
    samples = expression(tmp_path)
    labels = [HOSTILE[k % 2] for k in range(len(samples))]
    table = pd.DataFrame({"sample": samples, HOSTILE[3]: labels, HOSTILE[4]: range(len(samples))})
    table.to_csv(tmp_path / "samples.tsv", sep="\t", index=False)
    keys: dict[str, Any] = {
        "annotations": "samples.tsv",
        "conditions": [HOSTILE[3], {"name": HOSTILE[4], "kind": "quantitative"}],
    }
    made = Analysis(tmp_path, modes_section(**keys)).all().report()
    assert_harmless(made.out)
    assert names_in(pd.read_parquet(made.out / "network.parquet")) <= SHOWN


def test_predictor_pairs(tmp_path: Path) -> None:
    levels = random_levels(len(HOSTILE), 30)
    levels[0, 1:] = levels[1, :-1] ^ levels[2, :-1]
    with (tmp_path / "levels.tsv").open("w", newline="") as file:
        rows = csv.writer(file, delimiter="\t", lineterminator="\n")
        rows.writerow(["gene", *(f"t{k}" for k in range(30))])
        rows.writerows([name, *row] for name, row in zip(HOSTILE, levels, strict=True))
    assert_harmless(Analysis(tmp_path, levels_section()).all().report().out)


def test_mirna_targets(tmp_path: Path) -> None:
    pytest.importorskip("RNA", reason="needs the package ViennaRNA")
    mirna = "UGAGGUAGUAGGUUGUAUAGUU"
    site = mirna[::-1].translate(str.maketrans("ACGU", "UGCA"))
    mirnas, names = HOSTILE[:4], HOSTILE[4:]
    (tmp_path / "mirnas.fa").write_text("".join(f">{name}\n{mirna}\n" for name in mirnas))
    flanked = "ACGUACGU" * 5 + site + "GACUGACU" * 5
    (tmp_path / "utr3.fa").write_text("".join(f">{name}\n{flanked}\n" for name in names))
    keys = {"mirnas": "mirnas.fa", "transcripts": "utr3.fa", "export": ["tsv", "html"]}
    out = Analysis(tmp_path, {"method": "mirna_targets", **keys}).all().report().out
    assert_harmless(out)
    hits = pd.read_csv(out / "hits.tsv", sep="\t", keep_default_na=False)
    assert set(hits["transcript"]) == set(names)
    for name, fields in (("hits.bed", 6), ("hits.gff3", 9)):
        lines = [line for line in (out / name).read_text().splitlines() if line[0] != "#"]
        assert lines
        assert all(len(line.split("\t")) >= fields for line in lines)


def test_trajectory_correlation(tmp_path: Path) -> None:
    random = np.random.default_rng(1)
    values = np.cumsum(random.normal(size=(120, len(HOSTILE))), axis=1)
    out = of_tables(tmp_path, values, names=HOSTILE, estimator={"kind": "gaussian"})
    assert_harmless(out)


# --- every format of networks -------------------------------------------------------------------


def lines_of(path: Path) -> list[list[str]]:
    return [line.split("\t") for line in path.read_text(encoding="utf-8").splitlines()]


def xml_values(path: Path, tag: str, name: str) -> set[str]:
    """An attribute, or the text, of elements."""
    found = lxml.etree.parse(path).iter(f"{{*}}{tag}")
    return {str(element.get(name) if name else element.text) for element in found}


def cx2_names(path: Path) -> set[str]:
    [nodes] = [part["nodes"] for part in json.loads(path.read_text()) if "nodes" in part]
    return {node["v"]["name"] for node in nodes}


def matrix_names(path: Path) -> set[str]:
    with np.load(path) as arrays:
        assert not [name for name in arrays.files if set(name) & set("/\\")]  # paths in an archive
        return set(arrays["genes"].tolist())


def zarr_names(path: Path) -> set[str]:
    with zarr.storage.ZipStore(path, mode="r") as store, xarray.open_zarr(store) as data:
        return set(data["gene"].values.tolist())


NAMES_IN: dict[str, Callable[[Path], set[str]]] = {
    "tsv": lambda p: names_in(pd.read_csv(p, sep="\t", keep_default_na=False)),
    "parquet": lambda p: names_in(pd.read_parquet(p)),
    "graphml": lambda p: xml_values(p, "node", "id"),
    "gexf": lambda p: xml_values(p, "node", "label"),
    "sif": lambda p: {name for line in lines_of(p) for name in (line[0], line[2])},
    "cx2": cx2_names,
    "adjacency": matrix_names,
    "h5ad": lambda p: set(anndata.read_h5ad(p).var_names),
    "h5mu": lambda p: set(mudata.read_h5mu(p).var_names),
    "zarr": zarr_names,
    "regulon": lambda p: {name for line in lines_of(p)[1:] for name in line[:2]},
    "adj": lambda p: {line[0] for line in lines_of(p)} | {line[1] for line in lines_of(p)},
    "adjacencies": lambda p: names_in(
        pd.read_csv(p, sep="\t", keep_default_na=False).rename(columns={"TF": "source"})
    ),
    "gmt": lambda p: {name for line in lines_of(p) for name in line[2:]},
}


@pytest.mark.parametrize(
    "format", sorted(EXPORT_FORMATS.keys() - {"html"})
)  # html: a page, as above
def test_names_columns_and_settings_stay_text_in_every_format(format: str, tmp_path: Path) -> None:
    network = chain(HOSTILE, directed=True)
    for column in (*HOSTILE, "/../../outside", ".."):  # as a user may call a condition
        network[column] = 0.5
    path = write(tmp_path, format, network, items_table(HOSTILE, len(HOSTILE)), directed=True)
    assert format in NAMES_IN, "say in NAMES_IN how the names of genes are read back from the file"
    assert NAMES_IN[format](path) == set(HOSTILE)
    if format in ("graphml", "gexf"):
        elements = list(lxml.etree.parse(path).iter("*"))
        tags = {lxml.etree.QName(element).localname for element in elements}
        assert not tags & (SCRIPTING - {"meta"})  # GEXF has one of its own
        assert not [key for element in elements for key in element.attrib if key[:2] == "on"]


# --- names that no table can hold ---------------------------------------------------------------


def write_gene(folder: Path, name: str) -> dict[str, Any]:
    samples = [f"s{k}" for k in range(30)]
    values = np.random.default_rng(0).normal(size=(6, 30)).round(3)
    pd.DataFrame(values, [name, *"bcdef"], samples).to_parquet(folder / "given.parquet")
    return {"method": "mutual_information", "expression": "given.parquet"}


def write_sample(folder: Path, name: str) -> dict[str, Any]:
    samples = [name, *(f"s{k}" for k in range(29))]
    values = np.random.default_rng(0).normal(size=(6, 30)).round(3)
    pd.DataFrame(values, [*"abcdef"], samples).to_parquet(folder / "given.parquet")
    return {"method": "mutual_information", "expression": "given.parquet"}


def write_record(folder: Path, name: str) -> dict[str, Any]:
    (folder / "given.fa").write_text(f">{name}\nUGAGGUAGUAGGUUGUAUAGUU\n")
    (folder / "utr3.fa").write_text(">a\nACGUACGUACGU\n")
    return {"method": "mirna_targets", "mirnas": "given.fa", "transcripts": "utr3.fa"}


def write_variable(folder: Path, name: str) -> dict[str, Any]:
    values = np.random.default_rng(0).normal(size=(60, 3)).round(3)
    np.savetxt(folder / "given.tsv", values, delimiter="\t", header=f"{name}\tb\tc", comments="")
    return {"method": "trajectory_correlation", "time_series": ["given.tsv"]}


# Of FASTA and of text, tab and line ends separate.
IN_TABLES = ["a\tb", "a\nb", "a\rb", "a\x1b[31mb", "a\x00b", "a\x7fb", "a\x85b"]
GIVEN = [(write, name) for write in (write_gene, write_sample) for name in IN_TABLES]
GIVEN += [
    (write, name)
    for write in (write_record, write_variable)
    for name in IN_TABLES[3:]
    if name != "a\x00b"
]


@pytest.mark.parametrize(("write", "name"), GIVEN)
def test_a_name_with_a_control_character_is_refused_before_anything_is_computed(
    write: Callable[[Path, str], dict[str, Any]], name: str, tmp_path: Path
) -> None:
    """The same way everywhere: genes, samples, records of FASTA, variables."""
    analysis = Analysis(tmp_path, write(tmp_path, name))
    with pytest.raises(InputError, match="names without control characters") as raised:
        analysis.prepare()
    assert re.search(r"given\.\w+: \w+ 'a", str(raised.value))
    assert str(raised.value).count("found") == 1
    assert str(raised.value).isprintable()
    assert not (analysis.out / "items.parquet").exists()


def test_signed_numbers_and_plain_names_are_no_formulas(tmp_path: Path) -> None:
    values = np.random.default_rng(0).normal(size=(4, 30)).round(3)
    table = pd.DataFrame(values, ["-1", "+2.5", "a=b", "x@y"], [f"s{k}" for k in range(30)])
    table.to_csv(tmp_path / "expression.tsv", sep="\t")
    analysis = Analysis(tmp_path, {}).prepare()
    messages = read_json(analysis.record("prepare"))["messages"]
    assert "names_like_formulas" not in [message["code"] for message in messages]
