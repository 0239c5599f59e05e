"""The section ``method: mirna_targets``: the contract's keys and defaults, and what is refused."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import yaml
from pairtile.config.load import check_inputs_exist, load_config
from pairtile.errors import ConfigError
from pairtile.methods.mirna_targets.config import TABLES, MirnaTargetsConfig

LEAST = {"method": "mirna_targets", "mirnas": "m.fa", "transcripts": "t.fa"}
DEFAULTS: dict[str, Any] = LEAST | yaml.safe_load("""
species: null
mirna_names: null
restrict: null
genes: null
orthologs: null
reference_species: null
species_tree: null
mirna_expression: null
transcript_expression: null
annotation: null
ignore_versions: false
gold_standard: null
on_bad_record: error
estimator: {score: 140, energy: 1.0, scale: 4.0, gap_open: -9, gap_extend: -4, strict: false,
  energies: true, seed_sites: false, trim: null}
"null": false
miranda_text: {quiet: true, keyval: false}
extras: {context: false, duplex_energy: false, accessibility: false}
chunks: auto
export: auto
""")


def one(**keys: Any) -> Any:
    return load_config({"analyses": {"net": {**LEAST, **keys}}}).analyses["net"]


def test_every_default_is_that_of_the_contract() -> None:
    assert one().resolved() == DEFAULTS
    assert isinstance(one(), MirnaTargetsConfig)


def test_all_files_are_named_as_inputs() -> None:
    files = {key: f"{key}.x" for key in ("restrict", "genes", "annotation", "gold_standard")}
    assert one(**files).input_files() == {"mirnas": "m.fa", "transcripts": "t.fa"} | files


def test_species_and_names_have_several_forms() -> None:
    assert one(species="hsa").species == one(species=["hsa"]).species == ("hsa",)
    assert one(mirna_names=["a", "b"]).mirna_names == ("a", "b")
    assert "mirna_names" not in one(mirna_names=["a", "b"]).input_files()
    assert one(mirna_names="names.txt").input_files()["mirna_names"] == "names.txt"


@pytest.mark.parametrize("value", [[], [1], {"a": 1}, 3, [""]])
@pytest.mark.parametrize("key", ["species", "mirna_names"])
def test_other_forms_of_them_are_refused(key: str, value: Any) -> None:
    with pytest.raises(ConfigError, match=key):
        one(**{key: value})


@pytest.mark.parametrize(
    ("keys", "key"),
    [
        ({"mirnas": None}, "mirnas"),
        ({"transcript": "t.fa"}, "transcript"),
        ({"on_bad_record": "warn"}, "on_bad_record"),
        ({"restrict": 3}, "restrict"),
        ({"annotation": ["a.gtf"]}, "annotation"),
        *(
            ({"estimator": {name: value}}, f"estimator.{name}")
            for name, values in {
                "score": (0, "140", float("nan")), "scale": (-1, float("inf"), 1e7),
                "gap_open": (9, -1e8), "gap_extend": (1,),
                "energy": (None,), "strict": (1,), "trim": (0, 1.5), "go": (-9,),
            }.items()
            for value in values
        ),
        ({"miranda_text": {"quite": True}}, "miranda_text.quite"),
        ({"miranda_text": True}, "miranda_text"),
        ({"extras": {"accessibility": "yes"}}, "extras.accessibility"),
        ({"keep": "all"}, "keep"),
        ({"export": ["bed"]}, "export.0"),
    ],
)  # fmt: skip
def test_what_is_not_allowed_is_refused(keys: dict[str, Any], key: str) -> None:
    with pytest.raises(ConfigError, match=rf"analyses\.net\.{key}: "):
        one(**keys)


@pytest.mark.parametrize("key", ["mirnas", "transcripts"])
def test_both_fasta_files_are_required(key: str) -> None:
    section = {k: value for k, value in LEAST.items() if k != key}
    with pytest.raises(ConfigError, match=rf"analyses\.net\.{key}: "):
        load_config({"analyses": {"net": section}})


def test_files_that_are_missing_are_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "m.fa").write_text(">m\nACGU\n")
    with pytest.raises(ConfigError) as error:
        check_inputs_exist(load_config({"analyses": {"net": {**LEAST, "annotation": "a.gtf"}}}))
    keys = [line.split(": ")[1] for line in str(error.value).splitlines()]
    assert keys == ["analyses.net.transcripts", "analyses.net.annotation"]


def test_what_only_the_tables_show_scores_nothing_again() -> None:
    asked = one(annotation="a.gtf", miranda_text={"quiet": False}, extras={"duplex_energy": True})
    for step in ("prepare", "plan", "score", "network"):
        assert asked.for_step(step) == one().for_step(step)
    assert asked.for_step("tables") != one().for_step("tables")
    assert asked.inputs("tables") == ("annotation",)
    assert "miranda.txt" in TABLES
    assert asked.result_tables() == TABLES
    assert set(one(null={}).result_tables()) == {*TABLES, "signal.tsv", "signal_curve.tsv"}


@pytest.mark.parametrize("null", [True, None, 100, {"shuffles": 5}, {"shuffles": 100, "kind": "x"}])
def test_a_null_is_false_or_a_number_of_shuffles(null: Any) -> None:
    with pytest.raises(ConfigError, match="null"):
        one(null=null)
    assert one(null={"shuffles": 50}).null.shuffles == 50
