# Which files the rules ask for: input functions, and the results of a run.
import re

# File names are network.<format>, but for two formats whose suffix says what the file is.
SUFFIX = {"adjacency": "npz", "regulon": "regulon.tsv"}
FORMAT = {suffix: name for name, suffix in SUFFIX.items()}


def all_results():
    """What a run makes for every analysis."""
    files = []
    for analysis in SECTIONS:
        names = ["items.parquet", "pairs.parquet", "network.parquet"]
        names += ["summary.json", "report.html"]
        if SECTIONS[analysis].get("gold_standard"):
            names.append("evaluation.json")
        names += CONFIG.analyses[analysis].result_tables()
        files += [f"{CONFIG.results}/{analysis}/{name}" for name in names]
        files += export_files(analysis)
    return files


def method_tables():
    """The tables of their own that analyses write, and a pattern of their names, by rule name.

    One for each method; more where analyses of one method ask for different tables.
    """
    analyses = {}
    for name, section in CONFIG.analyses.items():
        if tables := section.result_tables():
            analyses.setdefault((section.method, tables), []).append(re.escape(name))
    named = {}
    for (method, tables), names in analyses.items():
        number = sum(other.startswith(f"tables_{method}") for other in named)
        name = f"tables_{method}" + (f"_{number + 1}" if number else "")
        named[name] = (tables, "|".join(names))
    return named


def table_files(wildcards):
    """The tables of an analysis' own method."""
    tables = CONFIG.analyses[wildcards.analysis].result_tables()
    return [f"{CONFIG.results}/{wildcards.analysis}/{table}" for table in tables]


def state_for_report(wildcards):
    """The state, where the page shows what it holds."""
    if CONFIG.analyses[wildcards.analysis].report_needs_state:
        return [f"{CONFIG.results}/{wildcards.analysis}/state"]
    return []


def pairs_for_report(wildcards):
    """The merged table, where the page shows what it holds."""
    if CONFIG.analyses[wildcards.analysis].report_needs_pairs:
        return [f"{CONFIG.results}/{wildcards.analysis}/pairs.parquet"]
    return []


def later_inputs(kind):
    """An input function: the input files that only a later step reads (``table_inputs``,
    ``network_inputs``)."""

    def files(wildcards):
        analysis = CONFIG.analyses[wildcards.analysis]
        found = analysis.input_files()
        return [located(found[key]) for key in getattr(analysis, kind) if key in found]

    return files


def other_results(wildcards):
    """Results of other analyses that an analysis' tables are made from."""
    wanted = CONFIG.analyses[wildcards.analysis].other_results()
    return [f"{CONFIG.results}/{name}" for name in wanted]


def export_files(analysis):
    """The files of the formats that an analysis asks for."""
    return [
        f"{CONFIG.results}/{analysis}/network.{SUFFIX.get(name, name)}"
        for name in SECTIONS[analysis]["export"]
    ]


def input_files(wildcards):
    """The files that decide an analysis' scores, by their key in the configuration.

    Without those that only a later step reads: another gold standard must not score again.
    """
    see_to_earlier_runs()
    analysis = CONFIG.analyses[wildcards.analysis]
    return {
        key: located(path)
        for key, path in analysis.input_files().items()
        if key not in analysis.later_inputs()
    }


def all_later_inputs(wildcards):
    """The input files that decide no score, by their key in the configuration."""
    later = CONFIG.analyses[wildcards.analysis].later_inputs()
    return {key: located(path) for key, path in later.items()}


def input_check(wildcards):
    """The record of ``check_inputs``, where there is something to look at.

    The summary asks for it, as it is the one that needs no plan to know; nothing else does, so that
    another gold standard makes none of the results between again.
    """
    if CONFIG.analyses[wildcards.analysis].inputs_to_check():
        return [f"{CONFIG.results}/{wildcards.analysis}/steps/check_inputs.json"]
    return []


def gold_standard_file(wildcards):
    return located(SECTIONS[wildcards.analysis]["gold_standard"])


def planned(wildcards):
    """The plan of an analysis, as soon as it is there."""
    plan = checkpoints.plan.get(analysis=wildcards.analysis).output.plan
    drop_outdated_copy(plan)
    with plan.open():  # where it is not here, Snakemake fetches it and calls again
        return read_json_once(plan)


def chunk_files(stage):
    """An input function: every chunk file of a stage."""

    def files(wildcards):
        return [
            f"{CONFIG.results}/{wildcards.analysis}/{stage}/"
            f"tiles-{chunk['first_tile']:06d}-{chunk['last_tile']:06d}.parquet"
            for chunk in planned(wildcards)["chunks"]
        ]

    return files


def scan_file(wildcards):
    """Sums of the first pass, where the analysis has one; the first pass itself needs none."""
    if wildcards.get("stage") != "scan" and planned(wildcards)["scan"]:
        return [f"{CONFIG.results}/{wildcards.analysis}/scan.npz"]
    return []


def has_null(wildcards):
    """Whether the analysis has a null step; under an older plan, which does not say, each has."""
    return planned(wildcards).get("null", True)


def null_file(wildcards):
    """The null distribution, where the method has one."""
    if has_null(wildcards):
        return [f"{CONFIG.results}/{wildcards.analysis}/null.npz"]
    return []


def network_data_file(wildcards):
    """What network and tables alone need, where the analysis has it."""
    if CONFIG.analyses[wildcards.analysis].needs_network_data:
        return [f"{CONFIG.results}/{wildcards.analysis}/network_data.npz"]
    return []


def bootstrap_files(wildcards):
    return [
        f"{CONFIG.results}/{wildcards.analysis}/bootstraps/"
        f"{job['first']:05d}-{job['last']:05d}.parquet"
        for job in planned(wildcards)["bootstraps"]
    ]


def evaluation_file(wildcards):
    if SECTIONS[wildcards.analysis].get("gold_standard"):
        return [f"{CONFIG.results}/{wildcards.analysis}/evaluation.json"]
    return []


def step_records(wildcards):
    """Records of the steps that this analysis has."""
    steps = ["prepare", "plan"]
    if network_data_file(wildcards):
        steps.insert(1, "network_data")
    if has_null(wildcards):
        steps.append("null")
    if planned(wildcards)["scan"]:
        steps.append("merge_scan")
    steps += ["merge", "network"]
    if SECTIONS[wildcards.analysis].get("gold_standard"):
        steps.append("evaluate")
    if table_files(wildcards):
        steps.append("tables")
    return [
        f"{CONFIG.results}/{wildcards.analysis}/steps/{step}.json" for step in steps
    ]
