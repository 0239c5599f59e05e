def step_records(wildcards):
    """Records of the steps that this analysis has."""
    steps = ["prepare", "plan", "null", "merge", "network"]
    if planned(wildcards)["scan"]:
        steps.insert(3, "merge_scan")
    if SECTIONS[wildcards.analysis].get("gold_standard"):
        steps.append("evaluate")
    return [f"{CONFIG.results}/{wildcards.analysis}/steps/{step}.json" for step in steps]


def evaluation_file(wildcards):
    if SECTIONS[wildcards.analysis].get("gold_standard"):
        return [f"{CONFIG.results}/{wildcards.analysis}/evaluation.json"]
    return []


def all_results():
    """What a run makes for every analysis."""
    files = []
    for analysis in SECTIONS:
        files += [f"{CONFIG.results}/{analysis}/{name}" for name in ("report.html", "summary.json")]
        files += export_files(analysis)
    return files


rule summary:
    input:
        plan=f"{ANALYSIS}/plan.json",
        records=step_records,
    output:
        summary=f"{ANALYSIS}/summary.json",
    log:
        f"{LOGS}/summary.log",
    params:
        section=section_without(),
        seed=CONFIG.seed,
    conda:
        ENVIRONMENT
    message:
        "{wildcards.analysis}: summary"
    script:
        "../../scripts/summary.py"


rule report:
    input:
        summary=f"{ANALYSIS}/summary.json",
        network=f"{ANALYSIS}/network.parquet",
        items_table=f"{ANALYSIS}/items.parquet",
        scores=f"{ANALYSIS}/scores.npz",
        evaluation=evaluation_file,
    output:
        page=report(
            f"{ANALYSIS}/report.html", caption="../report/page.rst", category="{analysis}"
        ),
        figures=report(
            directory(f"{ANALYSIS}/figures"),
            patterns=["{figure}.svg"],
            caption="../report/figures.rst",
            category="{analysis}",
        ),
    log:
        f"{LOGS}/report.log",
    conda:
        ENVIRONMENT
    message:
        "{wildcards.analysis}: report"
    script:
        "../../scripts/report.py"
