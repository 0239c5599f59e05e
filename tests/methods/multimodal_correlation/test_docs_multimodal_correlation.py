"""What docs/methods/multimodal_correlation.md says of settings, constants and files is so."""

from __future__ import annotations

import re

import numpy as np
import pandas as pd
import pytest
from method_pages import assert_described
from pairtile.config.conditions import ConditionConfig
from pairtile.config.models import ConfigModel
from pairtile.config.preprocess import ExpressionAnalysis
from pairtile.methods.multimodal_correlation import mixtures
from pairtile.methods.multimodal_correlation.config import (
    ConditionNetworksConfig,
    MixtureEstimatorConfig,
    ModulesConfig,
    MultimodalCorrelationConfig,
    PowerConfig,
    ThresholdConfig,
)
from pairtile.methods.multimodal_correlation.thresholds import correlation_power
from paths import ROOT
from workflow_runs import Analysis, write_data

PAGE = "".join(
    (ROOT / "docs" / folder / "multimodal_correlation.md").read_text(encoding="utf-8")
    for folder in ("methods", "results")
)


def part(heading: str) -> str:
    """The text under a heading, up to the next of its rank or above."""
    rank = heading.split(" ")[0]
    rest = PAGE[PAGE.index(f"\n{heading}\n") + len(heading) + 2 :]
    end = re.search(rf"^#{{1,{len(rank)}}} ", rest, re.MULTILINE)
    return " ".join((rest[: end.start()] if end else rest).split())


@pytest.mark.parametrize(
    "section",
    [
        MixtureEstimatorConfig,
        ThresholdConfig,
        PowerConfig,
        ConditionNetworksConfig,
        ConditionConfig,
        ModulesConfig,
    ],
)
def test_every_setting_is_explained(section: type[ConfigModel]) -> None:
    for key in section.model_fields:
        assert re.search(rf"\b{key}\b", PAGE), key


def test_every_key_of_its_own_is_named() -> None:
    for key in set(MultimodalCorrelationConfig.model_fields) - set(ExpressionAnalysis.model_fields):
        if key not in ("chunks", "export", "gold_standard"):  # those of every method
            assert f"`{key}" in PAGE, key


def test_constants_of_the_fit_are_those_that_are_used() -> None:
    text = part("## Mixture")
    for words in (
        f"ridge of {mixtures.RIDGE:g} is added",
        f"fewer than {mixtures.MIN_SAMPLES:g} samples (sum of its gamma)",
        f"Every start gets {mixtures.N_SHORT_STEPS} EM steps",
        f"less than {mixtures.TOLERANCE:.0e} bits".replace("e-0", "e-"),
        f"or after {mixtures.LIMIT} steps",
        f"1 - r² below {mixtures.DEGENERATE:.0e}".replace("e-0", "e-"),
    ):
        assert words in text, words
    assert f"{mixtures.PRIOR_SCATTER:g} / K is added to a mode's sum of squares" in text
    assert mixtures.PRIOR_SAMPLES == 0
    assert f"{mixtures.KINC_LIMIT} steps" in part("## KINC's results and these")


def test_table_of_power_is_that_of_the_filter() -> None:
    rows = re.findall(
        r"^\| (?:samples in the mode|least \\\|r\\\|) \| (.*) \|$", PAGE, re.MULTILINE
    )
    samples, least = ([float(cell) for cell in row.split(" | ")] for row in rows)
    assert len(samples) == len(least) == 10
    enough = correlation_power(np.array(least) + 0.005, np.array(samples))
    short = correlation_power(np.array(least) - 0.005, np.array(samples))
    assert (enough >= 0.8).all()
    assert (short < 0.8).all()


CONDITIONS = {"Treatment": ["heat", "none"], "Hours": None}
ANY_NAME = {
    "Treatment_heat": "CONDITION_LABEL",
    "Treatment_none": "CONDITION_LABEL",
} | dict.fromkeys(CONDITIONS, "CONDITION")


def as_described(name: str) -> str:
    """A column with the words that the pages have for names of the user's."""
    for own, word in ANY_NAME.items():
        name = name.replace(own, word)
    name = re.sub(r"^(curve|spacings)_.*", r"\1_COLUMN", name)
    return re.sub(r"condition_\d_", "condition_K_", name)


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Analysis:
    """An analysis with every table there is."""
    folder = tmp_path_factory.mktemp("modes")
    made = write_data(folder, genes=80, samples=60)
    known = pd.DataFrame({"Sample": made.samples})
    known["Treatment"] = ["heat" if k % 2 else "none" for k in range(len(known))]
    known["Hours"] = np.arange(len(known))
    known.to_csv(folder / "samples.tsv", sep="\t", index=False)
    section = {
        "method": "multimodal_correlation",
        "expression": "expression.tsv",
        "annotations": "samples.tsv",
        "estimator": {"max_clusters": 2, "min_samples": 15, "min_correlation": 0.2},
        "threshold": {"method": "power_law", "step": 0.05, "min_genes": 10},
    }
    return Analysis(folder, section).all()


def test_tables_arrays_figures_and_counts_are_described(run: Analysis) -> None:
    columns = pd.read_parquet(run.out / "network.parquet").columns
    assert "Treatment_heat_q_value" in columns
    assert "Hours_r_squared" in columns
    assert_described(
        run.out, "multimodal_correlation", as_described, ("arrays", "figures", "counts")
    )
