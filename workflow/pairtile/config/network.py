"""Keys that several methods have: chunks, export, and files that may be left out."""

from __future__ import annotations

from importlib.util import find_spec
from typing import Annotated, Any, Literal, get_args

from pydantic import BeforeValidator, Discriminator, Field, Tag

from pairtile.config.models import InputFile, UsedBy
from pairtile.config.values import Expected, Text, listed, refusal

ExportFormat = Literal[
    "tsv",
    "parquet",
    "graphml",
    "gexf",
    "sif",
    "cx2",
    "adjacency",
    "h5ad",
    "h5mu",
    "zarr",
    "regulon",
    "adj",
    "adjacencies",
    "gmt",
    "html",
]

NEEDED_PACKAGES = {"h5mu": ("mudata",), "zarr": ("xarray", "zarr")}
"""What a format needs that pairtile does not bring: extras of the format's name."""

LARGE_NETWORK = 100_000
"""Edges beyond which ``export: auto`` leaves GraphML away: hardly a program draws so many."""


def each_once(formats: object) -> tuple[object, ...]:
    if not isinstance(formats, list | tuple):
        raise refusal("a list of formats, such as [tsv, graphml]")
    repeated = [name for n, name in enumerate(formats) if name in formats[:n]]
    if repeated:
        raise refusal(f"each format once, but {repeated[0]!r} is there twice")
    for name in formats:
        missing = [p for p in NEEDED_PACKAGES.get(str(name), ()) if find_spec(p) is None]
        if missing:
            raise refusal(
                f"formats whose packages are installed; {name} needs {' and '.join(missing)} "
                f"(pip install 'pairtile[{name}]')"
            )
    return tuple(formats)


ExportList = Annotated[
    Annotated[Literal["auto"], Tag("<auto>")]
    | Annotated[
        tuple[ExportFormat, ...],
        BeforeValidator(each_once, json_schema_input_type=list[ExportFormat]),
        Tag("<list>"),
    ],
    Discriminator(lambda formats: "<auto>" if formats == "auto" else "<list>"),
    Expected(f"auto or a list of {listed(get_args(ExportFormat))}"),
    UsedBy(),
]


def exported_formats(export: Literal["auto"] | tuple[str, ...], n_edges: float) -> tuple[str, ...]:
    """The formats that a value of the key ``export`` means for a network of so many edges."""
    if export != "auto":
        return export
    return ("tsv", "graphml") if n_edges <= LARGE_NETWORK else ("tsv",)


RequiredPath = Annotated[str, Text("a path"), InputFile()]
OptionalPath = Annotated[str | None, Text("a path", optional=True), InputFile()]
NamesTable = Annotated[OptionalPath, UsedBy("prepare", "values")]
GoldStandard = Annotated[OptionalPath, InputFile("evaluate"), UsedBy("evaluate")]
ModulesTable = Annotated[OptionalPath, InputFile("modules", "module_preservation", folder=True)]
OF_MODULES = UsedBy("modules", "module_preservation", "traits", "enrichment")
GeneSetsFile = Annotated[OptionalPath, InputFile("enrichment"), UsedBy("enrichment")]
Chunks = Annotated[Literal["auto"] | Annotated[int, Field(ge=1, le=100_000)], UsedBy("plan")]


def gold_standard_field(more: str = "") -> Any:
    """The key ``gold_standard`` (a ``GoldStandard``) of a method whose edges join genes."""
    return Field(
        default=None,
        description=(
            "A table of known edges, columns source and target, or lists of ARACNe (`.adj`), to "
            "compare the network with: adds `evaluation.json` (AUPR, AUROC, precision, recall) and "
            f"its part of the report. null: no evaluation. It does not change the network.{more}"
        ),
    )


def chunks_field(what: str = "the pairs are", more: str = "") -> Any:
    """The key ``chunks`` (a ``Chunks``); ``what`` is split into jobs."""
    return Field(
        default="auto",
        description=(
            f"Into how many jobs {what} split. `auto` makes jobs of one to five minutes, and one "
            f"job of a small problem. Results are the same for any number.{more}"
        ),
    )


def export_field(
    what: str = "the network", beside: str = "`network.parquet`", more: str = ""
) -> Any:
    """The key ``export`` (an ``ExportList``): formats of ``what``, written ``beside`` something."""
    return Field(
        default="auto",
        description=(
            f"Formats in which {what} is written, beside {beside}. `auto`: `tsv`, and up to "
            f"{LARGE_NETWORK:,} edges `graphml`; or a list of any of these, which is written "
            "whatever the size. `tsv`: table; `parquet`: the "
            "same, typed; `graphml`: Cytoscape, igraph, networkx; `gexf`: Gephi; `sif`: plain "
            "Cytoscape; `cx2`: Cytoscape Web and NDEx; `adjacency`: sparse matrix (`.npz`); "
            "`h5ad`: AnnData with the network in `varp`; `h5mu`: MuData, "
            "each kind of item a modality; `zarr`: edges as an xarray data set; "
            "`regulon`: signed table for decoupler; "
            "`adj`: ARACNe's lists, for VIPER; `adjacencies`: TF, target and importance, for "
            "pySCENIC; `gmt`: modules and regulons as gene sets; "
            f"`html`: a page with the network drawn.{more}"
        ),
    )
