"""What follows the network: the stages that an analysis of an expression table can ask for.

Each has a module of its name in ``pairtile.downstream`` and is a step of its name, so that a change
of its keys runs it alone again; none of them scores.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Literal

from pydantic import Field

from pairtile.config.conditions import ConditionConfig
from pairtile.config.models import Analysis, ConfigModel
from pairtile.config.values import Text


@dataclass(frozen=True)
class Stage:
    """One stage.

    Parameters
    ----------
    name
        Of its module, its step and its record; keys that it uses are marked with it (``UsedBy``,
        ``InputFile``).
    key
        The configuration key that asks for it, where that is neither null, false nor empty.
    tables
        The files that it writes.
    reads
        Stages whose files it reads, where the analysis asks for these.
    of_analysis
        A file of the analysis that ``key`` names, which it reads.
    gpu
        Whether it computes on the backend of the tiles; else on the CPU.
    """

    name: str
    key: str
    tables: tuple[str, ...]
    reads: tuple[str, ...] = ()
    of_analysis: str = ""
    gpu: bool = False


class DifferentialConfig(ConfigModel):
    """Differential co-expression: pairs of genes that are correlated differently in two groups of
    samples."""

    label: Annotated[str, Text("the name of a column")] = Field(
        description=(
            "The column of annotations whose labels are the groups. Each pair of labels with at "
            "least 8 samples is compared."
        ),
    )
    pairs: Literal["all"] = Field(
        default="all",
        description=(
            "Which pairs are tested: every pair of genes; with `regulators`, of a regulator and a "
            "gene."
        ),
    )
    score: Literal["spearman", "pearson", "mi"] = Field(
        default="spearman",
        description=(
            "How pairs are scored in each group. `spearman`: correlation of ranks. `pearson`: of "
            "values, which finds more where they are normal. `mi`: mutual information in bits, "
            "which sees relations that rise and fall, and no signs."
        ),
    )


PACKAGE = "pairtile.downstream"
"""Where their modules are, with ``columns.toml``, ``text.md.j2``, ``templates/`` and what the page
shows of them (``page``)."""

STAGES: tuple[Stage, ...] = (
    Stage(
        "modules",
        "gene_modules",
        ("modules.tsv", "module_summary.tsv", "eigengenes.tsv", "module_membership.tsv"),
        gpu=True,
    ),
    Stage(
        "module_preservation", "other_samples", ("module_preservation.tsv",), ("modules",), gpu=True
    ),
    Stage("traits", "traits_of_modules", ("module_traits.tsv",), reads=("modules",)),
    Stage(
        "predicted_targets",
        "mirna_targets",
        ("predicted_targets.tsv", "target_enrichment.tsv", "target_correlations.tsv"),
        of_analysis="targets.tsv",
    ),
    Stage(
        "differential",
        "differential",
        ("differential.parquet", "differential.tsv", "differential_hubs.tsv"),
        gpu=True,
    ),
    Stage("enrichment", "gene_sets", ("enrichment.tsv",), reads=("differential", "modules")),
    Stage("activity", "activity", ("activity.tsv", "activity_viper.tsv", "activity_tests.tsv")),
)
"""In the order in which they can run."""

GROUP_TABLES = ("groups.tsv", "group_overlap.tsv", "shared_edges.tsv")
"""What is written of an analysis with ``split_by``, beside its page and summary."""


def stages_of(config: Analysis) -> list[Stage]:
    """The stages that an analysis asks for, in their order."""
    return [stage for stage in STAGES if getattr(config, stage.key, None)]


def label_columns(config: Analysis) -> dict[str, ConditionConfig]:
    """The columns of annotations that stages name, each once, and what it holds."""
    named = {trait.name: trait for trait in getattr(config, "traits", ())}
    if (differential := getattr(config, "differential", None)) is not None:
        named.setdefault(differential.label, ConditionConfig(name=differential.label))
    return named


def stage_tables(config: Analysis) -> list[str]:
    """The files of the stages that an analysis asks for."""
    return [table for stage in stages_of(config) for table in stage.tables]


def read_of_others(config: Analysis) -> list[str]:
    """Results of other analyses, as ``NAME/file``, that tables and stages of one are made from."""
    reading = (stage for stage in stages_of(config) if stage.of_analysis)
    files = (f"{getattr(config, stage.key)}/{stage.of_analysis}" for stage in reading)
    return [*config.other_results(), *files]
