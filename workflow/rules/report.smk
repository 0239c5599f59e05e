# What people open: the network in other formats, the page, and what groups of samples share.
rule export:
    input:
        network=f"{ANALYSIS}/network.parquet",
        items_table=f"{ANALYSIS}/items.parquet",
        network_record=f"{STEPS}/network.json",
        node_tables=analysis_files("node_tables"),
        # It holds their checksums.
        tables_record=analysis_files("optional", "steps/tables.json"),
    output:
        file=report(
            f"{ANALYSIS}/network.{{suffix}}",
            caption="../report/network.rst",
            category="{analysis}",
        ),
        record=f"{STEPS}/export.{{suffix}}.json",
    log:
        f"{LOGS}/export.{{suffix}}.log",
    wildcard_constraints:
        # Methods have tables of such names, too; rule network makes the Parquet file.
        suffix="|".join(
            re.escape(suffix) for suffix in FORMAT_OF_SUFFIX if suffix != "parquet"
        ),
    conda:
        ENVIRONMENT
    resources:
        **job_resources(export_memory, data_seconds(0.2e6), least=30),
    params:
        work=work_of(Step("export"), wildcards=["suffix"]),
        method=lambda wildcards: CONFIG.analyses[wildcards.analysis].method,
        tables=lambda wildcards: CONFIG.analyses[wildcards.analysis].result_tables(),
    message:
        "{wildcards.analysis}: write network.{wildcards.suffix}"
    script:
        "../../scripts/step.py"


rule report:
    input:
        plan=f"{ANALYSIS}/plan.json",
        records=planned_files("records"),
        network=f"{ANALYSIS}/network.parquet",
        items_table=f"{ANALYSIS}/items.parquet",
        scores=f"{ANALYSIS}/scores.npz",
        evaluation=analysis_files("optional", "evaluation.json"),
        tables=analysis_files("tables"),
        stage_tables=analysis_files("stages"),
        state=analysis_files("optional", "state"),
        pairs=analysis_files("optional", "pairs.parquet"),
    output:
        summary=f"{ANALYSIS}/summary.json",
        page=report(
            f"{ANALYSIS}/report.html",
            caption="../report/page.rst",
            category="{analysis}",
        ),
        figures=report(
            directory(f"{ANALYSIS}/figures"),
            patterns=["{figure}.svg"],
            caption="../report/figures.rst",
            category="{analysis}",
        ),
        record=f"{STEPS}/report.json",
    log:
        f"{LOGS}/report.log",
    conda:
        ENVIRONMENT
    threads: 4  # figures are written side by side
    resources:
        **job_resources(report_memory, data_seconds(0.2e6), least=30),
    params:
        work=work_of(Step("summary"), Step("report", (True,))),
        settings=lambda wildcards: repr(
            without_paths(CONFIG.analyses[wildcards.analysis])
        ),
        seed=CONFIG.seed,
    message:
        "{wildcards.analysis}: summary and report"
    script:
        "../../scripts/step.py"


# Analyses with split_by: what the networks of their groups share. The groups themselves are
# analyses like any other (pairtile.steps.split).
from pairtile.config.downstream import GROUP_TABLES

for NUMBER, (NAME, SPLIT) in enumerate(CONFIG.splits.items()):

    rule:
        name:
            f"groups_{NUMBER + 1}"
        input:
            networks=of_groups(SPLIT, "network.parquet"),
            items_tables=of_groups(SPLIT, "items.parquet"),
            prepared=of_groups(SPLIT, "values"),
            summaries=of_groups(SPLIT, "summary.json"),
        output:
            tables=[f"{CONFIG.results}/{NAME}/{table}" for table in GROUP_TABLES],
            summary=f"{CONFIG.results}/{NAME}/summary.json",
            page=report(
                f"{CONFIG.results}/{NAME}/report.html",
                caption="../report/page.rst",
                category=NAME,
            ),
            figures=directory(f"{CONFIG.results}/{NAME}/figures"),
            record=f"{CONFIG.results}/{NAME}/steps/groups.json",
        log:
            f"{CONFIG.results}/{NAME}/logs/groups.log",
        conda:
            ENVIRONMENT
        threads: data_threads
        resources:
            **job_resources(data_memory(10), data_seconds(1e6), least=60),
        params:
            analysis_name=NAME,
            split=Deferred(SPLIT),
            analysis=Deferred(CONFIG.analyses[next(iter(SPLIT.groups))]),
            settings=repr(SPLIT),
            seed=CONFIG.seed,
        message:
            f"{NAME}: what its groups share"
        script:
            "../../scripts/groups.py"
