# What the rules ask for, by wildcards: pairtile.steps.result_files knows the files of an analysis.
from functools import cache

from pairtile.config.addresses import download_path, is_download, scheme
from pairtile.config.downstream import read_of_others
from pairtile.config.export_formats import FORMAT_OF_SUFFIX
from pairtile.runtime.input_changes import input_changed
from pairtile.steps.result_files import ResultFiles


def files_of(analysis):
    """The files of an analysis."""
    return ResultFiles(f"{CONFIG.results}/{analysis}", CONFIG.analyses[analysis])


def all_results():
    """What a run makes for every analysis."""
    pages = [f"{CONFIG.results}/{name}/report.html" for name in CONFIG.splits]
    return [
        path for name in CONFIG.analyses for path in files_of(name).wanted()
    ] + pages


def of_groups(split, file):
    """A file of each group of an analysis that is split."""
    return [f"{CONFIG.results}/{group}/{file}" for group in split.groups]


def analysis_files(kind, *names):
    """An input function: files of one kind of the analysis."""
    return lambda wildcards: getattr(files_of(wildcards.analysis), kind)(*names)


def read_before(wildcards):
    """What the network alone needs: a plan waits for it, and is not made again with it."""
    return [
        ancient(path)
        for path in files_of(wildcards.analysis).optional("network_data.npz")
    ]


def content_of(file):
    """What a checkpoint wrote, as JSON."""
    internals.drop_outdated_copy(file)
    with file.open():  # where it is not here, Snakemake fetches it and calls again
        try:
            return read_json_once(file)
        except StoreError as error:
            raise WorkflowError(str(error))


def graphs():
    """Input functions: exports that wait for the number of edges, of each analysis with any."""

    def of(analysis):
        def files(wildcards):
            made = getattr(checkpoints, NETWORK_RULES[analysis]).get(analysis=analysis)
            record = made.output.record
            n_edges = content_of(record)["details"].get("edges", 0)
            return files_of(analysis).exports(n_edges)

        return files

    return [of(name) for name, a in LARGE.items() if a.export == "auto"]


@cache
def analyses_to_check():
    """The analyses that must be found sound before any is scored: all, but where files of some are
    asked for, only these; none where a run keeps going, so that the sound ones are scored. (A
    workflow that imports this one knows itself what it asks for.)
    """
    if IMPORTED or not MAIN_PROCESS or internals.keeps_going(workflow):
        return []
    folders = {name: f"{CONFIG.results}/{name}/" for name in LARGE}
    targets = internals.targets_given(workflow)
    if (
        all(target.startswith(tuple(folders.values())) for target in targets)
        and targets
    ):
        return [n for n in folders if any(t.startswith(folders[n]) for t in targets)]
    return list(folders)


def is_to_be_scored(analysis):
    """Whether a planned analysis lacks its merged table, or has one of an older plan."""
    plan, pairs = (
        f"{CONFIG.results}/{analysis}/{name}" for name in ("plan.json", "pairs.parquet")
    )
    if DEFAULT_STORAGE:
        return False  # they are not here
    return not os.path.exists(pairs) or os.path.getmtime(pairs) < os.path.getmtime(plan)


def planned_files(kind, *arguments):
    """An input function: files of one kind that the plan decides, as soon as it is there, and the
    inputs of all other analyses have been found sound."""

    def files(wildcards):
        plan = checkpoints.plan.get(analysis=wildcards.analysis).output.plan
        if is_to_be_scored(wildcards.analysis):
            for name in analyses_to_check():
                checkpoints.plan.get(analysis=name)
        content = content_of(plan)
        return getattr(files_of(wildcards.analysis), kind)(*arguments, plan=content)

    return files


def scan_of_second_pass(wildcards):
    """Sums of the first pass, where the analysis has one; the first pass itself needs none."""
    return (
        []
        if wildcards.stage == "scan"
        else planned_files("optional", "scan.npz")(wildcards)
    )


def input_path(analysis, key, step, outputs=()):
    """What a rule asks for in place of an input that ``step`` reads. Its content decides whether
    ``outputs`` are made again, not its time and path; of what lies elsewhere or is made by another
    workflow, Snakemake decides."""
    path = CONFIG.analyses[analysis].input_files()[key]
    if not compared_by_content(path) or not MAIN_PROCESS:
        return located(path)
    record = Path(CONFIG.results) / analysis / "steps" / f"{step}.json"
    changed = input_changed(record, key, path)
    if changed:
        internals.make_again(workflow, outputs)
    return ancient(path) if changed is False else path


def input_files(step):
    """An input function: the files of the configuration that a step reads, as ``given.KEY``."""

    def files(wildcards):
        name = wildcards.analysis
        internals.make_again(workflow, OTHER_SETTINGS.get(name, ()))
        made = "items.parquet" if step == "prepare" else "network.parquet"
        return {
            f"given.{key}": input_path(
                name, key, step, [f"{CONFIG.results}/{name}/{made}"]
            )
            for key in analysis_run(name).local_inputs(step)
        }

    return files


# --- inputs that lie elsewhere: files of a web server, and addresses that storage plugins know ------
ADDRESSES = {
    path: f"analyses.{name}.{key}"
    for name, section in CONFIG.analyses.items()
    for key, path in section.input_files().items()
    if scheme(path)
}
DOWNLOADS = {
    download_path(address, CONFIG.checksums[address]): address
    for address in sorted(ADDRESSES)
    if is_download(address)
}


def downloaded_from(wildcards):
    """The address of a downloaded file."""
    return DOWNLOADS[f".downloads/{wildcards.checksum}/{wildcards.file}"]


def located(path):
    """What a rule asks for in place of a configured path or address."""
    if is_download(path):
        return f"{CONFIG.results}/{download_path(path, CONFIG.checksums[path])}"
    if scheme(path):
        return storage(path)
    # With a default storage provider, relative paths lie there; absolute ones are of this machine.
    if DEFAULT_STORAGE and os.path.isabs(path):
        return local(path)
    return path


if MAIN_PROCESS:
    for address, key in ADDRESSES.items():
        try:
            located(address)
        except WorkflowError as error:
            plugin = f"snakemake-storage-plugin-{scheme(address)}"
            raise WorkflowError(
                f"config: {key}: found {address!r}; expected an address for which a storage "
                f"plugin is installed (pip install {plugin}?). {error}"
            )
