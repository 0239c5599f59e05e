"""``pairtile crate`` and ``pairtile reproduce``: a run packed up for others, and done again.

A crate is a folder with the configuration, its input files, the results, and
``ro-crate-metadata.json``, which says what is what by the profile Workflow Run RO-Crate
(Leo et al. 2024, PLoS ONE 19:e0309210), so that archives and other programs can read it.
"""

from __future__ import annotations

import json
import mimetypes
import os
import shutil
from collections.abc import Mapping, Sequence
from contextlib import chdir
from io import StringIO
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import unquote

import yaml

from pairtile import __version__
from pairtile.command.run import SNAKEFILE, run
from pairtile.config.addresses import scheme
from pairtile.config.downstream import GROUP_TABLES
from pairtile.config.load import read_mapping_file
from pairtile.config.root import Config
from pairtile.errors import ConfigError, InputError
from pairtile.runtime.files import file_digest
from pairtile.steps.result_files import ResultFiles
from pairtile.steps.split import load_run

if TYPE_CHECKING:
    from rocrate.rocrate import ROCrate

CONFIG, RESULTS = "config.yaml", "results"
PROFILES = {
    "Process Run Crate": "https://w3id.org/ro/wfrun/process/0.5",
    "Workflow Run Crate": "https://w3id.org/ro/wfrun/workflow/0.5",
    "Workflow RO-Crate": "https://w3id.org/workflowhub/workflow-ro-crate/1.0",
}
RUN = "#run"
WITH_TIMES = ("summary.json", "report.html")
"""Results that say how long each step took: no two runs give the same."""


def write_crate(config: Path, out: Path) -> int:
    """Pack up the finished run of a configuration, as seen from the working directory; returns the
    number of result files.

    Raises
    ------
    ConfigError
        As ``load_run``; ``out`` is there already; rocrate is not installed.
    InputError
        A result is missing, or an input file is not the one that the run has read.
    """
    if out.exists():
        raise ConfigError(f"{out}: found it there already; expected a new folder")
    given, known = read_mapping_file(config), load_run(config)
    summaries = {name: _summary(Path(known.results) / name) for name in known.analyses}
    places = _places_of_inputs(known, summaries)
    given = _with_places(given, places) | {"results": RESULTS}
    backends = {summary["backend"]["name"] for summary in summaries.values()}
    if len(backends) == 1:
        given["backend"] = backends.pop()
    crate = _new_crate()
    workflow = crate.add_workflow(SNAKEFILE, "Snakefile", main=True, lang="snakemake")
    workflow["version"] = __version__
    parameter = crate.add_formal_parameter(
        "configuration", "File", "#configuration", valueRequired=True
    )
    workflow["input"] = parameter
    inputs, results = (
        [crate.add_file(path, place, properties=_facts(path)) for path, place in files.items()]
        for files in (_each_file(places), _results(known))
    )
    last = max(summaries.values(), key=lambda summary: summary["run"]["date"])["run"]
    text = yaml.safe_dump(given, sort_keys=False, allow_unicode=True)
    settings = crate.add_file(StringIO(text), CONFIG, properties={"exampleOfWork": parameter})
    parameter["workExample"] = settings
    action = crate.add_action(
        workflow,
        RUN,
        object=[settings, *inputs],
        result=results,
        properties={
            "name": f"pairtile {', '.join(known.analyses)}",
            "description": last["command"] or "pairtile run",
            "endTime": last["date"],
        },
    )
    crate.root_dataset["mentions"] = [action]
    crate.write(out)
    return len(results)


def reproduce(crate: Path, folder: Path, arguments: Sequence[str] = ()) -> list[str]:
    """Run what a crate holds in a new folder; returns the results that differ from those of the
    crate in any byte (but ``WITH_TIMES``).

    arguments : for Snakemake, as of ``run``.

    Raises
    ------
    ConfigError
        The crate is of another version, or ``folder`` is there already.
    InputError
        No crate, or one whose files were changed; or the run fails.
    """
    if folder.exists():
        raise ConfigError(f"{folder}: found it there already; expected a new folder")
    files = _files_of_run(crate)
    for name, digest in files.items():
        if not _is(crate / name, digest):
            raise InputError.at(crate / name, "", "another content or none", "the file of the run")
    shutil.copytree(crate, folder, ignore=lambda top, _: [RESULTS] if Path(top) == crate else [])
    with chdir(folder):
        code = run(Path(CONFIG), arguments)
    if code:
        raise InputError(f"{folder}: the run ended with exit code {code}")
    return [
        name
        for name, digest in files.items()
        if name.startswith(f"{RESULTS}/")
        and Path(name).name not in WITH_TIMES
        and not _is(folder / name, digest)
    ]


def _is(path: Path, digest: str) -> bool:
    return path.is_file() and file_digest(path) == digest


def _files_of_run(crate: Path) -> dict[str, str]:
    """Inputs and results of the run that a crate holds, and their SHA-256."""
    try:
        graph = json.loads((crate / "ro-crate-metadata.json").read_text(encoding="utf-8"))["@graph"]
        entities = {entity["@id"]: entity for entity in graph}
        action = entities[RUN]
        version = entities[action["instrument"]["@id"]]["version"]
        parts = [entities[part["@id"]] for key in ("object", "result") for part in action[key]]
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise InputError.at(crate, "", f"no run ({error})", "what pairtile crate writes") from error
    if version != __version__:
        raise ConfigError(f"{crate}: found pairtile {version}; expected {__version__}, as is here")
    return {unquote(part["@id"]): part["sha256"] for part in parts if "sha256" in part}


def _summary(folder: Path) -> dict[str, Any]:
    if not (folder / "summary.json").is_file():
        raise InputError.at(folder, "", "no summary.json", "a finished run")
    found: dict[str, Any] = json.loads((folder / "summary.json").read_text(encoding="utf-8"))
    if found["pairtile_version"] != __version__ or "run" not in found:
        version = f"pairtile {found['pairtile_version']}"
        raise InputError.at(folder, "", f"a run of {version}", f"one of {__version__}, as is here")
    return found


def _places_of_inputs(known: Config, summaries: Mapping[str, Any]) -> dict[str, str]:
    """Path -> place in the crate, of all input files that are on this machine."""
    places: dict[str, str] = {}
    for name, analysis in known.analyses.items():
        for key, path in analysis.input_files().items():
            if scheme(path):
                continue
            read = summaries[name]["inputs"].get(key, {}).get("sha256")
            if read and read != file_digest(path):
                raise InputError.at(path, "", "another content", "what the run has read")
            places.setdefault(path, f"inputs/{name}/{key}/{Path(path).name}")
    return places


def _each_file(places: Mapping[str, str]) -> dict[str, str]:
    """Path -> place of every file, those within folders too."""
    found = {}
    for path, place in places.items():
        top = Path(path)
        for file in sorted(top.rglob("*")) if top.is_dir() else [top]:
            if file.is_file():
                found[str(file)] = str(Path(place, file.relative_to(top)))
    return found


def _with_places(given: Any, places: Mapping[str, str]) -> Any:
    """A configuration in which paths are those in the crate."""
    if isinstance(given, Mapping):
        return {places.get(key, key): _with_places(value, places) for key, value in given.items()}
    if isinstance(given, list):
        return [_with_places(value, places) for value in given]
    return places.get(given, given) if isinstance(given, str) else given


def _results(known: Config) -> dict[str, str]:
    """Path -> place in the crate, of all that the run has made for people."""
    top = Path(known.results)
    found = {}
    for name, analysis in known.analyses.items():
        for path in map(Path, ResultFiles(str(top / name), analysis).wanted()):
            if not path.is_file():
                raise InputError.at(path, "", "no such file", "a finished run")
            found[str(path)] = str(Path(RESULTS, path.relative_to(top)))
    for name in known.splits:
        for file in (*GROUP_TABLES, "summary.json", "report.html"):
            found[str(top / name / file)] = str(Path(RESULTS, name, file))
    return found


def _facts(path: str) -> dict[str, Any]:
    return {
        "contentSize": os.path.getsize(path),
        "encodingFormat": mimetypes.guess_type(path)[0] or "application/octet-stream",
        "sha256": file_digest(path),
    }


def _new_crate() -> ROCrate:
    try:
        from rocrate.model import ContextEntity
        from rocrate.rocrate import ROCrate
    except ImportError as error:
        message = "found no package rocrate; expected pip install 'pairtile[crate]'"
        raise ConfigError(message) from error
    crate = ROCrate(version="1.1")  # what the profiles are written for
    crate.metadata.extra_terms["sha256"] = "https://schema.org/sha256"  # younger than 1.1
    crate.name = "A run of pairtile"
    crate.description = "Networks from every pair of a data set: configuration, inputs, results."
    crate.license = "Not stated: that of the input files."
    for name, url in PROFILES.items():
        facts = {"@type": "CreativeWork", "name": name, "version": url.rpartition("/")[2]}
        crate.root_dataset.append_to("conformsTo", crate.add(ContextEntity(crate, url, facts)))
    return crate
