"""``split_by``: the analyses that a configuration becomes, and what is refused."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import anndata
import numpy as np
import pandas as pd
import pytest
from pairtile.config.preprocess import TableAnalysis
from pairtile.config.root import Split
from pairtile.errors import ConfigError
from pairtile.preprocess.samples import read_arranged, read_samples
from pairtile.runtime.files import write_json
from pairtile.steps.groups import doubts_of
from pairtile.steps.split import load_run
from programs import python


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """expression.tsv of 90 samples, and samples.tsv of 100, with labels as people have them."""
    monkeypatch.chdir(tmp_path)
    random = np.random.default_rng(1)
    names = [f"s{k}" for k in range(100)]
    values = random.normal(size=(5, 90))
    pd.DataFrame(values, index=list("abcde"), columns=names[:90]).to_csv("e.tsv", sep="\t")
    label = np.array(["T cell"] * 30 + ["B/CD19+"] * 40 + ["NK"] * 10 + ["NA"] + ["NK"] * 19)
    donor = [f"d{k // 2}" for k in range(100)]
    table = pd.DataFrame({"sample": names, "cell": label, "donor": donor, "bad": list("aA") * 50})
    table.to_csv("samples.tsv", sep="\t", index=False)
    return tmp_path


def section(**more: Any) -> dict[str, Any]:
    given = {"method": "mutual_information", "expression": "e.tsv", "split_by": "cell"}
    return {**given, "samples": {"annotations": "samples.tsv"}, **more}


def loaded(**more: Any) -> Any:
    return load_run({"analyses": {"all": section(**more), "one": section(split_by=None)}})


def test_an_analysis_becomes_one_for_each_label_with_enough_samples(folder: Path) -> None:
    config = loaded()
    assert list(config.analyses) == ["all.B_CD19", "all.T_cell", "one"]
    split = config.splits["all"]
    assert split.groups == {"all.B_CD19": "B/CD19+", "all.T_cell": "T cell"}
    assert split.left_out == {"NK": 19}  # of the samples in the expression table
    assert split.unlabelled == 1
    of_group = config.analyses["all.T_cell"]
    assert isinstance(of_group, TableAnalysis)
    assert (of_group.split_by, of_group.obs) == (None, {"cell": ("T cell",)})
    assert read_samples(of_group).samples == [f"s{k}" for k in range(30)]
    codes = [note.code for note in read_arranged(of_group)[1].notes]
    assert "samples_of_no_column" not in codes  # they were left out on purpose


def test_samples_of_one_specimen_count_once(folder: Path) -> None:
    samples = {"annotations": "samples.tsv", "replicate": "donor"}
    found = loaded(samples=samples, preprocess={"min_samples": 15}).splits["all"]
    assert list(found.groups) == ["all.B_CD19", "all.T_cell"]
    assert found.left_out == {"NK": 10}


def test_cells_are_split_by_a_column_of_obs(folder: Path) -> None:
    random = np.random.default_rng(2)
    obs = pd.DataFrame({"type": ["x"] * 25 + ["y"] * 30}, index=[f"c{k}" for k in range(55)])
    cells = anndata.AnnData(random.poisson(5.0, (55, 4)).astype(float), obs=obs)
    cells.write_h5ad("cells.h5ad")
    config = loaded(expression="cells.h5ad", split_by="type", samples={})
    assert config.splits["all"].groups == {"all.x": "x", "all.y": "y"}
    assert len(read_samples(config.analyses["all.x"]).samples) == 25
    with pytest.raises(ConfigError, match=r"all\.split_by.*no column 'kind'"):
        loaded(expression="cells.h5ad", split_by="kind", samples={})


@pytest.mark.parametrize(
    ("more", "named"),
    [
        ({"split_by": "tissue"}, "'tissue', which is no column.*'cell'"),
        ({"split_by": "bad", "preprocess": {"min_samples": 3}}, r"'a', whose.*all\.a|'A'"),
        ({"preprocess": {"min_samples": 35}}, "1 labels of 35 samples or more"),
        ({"samples": {"annotations": "absent.tsv"}}, "not on this machine"),
        ({"samples": {"annotations": "s3://bucket/s.tsv"}}, "not on this machine"),
        ({"samples": {}}, "samples.annotations"),
    ],
)
def test_what_cannot_be_split_is_one_error(folder: Path, more: dict[str, Any], named: str) -> None:
    with pytest.raises(ConfigError, match=named) as error:
        loaded(**more)
    assert str(error.value).count("\n") == 0
    assert "all.split_by" in str(error.value)


def test_a_group_with_the_name_of_another_analysis_is_refused(folder: Path) -> None:
    analyses = {"all": section(), "ALL.T_cell": section(split_by=None)}
    with pytest.raises(ConfigError, match=r"label 'T cell'.*all\.T_cell, which is there"):
        load_run({"analyses": analyses})


def test_reading_groups_of_a_text_table_imports_nothing_heavy(folder: Path) -> None:
    code = (
        "import sys; from pairtile.steps.split import load_run\n"
        f"load_run({{'analyses': {{'all': {section()!r}}}}})\n"
        "print([m for m in ('numpy', 'pandas', 'pyarrow', 'anndata') if m in sys.modules])"
    )
    assert python(code).strip() == "[]"


def test_what_makes_networks_of_groups_doubtful_is_said_of_all(tmp_path: Path) -> None:
    severe = {"code": "hidden_factors", "severity": "severe", "text": "Most genes vary together."}
    other = {"code": "few", "severity": "warning", "text": "Few."}
    summaries = [tmp_path / f"{name}.json" for name in "abc"]
    for path, messages in zip(summaries, ([other], [severe, other], [severe]), strict=True):
        write_json(path, {"messages": messages})
    split = Split("tissue", {f"net.{name}": name for name in "abc"}, {}, 0)
    [said] = doubts_of(split, summaries)
    assert (said.severity, said.numbers["groups"]) == ("severe", "b, c")
    assert said.endswith("most genes vary together.")
