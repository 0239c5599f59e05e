# Tables that a method has beside the network: one rule for each such method of the run.
for TABLE_RULE, (TABLES, ANALYSES) in table_rules(LARGE).items():

    rule:
        name:
            TABLE_RULE
        input:
            unpack(input_files("tables")),
            plan=f"{ANALYSIS}/plan.json",
            state=f"{ANALYSIS}/state",
            items_table=f"{ANALYSIS}/items.parquet",
            null=planned_files("null"),
            pairs=f"{ANALYSIS}/pairs.parquet",
            summaries=f"{ANALYSIS}/chunks.npz",
            network=f"{ANALYSIS}/network.parquet",
            scores=f"{ANALYSIS}/scores.npz",
            network_data=analysis_files("network_data"),
            others=other_results,
        output:
            tables=[f"{ANALYSIS}/{table}" for table in TABLES],
            record=f"{STEPS}/tables.json",
        log:
            f"{LOGS}/tables.log",
        wildcard_constraints:
            analysis=ANALYSES,
        conda:
            ENVIRONMENT
        threads: data_threads
        resources:
            **job_resources(data_memory(10), data_seconds(1e6), least=60),
        params:
            work=work_of(Step("tables")),
            settings=settings_for("tables"),
        message:
            "{wildcards.analysis}: write the tables"
        script:
            "../../scripts/step.py"
