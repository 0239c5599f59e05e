"""Nothing that is read is run, nothing that a user writes reaches a shell, every dependency is
pinned by its content."""

from __future__ import annotations

import ast
import pickle
import re
import tomllib
import zipfile
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import anndata
import h5py
import MDAnalysis
import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name
from pairtile.engine.state import open_state, write_state
from pairtile.errors import PairtileError
from pairtile.io.expression import read_expression
from pairtile.methods.trajectory_correlation.config_sections import FramesConfig
from pairtile.methods.trajectory_correlation.read_tables import open_series_table
from pairtile.methods.trajectory_correlation.read_trajectory import Trajectories
from pairtile.runtime.files import read_arrays, write_arrays
from small_trajectories import molecule, store
from workflow_runs import ROOT, run, write_config, write_data

SOURCES = sorted((ROOT / "workflow/pairtile").rglob("*.py")) + sorted((ROOT / "scripts").glob("*"))
RULES = [
    ROOT / "Snakefile",
    *sorted((ROOT / "workflow").rglob("*.smk")),
    ROOT / "workflow/Snakefile",
]
LOCKS = sorted((ROOT / "envs").glob("*.lock.txt"))


def calls(path: Path) -> Iterator[tuple[str, ast.Call]]:
    """Every call in a file: dotted name of what is called, the call."""
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Call):
            yield ast.unparse(node.func), node


# --- no pickle ----------------------------------------------------------------------------------


class Deed:
    """A pickle of this makes a file when it is read."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def __reduce__(self) -> tuple[Callable[..., Any], tuple[Any, ...]]:
        return Path.touch, (self.path,)


def test_the_deed_is_done_where_a_pickle_is_read(tmp_path: Path) -> None:
    pickle.loads(pickle.dumps(Deed(tmp_path / "done")))
    assert (tmp_path / "done").exists()


def object_array(done: Path) -> np.ndarray:
    array = np.empty((40, 3), dtype=object)
    array[...] = Deed(done)
    return array


def npy(folder: Path, done: Path) -> None:
    np.save(folder / "x.npy", object_array(done), allow_pickle=True)
    open_series_table(str(folder / "x.npy"))


def npz(folder: Path, done: Path) -> None:
    np.savez(folder / "x.npz", a=object_array(done))
    read_arrays(folder / "x.npz")


def state(folder: Path, done: Path) -> None:
    write_state(folder / "state", {"z": np.zeros(3)})
    np.save(folder / "state/z.npy", object_array(done), allow_pickle=True)
    open_state(folder / "state")


def h5ad(folder: Path, done: Path) -> None:
    anndata.AnnData(np.ones((4, 3), dtype=np.float32)).write_h5ad(folder / "x.h5ad")
    content = pickle.dumps(Deed(done))
    with h5py.File(folder / "x.h5ad", "a") as file:
        attributes = dict(file["X"].attrs)
        del file["X"]
        values = np.full((4, 3), np.void(content))
        file.create_dataset("X", data=values).attrs.update(attributes)
        file["X"].attrs["pickle"] = np.void(content)
    read_expression(folder / "x.h5ad", "genes_in_rows")


def parquet_extension(folder: Path, done: Path) -> None:
    metadata = {
        b"ARROW:extension:name": b"arrow.py_extension_type",
        b"ARROW:extension:metadata": pickle.dumps(Deed(done)),
    }
    fields = [pa.field("gene", pa.string()), pa.field("a", pa.float64(), metadata=metadata)]
    table = pa.table([["g", "h"], [1.0, 2.0]], schema=pa.schema(fields))
    pq.write_table(table, folder / "x.parquet")
    read_expression(folder / "x.parquet", "genes_in_rows")


def parquet_bytes(folder: Path, done: Path) -> None:
    table = pa.table({"gene": ["g", "h"], "a": [pickle.dumps(Deed(done))] * 2})
    pq.write_table(table, folder / "x.parquet")
    read_expression(folder / "x.parquet", "genes_in_rows")


def pickled_frame(folder: Path, done: Path) -> None:
    (folder / "x.parquet").write_bytes(pickle.dumps(Deed(done)))
    read_expression(folder / "x.parquet", "genes_in_rows")


@pytest.mark.parametrize(
    "read",
    [npy, npz, state, h5ad, parquet_extension, parquet_bytes, pickled_frame],
    ids=lambda read: read.__name__,
)
def test_a_pickle_inside_a_file_is_never_run(
    read: Callable[[Path, Path], None], tmp_path: Path
) -> None:
    with suppress(PairtileError, ValueError):  # numpy's own words for files of ours
        read(tmp_path, tmp_path / "done")
    assert not (tmp_path / "done").exists()


def test_pickled_offsets_beside_a_trajectory_are_not_run_and_its_frames_are_right(
    tmp_path: Path,
) -> None:
    universe = molecule()
    still = universe.atoms.positions
    frames = np.stack([still + k for k in range(5)])
    given = store(tmp_path, universe, frames, "run.xtc")
    wanted = MDAnalysis.Universe(str(tmp_path / "top.pdb"), given).trajectory.n_frames
    [offsets] = tmp_path.glob(".run.xtc_offsets.npz")
    with np.load(offsets) as sound:
        arrays = {name: np.array(sound[name]) for name in sound.files}
    bad = np.empty(1, dtype=object)
    bad[0] = Deed(tmp_path / "done")
    np.savez(offsets, **(arrays | {"offsets": bad}))
    opened = Trajectories(str(tmp_path / "top.pdb"), [given], FramesConfig())
    assert len(opened.runs[0].frames) == wanted == 5
    assert not (tmp_path / "done").exists()


def test_arrays_of_objects_are_not_written(tmp_path: Path) -> None:
    objects = np.array([{}, []], dtype=object)
    with pytest.raises(ValueError, match="allow_pickle"):
        write_arrays(tmp_path / "x.npz", {"a": objects})
    with pytest.raises(ValueError, match="allow_pickle"):
        write_state(tmp_path / "state", {"a": objects})


# Of Snakemake's own process, in the script that it writes; Snakemake pickles all else there, too.
PICKLED_BY_THE_RUN_ITSELF = {"runtime/job.py"}

PICKLING = {"pickle", "cPickle", "dill", "cloudpickle", "joblib", "shelve", "marshal", "jsonpickle"}


@pytest.mark.parametrize("path", SOURCES, ids=lambda path: path.stem)
def test_no_source_reads_pickles_or_runs_text(path: Path) -> None:
    tree = ast.parse(path.read_text(encoding="utf-8"))
    imported = {
        name.name.split(".")[0]
        for node in ast.walk(tree)
        if isinstance(node, ast.Import)
        for name in node.names
    } | {
        (node.module or "").split(".")[0]
        for node in ast.walk(tree)
        if isinstance(node, ast.ImportFrom)
    }
    if "/".join(path.parts[-2:]) not in PICKLED_BY_THE_RUN_ITSELF:
        assert not imported & PICKLING
    for name, call in calls(path):
        assert name not in {"eval", "exec", "compile", "__import__", "pd.read_pickle"}, name
        assert not name.startswith(("os.system", "os.popen", "os.exec", "os.spawn")), name
        keywords = {keyword.arg: ast.unparse(keyword.value) for keyword in call.keywords}
        assert keywords.get("allow_pickle", "False") == "False", name
        assert keywords.get("shell", "False") == "False", name
        if name in {"np.save", "np.savez", "np.savez_compressed", "np.lib.format.write_array"}:
            assert keywords.get("allow_pickle") == "False", ast.unparse(call)
        if name == "yaml.load":
            assert keywords.get("Loader") == "Loader"  # the module's own, made of SafeLoader
        assert name not in {"yaml.unsafe_load", "yaml.full_load", "yaml.load_all"}


def test_the_one_loader_of_yaml_is_a_safe_one() -> None:
    users = [path.name for path in SOURCES if "yaml.load" in path.read_text(encoding="utf-8")]
    assert users == ["load.py"]
    text = (ROOT / "workflow/pairtile/config/load.py").read_text(encoding="utf-8")
    assert "class Loader(yaml.SafeLoader):" in text


# --- archives -----------------------------------------------------------------------------------


@pytest.mark.parametrize("path", SOURCES, ids=lambda path: path.stem)
def test_no_archive_is_unpacked_to_the_disk(path: Path) -> None:
    """Then no path in one can lead anywhere."""
    called = {name.rpartition(".")[2] for name, _ in calls(path)}
    assert not called & {"extractall", "unpack_archive", "extractfile"}
    assert "tarfile" not in path.read_text(encoding="utf-8")


def test_paths_in_an_archive_lead_nowhere(tmp_path: Path) -> None:
    (tmp_path / "inner").mkdir()
    path = tmp_path / "inner/x.npz"
    write_arrays(path, {"a": np.zeros(2)})
    content = (tmp_path / "inner/a.npy", "../outside.npy", "/tmp/outside.npy", "a\x00b.npy")
    np.save(content[0], np.ones(3))
    with zipfile.ZipFile(path, "w") as archive:
        for name in content[1:]:
            archive.write(content[0], name)
    before = sorted(tmp_path.rglob("*"))
    with suppress(PairtileError):  # without its checksum it is damaged
        read_arrays(path)
    with np.load(path) as arrays:  # as readers of a user's own .npz do
        assert [arrays[name].shape for name in arrays.files] == [(3,)] * 3
    assert sorted(tmp_path.rglob("*")) == before


# --- no shell -----------------------------------------------------------------------------------


@pytest.mark.parametrize("path", RULES, ids=lambda path: path.name)
def test_no_rule_runs_a_shell(path: Path) -> None:
    text = path.read_text(encoding="utf-8")
    assert not re.search(r"^\s*(shell|run|wrapper|notebook|cwl)\s*:", text, re.M)
    assert not re.search(r"\bshell\(|subprocess|os\.system|os\.popen", text)


def test_only_named_modules_start_programs_or_open_addresses() -> None:
    starters = {
        str(path.relative_to(ROOT))
        for path in SOURCES
        if re.search(r"^\s*(import|from) (subprocess|socketserver)\b", path.read_text(), re.M)
    }
    # Snakemake, this Python again, and git, for the revision; none by a shell.
    assert starters == {
        "workflow/pairtile/command/run.py",
        "workflow/pairtile/command/warm.py",
        "workflow/pairtile/cpu/first_run.py",
        "workflow/pairtile/steps/summary.py",
    }
    openers = {
        path.name
        for path in SOURCES
        if re.search(r"urllib\.request|http\.client|requests\.get|ftplib", path.read_text())
    }
    assert openers == {"download.py"}


@pytest.mark.complete  # no rule runs a shell, as the tests above find
@pytest.mark.workflow
def test_paths_with_signs_of_the_shell_are_paths(tmp_path: Path) -> None:
    folder = tmp_path / "my data; touch pwned $(touch pwned) `touch pwned` & 'x'"
    folder.mkdir()
    write_data(folder, 30, 40)
    name = "ex $(touch pwned);`touch pwned`'\".tsv"
    (folder / "expression.tsv").rename(folder / name)
    write_config(folder, {"net": {"expression": name, "export": ["tsv"]}})
    done = run(folder)
    assert done.code == 0, done.text
    assert (folder / "results/net/network.tsv").exists()
    assert list(tmp_path.rglob("pwned")) == []
    assert not (ROOT / "pwned").exists()


# --- dependencies -------------------------------------------------------------------------------


def locked(path: Path) -> dict[str, list[tuple[str, list[str]]]]:
    """Name -> requirement and checksums of each of its entries."""
    entries: dict[str, list[tuple[str, list[str]]]] = {}
    text = path.read_text(encoding="utf-8").replace("\\\n", " ")
    for line in text.splitlines():
        if not line.strip() or line.lstrip().startswith("#"):
            continue
        requirement, *hashes = line.split(" --hash=")
        name = canonicalize_name(Requirement(requirement.strip()).name)
        entries.setdefault(name, []).append((requirement.strip(), [h.strip() for h in hashes]))
    return entries


def declared(*extras: str) -> list[Requirement]:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    texts = project["dependencies"] + [
        text for extra in extras for text in project["optional-dependencies"][extra]
    ]
    return [Requirement(text) for text in texts]


@pytest.mark.parametrize("path", LOCKS, ids=lambda path: path.name)
def test_every_locked_package_is_pinned_by_content_and_names_no_index(path: Path) -> None:
    entries = locked(path)
    assert len(entries) > 60
    for name, found in entries.items():
        for requirement, hashes in found:
            [pin] = Requirement(requirement).specifier
            assert pin.operator == "==", name
            assert hashes, name
            assert all(re.fullmatch("sha256:[0-9a-f]{64}", digest) for digest in hashes), name
    text = path.read_text(encoding="utf-8")
    assert not re.search(r"://|--(extra-)?index-url|--find-links|--trusted-host| @ ", text)


@pytest.mark.parametrize(
    ("lock", "extras"),
    [("requirements.lock.txt", ("s3", "slurm")),
     ("requirements-cuda12.lock.txt", ("s3", "slurm", "cuda12"))],
)  # fmt: skip
def test_the_lock_holds_every_dependency_in_a_version_that_is_allowed(
    lock: str, extras: tuple[str, ...]
) -> None:
    entries = locked(ROOT / "envs" / lock)
    for wanted in declared(*extras):
        found = entries.get(canonicalize_name(wanted.name), [])
        assert found, f"{wanted.name}: run make lock"
        for requirement, _ in found:
            [pin] = Requirement(requirement).specifier
            assert wanted.specifier.contains(pin.version), requirement


def test_both_locks_agree() -> None:
    one, other = (locked(path) for path in LOCKS)
    assert {name: one[name] for name in one if name in other} == {
        name: other[name] for name in one if name in other
    }


# --- what the docs promise ----------------------------------------------------------------------

PROMISES = [
    [cell.strip() for cell in line.strip("|").split("|")]
    for line in (ROOT / "docs/security.md").read_text(encoding="utf-8").splitlines()
    if line.startswith("| ") and not line.startswith("| promise |")
]


def test_the_docs_make_promises() -> None:
    assert len(PROMISES) > 30
    assert len({promise for promise, _ in PROMISES}) == len(PROMISES)


@pytest.mark.parametrize(("promise", "tests"), PROMISES, ids=[row[0][:60] for row in PROMISES])
def test_each_promise_names_tests_that_are_there_and_can_fail(promise: str, tests: str) -> None:
    named = re.findall(r"`(tests/[\w/]+\.py)::(test_\w+)`", tests)
    assert len(named) == tests.count("`") / 2 >= 1
    for file, name in named:
        tree = ast.parse((ROOT / file).read_text(encoding="utf-8"))
        functions = {node.name: node for node in tree.body if isinstance(node, ast.FunctionDef)}
        assert name in functions, f"{file} has no {name}"
        body, marks = functions[name], ast.unparse(functions[name]).split("def ")[0]
        assert ".skip(" not in marks
        assert "xfail" not in marks
        held = [node for node in ast.walk(body) if isinstance(node, ast.Assert)]
        called = {ast.unparse(n.func) for n in ast.walk(body) if isinstance(n, ast.Call)}
        words = ("assert", "raises", "check")
        checks = [one for one in called if one.split(".")[-1].startswith(words)]
        assert held or checks, f"{name} checks nothing"
