"""A method of another package (tests/packages/kendall): found by its entry point, it has all that
pairtile's own have, and no file of pairtile knows of it."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
import time
import tomllib
from pathlib import Path
from pkgutil import resolve_name
from typing import cast

import jinja2
import lxml.html
import networkx
import numpy as np
import pandas as pd
import pyarrow.parquet as pq
import pytest
from pairtile.downstream.members import members_section
from pairtile.io.networks import export_network
from pairtile.io.networks.edge_lists import regulon_table
from pairtile.io.networks.table import NetworkTable
from pairtile.method import Method, methods, sign_column, value_columns
from pairtile.report.formats import join_list
from pairtile.report.method_report import best_edges
from pairtile.report.results import read_results
from pairtile.report.text import PageText
from pairtile.runtime.job import logged_to
from pairtile.view.index import DEFECT, last_error
from paths import ROOT, TESTS
from result_files import write_results
from scipy.stats import kendalltau
from workflow_runs import command, environment, run, write_config

PACKAGE = TESTS / "packages" / "kendall"
GENES, SAMPLES = 40, 30


@pytest.fixture(scope="module")
def installed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder on the path with what ``pip install`` would write of the package."""
    project = tomllib.loads((PACKAGE / "pyproject.toml").read_text())["project"]
    folder = tmp_path_factory.mktemp("site")
    info = folder / f"{project['name'].replace('-', '_')}-{project['version']}.dist-info"
    info.mkdir()
    (info / "METADATA").write_text(f"Name: {project['name']}\nVersion: {project['version']}\n")
    [(name, place)] = project["entry-points"]["pairtile.methods"].items()
    (info / "entry_points.txt").write_text(f"[pairtile.methods]\n{name} = {place}\n")
    (folder / "pairtile_kendall").symlink_to(PACKAGE / "pairtile_kendall")
    return folder


@pytest.fixture
def with_kendall(installed: Path, monkeypatch: pytest.MonkeyPatch) -> dict[str, str]:
    """The environment of a user who has installed it."""
    monkeypatch.setattr("workflow_runs.environment", lambda: user)
    user = environment() | {"PYTHONPATH": os.pathsep.join([str(installed), str(ROOT / "workflow")])}
    return user


def pairtile(user: dict[str, str], *arguments: str) -> subprocess.CompletedProcess[str]:
    asked = [sys.executable, "-m", "pairtile", *arguments]
    return subprocess.run(asked, env=user, capture_output=True, text=True, timeout=120)


@pytest.fixture
def data(tmp_path: Path) -> pd.DataFrame:
    """expression.tsv in groups of four related genes, and a configuration with three chunks."""
    draw = np.random.default_rng(1)
    common = np.repeat(draw.normal(size=(GENES // 4, SAMPLES)), 4, axis=0)
    values = common + draw.normal(scale=0.4, size=common.shape)
    table = pd.DataFrame(values, index=[f"g{k}" for k in range(GENES)])
    table.columns = [f"s{k}" for k in range(SAMPLES)]
    table.to_csv(tmp_path / "expression.tsv", sep="\t", index_label="gene")
    analysis = {"method": "kendall", "expression": "expression.tsv", "chunks": 3}
    write_config(tmp_path, {"net": analysis})
    return table


def test_a_package_of_at_most_150_lines() -> None:
    files = [path for path in PACKAGE.rglob("*") if path.is_file() and path.suffix != ".pyc"]
    assert sum(len(path.read_text().splitlines()) for path in files) <= 150


def test_commands_and_documentation_know_the_method(
    with_kendall: dict[str, str], data: pd.DataFrame, tmp_path: Path
) -> None:
    assert "kendall: Kendall's rank correlation tau-a" in pairtile(with_kendall, "init").stdout
    assert "min_tau: 0.5" in pairtile(with_kendall, "init", "kendall").stdout
    expression = str(tmp_path / "expression.tsv")
    annotations = tmp_path / "samples.tsv"
    batches = [f"{sample}\tb{number % 2}\n" for number, sample in enumerate(data.columns)]
    annotations.write_text("sample\tplate\n" + "".join(batches))
    asked: dict[str, object] = {"method": "kendall", "expression": expression, "chunks": 3}
    asked["samples"] = {"annotations": str(annotations)}
    asked["preprocess"] = {"regress_out": ["plate"]}
    write_config(tmp_path, {"net": asked})
    checked = pairtile(with_kendall, "check", str(tmp_path / "config.yaml"))
    assert checked.returncode == 0, checked.stderr
    assert "780 pairs in 6 tiles, 3 chunks" in checked.stdout
    assert "plate" in checked.stdout  # keys of every table of expression do what they say
    code = "from pairtile.config.describe import readme_text; print(readme_text())"
    page = subprocess.check_output([sys.executable, "-c", code], env=with_kendall, text=True)
    assert "## `method: kendall`" in page
    assert "| `0.5` | Pairs whose tau is at least this" in page


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        (
            {"min_tau": 2},
            "analyses.net.min_tau: found 2; expected a number of at least 0 and at most 1",
        ),
        ({"min_tua": 0.5}, "did you mean min_tau"),
        ({"method": "kendal"}, "did you mean kendall"),
    ],
)
def test_its_configuration_is_checked_with_the_same_care(
    with_kendall: dict[str, str], tmp_path: Path, changes: dict[str, object], message: str
) -> None:
    analysis = {"method": "kendall", "expression": "e.tsv"} | changes
    config = write_config(tmp_path, {"net": analysis})
    checked = pairtile(with_kendall, "check", str(config))
    assert checked.returncode != 0
    assert message in checked.stderr
    assert "Traceback" not in checked.stderr


@pytest.mark.workflow
@pytest.mark.complete
def test_it_runs_in_chunks_is_killed_goes_on_and_is_reported(
    with_kendall: dict[str, str], data: pd.DataFrame, tmp_path: Path
) -> None:
    out = tmp_path / "results" / "net"
    started = subprocess.Popen(
        command(tmp_path, "--cores", "1"),
        cwd=ROOT,
        env=with_kendall,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        start_new_session=True,
    )
    while not list(out.glob("chunks/tiles-*.parquet")):
        assert started.poll() is None
        time.sleep(0.02)
    os.killpg(started.pid, signal.SIGKILL)
    started.wait()
    finished = {path: path.stat().st_mtime_ns for path in out.glob("chunks/tiles-*.parquet")}
    assert 0 < len(finished) < 3

    again = run(tmp_path)
    assert again.code == 0, again.text
    assert {path: path.stat().st_mtime_ns for path in finished} == finished

    network = pd.read_csv(out / "network.tsv", sep="\t")
    expected = {
        (a, b): kendalltau(data.loc[a], data.loc[b]).statistic
        for n, a in enumerate(data.index)
        for b in data.index[n + 1 :]
    }
    expected = {pair: tau for pair, tau in expected.items() if abs(tau) >= 0.5}
    found = dict(
        zip(zip(network["source"], network["target"], strict=True), network["tau"], strict=True)
    )
    assert found.keys() == expected.keys()
    assert len(found) >= GENES
    np.testing.assert_allclose([found[pair] for pair in expected], list(expected.values()))
    assert networkx.read_graphml(out / "network.graphml").number_of_edges() == len(expected)

    about = pq.read_schema(out / "network.parquet").field("tau").metadata
    assert about == {b"description": b"Kendall's tau"}
    summary = json.loads((out / "summary.json").read_text())
    [warned] = [m for m in summary["messages"] if m["code"] == "few_samples"]
    assert (warned["severity"], warned["numbers"]) == ("warning", {"samples": SAMPLES})
    assert summary["counts"]["pairs_scored"] == GENES * (GENES - 1) // 2
    assert (out / "figures" / "tau_of_edges.svg").is_file()
    page = lxml.html.parse(out / "report.html")
    assert "Kendall's tau" in page.xpath("string(//header)")
    assert page.xpath("//*[@id='figures']//img[contains(@alt, 'Tau of the edges')]")
    assert "at least 0.5, of either sign" in page.xpath("string(//*[@id='methods'])")
    assert run(tmp_path).done_before


VIEWED = """
import json
from pathlib import Path
import pairtile
from pairtile.command.compare import read_network
from pairtile.downstream.activity import weighted_edges
from pairtile.view.pair_store import open_store

made = pairtile.analyse("kendall", expression="expression.tsv", folder="net")
made.network.to_csv("alone.tsv", sep="\\t", index=False)
store = open_store(Path("net"))
found = {
    "best": list(store.named(store.best())),
    "partners": list(store.named(store.partners(store.number("g1")))),
    "alone": read_network(Path("alone.tsv")).to_numpy().tolist(),
    "likelihood": weighted_edges(made.network)["likelihood"].tolist(),
}
print(json.dumps(found))
"""


def test_its_pairs_are_viewed_and_its_network_is_known_by_its_columns(
    with_kendall: dict[str, str], data: pd.DataFrame, tmp_path: Path
) -> None:
    data.iloc[1::2] *= -1.0
    data.to_csv(tmp_path / "expression.tsv", sep="\t", index_label="gene")
    user = with_kendall | {"XDG_CACHE_HOME": str(tmp_path)}
    asked = [sys.executable, "-c", VIEWED]
    found = json.loads(subprocess.check_output(asked, env=user, cwd=tmp_path, text=True))
    tau = {
        (a, b): kendalltau(data.loc[a], data.loc[b]).statistic
        for n, a in enumerate(data.index)
        for b in data.index[n + 1 :]
    }
    tau = {pair: value for pair, value in tau.items() if abs(value) >= 0.5}
    size = [abs(score) for _, score in found["best"]]
    assert size == sorted(size, reverse=True)
    assert {tuple(pair): score for pair, score in found["best"]} == pytest.approx(tau)
    partners = {frozenset(pair): score for pair, score in found["partners"]}
    known = {frozenset(pair): value for pair, value in tau.items() if "g1" in pair}
    assert partners == pytest.approx(known)
    assert min(known.values()) < 0 < max(known.values())
    assert {(a, b): score for a, b, score in found["alone"]} == pytest.approx(tau)
    strongest = max(map(abs, tau.values()))
    expected = [abs(score) / strongest for _, _, score in found["alone"]]
    assert found["likelihood"] == pytest.approx(expected)


def test_a_method_that_cannot_be_loaded_is_named(installed: Path, tmp_path: Path) -> None:
    info = tmp_path / "broken-1.0.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Name: broken\nVersion: 1.0\n")
    (info / "entry_points.txt").write_text("[pairtile.methods]\nbroken = not_there:METHOD\n")
    user = environment() | {"PYTHONPATH": os.pathsep.join([str(tmp_path), str(ROOT / "workflow")])}
    done = pairtile(user, "init")
    assert done.returncode != 0
    assert "entry point broken = not_there:METHOD" in done.stderr
    assert "Traceback" not in done.stderr


MISTAKES = {
    "value": ("text.md.j2", "{% macro headline() %}\n{{ counts.no.such }}\n{% endmacro %}\n", 2),
    "syntax": ("text.md.j2", "\n\n{% macro headline( %}\n", 3),
    "outside_macros": ("text.md.j2", "\n{% set share = 1 // 0 %}\n", 2),
    "function": ("report.py", "def chart():\n    return [][0]\n", 2),
    "wrong_call": (
        "report.py",
        "from pairtile.report.formats import join_list\n\ndef chart():\n    return join_list(3)\n",
        4,
    ),
}


@pytest.mark.parametrize("name", [*MISTAKES])
def test_its_own_mistakes_are_told_as_its_own(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    file, text, line = MISTAKES[name]
    package = made_package(tmp_path, monkeypatch, f"of_others_{name}", {file: text})
    results = read_results(write_results(tmp_path / "results"))
    results.summary["method"] = package
    log = tmp_path / "job.log"
    make = (
        (lambda: PageText(results).text("headline"))
        if file == "text.md.j2"
        else resolve_name(f"{package}.report:chart")
    )
    kinds = (jinja2.TemplateError, ArithmeticError, LookupError, TypeError)
    with pytest.raises(kinds), logged_to(log, tmp_path):
        make()
    said = last_error(log)
    assert f"a defect of {package} ({file}, line {line}): " in said
    assert said.startswith(DEFECT)  # as the run's last words and its page know it


def test_mistakes_of_pairtile_stay_pairtile_s(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    text = (
        "from pairtile.methods.mutual_information.signs import modes\n"
        "def chart():\n    return modes(None, None, None)\n"
    )
    package = made_package(tmp_path, monkeypatch, "of_others_sound", {"report.py": text})
    for number, broken in enumerate([join_list, resolve_name(f"{package}.report:chart")]):
        log = tmp_path / f"{number}.log"
        with pytest.raises(TypeError), logged_to(log, tmp_path):
            broken()
        assert last_error(log).startswith("a defect of pairtile: ")


SIGNED = """
["network.parquet"]
"source, target" = {type = "string", meaning = "names"}
strength = {type = "double", value = true, meaning = "score"}
slope = {type = "double", sign = true, meaning = "of a line"}
effect = {type = "string", sign = true, meaning = "in a word"}
"""


def test_sign_and_value_of_an_edge_are_the_columns_that_its_method_declares(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    method = made_package(tmp_path, monkeypatch, "of_others_signed", {"columns.toml": SIGNED})
    edges = pd.DataFrame({"source": ["a", "a", "b"], "target": ["b", "c", "c"]})
    edges = edges.assign(strength=[0.3, 0.2, 0.1], slope=[0.5, -0.9, 0.1], spearman=-1.0)
    edges.insert(2, "mi_bits", 1.0)
    items, about = pd.DataFrame({"name": [*"abc"]}), {"method": method}

    def table(**more: object) -> NetworkTable:
        return NetworkTable.build(edges, items, directed=True, metadata=about, **more)

    assert (table().value_column, table().sign_column) == ("strength", "slope")
    assert regulon_table(table(score="strength"))["weight"].tolist() == [0.5, -0.9, 0.1]
    assert table(score="slope").strongest().tolist() == [1, 0, 2]
    for format in ("cx2", "html"):
        path = tmp_path / format
        export_network(edges, items, format, path, directed=True, name="n", metadata=about)
    assert '"attribute": "slope"' in re.sub(r'":"', '": "', (tmp_path / "cx2").read_text())
    assert '"heading": "sign"' in re.sub(r'":"', '": "', (tmp_path / "html").read_text())

    folder = write_results(tmp_path / "results")
    edges.assign(effect=["repression", "", "activation"]).to_parquet(folder / "network.parquet")
    pd.DataFrame({"name": [*"abc"], "kept": True, "reason": ""}).to_parquet(
        folder / "items.parquet"
    )
    results = read_results(folder)
    results.summary |= {"method": method, "ranked_by": {"score": "slope"}, "directed": True}
    assert results.strongest(3)["slope"].tolist() == [-0.9, 0.5, 0.1]
    assert best_edges(results)[1].columns.tolist() == ["source", "target", "slope", "effect"]
    [a, b] = members_section(results, []).values["regulators"]
    assert [(row["up"], row["down"]) for row in (a, b)] == [(0.0, 0.5), (1.0, 0.0)]

    # Another method says nothing of these columns; of an unknown one they are what any says.
    assert sign_column(edges, "mirna_targets") is None
    assert sign_column(edges[["slope"]]) == "slope"
    assert value_columns(edges, "mirna_targets") == []
    assert value_columns(edges) == ["mi_bits", "strength"]


def made_package(
    folder: Path, monkeypatch: pytest.MonkeyPatch, name: str, files: dict[str, str]
) -> str:
    """A method of that name, in a package of that name, that is known to this process."""
    (folder / name).mkdir()
    for file, text in ({"__init__.py": ""} | files).items():
        (folder / name / file).write_text(text)
    monkeypatch.syspath_prepend(folder)
    monkeypatch.setitem(cast(dict[str, Method], methods()), name, Method(name, name, "", ""))
    return name
