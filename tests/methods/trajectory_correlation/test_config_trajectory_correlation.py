"""The section of trajectory_correlation: its defaults, what it decides, what it refuses."""

from __future__ import annotations

import inspect
import re
from pkgutil import resolve_name
from typing import Any, get_args

import pytest
import yaml
from pairtile import trajectory_correlation
from pairtile.config.load import load_config
from pairtile.errors import ConfigError
from pairtile.methods.trajectory_correlation.config import TrajectoryCorrelationConfig
from pairtile.methods.trajectory_correlation.config_sections import (
    PRESETS,
    MotionEstimatorConfig,
)
from pairtile.methods.trajectory_correlation.kinds import KINDS
from pairtile.methods.trajectory_correlation.pair_blocks import PairBlocks
from pydantic import ValidationError

DEFAULTS: dict[str, Any] = yaml.safe_load("""
method: trajectory_correlation
topology: system.psf
trajectories: [run1.dcd, run2.xtc]
unwrap: false
time_series: []
table: {dimensions: 1, angles: none, time: auto}
fit: protein and name CA
reference: first
select: protein and name CA
positions: atom
frames: {start: 0, stop: null, step: 1}
ensemble: auto
estimator: {preset: none, kind: auto, neighbours: 6, variant: 1, norm: euclidean, scale: raw,
  theiler: auto, lag: auto, corrected: true, bins: 10, order: 3, transform: rank, surrogates: 20}
direction: false
variables: positions
dihedrals: [phi, psi, chi1]
distances: {}
domains: {}
contacts: {cutoff: auto, fraction: 0.75}
pairs: all
keep: {fdr: 0.05}
score: correlation_centred
communities: [leiden]
paths: []
suboptimal_paths: 20
compare: null
draw_strongest: 50
g_correlation_text: false
chunks: auto
export: auto
""")
CONTRACT = """
method: trajectory_correlation
topology: system.psf
trajectories: [run1.dcd, run2.xtc]
fit: protein and name CA
select: protein and name CA
frames: {start: 0, stop: null, step: 1}
estimator: {kind: auto, neighbours: 6, norm: euclidean, theiler: auto, surrogates: 20, preset: none}
"""


def given(keys: dict[str, Any]) -> dict[str, Any]:
    section = {
        "method": "trajectory_correlation",
        "topology": "system.psf",
        "trajectories": ["run1.dcd", "run2.xtc"],
        **keys,
    }
    return {key: value for key, value in section.items() if value != "left out"}


def resolved(**keys: Any) -> dict[str, Any]:
    return TrajectoryCorrelationConfig.model_validate(given(keys)).resolved()


def tables(**keys: Any) -> dict[str, Any]:
    given = {"topology": "left out", "trajectories": "left out", "time_series": "a.tsv"}
    return resolved(**{**given, **keys})


def test_every_default_is_that_of_the_contract() -> None:
    assert resolved() == DEFAULTS
    contract = TrajectoryCorrelationConfig.model_validate(yaml.safe_load(CONTRACT))
    assert contract.resolved() == DEFAULTS


@pytest.mark.parametrize("preset", [name for name in PRESETS if name != "none"])
def test_a_preset_decides_its_keys_and_no_other(preset: str) -> None:
    estimator = resolved(
        estimator={"preset": preset, "neighbours": 9, "norm": "euclidean", "surrogates": 7}
    )["estimator"]
    stated = {"kind": "ksg", "neighbours": 9, "surrogates": 7, "preset": preset}
    expected = {**DEFAULTS["estimator"], **stated, **PRESETS[preset]}
    assert estimator == expected
    assert (estimator["norm"], estimator["theiler"]) == ("max", 0)


def test_presets_are_those_of_the_tools() -> None:
    found = {
        name: tuple(preset.get(key) for key in ("variant", "neighbours", "scale"))
        for name, preset in PRESETS.items()
        if preset
    }
    assert found == {
        "mdigest": (1, 5, "raw"),
        "normi": (1, 5, "std"),
        "dynetan": (2, 7, "std"),
        "netsci": (2, None, "raw"),
    }


@pytest.mark.parametrize(
    ("kind", "variables", "bins"),
    [
        ("ksg", "positions", 10),
        ("gaussian", "positions", 10),
        ("dcc", "positions", 10),
        ("bspline", "displacements", 10),
        ("dihedral", "dihedrals", 12),
    ],
)
def test_the_kind_decides_variables_and_bins(kind: str, variables: str, bins: int) -> None:
    section = resolved(estimator={"kind": kind})
    assert section["variables"] == variables
    assert section["estimator"]["bins"] == bins
    assert resolved(estimator={"kind": kind, "bins": 9})["estimator"]["bins"] == 9


def test_without_surrogates_there_are_no_p_values_to_keep_by() -> None:
    assert resolved(estimator={"surrogates": 0})["keep"] == "all"
    kept = resolved(estimator={"surrogates": 0}, keep={"correlation": 0.4})["keep"]
    assert kept == {"correlation": 0.4}


def test_one_path_stands_for_a_list_of_one() -> None:
    assert resolved(trajectories="a.dcd")["trajectories"] == ["a.dcd"]
    assert tables()["time_series"] == ["a.tsv"]
    assert tables()["variables"] == "columns"


def test_each_file_is_an_input_of_its_own() -> None:
    section = TrajectoryCorrelationConfig.model_validate(resolved(trajectories=["a", ["b", "c"]]))
    assert section.input_files() == {
        "topology": "system.psf",
        "trajectories.0": "a",
        "trajectories.1.0": "b",
        "trajectories.1.1": "c",
    }
    assert TrajectoryCorrelationConfig.model_validate(tables()).input_files() == {
        "time_series.0": "a.tsv"
    }


def test_what_is_drawn_or_kept_runs_no_scores_again() -> None:
    section = TrajectoryCorrelationConfig.model_validate(resolved())
    for step in ("prepare", "score"):
        keys = vars(section.for_step(step))
        for key in ("keep", "communities", "paths", "compare", "export", "chunks"):
            assert key not in keys
        assert "contacts" not in keys
    assert section.for_step("prepare", with_names=True).paths == section.paths
    assert set(vars(section.for_step("prepare", with_names=True))) == set(
        vars(section.for_step("prepare"))
    ) | {"paths"}
    assert section.for_step("network_data").contacts is section.contacts
    assert {"keep", "contacts"} <= set(vars(section.for_step("network")))


@pytest.mark.parametrize(
    ("contacts", "needed"), [(False, False), ({}, True), ({"cutoff": 6}, True)]
)
def test_only_an_analysis_with_contacts_looks_for_them(contacts: Any, needed: bool) -> None:
    section = TrajectoryCorrelationConfig.model_validate(resolved() | {"contacts": contacts})
    assert section.needs_network_data is needed


# That bounds, choices and unknown keys are refused is tested in tests/core/test_config_errors.py.
MISTAKES = """
trajectories:
  - {trajectories: [a, a]}
  - {trajectories: [a, [a]]}
  - {trajectories: [3]}
  - {trajectories: [[]]}
fit: [{fit: true}]
select: [{select: null}]
frames.start: [{frames: {start: 1.5}}]
frames.step: [{frames: {step: 0}}]
estimator.kind: [{estimator: {kind: mi}}]
estimator.preset: [{estimator: {preset: netsci, kind: dcc}}]
estimator.surrogates: [{estimator: {surrogates: 1}}]
estimator.order: [{estimator: {bins: 4, order: 5}}]
distances: [{distances: {a: [x]}}]
dihedrals: [{dihedrals: []}, {dihedrals: [chi6]}, {dihedrals: [phi, phi]}]
domains: [{domains: {CORE: 3}}]
contacts: [{contacts: true}]
contacts.cutoff: [{contacts: {cutoff: 0}}]
pairs: [{pairs: touching}, {pairs: in_contact, contacts: false}]
g_correlation_text: [{pairs: in_contact, g_correlation_text: true}]
keep: [{keep: {score: 1}}, {keep: {fdr: 0.1}, estimator: {surrogates: 0}}]
keep.correlation: [{keep: {correlation: 2}}]
communities: [{communities: leiden}, {communities: [leiden, leiden]}]
communities.0: [{communities: [louvain]}]
paths: [{paths: [[a]]}, {paths: [[a, a]]}]
compare: [{compare: 3}]
"""
"""The key that is refused, and sections that are wrong in it."""


@pytest.mark.parametrize(
    ("key", "keys"), [(k, keys) for k, many in yaml.safe_load(MISTAKES).items() for keys in many]
)
def test_mistakes_are_refused_with_a_line_that_names_them(key: str, keys: dict[str, Any]) -> None:
    with pytest.raises(ConfigError, match=rf"(?m)^config: analyses\.run\.{key}: found "):
        load_config({"analyses": {"run": given(keys)}})


@pytest.mark.parametrize(
    ("keys", "expected"),
    [
        ({"topology": None}, "the path of a topology here, or tables under time_series"),
        ({"trajectories": []}, "at least one trajectory of the topology"),
        ({"time_series": "a.tsv"}, "none beside time_series"),
        ({"variables": "dihedrals"}, "beside estimator.kind: auto"),
        ({"variables": "columns"}, "beside estimator.kind: auto"),
        ({"variables": "positions", "estimator": {"kind": "dihedral"}}, "kind: dihedral"),
        ({"variables": "distances"}, r"at least one NAME: \[selection, selection\]"),
        (
            {"contacts": {}, "variables": "distances", "distances": {"a": ["x", "y"]}},
            "false beside variables: distances",
        ),
    ],
)
def test_keys_that_do_not_fit_each_other_are_refused(keys: dict[str, Any], expected: str) -> None:
    with pytest.raises(ValidationError, match=expected):
        resolved(**keys)


@pytest.mark.parametrize(
    ("keys", "expected"),
    [
        ({"estimator": {"kind": "dihedral"}}, "angles: radians or degrees"),
        ({"table": {"angles": "degrees"}}, "angles: none beside estimator.kind: auto"),
        (
            {"estimator": {"kind": "dihedral"}, "table": {"dimensions": 3, "angles": "degrees"}},
            "dimensions: 1 beside estimator.kind: dihedral",
        ),
        ({"variables": "positions"}, "auto or columns beside time_series"),
        ({"contacts": {}}, "none beside time_series"),
        ({"topology": "a.psf"}, "none beside time_series"),
        ({"trajectories": ["a.dcd"]}, "none beside time_series"),
    ],
)
def test_tables_have_rules_of_their_own(keys: dict[str, Any], expected: str) -> None:
    with pytest.raises(ValidationError, match=expected):
        tables(**keys)


def config(*, kinds: tuple[str, ...] = ("ksg", "ksg"), **analyses: Any) -> Any:
    one = {"method": "trajectory_correlation", "topology": "t.psf", "trajectories": ["r.dcd"]}
    other = {"method": "mutual_information", "expression": "e.tsv"}
    given = {
        name: one | {"compare": compare, "estimator": {"kind": kind}}
        for (name, compare), kind in zip(analyses.items(), kinds, strict=False)
    }
    return load_config({"analyses": {**given, "genes": other}})


@pytest.mark.parametrize("kinds", [("auto", "auto"), ("ksg", "auto"), ("ksg", "gaussian")])
def test_two_states_are_compared_by_the_same_stated_kind(kinds: tuple[str, ...]) -> None:
    expected = r"open\.compare: found 'closed'; expected the same estimator.kind stated in both"
    with pytest.raises(ConfigError, match=expected):
        config(open="closed", closed=None, kinds=kinds)


@pytest.mark.parametrize("which", ["open", "closed"])
def test_pairs_in_contact_are_not_compared(which: str) -> None:
    one = given({"estimator": {"kind": "ksg"}})
    sections = {"open": one | {"compare": "closed"}, "closed": dict(one)}
    sections[which]["pairs"] = "in_contact"
    with pytest.raises(ConfigError, match=r"open\.compare: .* expected pairs: all in both"):
        load_config({"analyses": sections})


def test_contacts_matter_to_every_step_where_they_decide_what_is_scored() -> None:
    section = TrajectoryCorrelationConfig.model_validate(given({"pairs": "in_contact"}))
    for step in (
        section.for_step("prepare", with_names=True),
        section.for_step("score"),
        section.for_step("network"),
    ):
        assert step.contacts == section.contacts
        assert "paths" not in vars(section.for_step("score"))
    assert not section.needs_network_data
    assert "matrices.npz" not in section.result_tables()


def test_two_states_may_be_held_against_each_other() -> None:
    """Only what is made before the tables is read of the other, so that there is no circle."""
    both = config(open="closed", closed="open").analyses
    assert both["open"].other_results() == (
        "closed/items.parquet",
        "closed/pairs.parquet",
        "closed/network_data.npz",
    )
    assert "difference.parquet" in both["closed"].result_tables()


@pytest.mark.parametrize(
    ("analyses", "found", "fitting"),
    [
        ({"open": "close", "closed": None}, "close", r"\(closed\) \(did you mean closed\?\)"),
        ({"open": "open", "closed": None}, "open", r"\(closed\)"),
        ({"open": "genes"}, "genes", r"\(none: there is no other one\)"),
    ],
    ids=["unknown", "itself", "method"],
)
def test_what_is_compared_with_is_another_analysis_of_the_method(
    analyses: dict[str, Any], found: str, fitting: str
) -> None:
    with pytest.raises(ConfigError, match=rf"open\.compare: found '{found}'; .* {fitting}$"):
        config(**analyses)


def test_tables_are_those_that_were_asked_for() -> None:
    def names(**keys: Any) -> set[str]:
        return set(TrajectoryCorrelationConfig.model_validate(keys).result_tables())

    least = names(**resolved())
    drawn = {f"structure.{end}" for end in ("pdb", "pml", "vmd", "cxc", "defattr")} | {"frames.tsv"}
    assert least == {"matrices.npz", "residues.tsv", "communities.tsv", "domains.tsv"} | drawn
    assert names(**resolved(communities=[])) == least - {"communities.tsv", "domains.tsv"}
    assert names(**tables()) == least - drawn
    more = resolved(paths=[["a", "b"]], g_correlation_text=True, compare="other")
    more["domains"] = {"CORE": "resid 1"}
    ends = ("network", "residues", "contacts", "domains", "communities", "agreement")
    difference = {f"difference.{end}" for end in ("parquet", "npz", "pdb", "pml", "cxc")}
    difference |= {f"difference_{end}.tsv" for end in ends}
    more |= {"direction": True, "estimator": {"kind": "ksg"}}
    difference |= {"directions.parquet", "directed_network.tsv"}
    assert names(**more) == least | {"paths.tsv", "g_correlation.txt"} | difference
    assert set(TrajectoryCorrelationConfig.tables) == names(**more)


def test_configuration_and_library_take_the_kinds_of_the_table_and_each_has_an_estimator() -> None:
    described = {kind.name for kind in KINDS.values() if kind.description}
    assert {*get_args(MotionEstimatorConfig.model_fields["kind"].annotation)} == described
    of_library = inspect.signature(trajectory_correlation).parameters["kind"].annotation
    assert {*re.findall(r"\w+", of_library)} == {"Literal", *described}
    package = "pairtile.methods.trajectory_correlation"
    for kind in KINDS.values():
        if kind.name != "auto":
            assert issubclass(resolve_name(f"{package}.{kind.estimator}"), PairBlocks)
