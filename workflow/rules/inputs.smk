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
        names += CONFIG.analyses[analysis].tables
        files += [f"{CONFIG.results}/{analysis}/{name}" for name in names]
        files += export_files(analysis)
    return files


def method_tables():
    """The tables of their own that the methods of this run write, by method."""
    return {
        section.method: section.tables
        for section in CONFIG.analyses.values()
        if section.tables
    }


def analyses_of(method):
    """A pattern of the names of a method's analyses."""
    names = [n for n, section in SECTIONS.items() if section["method"] == method]
    return "|".join(re.escape(name) for name in names)


def table_files(wildcards):
    """The tables of an analysis' own method."""
    tables = CONFIG.analyses[wildcards.analysis].tables
    return [f"{CONFIG.results}/{wildcards.analysis}/{table}" for table in tables]


def state_for_report(wildcards):
    """The state, where the page shows what it holds: the levels of predictors and targets."""
    if SECTIONS[wildcards.analysis]["method"] == "predictor_pairs":
        return [f"{CONFIG.results}/{wildcards.analysis}/state"]
    return []


def table_inputs(wildcards):
    """Input files that only the tables are made from."""
    analysis = CONFIG.analyses[wildcards.analysis]
    files = analysis.input_files()
    return [files[key] for key in analysis.table_inputs if key in files]


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
    later = {"gold_standard", *analysis.table_inputs}
    return {
        key: path for key, path in analysis.input_files().items() if key not in later
    }


def gold_standard_file(wildcards):
    return SECTIONS[wildcards.analysis]["gold_standard"]


def planned(wildcards):
    """The plan of an analysis, as soon as it is there."""
    return read_json(checkpoints.plan.get(analysis=wildcards.analysis).output.plan)


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
    steps = ["prepare", "plan", "null", "merge", "network"]
    if planned(wildcards)["scan"]:
        steps.insert(3, "merge_scan")
    if SECTIONS[wildcards.analysis].get("gold_standard"):
        steps.append("evaluate")
    if table_files(wildcards):
        steps.append("tables")
    return [
        f"{CONFIG.results}/{wildcards.analysis}/steps/{step}.json" for step in steps
    ]
