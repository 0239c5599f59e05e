"""The command ``pairtile``: init, check, run, simulate, compare."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
import pytest
import yaml
from hypothesis import given, settings
from hypothesis import strategies as st
from pairtile.command import main
from pairtile.command.run import relay
from pairtile.config.load import load_config
from pairtile.config.root import models
from pairtile.errors import ConfigError
from pairtile.method import methods
from pairtile.report.results import read_results
from pairtile.runtime.files import write_json
from pairtile.runtime.progress import MARK
from pairtile.statistics.comparison import compare_networks
from programs import python
from result_files import write_results
from scipy import stats
from small_trajectories import adenylate_kinase_files
from small_trajectories import write as write_trajectory
from workflow_runs import ROOT, environment, write_config, write_data

NAMES = list(models())


@pytest.mark.parametrize("method", NAMES)
def test_init_writes_a_configuration_that_loads(
    tmp_path: Path, method: str, capsys: pytest.CaptureFixture[str]
) -> None:
    out = tmp_path / "mine.yaml"
    assert main(["init", method, "--out", str(out)]) == 0
    config = load_config(out)
    assert [a.method for a in config.analyses.values()] == [method]
    assert str(out) in out.read_text().split("analyses:")[0]
    capsys.readouterr()
    assert main(["init", method]) == 0
    assert yaml.safe_load(capsys.readouterr().out) == yaml.safe_load(out.read_text())


def test_init_lists_the_methods_and_refuses_others(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["init"]) == 0
    listed = [line.partition(":")[0] for line in capsys.readouterr().out.splitlines()]
    assert listed == NAMES
    assert main(["init", "aracne"]) == 1
    error = capsys.readouterr().err
    assert "'aracne'" in error
    assert all(name in error for name in NAMES)


def test_init_does_not_write_over_a_file(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out = tmp_path / "mine.yaml"
    out.write_text("mine")
    assert main(["init", NAMES[0], "--out", str(out)]) == 1
    assert out.read_text() == "mine"
    assert "--force" in capsys.readouterr().err
    assert main(["init", NAMES[0], "--out", str(out), "--force"]) == 0
    assert out.read_text() != "mine"


class Checked(NamedTuple):
    """What came of ``pairtile check``."""

    code: int
    out: str
    err: str


@pytest.fixture
def check(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> Callable[[dict[str, Any]], Checked]:
    """Checks a configuration of these sections, in a folder with data for them."""
    write_data(tmp_path)
    monkeypatch.chdir(tmp_path)

    def checked(sections: dict[str, Any]) -> Checked:
        code = main(["check", str(write_config(tmp_path, sections))])
        return Checked(code, *capsys.readouterr())

    return checked


Check = Callable[[dict[str, Any]], Checked]


def test_check_shows_the_plan_and_leaves_nothing(check: Check, tmp_path: Path) -> None:
    before = {path.name for path in tmp_path.rglob("*")} | {"config.yaml"}
    found = check({"net": {"chunks": 3, "score": "auto"}, "other": {}})
    assert found.code == 0
    for text in (
        "2 analyses",
        "genes kept: 60",
        "work: 1,770 pairs in 1 tile, 1 chunk, in two passes",
        "score: combined (auto).",
        "order 4, ranks (auto: ",
        "(start 3 s, report 2 s",
        "memory of a chunk",
    ):
        assert text in found.out
    assert {path.name for path in tmp_path.rglob("*")} == before


GOLD_OF_OTHERS = "X1\tX2\nX2\tX3\n"


@pytest.mark.parametrize(
    ("section", "message"),
    [
        ({"gold_standard": "gold.tsv"}, "none of the 2 gold standard edges"),
        (
            {"samples": {"annotations": "labels.tsv"}, "differential": {"label": "all"}},
            "'all' has 'same' (60); expected two labels with at least 8 samples each",
        ),
        (
            {
                "method": "multimodal_correlation",
                "expression": "expression.tsv",
                "estimator": {"min_samples": 61},
            },
            "expression.tsv: found 60 samples; expected at least estimator.min_samples (61)",
        ),
    ],
)
def test_check_finds_what_a_run_would_find_after_scoring(
    check: Check, tmp_path: Path, section: dict[str, object], message: str
) -> None:
    (tmp_path / "gold.tsv").write_text(GOLD_OF_OTHERS)
    samples = (tmp_path / "expression.tsv").read_text().splitlines()[0].split("\t")[1:]
    rows = "".join(f"{sample}\tsame\n" for sample in samples)
    (tmp_path / "labels.tsv").write_text(f"sample\tall\n{rows}")
    found = check({"net": section})
    assert found.code == 1
    assert message in found.err


def test_check_goes_on_after_a_refusal_and_names_each(check: Check, tmp_path: Path) -> None:
    (tmp_path / "strangers.txt").write_text("nobody\n")
    (tmp_path / "gold.tsv").write_text(GOLD_OF_OTHERS)
    few = {"number": 2, "resample": "subsample", "fraction": 0.2}
    found = check(
        {
            "missing": {"expression": "nowhere.tsv"},
            "strangers": {"regulators": "strangers.txt"},
            "sound": {},
            "gold": {"gold_standard": "gold.tsv"},
            "few": {"bootstraps": few, "preprocess": {"min_samples": 20}},
        }
    )
    assert found.code == 1
    lines = found.err.splitlines()
    for name, place in (
        ("missing", "nowhere.tsv"),
        ("strangers", "strangers.txt"),
        ("gold", "gold.tsv"),
        ("few", "bootstraps.fraction"),
    ):
        assert any(f"{name}: " in line and place in line for line in lines)
    assert len(lines) == 4
    assert found.out.count("genes kept: 60") == 1


@pytest.mark.parametrize(
    ("section", "place"),
    [
        ({"expression": "{sample}.tsv"}, "analyses.net.expression"),
        ({"gold_standard": "gold<1>.tsv"}, "analyses.net.gold_standard"),
        (
            {"method": "trajectory_correlation", "topology": "a.pdb", "trajectories": ["{1}.dcd"]},
            "analyses.net.trajectories.0",
        ),
    ],
)
def test_a_path_that_snakemake_would_fill_in_is_refused_before_any_file_is_looked_for(
    tmp_path: Path, section: dict[str, object], place: str
) -> None:
    """As the workflow: both read the configuration by ``load_config``."""
    with pytest.raises(ConfigError) as error:
        load_config(write_config(tmp_path, {"net": section}))
    assert f"{place}: found" in str(error.value)


def test_check_finds_ends_of_paths_that_are_not_there(check: Check) -> None:
    section = {"method": "trajectory_correlation", **adenylate_kinase_files()}
    found = check({"adk": section | {"paths": [["A:LYS13", "4AKE:ASP84"]]}})
    assert found.code == 1
    assert "paths: found 'A:LYS13'" in found.err


def test_check_refuses_wrong_contacts_and_looks_for_none(check: Check, tmp_path: Path) -> None:
    """Which residues touch only the network asks: it can take as long as the scores."""
    files, _ = write_trajectory(tmp_path)
    section = {"method": "trajectory_correlation", **files, "estimator": {"surrogates": 0}}
    for contacts in ({"cutoff": 4.0}, False):
        checked = check({"net": section | {"contacts": contacts}})
        assert checked.code == 0
        assert "contacts:" not in checked.out
    for key, value in (("cutoff", 0), ("fraction", 1.5), ("distance", 4)):
        wrong = check({"net": section | {"contacts": {key: value}}})
        assert wrong.code == 1
        assert f"contacts.{key}: found" in wrong.err


def test_check_says_each_thing_once(tmp_path: Path) -> None:
    write_data(tmp_path)
    config = write_config(tmp_path, {"net": {"regulators": "regulators.txt"}})
    with (tmp_path / "regulators.txt").open("a") as file:
        file.write("nobody\n")
    # A process of its own: pytest takes what is logged away from standard error.
    run = subprocess.run(
        [sys.executable, "-m", "pairtile", "check", str(config)],
        cwd=tmp_path,
        env=environment() | {"PYTHONPATH": str(ROOT / "workflow")},
        capture_output=True,
        text=True,
        check=True,
    )
    assert run.stdout.count("nobody") == 1
    assert run.stderr == ""


def test_check_asks_about_a_table_of_more_samples_than_genes(check: Check, tmp_path: Path) -> None:
    table = pd.DataFrame(np.random.default_rng(1).normal(size=(40, 12)))
    hints = []
    for k, turned in enumerate((table, table.T)):
        turned.add_prefix("c").rename(lambda row: f"r{row}").to_csv(tmp_path / f"{k}.tsv", sep="\t")
        found = check({"net": {"expression": f"{k}.tsv", "preprocess": {"min_samples": 5}}})
        assert found.code == 0
        hints.append("see orientation" in found.out)
    assert hints == [False, True]


@pytest.fixture
def runs(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> list[Path]:
    """The configurations that would be run, from an empty folder."""
    found: list[Path] = []

    def run(config: Path, arguments: Sequence[str]) -> int:
        assert list(arguments) == ["--cores", "2"]
        found.append(config)
        return 0

    monkeypatch.setattr("pairtile.command.short.run", run)
    monkeypatch.chdir(tmp_path)
    return found


def test_demo_lays_its_files_here_but_over_no_other(
    runs: list[Path], capsys: pytest.CaptureFixture[str]
) -> None:
    for _ in range(2):  # the same command goes on after a kill
        assert main(["demo", "--", "--cores", "2"]) == 0
    [analysis] = load_config(runs[0]).analyses.values()
    assert all(Path(path).is_file() for path in analysis.input_files().values())
    runs[0].write_text("analyses: {}")
    assert main(["demo", "--", "--cores", "2"]) == 1
    assert str(runs[0]) in capsys.readouterr().err
    assert len(runs) == 2


def test_network_writes_the_configuration_of_one_analysis(
    runs: list[Path], capsys: pytest.CaptureFixture[str]
) -> None:
    def network(*arguments: str) -> int:
        return main(["network", "table.tsv", "--out", "net", *arguments, "--", "--cores", "2"])

    given = ("--regulators", "tfs.txt", "--settings", "{keep: {fdr: 0.05}, export: [tsv]}")
    assert network(*given) == network(*given) == 0
    config = load_config(runs[-1])
    assert config.results == "net"
    analysis = config.analyses["network"]
    assert analysis.method == "mutual_information"
    assert analysis.input_files() == {"expression": "table.tsv", "regulators": "tfs.txt"}
    assert analysis.resolved()["keep"] == {"fdr": 0.05}
    for wrong, told in [
        (("--method", "predictor_pairs"), "net/config.yaml"),
        (("--method", "mirna_targets"), "'mirna_targets'"),
        (("--settings", "fdr"), "'fdr'"),
        (("--settings", "{fdr"), "'{fdr'"),
    ]:
        assert network(*wrong) == 1
        assert told in capsys.readouterr().err
    assert len(runs) == 2


def test_simulate_is_the_simulation(tmp_path: Path) -> None:
    out = tmp_path / "made"
    assert main(["simulate", "--genes", "12", "--samples", "9", "--out", str(out)]) == 0
    assert len(pd.read_csv(next(out.glob("expression.tsv*")), sep="\t")) == 12


def test_a_figure_for_a_paper_is_as_wide_as_asked_with_its_numbers_beside(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = write_results(tmp_path / "demo")
    monkeypatch.chdir(tmp_path)
    asked = ["figure", "degree_distribution", "--analysis", str(folder)]
    assert main([*asked, "--width", "85mm", "--format", "svg"]) == 0
    svg = Path("demo_degree_distribution.svg").read_text()
    points = float(re.search(r'<svg[^>]* width="([\d.]+)pt"', svg)[1])  # type: ignore[index]
    assert points == pytest.approx(85 / 25.4 * 72, rel=1e-3)
    assert "<text" in svg
    numbers = pd.read_csv("demo_degree_distribution.tsv", sep="\t")
    degrees = read_results(folder).degree
    of_genes = numbers[numbers["series"] == "edges of a gene"].set_index("x")["y"]
    assert of_genes[1] == (degrees >= 1).sum()
    assert main([*asked, "--format", "pdf"]) == 0
    assert Path("demo_degree_distribution.pdf").read_bytes().startswith(b"%PDF")
    for wrong, said in (
        (["--width", "wide"], "found wide; expected millimetres"),
        (["--colour-by", "sex"], "expected one of activity, module_genes"),
    ):
        assert main([*asked, *wrong]) == 1
        assert said in capsys.readouterr().err
    # The network of one gene, its table the rows of the network.
    edges = read_results(folder).strongest(10_000)
    gene = edges["source"][0]
    own = edges[(edges[["source", "target"]] == gene).any(axis=1)]
    one = ["figure", "regulator", "--analysis", str(folder)]
    assert main([*one, "--of", gene]) == 0
    table = pd.read_csv(f"demo_regulator_{gene}.tsv", sep="\t")
    joined = table[(table[["source", "target"]] == gene).any(axis=1)]
    assert (
        joined[["source", "target"]].to_numpy().tolist()
        == own[["source", "target"]].to_numpy().tolist()
    )
    drawn = set(re.findall(r">([^<>]+)</text>", Path(f"demo_regulator_{gene}.svg").read_text()))
    assert drawn == {*own["source"], *own["target"]}
    for wrong, said in (([], "found ''; expected an item"), (["--of", "?"], "found '?'; expected")):
        assert main([*one, *wrong]) == 1
        assert said in capsys.readouterr().err
    assert main(["figure", "nothing", "--analysis", str(folder)]) == 1
    assert "found 'nothing'; expected one of score_distribution" in capsys.readouterr().err


def test_compare_reads_results_and_tells_what_is_shared(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    one = pd.DataFrame(
        {"source": ["a", "a", "b"], "target": ["b", "c", "c"], "correlation": [0.9, -0.8, 0.7]}
    )
    two = pd.DataFrame(
        {"source": ["b", "c", "d"], "target": ["a", "a", "a"], "correlation": [0.5, 0.6, 0.7]}
    )
    (tmp_path / "one").mkdir()
    one.to_parquet(tmp_path / "one/network.parquet")
    two.to_csv(tmp_path / "two.tsv", sep="\t", index=False)
    given_paths = [str(tmp_path / "one"), str(tmp_path / "two.tsv")]
    assert main(["compare", *given_paths, "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert (found["pairs_first"], found["pairs_second"], found["pairs_shared"]) == (3, 3, 2)
    assert found["sign_changes"] == 1
    assert found["jaccard"] == pytest.approx(0.5)
    assert main(["compare", *given_paths]) == 0
    assert "shared pairs: 2" in capsys.readouterr().out
    strangers = one.replace({"a": "x", "b": "y", "c": "z"})
    strangers.to_csv(tmp_path / "strangers.tsv", sep="\t", index=False)
    assert main(["compare", given_paths[0], str(tmp_path / "strangers.tsv")]) == 0
    text = capsys.readouterr().out
    assert "shared items: none" in text
    assert "nan" not in text
    one.iloc[:0].to_csv(tmp_path / "empty.tsv", sep="\t", index=False)
    assert main(["compare", given_paths[0], str(tmp_path / "empty.tsv")]) == 0
    assert f"{tmp_path / 'empty.tsv'}: an empty network" in capsys.readouterr().out
    pd.DataFrame({"group": ["x", "y"], "analysis": ["s.x", "s.y"]}).to_csv(
        tmp_path / "one/groups.tsv", sep="\t", index=False
    )
    assert main(["compare", *given_paths]) == 1
    assert f"one of {tmp_path / 's.x'}, {tmp_path / 's.y'}" in capsys.readouterr().err
    (tmp_path / "one/groups.tsv").unlink()
    assert main(["compare", given_paths[0], str(tmp_path / "nothing")]) == 1
    assert "nothing: found No such file or directory; expected" in capsys.readouterr().err
    (tmp_path / "bad.tsv").write_text("x\ty\n1\t2\n")
    assert main(["compare", given_paths[0], str(tmp_path / "bad.tsv")]) == 1
    assert "bad.tsv" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("changes", "differ"),
    [
        ({}, {}),
        ({"estimator": {"bins": 7, "order": 3}}, {"estimator.bins": [10, 7]}),
        (
            {"preprocess": {"log2": False, "normalize": "quantile"}, "keep": {"fdr": 0.01}},
            {
                "preprocess.log2": [True, False],
                "preprocess.normalize": ["cpm", "quantile"],
                "keep.top_edges": [40, None],
            },
        ),
        ({"threshold": {"method": "auto"}}, {"threshold.method": ["rmt", "fdr"]}),
        ({"dpi": False}, {"dpi": [{"rule": "relative"}, False]}),
        ({"expression": "other.tsv", "seed": 9, "obs": {"donor": ["2"]}}, {}),
    ],
)
def test_compare_says_which_settings_differ(
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    changes: dict[str, Any],
    differ: dict[str, Any],
) -> None:
    parameters = {
        "method": "mutual_information",
        "expression": "e.tsv",
        "estimator": {"bins": 10, "order": 3},
        "preprocess": {"log2": True, "log2_requested": "auto", "normalize": "cpm"},
        "keep": {"fdr": 0.01, "top_edges": 40},
        "threshold": {"method": "auto"},
        "dpi": {"rule": "relative"},
        "seed": 1,
    }
    for name, own, taken in (
        ("one", {}, "rmt"),
        ("two", changes, "fdr" if "threshold" in changes else "rmt"),
    ):
        folder = tmp_path / name
        folder.mkdir()
        table = pd.DataFrame({"source": list("aab"), "target": list("bcc"), "score": [3.0, 2, 1]})
        table.rename(columns={"score": "mi_bits"}).to_parquet(folder / "network.parquet")
        summary = {
            "parameters": parameters | own,
            "threshold": {"method": taken},
            "inputs": {"expression": {"path": "e.tsv"}},
        }
        write_json(folder / "summary.json", summary)
    paths = [str(tmp_path / "one"), str(tmp_path / "two/network.parquet")]
    assert main(["compare", *paths, "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["settings_that_differ"] == differ
    assert main(["compare", *paths]) == 0
    warned = capsys.readouterr().out.partition("warning: ")[2]
    assert bool(warned) == bool(differ)
    assert all(key in warned for key in differ)
    if "estimator" in changes:
        assert "estimator: {bins: 10}" in warned
    (tmp_path / "one/summary.json").write_text('{"parameters": ')
    assert main(["compare", *paths]) == 1
    assert "one/summary.json" in capsys.readouterr().err


EDGES = st.lists(
    st.tuples(
        st.sampled_from("abcdef"), st.sampled_from("abcdef"), st.floats(-1, 1, allow_nan=False)
    ).filter(lambda edge: edge[0] != edge[1]),
    max_size=20,
).map(lambda rows: pd.DataFrame(rows, columns=["source", "target", "score"]))


@settings(deadline=None)
@given(EDGES, EDGES)
def test_comparison_agrees_with_sets(one: pd.DataFrame, two: pd.DataFrame) -> None:
    found, back = compare_networks(one, two), compare_networks(two, one)
    sets = [
        {frozenset(pair) for pair in zip(t["source"], t["target"], strict=True)} for t in (one, two)
    ]
    assert (found.pairs_first, found.pairs_second) == (len(sets[0]), len(sets[1]))
    assert found.pairs_shared == back.pairs_shared == len(sets[0] & sets[1])
    if sets[0] | sets[1]:
        assert found.jaccard == pytest.approx(len(sets[0] & sets[1]) / len(sets[0] | sets[1]))


def test_overlap_by_chance_is_hypergeometric() -> None:
    names = [f"g{k}" for k in range(10)]
    ring = pd.DataFrame({"source": names, "target": [*names[1:], names[0]], "score": 1.0})
    found = compare_networks(ring, ring)
    assert found.p_overlap == pytest.approx(stats.hypergeom.sf(9, 45, 10, 10))
    assert np.isnan(found.rank_correlation)  # all scores are equal


def test_a_network_without_scores_is_not_compared() -> None:
    whole = pd.DataFrame({"source": ["a"], "target": ["b"], "score": [1.0]})
    with pytest.raises(ValueError, match=r"second network: found no column score; expected"):
        compare_networks(whole, whole.drop(columns="score"))


def test_the_command_runs_as_a_module() -> None:
    done = subprocess.run(
        [sys.executable, "-m", "pairtile", "--version"],
        cwd=ROOT / "workflow",
        env=environment(),
        capture_output=True,
        text=True,
        check=True,
    )
    assert done.stdout.startswith("pairtile ")


OUTPUT = f"""Building DAG of jobs...
Job 1: net: read and clean the input
{MARK}  0 %  net: read and clean the input
13:55:55 INFO genes read: 300
13:55:55 WARNING Samples are few.
1 of 4 steps (25%) done
13:55:58 INFO Compiling for this CPU, once: later runs find it done.
[Mon Nov 23 13:55:55{MARK} 25 %  net: score all pairs
 2026]
13:56:05 INFO 12.5% of 4e+03 pairs done, 3 a second, 90 s left
"""
DONE = f"""pairtile: done
  net: 5 edges
{MARK}pairtile: done
{MARK}  net: 5 edges
Complete log(s): x
"""


def relayed(text: str, everything: bool = False) -> tuple[list[str], bool]:
    said: list[str] = []
    ended = relay(text.splitlines(keepends=True), said.append, everything)
    return said, ended


def test_of_a_run_progress_warnings_and_its_end_are_said() -> None:
    said, ended = relayed(OUTPUT + DONE)
    assert ended
    assert said == [
        "  0 %  net: read and clean the input",
        "       WARNING Samples are few.",
        "       INFO Compiling for this CPU, once: later runs find it done.",
        " 25 %  net: score all pairs",
        "       INFO 12.5% of 4e+03 pairs done, 3 a second, 90 s left",
        "pairtile: done",
        "  net: 5 edges",
    ]


def test_beside_a_logger_of_the_user_every_line_is_said() -> None:
    said, ended = relayed("rich: job 1\n" + OUTPUT + DONE, everything=True)
    assert ended
    assert said[0] == "rich: job 1"
    assert said[-1] == "Complete log(s): x"
    assert said.count("  0 %  net: read and clean the input") == 1


def test_a_run_that_ends_without_a_word_gives_all_that_was_said() -> None:
    said, ended = relayed("Building DAG of jobs...\nMissingInputException in rule prepare\n")
    assert not ended
    assert said[-1] == "MissingInputException in rule prepare"


def test_run_names_a_configuration_that_is_not_there(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["run", "none.yaml"]) == 1
    assert "none.yaml: found no such file; expected a configuration" in capsys.readouterr().err


@pytest.mark.workflow
@pytest.mark.complete
def test_run_runs_the_workflow_from_anywhere(tmp_path: Path) -> None:
    """Two folders away from the checkout; what is after -- reaches Snakemake; the exit code too."""
    write_data(tmp_path)
    write_config(tmp_path, {"net": {}})
    command = [sys.executable, "-m", "pairtile", "run", "config.yaml"]

    def run(*arguments: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [*command, *arguments], cwd=tmp_path, capture_output=True, text=True, check=False
        )

    dry = run("--", "--cores", "1", "--dry-run")
    assert dry.returncode == 0
    assert not (tmp_path / "results").exists()
    done = run()
    assert done.returncode == 0, done.stderr
    assert (tmp_path / "results/net/report.html").is_file()
    assert "pairtile: done" in done.stderr
    assert "net: read and clean the input" in done.stderr
    assert len(done.stderr.splitlines()) < 40
    (tmp_path / "expression.tsv").write_text("gene\ts1\ts2\n")
    failed = run("--", "--cores", "2")
    assert failed.returncode == 1
    assert "pairtile: stopped before the end" in failed.stderr
    assert "expression.tsv" in failed.stderr


@pytest.mark.parametrize("method", NAMES)
def test_every_method_has_a_trial_to_compile_with(tmp_path: Path, method: str) -> None:
    section = methods()[method].write_trial(tmp_path)
    assert section is not None
    analysis = load_config({"analyses": {"trial": {"method": method, **section}}}).analyses["trial"]
    assert all((tmp_path / path).is_file() for path in analysis.input_files().values())


@pytest.mark.complete
def test_what_was_compiled_ahead_is_not_compiled_again(tmp_path: Path) -> None:
    code = (
        "from pairtile.command.warm import try_method; from pairtile.method import methods; "
        "print(try_method(methods()['predictor_pairs'], 'cpu'))"
    )
    listed = []
    for _ in range(2):
        said = python(code, NUMBA_CACHE_DIR=str(tmp_path / "compiled"))
        assert said.startswith("predictor_pairs, cpu: compiled")
        listed.append({path.name for path in (tmp_path / "compiled").rglob("*.nbc")})
    assert listed[0] == listed[1] != set()
