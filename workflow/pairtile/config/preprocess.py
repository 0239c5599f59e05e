"""Sections that all methods on expression tables share: the table, and how it is prepared."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Annotated, Literal

from pydantic import AfterValidator, BeforeValidator, Field, Strict

from pairtile.config.conditions import ConditionConfig, ConditionList
from pairtile.config.downstream import DifferentialConfig
from pairtile.config.models import Analysis, ConfigModel, InputFile, Rule, UsedBy
from pairtile.config.modules import GeneModulesConfig
from pairtile.config.network import (
    OF_MODULES,
    GeneSetsFile,
    ModulesTable,
    NamesTable,
    OptionalPath,
    RequiredPath,
)
from pairtile.config.samples import OptionalColumn, OptionalSamples, SamplesConfig
from pairtile.config.values import (
    Expected,
    FullDescription,
    Text,
    each_once,
    join_list,
    null_is_empty,
)

Normalization = Literal[
    "auto",
    "none",
    "quantile",
    "cpm",
    "cp10k",
    "median_ratio",
    "tmm",
    "vst",
    "depth_ranks",
    "nb_residuals",
    "zscore",
]

# Keys of ``preprocess`` that also clean the other table where nothing is said of it.
OF_BOTH_TABLES = ("min_samples", "drop_constant", "sample_scale", "regress_out", "hidden_factors")

Columns = Annotated[
    tuple[Annotated[str, Text("the name of a column")], ...],
    Strict(False),
    AfterValidator(each_once),
    Expected("a list of columns of samples.annotations"),
]

_Value = str | bool | int | float


def _lists(columns: object) -> object:
    """A value stands for a list of one."""
    if not isinstance(columns, Mapping):
        return columns
    return {k: v if isinstance(v, list | tuple) else (v,) for k, v in columns.items()}


CellsByColumn = Annotated[
    dict[str, Annotated[tuple[_Value, ...], Strict(False), Field(min_length=1)]],
    FullDescription("a mapping of columns to a value or a list of values"),
    BeforeValidator(_lists, json_schema_input_type=dict[str, _Value | list[_Value]] | None),
    BeforeValidator(null_is_empty, json_schema_input_type=dict[str, _Value | list[_Value]] | None),
]


class Preprocess(ConfigModel):
    """How the expression values are cleaned before genes are paired. What was dropped or changed,
    and why, is listed in `items.parquet` and `summary.json`."""

    log2: Literal["auto"] | bool = Field(
        default="auto",
        description=(
            "Take the logarithm to base 2 of every value. `auto`: where the values look like "
            "counts or intensities (GEO2R's rule: 99 % quantile above 100, or range above 50 and "
            "lower quartile above 0) and none is negative. `true`: always; negative values are an "
            "error. `false`: never."
        ),
    )
    pseudocount: Literal["auto"] | Annotated[float, Field(ge=0)] = Field(
        default="auto",
        description=(
            "Added to every value before log2, after normalisation. `auto`: 1 for counts and for "
            "tables that hold zeros, which so stay, as the lowest value; 0 where nothing lies "
            "just above zero, which then means not detected. With 0, zeros become missing values."
        ),
    )
    normalize: Normalization = Field(
        default="auto",
        description=(
            "Makes samples, or genes, comparable. `auto`: of counts (also estimated ones, or "
            "recovered from logarithms or CPM), unless log2 is `false`, `nb_residuals` where "
            "depths differ and zeros would show it, else `median_ratio`, or `cp10k` where few "
            "genes are above zero in every sample; of other values `median_ratio` where size "
            "factors are unequal, else `none`; docs/methods/mutual_information.md has the rules, "
            "`summary.json` says which and why. `none`: values as they are. `quantile`: every "
            "sample gets the same distribution (microarrays). `cpm`, `cp10k`: counts per million "
            "or per 10,000. `nb_residuals`: normal scores of the counts under a negative binomial "
            "model of each gene with the depth of each sample (single cells, and whatever else "
            "has many zeros). `depth_ranks`: ranks among samples of about the same total, as "
            "normal scores (for many hundreds of samples). `median_ratio`: size factors as in "
            "DESeq2 (bulk counts). `tmm`: size factors as in edgeR. `vst`: the "
            "variance-stabilising transform of DESeq; no log2 after it. `zscore`: each gene to "
            "mean 0 and standard deviation 1; does nothing under `transform: rank`."
        ),
    )
    min_samples: Annotated[int, Field(ge=3, le=1_000_000)] = Field(
        default=20,
        description=(
            "Least number of samples. Genes observed in fewer are dropped, and pairs observed "
            "together in fewer get no score. Scores from few samples come out too good by chance."
        ),
    )
    min_expressed: Annotated[float, Field(ge=0, le=1)] = Field(
        default=0.0,
        description=(
            "Least share of the samples in which a gene must be above zero, before anything is "
            "changed; other genes are dropped. Not for tables with negative values."
        ),
    )
    top_variable: Annotated[int | None, Field(ge=2, le=10_000_000)] = Field(
        default=None,
        description=(
            "Keep this many genes, those of the largest variance after log2 (under `nb_residuals` "
            "and `depth_ranks` of counts per 10,000 on that scale); null: all."
        ),
    )
    drop_constant: bool = Field(
        default=False,
        description=(
            "Drop genes that have the same value in all samples. `false`: they score 0 with every "
            "gene."
        ),
    )
    sample_scale: Literal["auto"] | bool = Field(
        default="auto",
        description=(
            "Bring all samples to the same spread about the genes' medians, after log2 and "
            "normalisation. `auto`: where the noise of samples differs (what other samples do not "
            "predict of a sample; standard deviation of its logarithm 0.2 or more)."
        ),
    )
    regress_out: Columns = Field(
        default=(),
        description=(
            "Columns of `samples.annotations` or `obs` (batch, sex, age) whose effects are "
            "removed from every gene by least squares, after log2 and normalisation: labels (and "
            "numbers of groups: 1, 2, 3) as groups, other numbers as straight lines, "
            "`smooth(hours)` as a curve, `smooth(x:y)` as a surface, `spatial` of `obsm` too. "
            "Each gene keeps its mean."
        ),
    )
    hidden_factors: Literal["none", "auto"] | Annotated[int, Field(ge=1, le=50)] = Field(
        default="none",
        description=(
            "Remove what most genes share and nothing states: quality, mixtures of cell types, "
            "batches. `auto`: components above those of exchanged samples, turned to simple "
            "structure, whose loadings are spread over more than a fifth of the genes. A number: "
            "so many of the first components. Values become normal scores of each gene less what "
            "the factors hold, after all else. A module of a quarter of the genes or more is "
            "taken for a factor."
        ),
    )
    control_genes: OptionalPath = Field(
        default=None,
        description=(
            "Genes, one a line, that have nothing in common but what samples share (spike-ins, "
            "housekeeping genes): `hidden_factors` is then found from these alone, as RUV does. "
            "null: from all genes."
        ),
    )

    @property
    def of_levels(self) -> Preprocess:
        """For values that are used as they are: no key but these two does anything."""
        return Preprocess(
            log2=False,
            pseudocount=0,
            normalize="none",
            sample_scale=False,
            min_samples=self.min_samples,
            drop_constant=self.drop_constant,
        )

    def requirements(self) -> Iterator[Rule]:
        unused = self.control_genes is not None and self.hidden_factors == "none"
        yield Rule(unused, "control_genes", "null, unless hidden_factors is auto or a number")


class TableAnalysis(Analysis):
    """Keys of every method that reads a table of genes and samples, an expression table mostly."""

    expression: Annotated[OptionalPath, InputFile(folder=True)] = Field(
        default=None,
        description=(
            "The expression table, genes x samples: `.tsv`, `.tab`, `.csv`, `.txt`, `.gct` (each "
            "also `.gz`), `.parquet`, `.h5ad` (AnnData), `.h5` (Cell Ranger's), `.loom`, or a 10x "
            "folder with `matrix.mtx`."
        ),
    )
    orientation: Literal["genes_in_rows", "samples_in_rows"] = Field(
        default="genes_in_rows",
        description=(
            "Which way the table lies. `.h5ad` files are cells x genes whatever stands here."
        ),
    )
    layer: Annotated[str | None, Text("auto or the name of a layer", optional=True)] = Field(
        default="auto",
        description=(
            "Which matrix of an `.h5ad` file to read: the name of a layer, `raw` (with its own "
            "genes), or `X`, as null does. `auto`: the counts that X was made from, where the "
            "file has them, of the genes of X; else X."
        ),
    )
    obs: CellsByColumn = Field(
        default={},
        description=(
            "Read only some samples: columns of `obs` or `samples.annotations`, each with a value "
            "or a list of values, as `{cell_type: T cell}`; samples that fit all of them are "
            "taken."
        ),
    )
    split_by: OptionalColumn = Field(
        default=None,
        description=(
            "A column of `obs` or `samples.annotations`: one network for each of its 2 to 200 "
            "labels (tissues, cell types, donors). The analysis NAME becomes analyses NAME.LABEL, "
            "and `results/NAME/` holds what their networks share and where they differ. Labels "
            "with fewer than `min_samples` samples are left out."
        ),
    )
    duplicates: Literal["error", "mean", "max", "first"] = Field(
        default="error",
        description=(
            "What to do with genes of the same name (symbols, probes), before anything else: "
            "`error`: refuse the table; `mean`: their mean in each sample; `max`: the one with "
            "the largest mean; `first`: the first."
        ),
    )
    ignore_case: bool = Field(
        default=False,
        description=(
            "Whether names in lists, gene sets and gold standards stand for all genes that differ "
            "from them in capitals only (LexA and lexA), else for such a gene if it is the only "
            "one."
        ),
    )
    ignore_versions: bool = Field(
        default=False,
        description=(
            "Whether names are read without the version after their last point, in the table and "
            "in every list (ENSG00000141510.18 is ENSG00000141510). Two versions of one gene are "
            "then `duplicates`."
        ),
    )
    names: NamesTable = Field(
        default=None,
        description=(
            "A table of two columns, identifier (as in the expression table) and symbol; plain or "
            "`.gz`. Lists, gene sets and gold standards may then name genes by either, the page "
            "shows symbols, and tables and graphs have both."
        ),
    )
    samples: OptionalSamples = Field(
        default=SamplesConfig(),
        description=(
            "What is known of the samples: time courses, batches, technical replicates; null: "
            "each sample stands for itself."
        ),
    )
    preprocess: Preprocess = Field(
        default=Preprocess(),
        description="How expression values are cleaned before genes are paired.",
    )

    # What follows the network (``config.downstream``): keys marked with the stages that use them,
    # and those that name a column of annotations with ``values`` and ``names_items`` too.
    modules: Annotated[GeneModulesConfig | None, OF_MODULES] = Field(
        default=None,
        description=(
            "Groups of genes that go together: adds `modules.tsv`, `module_summary.tsv`, "
            "`eigengenes.tsv` and `module_membership.tsv`."
        ),
    )
    other_samples: Annotated[ModulesTable, UsedBy("modules", "module_preservation")] = Field(
        default=None,
        description=(
            "A table of the same genes in other samples, in any format of `expression`, prepared "
            "alike: are `modules` kept there? Adds `module_preservation.tsv`."
        ),
    )
    traits: Annotated[
        ConditionList,
        UsedBy("values", "traits", "activity", names_items=True),
    ] = Field(
        default=(),
        description=(
            "Columns of `samples.annotations` or `obs`: eigengenes of `modules` are tested "
            "against each, batches and series respected (`module_traits.tsv`), and activities of "
            "`activity`."
        ),
    )
    gene_sets: GeneSetsFile = Field(
        default=None,
        description=(
            "Gene sets, to see which are over-represented in what was found: `.gmt` (MSigDB, "
            "Enrichr), or a table of two columns, gene and set; plain or `.gz`. Adds "
            "`enrichment.tsv`: modules, regulons, condition and differential edges against each "
            "set (hypergeometric), and ranks of the sets' genes by eigengenes."
        ),
    )
    activity: Annotated[bool, UsedBy("activity")] = Field(
        default=False,
        description=(
            "Activity of each regulator in each sample from its targets: adds `activity.tsv` (t "
            "of a univariate linear model), `activity_viper.tsv` and, with labels in `traits` or "
            "`differential`, `activity_tests.tsv`."
        ),
    )
    differential: Annotated[
        DifferentialConfig | None,
        UsedBy("values", "differential", "enrichment", "activity", names_items=True),
    ] = Field(
        default=None,
        description="Which pairs of genes are correlated differently between groups; null: none.",
    )

    @property
    def gene_modules(self) -> GeneModulesConfig | None:
        """How the stage ``modules`` finds them; None where it is not asked for."""
        return self.modules

    @property
    def traits_of_modules(self) -> tuple[ConditionConfig, ...]:
        """Columns that eigengenes are tested against."""
        return self.traits if self.gene_modules is not None else ()

    def table_path(self) -> str | None:
        """The table that ``orientation`` and ``layer`` speak of."""
        return self.expression

    def requirements(self) -> Iterator[Rule]:
        path, annotated = self.table_path() or "", self.samples.annotations is not None
        has_obs = path.lower().endswith(".h5ad")
        unknown = not annotated and not has_obs
        yield Rule(
            unknown and self.samples.columns,
            "samples",
            "a table of samples beside its columns (or an .h5ad expression table)",
        )
        for key, columns in {
            "preprocess": self.preprocess.regress_out,
            "traits": self.traits,
            "differential": self.differential,
        }.items():
            yield Rule(unknown and columns, key, "no columns, or a table under samples.annotations")

        modules = self.gene_modules
        yield Rule(
            self.traits and modules is None and not self.activity,
            "traits",
            "no columns, or modules (with eigengenes) or activity that they go with",
        )
        alone = self.other_samples is not None and modules is None
        yield Rule(alone, "other_samples", "null, or modules (with eigengenes)")
        of_two = modules and modules.method == "wgcna" and self.other_samples
        yield Rule(
            modules and modules.consensus and not of_two,
            "modules/consensus",
            "false, or wgcna beside other_samples",
        )

        plain = bool(path) and not has_obs
        yield Rule(
            plain and self.layer not in (None, "auto"),
            "layer",
            "auto or null, since only .h5ad files have layers",
        )
        without = plain and not (annotated and path == self.expression)
        for key in ("obs", "split_by"):
            yield Rule(
                without and getattr(self, key),
                key,
                "none, or a table under samples.annotations (or an .h5ad file)",
            )


class ExpressionAnalysis(TableAnalysis):
    """Keys of every method that needs an expression table."""

    expression: Annotated[RequiredPath, InputFile(folder=True)] = Field(
        description="The expression table, in any format that other methods read."
    )


class TwoTableAnalysis(TableAnalysis):
    """Keys of methods that can pair every gene of one table with every row of another."""

    other_expression: Annotated[OptionalPath, InputFile(folder=True)] = Field(
        default=None,
        description=(
            "A second table of the same samples (metabolites, miRNAs, proteins, accessible "
            "regions), in any format of `expression`, samples in columns or rows. Every row of it "
            "is paired with every gene of `expression`, and with nothing else; it is the `source` "
            "of the edge. Samples are matched by name. null: pairs within one table."
        ),
    )
    other_preprocess: Preprocess | None = Field(
        default=None,
        description=(
            "How `other_expression` is cleaned, with the keys of `preprocess`. null: "
            + join_list(tuple(f"`{key}`" for key in OF_BOTH_TABLES), "and")
            + " as there, all else by the table itself."
        ),
    )

    mirna_targets: Annotated[
        str | None, Text("the name of an analysis", optional=True), UsedBy("predicted_targets")
    ] = Field(
        default=None,
        description=(
            "An analysis of `method: mirna_targets` in the same configuration, named as in "
            "`other_expression` and `expression`. Predicted targets (with a canonical site) that "
            "go against their miRNA are listed, with the p-values of their enrichment."
        ),
    )

    @property
    def preprocess_of_other(self) -> Preprocess:
        """``other_preprocess``, or what it is where nothing is said."""
        if self.other_preprocess is not None:
            return self.other_preprocess
        return Preprocess(**{key: getattr(self.preprocess, key) for key in OF_BOTH_TABLES})

    def requirements_among(self, name: str, others: Mapping[str, Analysis]) -> Iterator[Rule]:
        """``mirna_targets`` names an analysis that predicts targets."""
        fitting = tuple(key for key, other in others.items() if "targets.tsv" in other.tables)
        listing = join_list(fitting) or "none: there is no other one"
        unknown = self.mirna_targets not in (None, *fitting)
        expected = f"an analysis of method mirna_targets ({listing})"
        yield Rule(unknown, "mirna_targets", expected, fitting)

    def requirements(self) -> Iterator[Rule]:
        yield from super().requirements()
        alone, cleaning = self.other_expression is None, self.other_preprocess
        for key in ("other_preprocess", "mirna_targets"):
            stated = getattr(self, key) is not None
            yield Rule(alone and stated, key, "null, or a table under other_expression")
        listed = getattr(self, "regulators", None) is not None
        yield Rule(
            not alone and listed,
            "regulators",
            "null beside other_expression, whose rows are the sources of all edges",
        )
        is_h5ad = str(self.expression).lower().endswith(".h5ad")
        has_table = self.samples.annotations is not None or is_h5ad
        yield Rule(
            cleaning is not None and cleaning.regress_out and not has_table,
            "other_preprocess/regress_out",
            "no columns, or a table under samples.annotations",
        )
