rule summary:
    input:
        plan=f"{ANALYSIS}/plan.json",
        records=planned("records"),
        checked=the("input_check"),
    output:
        summary=f"{ANALYSIS}/summary.json",
    log:
        f"{LOGS}/summary.log",
    conda:
        ENVIRONMENT
    resources:
        **asks(data_memory(10), data_seconds(1e6)),
    params:
        analysis=lambda wildcards: CONFIG.analyses[wildcards.analysis],
        settings=lambda wildcards: repr(CONFIG.analyses[wildcards.analysis]),
        seed=CONFIG.seed,
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
        evaluation=the("evaluation"),
        tables=the("tables"),
        state=the("report_state"),
        pairs=the("report_pairs"),
    output:
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
    log:
        f"{LOGS}/report.log",
    conda:
        ENVIRONMENT
    resources:
        **asks(report_memory, data_seconds(0.2e6), least=30),
    message:
        "{wildcards.analysis}: report"
    script:
        "../../scripts/report.py"
