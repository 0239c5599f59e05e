# What follows the network: values and annotations of an analysis' samples, and one rule for each
# stage that any analysis asks for. A change of what a stage alone uses runs that stage again.
rule values:
    input:
        unpack(input_files("prepare")),
        items_table=f"{ANALYSIS}/items.parquet",
    output:
        values=directory(f"{ANALYSIS}/values"),
        record=f"{STEPS}/values.json",
    log:
        f"{LOGS}/values.log",
    conda:
        ENVIRONMENT
    threads: data_threads
    resources:
        **job_resources(data_memory(8), data_seconds(10e6), least=60),
    params:
        work=work_of(Step("values")),
        settings=settings_for("values"),
        version=VERSION,
    message:
        "{wildcards.analysis}: prepare the values for what follows the network"
    script:
        "../../scripts/step.py"


for STAGE, ANALYSES in stage_rules(LARGE).items():

    rule:
        name:
            STAGE.name
        input:
            unpack(input_files(STAGE.name)),
            plan=f"{ANALYSIS}/plan.json",
            prepared=f"{ANALYSIS}/values",
            items_table=f"{ANALYSIS}/items.parquet",
            network=f"{ANALYSIS}/network.parquet",
            network_record=f"{STEPS}/network.json",
            tables=analysis_files("stage_tables", *STAGE.reads),
            others=results_of_other(STAGE),
        output:
            tables=[f"{ANALYSIS}/{table}" for table in STAGE.tables],
            record=f"{STEPS}/{STAGE.name}.json",
        log:
            f"{LOGS}/{STAGE.name}.log",
        wildcard_constraints:
            analysis=ANALYSES,
        conda:
            ENVIRONMENT
        threads: compute_threads if STAGE.gpu else data_threads
        resources:
            **job_resources(
                data_memory(10),
                data_seconds(1e6),
                least=60,
                gpu=gpus if STAGE.gpu else None,
            ),
        params:
            work=work_of(Step(STAGE.name, (STAGE.name,), "downstream")),
            settings=settings_for(STAGE.name),
        message:
            f"{{wildcards.analysis}}: {STAGE.name}"
        script:
            "../../scripts/step.py"
