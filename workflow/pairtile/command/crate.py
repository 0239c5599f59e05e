"""``pairtile crate`` and ``pairtile reproduce``: a run packed up for others, and done again.

A crate is a folder with the configuration, its input files, the results, and
``ro-crate-metadata.json``, which says what is what by the profile Workflow Run RO-Crate
(Leo et al. 2024, PLoS ONE 19:e0309210), so that archives and other programs can read it.
"""

from __future__ import annotations

import hashlib
import json
import mimetypes
import os
import posixpath
import shutil
from collections.abc import Callable, Mapping, Sequence
from contextlib import chdir
from io import StringIO
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple
from urllib.parse import unquote

import yaml

from pairtile import __version__
from pairtile.command.compare import differences
from pairtile.command.run import SNAKEFILE, run
from pairtile.config.addresses import scheme
from pairtile.config.downstream import GROUP_TABLES
from pairtile.config.load import load_config, read_mapping_file
from pairtile.config.root import Config
from pairtile.errors import ConfigError, InputError
from pairtile.report.formats import memory, pluralise
from pairtile.runtime.files import file_digest, read_json
from pairtile.steps.analysis_run import runs_of
from pairtile.steps.damage import earlier_files
from pairtile.steps.result_files import ResultFiles
from pairtile.steps.split import load_run

if TYPE_CHECKING:
    from rocrate.rocrate import ROCrate

CONFIG, INPUTS, RESULTS = "config.yaml", "inputs", "results"
METADATA = "ro-crate-metadata.json"
PROFILES = {
    "Process Run Crate": "https://w3id.org/ro/wfrun/process/0.5",
    "Workflow Run Crate": "https://w3id.org/ro/wfrun/workflow/0.5",
    "Workflow RO-Crate": "https://w3id.org/workflowhub/workflow-ro-crate/1.0",
}
RUN = "#run"


def write_crate(config: Path, out: Path) -> int:
    """Pack up the finished run of a configuration, as seen from the working directory; returns the
    number of result files.

    Raises
    ------
    ConfigError
        As ``load_run``; ``out`` is there already; rocrate is not installed.
    InputError
        A result is missing or is not what the run has written, the configuration is another than
        that of the run, or an input file is not the one that it has read.
    """
    if out.exists():
        raise ConfigError(f"{out} exists already; choose a new folder")
    given, known = read_mapping_file(config), load_run(config)
    summaries = {name: _summary(Path(known.results) / name) for name in known.analyses}
    _check_results(known, summaries)
    places, checksums = _places_of_inputs(known, summaries)
    given = _with_places(given, places) | {"results": RESULTS}
    if checksums:
        given["checksums"] = checksums | (given.get("checksums") or {})
    backends = {summary["backend"]["name"] for summary in summaries.values()}
    if len(backends) == 1:
        given["backend"] = backends.pop()
    results_of_run = _places_of_results(known)
    for path in results_of_run:
        if not Path(path).is_file():
            raise InputError.at(path, "", "no such file", "a finished run")
    crate = _new_crate()
    workflow = crate.add_workflow(SNAKEFILE, "Snakefile", main=True, lang="snakemake")
    workflow["version"] = __version__
    parameter = crate.add_formal_parameter(
        "configuration", "File", "#configuration", valueRequired=True
    )
    workflow["input"] = parameter
    input_files = {}  # path -> place of every file, those within folders too
    for path, place in places.items():
        for file in sorted(Path(path).rglob("*")) if os.path.isdir(path) else [Path(path)]:
            if file.is_file():
                input_files[str(file)] = str(Path(place, file.relative_to(path)))
    inputs, results = (
        [crate.add_file(path, place, properties=_facts(path)) for path, place in files.items()]
        for files in (input_files, results_of_run)
    )
    last = max(summaries.values(), key=lambda summary: summary["run"]["date"])["run"]
    text = yaml.safe_dump(given, sort_keys=False, allow_unicode=True)
    settings = crate.add_file(
        StringIO(text),
        CONFIG,
        properties={
            "contentSize": len(text.encode()),
            "sha256": hashlib.sha256(text.encode()).hexdigest(),
            "exampleOfWork": parameter,
        },
    )
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


class Part(NamedTuple):
    """A file that the metadata of a crate names, as it states it."""

    sha256: str
    size: int


class Comparison(NamedTuple):
    """Results of a run done again, as places in its folder: those compared with the crate's, those
    of them that differ in any byte, and those that hold times."""

    compared: list[str]
    differing: list[str]
    with_times: list[str]


def reproduce(
    crate: Path, folder: Path, agreed: Callable[[str], bool], arguments: Sequence[str] = ()
) -> Comparison:
    """Run what a crate holds in a new folder, and compare its results with those of the crate.

    A crate is a stranger's: only its configuration and the input files that its metadata name are
    taken, the configuration as data (no template is filled in), and only the new folder is written.

    agreed : is given what would be run, and says whether to. arguments : for Snakemake, as of
    ``run``.

    Raises
    ------
    ConfigError
        The crate is of another version, its configuration names files or results elsewhere,
        ``folder`` is there already, or ``agreed`` declines.
    InputError
        No crate; one whose files were changed, are links, or are not all stated; one that does not
        state every result that its configuration makes; or the run fails.
    """
    if folder.exists():
        raise ConfigError(f"{folder} exists already; choose a new folder")
    inputs, results = _parts_of_run(crate)
    _check_files(crate, inputs | results, folder)
    given = _configuration(crate, inputs)
    with chdir(crate):
        made = set(_places_of_results(load_run(given)).values())
    if differing := sorted(made ^ results.keys()):
        raise InputError.at(
            crate,
            METADATA,
            f"other results, {differing[0]} for one",
            "the checksum of each result that its configuration makes, and no other",
        )
    shown = json.dumps(given, indent=2)  # ASCII: nothing in it for the terminal to obey
    size = memory(sum(part.size for part in inputs.values()))
    if not agreed(
        f"{shown}\n{crate}: pairtile {__version__} will run this configuration on "
        f"{pluralise(len(inputs) - 1, 'input file')} ({size}) in the new folder "
        f"{folder.absolute()}, and compare {pluralise(len(results), 'result')}. "
        "Nothing else in the crate is used."
    ):
        raise ConfigError(f"{crate}: not agreed to, so nothing was run")
    for name in inputs.keys() - {CONFIG}:
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(crate / name, folder / name)
    # JSON: in YAML, Snakemake would fill in templates.
    (folder / CONFIG).write_text(shown + "\n", encoding="utf-8")
    with chdir(folder):
        code = run(Path(CONFIG), arguments)
    if code:
        raise InputError(f"{folder}: the run ended with exit code {code}")
    # These say how long each step took: no two runs give the same.
    with_times = sorted(
        name for name in results if Path(name).name in ("summary.json", "report.html")
    )
    compared = sorted(results.keys() - set(with_times))
    differing = [name for name in compared if not _is(folder / name, results[name].sha256)]
    return Comparison(compared, differing, with_times)


def _is(path: Path, digest: str) -> bool:
    return path.is_file() and file_digest(path) == digest


def _parts_of_run(crate: Path) -> tuple[dict[str, Part], dict[str, Part]]:
    """Configuration and inputs of the run that a crate holds, and its results."""
    metadata = _file_of(crate, METADATA)
    try:
        if metadata.stat().st_size > 1 << 26:
            raise ValueError("a huge file")
        graph = json.loads(metadata.read_text(encoding="utf-8"))["@graph"]
        entities = {entity["@id"]: entity for entity in graph}
        action = entities[RUN]
        version = str(entities[action["instrument"]["@id"]]["version"])
        stated = [
            {
                unquote(part["@id"]): Part(str(part["sha256"]), int(part["contentSize"]))
                for part in (entities[part["@id"]] for part in action[key])
            }
            for key in ("object", "result")
        ]
    # The last two: of a file that was made to be too deep, or its numbers too large.
    except (
        *(OSError, ValueError, LookupError, TypeError, AttributeError),
        *(RecursionError, OverflowError),
    ) as error:
        raise InputError.at(
            crate,
            METADATA,
            f"no run ({type(error).__name__}: {error})",
            "what pairtile crate writes",
        ) from error
    if version != __version__:
        raise ConfigError.at(crate, "", f"pairtile {version}", f"{__version__}, as is here")
    for parts, top in zip(stated, (INPUTS, RESULTS), strict=True):
        for name in parts.keys() - {CONFIG}:
            inside = name.startswith(f"{top}/") and posixpath.normpath(name) == name
            if not (inside and name.isprintable()):
                raise InputError.at(
                    crate,
                    METADATA,
                    repr(name),
                    f"{CONFIG}, or a file below {INPUTS}/ or, of a result, {RESULTS}/",
                )
    return stated[0], stated[1]


def _file_of(crate: Path, name: str) -> Path:
    """A file of a crate: not one elsewhere by a link, and no pipe or device."""
    path = crate / name
    for part in (path, *path.parents[: len(Path(name).parts) - 1]):
        if os.path.islink(part):
            raise InputError.at(part, "", "a link", "a file or folder of the crate itself")
    if not os.path.isfile(path):  # unlike Path's, false of a name that is too long, too
        hint = " (unpack it)" if crate.is_file() else ""
        raise InputError.at(path, "", "no such file", f"a folder that pairtile crate wrote{hint}")
    return path


def _check_files(crate: Path, parts: Mapping[str, Part], folder: Path) -> None:
    """Files of a crate are those that its metadata state, and there is room for as much."""
    for name, part in parts.items():
        # Sizes before contents: a stranger's file may be as large as any.
        if os.path.getsize(_file_of(crate, name)) != part.size:
            raise InputError.at(crate / name, "", "another size", "the file of the run")
    free = shutil.disk_usage(next(top for top in folder.absolute().parents if top.exists())).free
    if (size := sum(part.size for part in parts.values())) > free:
        raise InputError.at(
            crate,
            "",
            f"files of {memory(size)}",
            f"at most what is free for {folder}, {memory(free)}",
        )
    for name, part in parts.items():
        if not _is(crate / name, part.sha256):
            raise InputError.at(crate / name, "", "another content", "the file of the run")


def _configuration(crate: Path, inputs: Mapping[str, Part]) -> dict[str, object]:
    """The configuration of a crate, which reads and writes nothing elsewhere but addresses with
    checksums."""
    path = _file_of(crate, CONFIG)
    # A MiB is what a person can look through.
    if CONFIG not in inputs or path.stat().st_size > 1 << 20:
        raise InputError.at(path, "", "a huge file or an unnamed one", "what pairtile crate writes")
    config, files = load_config(path), inputs.keys() - {CONFIG}
    if config.results != RESULTS:
        raise ConfigError.at(path, "results", repr(config.results), f"{RESULTS}, as in any crate")
    for name, analysis in config.analyses.items():
        for key, file in analysis.input_files().items():
            known = (
                file in config.checksums
                if scheme(file)
                else any(f"{part}/".startswith(f"{file}/") for part in files)
            )
            if not known:
                raise ConfigError.at(
                    path,
                    f"analyses.{name}.{key}",
                    repr(file),
                    "a file that the metadata of the crate name, or an address with checksum",
                )
    return dict(read_mapping_file(path))


def _summary(folder: Path) -> dict[str, Any]:
    if not (folder / "summary.json").is_file():
        raise InputError.at(folder, "", "no summary.json", "a finished run")
    found = read_json(folder / "summary.json")
    if found["pairtile_version"] != __version__ or "run" not in found:
        version = f"pairtile {found['pairtile_version']}"
        raise InputError.at(folder, "", f"a run of {version}", f"one of {__version__}, as is here")
    return found


def _check_results(known: Config, summaries: Mapping[str, Any]) -> None:
    """Compare results and configuration with the records of the run."""
    for run_of in runs_of(known):
        found = earlier_files(run_of)
        if found.damaged:
            raise InputError("\n".join(found.damaged.values()))
        if found.other_settings:
            used = summaries.get(run_of.name, {}).get("parameters", {})
            differ = differences(run_of.config.resolved() | {"seed": run_of.seed}, used)
            keys = [key for key, (asked, _) in differ.items() if asked not in (None, "auto")]
            raise InputError.at(
                run_of.folder,
                "",
                f"results of other settings ({', '.join(keys)})",
                "those of this configuration: run it first",
            )


def _places_of_inputs(
    known: Config, summaries: Mapping[str, Any]
) -> tuple[dict[str, str], dict[str, str]]:
    """Path -> place in the crate, of all input files that are on this machine; address -> checksum
    of all others."""
    places: dict[str, str] = {}
    checksums: dict[str, str] = {}
    for name, analysis in known.analyses.items():
        for key, path in analysis.input_files().items():
            read = summaries[name]["inputs"].get(key, {}).get("sha256")
            if scheme(path):
                checksums |= {path: f"sha256:{read}"} if read else {}
                continue
            if read and read != file_digest(path):
                raise InputError.at(path, "", "another content", "what the run has read")
            places.setdefault(path, f"{INPUTS}/{name}/{key}/{Path(path).name}")
    return places, checksums


def _with_places(given: Any, places: Mapping[str, str]) -> Any:
    """A configuration in which paths are those in the crate."""
    if isinstance(given, Mapping):
        return {places.get(key, key): _with_places(value, places) for key, value in given.items()}
    if isinstance(given, list):
        return [_with_places(value, places) for value in given]
    return places.get(given, given) if isinstance(given, str) else given


def _places_of_results(known: Config) -> dict[str, str]:
    """Path -> place in the crate, of all that a run makes for people."""
    top = Path(known.results)
    paths = [
        path
        for name, analysis in known.analyses.items()
        for path in ResultFiles(str(top / name), analysis).wanted()
    ]
    of_groups = (*GROUP_TABLES, "summary.json", "report.html")
    paths += [str(top / name / file) for name in known.splits for file in of_groups]
    return {path: str(Path(RESULTS, Path(path).relative_to(top))) for path in paths}


def _facts(path: str) -> dict[str, str | int]:
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
        raise ConfigError(
            "found no package rocrate; expected the extra crate of pairtile, which brings it"
        ) from error
    crate = ROCrate(version="1.1")  # what the profiles are written for
    crate.metadata.extra_terms["sha256"] = "https://schema.org/sha256"  # younger than 1.1
    crate.name = "A run of pairtile"
    crate.description = "Networks from every pair of a data set: configuration, inputs, results."
    crate.license = "Not stated: that of the input files."
    for name, url in PROFILES.items():
        crate.root_dataset.append_to(
            "conformsTo",
            crate.add(
                ContextEntity(
                    crate,
                    url,
                    {"@type": "CreativeWork", "name": name, "version": url.rpartition("/")[2]},
                )
            ),
        )
    return crate
