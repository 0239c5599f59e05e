"""A finished run as an RO-Crate that others read, and the run done again from it."""

from __future__ import annotations

import io
import itertools
import json
import os
import shutil
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import yaml
from pairtile.command import main
from pairtile.command.crate import RUN
from pairtile.runtime.files import file_digest
from paths import ROOT
from workflow_runs import finished_run

pytest.importorskip("rocrate", reason="needs rocrate (the extra `crate`)")
pytestmark = [pytest.mark.complete, pytest.mark.workflow, pytest.mark.timeout(600)]


@pytest.fixture(scope="module")
def packed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The crate of a run of two analyses."""
    folder, done = finished_run(tmp_path_factory)
    assert done.code == 0, done.text
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(folder)
        assert main(["crate", "config.yaml", "--out", "crate"]) == 0
    return folder / "crate"


def entities(crate: Path) -> dict[str, Any]:
    graph = json.loads((crate / "ro-crate-metadata.json").read_text())["@graph"]
    return {entity["@id"]: entity for entity in graph}


@pytest.mark.complete
def test_a_summary_says_when_how_and_from_which_code(packed: Path) -> None:
    run = json.loads((packed / "results/net/summary.json").read_text())["run"]
    assert run["command"].startswith("snakemake --cores 2 --configfile ")
    assert run["date"].endswith("+00:00")
    revision = run["git_revision"]
    assert (ROOT / ".git").exists() is (revision is not None)
    assert revision is None or len(revision.removesuffix("-dirty")) == 40


def test_a_crate_says_what_is_what_by_the_profile(packed: Path) -> None:
    found = entities(packed)
    root, action = found["./"], found[RUN]
    assert {"@id": RUN} in root["mentions"]
    assert {one["@id"].removeprefix("https://w3id.org/") for one in root["conformsTo"]} == {
        "ro/wfrun/process/0.5",
        "ro/wfrun/workflow/0.5",
        "workflowhub/workflow-ro-crate/1.0",
    }
    workflow = found[root["mainEntity"]["@id"]]
    assert action["instrument"] == root["mainEntity"]
    assert set(workflow["@type"]) == {"File", "SoftwareSourceCode", "ComputationalWorkflow"}
    inputs = {part["@id"] for part in action["object"]}
    results = {part["@id"] for part in action["result"]}
    assert inputs > {"config.yaml", "inputs/net/expression/expression.tsv"}
    assert results > {"results/net/network.tsv", "results/boot/pairs.parquet"}
    for name in (inputs | results) - {"config.yaml"}:
        assert found[name]["sha256"] == file_digest(packed / name)


def test_results_that_are_not_those_of_the_run_and_its_configuration_are_not_packed(
    tmp_path_factory: pytest.TempPathFactory,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    folder, _ = finished_run(tmp_path_factory)
    monkeypatch.chdir(folder)
    config, table = folder / "config.yaml", folder / "out/net/network.tsv"
    given, whole = config.read_text(), table.read_text()
    for path, content, named in (
        (config, given.replace("p_value: 0.001", "p_value: 0.01"), "keep.p_value"),
        (table, whole + whole.splitlines()[-1] + "\n", "network.tsv"),
        (table, "", "network.tsv"),
    ):
        kept = path.read_text()
        path.write_text(content)
        assert main(["crate", "config.yaml", "--out", "refused"]) == 1
        assert named in capsys.readouterr().err
        assert not (folder / "refused").exists()
        path.write_text(kept)


def test_paths_of_the_configuration_are_those_in_the_crate(packed: Path) -> None:
    config = yaml.safe_load((packed / "config.yaml").read_text())
    assert config["backend"] == "cpu"
    for analysis in config["analyses"].values():
        assert (packed / analysis["expression"]).is_file()


@pytest.mark.parametrize("change", [lambda f: f.write_text("gene\ts1\n"), lambda f: f.unlink()])
def test_a_changed_crate_is_not_run(
    packed: Path, tmp_path: Path, change: Any, capsys: pytest.CaptureFixture[str]
) -> None:
    crate = shutil.copytree(packed, tmp_path / "crate")
    change(crate / "inputs/net/expression/expression.tsv")
    assert main(["reproduce", str(crate), "--yes", "--out", str(tmp_path / "again")]) == 1
    assert "inputs/net/expression/expression.tsv: found " in capsys.readouterr().err
    assert not (tmp_path / "again").exists()


def test_inputs_that_changed_since_the_run_are_not_packed(
    packed: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = packed.parent
    before = (folder / "regulators.txt").read_text()
    (folder / "regulators.txt").write_text(before + "\n")
    monkeypatch.chdir(folder)
    assert main(["crate", "config.yaml", "--out", "other"]) == 1
    (folder / "regulators.txt").write_text(before)
    assert "found another content; expected what the run has read" in capsys.readouterr().err
    assert not (folder / "other").exists()


@pytest.mark.complete
def test_a_run_is_repeated_from_its_crate_to_the_byte(
    packed: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    again, crate = tmp_path / "again", shutil.copytree(packed, tmp_path / "crate")
    (crate / "profiles/default").mkdir(parents=True)
    (crate / "profiles/default/config.yaml").write_text("dry-run: true\n")
    (crate / "pulp.py").write_text("raise SystemExit('ran')\n")
    arguments = ["reproduce", str(crate), "--yes", "--out", str(again)]
    assert main(arguments) == 0, capsys.readouterr().err
    assert "all the same to the byte" in capsys.readouterr().out
    results = [path for path in (packed / "results").rglob("*") if path.is_file()]
    same = [p for p in results if p.name not in ("summary.json", "report.html")]
    assert len(same) > 8
    for path in same:
        assert path.read_bytes() == (again / path.relative_to(packed)).read_bytes(), path


class OtherRun:
    """In place of a run: makes the results of another crate in its folder."""

    def __init__(self, results: Path) -> None:
        self.results = results
        self.found: set[str] = set()

    def __call__(self, config: Path, arguments: Any) -> int:
        self.found = {str(path) for path in Path().rglob("*") if not path.is_dir()}
        shutil.copytree(self.results, "results")
        return 0


@pytest.fixture
def rerun(packed: Path, monkeypatch: pytest.MonkeyPatch) -> OtherRun:
    """What ``reproduce`` runs."""
    made = OtherRun(packed / "results")
    monkeypatch.setattr("pairtile.command.crate.run", made)
    return made


def test_what_was_compared_and_what_differs_is_said_by_name(
    packed: Path, tmp_path: Path, rerun: OtherRun, capsys: pytest.CaptureFixture[str]
) -> None:
    rerun.results = shutil.copytree(packed / "results", tmp_path / "results")
    (rerun.results / "net/network.tsv").write_text("something else")
    (rerun.results / "boot/items.parquet").unlink()
    (rerun.results / "net/summary.json").write_text("took longer")
    again = tmp_path / "again"
    assert main(["reproduce", str(packed), "--yes", "--out", str(again)]) == 1
    lines = capsys.readouterr().out.splitlines()
    said = [line.split(": ") for line in lines if ": results/" in line]
    stated = {part["@id"] for part in entities(packed)[RUN]["result"]}
    assert {name for _, name in said} == stated
    differs = {name for word, name in said if word == "differs"}
    assert differs == {"results/net/network.tsv", "results/boot/items.parquet"}
    left_out = {name for word, name in said if word.startswith("not compared")}
    assert left_out == {name for name in stated if name.endswith(("summary.json", "report.html"))}


# --- crates of strangers ------------------------------------------------------------------------


def edit(crate: Path, change: Callable[[dict[str, Any]], object]) -> None:
    """Change the metadata of a crate, as entities by their names."""
    found = entities(crate)
    change(found)
    text = json.dumps({"@context": "", "@graph": list(found.values())})
    (crate / "ro-crate-metadata.json").write_text(text)


def put(crate: Path, name: str, content: str, key: str = "object") -> None:
    """A file in a crate that its metadata name, with size and checksum as they are."""
    path = crate / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(content)

    def change(found: dict[str, Any]) -> None:
        facts = {"sha256": file_digest(path), "contentSize": path.stat().st_size}
        found[name] = {"@id": name, "@type": "File"} | found.get(name, {}) | facts
        if {"@id": name} not in found[RUN][key]:
            found[RUN][key].append({"@id": name})

    edit(crate, change)


def configure(crate: Path, **changes: Any) -> None:
    config = yaml.safe_load((crate / "config.yaml").read_text())
    put(crate, "config.yaml", yaml.safe_dump(config | changes))


def read(crate: Path, path: str) -> None:
    """Have the first analysis read a file."""
    config = yaml.safe_load((crate / "config.yaml").read_text())
    config["analyses"]["net"]["expression"] = path
    configure(crate, analyses=config["analyses"])


def moved(crate: Path, name: str) -> None:
    """A part of the crate becomes a link to where it is now."""
    (crate / name).rename(crate.parent / "elsewhere")
    (crate / name).symlink_to(crate.parent / "elsewhere")


def unstate(crate: Path, *names: str) -> None:
    def change(found: dict[str, Any]) -> None:
        kept = [part for part in found[RUN]["result"] if names and part["@id"] not in names]
        found[RUN]["result"] = kept

    edit(crate, change)


def enlarge(crate: Path, stated: Any = None) -> None:
    """A table of 1 TiB, or one of which that is stated."""
    path = crate / TABLE
    if stated is None:
        with path.open("ab") as file:
            file.truncate(stated := 1 << 40)
    edit(crate, lambda found: found[TABLE].update(contentSize=stated))


def packed_as_zip(crate: Path) -> None:
    """An archive in place of the folder, with a file that leaves it."""
    with zipfile.ZipFile(crate.parent / "crate.zip", "w") as archive:
        for path in crate.rglob("*"):
            archive.write(path, path.relative_to(crate))
        archive.writestr("../../canary", "gone")
    shutil.rmtree(crate)
    (crate.parent / "crate.zip").rename(crate)


def pipe(crate: Path) -> None:
    (crate / TABLE).unlink()
    os.mkfifo(crate / TABLE)
    edit(crate, lambda found: found[TABLE].update(contentSize=0))


TABLE = "inputs/net/expression/expression.tsv"
METADATA = "ro-crate-metadata.json"
DEEP = '{"@graph": ' + "[" * 100_000
UNFOLDING = "a: &a [1,1,1,1,1,1,1,1,1]\n" + "".join(
    f"{name}: &{name} [{','.join([f'*{before}'] * 9)}]\n"
    for before, name in itertools.pairwise("abcdefghi")
)
HOSTILE: dict[str, Callable[[Path], object]] = {
    "a profile": lambda c: put(c, "profiles/default/config.yaml", "dry-run: true\n"),
    "a module that takes the place of another": lambda c: put(c, "pulp.py", "exit(0)"),
    "a module below results": lambda c: put(c, "results/pulp.py", "exit(0)"),
    "a module as a result": lambda c: put(c, "pulp.py", "exit(0)", "result"),
    "a template": lambda c: configure(c, __use_yte__=True),
    "absolute results": lambda c: configure(c, results=str(c.parent / "other project")),
    "results beside the folder": lambda c: configure(c, results="../other project"),
    "results that lie there already": lambda c: configure(c, results="inputs/results"),
    "an unfolding configuration": lambda c: put(c, "config.yaml", UNFOLDING),
    "an executable tag": lambda c: put(c, "config.yaml", "a: !!python/object/apply:os.abort []"),
    "no configuration": lambda c: (c / "config.yaml").unlink(),
    "an input elsewhere": lambda c: read(c, "/etc/hostname"),
    "an input above": lambda c: read(c, "inputs/../../canary"),
    "an input that is not named": lambda c: (put(c, "x", ""), read(c, "x")),
    "an input by another address": lambda c: read(c, "file:///etc/hostname"),
    "no results": unstate,
    "a result that is not stated": lambda c: unstate(c, "results/net/network.tsv"),
    "a result that is not made": lambda c: put(c, "results/net/more.tsv", "", "result"),
    "a part above": lambda c: put(c, "inputs/../../above.tsv", ""),
    "an absolute part": lambda c: put(c, str(c.parent / "there.tsv"), ""),
    "a part with control characters": lambda c: put(c, "inputs/\x1b]0;t\x07", ""),
    "a long name": lambda c: edit(c, lambda f: f[TABLE].update({"@id": f"inputs/{'x' * 9999}"})),
    "a linked file": lambda c: moved(c, TABLE),
    "a linked folder": lambda c: moved(c, "inputs/net"),
    "a linked configuration": lambda c: moved(c, "config.yaml"),
    "linked metadata": lambda c: moved(c, METADATA),
    "a pipe": pipe,
    "an archive": packed_as_zip,
    "an enormous file": enlarge,
    "an enormous number": lambda c: enlarge(c, 10**400),
    "infinity": lambda c: enlarge(c, float("inf")),
    "a size of nothing": lambda c: enlarge(c, [{}]),
    "deep metadata": lambda c: (c / METADATA).write_text(DEEP),
    "metadata of another kind": lambda c: (c / METADATA).write_text('{"@graph": [7]}'),
    "another version": lambda c: edit(c, lambda f: f["Snakefile"].update(version="0.0")),
}


@pytest.mark.parametrize("kind", HOSTILE)
def test_a_hostile_crate_is_refused_before_anything_of_it_is_run(
    kind: str,
    packed: Path,
    tmp_path: Path,
    rerun: OtherRun,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    usage = shutil._ntuple_diskusage(1 << 40, 1 << 39, 1 << 39)
    monkeypatch.setattr(shutil, "disk_usage", lambda path: usage)
    crate = shutil.copytree(packed, tmp_path / "new" / "crate")
    (tmp_path / "canary").write_text("alive")
    HOSTILE[kind](crate)
    out = tmp_path / "new" / "again"
    assert main(["reproduce", str(crate), "--yes", "--out", str(out)]) == 1
    said = capsys.readouterr()
    assert said.err.startswith("pairtile reproduce: ")
    assert all(line.isprintable() for line in said.err.splitlines())
    assert "same" not in said.out
    assert not rerun.found
    assert not out.exists()
    assert (tmp_path / "canary").read_text() == "alive"
    assert not list(tmp_path.rglob("other project"))


def test_what_the_metadata_do_not_name_is_not_taken(
    packed: Path, tmp_path: Path, rerun: OtherRun
) -> None:
    crate = shutil.copytree(packed, tmp_path / "crate")
    for name in ("profiles/default/config.yaml", "pulp.py", ".snakemake/log/x", "inputs/pulp.py"):
        (crate / name).parent.mkdir(parents=True, exist_ok=True)
        (crate / name).write_text("import os\n")
    (crate / TABLE).chmod(0o777)
    assert main(["reproduce", str(crate), "--yes", "--out", str(tmp_path / "again")]) == 0
    action = entities(crate)[RUN]
    assert rerun.found == {part["@id"] for part in action["object"]}
    assert not (tmp_path / "again" / TABLE).stat().st_mode & 0o111


def test_a_faked_network_differs(packed: Path, tmp_path: Path, rerun: OtherRun) -> None:
    crate = shutil.copytree(packed, tmp_path / "crate")
    put(crate, "results/net/network.tsv", "source\ttarget\nA\tB\n", "result")
    assert main(["reproduce", str(crate), "--yes", "--out", str(tmp_path / "again")]) == 1
    assert rerun.found


def test_snakemake_takes_the_configuration_as_data(
    packed: Path, tmp_path: Path, rerun: OtherRun
) -> None:
    assert main(["reproduce", str(packed), "--yes", "--out", str(tmp_path / "again")]) == 0
    text = (tmp_path / "again/config.yaml").read_text()
    assert json.loads(text) == yaml.safe_load((packed / "config.yaml").read_text())


@pytest.mark.parametrize(("answer", "code"), [("y", 0), ("n", 1), ("", 1), (None, 1)])
def test_a_person_sees_what_would_be_run_and_is_asked(
    packed: Path,
    tmp_path: Path,
    rerun: OtherRun,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    answer: str | None,
    code: int,
) -> None:
    """None: nobody is there to answer."""
    monkeypatch.setattr("sys.stdin", io.StringIO())
    monkeypatch.setattr("sys.stdin.isatty", lambda: answer is not None)
    monkeypatch.setattr("builtins.input", lambda question: answer)
    out = tmp_path / "again"
    assert main(["reproduce", str(packed), "--out", str(out)]) == code
    assert out.exists() is bool(rerun.found) is (code == 0)
    shown = capsys.readouterr().out
    assert TABLE in shown
    assert str(out) in shown
