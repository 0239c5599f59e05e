rule prepare:
    input:
        unpack(input_files("prepare")),
    output:
        items_table=f"{ANALYSIS}/items.parquet",
        state=directory(f"{ANALYSIS}/state"),
        record=f"{STEPS}/prepare.json",
    log:
        f"{LOGS}/prepare.log",
    priority: 100  # a fault in the input of any analysis shows before one is scored
    conda:
        ENVIRONMENT
    threads: data_threads
    resources:
        **job_resources(data_memory(8), data_seconds(10e6), least=60),
    params:
        work=work_of(Step("prepare")),
        settings=settings_for("prepare"),
        seed=preparation_seed,
        version=VERSION,
    message:
        "{wildcards.analysis}: read and clean the input"
    script:
        "../../scripts/step.py"
