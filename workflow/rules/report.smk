rule report:
    input:
        plan=f"{ANALYSIS}/plan.json",
        records=planned_files("records"),
        network=f"{ANALYSIS}/network.parquet",
        items_table=f"{ANALYSIS}/items.parquet",
        scores=f"{ANALYSIS}/scores.npz",
        evaluation=analysis_files("evaluation"),
        tables=analysis_files("tables"),
        stage_tables=analysis_files("stages"),
        state=analysis_files("report_state"),
        pairs=analysis_files("report_pairs"),
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
