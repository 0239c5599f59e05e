"""What follows the network: the stages that an analysis of an expression table can ask for.

Each has a module of its name in ``pairtile.downstream`` and a rule of its name, so that a change of
its keys runs it alone again; none of them scores.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
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
        Of its module, its rule and its record; keys that it uses are marked with it (``UsedBy``,
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


def stage_tables(config: Analysis, *names: str) -> list[str]:
    """The files of the stages that an analysis asks for; of those of some names, where given."""
    asked = [stage for stage in stages_of(config) if not names or stage.name in names]
    return [table for stage in asked for table in stage.tables]


def stage_rules(analyses: Mapping[str, Analysis]) -> dict[Stage, str]:
    """Each stage that any analysis asks for, and a pattern of the names of these."""
    asking = {
        stage: [re.escape(name) for name, config in analyses.items() if stage in stages_of(config)]
        for stage in STAGES
    }
    return {stage: "|".join(names) for stage, names in asking.items() if names}
